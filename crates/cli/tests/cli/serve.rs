//! Serves reports over loopback, only to clients that know the token.

use crate::outside::program::Folder;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use straggler_report::page::Page;

struct Server {
    child: Child,
    port: u16,
    token: String,
}

impl Server {
    fn start(folder: &Folder) -> Server {
        let mut child =
            folder.command("serve results").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://127.0.0.1:").unwrap();
        let (port, token) = rest.split_once("/?token=").unwrap();
        assert!(token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
        Server { port: port.parse().unwrap(), token: token.into(), child }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    fn get(&self, target: &str) -> String {
        self.ask(&format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("results")).unwrap();
    folder.write("results/a.noise", "0 1000\n5000 2500\n");
    folder
}

#[track_caller]
fn answers(answer: &str, status: &str) {
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {status} ")),
        "{status}: {}",
        &answer[..answer.len().min(300)]
    );
    for header in [
        "Content-Security-Policy: default-src 'none'",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Cache-Control: no-store",
    ] {
        assert!(answer.contains(header), "{header}");
    }
}

#[test]
fn the_token_opens_the_page_and_files_that_change_change_it() {
    let folder = folder();
    let server = Server::start(&folder);
    let token = &server.token;
    let page = |answer: &str| Page::from_html(answer).unwrap().unwrap();
    for path in ["/", "/report.html"] {
        let answer = server.get(&format!("{path}?token={token}"));
        answers(&answer, "200");
        assert_eq!(page(&answer).sections.len(), 1);
    }
    let head =
        server.ask(&format!("HEAD /?token={token} HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", server.port));
    answers(&head, "200");
    assert!(head.ends_with("\r\n\r\n"));
    folder.write("results/b.noise", "0 1000\n");
    assert_eq!(page(&server.get(&format!("/?token={token}"))).parts.len(), 2);
    std::fs::remove_file(folder.path().join("results/a.noise")).unwrap();
    std::fs::remove_file(folder.path().join("results/b.noise")).unwrap();
    answers(&server.get(&format!("/?token={token}")), "500");
}

#[test]
fn everybody_else_is_turned_away() {
    let folder = folder();
    let server = Server::start(&folder);
    let (token, port) = (&server.token, server.port);
    let wrong = if token.starts_with('0') { "1".to_string() } else { "0".to_string() } + &token[1..];
    for target in [
        "/",
        "/?token=",
        "/?token=abc",
        &format!("/?token={wrong}"),
        &format!("/?tokens={token}"),
        "/etc/passwd",
    ] {
        answers(&server.get(target), "403");
    }
    for target in ["/../../etc/passwd", "/a.noise", "/results/a.noise", "//", "/%2e%2e/x", "/report.html/.."]
    {
        answers(&server.get(&format!("{target}?token={token}")), "404");
    }
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "127.0.0.1:1", ""] {
        let answer = server.ask(&format!("GET /?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        answers(&answer, "403");
    }
    answers(&server.ask(&format!("GET /?token={token} HTTP/1.1\r\n\r\n")), "403");
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "get"] {
        let answer =
            server.ask(&format!("{method} /?token={token} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
        answers(&answer, "405");
    }
    for request in
        ["\r\n\r\n", "GET /\r\n\r\n", "\u{0}\u{1}\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"]
    {
        answers(&server.ask(request), "400");
    }
    let long = "x".repeat(100_000);
    answers(&server.ask(&format!("GET /{long} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n")), "431");
    answers(&server.ask(&format!("GET / HTTP/1.1\r\nX: {long}\r\n\r\n")), "431");
}

#[test]
fn slow_and_many_clients_do_not_stop_it() {
    let folder = folder();
    let server = Server::start(&folder);
    let target = format!("/?token={}", server.token);
    // Clients that connect, send half a line or nothing, and wait; many more than the server admits.
    let mut idle: Vec<TcpStream> = (0..300).map(|_| server.connect()).collect();
    for stream in idle.iter_mut().step_by(2) {
        let _ = stream.write_all(b"GET / HT");
    }
    for _ in 0..3 {
        let since = Instant::now();
        answers(&server.get(&target), "200");
        assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
    }
    // The oldest connection was closed to make room, by an end or a reset, well before its time-out.
    let (since, mut rest) = (Instant::now(), Vec::new());
    let _ = idle[0].read_to_end(&mut rest);
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
}

#[test]
fn a_signal_ends_it() {
    let folder = folder();
    let mut server = Server::start(&folder);
    let sent = Command::new("kill").args(["-INT", &server.child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    assert!(TcpStream::connect(("127.0.0.1", server.port)).is_err());
}

#[test]
fn ports_and_inputs_that_cannot_be_used_are_named() {
    let folder = folder();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    folder.run(&format!("serve results --port {port}")).ends_with(2).says("use another --port");
    folder.run("serve missing").ends_with(3).says("missing cannot be read");
}

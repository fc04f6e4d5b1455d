//! `straggler serve`: serves the report of a folder on the loopback address to clients that have the token.
//!
//! A finished report needs no server. This one is for results that still change, and for machines without a browser
//! (over a forwarded port). It does as little as possible: two paths, no file access by name, read-only. It uses
//! [`std::net`] directly because that takes little code and keeps the limits on size, time and connections visible.
//!
//! Access: the connection must come from this machine (the socket is bound to 127.0.0.1), the `Host` must be this
//! server (so that a foreign site whose name resolves to 127.0.0.1 gets nothing), and the URL must contain the token:
//! 128 random bits, compared in constant time.

use crate::kernel::prelude::*;
use crate::{kernel::typed::count, report::search::Search};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{collections::BTreeMap, time::Duration};

/// Most open connections. One more closes the oldest connection that has sent no request yet; if all are being
/// answered, the new one is rejected.
const MOST_CONNECTIONS: usize = 32;

const EXAMPLES: &str = "\
EXAMPLES
  straggler serve fixtures/noise
  straggler serve fixtures/noise --port 8642

Open the printed address: it holds a token, and requests without the token are
refused. Only this machine can connect. From another machine, forward the port:
ssh -L 8642:127.0.0.1:8642 HOST. The page is rebuilt when files change. Stop
with Ctrl-C.";

/// Show results in a browser on this machine
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Serve {
    /// Files of results, or folders that are searched for them
    #[arg(value_name = "FILE|FOLDER", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::<u16>(0..))]
    pub port: u16,
}

pub fn run(typed: &Serve, seed: u64, console: &Console) -> Outcome<()> {
    let site = Site::new(typed.inputs.clone(), seed, token()?)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, typed.port));
    let listener = listener.map_err(|fault| cannot_listen(typed.port, &fault))?;
    let port = listener.local_addr().map_err(|fault| cannot_listen(typed.port, &fault))?.port();
    let url = format!("http://127.0.0.1:{port}/?token={}", site.token);
    interrupt::expect();
    match console.json {
        true => console.print_json(&ServeAnswer { url, port })?,
        false => {
            console.print_verbatim(&format!("{url}\n"))?;
            console.note("Open this address in a browser on this machine. Press Ctrl-C to stop.");
        }
    }
    answer_all(
        &listener,
        &Arc::new(Server {
            site,
            port,
            busy: AtomicUsize::new(0),
            silent: Mutex::default(),
            next: AtomicUsize::new(0),
        }),
        console,
    );
    Ok(())
}

#[derive(Serialize)]
struct ServeAnswer {
    url: String,
    port: u16,
}

fn cannot_listen(port: u16, fault: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot use port {port} of 127.0.0.1: {fault}; use another --port, or remove it"))
}

/// Runs until a signal ends the program.
fn answer_all(listener: &TcpListener, server: &Arc<Server>, console: &Console) {
    for connection in listener.incoming() {
        match connection {
            Ok(connection) => server.clone().begin(connection),
            Err(fault) => {
                console.detail(&format!("a connection failed: {fault}"));
                // Most likely too many open files; some will close soon.
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

struct Server {
    site: Site,
    port: u16,
    busy: AtomicUsize,
    /// Connections that have not sent a request yet, by number, the oldest first.
    silent: Mutex<BTreeMap<usize, TcpStream>>,
    /// The number of the next connection.
    next: AtomicUsize,
}

/// Counts a connection as busy while it lives; on drop, also removes it from the silent ones.
struct Busy {
    server: Arc<Server>,
    number: usize,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.server.silent().remove(&self.number);
        self.server.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    /// Starts a thread for a connection. Must not block: other connections wait to be accepted.
    fn begin(self: Arc<Self>, connection: TcpStream) {
        let others = self.busy.fetch_add(1, Ordering::Relaxed);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let place = Busy { server: self, number };
        let server = &place.server;
        if others >= MOST_CONNECTIONS && !server.close_a_silent_one() {
            return Response::busy().send_and_close(connection);
        }
        // Registered before its thread starts: many connections may arrive before any thread runs.
        if let Ok(other) = connection.try_clone() {
            server.silent().insert(number, other);
        }
        // If no thread can be started, the connection and its place are dropped.
        let _ = std::thread::Builder::new().spawn(move || place.server.answer(number, connection));
    }

    fn silent(&self) -> MutexGuard<'_, BTreeMap<usize, TcpStream>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the oldest silent connection; its thread then reads the end of the stream and frees its place.
    fn close_a_silent_one(&self) -> bool {
        // A connection that its client closed cannot be shut down again, and frees its place by itself.
        std::iter::from_fn(|| self.silent().pop_first())
            .any(|(_, oldest)| oldest.shutdown(Shutdown::Both).is_ok())
    }

    fn answer(&self, number: usize, mut connection: TcpStream) {
        let request = Request::read(&mut connection);
        self.silent().remove(&number);
        let (answer, head_only) = match request {
            Ok(request) => (self.site.answer(&request, self.port), request.method == "HEAD"),
            Err(fault) => (fault.answer(), false),
        };
        // The browser may have gone away.
        let _ = answer.send(&mut connection, head_only);
    }
}

/// The served page and the access token.
struct Site {
    inputs: Vec<PathBuf>,
    seed: u64,
    token: String,
    page: Mutex<Made>,
}

/// The last page, and its input files.
struct Made {
    search: Search,
    html: Arc<[u8]>,
}

impl Made {
    fn new(search: Search, seed: u64) -> Outcome<Made> {
        let (page, _) = search.page(None, seed)?;
        Ok(Made { search, html: page.to_html().into_bytes().into() })
    }
}

impl Site {
    fn new(inputs: Vec<PathBuf>, seed: u64, token: String) -> Outcome<Site> {
        let page = Mutex::new(Made::new(Search::new(&inputs)?, seed)?);
        Ok(Site { inputs, seed, token, page })
    }

    fn answer(&self, request: &Request, port: u16) -> Response {
        let is_ours = |host: &str| {
            let (name, of) = host.rsplit_once(':').unwrap_or((host, "80"));
            ["127.0.0.1", "localhost"].contains(&name) && of == port.to_string()
        };
        if !request.host.as_deref().is_some_and(is_ours) {
            return Response::forbidden("this server answers to 127.0.0.1 and localhost only");
        }
        if !["GET", "HEAD"].contains(&request.method.as_str()) {
            return Response::wrong_method();
        }
        if !request.token.as_deref().is_some_and(|token| equal(token, &self.token)) {
            return Response::forbidden("the token is missing or wrong: use the address that was printed");
        }
        if !["/", "/report.html"].contains(&request.path.as_str()) {
            return Response::not_found();
        }
        match self.html() {
            Ok(html) => Response::page(html),
            Err(failure) => Response::failed(&failure.error.to_string()),
        }
    }

    /// The page, rebuilt if files have changed.
    fn html(&self) -> Outcome<Arc<[u8]>> {
        // After a panic in another thread, the stored page is still complete.
        let mut made = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let search = Search::new(&self.inputs)?;
        if search.differs(&made.search) {
            *made = Made::new(search, self.seed)?;
        }
        Ok(made.html.clone())
    }
}

/// Compares in constant time, for tokens of the right length.
fn equal(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

/// 128 random bits from the operating system, as 32 hex digits.
pub fn token() -> Outcome<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|fault| Failure::bad_input(format!("the system provides no random numbers: {fault}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The longest request; normal ones have a few hundred bytes.
const MOST_BYTES: usize = 8192;
/// Time limit for receiving a request.
const READ_TIME: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// Without the query string.
    pub path: String,
    pub token: Option<String>,
    pub host: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    TooLarge,
    TooSlow,
    Malformed,
}

impl RequestError {
    pub fn answer(self) -> Response {
        match self {
            RequestError::TooLarge => Response::text("431 Request Header Fields Too Large", "too large"),
            RequestError::TooSlow => Response::text("408 Request Timeout", "too slow"),
            RequestError::Malformed => Response::text("400 Bad Request", "not understood"),
        }
    }
}

impl Request {
    pub fn read(connection: &mut TcpStream) -> Result<Request, RequestError> {
        let deadline = Instant::now() + READ_TIME;
        let mut bytes = Vec::new();
        let mut buffer = [0; 1024];
        loop {
            if let Some(end) = end_of_head(&bytes) {
                let head = std::str::from_utf8(bytes.get(..end).unwrap_or_default());
                return Request::parse(head.map_err(|_| RequestError::Malformed)?);
            }
            if bytes.len() > MOST_BYTES {
                return Err(RequestError::TooLarge);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || connection.set_read_timeout(Some(left)).is_err() {
                return Err(RequestError::TooSlow);
            }
            match connection.read(&mut buffer) {
                Ok(0) => return Err(RequestError::Malformed),
                Ok(count) => bytes.extend(buffer.iter().take(count)),
                Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(RequestError::TooSlow),
            }
        }
    }

    fn parse(head: &str) -> Result<Request, RequestError> {
        let mut lines = head.split("\r\n");
        let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, "HTTP/1.1" | "HTTP/1.0"] = first[..] else {
            return Err(RequestError::Malformed);
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let token = query.split('&').find_map(|pair| pair.strip_prefix("token="));
        let mut host = None;
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or(RequestError::Malformed)?;
            if name.eq_ignore_ascii_case("host") && host.replace(value.trim().to_string()).is_some() {
                return Err(RequestError::Malformed);
            }
        }
        Ok(Request { method: method.into(), path: path.into(), token: token.map(Into::into), host })
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n")
}

/// Time limit for sending a page of any size.
const SEND_TIME: Duration = Duration::from_secs(60);
/// How long to wait for the browser to close its side.
const LINGER: Duration = Duration::from_millis(500);
/// Bytes sent between two checks of the time limit.
const PIECE: usize = 1 << 16;

/// The page runs its own scripts and loads nothing: no other site, no frame around it, no form.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; font-src data:; worker-src blob:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

#[derive(Clone, Debug)]
pub struct Response {
    status: &'static str,
    kind: &'static str,
    more: &'static str,
    body: Arc<[u8]>,
}

impl Response {
    pub fn page(html: Arc<[u8]>) -> Response {
        Response { status: "200 OK", kind: "text/html; charset=utf-8", more: "", body: html }
    }

    pub fn text(status: &'static str, text: &str) -> Response {
        let body = format!("{text}\n").into_bytes().into();
        Response { status, kind: "text/plain; charset=utf-8", more: "", body }
    }

    pub fn forbidden(why: &str) -> Response {
        Response::text("403 Forbidden", why)
    }

    pub fn not_found() -> Response {
        Response::text("404 Not Found", "there is only one page here: /")
    }

    pub fn wrong_method() -> Response {
        Response {
            more: "Allow: GET, HEAD\r\n",
            ..Response::text("405 Method Not Allowed", "this page can only be read")
        }
    }

    pub fn busy() -> Response {
        Response::text("503 Service Unavailable", "too many connections: try again")
    }

    pub fn failed(why: &str) -> Response {
        Response::text("500 Internal Server Error", &format!("cannot make the page: {why}"))
    }

    /// Sends a short response without blocking. Unread input resets the connection, so the response may be lost, which
    /// is acceptable for a rejected client.
    pub fn send_and_close(&self, mut connection: TcpStream) {
        let Response { status, body, .. } = self;
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        if connection.set_nonblocking(true).is_ok() {
            let _ = connection.write_all(&[head.as_bytes(), body].concat());
        }
    }

    /// Sends the whole response, or only its head.
    pub fn send(&self, connection: &mut TcpStream, head_only: bool) -> io::Result<()> {
        let Response { status, kind, more, body } = self;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
             Cache-Control: no-store\r\nContent-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n{more}\r\n",
            body.len()
        );
        let deadline = Instant::now() + SEND_TIME;
        let body = if head_only { &[][..] } else { body };
        for piece in std::iter::once(head.as_bytes()).chain(body.chunks(PIECE)) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            connection.set_write_timeout(Some(left))?;
            connection.write_all(piece)?;
        }
        connection.shutdown(std::net::Shutdown::Write)?;
        drain(connection);
        Ok(())
    }
}

/// Discards the unread rest of the request if it arrives quickly: closing the connection earlier would reset it, and
/// the response could be lost.
fn drain(connection: &mut TcpStream) {
    let mut buffer = [0; 4096];
    let deadline = Instant::now() + LINGER;
    if connection.set_read_timeout(Some(LINGER)).is_ok() {
        while matches!(connection.read(&mut buffer), Ok(count) if count > 0) && Instant::now() < deadline {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_is_found() {
        let request = Request::parse("GET /?a=b&token=77 HTTP/1.1\r\nhOST: localhost:80 \r\nX: y").unwrap();
        assert_eq!((&*request.method, &*request.path), ("GET", "/"));
        assert_eq!(request.token.as_deref(), Some("77"));
        assert_eq!(request.host.as_deref(), Some("localhost:80"));
        assert_eq!(Request::parse("GET / HTTP/1.1").unwrap().host, None);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for head in ["", "GET /", "GET / HTTP/2", "GET  / HTTP/1.1", "GET / HTTP/1.1\r\nHost a"] {
            assert_eq!(Request::parse(head), Err(RequestError::Malformed), "{head}");
        }
        let twice = "GET / HTTP/1.1\r\nHost: a\r\nHost: b";
        assert_eq!(Request::parse(twice), Err(RequestError::Malformed));
    }
}

//! `straggler serve`: the report of a folder on this machine's own address, for whoever knows the token.
//!
//! A page of results needs no server; this one is for results that still change, and for machines without a
//! browser (over a forwarded port). It therefore does as little as possible: two paths, no files by name,
//! nothing that changes anything. The loop over [`std::net`] is written out here because that is little code, and
//! the limits on size, time and connections are then in plain sight.
//!
//! Who may see the page: the connection must come from this machine (the socket is bound to 127.0.0.1), the
//! `Host` must be this server's (so that a foreign site whose name resolves to 127.0.0.1 gets nothing), and
//! the address must hold the token, 128 random bits that are compared in constant time.

mod answer;
mod request;

use crate::args::report::Serve;
use crate::commands::report::Search;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use answer::Answer;
use request::Request;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Connections that are open at the same time. One more, and the one that has kept silent longest is closed; where all
/// are being answered, the new one is turned away.
const MOST_CONNECTIONS: usize = 32;

pub fn run(typed: &Serve, seed: u64, console: &Console) -> Outcome<()> {
    let site = Site::new(typed.inputs.clone(), seed, token()?)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, typed.port));
    let listener = listener.map_err(|fault| cannot_listen(typed.port, &fault))?;
    let port = listener.local_addr().map_err(|fault| cannot_listen(typed.port, &fault))?.port();
    let url = format!("http://127.0.0.1:{port}/?token={}", site.token);
    match console.json {
        true => console.print_json(&ServeAnswer { url, port })?,
        false => {
            console.print(&format!("{url}\n"))?;
            console.note("Open this address in a browser on this machine. Ctrl-C ends it.");
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
    Failure::usage(format!("port {port} of 127.0.0.1 cannot be used: {fault}; give another --port, or none"))
}

/// 128 bits from the operating system, as 32 digits.
pub fn token() -> Outcome<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|fault| Failure::bad_input(format!("the system gives no random numbers: {fault}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Runs until a signal ends the program.
fn answer_all(listener: &TcpListener, server: &Arc<Server>, console: &Console) {
    for connection in listener.incoming() {
        match connection {
            Ok(connection) => server.clone().begin(connection),
            Err(fault) => {
                console.detail(&format!("a connection failed: {fault}"));
                // Too many open files, most likely: those that are open end soon.
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

struct Server {
    site: Site,
    port: u16,
    busy: AtomicUsize,
    /// Connections whose request is not there yet, by their numbers, the oldest first.
    silent: Mutex<BTreeMap<usize, TcpStream>>,
    /// The number of the next connection.
    next: AtomicUsize,
}

/// One connection counts as busy as long as this lives, and is not silent after it.
struct Place {
    server: Arc<Server>,
    number: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.server.silent().remove(&self.number);
        self.server.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    /// Never blocks: others wait to be accepted.
    fn begin(self: Arc<Self>, connection: TcpStream) {
        let others = self.busy.fetch_add(1, Ordering::Relaxed);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let place = Place { server: self, number };
        let server = &place.server;
        if others >= MOST_CONNECTIONS && !server.close_a_silent_one() {
            return Answer::busy().send_and_close(connection);
        }
        // Before its thread begins: many may come before any of them does.
        if let Ok(other) = connection.try_clone() {
            server.silent().insert(number, other);
        }
        // Where no thread can be had, the connection and its place are dropped.
        let _ = std::thread::Builder::new().spawn(move || place.server.answer(number, connection));
    }

    fn silent(&self) -> MutexGuard<'_, BTreeMap<usize, TcpStream>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its thread then reads the end of the connection and gives its place up.
    fn close_a_silent_one(&self) -> bool {
        // One that its client has left cannot be closed again, and gives its place up by itself.
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
        // A browser that has gone away misses nothing.
        let _ = answer.send(&mut connection, head_only);
    }
}

/// What is shown, and to whom.
struct Site {
    inputs: Vec<PathBuf>,
    seed: u64,
    token: String,
    page: Mutex<Made>,
}

/// The page as it was last made, and the files it was made of.
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
        let page = Mutex::new(Made::new(Search::of(&inputs)?, seed)?);
        Ok(Site { inputs, seed, token, page })
    }

    fn answer(&self, request: &Request, port: u16) -> Answer {
        let is_ours = |host: &str| {
            let (name, of) = host.rsplit_once(':').unwrap_or((host, "80"));
            ["127.0.0.1", "localhost"].contains(&name) && of == port.to_string()
        };
        if !request.host.as_deref().is_some_and(is_ours) {
            return Answer::forbidden("this server answers to 127.0.0.1 and localhost only");
        }
        if !["GET", "HEAD"].contains(&request.method.as_str()) {
            return Answer::wrong_method();
        }
        if !request.token.as_deref().is_some_and(|token| equal(token, &self.token)) {
            return Answer::forbidden("the token is missing or wrong: use the address that was printed");
        }
        if !["/", "/report.html"].contains(&request.path.as_str()) {
            return Answer::not_found();
        }
        match self.html() {
            Ok(html) => Answer::page(html),
            Err(failure) => Answer::failed(&failure.error.to_string()),
        }
    }

    /// The page, made anew if files have changed.
    fn html(&self) -> Outcome<Arc<[u8]>> {
        // What a thread that failed left behind is a whole page all the same.
        let mut made = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let search = Search::of(&self.inputs)?;
        if search.differs(&made.search) {
            *made = Made::new(search, self.seed)?;
        }
        Ok(made.html.clone())
    }
}

/// Takes as long for any wrong token of the right length.
fn equal(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

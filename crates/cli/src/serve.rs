//! `straggler serve`: serves the report of a folder on the loopback address to clients that have the token.
//!
//! A finished report needs no server. This one is for results that still change, and for machines without a browser
//! (over a forwarded port). It does as little as possible: two paths, no file access by name, read-only. It uses
//! [`std::net`] directly because that takes little code and keeps the limits on size, time and connections visible.
//!
//! Access: the connection must come from this machine (the socket is bound to 127.0.0.1), the `Host` must be this
//! server (so that a foreign site whose name resolves to 127.0.0.1 gets nothing), and the URL must contain the token:
//! 128 random bits, compared in constant time.

pub mod request;

use crate::kernel::console::Console;
use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::interrupt;
use crate::kernel::typed::count;
use crate::report::search::Search;
use crate::serve::request::Request;
use crate::serve::request::answer::Response;
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

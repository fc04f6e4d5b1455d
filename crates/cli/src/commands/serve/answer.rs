//! What is sent back.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A page is taken within this time, whatever its size.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a browser has to end its side.
const LINGER: Duration = Duration::from_millis(500);
/// Sent at once, between looks at the clock.
const PIECE: usize = 1 << 16;

/// The page runs its own program and loads nothing: no other site, no frame around it, no form.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; font-src data:; worker-src blob:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

#[derive(Clone, Debug)]
pub struct Answer {
    status: &'static str,
    kind: &'static str,
    more: &'static str,
    body: Arc<[u8]>,
}

impl Answer {
    pub fn page(html: Arc<[u8]>) -> Answer {
        Answer { status: "200 OK", kind: "text/html; charset=utf-8", more: "", body: html }
    }

    pub fn text(status: &'static str, text: &str) -> Answer {
        let body = format!("{text}\n").into_bytes().into();
        Answer { status, kind: "text/plain; charset=utf-8", more: "", body }
    }

    pub fn forbidden(why: &str) -> Answer {
        Answer::text("403 Forbidden", why)
    }

    pub fn not_found() -> Answer {
        Answer::text("404 Not Found", "there is only one page here: /")
    }

    pub fn wrong_method() -> Answer {
        Answer {
            more: "Allow: GET, HEAD\r\n",
            ..Answer::text("405 Method Not Allowed", "this page can only be read")
        }
    }

    pub fn busy() -> Answer {
        Answer::text("503 Service Unavailable", "too many connections: try again")
    }

    pub fn failed(why: &str) -> Answer {
        Answer::text("500 Internal Server Error", &format!("the page cannot be made: {why}"))
    }

    /// Sends a short answer without waiting for anything. What is not read resets the connection, so that the answer may
    /// be lost: whoever is turned away need not be told why.
    pub fn send_and_close(&self, mut connection: TcpStream) {
        let Answer { status, body, .. } = self;
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        if connection.set_nonblocking(true).is_ok() {
            let _ = connection.write_all(&[head.as_bytes(), body].concat());
        }
    }

    /// Sends everything, or only what would come before the body.
    pub fn send(&self, connection: &mut TcpStream, head_only: bool) -> io::Result<()> {
        let Answer { status, kind, more, body } = self;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
             Cache-Control: no-store\r\nContent-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n{more}\r\n",
            body.len()
        );
        let deadline = Instant::now() + PATIENCE;
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

/// What of the request was not read is thrown away, as long as it comes quickly: closing before would reset the
/// connection and could take the answer with it.
fn drain(connection: &mut TcpStream) {
    let mut buffer = [0; 4096];
    let deadline = Instant::now() + LINGER;
    if connection.set_read_timeout(Some(LINGER)).is_ok() {
        while matches!(connection.read(&mut buffer), Ok(count) if count > 0) && Instant::now() < deadline {}
    }
}

//! HTTP responses.

use std::io;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit for sending a page of any size.
const PATIENCE: Duration = Duration::from_secs(60);
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

/// Discards the unread rest of the request if it arrives quickly: closing the connection earlier would reset it, and
/// the response could be lost.
fn drain(connection: &mut TcpStream) {
    let mut buffer = [0; 4096];
    let deadline = Instant::now() + LINGER;
    if connection.set_read_timeout(Some(LINGER)).is_ok() {
        while matches!(connection.read(&mut buffer), Ok(count) if count > 0) && Instant::now() < deadline {}
    }
}

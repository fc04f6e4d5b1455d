//! A browser's request: the first line and the few headers that matter, within limits on size and time.

pub mod answer;

use crate::serve::request::answer::Response;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest request; normal ones have a few hundred bytes.
const MOST_BYTES: usize = 8192;
/// Time limit for receiving a request.
const PATIENCE: Duration = Duration::from_secs(5);

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
        let deadline = Instant::now() + PATIENCE;
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

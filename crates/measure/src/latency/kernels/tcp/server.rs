//! The answering end, for a client on another host. It serves one connection at a time, allocates memory only
//! for clients that know the token, and never more than [`super::MOST_BYTES`]. Who connects and says nothing keeps nobody
//! waiting.

use super::super::round_trip::message;
use super::{HELLO, MOST_BYTES, REFUSED, TOKEN, WELCOME};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("{address}: cannot listen: {fault}; give another --listen HOST:PORT")]
    Address { address: String, fault: io::Error },
    #[error("the token must be {TOKEN} letters and digits")]
    Token,
}

/// Listens for clients.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    token: String,
}

/// Interval at which `stop` is checked.
const LOOK: Duration = Duration::from_millis(100);

/// A client silent for this long is gone.
const SILENCE: Duration = Duration::from_secs(60);

/// A client must have sent its hello within this time.
const HELLO_TIME: Duration = Duration::from_secs(5);

/// Interval at which connections that have not said hello are looked at, and their largest number.
const LISTEN: Duration = Duration::from_millis(5);
const MOST_CALLERS: usize = 64;

const HELLO_BYTES: usize = HELLO.len() + TOKEN + 8;

impl Server {
    pub fn bind(address: &str, token: String) -> Result<Server, ServerError> {
        let named = |fault| ServerError::Address { address: address.into(), fault };
        if token.len() != TOKEN || !token.bytes().all(|letter| letter.is_ascii_alphanumeric()) {
            return Err(ServerError::Token);
        }
        let listener = TcpListener::bind(address).map_err(named)?;
        listener.set_nonblocking(true).map_err(named)?;
        Ok(Server { listener, token })
    }

    /// The address it listens on; if port 0 was requested, the system has chosen the port.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers clients until `stop` is raised.
    pub fn serve(&self, stop: &AtomicBool) {
        let mut callers: Vec<Caller> = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..MOST_CALLERS {
                let Ok((stream, _)) = self.listener.accept() else { break };
                if callers.len() == MOST_CALLERS {
                    // Clients of straggler speak at once: the first has been silent for the longest time.
                    callers.remove(0);
                }
                callers.extend(Caller::new(stream));
            }
            let ready: Vec<Caller> = callers.extract_if(.., Caller::has_said_hello).collect();
            callers.retain(|caller| !caller.is_gone && caller.since.elapsed() <= HELLO_TIME);
            if ready.is_empty() {
                std::thread::sleep(if callers.is_empty() { LOOK } else { LISTEN });
            }
            for caller in ready {
                // Errors of one client do not affect others.
                let _ = self.answer(caller, stop);
            }
        }
    }

    fn answer(&self, Caller { mut stream, hello, .. }: Caller, stop: &AtomicBool) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let size = self.asked(&hello).filter(|size| (1..=MOST_BYTES).contains(size));
        let Some(size) = size else { return stream.write_all(&[REFUSED]) };
        let mut message = message(size)?;
        stream.write_all(&[WELCOME])?;
        loop {
            read_all(&mut stream, &mut message, stop)?;
            stream.write_all(&message)?;
        }
    }

    /// The size that a client requests, if it knows the token.
    fn asked(&self, hello: &[u8]) -> Option<u64> {
        let (greeting, rest) = hello.split_at_checked(HELLO.len())?;
        let (token, size) = rest.split_at_checked(TOKEN)?;
        // Takes the same time for any wrong token.
        let differ =
            token.iter().zip(self.token.as_bytes()).fold(0, |differ, (one, two)| differ | (one ^ two));
        (greeting == HELLO && differ == 0).then(|| size.try_into().map(u64::from_le_bytes).ok())?
    }
}

/// A connection that has not said all of its hello.
#[derive(Debug)]
struct Caller {
    stream: TcpStream,
    since: Instant,
    hello: [u8; HELLO_BYTES],
    filled: usize,
    is_gone: bool,
}

impl Caller {
    fn new(stream: TcpStream) -> Option<Caller> {
        stream.set_nonblocking(true).ok()?;
        Some(Caller { stream, since: Instant::now(), hello: [0; HELLO_BYTES], filled: 0, is_gone: false })
    }

    /// Reads what there is of the hello. Returns whether it is complete.
    fn has_said_hello(&mut self) -> bool {
        while self.filled < HELLO_BYTES {
            match self.stream.read(&mut self.hello[self.filled..]) {
                Ok(0) => self.is_gone = true,
                Ok(more) => {
                    self.filled += more;
                    continue;
                }
                Err(fault) if fault.kind() == ErrorKind::Interrupted => continue,
                Err(fault) => self.is_gone = fault.kind() != ErrorKind::WouldBlock,
            }
            return false;
        }
        true
    }
}

/// Fills the buffer, unless the client is gone or silent, or `stop` is raised.
fn read_all(stream: &mut TcpStream, buffer: &mut [u8], stop: &AtomicBool) -> io::Result<()> {
    let (mut filled, mut waiting) = (0, None);
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(more) => (filled, waiting) = (filled + more, None),
            Err(fault) if matches!(fault.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let since = *waiting.get_or_insert_with(Instant::now);
                if stop.load(Ordering::Relaxed) || since.elapsed() > SILENCE {
                    return Err(fault);
                }
            }
            Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

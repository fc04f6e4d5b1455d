//! Round trips over TCP: on the loopback interface with a peer of our own, or to a [`Server`] on another host.
//!
//! A client opens a connection for each size and says hello: [`HELLO`], the token of the server, the size as 8 bytes,
//! little-endian. The server answers one byte, [`WELCOME`] or [`REFUSED`], and then sends every message back.

mod server;

pub use server::{Server, ServerError};

use super::round_trip::{PATIENCE, RoundTrip, answer_on};
use super::{Ending, Session};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use straggler_model::latency::{Kind, Labels, Pair, Process};

const HELLO: &[u8; 20] = b"straggler latency 1\n";
const WELCOME: u8 = 1;
const REFUSED: u8 = 0;

/// Characters of a token.
const TOKEN: usize = 32;

/// The most memory that a server allocates for a client with the token.
pub const MOST_BYTES: u64 = 64 << 20;

/// A server on another host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remote {
    /// `HOST:PORT`
    pub address: String,
    pub token: String,
}

pub(super) fn run(session: &mut Session<'_>, remote: Option<&Remote>) -> Ending {
    let (core, peer) = match remote {
        None => session.put_two(),
        Some(remote) => {
            let (core, _) = session.two_cores();
            session.put(0, core);
            let own = is_own(&remote.address);
            if own {
                session.measurement.notes.push(format!(
                    "Both ends ran on this host, and the listening one may also use core {core}: give it another \
                     core with --cores."
                ));
            }
            let (host, node) = match own {
                true => (session.host.clone(), Some(0)),
                false => (Some(remote.address.clone()), Some(1)),
            };
            session.measurement.processes.push(Process { rank: 1, host, node, ..Process::default() });
            (core, core)
        }
    };
    for &size in &session.options.sizes {
        let pair = Some(Pair { from: 0, to: 1 });
        let labels = Labels { kind: Kind::RoundTrip, size: Some(size), pair, ..session.labels("tcp") };
        session.measure(labels, core, || {
            let stream = match remote {
                Some(remote) => connect(remote, size)?,
                None => loopback(peer, size)?,
            };
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            RoundTrip::new(stream.try_clone()?, stream, size)
        })?;
    }
    Ok(())
}

/// Whether an address is one of this host: only then can a socket be bound to it.
fn is_own(address: &str) -> bool {
    let first = address.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    first.is_some_and(|address| UdpSocket::bind((address.ip(), 0)).is_ok())
}

fn loopback(core: u32, size: u64) -> io::Result<TcpStream> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let ours = TcpStream::connect(listener.local_addr()?)?;
    // Others may have connected in the meantime.
    let theirs = loop {
        let (stream, address) = listener.accept()?;
        if address == ours.local_addr()? {
            break stream;
        }
    };
    theirs.set_nodelay(true)?;
    answer_on(core, theirs.try_clone()?, theirs, size)?;
    Ok(ours)
}

fn connect(remote: &Remote, size: u64) -> io::Result<TcpStream> {
    let Remote { address, token } = remote;
    let named = |fault: io::Error| io::Error::new(fault.kind(), format!("{address}: {fault}"));
    // With another length, part of the token would be read as the size, or the reverse.
    if token.len() != TOKEN {
        return Err(io::Error::other(format!(
            "a token has {TOKEN} letters and digits: use the --token that {address} printed"
        )));
    }
    let mut stream = open(address).map_err(named)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut hello = HELLO.to_vec();
    hello.extend(token.as_bytes());
    hello.extend(size.to_le_bytes());
    let mut answer = [REFUSED];
    let asked = stream.write_all(&hello).and_then(|()| stream.read_exact(&mut answer));
    match (asked, answer) {
        (Ok(()), [WELCOME]) => Ok(stream),
        (Ok(()), _) => Err(io::Error::other(format!(
            "{address}: the server refused: use the --token that it printed, and a --size of at most {}",
            straggler_model::units::Bytes(MOST_BYTES)
        ))),
        (Err(fault), _) if matches!(fault.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err(io::Error::other(format!(
                "{address}: no answer for {} s: the server is busy with another client, or is not straggler",
                PATIENCE.as_secs()
            )))
        }
        (Err(fault), _) => Err(io::Error::other(format!(
            "{address}: the server closed the connection ({fault}): it is not straggler, or has too many clients"
        ))),
    }
}

/// The first of the host's addresses that answers.
fn open(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(fault) => last = fault,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 192.0.2.0/24 is reserved for documentation: no host has such an address.
    #[test]
    fn own_addresses_are_known() {
        assert!(is_own("127.0.0.1:7000") && is_own("localhost:7000"));
        assert!(!is_own("192.0.2.7:7000") && !is_own("nonsense"));
    }
}

//! The socket on which clients come, and which worker gets whom.

use super::crew::{Crew, Post};
use mio::net::TcpListener;
use mio::{Interest, Registry, Token};
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;

/// Most connections that are accepted in one turn.
const TURN_ACCEPTS: usize = 256;

/// A listening socket in the first worker's poll.
pub struct Listener {
    socket: TcpListener,
    /// Somebody may be waiting to be accepted.
    knocking: bool,
    /// The last attempt to accept failed: not to be logged again.
    cannot_accept: bool,
    max_clients: usize,
}

impl Listener {
    pub fn bind(address: SocketAddr, registry: &Registry, token: Token, max_clients: usize) -> io::Result<Self> {
        let mut socket = TcpListener::bind(address)?;
        registry.register(&mut socket, token, Interest::READABLE)?;
        Ok(Self { socket, knocking: false, cannot_accept: false, max_clients })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Takes note that somebody may be waiting.
    pub fn knock(&mut self) {
        self.knocking = true;
    }

    /// Accepts who waits, and hands each to the worker that has fewest. Returns whether there may be more of them.
    pub fn accept(&mut self, crew: &Crew) -> bool {
        for _ in 0..TURN_ACCEPTS {
            if !self.knocking {
                return false;
            }
            match self.socket.accept() {
                Ok((mut stream, address)) => {
                    self.cannot_accept = false;
                    if crew.connections() < self.max_clients {
                        crew.send(crew.take_on(), Post::Client(stream, address, crew.next_id()));
                    } else {
                        tracing::warn!(%address, "refused a connection: there are {} already", self.max_clients);
                        // Whether it arrives is the client's concern: the connection ends here.
                        let _ = stream.write(b"-ERR max number of clients reached\r\n");
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.knocking = false,
                Err(error) => {
                    // Too many open files, mostly: the next turn tries again, a tenth of a second from now at the latest.
                    if !std::mem::replace(&mut self.cannot_accept, true) {
                        tracing::warn!("cannot accept connections: {error}");
                    }
                    return false;
                }
            }
        }
        true
    }
}

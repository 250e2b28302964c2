//! Something that executes command sequences: a server behind sockets, or an engine in this process.

use std::io;
use std::net::SocketAddr;

use orbweaver_engine::resp::Value;

use crate::client::{Args, Client, args};

/// A sequence uses this many connections: one that does the work, one that comes in between.
pub const CONNECTIONS: usize = 2;

/// What can execute a command sequence.
pub trait Target {
    /// Empties all dbs and opens fresh connections.
    ///
    /// # Errors
    /// When the target does not answer.
    fn reset(&mut self) -> io::Result<()>;

    /// Executes commands on one connection, `0..CONNECTIONS`, and returns one reply for each. A QUIT can only come last; the next
    /// call finds a fresh connection.
    ///
    /// # Errors
    /// When the target stops answering.
    fn execute(&mut self, connection: usize, commands: &[&Args]) -> io::Result<Vec<Value>>;
}

/// Whether the server closes the connection after this command.
#[must_use]
pub fn closes_connection(command: &Args) -> bool {
    command.first().is_some_and(|name| name.eq_ignore_ascii_case(b"QUIT"))
}

/// A server behind sockets.
pub struct SocketTarget {
    address: SocketAddr,
    clients: Vec<Client>,
}

impl SocketTarget {
    /// The server at `address`; nothing is connected before the first [`Target::reset`].
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self { address, clients: Vec::new() }
    }
}

impl Target for SocketTarget {
    fn reset(&mut self) -> io::Result<()> {
        self.clients = (0..CONNECTIONS).map(|_| Client::connect(self.address)).collect::<io::Result<_>>()?;
        self.clients[0].call(&args(["FLUSHALL"]))?;
        Ok(())
    }

    fn execute(&mut self, connection: usize, commands: &[&Args]) -> io::Result<Vec<Value>> {
        let replies = self.clients[connection].pipeline(commands)?;
        if commands.last().is_some_and(|command| closes_connection(command)) {
            self.clients[connection] = Client::connect(self.address)?;
        }
        Ok(replies)
    }
}

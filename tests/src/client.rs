//! A blocking client over one socket.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use orbweaver_engine::resp::{Value, decode_reply};

/// A command and its arguments.
pub type Args = Vec<Vec<u8>>;

/// A reply may take this long before the test is lost.
const PATIENCE: Duration = Duration::from_secs(60);
/// A pipeline is sent in parts of about this size, each answered before the next: neither side waits with full socket buffers.
const MAX_BYTES_IN_FLIGHT: usize = 32 * 1024;

/// A command from its words.
#[must_use]
pub fn args<const N: usize>(words: [&str; N]) -> Args {
    words.map(Vec::from).to_vec()
}

/// `command` as a client sends it: an array of bulk strings.
#[must_use]
pub fn encode_command(command: &[Vec<u8>]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", command.len()).into_bytes();
    for arg in command {
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// A connection to a server.
pub struct Client {
    stream: TcpStream,
    /// Received and not yet decoded.
    received: Bytes,
}

impl Client {
    /// Connects to `address`.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, received: Bytes::new() })
    }

    /// Sends one command and waits for its reply.
    ///
    /// # Errors
    /// Those of the socket; `UnexpectedEof` when the server closes instead of answering; `InvalidData` when the reply is not RESP.
    pub fn call(&mut self, command: &[Vec<u8>]) -> io::Result<Value> {
        self.send_raw(&encode_command(command))?;
        self.read_reply()
    }

    /// Sends the commands without waiting between them, and returns one reply for each.
    ///
    /// # Errors
    /// As for [`Self::call`].
    pub fn pipeline(&mut self, commands: &[&Args]) -> io::Result<Vec<Value>> {
        let mut replies = Vec::with_capacity(commands.len());
        let mut request = Vec::new();
        for (index, command) in commands.iter().enumerate() {
            request.extend_from_slice(&encode_command(command));
            if request.len() >= MAX_BYTES_IN_FLIGHT || index + 1 == commands.len() {
                self.send_raw(&request)?;
                request.clear();
                while replies.len() <= index {
                    replies.push(self.read_reply()?);
                }
            }
        }
        Ok(replies)
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next reply.
    ///
    /// # Errors
    /// As for [`Self::call`].
    pub fn read_reply(&mut self) -> io::Result<Value> {
        loop {
            let decoded = decode_reply(&self.received)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{error}: {:?}", self.received)))?;
            if let Some((reply, used)) = decoded {
                self.received = self.received.slice(used..);
                return Ok(reply);
            }
            if !self.receive()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Sends nothing more, and returns everything the server still sends until it closes the connection, undecoded.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn finish(mut self) -> io::Result<Bytes> {
        self.stream.shutdown(Shutdown::Write)?;
        while self.receive()? {}
        Ok(self.received)
    }

    /// Waits for more bytes. False when the server has closed the connection.
    fn receive(&mut self) -> io::Result<bool> {
        let mut part = vec![0; 64 * 1024];
        let length = self.stream.read(&mut part)?;
        let mut received = Vec::with_capacity(self.received.len() + length);
        received.extend_from_slice(&self.received);
        received.extend_from_slice(&part[..length]);
        self.received = received.into();
        Ok(length > 0)
    }
}

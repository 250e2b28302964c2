//! One client's socket, what it has said that is not consumed yet, and what it has yet to read.

use crate::runtime::{Answer, BLOCKED};
use bytes::{Buf, BytesMut};
use mio::event::Event;
use mio::net::TcpStream;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

/// While more than this waits to be sent, nothing is read from the connection: a client that does not read its replies cannot ask
/// for more of them.
const PAUSE_BYTES: usize = 1 << 20;
/// Up to this size a request that is not whole is shown to the engine whenever some of it arrives, so that a mistake in it is
/// answered at once. A larger one waits for what the engine asked for: showing it again and again would cost its size each time.
const EAGER_BYTES: usize = 64 << 10;
/// Buffers above this size are given back when they are empty.
const KEPT_BYTES: usize = 64 << 10;

/// A connection. Its socket is watched edge-triggered: it says once that it is readable, and is so until a read finds nothing.
pub struct Connection {
    stream: TcpStream,
    input: BytesMut,
    /// Input has arrived that the engine has not seen.
    fresh: bool,
    /// How long the input must be before the engine can get on; 0: any length.
    needed: usize,
    /// The engine answers when something happens on other connections, or at a time: it has seen the request that it is about.
    blocked: bool,
    output: BytesMut,
    readable: bool,
    /// The client has said that it sends no more, though not everything need have been read.
    peer_done: bool,
    /// Everything that the client sent has been read.
    ended: bool,
    /// Since when the connection is only there for what is still to be sent.
    pub closing: Option<Instant>,
    /// The socket is of no use any more.
    pub dead: bool,
    /// Something was read, or written, at this time.
    pub last_active: Instant,
    /// The server has the connection in its queue.
    pub queued: bool,
    /// The engine has been given the input, and its answer has not been taken.
    under_way: bool,
    /// What the server has counted of [`Connection::pending`].
    pub counted: usize,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            input: BytesMut::new(),
            fresh: false,
            needed: 0,
            blocked: false,
            output: BytesMut::new(),
            readable: false,
            peer_done: false,
            ended: false,
            closing: None,
            dead: false,
            last_active: Instant::now(),
            queued: false,
            under_way: false,
            counted: 0,
        }
    }

    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    pub fn input(&self) -> &[u8] {
        &self.input
    }

    /// How long the input must become before the engine can get on.
    pub fn needed(&self) -> usize {
        self.needed
    }

    /// Bytes in memory for this connection.
    pub fn pending(&self) -> usize {
        self.input.len() + self.output.len()
    }

    /// Bytes that wait to be sent.
    pub fn unsent(&self) -> usize {
        self.output.len()
    }

    /// Whether the client waits in a blocking command.
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Lets the engine see a blocking request again: the instance that knew of it is lost.
    pub fn deliver_again(&mut self) {
        self.blocked = false;
    }

    /// Whether there is nothing left to do for this client.
    pub fn is_over(&self) -> bool {
        self.dead || (self.closing.is_some() && self.output.is_empty())
    }

    fn is_paused(&self) -> bool {
        self.dead || self.closing.is_some() || self.output.len() > PAUSE_BYTES
    }

    /// Whether a read may find something.
    pub fn can_read(&self) -> bool {
        self.readable && !self.ended && !self.is_paused()
    }

    /// Whether the engine should see the input.
    pub fn is_due(&self) -> bool {
        let news = self.fresh || self.needed == 0;
        let enough = self.input.len() >= self.needed || self.input.len() <= EAGER_BYTES;
        !self.is_paused() && !self.blocked && !self.under_way && !self.input.is_empty() && news && enough
    }

    /// Whether the client has sent its last byte.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the client has sent its last byte, and the engine has got on with it as far as it can.
    pub fn is_finished(&self) -> bool {
        // What waits for replies to leave is run yet.
        let waits = self.is_paused() && !self.input.is_empty();
        self.ended && !self.under_way && !waits && !self.is_due()
    }

    /// The engine runs the input that is there: what is read from here on comes behind it.
    pub fn set_under_way(&mut self) {
        self.under_way = true;
        self.fresh = false;
    }

    /// Takes note of what the socket says.
    pub fn note(&mut self, event: &Event) {
        self.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
        self.peer_done |= event.is_read_closed() || event.is_error();
        if event.is_writable() {
            self.flush();
        }
    }

    /// Reads at most as much as `scratch` holds. Returns how much it was.
    pub fn read(&mut self, scratch: &mut [u8]) -> usize {
        match self.stream.read(scratch) {
            Ok(0) => self.ended = true,
            Ok(count) => {
                self.input.extend_from_slice(scratch.get(..count).unwrap_or_default());
                self.fresh = true;
                self.last_active = Instant::now();
                // Less than there was room for: that was all, and the socket will say when there is more. Only the end of the
                // stream is not said twice.
                self.readable = count == scratch.len() || self.peer_done;
                return count;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable = false,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => self.dead = true,
        }
        0
    }

    /// Takes the engine's answer.
    pub fn take_answer(&mut self, answer: &Answer, reply: &[u8]) {
        let consumed = usize::try_from(answer.consumed).unwrap_or(usize::MAX).min(self.input.len());
        self.input.advance(consumed);
        if self.input.is_empty() && self.input.capacity() > KEPT_BYTES {
            self.input = BytesMut::new();
        }
        self.under_way = false;
        self.blocked = answer.needed == BLOCKED;
        self.needed = if self.blocked { 0 } else { usize::try_from(answer.needed).unwrap_or(usize::MAX) };
        self.take_message(answer, reply);
    }

    /// Takes what came without a request: it says nothing of the input.
    pub fn take_message(&mut self, answer: &Answer, message: &[u8]) {
        self.send(message);
        if answer.close {
            self.close();
        }
    }

    /// Says a last word.
    pub fn refuse(&mut self, error: &str) {
        self.send(format!("-ERR {}\r\n", error.replace(['\r', '\n'], " ")).as_bytes());
        self.close();
    }

    /// Ends the connection when everything is sent.
    pub fn close(&mut self) {
        self.closing.get_or_insert_with(Instant::now);
        self.input = BytesMut::new();
    }

    /// Sends what the socket takes at once and keeps the rest.
    fn send(&mut self, mut bytes: &[u8]) {
        if self.output.is_empty() {
            let sent = self.write(bytes);
            bytes = bytes.get(sent..).unwrap_or_default();
        }
        self.output.extend_from_slice(bytes);
    }

    /// Sends what has waited, as far as the socket takes it.
    fn flush(&mut self) {
        let output = std::mem::take(&mut self.output);
        let sent = self.write(&output);
        self.output = output;
        self.output.advance(sent);
        if self.output.is_empty() && self.output.capacity() > KEPT_BYTES {
            self.output = BytesMut::new();
        }
    }

    /// Writes until the socket takes no more. Returns how much it took.
    fn write(&mut self, bytes: &[u8]) -> usize {
        let mut sent = 0;
        while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(count) => {
                    sent += count;
                    self.last_active = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.dead = true;
                    break;
                }
            }
        }
        sent
    }
}

/// Sets what is set on every client's socket: no waiting for full packets, and probes that find clients which are gone.
pub fn prepare(stream: &TcpStream, keepalive: std::time::Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    socket2::SockRef::from(stream).set_tcp_keepalive(&socket2::TcpKeepalive::new().with_time(keepalive))
}

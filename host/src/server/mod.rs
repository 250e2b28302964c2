//! A server: sockets in front of an [`Orbweaver`].
//!
//! One thread. Each turn of its loop reads what is ready on all connections, hands everything to the engine in one call, and
//! sends the replies when the call has returned: all clients that asked at the same time share one commit.
//!
//! ```no_run
//! use orbweaver::runtime::{Component, Orbweaver};
//! use orbweaver::server::{Server, ServerOptions};
//! use orbweaver_engine::store::MemoryStore;
//!
//! let component = Component::load()?;
//! let orbweaver = Orbweaver::builder().open(&component, Box::new(MemoryStore::new()))?;
//! let server = Server::bind("127.0.0.1:6379".parse()?, orbweaver, ServerOptions::default())?;
//! let stopper = server.stopper(); // for another thread: `stopper.stop()`
//! server.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clients;
mod connection;
mod facts;
mod housekeeping;
mod options;

pub use options::{LiveFacts, ServerOptions};

use crate::runtime::{Delivery, Orbweaver};
use clients::Clients;
use facts::Facts;
use housekeeping::Housekeeping;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// Most bytes that are read from one connection in one turn, so that none keeps the others waiting.
const TURN_BYTES_PER_CLIENT: usize = 256 << 10;
/// Most bytes that are handed over in one call, unless a single request is larger. A call takes a hundred requests or so; what it
/// leaves crosses again with the next one.
const TURN_BYTES: usize = 1 << 20;
/// Most connections that are accepted in one turn.
const TURN_ACCEPTS: usize = 256;
/// How long replies may take to leave when the server stops.
const LAST_REPLIES: Duration = Duration::from_secs(5);

/// A server that is bound to its address.
pub struct Server {
    poll: Poll,
    listener: TcpListener,
    /// Somebody may be waiting to be accepted.
    knocking: bool,
    /// The last attempt to accept failed: not to be logged again.
    cannot_accept: bool,
    stopper: Stopper,
    address: SocketAddr,
    orbweaver: Orbweaver,
    options: ServerOptions,
    clients: Clients,
    housekeeping: Housekeeping,
    /// When the first wait of a blocking command ends.
    wake_at: Option<Instant>,
    /// How many instances had been lost when their waits were last made up for.
    known_traps: u64,
    scratch: Vec<u8>,
}

/// Stops a running server, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    waker: Arc<Waker>,
    stopped: Arc<AtomicBool>,
}

impl Stopper {
    /// Asks the server to stop: it sends the replies that are on their way, and [`Server::run`] returns.
    ///
    /// # Errors
    /// Where the server cannot be woken; it stops at its next turn then.
    pub fn stop(&self) -> io::Result<()> {
        self.stopped.store(true, Ordering::SeqCst);
        self.waker.wake()
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

impl Server {
    /// Binds to `address`; port 0 lets the system choose one. Clients can connect from then on, and are served by [`Server::run`].
    ///
    /// # Errors
    /// Those of the sockets: an address in use, not of this machine, or not permitted.
    pub fn bind(address: SocketAddr, orbweaver: Orbweaver, options: ServerOptions) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(address)?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let stopper = Stopper { waker: Arc::new(Waker::new(poll.registry(), WAKER)?), stopped: Arc::default() };
        let address = listener.local_addr()?;
        let facts = Facts::new(address, &options);
        Ok(Self {
            clients: Clients::new(poll.registry().try_clone()?, &options),
            housekeeping: Housekeeping::new(facts, &options),
            wake_at: None,
            known_traps: orbweaver.traps(),
            poll,
            listener,
            knocking: false,
            cannot_accept: false,
            stopper,
            address,
            orbweaver,
            options,
            scratch: vec![0; TURN_BYTES_PER_CLIENT],
        })
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What stops the server.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until it is stopped, by a [`Stopper`] or by a client's SHUTDOWN.
    ///
    /// # Errors
    /// Those of waiting for sockets. What happens on a single connection ends that connection only.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut more_to_accept = false;
        while !self.stopper.is_stopped() {
            let busy = more_to_accept || self.clients.have_work();
            let patience = if busy { Duration::ZERO } else { self.patience() };
            self.wait(&mut events, patience)?;
            more_to_accept = self.accept();
            let served = self.serve();
            if self.housekeeping.work(&mut self.orbweaver, &mut self.clients, served) {
                self.exchange(&[]);
            }
            self.make_up_for_traps();
        }
        tracing::info!("stopping");
        self.send_last_replies(&mut events)
    }

    /// How long there is nothing to do unless a socket has something to say.
    fn patience(&self) -> Duration {
        let patience = self.housekeeping.patience();
        self.wake_at.map_or(patience, |at| patience.min(at.saturating_duration_since(Instant::now())))
    }

    /// The waits of blocking commands are lost with an instance: their clients wait anew, in the order in which they connected.
    fn make_up_for_traps(&mut self) {
        if self.known_traps != self.orbweaver.traps() {
            self.known_traps = self.orbweaver.traps();
            self.clients.deliver_blocked_again(&mut self.orbweaver);
        }
    }

    /// Waits for sockets, and notes what they say.
    fn wait(&mut self, events: &mut Events, patience: Duration) -> io::Result<()> {
        match self.poll.poll(events, Some(patience)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            outcome => outcome?,
        }
        for event in events.iter() {
            match event.token() {
                LISTENER => self.knocking = true,
                WAKER => {}
                Token(id) => self.clients.note(u64::try_from(id).unwrap_or(u64::MAX), event, &mut self.orbweaver),
            }
        }
        Ok(())
    }

    /// Accepts who waits. Returns whether there may be more of them.
    fn accept(&mut self) -> bool {
        for _ in 0..TURN_ACCEPTS {
            if !self.knocking {
                return false;
            }
            match self.listener.accept() {
                Ok((stream, address)) => {
                    self.cannot_accept = false;
                    self.clients.add(stream, address, &mut self.orbweaver);
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

    /// One turn: reads what is ready, runs it, sends the replies. Returns whether there was anything to run.
    fn serve(&mut self) -> bool {
        let due = self.clients.read_ready(&mut self.scratch, TURN_BYTES, &mut self.orbweaver);
        let mut rest = due.as_slice();
        while !rest.is_empty() && !self.stopper.is_stopped() {
            let (now, later) = rest.split_at(self.clients.count_within(rest, TURN_BYTES));
            self.exchange(now);
            rest = later;
        }
        if self.wake_at.is_some_and(|at| at <= Instant::now()) {
            self.exchange(&[]);
        }
        !due.is_empty()
    }

    fn exchange(&mut self, due: &[u64]) {
        self.wake_at = None;
        let traps = self.orbweaver.traps();
        let deliveries: Vec<Delivery<'_>> = self.clients.deliveries(due).collect();
        let (outcome, delivered) = (self.orbweaver.exchange(&deliveries), deliveries.len());
        if self.orbweaver.traps() != traps {
            tracing::error!("the component trapped, and was made anew; the connection that caused it is told why and closed");
        }
        match outcome {
            Ok(outcome) => {
                for (position, (answer, reply)) in outcome.replies().enumerate() {
                    if reply.starts_with(b"-ERR internal: ") {
                        tracing::error!(connection = answer.connection, "{}", String::from_utf8_lossy(reply).trim_end());
                    }
                    // To a connection that did not deliver anything it is the end of a wait, or a message.
                    let is_of_input = position < delivered || answer.consumed > 0;
                    self.clients.change(answer.connection, &mut self.orbweaver, |client| {
                        if is_of_input { client.take_answer(answer, reply) } else { client.take_message(answer, reply) }
                    });
                }
                self.clients.refuse_too_large(due, self.options.max_request_bytes, &mut self.orbweaver);
                self.wake_at = outcome.wake_after_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
                if outcome.shutdown {
                    tracing::info!("a client asked the server to shut down");
                    self.stopper.stopped.store(true, Ordering::SeqCst);
                }
            }
            Err(error) => {
                tracing::error!("no instance of the component can be made: {error}");
                for &id in due {
                    self.clients.change(id, &mut self.orbweaver, |client| client.refuse(&format!("storage: {error}")));
                }
            }
        }
    }

    fn send_last_replies(&mut self, events: &mut Events) -> io::Result<()> {
        let end = Instant::now() + LAST_REPLIES;
        self.poll.registry().deregister(&mut self.listener)?;
        self.clients.close_all(&mut self.orbweaver);
        while !self.clients.is_empty() && Instant::now() < end {
            self.wait(events, end.saturating_duration_since(Instant::now()))?;
        }
        Ok(())
    }
}

//! The connections of a worker, and whose turn it is.

use super::ServerOptions;
use super::connection::{Connection, prepare};
use super::crew::Crew;
use crate::runtime::{Delivery, Orbweaver};
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Silence after which the system asks whether the client is still there. As Redis' `tcp-keepalive`.
const KEEPALIVE: Duration = Duration::from_secs(300);
/// How long a client may take to read its last reply.
const CLOSING_TIME: Duration = Duration::from_secs(10);

/// The connections by their numbers.
pub struct Clients {
    /// The worker's number.
    worker: usize,
    crew: Arc<Crew>,
    registry: Registry,
    connections: HashMap<u64, Connection>,
    /// Those that can be read from, or that the engine can get on with. Each is in it once at most.
    queue: VecDeque<u64>,
    /// Bytes in memory for the connections of this worker.
    pending: usize,
    /// Somebody has gone.
    departed: bool,
    max_output_bytes: usize,
    max_pending_bytes: usize,
}

impl Clients {
    pub fn new(worker: usize, crew: Arc<Crew>, registry: Registry, options: &ServerOptions) -> Self {
        Self {
            worker,
            crew,
            registry,
            connections: HashMap::new(),
            queue: VecDeque::new(),
            pending: 0,
            departed: false,
            max_output_bytes: options.max_output_bytes,
            max_pending_bytes: options.max_pending_bytes,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Whether a turn would find something to do without waiting.
    pub fn have_work(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether somebody has gone since this was last asked.
    pub fn take_departed(&mut self) -> bool {
        std::mem::take(&mut self.departed)
    }

    /// Takes a new connection in, under a number that is new on this server.
    pub fn add(&mut self, mut stream: TcpStream, address: SocketAddr, id: u64, orbweaver: &mut Orbweaver) {
        let token = Token(usize::try_from(id).unwrap_or(usize::MAX));
        let interests = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = prepare(&stream, KEEPALIVE).and_then(|()| self.registry.register(&mut stream, token, interests)) {
            tracing::warn!(%address, "lost a new connection: {error}");
            self.crew.let_go(self.worker);
            return;
        }
        tracing::debug!(connection = id, %address, "connected");
        self.connections.insert(id, Connection::new(stream));
        if let Err(error) = orbweaver.connect(id, &address.to_string()) {
            tracing::error!(connection = id, "cannot announce a connection: {error}");
            self.change(id, orbweaver, |client| client.refuse(&format!("storage: {error}")));
        }
    }

    /// Takes note of what a socket says.
    pub fn note(&mut self, id: u64, event: &Event, orbweaver: &mut Orbweaver) {
        self.change(id, orbweaver, |client| client.note(event));
    }

    /// Changes a connection, and draws the consequences: the connection is forgotten where it is over, and queued where it can get
    /// on. A connection that is gone already stays so.
    pub fn change(&mut self, id: u64, orbweaver: &mut Orbweaver, change: impl FnOnce(&mut Connection)) {
        let Some(client) = self.connections.get_mut(&id) else { return };
        change(client);
        if client.unsent() > self.max_output_bytes {
            tracing::warn!(connection = id, "closed: {} bytes of replies wait and are not read", client.unsent());
            client.dead = true;
        }
        let (before, pending) = (client.counted, client.pending());
        if before != pending {
            client.counted = pending;
            self.pending = self.pending.saturating_sub(before).saturating_add(pending);
            self.crew.recount(before, pending);
        }
        if client.is_over() {
            self.forget(id, orbweaver);
        } else if (client.can_read() || client.is_due()) && !client.queued {
            client.queued = true;
            self.queue.push_back(id);
        }
    }

    fn forget(&mut self, id: u64, orbweaver: &mut Orbweaver) {
        let Some(mut client) = self.connections.remove(&id) else { return };
        self.pending = self.pending.saturating_sub(client.counted);
        self.crew.recount(client.counted, 0);
        self.crew.let_go(self.worker);
        self.departed = true;
        // Closing the socket ends its registration as well.
        let _ = self.registry.deregister(client.stream());
        orbweaver.disconnect(id);
        tracing::debug!(connection = id, "disconnected");
    }

    /// Reads from the connections whose turn it is, about `max_bytes` in all, and returns those that the engine should see.
    pub fn read_ready(&mut self, scratch: &mut [u8], max_bytes: usize, orbweaver: &mut Orbweaver) -> Vec<u64> {
        let mut due = Vec::new();
        let mut bytes = 0;
        for _ in 0..self.queue.len() {
            if bytes >= max_bytes {
                break;
            }
            let Some(id) = self.queue.pop_front() else { break };
            let Some(client) = self.connections.get_mut(&id) else { continue };
            client.queued = false;
            self.change(id, orbweaver, |client| {
                if client.can_read() {
                    bytes += client.read(scratch);
                }
                if client.is_due() {
                    due.push(id);
                } else if client.is_finished() {
                    client.close();
                }
            });
            self.keep_within_memory(orbweaver);
        }
        due
    }

    /// Closes the connection that holds most, where all of the server together hold too much, and those of this worker their part of it.
    pub fn keep_within_memory(&mut self, orbweaver: &mut Orbweaver) {
        let (all, workers) = (self.crew.pending(), self.crew.size().max(1));
        if all <= self.max_pending_bytes || self.pending <= self.max_pending_bytes / workers {
            return;
        }
        let Some((&id, largest)) = self.connections.iter().max_by_key(|(_, client)| client.pending()) else { return };
        tracing::warn!(connection = id, "closed: of {} bytes that wait on all connections it holds {}", all, largest.pending());
        self.change(id, orbweaver, |client| client.dead = true);
    }

    /// How many of the first of `due` may go into one call: always one, and as many as fit `max_bytes`.
    pub fn count_within(&self, due: &[u64], max_bytes: usize) -> usize {
        let mut bytes: usize = 0;
        let fits = |id: &&u64| {
            bytes = bytes.saturating_add(self.connections.get(id).map_or(0, |client| client.input().len()));
            bytes <= max_bytes
        };
        due.iter().take_while(fits).count().max(1)
    }

    /// Whether a client has sent its last byte.
    pub fn has_ended(&self, id: u64) -> bool {
        self.connections.get(&id).is_some_and(Connection::has_ended)
    }

    /// Notes that the engine runs what the connections have to say.
    pub fn set_under_way(&mut self, due: &[u64]) {
        due.iter().for_each(|id| self.connections.get_mut(id).into_iter().for_each(Connection::set_under_way));
    }

    /// What the connections have to say.
    pub fn deliveries<'a>(&'a self, due: &'a [u64]) -> impl Iterator<Item = Delivery<'a>> {
        due.iter().filter_map(|&id| self.connections.get(&id).map(|client| Delivery { connection: id, input: client.input() }))
    }

    /// Closes those of the connections that have announced a request above the limit.
    pub fn refuse_too_large(&mut self, due: &[u64], max_request_bytes: usize, orbweaver: &mut Orbweaver) {
        for &id in due {
            self.change(id, orbweaver, |client| {
                if client.needed() > max_request_bytes {
                    client.refuse(&format!("Protocol error: a request may have {max_request_bytes} bytes at most"));
                } else if client.is_finished() {
                    client.close();
                }
            });
        }
    }

    /// Shows the engine the requests of all that wait in a blocking command, after the instance that knew of them is lost.
    pub fn deliver_blocked_again(&mut self, orbweaver: &mut Orbweaver) {
        let mut blocked: Vec<u64> = self.connections.iter().filter(|(_, client)| client.is_blocked()).map(|(&id, _)| id).collect();
        blocked.sort_unstable();
        for id in blocked {
            self.change(id, orbweaver, Connection::deliver_again);
        }
    }

    /// Closes connections that were silent for longer than `idle_timeout` without waiting in a blocking command, and those that do not take their last reply.
    pub fn close_silent(&mut self, idle_timeout: Option<Duration>, orbweaver: &mut Orbweaver) {
        let now = Instant::now();
        let is_silent = |client: &Connection| {
            let silence = now.duration_since(client.last_active);
            let idle = !client.is_blocked() && idle_timeout.is_some_and(|timeout| silence > timeout);
            idle || client.closing.is_some_and(|since| now.duration_since(since) > CLOSING_TIME)
        };
        let silent: Vec<u64> = self.connections.iter().filter(|(_, client)| is_silent(client)).map(|(&id, _)| id).collect();
        for id in silent {
            self.change(id, orbweaver, |client| client.dead = true);
        }
    }

    /// Closes every connection as soon as its replies are sent.
    pub fn close_all(&mut self, orbweaver: &mut Orbweaver) {
        let all: Vec<u64> = self.connections.keys().copied().collect();
        for id in all {
            self.change(id, orbweaver, Connection::close);
        }
    }
}

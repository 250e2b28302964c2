//! What the workers of a server share, and how they reach each other.

use mio::Waker;
use mio::net::TcpStream;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

/// Something for a worker.
pub enum Post {
    /// A client that was accepted for it.
    Client(TcpStream, SocketAddr, u64),
    /// What the instance of another worker has to say.
    Words(Arc<[u8]>),
}

/// How a worker is reached.
struct Desk {
    waker: Waker,
    post: Sender<Post>,
    /// It has been woken for post that it has not taken yet.
    is_called: AtomicBool,
    /// Its connections, and those that are on their way to it.
    connections: AtomicUsize,
}

/// Counters of a worker since the server was started.
#[derive(Debug, Default)]
pub struct Counters {
    /// Instances that were lost.
    pub traps: AtomicU64,
    /// Calls of `resp.exchange`.
    pub exchanges: AtomicU64,
    /// Batches that the store has taken.
    pub commits: AtomicU64,
}

/// The workers of a server, by their numbers.
pub struct Crew {
    desks: Vec<Desk>,
    counters: Vec<Counters>,
    stopped: AtomicBool,
    last_id: AtomicU64,
    /// Bytes in memory for all connections.
    pending: AtomicUsize,
}

impl Crew {
    /// A crew of workers that are woken so. Returns what each takes its post from.
    pub fn new(wakers: Vec<Waker>) -> (Self, Vec<Receiver<Post>>) {
        let counters = wakers.iter().map(|_| Counters::default()).collect();
        let desk = |waker| {
            let (post, taken) = mpsc::channel();
            (Desk { waker, post, is_called: AtomicBool::new(false), connections: AtomicUsize::new(0) }, taken)
        };
        let (desks, posts) = wakers.into_iter().map(desk).unzip();
        let crew = Self { desks, counters, stopped: AtomicBool::new(false), last_id: AtomicU64::new(0), pending: AtomicUsize::new(0) };
        (crew, posts)
    }

    /// How many workers there are.
    pub fn size(&self) -> usize {
        self.desks.len()
    }

    /// Asks all workers to stop.
    pub fn stop(&self) -> io::Result<()> {
        self.stopped.store(true, Ordering::SeqCst);
        self.desks.iter().try_for_each(|desk| desk.waker.wake())
    }

    /// Whether they are to stop.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// The number of the next connection.
    pub fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.desks.iter().map(|desk| desk.connections.load(Ordering::Relaxed)).sum()
    }

    /// Counts a connection for the worker that has fewest, and returns the worker's number.
    pub fn take_on(&self) -> usize {
        let counts = self.desks.iter().map(|desk| desk.connections.load(Ordering::Relaxed));
        let worker = counts.enumerate().min_by_key(|(_, count)| *count).map_or(0, |(worker, _)| worker);
        if let Some(desk) = self.desks.get(worker) {
            desk.connections.fetch_add(1, Ordering::Relaxed);
        }
        worker
    }

    /// A connection of the worker has ended.
    pub fn let_go(&self, worker: usize) {
        if let Some(desk) = self.desks.get(worker) {
            desk.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Sends something to a worker.
    pub fn send(&self, worker: usize, post: Post) {
        let Some(desk) = self.desks.get(worker) else { return };
        // A worker that has gone takes the server with it.
        let _ = desk.post.send(post);
        if !desk.is_called.swap(true, Ordering::SeqCst)
            && let Err(error) = desk.waker.wake()
        {
            tracing::error!(worker, "cannot wake a worker: {error}");
        }
    }

    /// Sends the words of a worker's instance to all others.
    pub fn tell_others(&self, worker: usize, words: &[u8]) {
        if words.is_empty() {
            return;
        }
        let words = Arc::<[u8]>::from(words);
        for other in (0..self.size()).filter(|other| *other != worker) {
            self.send(other, Post::Words(Arc::clone(&words)));
        }
    }

    /// To be called by a worker before it takes its post: what comes later wakes it again.
    pub fn answer_call(&self, worker: usize) {
        if let Some(desk) = self.desks.get(worker) {
            desk.is_called.store(false, Ordering::SeqCst);
        }
    }

    /// Notes that the bytes of a connection have changed from so many to so many.
    pub fn recount(&self, before: usize, now: usize) {
        if now >= before {
            self.pending.fetch_add(now - before, Ordering::Relaxed);
        } else {
            self.pending.fetch_sub(before - now, Ordering::Relaxed);
        }
    }

    /// Bytes in memory for all connections.
    pub fn pending(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    /// Notes the counters of a worker.
    pub fn note(&self, worker: usize, traps: u64, exchanges: u64, commits: u64) {
        if let Some(counters) = self.counters.get(worker) {
            counters.traps.store(traps, Ordering::Relaxed);
            counters.exchanges.store(exchanges, Ordering::Relaxed);
            counters.commits.store(commits, Ordering::Relaxed);
        }
    }

    /// A counter of all workers together.
    pub fn total(&self, counter: impl Fn(&Counters) -> &AtomicU64) -> u64 {
        self.counters.iter().map(|counters| counter(counters).load(Ordering::Relaxed)).sum()
    }
}

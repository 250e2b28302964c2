//! A server: sockets in front of an [`Orbweaver`], or of several.
//!
//! Each *worker* is a thread with an instance and connections of its own. Each turn of its loop reads what is ready on all of them, hands
//! everything to the engine in one call, and sends the replies when the call has returned: all clients that asked at the same time
//! share one commit. Workers tell each other what their clients are to see of each other (`resp.hear` in `wit/engine`).
//!
//! ```no_run
//! use orbweaver::runtime::{Component, Orbweaver};
//! use orbweaver::server::{Server, ServerOptions};
//! use orbweaver_engine::store::MemoryStore;
//!
//! let component = Component::load()?;
//! let orbweaver = Orbweaver::builder().open(&component, Box::new(MemoryStore::new()))?;
//! let server = Server::bind("127.0.0.1:6379".parse()?, vec![orbweaver], ServerOptions::default())?;
//! let stopper = server.stopper(); // for another thread: `stopper.stop()`
//! server.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clients;
mod connection;
mod crew;
mod facts;
mod housekeeping;
mod listener;
mod options;
mod worker;

pub use options::{LiveFacts, ServerOptions};

use crate::runtime::Orbweaver;
use crew::Crew;
use facts::Facts;
use housekeeping::Housekeeping;
use listener::Listener;
use mio::{Poll, Waker};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{Builder, ScopedJoinHandle, scope};
use worker::{LISTENER, Place, WAKER, Worker};

/// A server that is bound to its address.
pub struct Server {
    workers: Vec<Worker>,
    stopper: Stopper,
    address: SocketAddr,
}

/// Stops a running server, from any thread.
#[derive(Clone)]
pub struct Stopper {
    crew: Arc<Crew>,
}

impl Stopper {
    /// Asks the server to stop: it sends the replies that are on their way, and [`Server::run`] returns.
    ///
    /// # Errors
    /// Where the server cannot be woken; it stops at its next turn then.
    pub fn stop(&self) -> io::Result<()> {
        self.crew.stop()
    }
}

impl Server {
    /// Binds to `address`; port 0 lets the system choose one. Clients can connect from then on, and are served by [`Server::run`], with
    /// a worker for each of the instances. Several must be on handles of one store, and opened with the settings `instances` (how
    /// many) and `instance` (0 and on, in their order), see `control.open` in `wit/engine`.
    ///
    /// # Errors
    /// Those of the sockets: an address in use, not of this machine, or not permitted.
    pub fn bind(address: SocketAddr, orbweavers: Vec<Orbweaver>, options: ServerOptions) -> io::Result<Self> {
        let polls = orbweavers.iter().map(|_| Poll::new()).collect::<io::Result<Vec<_>>>()?;
        let wakers = polls.iter().map(|poll| Waker::new(poll.registry(), WAKER)).collect::<io::Result<Vec<_>>>()?;
        let first = polls.first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a server needs an instance"))?;
        let listener = Listener::bind(address, first.registry(), LISTENER, options.max_clients)?;
        let address = listener.address()?;
        let (crew, posts) = Crew::new(wakers);
        let crew = Arc::new(crew);
        let facts = Facts::new(address, Arc::clone(&crew), &options);
        let mut listener = Some(listener);
        let places = polls.into_iter().zip(posts).enumerate();
        let places = places.map(|(number, (poll, post))| Place { number, crew: Arc::clone(&crew), poll, post });
        let workers = places.zip(orbweavers).map(|(place, orbweaver)| {
            let housekeeping = Housekeeping::new(place.number, facts.clone(), &options);
            Worker::new(place, listener.take(), orbweaver, housekeeping, &options)
        });
        Ok(Self { workers: workers.collect::<io::Result<Vec<_>>>()?, stopper: Stopper { crew }, address })
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

    /// Serves until it is stopped, by a [`Stopper`] or by a client's SHUTDOWN. The first worker runs in the calling thread.
    ///
    /// # Errors
    /// Those of waiting for sockets. What happens on a single connection ends that connection only.
    pub fn run(self) -> io::Result<()> {
        let Self { workers, stopper, .. } = self;
        let mut workers = workers.into_iter();
        let Some(first) = workers.next() else { return Ok(()) };
        scope(|scope| {
            let stopper = &stopper;
            let spawn = |(number, worker): (usize, Worker)| {
                let name = format!("orbweaver-worker-{number}");
                Builder::new().name(name).spawn_scoped(scope, move || stopper.run_to_the_end(worker))
            };
            let others: io::Result<Vec<ScopedJoinHandle<'_, io::Result<()>>>> = (1..).zip(workers).map(spawn).collect();
            let others = others.inspect_err(|_| drop(stopper.stop()))?;
            let outcome = stopper.run_to_the_end(first);
            let crashed = |_| Err(io::Error::other("a worker crashed"));
            others.into_iter().map(|other| other.join().unwrap_or_else(crashed)).fold(outcome, io::Result::and)
        })
    }
}

impl Stopper {
    /// Runs a worker. However it ends, all others end, too.
    fn run_to_the_end(&self, worker: Worker) -> io::Result<()> {
        let last = StopsAll(self);
        let outcome = worker.run();
        drop(last);
        outcome
    }
}

/// Stops all workers when it is dropped: also where a worker panics.
struct StopsAll<'a>(&'a Stopper);

impl Drop for StopsAll<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.stop() {
            tracing::error!("cannot wake the other workers: {error}");
        }
    }
}

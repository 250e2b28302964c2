//! What a server is given.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Limits and texts of a [`super::Server`].
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Most connections at a time; those beyond get an error and are closed. Default: 10,000.
    pub max_clients: usize,
    /// Largest request in bytes, as it arrives on the socket. Default: 512 MiB.
    pub max_request_bytes: usize,
    /// Most bytes of replies that may wait for one client to read them; a client that lets more pile up is disconnected. Default: 1 GiB.
    pub max_output_bytes: usize,
    /// Most bytes of requests and replies that may wait on all connections together; above it the connection that holds most of
    /// them is closed, on a worker that has more than its part. Default: 2 GiB.
    pub max_pending_bytes: usize,
    /// Close a connection that has been silent for so long. Default: never.
    pub idle_timeout: Option<Duration>,
    /// The store refuses to be written: nothing is swept. Default: false.
    pub read_only: bool,
    /// How often the sweep takes a step, on average: several servers on one store take theirs at different times. Default: 100 ms.
    pub sweep_period: Duration,
    /// What INFO shows beside what the server and the engine know themselves: `section.name` and a text.
    pub facts: Vec<(String, String)>,
    /// The same for what changes: asked once a second.
    pub live_facts: Option<LiveFacts>,
}

/// Facts as of now.
#[derive(Clone)]
pub struct LiveFacts(Arc<dyn Fn() -> Vec<(String, String)> + Send + Sync>);

impl LiveFacts {
    /// What `tell` returns.
    #[must_use]
    pub fn new(tell: impl Fn() -> Vec<(String, String)> + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(super) fn now(&self) -> Vec<(String, String)> {
        (self.0)()
    }
}

impl fmt::Debug for LiveFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LiveFacts")
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            max_clients: 10_000,
            max_request_bytes: 512 << 20,
            max_output_bytes: 1 << 30,
            max_pending_bytes: 2 << 30,
            idle_timeout: None,
            read_only: false,
            sweep_period: Duration::from_millis(100),
            facts: Vec::new(),
            live_facts: None,
        }
    }
}

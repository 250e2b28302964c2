//! What a server is given.

use std::time::Duration;

/// Limits and texts of a [`super::Server`].
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// What INFO shows beside what the server and the engine know themselves: `section.name` and a text.
    pub facts: Vec<(String, String)>,
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
            facts: Vec::new(),
        }
    }
}

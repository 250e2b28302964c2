//! What the commands INFO, CONFIG and their like tell of the server and set.

use super::pubsub::Subscribers;
use crate::events::Classes;
use crate::scan::Positions;
use crate::settings::Settings;
use std::collections::BTreeMap;

/// Counters since the instance was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests taken.
    pub commands_processed: u64,
    /// Connections announced.
    pub connections_received: u64,
    /// Expired keys that the sweep removed.
    pub expired_keys: u64,
    /// Error replies by their first word.
    pub errors: BTreeMap<String, u64>,
}

/// The server as its clients see it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Limits and options.
    pub settings: Settings,
    /// What the host tells of itself: `section.name` (`server.tcp_port`) -> text. INFO shows it in that section, in the place of
    /// what the engine would say; some parameters of CONFIG GET are read from it too.
    pub facts: BTreeMap<String, String>,
    /// Counters.
    pub stats: Stats,
    /// Where recent SCANs and HSCANs left off.
    pub scan_positions: Positions,
    /// Who has subscribed to what.
    pub subscribers: Subscribers,
    /// How many connections there are.
    pub connected_clients: usize,
    /// How many of them wait in a blocking command.
    pub blocked_clients: usize,
    /// What `CONFIG SET proto-max-bulk-len` cannot go beyond, in bytes: what the host has set.
    pub max_string_bytes_limit: usize,
    /// When the instance was made: Unix time in milliseconds.
    pub started_ms: u64,
    /// A client has asked the server to stop.
    pub shutdown: bool,
}

impl Server {
    /// The keyspace events that are worth collecting: none where nobody is told of them.
    pub(crate) fn wanted_events(&self) -> Classes {
        let wanted = self.settings.notify_keyspace_events;
        if wanted.tell_anything() && !self.subscribers.is_empty() { wanted } else { Classes::NONE }
    }

    /// A server that starts now.
    #[must_use]
    pub fn new(settings: Settings, now_ms: u64) -> Self {
        Self {
            max_string_bytes_limit: settings.max_string_bytes,
            settings,
            facts: BTreeMap::new(),
            stats: Stats::default(),
            scan_positions: Positions::default(),
            subscribers: Subscribers::default(),
            connected_clients: 0,
            blocked_clients: 0,
            started_ms: now_ms,
            shutdown: false,
        }
    }
}

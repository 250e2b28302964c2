//! What the commands INFO, CONFIG and their like tell of the server and set.

use super::peers::{PeerMessage, Peers, put_bytes};
use super::pubsub::{Subscribers, Topic};
use crate::codec::{Flaw, Reader};
use crate::events::Classes;
use crate::key_count::RecentStatistics;
use crate::scan::Positions;
use crate::settings::Settings;
use bytes::{BufMut, Bytes};
use std::collections::{BTreeMap, BTreeSet};

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
    /// What INFO has found of large dbs lately.
    pub keys: RecentStatistics,
    /// Who has subscribed to what.
    pub subscribers: Subscribers,
    /// The other instances on the store.
    pub peers: Peers,
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
        if wanted.tell_anything() && (!self.subscribers.is_empty() || self.peers.may_have_subscribers()) { wanted } else { Classes::NONE }
    }

    /// A server that starts now.
    #[must_use]
    pub fn new(settings: Settings, now_ms: u64) -> Self {
        let peers = Peers::new(settings.instance, settings.instances);
        Self {
            max_string_bytes_limit: settings.max_string_bytes,
            settings,
            facts: BTreeMap::new(),
            stats: Stats::default(),
            scan_positions: Positions::default(),
            keys: RecentStatistics::default(),
            subscribers: Subscribers::new(peers.exist()),
            peers,
            connected_clients: 0,
            blocked_clients: 0,
            started_ms: now_ms,
            shutdown: false,
        }
    }

    /// The names of a topic that have subscribers, on whatever instance.
    #[must_use]
    pub fn subscribed_names(&self, topic: Topic) -> BTreeSet<&Bytes> {
        self.subscribers.names(topic).chain(self.peers.names(topic)).collect()
    }

    /// How many connections have subscribed to a name, on whatever instance.
    #[must_use]
    pub fn count_subscribers(&self, topic: Topic, name: &[u8]) -> usize {
        self.subscribers.count(topic, name).saturating_add(self.peers.count_subscribers(topic, name))
    }

    /// Tells the other instances what CONFIG SET has set here.
    pub(crate) fn tell_settings(&mut self) {
        let max_string_bytes = u64::try_from(self.settings.max_string_bytes).unwrap_or(u64::MAX);
        let events = self.settings.notify_keyspace_events.text();
        let version = self.peers.settings_version();
        self.peers.tell(&PeerMessage::Settings { version, max_string_bytes, events });
    }

    /// The counters of this instance.
    #[must_use]
    pub fn own_totals(&self) -> Totals {
        Totals { connected_clients: self.connected_clients, blocked_clients: self.blocked_clients, stats: self.stats.clone() }
    }

    /// The counters of this instance, and of those that have told theirs for the command that runs.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let others = self.peers.answers.iter().filter_map(|answer| Totals::decode(answer).ok());
        others.fold(self.own_totals(), Totals::and)
    }
}

/// Counters for INFO, of one instance or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many connections there are.
    pub connected_clients: usize,
    /// How many of them wait in a blocking command.
    pub blocked_clients: usize,
    /// What has been counted.
    pub stats: Stats,
}

impl Totals {
    fn and(mut self, other: Self) -> Self {
        self.connected_clients += other.connected_clients;
        self.blocked_clients += other.blocked_clients;
        self.stats.commands_processed += other.stats.commands_processed;
        self.stats.connections_received += other.stats.connections_received;
        self.stats.expired_keys += other.stats.expired_keys;
        for (class, count) in other.stats.errors {
            *self.stats.errors.entry(class).or_default() += count;
        }
        self
    }

    /// Five numbers (u64), and `(length u32 | class of errors | u64)*`.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Stats { commands_processed, connections_received, expired_keys, errors } = &self.stats;
        let clients = [self.connected_clients, self.blocked_clients].map(|count| u64::try_from(count).unwrap_or(u64::MAX));
        let mut bytes = Vec::new();
        for number in clients.into_iter().chain([*commands_processed, *connections_received, *expired_keys]) {
            bytes.put_u64(number);
        }
        for (class, count) in errors {
            put_bytes(&mut bytes, class.as_bytes());
            bytes.put_u64(*count);
        }
        bytes
    }

    fn decode(bytes: &Bytes) -> Result<Self, Flaw> {
        let mut reader = Reader::new(bytes);
        let mut number = || reader.u64("a counter is missing");
        let [connected, blocked] = [number()?, number()?].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        let (commands_processed, connections_received, expired_keys) = (number()?, number()?, number()?);
        let mut errors = BTreeMap::new();
        while reader.offset() < bytes.len() {
            errors.insert(reader.text("a class of errors is missing")?, reader.u64("a counter is missing")?);
        }
        let stats = Stats { commands_processed, connections_received, expired_keys, errors };
        Ok(Self { connected_clients: connected, blocked_clients: blocked, stats })
    }
}

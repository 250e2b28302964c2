//! Publish and subscribe: who has subscribed to what, and the messages for them.
//!
//! A connection knows its own subscriptions (they are a part of its state, and go with it into another instance), and
//! [`Subscribers`] knows the connections of each channel. What is published reaches them, and, where other instances work on the same
//! store, those of the others ([`super::peers`]).

use super::Server;
use super::connection::Connections;
use super::peers::PeerMessage;
use crate::codec::{Flaw, Reader};
use crate::events::{Classes, Event};
use crate::glob;
use crate::resp::reply::{Protocol, Reply};
use bytes::{BufMut, Bytes};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

/// What one subscribes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// A channel.
    Channel,
    /// All channels that match a pattern.
    Pattern,
    /// A channel of a shard: without a cluster, a channel of another kind.
    ShardChannel,
}

impl Topic {
    pub(super) const ALL: [Self; 3] = [Self::Channel, Self::Pattern, Self::ShardChannel];
}

/// Something for each topic.
#[derive(Clone, Debug, Default)]
pub(super) struct ByTopic<T> {
    channels: T,
    patterns: T,
    shard_channels: T,
}

impl<T> ByTopic<T> {
    pub(super) const fn of(&self, topic: Topic) -> &T {
        match topic {
            Topic::Channel => &self.channels,
            Topic::Pattern => &self.patterns,
            Topic::ShardChannel => &self.shard_channels,
        }
    }

    pub(super) const fn of_mut(&mut self, topic: Topic) -> &mut T {
        match topic {
            Topic::Channel => &mut self.channels,
            Topic::Pattern => &mut self.patterns,
            Topic::ShardChannel => &mut self.shard_channels,
        }
    }
}

/// What a connection has subscribed to.
#[derive(Clone, Debug, Default)]
pub struct Subscriptions(ByTopic<BTreeSet<Bytes>>);

impl Subscriptions {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        Topic::ALL.into_iter().all(|topic| self.0.of(topic).is_empty())
    }

    /// How many there are of a topic.
    #[must_use]
    pub fn count(&self, topic: Topic) -> usize {
        self.0.of(topic).len()
    }

    /// The names of a topic, in byte order.
    #[must_use]
    pub fn names(&self, topic: Topic) -> Vec<Bytes> {
        self.0.of(topic).iter().cloned().collect()
    }

    /// For each topic `count u32 | (length u32 | name)*`.
    pub(super) fn encode(&self, state: &mut Vec<u8>) {
        for names in Topic::ALL.map(|topic| self.0.of(topic)) {
            state.put_u32(u32::try_from(names.len()).unwrap_or(u32::MAX));
            for name in names {
                state.put_u32(u32::try_from(name.len()).unwrap_or(u32::MAX));
                state.put_slice(name);
            }
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Flaw> {
        let mut subscriptions = Self::default();
        for topic in Topic::ALL {
            for _ in 0..reader.u32("a number of subscriptions is missing")? {
                // A copy: a slice would keep the whole state.
                let name = Bytes::copy_from_slice(&reader.bytes("a subscription is cut short")?);
                subscriptions.0.of_mut(topic).insert(name);
            }
        }
        Ok(subscriptions)
    }
}

/// The connections by what they have subscribed to. Nothing is kept of a name without subscribers.
#[derive(Clone, Debug, Default)]
pub struct Subscribers {
    names: ByTopic<BTreeMap<Bytes, BTreeSet<u64>>>,
    /// Names whose subscribers have changed since other instances were told; `None` where there are none.
    changed: Option<BTreeSet<(Topic, Bytes)>>,
}

impl Subscribers {
    /// None yet. Changes are kept for other instances where there are some.
    pub(super) fn new(keeps_changes: bool) -> Self {
        Self { changed: keeps_changes.then(BTreeSet::new), ..Self::default() }
    }

    /// The names whose subscribers have changed.
    pub(super) fn take_changed(&mut self) -> BTreeSet<(Topic, Bytes)> {
        self.changed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn note_change(&mut self, topic: Topic, name: &Bytes) {
        if let Some(changed) = &mut self.changed {
            changed.insert((topic, name.clone()));
        }
    }

    /// How many names of a topic have subscribers.
    #[must_use]
    pub fn len(&self, topic: Topic) -> usize {
        self.names.of(topic).len()
    }

    /// Whether nobody has subscribed to anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        Topic::ALL.into_iter().all(|topic| self.names.of(topic).is_empty())
    }

    /// The names of a topic that have subscribers, in byte order.
    pub fn names(&self, topic: Topic) -> impl Iterator<Item = &Bytes> {
        self.names.of(topic).keys()
    }

    /// How many connections have subscribed to this name.
    #[must_use]
    pub fn count(&self, topic: Topic, name: &[u8]) -> usize {
        self.names.of(topic).get(name).map_or(0, BTreeSet::len)
    }

    /// Notes all subscriptions of a connection that another instance has left.
    pub(super) fn add_all(&mut self, connection: u64, subscriptions: &Subscriptions) {
        for topic in Topic::ALL {
            subscriptions.0.of(topic).iter().for_each(|name| self.add(topic, name, connection));
        }
    }

    /// Forgets all subscriptions of a connection.
    pub(super) fn remove_all(&mut self, connection: u64, subscriptions: &Subscriptions) {
        for topic in Topic::ALL {
            subscriptions.0.of(topic).iter().for_each(|name| self.remove(topic, name, connection));
        }
    }

    fn add(&mut self, topic: Topic, name: &Bytes, connection: u64) {
        self.names.of_mut(topic).entry(name.clone()).or_default().insert(connection);
        self.note_change(topic, name);
    }

    fn remove(&mut self, topic: Topic, name: &Bytes, connection: u64) {
        self.note_change(topic, name);
        let names = self.names.of_mut(topic);
        if let Some(connections) = names.get_mut(name) {
            connections.remove(&connection);
            if connections.is_empty() {
                names.remove(name);
            }
        }
    }
}

/// Something that is sent without having been asked for.
#[derive(Clone, Debug)]
pub enum Push {
    /// To a connection of this instance.
    Client {
        /// The connection.
        connection: u64,
        /// A message in the connection's protocol.
        bytes: Bytes,
    },
    /// Messages to the other instances, as [`super::peers::PeerMessage`] encodes them.
    Peers(Bytes),
}

impl Push {
    /// How many bytes it has.
    pub fn len(&self) -> usize {
        let (Self::Client { bytes, .. } | Self::Peers(bytes)) = self;
        bytes.len()
    }
}

/// Subscribes a connection, if it has not yet.
pub fn subscribe(connections: &mut Connections, server: &mut Server, id: u64, topic: Topic, name: &Bytes) {
    if let Some(connection) = connections.get(id)
        && connection.subscriptions.0.of_mut(topic).insert(name.clone())
    {
        server.subscribers.add(topic, name, id);
    }
}

/// Ends a subscription of a connection, if it has it.
pub fn unsubscribe(connections: &mut Connections, server: &mut Server, id: u64, topic: Topic, name: &Bytes) {
    if let Some(connection) = connections.get(id)
        && connection.subscriptions.0.of_mut(topic).remove(name)
    {
        server.subscribers.remove(topic, name, id);
    }
}

/// The messages for all who have subscribed to a channel (or, with [`Topic::ShardChannel`], to a channel of a shard), and for those
/// with a pattern that it matches: one for each of their subscriptions. For connections of this instance.
pub fn publish_here(server: &Server, connections: &mut Connections, topic: Topic, channel: &Bytes, message: &Bytes) -> Vec<Push> {
    let by_topic = &server.subscribers.names;
    let mut pushes = Vec::new();
    if let Some(ids) = by_topic.of(topic).get(channel) {
        let word = if topic == Topic::ShardChannel { "smessage" } else { "message" };
        push_to(connections, ids, &[word.as_bytes(), channel, message], &mut pushes);
    }
    if topic == Topic::Channel {
        for (pattern, ids) in by_topic.patterns.iter().filter(|(pattern, _)| glob::matches(pattern, channel, false)) {
            push_to(connections, ids, &[b"pmessage", pattern, channel, message], &mut pushes);
        }
    }
    pushes
}

/// The same for connections of other instances, where there may be any.
pub fn publish_there(server: &Server, topic: Topic, channel: &Bytes, message: &Bytes) -> Option<Push> {
    let published = || PeerMessage::Published { topic, channel: channel.clone(), message: message.clone() };
    server.peers.may_receive(topic, channel).then(|| Push::Peers(server.peers.encode(&published())))
}

/// One message for each of the connections; it is encoded once for each protocol. Who is about to be closed gets none.
fn push_to(connections: &mut Connections, ids: &BTreeSet<u64>, words: &[&[u8]], pushes: &mut Vec<Push>) {
    let encoded = |protocol| {
        let mut reply = Reply::new(protocol);
        reply.push(words.len());
        words.iter().for_each(|word| reply.bulk(word));
        Bytes::from(reply.into_bytes())
    };
    let (resp2, resp3) = (LazyCell::new(|| encoded(Protocol::Resp2)), LazyCell::new(|| encoded(Protocol::Resp3)));
    for &id in ids {
        if let Some(connection) = connections.get(id).filter(|connection| !connection.closing) {
            let bytes = if connection.protocol == Protocol::Resp2 { &*resp2 } else { &*resp3 };
            pushes.push(Push::Client { connection: id, bytes: bytes.clone() });
        }
    }
}

/// The messages that tell of an event, to those who have subscribed to such.
pub fn publish_event(server: &Server, connections: &mut Connections, event: &Event) -> Vec<Push> {
    let Event { db, name, key } = event;
    let wanted = server.settings.notify_keyspace_events;
    let name = Bytes::from_static(name.as_bytes());
    let mut pushes = Vec::new();
    let mut publish = |channel: Vec<u8>, message: &Bytes| {
        let channel = Bytes::from(channel);
        pushes.extend(publish_here(server, connections, Topic::Channel, &channel, message));
        pushes.extend(publish_there(server, Topic::Channel, &channel, message));
    };
    if wanted.has(Classes::KEYSPACE) {
        publish([format!("__keyspace@{db}__:").as_bytes(), key].concat(), &name);
    }
    if wanted.has(Classes::KEYEVENT) {
        publish([format!("__keyevent@{db}__:").as_bytes(), &name].concat(), key);
    }
    pushes
}

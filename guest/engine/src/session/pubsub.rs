//! Publish and subscribe: who has subscribed to what, and the messages for them.
//!
//! A connection knows its own subscriptions (they are a part of its state, and go with it into another instance), and
//! [`Subscribers`] knows the connections of each channel. What is published reaches the subscribers of this instance.

use super::Server;
use super::connection::Connections;
use crate::codec::{Flaw, Reader};
use crate::events::{Classes, Event};
use crate::glob;
use crate::resp::reply::{Protocol, Reply};
use bytes::{BufMut, Bytes};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

/// What one subscribes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A channel.
    Channel,
    /// All channels that match a pattern.
    Pattern,
    /// A channel of a shard: without a cluster, a channel of another kind.
    ShardChannel,
}

impl Topic {
    const ALL: [Self; 3] = [Self::Channel, Self::Pattern, Self::ShardChannel];
}

/// Something for each topic.
#[derive(Clone, Debug, Default)]
struct ByTopic<T> {
    channels: T,
    patterns: T,
    shard_channels: T,
}

impl<T> ByTopic<T> {
    const fn of(&self, topic: Topic) -> &T {
        match topic {
            Topic::Channel => &self.channels,
            Topic::Pattern => &self.patterns,
            Topic::ShardChannel => &self.shard_channels,
        }
    }

    const fn of_mut(&mut self, topic: Topic) -> &mut T {
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
pub struct Subscribers(ByTopic<BTreeMap<Bytes, BTreeSet<u64>>>);

impl Subscribers {
    /// How many names of a topic have subscribers.
    #[must_use]
    pub fn len(&self, topic: Topic) -> usize {
        self.0.of(topic).len()
    }

    /// Whether nobody has subscribed to anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        Topic::ALL.into_iter().all(|topic| self.0.of(topic).is_empty())
    }

    /// The names of a topic that have subscribers, in byte order.
    pub fn names(&self, topic: Topic) -> impl Iterator<Item = &Bytes> {
        self.0.of(topic).keys()
    }

    /// How many connections have subscribed to this name.
    #[must_use]
    pub fn count(&self, topic: Topic, name: &[u8]) -> usize {
        self.0.of(topic).get(name).map_or(0, BTreeSet::len)
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
        self.0.of_mut(topic).entry(name.clone()).or_default().insert(connection);
    }

    fn remove(&mut self, topic: Topic, name: &Bytes, connection: u64) {
        let names = self.0.of_mut(topic);
        if let Some(connections) = names.get_mut(name) {
            connections.remove(&connection);
            if connections.is_empty() {
                names.remove(name);
            }
        }
    }
}

/// Bytes that a connection gets without having asked for them.
#[derive(Clone, Debug)]
pub struct Push {
    /// The connection.
    pub connection: u64,
    /// A message in the connection's protocol.
    pub bytes: Bytes,
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
/// with a pattern that it matches: one for each of their subscriptions.
pub fn publish(server: &Server, connections: &mut Connections, topic: Topic, channel: &Bytes, message: &Bytes) -> Vec<Push> {
    let Subscribers(by_topic) = &server.subscribers;
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
            pushes.push(Push { connection: id, bytes: bytes.clone() });
        }
    }
}

/// The messages that tell of an event, to those who have subscribed to such.
pub fn publish_event(server: &Server, connections: &mut Connections, event: &Event) -> Vec<Push> {
    let Event { db, name, key } = event;
    let wanted = server.settings.notify_keyspace_events;
    let name = Bytes::from_static(name.as_bytes());
    let mut pushes = Vec::new();
    if wanted.has(Classes::KEYSPACE) {
        let channel = [format!("__keyspace@{db}__:").as_bytes(), key].concat();
        pushes = publish(server, connections, Topic::Channel, &channel.into(), &name);
    }
    if wanted.has(Classes::KEYEVENT) {
        let channel = [format!("__keyevent@{db}__:").as_bytes(), &name].concat();
        pushes.append(&mut publish(server, connections, Topic::Channel, &channel.into(), key));
    }
    pushes
}

//! Several instances on one store: what a client sees of the clients of the others.
//!
//! Each instance keeps what it must know of its peers to answer at once: who has subscribed to what there, and which keys are
//! waited for. What changes is told in the outcome of the call that changed it. A host that hands it to the others before it sends the
//! call's replies, and lets an instance hear what has come before it runs what sockets delivered, gives clients one order of events: whoever has seen the reply to a
//! SUBSCRIBE finds the subscriber counted, on whatever instance it publishes. What is not worth to be kept is asked for
//! (`questions.rs`).

mod hearing;
mod message;
mod questions;

pub use message::{DbKey, PeerMessage, put_bytes};
pub use questions::Questions;

use super::pubsub::{ByTopic, Topic};
use crate::glob;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// What an instance knows of the others, and what it has to tell them.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// The instance's own number.
    own: u32,
    /// How many others there are.
    count: usize,
    by_number: BTreeMap<u32, Peer>,
    /// What they have yet to be told.
    outbox: Vec<u8>,
    /// The version of the settings, and who has set them.
    settings_version: (u64, u32),
    /// What they have said to the question of the command that runs.
    pub answers: Vec<Bytes>,
}

/// What is known of another instance.
#[derive(Clone, Debug, Default)]
struct Peer {
    /// It has told everything since this instance was made.
    is_known: bool,
    subscribers: ByTopic<BTreeMap<Bytes, u32>>,
    waits: BTreeSet<DbKey>,
}

impl Peers {
    /// The peers of instance `own`, one of `instances`. The first that they are told is that it is there.
    pub(super) fn new(own: u32, instances: u32) -> Self {
        let count = usize::try_from(instances.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut peers = Self { own, count, ..Self::default() };
        peers.tell(&PeerMessage::Hello);
        peers
    }

    /// Whether there are any.
    #[must_use]
    pub const fn exist(&self) -> bool {
        self.count > 0
    }

    /// Tells them something, with what this call's outcome tells.
    pub fn tell(&mut self, message: &PeerMessage) {
        if self.exist() {
            message.encode(self.own, &mut self.outbox);
        }
    }

    /// A message for later, see [`Peers::tell_encoded`].
    pub(super) fn encode(&self, message: &PeerMessage) -> Bytes {
        let mut bytes = Vec::new();
        message.encode(self.own, &mut bytes);
        bytes.into()
    }

    /// As [`Peers::tell`].
    pub(super) fn tell_encoded(&mut self, messages: &[u8]) {
        self.outbox.extend_from_slice(messages);
    }

    /// What they have yet to be told.
    pub(super) fn take_outbox(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outbox)
    }

    /// The version of the settings that hold here.
    pub(super) const fn settings_version(&self) -> u64 {
        self.settings_version.0
    }

    /// Notes that the settings have been changed here.
    pub(crate) const fn renew_settings(&mut self) {
        self.settings_version = (self.settings_version.0 + 1, self.own);
    }

    /// Whether all have told what they have.
    fn are_known(&self) -> bool {
        self.by_number.values().filter(|peer| peer.is_known).count() >= self.count
    }

    fn subscribers(&self, topic: Topic) -> impl Iterator<Item = &BTreeMap<Bytes, u32>> {
        self.by_number.values().map(move |peer| peer.subscribers.of(topic))
    }

    /// The names of a topic that have subscribers there, each perhaps several times.
    pub(super) fn names(&self, topic: Topic) -> impl Iterator<Item = &Bytes> {
        self.subscribers(topic).flat_map(BTreeMap::keys)
    }

    /// How many connections have subscribed to this name there.
    pub(super) fn count_subscribers(&self, topic: Topic, name: &[u8]) -> usize {
        self.subscribers(topic).filter_map(|names| names.get(name)).map(|&count| usize::try_from(count).unwrap_or(0)).sum()
    }

    /// How many messages connections there get of one to this channel.
    pub(super) fn count_receivers(&self, topic: Topic, channel: &[u8]) -> usize {
        let patterns = (topic == Topic::Channel).then(|| self.subscribers(Topic::Pattern).flatten()).into_iter().flatten();
        let matching = patterns.filter(|(pattern, _)| glob::matches(pattern, channel, false));
        let by_pattern: usize = matching.map(|(_, &count)| usize::try_from(count).unwrap_or(0)).sum();
        self.count_subscribers(topic, channel).saturating_add(by_pattern)
    }

    /// Whether a message to this channel may have receivers there.
    pub(super) fn may_receive(&self, topic: Topic, channel: &[u8]) -> bool {
        self.exist() && (!self.are_known() || self.count_receivers(topic, channel) > 0)
    }

    /// Whether anybody there may have subscribed to anything.
    pub(super) fn may_have_subscribers(&self) -> bool {
        let has_any = |peer: &Peer| Topic::ALL.into_iter().any(|topic| !peer.subscribers.of(topic).is_empty());
        self.exist() && (!self.are_known() || self.by_number.values().any(has_any))
    }

    /// Whether anybody there may wait for a key.
    pub(super) fn may_wait(&self) -> bool {
        self.exist() && (!self.are_known() || self.by_number.values().any(|peer| !peer.waits.is_empty()))
    }

    /// Whether anybody there may wait for this key.
    pub(super) fn may_wait_for(&self, key: &DbKey) -> bool {
        self.exist() && (!self.are_known() || self.by_number.values().any(|peer| peer.waits.contains(key)))
    }
}

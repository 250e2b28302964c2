//! Taking what peers have said, and telling them what has changed here.

use super::super::answers::Answers;
use super::super::pubsub;
use super::super::run::Message;
use super::super::{Engine, Session};
use super::{DbKey, Peer, PeerMessage};
use crate::codec::Reader;
use crate::command::peers::answer;
use crate::events::Classes;
use crate::session::{Stats, Topic};
use bytes::Bytes;
use std::collections::BTreeSet;

impl Engine {
    /// Takes what another instance has to say: the next exchange acts upon it, before it runs what connections have sent.
    /// Bytes that no instance has written are passed over.
    pub fn hear(&mut self, messages: Bytes) {
        self.heard.push(messages);
    }

    /// Acts upon what has been heard. Returns the keys that are to be looked at for those who wait here.
    pub(in crate::session) fn act_on_what_was_heard(&mut self, now_ms: u64, answers: &mut Answers) -> BTreeSet<DbKey> {
        let mut appeared = BTreeSet::new();
        for messages in std::mem::take(&mut self.heard) {
            let mut reader = Reader::new(&messages);
            while let Ok((sender, message)) = PeerMessage::decode(&mut reader) {
                self.act_on(sender, message, now_ms, &mut appeared, answers);
            }
        }
        appeared.retain(|key| self.waiters.are_for(key));
        appeared
    }

    fn act_on(&mut self, sender: u32, message: PeerMessage, now_ms: u64, appeared: &mut BTreeSet<DbKey>, answers: &mut Answers) {
        match message {
            PeerMessage::Hello => {
                self.server.peers.by_number.insert(sender, Peer::default());
                self.introduce();
            }
            PeerMessage::Settings { version, max_string_bytes, events } => {
                let peers = &mut self.server.peers;
                peers.by_number.entry(sender).or_default().is_known = true;
                // Of two at the same time one wins, everywhere the same.
                if (version, sender) > peers.settings_version {
                    peers.settings_version = (version, sender);
                    let settings = &mut self.server.settings;
                    settings.max_string_bytes = usize::try_from(max_string_bytes).unwrap_or(settings.max_string_bytes);
                    settings.notify_keyspace_events = Classes::parse(&events).unwrap_or(settings.notify_keyspace_events);
                }
            }
            PeerMessage::Subscribers { topic, name, count } => {
                let names = self.server.peers.by_number.entry(sender).or_default().subscribers.of_mut(topic);
                match count {
                    0 => names.remove(&name),
                    count => names.insert(name, count),
                };
            }
            PeerMessage::Waits { key, waits } => {
                let peers = &mut self.server.peers;
                let waited_for = &mut peers.by_number.entry(sender).or_default().waits;
                if waits {
                    waited_for.insert(key.clone());
                    // What has appeared before this was heard has been told to nobody.
                    peers.tell(&PeerMessage::Appeared(key));
                } else {
                    waited_for.remove(&key);
                }
            }
            PeerMessage::Published { topic, channel, message } => {
                let pushes = pubsub::publish_here(&self.server, &mut self.connections, topic, &channel, &message);
                self.send(&[Message::Pushes(pushes)], answers);
            }
            PeerMessage::Appeared(key) => {
                appeared.insert(key);
            }
            PeerMessage::DbsExchanged => appeared.extend(self.waiters.keys().cloned()),
            PeerMessage::StatisticsReset => self.server.stats = Stats::default(),
            PeerMessage::Question { connection, number, args } => {
                let answer = answer(&mut self.session(connection, now_ms, false), &args).into();
                self.server.peers.tell(&PeerMessage::Answer { to: sender, connection, number, answer });
            }
            PeerMessage::Answer { to, connection, number, answer } if to == self.server.peers.own => {
                self.questions.take_answer(connection, number, answer);
            }
            PeerMessage::Answer { .. } => {}
        }
    }

    /// Tells a new instance, and with it all others, what there is here.
    fn introduce(&mut self) {
        for topic in Topic::ALL {
            let names: Vec<Bytes> = self.server.subscribers.names(topic).cloned().collect();
            names.into_iter().for_each(|name| self.tell_subscribers(topic, name));
        }
        for key in self.waiters.keys() {
            self.server.peers.tell(&PeerMessage::Waits { key: key.clone(), waits: true });
        }
        self.server.tell_settings();
    }

    /// Gathers for the peers what has changed here, and returns it with what else they are to be told.
    pub(in crate::session) fn tell_peers(&mut self) -> Vec<u8> {
        if !self.server.peers.exist() {
            return Vec::new();
        }
        for (topic, name) in self.server.subscribers.take_changed() {
            self.tell_subscribers(topic, name);
        }
        for key in self.waiters.take_changed() {
            let waits = self.waiters.are_for(&key);
            self.server.peers.tell(&PeerMessage::Waits { key, waits });
        }
        self.server.peers.take_outbox()
    }

    fn tell_subscribers(&mut self, topic: Topic, name: Bytes) {
        let count = u32::try_from(self.server.subscribers.count(topic, &name)).unwrap_or(u32::MAX);
        self.server.peers.tell(&PeerMessage::Subscribers { topic, name, count });
    }

    /// What a session command works with.
    pub(in crate::session) fn session(&mut self, id: u64, now_ms: u64, within_exec: bool) -> Session<'_> {
        let Self { connections, waiters, server, environment, .. } = self;
        Session { id, connections, waiters, server, environment: environment.as_mut(), now_ms, within_exec, pushes: Vec::new() }
    }
}

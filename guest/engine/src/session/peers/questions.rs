//! Commands that concern the connections of all instances: CLIENT LIST and KILL, INFO.
//!
//! The peers are asked, and the connection waits as in a blocking command. When all have answered, the command runs as if it had
//! just come.

use super::super::Engine;
use super::super::answers::Answers;
use super::super::group::Group;
use super::super::plan::Planned;
use super::PeerMessage;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// How long a command waits for what the peers say: one may be busy with a long call. Then it makes do with what there is.
const PATIENCE_MS: u64 = 1000;

/// A command that waits for what the peers say.
#[derive(Debug)]
struct Asked {
    number: u64,
    args: Vec<Bytes>,
    /// How many bytes its request has.
    length: usize,
    answers: Vec<Bytes>,
    deadline_ms: u64,
}

/// The commands that wait for what the peers say, by their connections.
#[derive(Debug, Default)]
pub struct Questions {
    open: BTreeMap<u64, Asked>,
    last_number: u64,
    /// Those that were answered in this call to the engine: what is behind them is for a later one.
    answered: BTreeSet<u64>,
}

impl Questions {
    /// Whether the connection waits, or did when this call began.
    pub(in crate::session) fn hold(&self, connection: u64) -> bool {
        self.open.contains_key(&connection) || self.answered.contains(&connection)
    }

    /// Whether the connection waited when this call began, and does not any more.
    pub(in crate::session) fn is_answered(&self, connection: u64) -> bool {
        self.answered.contains(&connection)
    }

    /// Forgets what a connection waits for.
    pub(in crate::session) fn forget(&mut self, connection: u64) {
        self.open.remove(&connection);
    }

    /// When the first of them waits no longer, in Unix milliseconds.
    pub(in crate::session) fn first_deadline_ms(&self) -> Option<u64> {
        self.open.values().map(|asked| asked.deadline_ms).min()
    }

    pub(super) fn take_answer(&mut self, connection: u64, number: u64, answer: Bytes) {
        if let Some(asked) = self.open.get_mut(&connection).filter(|asked| asked.number == number) {
            asked.answers.push(answer);
        }
    }

    /// A connection whose command need not wait any longer.
    fn take_ready(&mut self, peers: usize, now_ms: u64) -> Option<(u64, Asked)> {
        let is_ready = |asked: &Asked| asked.answers.len() >= peers || now_ms > asked.deadline_ms;
        let connection = self.open.iter().find(|(_, asked)| is_ready(asked)).map(|(connection, _)| *connection)?;
        self.answered.insert(connection);
        self.open.remove(&connection).map(|asked| (connection, asked))
    }
}

impl Engine {
    /// Asks the peers for what a request of `length` bytes needs of them; its connection waits.
    pub(in crate::session) fn ask_peers(&mut self, connection: u64, args: &[Bytes], length: usize, now_ms: u64) {
        // Copies: slices would hold the whole input.
        let args: Vec<Bytes> = args.iter().map(|arg| Bytes::copy_from_slice(arg)).collect();
        self.questions.last_number += 1;
        let number = self.questions.last_number;
        self.server.peers.tell(&PeerMessage::Question { connection, number, args: args.clone() });
        let asked = Asked { number, args, length, answers: Vec::new(), deadline_ms: now_ms.saturating_add(PATIENCE_MS) };
        self.questions.open.insert(connection, asked);
    }

    /// Runs the commands that need not wait any longer for what the peers say.
    pub(in crate::session) fn run_answered(&mut self, now_ms: u64, answers: &mut Answers) {
        self.questions.answered.clear();
        while let Some((connection, asked)) = self.questions.take_ready(self.server.peers.count, now_ms) {
            self.server.peers.answers = asked.answers;
            let position = answers.position_of(connection);
            let planned = self.plan(connection, position, asked.args, asked.length, now_ms);
            if let Planned::Job(job) | Planned::Alone(job) = planned {
                self.finish(&mut Group::of(job), now_ms, answers);
            }
            self.server.peers.answers.clear();
            if let Some(answer) = answers.at(position) {
                (answer.consumed, answer.needed) = (asked.length, 0);
            }
        }
    }
}

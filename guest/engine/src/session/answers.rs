//! The answers of a call on their way: those to the deliveries, and behind them those to other connections.

use super::Answer;
use std::collections::BTreeMap;
use std::ops::Range;

/// Replies to one delivery that lie one behind the other, on their way to its answer.
#[derive(Default)]
pub struct Together {
    delivery: usize,
    replies: Range<usize>,
}

impl Together {
    /// Adds a reply of `replies`. Those before it go to their answer, where it is not to the same delivery.
    pub fn add(&mut self, delivery: usize, reply: Range<usize>, replies: &[u8], answers: &mut Answers) {
        if delivery != self.delivery || reply.start != self.replies.end {
            self.hand_out(replies, answers);
            (self.delivery, self.replies.start) = (delivery, reply.start);
        }
        self.replies.end = reply.end;
    }

    /// Gives those there are to their answer.
    pub fn hand_out(&mut self, replies: &[u8], answers: &mut Answers) {
        let together = std::mem::take(&mut self.replies);
        if let Some(answer) = answers.at(self.delivery).filter(|_| !together.is_empty()) {
            answer.take(0, replies.get(together).unwrap_or_default(), false);
        }
    }
}

/// Answers, found by the position of their delivery or by their connection.
pub struct Answers {
    list: Vec<Answer>,
    /// Where the answer to a connection is; filled when it is first asked for.
    positions: BTreeMap<u64, usize>,
}

impl Answers {
    /// An answer for each delivery, given by their connections.
    pub fn to(connections: impl Iterator<Item = u64>) -> Self {
        let list = connections.map(|connection| Answer { connection, ..Answer::default() }).collect();
        Self { list, positions: BTreeMap::new() }
    }

    /// The answer to the delivery at a position.
    pub fn at(&mut self, position: usize) -> Option<&mut Answer> {
        self.list.get_mut(position)
    }

    /// Where the answer to a connection is: a new one where it has not delivered anything.
    pub fn position_of(&mut self, connection: u64) -> usize {
        if self.positions.is_empty() {
            self.positions = self.list.iter().zip(0..).map(|(answer, position)| (answer.connection, position)).collect();
        }
        let position = *self.positions.entry(connection).or_insert(self.list.len());
        if position == self.list.len() {
            self.list.push(Answer { connection, ..Answer::default() });
        }
        position
    }

    /// The answer to a connection: a new one where it has not delivered anything.
    pub fn of(&mut self, connection: u64) -> Option<&mut Answer> {
        let position = self.position_of(connection);
        self.list.get_mut(position)
    }

    /// Appends a message to the answer to a connection.
    pub fn append(&mut self, connection: u64, message: &[u8]) {
        if let Some(answer) = self.of(connection) {
            answer.output.extend_from_slice(message);
        }
    }

    /// The answers in their order.
    pub fn into_list(self) -> Vec<Answer> {
        self.list
    }
}

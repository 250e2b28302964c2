//! What an exchange takes and what it comes to, and how several calls become one.

use super::canonical::size;
use super::instance::Held;
use smallvec::SmallVec;
use std::collections::BTreeMap;

pub use super::bindings::exports::orbweaver::engine::resp::Answer;

/// [`Answer::needed`] of a connection that waits in a blocking command.
pub const BLOCKED: u64 = u64::MAX;

/// What one connection has sent and is not consumed yet.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The connection, as in [`Orbweaver::connect`](super::Orbweaver::connect).
    pub connection: u64,
    /// The bytes.
    pub input: &'a [u8],
}

impl<'a> Delivery<'a> {
    /// What another call can run after this answer, if anything.
    pub(super) fn left(&self, answer: &Answer) -> Option<Self> {
        let consumed = usize::try_from(answer.consumed).ok()?;
        let input: &'a [u8] = self.input.get(consumed..).filter(|rest| !rest.is_empty())?;
        (!answer.close && answer.needed == 0).then_some(Self { connection: self.connection, input })
    }
}

/// The first of these deliveries whose input has room in so many bytes, and at least one.
pub(super) fn first_of<'a>(mut room: usize, deliveries: impl Iterator<Item = Delivery<'a>>) -> Vec<Delivery<'a>> {
    let has_room = |delivery: &Delivery<'_>| {
        let had = room;
        room = room.saturating_sub(delivery.input.len());
        had > 0
    };
    deliveries.take_while(has_room).collect()
}

/// What an exchange came to; its replies are `O`.
#[derive(Clone, Debug, Default)]
pub struct Outcome<O = Vec<u8>> {
    /// One answer for each delivery, in their order, and behind them answers to other connections.
    pub answers: Vec<Answer>,
    /// All replies, one behind the other; each answer's end where its [`Answer::end`] says.
    pub output: O,
    /// After how many milliseconds the first wait of a blocking command ends: there should be an exchange then, if only without
    /// deliveries.
    pub wake_after_ms: Option<u64>,
    /// A client asked the server to stop.
    pub shutdown: bool,
    /// What the other instances on the store are to [hear](super::Orbweaver::hear), before any reply is sent. Empty without others.
    pub for_peers: Vec<u8>,
}

impl<O: AsRef<[u8]>> Outcome<O> {
    /// Each answer with the bytes that are to be sent for it.
    pub fn replies(&self) -> impl Iterator<Item = (&Answer, &[u8])> {
        let (output, mut start) = (self.output.as_ref(), 0);
        self.answers.iter().map(move |answer| {
            let end = size(answer.end).clamp(start, output.len());
            let reply = output.get(start..end).unwrap_or_default();
            start = end;
            (answer, reply)
        })
    }
}

impl<O> Outcome<O> {
    /// How many bytes of input were run.
    pub(super) fn consumed(&self) -> usize {
        self.answers.iter().map(|answer| size(answer.consumed)).fold(0, usize::saturating_add)
    }

    /// The replies apart from the rest.
    pub(super) fn split(self) -> (Outcome<()>, O) {
        let Self { answers, output, wake_after_ms, shutdown, for_peers } = self;
        (Outcome { answers, output: (), wake_after_ms, shutdown, for_peers }, output)
    }

    /// The same with these replies.
    pub(super) fn with<P>(self, output: P) -> Outcome<P> {
        let Self { answers, output: _, wake_after_ms, shutdown, for_peers } = self;
        Outcome { answers, output, wake_after_ms, shutdown, for_peers }
    }
}

impl Outcome {
    /// The answers to these deliveries in their order, and behind them the other ones.
    pub(super) fn in_the_order_of(&self, deliveries: &[Delivery<'_>]) -> Self {
        let (wake_after_ms, shutdown, for_peers) = (self.wake_after_ms, self.shutdown, self.for_peers.clone());
        let mut outcome = Self { wake_after_ms, shutdown, for_peers, ..Self::default() };
        let rank = |answer: &Answer| deliveries.iter().position(|delivery| delivery.connection == answer.connection);
        let mut replies: Vec<(&Answer, &[u8])> = self.replies().collect();
        replies.sort_by_key(|(answer, _)| rank(answer).unwrap_or(deliveries.len()));
        replies.into_iter().for_each(|(answer, reply)| outcome.push(answer.clone(), &[reply]));
        outcome
    }

    pub(super) fn push(&mut self, mut answer: Answer, pieces: &[&[u8]]) {
        pieces.iter().for_each(|piece| self.output.extend_from_slice(piece));
        answer.end = u32::try_from(self.output.len()).unwrap_or(u32::MAX);
        self.answers.push(answer);
    }
}

/// The replies of an exchange, wherever they are.
pub(super) enum Replies {
    /// In the component's memory, until its next call.
    Held(Held),
    Taken(Vec<u8>),
}

impl From<Outcome> for Outcome<Replies> {
    fn from(outcome: Outcome) -> Self {
        let (outcome, replies) = outcome.split();
        outcome.with(Replies::Taken(replies))
    }
}

/// An exchange of which a part may not be written yet, see [`Orbweaver::exchange_ahead`](super::Orbweaver::exchange_ahead).
#[derive(Debug, Default)]
#[must_use = "nobody is to be told of the outcome before it is settled"]
pub struct Unsettled {
    /// The number of the last late commit.
    pub(super) last_commit: u64,
    /// How many exchanges had failed to be written when it was made.
    pub(super) failures: u64,
    /// The connections that have delivered something, and how many bytes.
    pub(super) delivered: Vec<(u64, u32)>,
}

impl Unsettled {
    /// Whether all is written, so that [`Orbweaver::settle`](super::Orbweaver::settle) has nothing to wait for.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.last_commit == 0
    }
}

/// Calls that were made one after the other, as one. Their replies are copied once, when all are there.
#[derive(Default)]
pub(super) struct Joined {
    parts: SmallVec<[Outcome; 1]>,
    /// What the parts have answered, each connection once; empty while there is one part, which says it itself.
    answers: Vec<Answer>,
    /// Where the answer to a connection is among them.
    places: BTreeMap<u64, usize>,
    bytes: usize,
}

impl Joined {
    /// The answers so far; those to the deliveries of the first call come first, in their order.
    pub fn answers(&self) -> &[Answer] {
        match self.parts.as_slice() {
            [only] => &only.answers,
            _ => &self.answers,
        }
    }

    /// How long the replies are together.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds what a further call came to.
    pub fn add(&mut self, part: Outcome) {
        if let [first] = self.parts.as_slice() {
            self.answers = first.answers.clone();
            self.places = self.answers.iter().map(|answer| answer.connection).zip(0..).collect();
        }
        if !self.parts.is_empty() {
            part.answers.iter().for_each(|answer| self.go_on(answer));
        }
        self.bytes += part.output.len();
        self.parts.push(part);
    }

    fn go_on(&mut self, answer: &Answer) {
        let place = *self.places.entry(answer.connection).or_insert(self.answers.len());
        let Some(before) = self.answers.get_mut(place) else { return self.answers.push(answer.clone()) };
        before.consumed = before.consumed.saturating_add(answer.consumed);
        // A message alone says nothing of the input.
        if answer.consumed > 0 || answer.needed > 0 {
            before.needed = answer.needed;
        }
        before.close |= answer.close;
    }

    /// The outcome of all of them.
    pub fn into_outcome(mut self) -> Outcome {
        if self.parts.len() < 2 {
            return self.parts.pop().unwrap_or_default();
        }
        let mut replies: Vec<Vec<&[u8]>> = vec![Vec::new(); self.answers.len()];
        for (answer, reply) in self.parts.iter().flat_map(Outcome::replies) {
            if let Some(replies) = self.places.get(&answer.connection).and_then(|&place| replies.get_mut(place)) {
                replies.push(reply);
            }
        }
        let mut outcome = Outcome { output: Vec::with_capacity(self.bytes), ..Outcome::default() };
        for (answer, pieces) in self.answers.into_iter().zip(replies) {
            outcome.push(answer, &pieces);
        }
        for part in &self.parts {
            outcome.wake_after_ms = part.wake_after_ms;
            outcome.shutdown |= part.shutdown;
            outcome.for_peers.extend_from_slice(&part.for_peers);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(connection: u64, consumed: u32, needed: u64) -> Answer {
        Answer { connection, consumed, needed, end: 0, close: false, state: None }
    }

    fn outcome(answers: &[(Answer, &str)], wake_after_ms: Option<u64>, for_peers: &[u8]) -> Outcome {
        let mut outcome = Outcome { wake_after_ms, for_peers: for_peers.to_vec(), ..Outcome::default() };
        answers.iter().for_each(|(answer, reply)| outcome.push(answer.clone(), &[reply.as_bytes()]));
        outcome
    }

    fn shown(outcome: &Outcome) -> Vec<(u64, u32, u64, String)> {
        let shown = |(answer, reply): (&Answer, &[u8])| {
            (answer.connection, answer.consumed, answer.needed, String::from_utf8_lossy(reply).into_owned())
        };
        outcome.replies().map(shown).collect()
    }

    #[test]
    fn calls_that_follow_each_other_answer_as_one() {
        let mut joined = Joined::default();
        assert!(joined.into_outcome().answers.is_empty());
        joined = Joined::default();
        joined.add(outcome(&[(answer(7, 10, 0), "a"), (answer(3, 0, BLOCKED), ""), (answer(5, 4, 9), "c")], Some(50), b"one"));
        assert_eq!((joined.answers().len(), joined.bytes()), (3, 2));
        // The wait of 3 is over, 9 hears something; 7 goes on; 5 hears something, and needs what it needed.
        joined.add(outcome(
            &[(answer(7, 5, 2), "A"), (answer(3, 6, 0), "B"), (answer(9, 0, 0), "m"), (answer(5, 0, 0), "M")],
            None,
            b"two",
        ));
        joined.add(outcome(&[(answer(3, 1, 0), "!"), (answer(9, 0, 0), "n")], Some(7), b""));
        assert_eq!(joined.answers().iter().map(|answer| answer.consumed).collect::<Vec<_>>(), [15, 7, 4, 0]);
        let outcome = joined.into_outcome();
        let expected = [(7, 15, 2, "aA"), (3, 7, 0, "B!"), (5, 4, 9, "cM"), (9, 0, 0, "mn")];
        assert_eq!(shown(&outcome), expected.map(|(connection, consumed, needed, reply)| (connection, consumed, needed, reply.to_owned())));
        assert_eq!((outcome.wake_after_ms, outcome.shutdown, outcome.for_peers), (Some(7), false, b"onetwo".to_vec()));
    }

    #[test]
    fn a_call_is_given_the_first_deliveries_that_have_room_and_at_least_one() {
        let input = [0; 10];
        let deliveries = [4, 10, 3].map(|length| Delivery { connection: 1, input: input.get(..length).unwrap_or_default() });
        let count = |room| first_of(room, deliveries.into_iter()).len();
        assert_eq!([1, 4, 5, 14, 15, 100].map(count), [1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn one_call_is_left_as_it_is() {
        let mut joined = Joined::default();
        joined.add(outcome(&[(answer(1, 2, 3), "x")], None, b""));
        assert_eq!(shown(&joined.into_outcome()), [(1, 2, 3, "x".to_owned())]);
    }
}

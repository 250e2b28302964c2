//! What operations return: one case for each shape of result, with byte strings in one buffer.

use crate::layout::Kind;
use crate::scan::Step;
use bytes::Bytes;
use std::fmt;

/// Byte strings in one buffer: a result of a hundred of them crosses the component's boundary ten times faster than a list of
/// lists (`docs/decisions.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blobs {
    /// One string behind the other.
    pub bytes: Vec<u8>,
    /// Where each string ends; it begins where the one before ends.
    pub ends: Vec<usize>,
}

impl Blobs {
    /// Adds a string.
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    /// The strings.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let string = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            string
        })
    }
}

impl<B: AsRef<[u8]>> FromIterator<B> for Blobs {
    fn from_iter<I: IntoIterator<Item = B>>(strings: I) -> Self {
        let mut blobs = Self::default();
        strings.into_iter().for_each(|string| blobs.push(string.as_ref()));
        blobs
    }
}

/// Byte strings of which some are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionalBlobs {
    /// The strings; an empty one for each that is absent.
    pub blobs: Blobs,
    /// The positions of those that are absent, ascending.
    pub absent: Vec<usize>,
}

impl FromIterator<Option<Bytes>> for OptionalBlobs {
    fn from_iter<I: IntoIterator<Item = Option<Bytes>>>(strings: I) -> Self {
        let mut all = Self::default();
        for string in strings {
            if string.is_none() {
                all.absent.push(all.blobs.ends.len());
            }
            all.blobs.push(string.as_deref().unwrap_or_default());
        }
        all
    }
}

/// Members of a sorted set with their scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    /// The members.
    pub members: Blobs,
    /// The score of each.
    pub scores: Vec<f64>,
}

impl Members {
    /// Adds a member.
    pub fn push(&mut self, member: &[u8], score: f64) {
        self.members.push(member);
        self.scores.push(score);
    }
}

impl FromIterator<(Bytes, f64)> for Members {
    fn from_iter<I: IntoIterator<Item = (Bytes, f64)>>(members: I) -> Self {
        let mut all = Self::default();
        members.into_iter().for_each(|(member, score)| all.push(&member, score));
        all
    }
}

/// One step of a walk, see [`crate::scan`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// What was found; of a hash field, value, field, value and so on.
    pub elements: Blobs,
    /// Where the next step goes on; 0: the walk is over.
    pub cursor: u64,
}

impl From<Step<Bytes>> for Page {
    fn from(step: Step<Bytes>) -> Self {
        Self { elements: step.elements.into_iter().collect(), cursor: step.cursor }
    }
}

impl From<Step<(Bytes, Bytes)>> for Page {
    fn from(step: Step<(Bytes, Bytes)>) -> Self {
        Self { elements: step.elements.into_iter().flat_map(<[Bytes; 2]>::from).collect(), cursor: step.cursor }
    }
}

/// One step of a walk over a sorted set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoredPage {
    /// What was found.
    pub members: Members,
    /// Where the next step goes on; 0: the walk is over.
    pub cursor: u64,
}

impl From<Step<(Bytes, f64)>> for ScoredPage {
    fn from(step: Step<(Bytes, f64)>) -> Self {
        Self { members: step.elements.into_iter().collect(), cursor: step.cursor }
    }
}

/// When a key expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyExpiry {
    /// There is no such key.
    Absent,
    /// It stays for ever.
    Never,
    /// Unix time in milliseconds.
    At(u64),
}

/// An outcome was asked for as something that it is not: a mistake of the caller's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnexpectedOutcome;

impl fmt::Display for UnexpectedOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operation has another kind of outcome")
    }
}

impl std::error::Error for UnexpectedOutcome {}

macro_rules! outcomes {
    ($($(#[$doc:meta])* $name:ident($value:ty),)*) => {
        /// What an operation has come to. Which case it is depends on the operation alone.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Outcome {
            $($(#[$doc])* $name($value),)*
        }

        $(impl TryFrom<Outcome> for $value {
            type Error = UnexpectedOutcome;

            fn try_from(outcome: Outcome) -> Result<Self, UnexpectedOutcome> {
                match outcome {
                    Outcome::$name(value) => Ok(value),
                    _ => Err(UnexpectedOutcome),
                }
            }
        })*
    };
}

outcomes! {
    /// Done; there is nothing to tell.
    Done(()),
    /// Whether something is so, or was done.
    Flag(bool),
    /// The same for each of several.
    Flags(Vec<bool>),
    /// How many, or how long.
    Count(u64),
    /// An integer sum.
    Integer(i64),
    /// A floating point sum.
    Float(f64),
    /// A position, a rank or a length, where there is one.
    Position(Option<u64>),
    /// Positions.
    Positions(Vec<u64>),
    /// A byte string, where there is one.
    Value(Option<Bytes>),
    /// The same for each of several.
    Values(OptionalBlobs),
    /// Byte strings.
    List(Blobs),
    /// A score, where there is one.
    Score(Option<f64>),
    /// The same for each of several.
    Scores(Vec<Option<f64>>),
    /// Members with their scores.
    Members(Members),
    /// What was added to a sorted set, and what changed.
    Added(crate::types::sorted_sets::Added),
    /// A step of a walk.
    Page(Page),
    /// A step of a walk over a sorted set.
    ScoredPage(ScoredPage),
    /// The type of a key, where there is one.
    Kind(Option<Kind>),
    /// When a key expires.
    Expiry(KeyExpiry),
}

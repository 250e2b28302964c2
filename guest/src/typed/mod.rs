//! The typed interfaces: arguments become an operation of the engine, its outcome becomes the result.

mod batch;
mod hashes;
mod keys;
mod lists;
mod sets;
mod sorted_sets;
mod strings;

use crate::bindings::exports::orbweaver::engine::types as wit;
use crate::exports::with_engine;
use bytes::Bytes;
use orbweaver_engine::scan::Filter;
use orbweaver_engine::typed::{self, Failure, Operation, Outcome, UnexpectedOutcome};
use orbweaver_engine::types::draw::Draw;
use orbweaver_engine::types::set_algebra;
use orbweaver_engine::types::strings::Condition;

/// A result of a function, and what the engine has for it.
trait Answer: Sized {
    /// What the outcome holds.
    type Held: TryFrom<Outcome, Error = UnexpectedOutcome>;

    /// The result.
    fn from_held(held: Self::Held) -> Self;
}

macro_rules! answers {
    ($($held:ty => $answer:ty: $convert:expr,)*) => {
        $(impl crate::typed::Answer for $answer {
            type Held = $held;

            fn from_held(held: $held) -> Self {
                $convert(held)
            }
        })*
    };
}

use answers;

answers! {
    () => (): std::convert::identity,
    bool => bool: std::convert::identity,
    Vec<bool> => Vec<bool>: std::convert::identity,
    u64 => u64: std::convert::identity,
    i64 => i64: std::convert::identity,
    f64 => f64: std::convert::identity,
    Option<u64> => Option<u64>: std::convert::identity,
    Vec<u64> => Vec<u64>: std::convert::identity,
    Option<Bytes> => Option<Vec<u8>>: value,
    typed::OptionalBlobs => wit::OptionalBlobs: wit::OptionalBlobs::from,
    typed::Blobs => wit::Blobs: wit::Blobs::from,
    typed::Page => wit::Page: wit::Page::from,
    Option<f64> => Option<f64>: std::convert::identity,
    Vec<Option<f64>> => Vec<Option<f64>>: std::convert::identity,
}

/// Runs one operation.
fn perform<A: Answer>(db: u32, operation: impl Into<Operation>) -> Result<A, wit::Error> {
    let held = A::Held::try_from(outcome_of(db, operation.into())?);
    held.map(A::from_held).map_err(|error| wit::Error::Invalid(error.to_string()))
}

/// Apart from [`perform`] and never inlined: a hundred exported functions share this code.
#[inline(never)]
fn outcome_of(db: u32, operation: Operation) -> Result<Outcome, wit::Error> {
    let outcome = with_engine(|engine| engine.perform_one(size(db), operation)).map_err(wit::Error::Invalid)?;
    outcome.map_err(wit::Error::from)
}

fn value(value: Option<Bytes>) -> Option<Vec<u8>> {
    value.map(Vec::from)
}

/// A list of keys, fields or members.
fn strings_of(list: Vec<Vec<u8>>) -> Vec<Bytes> {
    list.into_iter().map(Bytes::from).collect()
}

/// Keys or fields, each with its value.
fn pairs(list: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<(Bytes, Bytes)> {
    list.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A place within a buffer, which is shorter than the component's memory of 4 GiB.
fn place(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

impl From<Failure> for wit::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::WrongType => Self::WrongType,
            Failure::NotAnInteger => Self::NotAnInteger,
            Failure::NotAFloat => Self::NotAFloat,
            Failure::Overflow => Self::Overflow,
            Failure::NoSuchKey => Self::NoSuchKey,
            Failure::OutOfRange => Self::OutOfRange,
            Failure::Invalid(text) => Self::Invalid(text),
            Failure::TooLarge(text) => Self::TooLarge(text),
            Failure::ReadOnly => Self::ReadOnly,
            Failure::Conflict => Self::Conflict,
            Failure::UnknownOutcome(text) => Self::UnknownOutcome(text),
            Failure::Storage(text) => Self::Storage(text),
            Failure::Corrupt(text) => Self::Corrupt(text),
        }
    }
}

impl From<typed::Blobs> for wit::Blobs {
    fn from(blobs: typed::Blobs) -> Self {
        Self { bytes: blobs.bytes, ends: blobs.ends.into_iter().map(place).collect() }
    }
}

impl From<typed::OptionalBlobs> for wit::OptionalBlobs {
    fn from(all: typed::OptionalBlobs) -> Self {
        Self { blobs: all.blobs.into(), absent: all.absent.into_iter().map(place).collect() }
    }
}

impl From<typed::Page> for wit::Page {
    fn from(page: typed::Page) -> Self {
        Self { elements: page.elements.into(), cursor: page.cursor }
    }
}

impl From<wit::Filter> for Filter {
    fn from(filter: wit::Filter) -> Self {
        // A star matches the empty name, too.
        let pattern = filter.pattern.filter(|pattern| pattern != b"*").map(Bytes::from);
        Self { pattern, count: size(filter.count.max(1)) }
    }
}

impl From<wit::Draw> for Draw {
    fn from(draw: wit::Draw) -> Self {
        match draw {
            wit::Draw::Distinct(count) => Self::Distinct(count),
            wit::Draw::Repeated(count) => Self::Repeated(count),
        }
    }
}

impl From<wit::Condition> for Condition {
    fn from(condition: wit::Condition) -> Self {
        match condition {
            wit::Condition::Always => Self::Always,
            wit::Condition::IfAbsent => Self::IfAbsent,
            wit::Condition::IfPresent => Self::IfPresent,
        }
    }
}

impl From<wit::Algebra> for set_algebra::Operation {
    fn from(algebra: wit::Algebra) -> Self {
        match algebra {
            wit::Algebra::Union => Self::Union,
            wit::Algebra::Intersection => Self::Intersection,
            wit::Algebra::Difference => Self::Difference,
        }
    }
}

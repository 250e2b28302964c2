//! A database as plain maps: what the engine's replies are held against, on every store.
//!
//! [`Model::apply`] answers a command as Redis does. It knows the forms that `generator.rs` makes and no others; [`prove`] runs both
//! side by side. Where Redis leaves an order free (HGETALL, SMEMBERS), it is the byte order that Orbweaver answers in.

mod generator;
mod hashes;
mod keys;
mod lists;
mod prove;
mod sets;
mod sorted_sets;
mod strings;

pub use prove::{Plan, prove, prove_on};

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use orbweaver_engine::layout::expiry::ExpiryRules;
use orbweaver_engine::resp::Value;

/// A byte string: a key, a member, an element.
type Word = Vec<u8>;
/// A hash's fields with their values.
type Hash = BTreeMap<Word, Word>;
/// A list's elements.
type List = VecDeque<Word>;
/// A set's members.
type Set = BTreeSet<Word>;
/// A sorted set's members with their scores.
type SortedSet = BTreeMap<Word, Score>;
/// What a command is answered with; the text of an error reply.
type Reply = Result<Value, &'static str>;

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";

/// A score: a type of its own tells a sorted set from a hash.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Score(f64);

/// What a key holds.
#[derive(Clone, Debug, PartialEq)]
enum Held {
    String(Word),
    Hash(Hash),
    List(List),
    Set(Set),
    SortedSet(SortedSet),
}

/// A type of value that a key may hold.
trait Kind: Clone + Default {
    fn of(held: &Held) -> Option<&Self>;
    fn hold(self) -> Held;
    /// Whether the key goes with this value, as with the last element of a collection.
    fn is_nothing(&self) -> bool;
}

macro_rules! kind {
    ($kind:ident, $held:ident, $is_nothing:expr) => {
        impl Kind for $kind {
            fn of(held: &Held) -> Option<&Self> {
                if let Held::$held(value) = held { Some(value) } else { None }
            }

            fn hold(self) -> Held {
                Held::$held(self)
            }

            fn is_nothing(&self) -> bool {
                let is_nothing: fn(&Self) -> bool = $is_nothing;
                is_nothing(self)
            }
        }
    };
}
kind!(Word, String, |_| false);
kind!(Hash, Hash, Hash::is_empty);
kind!(List, List, List::is_empty);
kind!(Set, Set, Set::is_empty);
kind!(SortedSet, SortedSet, SortedSet::is_empty);

#[derive(Clone, Debug)]
struct Entry {
    held: Held,
    expire_at_ms: Option<u64>,
}

/// One db.
#[derive(Debug)]
pub struct Model {
    /// Unix time in milliseconds.
    now_ms: u64,
    keys: BTreeMap<Word, Entry>,
    /// When keys are gone.
    rules: ExpiryRules,
}

impl Model {
    /// An empty db at a time, whose keys expire by these rules.
    #[must_use]
    pub const fn new(now_ms: u64, rules: ExpiryRules) -> Self {
        Self { now_ms, keys: BTreeMap::new(), rules }
    }

    /// Lets time pass. A key is gone once its time is past.
    pub fn wait_until(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.keys.retain(|_, entry| entry.expire_at_ms.is_none_or(|at| !self.rules.is_past(at, now_ms)));
    }

    /// Does what a command does, and returns its reply in RESP2.
    ///
    /// # Panics
    /// For commands, or forms of them, that the generator does not make.
    pub fn apply(&mut self, command: &[Word]) -> Value {
        let words: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
        let families = [keys::apply, strings::apply, hashes::apply, lists::apply, sets::apply, sorted_sets::apply];
        let reply = families.iter().find_map(|apply| apply(self, &words)).expect("the model knows the command");
        reply.unwrap_or_else(|error| Value::Error(Bytes::from_static(error.as_bytes())))
    }

    /// What is under a key; nothing is the empty value.
    fn read<K: Kind>(&self, key: &[u8]) -> Result<K, &'static str> {
        self.find(key).map(Option::unwrap_or_default)
    }

    /// What is under a key, if anything.
    fn find<K: Kind>(&self, key: &[u8]) -> Result<Option<K>, &'static str> {
        self.keys.get(key).map(|entry| K::of(&entry.held).cloned().ok_or(WRONG_TYPE)).transpose()
    }

    /// Puts a value where one of the same type was, or none: the expiry stays.
    fn update<K: Kind>(&mut self, key: &[u8], value: K) {
        let expire_at_ms = self.keys.get(key).and_then(|entry| entry.expire_at_ms);
        self.put(key, value, expire_at_ms);
    }

    /// Puts a value in the place of whatever is there.
    fn put<K: Kind>(&mut self, key: &[u8], value: K, expire_at_ms: Option<u64>) {
        if value.is_nothing() {
            self.keys.remove(key);
        } else {
            self.keys.insert(key.to_vec(), Entry { held: value.hold(), expire_at_ms });
        }
    }
}

fn ok() -> Reply {
    Ok(Value::Simple("OK".into()))
}

fn integer(number: usize) -> Reply {
    Ok(Value::Integer(i64::try_from(number).expect("a size")))
}

fn truth(is_so: bool) -> Reply {
    integer(usize::from(is_so))
}

fn bulk(word: impl Into<Word>) -> Value {
    Value::Bulk(word.into().into())
}

fn bulk_or_null(word: Option<Word>) -> Reply {
    Ok(word.map_or(Value::Null, bulk))
}

fn bulks(words: impl IntoIterator<Item = Word>) -> Reply {
    Ok(Value::Array(words.into_iter().map(bulk).collect()))
}

/// A number that the generator has written.
fn number<T: std::str::FromStr>(word: &[u8]) -> T {
    std::str::from_utf8(word).ok().and_then(|text| text.parse().ok()).expect("a number of the generator's")
}

/// A number that a client may have written: as Redis reads integers.
fn stored_integer(word: &[u8]) -> Result<i64, &'static str> {
    let text = std::str::from_utf8(word).map_err(|_| NOT_AN_INTEGER)?;
    let number: i64 = text.parse().map_err(|_| NOT_AN_INTEGER)?;
    if number.to_string() == text { Ok(number) } else { Err(NOT_AN_INTEGER) }
}

/// The positions from `start` to `stop`, which count from the end where they are negative, among `length` ones.
fn positions(start: &[u8], stop: &[u8], length: usize) -> std::ops::Range<usize> {
    let length = i64::try_from(length).expect("a size");
    let from_start = |word: &[u8]| {
        let position: i64 = number(word);
        if position < 0 { position.saturating_add(length) } else { position }
    };
    let (first, end) = (from_start(start).max(0), from_start(stop).saturating_add(1).min(length));
    let index = |position: i64| usize::try_from(position).unwrap_or(0);
    if first < end { index(first)..index(end) } else { 0..0 }
}

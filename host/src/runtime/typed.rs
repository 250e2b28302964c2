//! The typed interfaces of the component: `wit/engine` documents each function, its absent keys and its errors.
//!
//! ```
//! use orbweaver::runtime::typed::sorted_sets::{Comparison, Direction, MemberRange, Selection, Update, Which};
//! use orbweaver::runtime::{Component, Orbweaver};
//! use orbweaver::stores::rocksdb::{RocksOptions, RocksStore};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path();
//! let store = RocksStore::open(path, RocksOptions::default())?;
//! let mut orbweaver = Orbweaver::builder().open(&Component::load()?, Box::new(store.handle()))?;
//!
//! // Db 0, key `scores`: who has more than before gets the new score.
//! let better = Update { which: Which::Any, comparison: Comparison::Greater };
//! let scores = [(120.5, b"ada".to_vec()), (99.0, b"bob".to_vec())];
//! let done = orbweaver.sorted_sets().add(0, b"scores", &scores, better)?;
//! assert_eq!((done.added, done.updated), (2, 0));
//!
//! // The best ten.
//! let range = MemberRange::Ranks((0, 9));
//! let best = Selection { range, direction: Direction::Descending, offset: 0, limit: None };
//! let best = orbweaver.sorted_sets().range(0, b"scores", &best)?;
//! assert_eq!(best.scores, [120.5, 99.0]);
//! let names: Vec<&[u8]> = best.members.iter().collect();
//! assert_eq!(names, [&b"ada"[..], b"bob"]);
//!
//! // Clients of the protocol see the same data.
//! let value = orbweaver.command(&[b"ZCARD", b"scores"])?;
//! assert_eq!(value, orbweaver_engine::resp::decode::Value::Integer(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Many operations in one transaction, all of them or none:
//!
//! ```
//! use orbweaver::runtime::typed::batch::{Operation, Outcome};
//! use orbweaver::runtime::{Component, Orbweaver};
//! use orbweaver_engine::store::MemoryStore;
//!
//! let mut orbweaver = Orbweaver::builder().open(&Component::load()?, Box::new(MemoryStore::new()))?;
//! let operations = [
//!     Operation::HashIncrement((b"account:1".to_vec(), b"cents".to_vec(), -500)),
//!     Operation::HashIncrement((b"account:2".to_vec(), b"cents".to_vec(), 500)),
//! ];
//! let outcomes = orbweaver.batch().run(0, &operations)?;
//! assert!(matches!(outcomes[..], [Outcome::Integer(-500), Outcome::Integer(500)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use super::bindings::exports::orbweaver::engine::{batch, hashes, keys, lists, sets, sorted_sets, strings, types};

use super::canonical::size;
use super::exports::export;
use super::instance::CallError;
use super::server::Orbweaver;
use std::fmt;
use types::{Algebra, Blobs, Condition, Draw, Filter, OptionalBlobs, Page};

/// Why a call failed.
#[derive(Debug)]
pub enum TypedError<E> {
    /// The engine said so, in cases that a program can tell apart.
    Failed(E),
    /// The call got no answer: an instance was lost, or could not be made.
    Lost(CallError),
}

impl<E: fmt::Display> fmt::Display for TypedError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Lost(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for TypedError<E> {}

impl Blobs {
    /// The byte strings.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let end = size(end);
            let string = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            string
        })
    }
}

impl OptionalBlobs {
    /// The byte strings, `None` for those that are absent.
    pub fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let is_absent = |position: usize| u32::try_from(position).is_ok_and(|position| self.absent.binary_search(&position).is_ok());
        self.blobs.iter().enumerate().map(move |(position, string)| (!is_absent(position)).then_some(string))
    }
}

/// One struct for each interface: a function for each of its functions.
macro_rules! interfaces {
    ($(
        $(#[$doc:meta])*
        $method:ident: $interface:ident by $exports:ident $exported:literal, fails with $error:ty {
            $($call:ident: $export:literal as $name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)*
        }
    )*) => {
        $(
            $(#[$doc])*
            pub struct $interface<'o>(&'o mut Orbweaver);

            impl Orbweaver {
                $(#[$doc])*
                pub fn $method(&mut self) -> $interface<'_> {
                    $interface(self)
                }
            }

            impl $interface<'_> {
                $(
                    #[doc = concat!("`", $exported, ".", $export, "` in `wit/engine`, in the db of that number.")]
                    ///
                    /// # Errors
                    /// As documented there; [`TypedError::Lost`] where the call ended in a trap.
                    pub fn $name(&mut self, db: u32 $(, $arg: $type)*) -> Result<$answer, TypedError<$error>> {
                        let name = export!($exports, $exported, $call, $export, (db: u32 $(, $arg: $type)*) -> Result<$answer, $error>);
                        let answer = self.0.call(|instance| instance.call::<Result<$answer, $error>>(name, (db, $($arg),*)));
                        answer.map_err(TypedError::Lost)?.map_err(TypedError::Failed)
                    }
                )*
            }
        )*
    };
}

interfaces! {
    /// Strings.
    strings: Strings by orbweaver_engine_strings "strings", fails with types::Error {
        call_get: "get" as get(key: &[u8]) -> Option<Vec<u8>>;
        call_get_many: "get-many" as get_many(keys: &[Vec<u8>]) -> OptionalBlobs;
        call_set: "set" as set(key: &[u8], value: &[u8], options: strings::SetOptions) -> bool;
        call_set_many: "set-many" as set_many(pairs: &[(Vec<u8>, Vec<u8>)], condition: Condition) -> bool;
        call_get_set: "get-set" as get_set(key: &[u8], value: &[u8], options: strings::SetOptions) -> Option<Vec<u8>>;
        call_get_delete: "get-delete" as get_delete(key: &[u8]) -> Option<Vec<u8>>;
        call_compare_and_set: "compare-and-set" as compare_and_set(key: &[u8], expected: Option<&[u8]>, new: Option<&[u8]>) -> bool;
        call_append: "append" as append(key: &[u8], tail: &[u8]) -> u64;
        call_length: "length" as length(key: &[u8]) -> u64;
        call_range: "range" as range(key: &[u8], start: i64, end: i64) -> Option<Vec<u8>>;
        call_set_range: "set-range" as set_range(key: &[u8], offset: u64, patch: &[u8]) -> u64;
        call_increment: "increment" as increment(key: &[u8], by: i64) -> i64;
        call_increment_float: "increment-float" as increment_float(key: &[u8], by: f64) -> f64;
    }

    /// Hashes.
    hashes: Hashes by orbweaver_engine_hashes "hashes", fails with types::Error {
        call_get: "get" as get(key: &[u8], field: &[u8]) -> Option<Vec<u8>>;
        call_get_many: "get-many" as get_many(key: &[u8], fields: &[Vec<u8>]) -> OptionalBlobs;
        call_get_all: "get-all" as get_all(key: &[u8]) -> Blobs;
        call_fields: "fields" as fields(key: &[u8]) -> Blobs;
        call_values: "values" as values(key: &[u8]) -> Blobs;
        call_length: "length" as length(key: &[u8]) -> u64;
        call_exists: "exists" as exists(key: &[u8], field: &[u8]) -> bool;
        call_set: "set" as set(key: &[u8], pairs: &[(Vec<u8>, Vec<u8>)]) -> u64;
        call_set_if_absent: "set-if-absent" as set_if_absent(key: &[u8], field: &[u8], value: &[u8]) -> bool;
        call_delete: "delete" as delete(key: &[u8], fields: &[Vec<u8>]) -> u64;
        call_increment: "increment" as increment(key: &[u8], field: &[u8], by: i64) -> i64;
        call_increment_float: "increment-float" as increment_float(key: &[u8], field: &[u8], by: f64) -> f64;
        call_random: "random" as random(key: &[u8], draw: Draw) -> Blobs;
        call_scan: "scan" as scan(key: &[u8], cursor: u64, filter: &Filter) -> Page;
    }

    /// Lists.
    lists: Lists by orbweaver_engine_lists "lists", fails with types::Error {
        call_push: "push" as push(key: &[u8], end: lists::End, elements: &[Vec<u8>]) -> u64;
        call_push_if_exists: "push-if-exists" as push_if_exists(key: &[u8], end: lists::End, elements: &[Vec<u8>]) -> u64;
        call_pop: "pop" as pop(key: &[u8], end: lists::End, count: u64) -> Blobs;
        call_length: "length" as length(key: &[u8]) -> u64;
        call_get: "get" as get(key: &[u8], position: i64) -> Option<Vec<u8>>;
        call_range: "range" as range(key: &[u8], start: i64, stop: i64) -> Blobs;
        call_set: "set" as set(key: &[u8], position: i64, element: &[u8]) -> ();
        call_insert: "insert" as insert(key: &[u8], side: lists::Side, pivot: &[u8], element: &[u8]) -> Option<u64>;
        call_remove: "remove" as remove(key: &[u8], element: &[u8], start: lists::End, most: Option<u64>) -> u64;
        call_trim: "trim" as trim(key: &[u8], start: i64, stop: i64) -> ();
        call_find: "find" as find(key: &[u8], element: &[u8], search: lists::Search) -> Vec<u64>;
        call_move_element: "move-element" as move_element(key: &[u8], end: lists::End, to: &[u8], to_end: lists::End) -> Option<Vec<u8>>;
    }

    /// Sets.
    sets: Sets by orbweaver_engine_sets "sets", fails with types::Error {
        call_add: "add" as add(key: &[u8], members: &[Vec<u8>]) -> u64;
        call_remove: "remove" as remove(key: &[u8], members: &[Vec<u8>]) -> u64;
        call_contains: "contains" as contains(key: &[u8], member: &[u8]) -> bool;
        call_contains_many: "contains-many" as contains_many(key: &[u8], members: &[Vec<u8>]) -> Vec<bool>;
        call_members: "members" as members(key: &[u8]) -> Blobs;
        call_count: "count" as count(key: &[u8]) -> u64;
        call_pop: "pop" as pop(key: &[u8], count: u64) -> Blobs;
        call_random: "random" as random(key: &[u8], draw: Draw) -> Blobs;
        call_scan: "scan" as scan(key: &[u8], cursor: u64, filter: &Filter) -> Page;
        call_move_member: "move-member" as move_member(key: &[u8], to: &[u8], member: &[u8]) -> bool;
        call_combine: "combine" as combine(algebra: Algebra, keys: &[Vec<u8>]) -> Blobs;
        call_combine_to: "combine-to" as combine_to(destination: &[u8], algebra: Algebra, keys: &[Vec<u8>]) -> u64;
        call_count_common: "count-common" as count_common(keys: &[Vec<u8>], limit: Option<u64>) -> u64;
    }

    /// Sorted sets.
    sorted_sets: SortedSets by orbweaver_engine_sorted_sets "sorted-sets", fails with types::Error {
        call_add: "add" as add(key: &[u8], pairs: &[(f64, Vec<u8>)], update: sorted_sets::Update) -> sorted_sets::Added;
        call_increment: "increment" as increment(key: &[u8], member: &[u8], by: f64, update: sorted_sets::Update) -> Option<f64>;
        call_score: "score" as score(key: &[u8], member: &[u8]) -> Option<f64>;
        call_scores: "scores" as scores(key: &[u8], members: &[Vec<u8>]) -> Vec<Option<f64>>;
        call_rank: "rank" as rank(key: &[u8], member: &[u8], direction: sorted_sets::Direction) -> Option<u64>;
        call_count: "count" as count(key: &[u8]) -> u64;
        call_count_range: "count-range" as count_range(key: &[u8], range: &sorted_sets::MemberRange) -> u64;
        call_range: "range" as range(key: &[u8], selection: &sorted_sets::Selection) -> sorted_sets::Scored;
        call_range_to: "range-to" as range_to(destination: &[u8], key: &[u8], selection: &sorted_sets::Selection) -> u64;
        call_remove: "remove" as remove(key: &[u8], members: &[Vec<u8>]) -> u64;
        call_remove_range: "remove-range" as remove_range(key: &[u8], range: &sorted_sets::MemberRange) -> u64;
        call_pop: "pop" as pop(key: &[u8], direction: sorted_sets::Direction, count: u64) -> sorted_sets::Scored;
        call_random: "random" as random(key: &[u8], draw: Draw) -> sorted_sets::Scored;
        call_scan: "scan" as scan(key: &[u8], cursor: u64, filter: &Filter) -> sorted_sets::ScoredPage;
        call_combine: "combine" as combine(combination: &sorted_sets::Combination) -> sorted_sets::Scored;
        call_combine_to: "combine-to" as combine_to(destination: &[u8], combination: &sorted_sets::Combination) -> u64;
        call_count_common: "count-common" as count_common(keys: &[Vec<u8>], limit: Option<u64>) -> u64;
    }

    /// Keys of any type.
    keys: Keys by orbweaver_engine_keys "keys", fails with types::Error {
        call_exists: "exists" as exists(keys: &[Vec<u8>]) -> u64;
        call_delete: "delete" as delete(keys: &[Vec<u8>]) -> u64;
        call_kind_of: "kind-of" as kind_of(key: &[u8]) -> Option<keys::Kind>;
        call_expiry: "expiry" as expiry(key: &[u8]) -> keys::KeyExpiry;
        call_expire_at: "expire-at" as expire_at(key: &[u8], at_ms: u64, when: keys::ExpireWhen) -> bool;
        call_persist: "persist" as persist(key: &[u8]) -> bool;
        call_rename: "rename" as rename(key: &[u8], to: &[u8], keep: bool) -> bool;
        call_copy: "copy" as copy(key: &[u8], to: &[u8], replace: bool) -> bool;
        call_scan: "scan" as scan(cursor: u64, filter: &Filter, kind: Option<keys::Kind>) -> Page;
        call_list_keys: "list-keys" as list_keys(prefix: &[u8], after: Option<&[u8]>, most: u32) -> Blobs;
        call_count: "count" as count() -> u64;
        call_random: "random" as random() -> Option<Vec<u8>>;
        call_flush: "flush" as flush() -> ();
    }

    /// Many operations that take effect together, or not at all.
    batch: Batch by orbweaver_engine_batch "batch", fails with batch::Failure {
        call_run: "run" as run(operations: &[batch::Operation]) -> Vec<batch::Outcome>;
    }
}

//! What was found under a key last: the commands of a pipeline often ask for one key, one after the other, and what is under it is the same
//! until something is written.

use crate::layout::{KeyAt, Kind, Meta};
use crate::store::Keyspace;
use bytes::Bytes;

/// The last search for what is under a key, within a transaction.
#[derive(Debug, Default)]
pub struct LastFound {
    is_on: bool,
    heads: Option<Keyspace>,
    last: Option<Search>,
}

#[derive(Debug)]
struct Search {
    /// Kept, so that nothing else comes to the same place in memory.
    lock_key: Bytes,
    kind: Kind,
    /// That of the transaction at the time, see [`crate::layout::Layout::heads`].
    generation: u64,
    found: Option<Meta>,
}

impl LastFound {
    /// No search so far. `is_worth_it`: a key may well be asked for again. `heads` is what [`crate::layout::Layout::heads`] says.
    #[must_use]
    pub const fn new(is_worth_it: bool, heads: Option<Keyspace>) -> Self {
        Self { is_on: is_worth_it, heads, last: None }
    }

    /// Whether anything is kept.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.is_on
    }

    /// The keyspace that is looked into, where it is only one.
    #[must_use]
    pub const fn heads(&self) -> Option<Keyspace> {
        self.heads
    }

    /// What the search would find, in a transaction of that generation, if it was the last one.
    #[must_use]
    #[inline]
    pub fn get(&self, generation: u64, at: &KeyAt, kind: Kind) -> Option<&Option<Meta>> {
        let last = self.last.as_ref()?;
        // A key that a group names again has the same.
        let is_it = last.generation == generation && last.kind == kind && std::ptr::eq(&*last.lock_key, &**at.lock_key());
        is_it.then_some(&last.found)
    }

    /// Keeps what was found, or what was written and would be.
    #[inline]
    pub fn keep(&mut self, generation: u64, at: &KeyAt, kind: Kind, found: Option<&Meta>) {
        if !self.is_on {
            return;
        }
        match &mut self.last {
            Some(last) if std::ptr::eq(&*last.lock_key, &**at.lock_key()) => {
                (last.kind, last.generation, last.found) = (kind, generation, found.cloned());
            }
            _ => self.last = Some(Search { lock_key: at.lock_key().clone(), kind, generation, found: found.cloned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Body;

    fn meta(text: &'static str) -> Meta {
        Meta { expire_at_ms: None, body: Body::String(Bytes::from_static(text.as_bytes())) }
    }

    #[test]
    fn a_search_is_known_for_the_key_named_again_until_something_is_written() {
        let at = KeyAt::new(1, Bytes::from_static(b"key"));
        let again = at.clone();
        let other = KeyAt::new(1, Bytes::from_static(b"other"));
        let mut last = LastFound::new(true, None);
        assert_eq!(last.get(7, &at, Kind::Set), None);
        last.keep(7, &at, Kind::Set, Some(&meta("a")));
        assert_eq!(last.get(7, &again, Kind::Set), Some(&Some(meta("a"))));
        assert_eq!([last.get(8, &again, Kind::Set), last.get(7, &again, Kind::Hash), last.get(7, &other, Kind::Set)], [None; 3]);
        last.keep(8, &other, Kind::Set, None);
        assert_eq!((last.get(8, &other, Kind::Set), last.get(8, &at, Kind::Set)), (Some(&None), None));
    }

    #[test]
    fn nothing_is_kept_where_no_key_is_named_again() {
        let at = KeyAt::new(1, Bytes::from_static(b"key"));
        let mut last = LastFound::new(false, None);
        last.keep(7, &at, Kind::Set, Some(&meta("a")));
        assert_eq!((last.is_on(), last.get(7, &at, Kind::Set)), (false, None));
    }
}

//! Marks: where commits leave what they have changed, so that others know whether what they hold is of their state.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many commits are changing what is under it, and the number of the last one that has.
#[derive(Debug, Default)]
pub struct Mark {
    changing: AtomicU32,
    last: AtomicU64,
}

impl Mark {
    /// Before a commit writes.
    pub fn begin(&self) {
        self.changing.fetch_add(1, Ordering::SeqCst);
    }

    /// When it has written. The number first: who finds that nobody is changing anything sees it.
    pub fn finish(&self, number: u64) {
        self.last.fetch_max(number, Ordering::SeqCst);
        self.changing.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether what is under the mark is as it was when the last commit was `last`.
    pub fn is_unchanged_since(&self, last: u64) -> bool {
        self.changing.load(Ordering::SeqCst) == 0 && self.last.load(Ordering::SeqCst) <= last
    }
}

/// The marks of one kind, by hashes of names.
#[derive(Debug)]
pub struct Marks(Box<[Mark; Self::COUNT]>);

impl Marks {
    /// How many there are of a kind. Names share them: a change then counts for all that are under the mark, a false alarm at worst.
    pub const COUNT: usize = 4096;

    pub fn new() -> Self {
        Self(Box::new(std::array::from_fn(|_| Mark::default())))
    }

    /// The position of a hash: other bits than those by which hash tables find their places.
    pub fn position(hash: u64) -> usize {
        usize::try_from(hash >> 24 & 0xffff).unwrap_or(0) % Self::COUNT
    }

    /// The mark of a hash.
    #[expect(clippy::indexing_slicing, reason = "positions are below the count")]
    pub fn at(&self, hash: u64) -> &Mark {
        &self.0[Self::position(hash)]
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Mark> {
        self.0.iter()
    }
}

//! Marks: where commits leave what they have changed, so that others know whether what they hold is of their state.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

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

/// By the same positions as [`Marks`]: whether something may be known under a name. Most commits learn from it that there is nothing to do.
#[derive(Debug)]
pub struct Flags(Box<[AtomicBool]>);

impl Flags {
    pub fn new() -> Self {
        Self((0..Marks::COUNT).map(|_| AtomicBool::new(false)).collect())
    }

    pub fn is_raised(&self, hash: u64) -> bool {
        self.0.get(Marks::position(hash)).is_some_and(|flag| flag.load(Ordering::SeqCst))
    }

    pub fn raise(&self, hash: u64) {
        if let Some(flag) = self.0.get(Marks::position(hash)) {
            flag.store(true, Ordering::SeqCst);
        }
    }

    pub fn lower_all(&self) {
        self.0.iter().for_each(|flag| flag.store(false, Ordering::SeqCst));
    }
}

//! Tables of heads in memory: their last values, or that they are deleted.
//!
//! They are waited for as records of the cache are, see [`super::records`]: a write brings many heads, whose entries are found by their hashes
//! alone, then touched all, and then changed.

use super::prefetch::{GROUP, touch};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use smallvec::SmallVec;
use std::hash::BuildHasher as _;

/// A table is written back in so many parts: of a full one, some hundred heads each.
const PARTS: usize = 1024;
/// What an entry takes beside its bytes, about: itself, its share of places that are free, and what the allocator adds.
pub const ENTRY_BYTES: usize = 64;

pub type Part = HashTable<Entry>;

/// What is known of a head.
pub struct Entry {
    hash: u64,
    /// The key, and behind it the value.
    bytes: Box<[u8]>,
    key_length: u32,
    is_deleted: bool,
}

impl Entry {
    fn new(hash: u64, (key, value): Head<'_>) -> Self {
        let bytes = [key, value.unwrap_or_default()].concat().into_boxed_slice();
        // No key is longer: the store's limit is far below.
        let key_length = u32::try_from(key.len()).unwrap_or(u32::MAX);
        Self { hash, bytes, key_length, is_deleted: value.is_none() }
    }

    fn value_at(&self) -> usize {
        usize::try_from(self.key_length).unwrap_or(usize::MAX)
    }

    fn head(&self) -> Head<'_> {
        // It is never longer than the bytes.
        let (key, value) = self.bytes.split_at_checked(self.value_at()).unwrap_or_default();
        (key, (!self.is_deleted).then_some(value))
    }

    fn is_of(&self, hash: u64, key: &[u8]) -> bool {
        self.hash == hash && self.head().0 == key
    }

    /// The memory that it takes, in bytes.
    const fn weight(&self) -> usize {
        ENTRY_BYTES + self.bytes.len()
    }

    /// Gives the head another value.
    fn replace(&mut self, head: Head<'_>) {
        let new = head.1.unwrap_or_default();
        let value_at = self.value_at();
        match self.bytes.get_mut(value_at..) {
            Some(old) if old.len() == new.len() => {
                old.copy_from_slice(new);
                self.is_deleted = head.1.is_none();
            }
            _ => *self = Self::new(self.hash, head),
        }
    }
}

/// A table, in parts by the hashes of keys.
#[derive(Default)]
struct Table {
    /// None in a table that holds nothing and is not to.
    parts: Vec<Part>,
    bytes: usize,
    entries: usize,
    /// Also those of heads that it held.
    puts: usize,
}

impl Table {
    fn new() -> Self {
        Self { parts: (0..PARTS).map(|_| Part::new()).collect(), ..Self::default() }
    }

    fn find(&self, hash: u64, key: &[u8]) -> Option<&Entry> {
        self.parts.get(part_of(hash))?.find(hash, |entry| entry.is_of(hash, key))
    }

    /// Has the processor fetch the entries of these hashes.
    fn touch(&self, hashes: impl Iterator<Item = u64>) {
        let by_hash = |hash| self.parts.get(part_of(hash))?.find(hash, |entry| entry.hash == hash);
        let known: SmallVec<[&Entry; GROUP]> = hashes.filter_map(by_hash).collect();
        known.iter().for_each(|entry| touch(&entry.bytes));
    }

    fn put(&mut self, hash: u64, head: Head<'_>) {
        let Some(part) = self.parts.get_mut(part_of(hash)) else { return };
        self.puts += 1;
        if let Some(entry) = part.find_mut(hash, |entry| entry.is_of(hash, head.0)) {
            self.bytes = self.bytes.saturating_sub(entry.weight());
            entry.replace(head);
            self.bytes += entry.weight();
        } else {
            let entry = Entry::new(hash, head);
            self.bytes += entry.weight();
            self.entries += 1;
            part.insert_unique(hash, entry, |entry| entry.hash);
        }
    }
}

/// A head, and its value; `None` where it is deleted.
pub type Head<'t> = (&'t [u8], Option<&'t [u8]>);

/// The table that is filled, and the one that is written back.
pub struct Tables {
    filled: Table,
    written: Table,
    hasher: RandomState,
}

impl Default for Tables {
    fn default() -> Self {
        Self { filled: Table::new(), written: Table::default(), hasher: RandomState::default() }
    }
}

impl Tables {
    /// The last value of a head; `None` where that is in its keyspace.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let hash = self.hasher.hash_one(key);
        let found = [&self.filled, &self.written].into_iter().find_map(|table| table.find(hash, key));
        found.map(|entry| entry.head().1)
    }

    /// Puts heads into the table that is filled, in their order.
    pub fn put<'h>(&mut self, heads: impl IntoIterator<Item = Head<'h>>) {
        let mut heads = heads.into_iter().map(|head| (self.hasher.hash_one(head.0), head));
        loop {
            let group: SmallVec<[_; GROUP]> = heads.by_ref().take(GROUP).collect();
            if group.is_empty() {
                return;
            }
            self.filled.touch(group.iter().map(|(hash, _)| *hash));
            group.into_iter().for_each(|(hash, head)| self.filled.put(hash, head));
        }
    }

    /// The memory that the table which is filled takes, in bytes.
    pub const fn bytes(&self) -> usize {
        self.filled.bytes
    }

    /// Whether the table which is filled has hardly spared puts.
    pub const fn spares_little(&self) -> bool {
        spares_little(self.filled.entries, self.filled.puts)
    }

    /// The table that is filled is written back from here on, and another one is filled. To be called when all of the last is written.
    pub fn swap(&mut self) {
        self.written = std::mem::replace(&mut self.filled, Table::new());
    }

    /// How many parts of the table that is written back are left.
    pub const fn parts_left(&self) -> usize {
        self.written.parts.len()
    }

    /// The parts that are next, as many as take so much memory and one at least: how many parts, and their heads in order, without those
    /// that the table which is filled has, too.
    pub fn next_parts(&self, bytes: usize) -> (usize, Vec<Head<'_>>) {
        let (mut parts, mut met, mut next) = (0, 0, Vec::new());
        for part in self.written.parts.iter().rev() {
            if parts > 0 && met >= bytes {
                break;
            }
            parts += 1;
            met += part.iter().map(Entry::weight).sum::<usize>();
            let is_newest = |entry: &&Entry| self.filled.find(entry.hash, entry.head().0).is_none();
            next.extend(part.iter().filter(is_newest).map(Entry::head));
        }
        next.sort_unstable();
        (parts, next)
    }

    /// Takes the parts that were next: they are written. For the caller to drop, when nobody waits for the tables any more.
    pub fn take_parts(&mut self, parts: usize) -> Vec<Part> {
        self.written.parts.split_off(self.written.parts.len().saturating_sub(parts))
    }

    /// All heads, in order.
    pub fn all(&self) -> Vec<Head<'_>> {
        let (_, mut all) = self.next_parts(usize::MAX);
        all.extend(self.filled.parts.iter().flatten().map(Entry::head));
        all.sort_unstable();
        all
    }
}

/// Whether a table that holds so many heads, and was given so many, has hardly spared puts: three of four it did not hold.
pub const fn spares_little(entries: usize, puts: usize) -> bool {
    entries.saturating_mul(4) > puts.saturating_mul(3)
}

fn part_of(hash: u64) -> usize {
    // The low bits are those of the place within the part.
    usize::try_from(hash >> 40).unwrap_or(0) % PARTS
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn key(number: usize) -> Vec<u8> {
        format!("head {number}").into_bytes()
    }

    #[test]
    fn the_last_value_is_told_from_whichever_table_has_it_and_is_written_back_once() {
        let (mut tables, mut model, mut stored) = (Tables::default(), BTreeMap::new(), BTreeMap::new());
        for round in 0..20_usize {
            for number in (round..1000).step_by(round + 1) {
                let value = (number % 7 > 0).then(|| vec![b'v'; (number + round) % 5]);
                tables.put([(&key(number)[..], value.as_deref())]);
                model.insert(key(number), value);
            }
            if tables.parts_left() == 0 {
                tables.swap();
            }
            let (parts, heads) = tables.next_parts(30_000);
            assert!(heads.len() <= 30_000 / ENTRY_BYTES, "a part has one or two heads");
            assert!(parts > 0 && heads.is_sorted());
            stored.extend(heads.into_iter().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))));
            drop(tables.take_parts(parts));
            for (key, value) in &model {
                let told = tables.get(key).map(|value| value.map(<[u8]>::to_vec));
                assert_eq!(&told.unwrap_or_else(|| stored.get(key).unwrap().clone()), value, "round {round}");
            }
        }
        stored.extend(tables.all().into_iter().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))));
        assert_eq!(stored, model);
    }

    #[test]
    fn a_table_knows_its_memory_and_whether_it_spares_puts() {
        let mut tables = Tables::default();
        tables.put([(&b"key"[..], Some(&b"value"[..]))]);
        assert_eq!((tables.bytes(), tables.spares_little()), (ENTRY_BYTES + 8, true));
        tables.put([(&b"key"[..], Some(&b"longer value"[..]))]);
        assert_eq!((tables.bytes(), tables.spares_little()), (ENTRY_BYTES + 15, false));
        tables.put([(&b"key"[..], None)]);
        assert_eq!((tables.bytes(), tables.get(b"key")), (ENTRY_BYTES + 3, Some(None)));
        tables.put([(&b"key"[..], Some(&b"again"[..]))]);
        assert_eq!((tables.bytes(), tables.get(b"key")), (ENTRY_BYTES + 8, Some(Some(&b"again"[..]))));
        tables.swap();
        assert_eq!((tables.bytes(), tables.get(b"key")), (0, Some(Some(&b"again"[..]))));
    }
}

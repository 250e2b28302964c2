//! Tables of heads in memory: their last values, or that they are deleted.

use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::hash::BuildHasher as _;

/// A table is written back in so many parts: of a full one, some hundred heads each.
const PARTS: usize = 1024;
/// What an entry takes beside its bytes: its place, and what the allocator adds to two of its own.
pub const ENTRY_BYTES: usize = 80;

pub type Part = HashMap<Box<[u8]>, Option<Box<[u8]>>, RandomState>;

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
        Self { parts: (0..PARTS).map(|_| Part::default()).collect(), ..Self::default() }
    }

    fn put(&mut self, part: usize, key: &[u8], value: Option<&[u8]>) {
        let Some(part) = self.parts.get_mut(part) else { return };
        self.puts += 1;
        let length = value.map_or(0, <[u8]>::len);
        match (part.get_mut(key), value) {
            (Some(Some(old)), Some(new)) if old.len() == new.len() => old.copy_from_slice(new),
            (Some(old), _) => {
                self.bytes = self.bytes.saturating_sub(old.as_ref().map_or(0, |old| old.len())) + length;
                *old = value.map(Box::from);
            }
            (None, _) => {
                self.bytes += bytes_of(key, length);
                self.entries += 1;
                part.insert(key.into(), value.map(Box::from));
            }
        }
    }
}

/// The memory that an entry takes, in bytes.
const fn bytes_of(key: &[u8], value_bytes: usize) -> usize {
    ENTRY_BYTES + key.len() + value_bytes
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
        let part = self.part(key);
        let found = [&self.filled, &self.written].into_iter().find_map(|table| table.parts.get(part)?.get(key));
        found.map(Option::as_deref)
    }

    /// Puts a head into the table that is filled.
    pub fn put(&mut self, key: &[u8], value: Option<&[u8]>) {
        let part = self.part(key);
        self.filled.put(part, key, value);
    }

    /// The memory that the table which is filled takes, in bytes.
    pub const fn bytes(&self) -> usize {
        self.filled.bytes
    }

    /// Whether the table which is filled has hardly spared puts: three of four heads that it was given it did not hold.
    pub const fn spares_little(&self) -> bool {
        self.filled.entries.saturating_mul(4) > self.filled.puts.saturating_mul(3)
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
        for (position, part) in self.written.parts.iter().enumerate().rev() {
            if parts > 0 && met >= bytes {
                break;
            }
            parts += 1;
            met += part.iter().map(head).map(|(key, value)| bytes_of(key, value.map_or(0, <[u8]>::len))).sum::<usize>();
            let newer = self.filled.parts.get(position);
            next.extend(part.iter().map(head).filter(|(key, _)| newer.is_none_or(|newer| !newer.contains_key(*key))));
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
        all.extend(self.filled.parts.iter().flatten().map(head));
        all.sort_unstable();
        all
    }

    fn part(&self, key: &[u8]) -> usize {
        // The low bits are those of the place within the part.
        usize::try_from(self.hasher.hash_one(key) >> 40).unwrap_or(0) % PARTS
    }
}

fn head<'t, B: AsRef<[u8]>>((key, value): (&'t B, &'t Option<B>)) -> Head<'t> {
    (key.as_ref(), value.as_ref().map(B::as_ref))
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
                tables.put(&key(number), value.as_deref());
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
        tables.put(b"key", Some(b"value"));
        assert_eq!((tables.bytes(), tables.spares_little()), (ENTRY_BYTES + 8, true));
        tables.put(b"key", Some(b"longer value"));
        assert_eq!((tables.bytes(), tables.spares_little()), (ENTRY_BYTES + 15, false));
        tables.put(b"key", None);
        assert_eq!((tables.bytes(), tables.get(b"key")), (ENTRY_BYTES + 3, Some(None)));
        tables.put(b"key", Some(b"again"));
        assert_eq!((tables.bytes(), tables.get(b"key")), (ENTRY_BYTES + 8, Some(Some(&b"again"[..]))));
        tables.swap();
        assert_eq!((tables.bytes(), tables.get(b"key")), (0, Some(Some(&b"again"[..]))));
    }
}

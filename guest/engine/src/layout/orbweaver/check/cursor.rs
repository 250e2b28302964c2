//! Where a check goes on: opaque to its callers, and written as bytes between two steps.

use crate::codec::{Flaw, Reader, read_cursor};
use crate::error::Result;
use bytes::{BufMut, Bytes};

/// The keyspaces in the order in which they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    System,
    Meta,
    Data,
    Score,
    Rank,
    Expiry,
    FieldExpiry,
    Garbage,
}

const PHASES: [Phase; 8] =
    [Phase::System, Phase::Meta, Phase::Data, Phase::Score, Phase::Rank, Phase::Expiry, Phase::FieldExpiry, Phase::Garbage];

impl Phase {
    pub fn next(self) -> Option<Self> {
        let own = PHASES.iter().position(|phase| *phase == self)?;
        PHASES.get(own + 1).copied()
    }
}

/// What is verified of a collection, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its records in `data`.
    Data,
    /// Those of its other keyspace: scores, or expiries of fields.
    Second,
    /// The tree that tells its ranks.
    Tree,
}

const PARTS: [Part; 3] = [Part::Data, Part::Second, Part::Tree];

/// A position within a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    pub version: u64,
    /// What is under way.
    pub part: Part,
    /// How many records of the part were counted so far; of a tree, none.
    pub counted: u64,
    /// First record to look at; empty: the first of the part.
    pub next: Vec<u8>,
}

/// A version that owns records, and how many meta records have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub version: u64,
    pub owners: u8,
}

/// A position in a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub phase: Phase,
    /// First record to look at; in the phases `Data`, `Score` and `Rank` the first one behind the window.
    pub next: Vec<u8>,
    /// Phase `Meta`: the collection of the record `next` is under way.
    pub within: Option<Within>,
    /// Phases `Data`, `Score` and `Rank`: the window's versions, ascending.
    pub window: Vec<Candidate>,
    /// Phases `Data`, `Score` and `Rank`: the window is complete; first meta record to look at.
    pub next_meta: Option<Vec<u8>>,
}

impl Cursor {
    /// The beginning of a phase.
    pub const fn at(phase: Phase) -> Self {
        Self { phase, next: Vec::new(), within: None, window: Vec::new(), next_meta: None }
    }

    /// `phase | next | has within [version u64 | part | counted u64 | next] | has next meta [next] | (version u64 | owners)*`;
    /// keys have their length (u32) before them.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.put_u8(place_of(&PHASES, &self.phase));
        put_key(&mut bytes, &self.next);
        bytes.put_u8(u8::from(self.within.is_some()));
        if let Some(within) = &self.within {
            bytes.put_u64(within.version);
            bytes.put_u8(place_of(&PARTS, &within.part));
            bytes.put_u64(within.counted);
            put_key(&mut bytes, &within.next);
        }
        bytes.put_u8(u8::from(self.next_meta.is_some()));
        if let Some(next) = &self.next_meta {
            put_key(&mut bytes, next);
        }
        for candidate in &self.window {
            bytes.put_u64(candidate.version);
            bytes.put_u8(candidate.owners);
        }
        bytes
    }

    /// The inverse of [`Cursor::encode`]; the beginning where there are no bytes.
    ///
    /// # Errors
    /// A client's mistake where the bytes are no cursor.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        read_cursor(bytes, Self::at(Phase::System), Self::read)
    }

    fn read(bytes: &Bytes) -> std::result::Result<Self, Flaw> {
        const SHORT: &str = "a cursor is cut short";
        let mut reader = Reader::new(bytes);
        let phase = PHASES.get(usize::from(reader.u8(SHORT)?)).ok_or(reader.flaw("an unknown phase"))?;
        let mut cursor = Self::at(*phase);
        cursor.next = reader.bytes(SHORT)?.to_vec();
        if reader.u8(SHORT)? != 0 {
            let version = reader.u64(SHORT)?;
            let part = *PARTS.get(usize::from(reader.u8(SHORT)?)).ok_or(reader.flaw("an unknown part"))?;
            cursor.within = Some(Within { version, part, counted: reader.u64(SHORT)?, next: reader.bytes(SHORT)?.to_vec() });
        }
        if reader.u8(SHORT)? != 0 {
            cursor.next_meta = Some(reader.bytes(SHORT)?.to_vec());
        }
        let rest = reader.rest();
        for piece in rest.chunks(9) {
            let piece = rest.slice_ref(piece);
            let mut reader = Reader::new(&piece);
            cursor.window.push(Candidate { version: reader.u64(SHORT)?, owners: reader.u8(SHORT)? });
        }
        Ok(cursor)
    }
}

/// The number of one of few things.
fn place_of<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().position(|other| other == one).and_then(|place| u8::try_from(place).ok()).unwrap_or(0)
}

fn put_key(bytes: &mut Vec<u8>, key: &[u8]) {
    bytes.put_u32(u32::try_from(key.len()).unwrap_or(u32::MAX));
    bytes.put_slice(key);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_from_its_bytes() {
        let mut cursor = Cursor::at(Phase::Meta);
        cursor.next = b"key".to_vec();
        cursor.within = Some(Within { version: 7, part: Part::Second, counted: 300, next: b"sub".to_vec() });
        assert_eq!(Cursor::decode(&cursor.encode()), Ok(cursor));
        let mut cursor = Cursor::at(Phase::Score);
        cursor.next_meta = Some(Vec::new());
        cursor.window = vec![Candidate { version: 1, owners: 0 }, Candidate { version: u64::MAX, owners: 2 }];
        assert_eq!(Cursor::decode(&cursor.encode()), Ok(cursor));
        assert_eq!(Cursor::decode(b""), Ok(Cursor::at(Phase::System)));
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        let whole = Cursor { window: vec![Candidate { version: 1, owners: 0 }], ..Cursor::at(Phase::Data) }.encode();
        for cut in 1..whole.len() {
            let refused = Cursor::decode(&whole[..cut]).is_err();
            // Without its last candidate it is another cursor.
            assert_eq!(refused, cut != whole.len() - 9, "{cut}");
        }
        assert!(Cursor::decode(&[9]).is_err());
    }
}

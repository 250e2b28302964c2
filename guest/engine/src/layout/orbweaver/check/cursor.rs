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
    Expiry,
    FieldExpiry,
    Garbage,
}

const PHASES: [Phase; 7] = [Phase::System, Phase::Meta, Phase::Data, Phase::Score, Phase::Expiry, Phase::FieldExpiry, Phase::Garbage];

impl Phase {
    pub fn next(self) -> Option<Self> {
        let own = PHASES.iter().position(|phase| *phase == self)?;
        PHASES.get(own + 1).copied()
    }
}

/// A position within a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    pub version: u64,
    /// Its data records are done, those of its other keyspace are under way: scores, or expiries of fields.
    pub in_second: bool,
    /// How many records of the keyspace were counted so far.
    pub counted: u64,
    /// First record to look at; empty: the first of the collection.
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
    /// First record to look at; in the phases `Data` and `Score` the first one behind the window.
    pub next: Vec<u8>,
    /// Phase `Meta`: the collection of the record `next` is under way.
    pub within: Option<Within>,
    /// Phases `Data` and `Score`: the window's versions, ascending.
    pub window: Vec<Candidate>,
    /// Phases `Data` and `Score`: the window is complete; first meta record to look at.
    pub next_meta: Option<Vec<u8>>,
}

impl Cursor {
    /// The beginning of a phase.
    pub const fn at(phase: Phase) -> Self {
        Self { phase, next: Vec::new(), within: None, window: Vec::new(), next_meta: None }
    }

    /// `phase | next | has within [version u64 | in second | counted u64 | next] | has next meta [next] | (version u64 | owners)*`;
    /// keys have their length (u32) before them.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let phase = PHASES.iter().position(|phase| *phase == self.phase);
        bytes.put_u8(phase.and_then(|phase| u8::try_from(phase).ok()).unwrap_or(0));
        put_key(&mut bytes, &self.next);
        bytes.put_u8(u8::from(self.within.is_some()));
        if let Some(within) = &self.within {
            bytes.put_u64(within.version);
            bytes.put_u8(u8::from(within.in_second));
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
            let (version, in_second, counted) = (reader.u64(SHORT)?, reader.u8(SHORT)? != 0, reader.u64(SHORT)?);
            cursor.within = Some(Within { version, in_second, counted, next: reader.bytes(SHORT)?.to_vec() });
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
        cursor.within = Some(Within { version: 7, in_second: true, counted: 300, next: b"sub".to_vec() });
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

//! Inspection: the records of a key, taken apart by the layout for people to look at.

use super::Workspace;
use crate::codec::{Flaw, Reader, read_cursor};
use crate::error::{Error, Result, texts};
use crate::layout::anatomy::Anatomy;
use crate::layout::{KeyAt, namespaces};
use crate::session::Engine;
use crate::store::{Direction, Scope};
use crate::transaction::Scan;
use bytes::{BufMut, Bytes};

/// A step ends behind a record with which it holds this many bytes of keys and values.
const MAX_BYTES: usize = 1 << 20;

impl Engine {
    /// The records of a key in a db, about `budget` of them: its meta record first, an expired or damaged one too, then all that belongs to it
    /// ([`crate::layout::Layout::records_of`]). None where there is no such key. Begin with an empty cursor; it is moved on, and empty again
    /// behind the last record. On a database that changes between two calls, records may be missing or come twice.
    ///
    /// # Errors
    /// Store errors; a client's mistake where the db number is above the configured limit or the cursor is none of this function's. What is
    /// wrong with a record is shown, not an error.
    pub fn inspect(&mut self, db: usize, key: &[u8], cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Anatomy>> {
        let start = Cursor::decode(cursor)?;
        let key = Bytes::copy_from_slice(key);
        let (found, next) = self.transact(
            |_| Ok(Scope::Read),
            |workspace| {
                let space = *workspace.catalog.spaces.get(db).ok_or(texts::DB_OUT_OF_RANGE)?;
                records_of(workspace, &KeyAt::new(space, key.clone()), start.clone(), budget.max(1))
            },
        )?;
        *cursor = next.map(|next| next.encode()).unwrap_or_default();
        Ok(found)
    }

    /// Takes one record apart, wherever it came from: a keyspace's name, a key and a value. What cannot be read is shown as such.
    #[must_use]
    pub fn describe(&self, keyspace: &str, key: &[u8], value: &[u8]) -> Anatomy {
        self.layout.describe(keyspace, key, value, None)
    }
}

/// Where an inspection goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cursor {
    /// Position of the range under way.
    position: u32,
    /// Where that range begins: another one stands there when the key has been replaced meanwhile.
    start: Bytes,
    /// The last key of the range that was shown.
    last: Option<Bytes>,
}

impl Cursor {
    /// `position u32 | length of start u32 | start | has last | last`.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.put_u32(self.position);
        bytes.put_u32(u32::try_from(self.start.len()).unwrap_or(u32::MAX));
        bytes.put_slice(&self.start);
        bytes.put_u8(u8::from(self.last.is_some()));
        bytes.put_slice(self.last.as_deref().unwrap_or_default());
        bytes
    }

    /// The inverse of [`Cursor::encode`]; the beginning where there are no bytes.
    fn decode(bytes: &[u8]) -> Result<Self> {
        read_cursor(bytes, Self::default(), Self::read)
    }

    fn read(bytes: &Bytes) -> std::result::Result<Self, Flaw> {
        let mut reader = Reader::new(bytes);
        let position = reader.u32("a position is cut short")?;
        let start = reader.bytes("the start of a range is cut short")?;
        let has_last = reader.u8("a cursor is cut short")? != 0;
        Ok(Self { position, start, last: has_last.then(|| reader.rest()) })
    }
}

/// The records from a cursor on, and where to go on.
fn records_of(workspace: &mut Workspace<'_, '_>, at: &KeyAt, mut cursor: Cursor, budget: usize) -> Result<(Vec<Anatomy>, Option<Cursor>)> {
    let Workspace { transaction, layout, .. } = workspace;
    let mut metas = Vec::new();
    for &kind in namespaces(*layout) {
        match layout.find(transaction, at, kind) {
            // The record that cannot be read is shown as it is.
            Err(Error::Corrupt(_)) => {}
            found => metas.extend(found?),
        }
    }
    let kind = if let [meta] = metas.as_slice() { Some(meta.kind()) } else { None };
    let (mut found, mut bytes) = (Vec::new(), 0);
    let first = usize::try_from(cursor.position).unwrap_or(usize::MAX);
    for (keyspace, mut range) in layout.records_of(at, &metas).into_iter().skip(first) {
        match cursor.last.take().filter(|_| cursor.start == range.start) {
            Some(last) => (range.start, range.after_start) = (last.to_vec(), true),
            None => cursor.start = Bytes::copy_from_slice(&range.start),
        }
        let mut scan = Scan::new(keyspace, range, Direction::Forward, budget.saturating_sub(found.len()));
        while let Some((key, value)) = transaction.next(&mut scan)? {
            found.push(layout.describe(layout.keyspace_name(keyspace), &key, &value, kind));
            bytes += key.len() + value.len();
            if found.len() >= budget || bytes >= MAX_BYTES {
                cursor.last = Some(key);
                return Ok((found, Some(cursor)));
            }
        }
        cursor = Cursor { position: cursor.position.saturating_add(1), ..Cursor::default() };
    }
    Ok((found, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_anything_else_refused() {
        for last in [None, Some(""), Some("\0k")] {
            let cursor = Cursor { position: 3, start: "start".into(), last: last.map(Bytes::from) };
            assert_eq!(Cursor::decode(&cursor.encode()).unwrap(), cursor);
        }
        assert_eq!(Cursor::decode(b"").unwrap(), Cursor::default());
        for bytes in [b"\0".as_slice(), b"\0\0\0\x01", b"\0\0\0\x01\0\0\0\x02s", b"\0\0\0\x01\0\0\0\x01s"] {
            assert!(Cursor::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}

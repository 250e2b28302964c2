//! The check of versions: every record of `data`, `score` and `rank` belongs to a key or is garbage.
//!
//! No record leads from a version to its key. So the versions that own records are taken in windows: [`WINDOW`] at a time, found
//! by leaping from version to version; those that are garbage are left out; then one walk over all meta records tells which of
//! the others are in use. A check so costs one such walk for each [`WINDOW`] collections, and never holds more of them.

use super::cursor::{Candidate, Cursor};
use super::{Step, after};
use crate::codec::Reader;
use crate::error::Result;
use crate::layout::orbweaver::{keyspace, records};
use crate::layout::{Kind, Meta};
use crate::store::{Direction, KeyRange, Keyspace, prefix_end};
use bytes::Bytes;

/// Most versions of a window: nine bytes each, also in the cursor.
pub const WINDOW: usize = 1 << 16;

impl Step<'_, '_, '_> {
    /// Verifies that the records of a keyspace have owners. True once all is done.
    pub(super) fn owners(&mut self, cursor: &mut Cursor, keyspace: Keyspace, name: &'static str) -> Result<bool> {
        if cursor.next_meta.is_none() {
            if !self.gather(cursor, keyspace, name)? {
                return Ok(false);
            }
            if cursor.window.is_empty() {
                return Ok(true);
            }
            cursor.next_meta = Some(Vec::new());
        }
        if !self.count_owners(cursor, name)? {
            return Ok(false);
        }
        for candidate in std::mem::take(&mut cursor.window) {
            self.report(candidate, keyspace, name)?;
        }
        cursor.next_meta = None;
        Ok(false)
    }

    /// Fills the window. True once it is full or the keyspace is at its end.
    fn gather(&mut self, cursor: &mut Cursor, keyspace: Keyspace, name: &'static str) -> Result<bool> {
        while cursor.window.len() < WINDOW {
            if self.left == 0 {
                return Ok(false);
            }
            let rest = KeyRange { start: cursor.next.clone(), after_start: false, end: None };
            let Some((key, _)) = self.transaction.first(keyspace, rest, Direction::Forward)? else { return Ok(true) };
            self.looked_at_one();
            match Reader::new(&key).u64("a version is cut short") {
                Ok(version) => {
                    if !self.is_garbage(version)? {
                        cursor.window.push(Candidate { version, owners: 0 });
                    }
                    // The highest version of all has nothing behind it but its own records.
                    cursor.next = prefix_end(&version.to_be_bytes()).unwrap_or_else(|| after(&key));
                }
                Err(flaw) => {
                    self.find_flaw(name, &key, flaw);
                    cursor.next = after(&key);
                }
            }
        }
        Ok(true)
    }

    /// Counts which meta records have the window's versions. True once all meta records have been looked at.
    fn count_owners(&mut self, cursor: &mut Cursor, name: &'static str) -> Result<bool> {
        let mut scan = self.scan(self.layout.meta, cursor.next_meta.as_deref().unwrap_or_default(), None);
        while self.left > 0 {
            let Some((key, value)) = self.transaction.next(&mut scan)? else { return Ok(true) };
            self.looked_at_one();
            cursor.next_meta = Some(after(&key));
            let collection = records::decode_meta(&value).ok().as_ref().and_then(Meta::collection);
            // What is packed has no records but those in its head.
            let owner = collection.filter(|collection| !collection.is_packed).filter(|collection| match name {
                keyspace::DATA => true,
                keyspace::RANK => collection.rank_levels > 0,
                _ => collection.kind == Kind::SortedSet,
            });
            let position = owner.and_then(|owner| cursor.window.binary_search_by_key(&owner.version, |candidate| candidate.version).ok());
            if let Some(candidate) = position.and_then(|position| cursor.window.get_mut(position)) {
                candidate.owners = candidate.owners.saturating_add(1);
            }
        }
        Ok(false)
    }

    fn report(&mut self, candidate: Candidate, keyspace: Keyspace, name: &'static str) -> Result<()> {
        let Candidate { version, owners } = candidate;
        if owners == 1 {
            return Ok(());
        }
        // It may have been removed and swept since the window was filled.
        // Up to the end of the keyspace: what lies in the version's head, if it is packed, is not meant.
        let rest = KeyRange { start: version.to_be_bytes().to_vec(), after_start: false, end: None };
        let first = self.transaction.first(keyspace, rest, Direction::Forward)?;
        let Some((key, _)) = first.filter(|(key, _)| key.starts_with(&version.to_be_bytes())) else { return Ok(()) };
        if owners > 1 {
            self.find(name, &Bytes::copy_from_slice(&version.to_be_bytes()), format!("version {version} belongs to {owners} keys"));
        } else if !self.is_garbage(version)? {
            self.find(name, &key, format!("version {version} belongs to no key and is not garbage"));
        }
        Ok(())
    }
}

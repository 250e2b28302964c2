//! What the sweep finds dead: expired keys, elements of removed collections, and the meta records that those leave, once they have no
//! element left that a new collection might take for its own.

use super::records::{self, Tag, Trailer};
use super::{Nemo, corrupt, database::Database, keyspace, next};
use crate::error::Result;
use crate::layout::pass::{Dead, Judge};
use crate::layout::records::Record;
use crate::layout::{KeyAt, Kind, Layout};
use crate::store::{Direction, KeyRange, Keyspace};
use crate::transaction::Transaction;

impl Judge for Nemo {
    fn keyspaces(&self) -> Vec<Keyspace> {
        Nemo::keyspaces(self).collect()
    }

    fn judge(&self, transaction: &mut Transaction<'_>, record: &Record, now_ms: u64) -> Result<Option<Dead>> {
        let Some(database) = self.database_at(record.keyspace) else {
            let (_, trailer) = Trailer::split(&record.value).map_err(|flaw| corrupt(keyspace::KV, &record.key, flaw))?;
            let dead = || Dead { owner: KeyAt::new(super::SPACE, record.key.clone()), is_expired_key: true };
            return Ok(self.is_past(trailer, now_ms).then(dead));
        };
        let flaw = |flaw| corrupt(database.name(), &record.key, flaw);
        match Part::of(database, record) {
            Part::Meta => {
                let owner = KeyAt::new(super::SPACE, records::decode_meta_key(database.tag(), &record.key).map_err(flaw)?);
                let head = records::decode_meta(database.kind, &record.value).map_err(flaw)?;
                let is_past = self.is_past(head.trailer, now_ms);
                let is_expired_key = head.count > 0 && is_past;
                let is_left = head.count == 0 && (head.trailer.timestamp == 0 || is_past);
                let is_dead = is_expired_key || is_left && !database.has_elements(transaction, &owner)?;
                Ok(is_dead.then_some(Dead { owner, is_expired_key }))
            }
            Part::Element(tag) => {
                let (user_key, _) = records::decode_sub_key(tag, &record.key).map_err(flaw)?;
                let (_, trailer) = Trailer::split(&record.value).map_err(flaw)?;
                let owner = KeyAt::new(super::SPACE, user_key);
                let is_dead = match database.head(transaction, &owner)? {
                    None => true,
                    Some(head) if self.is_past(head.trailer, now_ms) => true,
                    // The note that a collection is being written.
                    Some(head) if head.count == 0 && head.trailer.timestamp != 0 => false,
                    Some(head) => head.count == 0 || trailer.version < head.trailer.version,
                };
                Ok(is_dead.then_some(Dead { owner, is_expired_key: false }))
            }
            Part::Separator | Part::Unknown => Ok(None),
        }
    }

    fn remove(&self, transaction: &mut Transaction<'_>, record: &Record) -> Result<()> {
        if let Some(database) = self.database_at(record.keyspace)
            && Part::of(database, record) == Part::Meta
            && let Ok(head) = records::decode_meta(database.kind, &record.value)
            && head.count > 0
        {
            // The elements are behind it, and go before it does.
            let head = self.dead(database, Trailer { version: next(head.trailer.version)?, timestamp: 0 });
            return Ok(transaction.put(record.keyspace, record.key.clone(), records::encode_meta(&head))?);
        }
        Ok(transaction.delete(record.keyspace, record.key.clone())?)
    }
}

impl Nemo {
    fn is_past(&self, trailer: Trailer, now_ms: u64) -> bool {
        trailer.expire_at_ms().is_some_and(|at_ms| self.expiry_rules().is_past(at_ms, now_ms))
    }
}

impl Database {
    /// Whether there is any record of an element, living or dead.
    fn has_elements(self, transaction: &mut Transaction<'_>, at: &KeyAt) -> Result<bool> {
        for tag in Tag::of_kind(self.kind) {
            let range = KeyRange::prefix(&records::encode_prefix(*tag, &at.key));
            if transaction.first(self.keyspace, range, Direction::Forward)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What a record of a database of collections is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Meta,
    Element(Tag),
    Separator,
    Unknown,
}

impl Part {
    pub fn of(database: Database, record: &Record) -> Self {
        Self::of_key(database.kind, &record.key)
    }

    pub fn of_key(kind: Kind, key: &[u8]) -> Self {
        let tag = |byte: u8| Tag::of_kind(kind).iter().find(|tag| tag.byte() == byte);
        match key {
            [byte] if tag(*byte).is_some() => Self::Separator,
            [byte, ..] if Some(*byte) == records::meta_tag(kind) => Self::Meta,
            [byte, ..] => tag(*byte).map_or(Self::Unknown, |tag| Self::Element(*tag)),
            [] => Self::Unknown,
        }
    }
}

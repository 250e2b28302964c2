//! The check: every row decoded, fields and members counted against heads that count, members' rows and score rows against each
//! other. Rows of other key versions, and score rows of earlier scores, are garbage that the original leaves, and no finding.

use super::members::SortedSet;
use super::records::{self, KeyMeta, Row, Tag};
use super::redis::{self, Place};
use super::{Camellia, SPACE, keyspace, members};
use crate::codec::Flaw;
use crate::error::{Error, Result};
use crate::layout::pass::{Tally, Visitor, visit};
use crate::layout::records::Record;
use crate::layout::{Collection, Finding, KeyAt, Kind, Layout};
use crate::store::{Direction, KeyRange, Keyspace};
use crate::transaction::Transaction;
use bytes::Bytes;

impl Camellia {
    pub(super) fn check_step(&self, transaction: &mut Transaction<'_>, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>> {
        let mut check = Check { layout: self, findings: Vec::new() };
        visit(transaction, &[self.kv, self.redis], cursor, budget, &mut check)?;
        Ok(check.findings)
    }
}

struct Check<'l> {
    layout: &'l Camellia,
    findings: Vec<Finding>,
}

impl Visitor for Check<'_> {
    fn record(&mut self, transaction: &mut Transaction<'_>, record: &Record, tally: &mut Tally) -> Result<()> {
        if record.keyspace == self.layout.redis {
            return self.redis_row(transaction, record);
        }
        let row = match self.layout.rows.decode(&record.key) {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(()),
            Err(flaw) => {
                self.find(&record.key, flaw.what);
                return Ok(());
            }
        };
        let at = KeyAt::new(SPACE, row.user_key.clone());
        if row.tag == Tag::Meta {
            return self.meta_row(transaction, record, &at);
        }
        let Some(collection) = self.owner(transaction, &at, row.version)? else { return Ok(()) };
        if row.tag == Tag::Sub {
            self.count(transaction, &row, tally)?;
        }
        self.sub_row(transaction, record, &row, &at, &collection)
    }

    fn end(&mut self, transaction: &mut Transaction<'_>, _keyspace: Keyspace, tally: &Tally) -> Result<()> {
        self.counted(transaction, tally)
    }
}

impl Check<'_> {
    fn find(&mut self, key: &Bytes, what: impl Into<String>) {
        self.findings.push(Finding { keyspace: keyspace::KV, key: key.clone(), what: what.into() });
    }

    fn find_in_redis(&mut self, key: &Bytes, what: impl Into<String>) {
        self.findings.push(Finding { keyspace: keyspace::REDIS, key: key.clone(), what: what.into() });
    }

    /// The collection of that version, where there is one under the key that can be read.
    fn owner(&self, transaction: &mut Transaction<'_>, at: &KeyAt, version: u64) -> Result<Option<Collection>> {
        let found = match self.layout.find(transaction, at, Kind::Hash) {
            // It is named where the pass comes to it.
            Err(Error::Corrupt(_)) => None,
            found => found?,
        };
        Ok(found.and_then(|meta| meta.collection()).filter(|collection| collection.version == version))
    }

    fn meta_row(&mut self, transaction: &mut Transaction<'_>, record: &Record, at: &KeyAt) -> Result<()> {
        if records::is_of_old_release(&at.key) {
            self.find(&record.key, "a row of release 1.2.28 or older");
            return Ok(());
        }
        let meta = match KeyMeta::decode(&record.value).and_then(|key_meta| key_meta.meta()) {
            Ok(meta) => meta,
            Err(Flaw { offset, what }) => {
                self.find(&record.key, format!("{what} at offset {offset}"));
                return Ok(());
            }
        };
        let Some(collection) = meta.collection() else { return Ok(()) };
        if collection.count == 0 {
            self.find(&record.key, "counts nothing");
        }
        if collection.is_counted && collection.count > 0 {
            // Where there is any, they are counted when the pass comes to them.
            let prefix = self.layout.rows.sub_key(Tag::Sub, &at.key, collection.version, &[]);
            if transaction.first(record.keyspace, KeyRange::prefix(&prefix), Direction::Forward)?.is_none() {
                self.find(&record.key, format!("counts {} elements, has none", collection.count));
            }
        }
        Ok(())
    }

    fn sub_row(
        &mut self,
        transaction: &mut Transaction<'_>,
        record: &Record,
        row: &Row,
        at: &KeyAt,
        collection: &Collection,
    ) -> Result<()> {
        let set = self.layout.sorted_set(at, collection);
        match (row.tag, collection.kind) {
            (Tag::Sub, Kind::Hash) => {}
            (Tag::Sub, Kind::Set) | (Tag::Score, _) if !record.value.is_empty() => self.find(&record.key, "a value where none belongs"),
            (Tag::Sub, Kind::Set) => {}
            (Tag::Sub, Kind::SortedSet) if collection.is_counted => match members::decode_score(false, &record.key, &record.value) {
                Ok(score) => {
                    let (keyspace, key) = set.score_row(score, &row.rest);
                    if transaction.get(keyspace, &key)?.is_none() {
                        self.find(&record.key, "its member has no row in its place");
                    }
                }
                Err(_) => self.find(&record.key, "not the text of a score"),
            },
            (Tag::Score, Kind::SortedSet) if collection.is_counted => {
                if let Err(flaw) = records::decode_score(&row.rest) {
                    self.find(&record.key, flaw.what);
                }
            }
            (Tag::Long, Kind::SortedSet) if !collection.is_counted => self.long_row(transaction, record, row, &set)?,
            _ => self.find(&record.key, "its key is of another kind"),
        }
        Ok(())
    }

    fn long_row(&mut self, transaction: &mut Transaction<'_>, record: &Record, row: &Row, set: &SortedSet) -> Result<()> {
        if records::index_of(&record.value) != row.rest {
            self.find(&record.key, "its member has another index");
            return Ok(());
        }
        let (keyspace, key) = set.member_row(&record.value);
        if transaction.get(keyspace, &key)?.is_none() {
            self.find(&record.key, "its member has no score");
        }
        Ok(())
    }

    fn redis_row(&mut self, transaction: &mut Transaction<'_>, record: &Record) -> Result<()> {
        let (key, place) = match redis::decode(&record.key) {
            Ok(decoded) => decoded,
            Err(flaw) => {
                self.find_in_redis(&record.key, flaw.what);
                return Ok(());
            }
        };
        let Some((user_key, version)) = redis::decode_key(&self.layout.rows.namespace, &key) else { return Ok(()) };
        let at = KeyAt::new(SPACE, user_key);
        let Some(collection) = self.owner(transaction, &at, version)?.filter(|collection| !collection.is_counted) else { return Ok(()) };
        let other = match &place {
            Place::Member(index) => redis::decode_score(&record.value).map(|score| (index, redis::score_key(&key, score, index))),
            Place::Score(_, _) if !record.value.is_empty() => Err(Flaw { offset: 0, what: "a value where none belongs" }),
            Place::Score(_, index) => Ok((index, redis::member_key(&key, index))),
        };
        let (index, other) = match other {
            Ok(found) => found,
            Err(flaw) => {
                self.find_in_redis(&record.key, flaw.what);
                return Ok(());
            }
        };
        let stored = transaction.get(self.layout.redis, &other)?;
        let is_whole = match (&place, stored) {
            (Place::Member(_), stored) => stored.is_some(),
            (Place::Score(score, _), Some(stored)) => redis::decode_score(&stored).is_ok_and(|own| own.to_bits() == score.to_bits()),
            (Place::Score(..), None) => false,
        };
        if !is_whole {
            self.find_in_redis(&record.key, "its other row is missing or says something else");
        }
        let set = self.layout.sorted_set(&at, &collection);
        match records::short_member(index) {
            Ok(Some(_)) => {}
            Ok(None) => {
                let (keyspace, key) = set.long_row(index);
                if transaction.get(keyspace, &key)?.is_none() {
                    self.find_in_redis(&record.key, "no row says its member");
                }
            }
            Err(flaw) => self.find_in_redis(&record.key, flaw.what),
        }
        Ok(())
    }

    /// Counts a field or member. Those of a collection follow each other.
    fn count(&mut self, transaction: &mut Transaction<'_>, row: &Row, tally: &mut Tally) -> Result<()> {
        let prefix = self.layout.rows.sub_key(Tag::Sub, &row.user_key, row.version, &[]);
        if prefix != tally.of {
            self.counted(transaction, tally)?;
            *tally = Tally { of: prefix, count: 0 };
        }
        tally.count += 1;
        Ok(())
    }

    /// Compares what was counted of a collection with what its head says.
    fn counted(&mut self, transaction: &mut Transaction<'_>, tally: &Tally) -> Result<()> {
        let Ok(Some(Row { user_key, version, .. })) = self.layout.rows.decode(&tally.of) else { return Ok(()) };
        let at = KeyAt::new(SPACE, user_key);
        let owner = self.owner(transaction, &at, version)?;
        if let Some(Collection { count, .. }) = owner.filter(|owner| owner.is_counted && owner.count != tally.count) {
            let key = self.layout.rows.meta_key(&at.key);
            self.find(&key, format!("counts {count} elements, has {}", tally.count));
        }
        Ok(())
    }
}

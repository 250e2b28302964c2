//! The check: every record verified, counts against records, and both records of a sorted set's member.
//!
//! Records of dead versions are no finding: the format leaves them to the sweep. A collection that changes between two steps is
//! passed over.

use super::records::{self, DataKey, MetaRecord};
use super::{Blackwidow, Role};
use crate::codec::Flaw;
use crate::error::{Error, Result};
use crate::layout::pass::{Tally, Visitor, visit};
use crate::layout::records::{Record, Records};
use crate::layout::{Collection, Finding, KeyAt, Kind, Names};
use crate::store::{Direction, Keyspace};
use crate::transaction::Transaction;
use bytes::Bytes;

impl Blackwidow {
    pub(super) fn check_step(&self, transaction: &mut Transaction<'_>, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>> {
        let mut check = Check { layout: self, findings: Vec::new() };
        visit(transaction, &self.keyspaces, cursor, budget, &mut check)?;
        Ok(check.findings)
    }
}

struct Check<'l> {
    layout: &'l Blackwidow,
    findings: Vec<Finding>,
}

impl Visitor for Check<'_> {
    fn record(&mut self, transaction: &mut Transaction<'_>, record: &Record, tally: &mut Tally) -> Result<()> {
        let checked = match self.layout.role(record.keyspace) {
            Role::Strings => records::decode_string(&record.value).map(|_| ()),
            Role::Metas(kind) => match MetaRecord::decode(kind, &record.value) {
                Ok(meta) => return self.meta(transaction, kind, &record.key, &meta),
                Err(flaw) => Err(flaw),
            },
            role @ (Role::Data(_) | Role::Scores) => match DataKey::decode(&record.key) {
                Ok(key) => return self.data(transaction, role, record, &key, tally),
                Err(flaw) => Err(flaw),
            },
        };
        if let Err(flaw) = checked {
            self.find_flaw(record, flaw);
        }
        Ok(())
    }

    fn end(&mut self, transaction: &mut Transaction<'_>, keyspace: Keyspace, tally: &Tally) -> Result<()> {
        match self.layout.role(keyspace) {
            Role::Data(kind) => self.compare_count(transaction, kind, tally),
            _ => Ok(()),
        }
    }
}

impl Check<'_> {
    fn find(&mut self, keyspace: Keyspace, key: &Bytes, what: impl Into<String>) {
        self.findings.push(Finding { keyspace: self.layout.name_of(keyspace), key: key.clone(), what: what.into() });
    }

    fn find_flaw(&mut self, record: &Record, Flaw { offset, what }: Flaw) {
        self.find(record.keyspace, &record.key, format!("{what} at offset {offset}"));
    }

    fn find_miscount(&mut self, kind: Kind, key: &Bytes, count: i64, found: u64) {
        self.find(self.layout.keys_of(kind), key, format!("it counts {count} records, and there are {found}"));
    }

    fn meta(&mut self, transaction: &mut Transaction<'_>, kind: Kind, key: &Bytes, meta: &MetaRecord) -> Result<()> {
        if meta.count == 0 {
            return Ok(());
        }
        let at = KeyAt::new(super::SPACE, key.clone());
        let collection = Collection::empty(kind, records::version_number(meta.version));
        let records = Records::Range(self.layout.range_of(Role::Data(kind), &at, &collection, &Names::ALL));
        // Where there are some, they are counted when the check comes to them.
        if records.first(transaction, Direction::Forward)?.is_none() {
            self.find_miscount(kind, key, meta.count, 0);
        }
        Ok(())
    }

    /// The meta record of a collection as it is stored; `None` also where it cannot be read, which has been named then.
    fn meta_of(&self, transaction: &mut Transaction<'_>, kind: Kind, key: &Bytes) -> Result<Option<MetaRecord>> {
        match self.layout.meta_record(transaction, kind, key) {
            Err(Error::Corrupt(_)) => Ok(None),
            other => other,
        }
    }

    fn data(&mut self, transaction: &mut Transaction<'_>, role: Role, record: &Record, key: &DataKey, tally: &mut Tally) -> Result<()> {
        let kind = if let Role::Data(kind) = role { kind } else { Kind::SortedSet };
        let meta = self.meta_of(transaction, kind, &key.key)?;
        if role == Role::Data(kind) {
            let own = DataKey { rest: Bytes::new(), ..key.clone() };
            if DataKey::decode(&tally.of).ok().map(|of| DataKey { rest: Bytes::new(), ..of }) != Some(own) {
                self.compare_count(transaction, kind, tally)?;
                let meta = meta.map(|meta| meta.encode()).unwrap_or_default();
                *tally = Tally { of: records::encode_data_key(&key.key, key.version, &meta).freeze(), count: 0 };
            }
            tally.count += 1;
        }
        match meta {
            Some(meta) if meta.version == key.version => self.living(transaction, role, record, key, &meta),
            Some(meta) if meta.version < key.version => {
                self.find(record.keyspace, &record.key, "a record of a version that its key has not reached");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Compares the count of a collection whose records have all been passed with what its meta record said when they began.
    fn compare_count(&mut self, transaction: &mut Transaction<'_>, kind: Kind, tally: &Tally) -> Result<()> {
        let Ok(of) = DataKey::decode(&tally.of) else { return Ok(()) };
        let Ok(meta) = MetaRecord::decode(kind, &of.rest) else { return Ok(()) };
        let is_counted = u64::try_from(meta.count).is_ok_and(|count| count == tally.count);
        if meta.version == of.version && !is_counted && self.meta_of(transaction, kind, &of.key)? == Some(meta) {
            self.find_miscount(kind, &of.key, meta.count, tally.count);
        }
        Ok(())
    }

    /// A record that belongs to its key.
    fn living(&mut self, transaction: &mut Transaction<'_>, role: Role, record: &Record, key: &DataKey, meta: &MetaRecord) -> Result<()> {
        let checked = match role {
            Role::Data(Kind::List) => key.index().map(|index| {
                let is_outside = meta.bounds.is_some_and(|bounds| !bounds.contain(index));
                is_outside.then_some("an element outside of its list's bounds")
            }),
            Role::Data(Kind::SortedSet) => match records::decode_score(&record.value) {
                Ok(score) => Ok(self.scored_member(transaction, key, score)?),
                Err(flaw) => Err(flaw),
            },
            Role::Scores => match key.scored() {
                Ok(scored) => Ok(self.score(transaction, record, key, scored)?),
                Err(flaw) => Err(flaw),
            },
            Role::Data(Kind::Set) => Ok((!record.value.is_empty()).then_some("a member of a set has a value")),
            _ => Ok(None),
        };
        match checked {
            Ok(Some(what)) => self.find(record.keyspace, &record.key, what),
            Ok(None) => {}
            Err(flaw) => self.find_flaw(record, flaw),
        }
        Ok(())
    }

    fn scored_member(&self, transaction: &mut Transaction<'_>, key: &DataKey, score: f64) -> Result<Option<&'static str>> {
        let scored = records::encode_scored(&key.key, key.version, score, &key.rest).freeze();
        if transaction.get(self.layout.keyspace(Role::Scores), &scored)?.is_none() {
            return Ok(Some("a member without a score record"));
        }
        Ok(score.is_nan().then_some("a score that is not a number"))
    }

    fn score(
        &self,
        transaction: &mut Transaction<'_>,
        record: &Record,
        key: &DataKey,
        (score, member): (f64, Bytes),
    ) -> Result<Option<&'static str>> {
        if !record.value.is_empty() {
            return Ok(Some("a score record has a value"));
        }
        let member = records::encode_data_key(&key.key, key.version, &member).freeze();
        Ok(match transaction.get(self.layout.keyspace(Role::Data(Kind::SortedSet)), &member)? {
            None => Some("a score record without a member"),
            // Both zeros are one score to the order, and two here.
            Some(own) if own != records::encode_score(score) => Some("a score record whose member has another score"),
            Some(_) => None,
        })
    }
}

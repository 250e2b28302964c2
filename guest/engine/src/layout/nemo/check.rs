//! The check: every record decoded, elements counted against their meta records, and both halves of what has two: links of lists,
//! members and slots of sorted sets.

use super::database::Database;
use super::records::{self, Head, Tag, Trailer};
use super::sweep::Part;
use super::{Nemo, keyspace};
use crate::codec::Flaw;
use crate::error::{Error, Result};
use crate::layout::lists::{LinkedRecords, ListHead};
use crate::layout::pass::{Tally, Visitor, visit};
use crate::layout::records::Record;
use crate::layout::{Finding, KeyAt, RecordKey};
use crate::store::{Direction, KeyRange, Keyspace};
use crate::transaction::Transaction;
use bytes::Bytes;

impl Nemo {
    pub(super) fn check_step(&self, transaction: &mut Transaction<'_>, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>> {
        let mut check = Check { layout: self, findings: Vec::new() };
        let keyspaces: Vec<Keyspace> = self.keyspaces().collect();
        visit(transaction, &keyspaces, cursor, budget, &mut check)?;
        Ok(check.findings)
    }
}

struct Check<'l> {
    layout: &'l Nemo,
    findings: Vec<Finding>,
}

/// What is wrong with a record.
enum Wrong {
    Flaw(Flaw),
    What(String),
    /// The check cannot go on.
    Error(Error),
}

impl From<Flaw> for Wrong {
    fn from(flaw: Flaw) -> Self {
        Self::Flaw(flaw)
    }
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        match error {
            // It is named where the pass comes to it.
            Error::Corrupt(record) => Self::What(format!("what it belongs to cannot be read: {}", record.what)),
            other => Self::Error(other),
        }
    }
}

impl From<String> for Wrong {
    fn from(what: String) -> Self {
        Self::What(what)
    }
}

impl From<&str> for Wrong {
    fn from(what: &str) -> Self {
        Self::What(what.to_owned())
    }
}

type Verified = std::result::Result<(), Wrong>;

impl Visitor for Check<'_> {
    fn record(&mut self, transaction: &mut Transaction<'_>, record: &Record, tally: &mut Tally) -> Result<()> {
        let Some(database) = self.layout.database_at(record.keyspace) else {
            return self.note(keyspace::KV, &record.key, string(record));
        };
        let verified = match Part::of(database, record) {
            Part::Meta => meta(database, transaction, record),
            Part::Element(tag) => {
                self.count(database, transaction, record, tag, tally)?;
                element(database, transaction, record, tag)
            }
            Part::Separator if record.value == records::SEPARATOR_VALUE => Ok(()),
            Part::Separator => Err("a separator record's value is not zero".into()),
            Part::Unknown => Err("no record of this layout".into()),
        };
        self.note(database.name(), &record.key, verified)
    }

    fn end(&mut self, transaction: &mut Transaction<'_>, keyspace: Keyspace, tally: &Tally) -> Result<()> {
        match self.layout.database_at(keyspace) {
            Some(database) => self.counted(database, transaction, tally),
            None => Ok(()),
        }
    }
}

impl Check<'_> {
    fn note(&mut self, keyspace: &'static str, key: &Bytes, verified: Verified) -> Result<()> {
        let what = match verified {
            Ok(()) => return Ok(()),
            Err(Wrong::Error(error)) => return Err(error),
            Err(Wrong::Flaw(flaw)) => format!("{} at offset {}", flaw.what, flaw.offset),
            Err(Wrong::What(what)) => what,
        };
        self.findings.push(Finding { keyspace, key: key.clone(), what });
        Ok(())
    }

    /// Counts a living element. Those of a collection follow each other.
    fn count(&mut self, database: Database, transaction: &mut Transaction<'_>, record: &Record, tag: Tag, tally: &mut Tally) -> Result<()> {
        let Ok((user_key, _)) = records::decode_sub_key(tag, &record.key) else { return Ok(()) };
        let prefix = records::encode_prefix(tag, &user_key);
        if prefix != tally.of {
            self.counted(database, transaction, tally)?;
            *tally = Tally { of: prefix, count: 0 };
        }
        match living(database, transaction, record, &KeyAt::new(super::SPACE, user_key)) {
            Ok(Some(_)) => tally.count += 1,
            // What cannot be read is named for itself.
            Ok(None) | Err(Error::Corrupt(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Compares what was counted of a collection with what its head says.
    fn counted(&mut self, database: Database, transaction: &mut Transaction<'_>, tally: &Tally) -> Result<()> {
        let tag = tally.of.first().and_then(|byte| Tag::of_byte(*byte));
        let Some(Ok((user_key, _))) = tag.map(|tag| records::decode_sub_key(tag, &tally.of)) else { return Ok(()) };
        let at = KeyAt::new(super::SPACE, user_key);
        let (_, key) = database.meta_record(&at);
        let head = match database.head(transaction, &at) {
            // It has been named already.
            Err(Error::Corrupt(_)) => None,
            other => other?,
        };
        let wrong = head.filter(|head| head.count > 0 && head.count != tally.count);
        let what = wrong.map(|head| Err(format!("counts {} elements, has {}", head.count, tally.count).into()));
        self.note(database.name(), &key, what.unwrap_or(Ok(())))
    }
}

fn string(record: &Record) -> Verified {
    let (_, trailer) = Trailer::split(&record.value)?;
    if trailer.version == 0 { Ok(()) } else { Err("a string with a version".into()) }
}

fn meta(database: Database, transaction: &mut Transaction<'_>, record: &Record) -> Verified {
    let user_key = records::decode_meta_key(database.tag(), &record.key)?;
    let head = records::decode_meta(database.kind, &record.value)?;
    if let ListHead::Linked { left, right, next } = head.list {
        let is_empty = head.count == 0;
        if is_empty != (left == 0) || is_empty != (right == 0) || left >= next || right >= next {
            return Err(format!("{} elements from {left} to {right}, before {next}", head.count).into());
        }
    }
    if head.count == 0 {
        return Ok(());
    }
    // Where there is any, they are counted when the pass comes to them.
    for tag in Tag::of_kind(database.kind) {
        let range = KeyRange::prefix(&records::encode_prefix(*tag, &user_key));
        if transaction.first(database.keyspace, range, Direction::Forward).map_err(Error::from)?.is_none() {
            return Err(format!("counts {} elements, has none", head.count).into());
        }
    }
    Ok(())
}

fn element(database: Database, transaction: &mut Transaction<'_>, record: &Record, tag: Tag) -> Verified {
    let (user_key, rest) = records::decode_sub_key(tag, &record.key)?;
    let at = KeyAt::new(super::SPACE, user_key);
    let (payload, _) = Trailer::split(&record.value)?;
    match tag {
        Tag::Field => Ok(()),
        Tag::Member | Tag::Slot if !payload.is_empty() => Err("a value where none belongs".into()),
        Tag::Member => Ok(()),
        Tag::Node => {
            let number = records::decode_number(&rest)?;
            let node = records::decode_node(&payload)?;
            match living(database, transaction, record, &at)? {
                Some(head) => linked(database, transaction, &at, &head, number, (node.previous, node.next)),
                None => Ok(()),
            }
        }
        Tag::Scored => {
            let slot = records::slot(records::decode_score(&payload)?);
            let other = (database.keyspace, records::encode_slot_key(&at.key, slot, &rest));
            let is_whole = living(database, transaction, record, &at)?.is_none() || is_living(database, transaction, &other, &at)?;
            if is_whole { Ok(()) } else { Err("its member has no record in its slot".into()) }
        }
        Tag::Slot => {
            let (slot, member) = records::decode_slot(&rest)?;
            if living(database, transaction, record, &at)?.is_none() {
                return Ok(());
            }
            let other = (database.keyspace, records::encode_named_key(Tag::Scored, &at.key, &member));
            if !is_living(database, transaction, &other, &at)? {
                return Err("its member does not exist".into());
            }
            let value = transaction.get(other.0, &other.1).map_err(Error::from)?.unwrap_or_default();
            let score = Trailer::split(&value).and_then(|(payload, _)| records::decode_score(&payload));
            match score {
                Ok(score) if records::slot(score) != slot => Err("its member has a score in another slot".into()),
                // A score that cannot be read is named with its own record.
                _ => Ok(()),
            }
        }
    }
}

/// The neighbours of a node know it.
fn linked(
    database: Database,
    transaction: &mut Transaction<'_>,
    at: &KeyAt,
    head: &Head,
    number: u64,
    (previous, next): (u64, u64),
) -> Verified {
    let (Some(list), ListHead::Linked { left, right, .. }) = (database.meta(head).collection(), head.list) else { return Ok(()) };
    let own = match previous {
        0 => left,
        previous => database.node(transaction, at, &list, previous)?.next,
    };
    if own != number {
        return Err(format!("the node before it, {previous}, leads to {own}").into());
    }
    let own = match next {
        0 => right,
        next => database.node(transaction, at, &list, next)?.previous,
    };
    if own == number { Ok(()) } else { Err(format!("the node behind it, {next}, leads back to {own}").into()) }
}

/// The head of the collection that an element is of, where that is there.
fn living(database: Database, transaction: &mut Transaction<'_>, record: &Record, at: &KeyAt) -> Result<Option<Head>> {
    let Some(head) = database.head(transaction, at)?.filter(|head| head.count > 0) else { return Ok(None) };
    let live = database.decode_live(u64::from(head.trailer.version), &record.key, &record.value)?;
    Ok(live.map(|_| head))
}

/// Whether there is such an element, and the collection that it is of.
fn is_living(database: Database, transaction: &mut Transaction<'_>, (keyspace, key): &RecordKey, at: &KeyAt) -> Result<bool> {
    let Some(value) = transaction.get(*keyspace, key)? else { return Ok(false) };
    let record = Record { keyspace: *keyspace, key: key.clone(), value };
    Ok(living(database, transaction, &record, at)?.is_some())
}

//! Walks that are not a plain range: over user keys, whose records have all their sub-records between them, and over fields by
//! their names, of which the numbers are in an order of their own.

use super::data::Item;
use super::records::{self, Contents, Head, Meta, record};
use super::{Namespaces, corrupt};
use crate::error::Result;
use crate::layout::records::{Choice, OwnOrder, OwnWalk, Record, Verdict};
use crate::layout::{KeyAt, Names, RecordKey, RecordRange};
use crate::store::{Direction, KeyRange};
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Takes the meta records of keys that are there.
#[derive(Debug)]
pub struct Keys;

impl Choice for Keys {
    fn judge(&self, transaction: &mut Transaction<'_>, record: &Record, direction: Direction) -> Result<Verdict> {
        // What cannot be read is left to the check to name.
        let Ok((user_key, kind)) = records::decode_prefix(&record.key) else { return Ok(Verdict::Pass) };
        if kind != record::META {
            // Behind the sub-records, or between them and their meta record.
            let to = match direction {
                Direction::Forward if kind > record::META && kind < record::END => record::END,
                Direction::Reverse if kind > record::META => record::META + 1,
                _ => return Ok(Verdict::Pass),
            };
            return Ok(Verdict::Jump(records::encode_prefix(&user_key, to).to_vec()));
        }
        let is_there = match records::decode_meta(&record.value) {
            Ok(Meta::Nothing | Meta::Stream) => false,
            Ok(Meta::Head(head)) => !is_empty(transaction, (record.keyspace, &user_key), &head)?,
            // Whoever decodes it says so.
            Err(_) => true,
        };
        Ok(if is_there { Verdict::Take } else { Verdict::Pass })
    }
}

/// Whether it is a collection without sub-records. Ardb's HDEL of the last field leaves such hashes.
///
/// # Errors
/// Store errors.
pub fn is_empty(transaction: &mut Transaction<'_>, (keyspace, user_key): (crate::store::Keyspace, &[u8]), head: &Head) -> Result<bool> {
    match head.contents {
        Contents::Text(_) => Ok(false),
        Contents::Collection { size: Some(size), .. } => Ok(size == 0),
        Contents::Collection { kind, size: None, .. } => {
            let (first, end) = super::sub_types(kind);
            Ok(transaction.first(keyspace, records::types(user_key, first, end), Direction::Forward)?.is_none())
        }
    }
}

/// The fields of a hash in the byte order of their names.
#[derive(Debug)]
pub struct FieldsByName {
    namespaces: Namespaces,
    at: KeyAt,
    names: Names,
    /// Leave out the first name itself.
    after_start: bool,
}

impl FieldsByName {
    pub fn new(namespaces: &Namespaces, at: &KeyAt, names: &Names) -> Self {
        Self { namespaces: namespaces.clone(), at: at.clone(), names: names.clone(), after_start: false }
    }

    fn contains(&self, name: &[u8]) -> bool {
        let is_from = if self.after_start { name > self.names.start.as_ref() } else { name >= self.names.start.as_ref() };
        is_from && self.names.end.as_ref().is_none_or(|end| name < end)
    }

    /// The fields that are stored as texts: these are in byte order.
    fn texts(&self) -> RecordRange {
        let key = |name: &[u8]| self.namespaces.record(&self.at, record::FIELD, [&Item::text(name)]).1.to_vec();
        let (keyspace, all) = self.namespaces.types(&self.at, record::FIELD, record::FIELD + 1);
        let end = self.names.end.as_ref().map(|end| key(end)).or(all.end);
        (keyspace, KeyRange { start: key(&self.names.start), after_start: self.after_start, end })
    }

    /// The fields that are stored as numbers, by name.
    fn numbers(&self, transaction: &mut Transaction<'_>) -> Result<BTreeMap<Bytes, Record>> {
        let (keyspace, mut range) = self.namespaces.types(&self.at, record::FIELD, record::FIELD + 1);
        range.end = Some(self.namespaces.record(&self.at, record::FIELD, [&Item::text(b"")]).1.to_vec());
        let mut scan = Scan::new(keyspace, range, Direction::Forward, 64);
        let mut numbers = BTreeMap::new();
        while let Some((key, value)) = transaction.next(&mut scan)? {
            let name = field(&key)?;
            if self.contains(&name) {
                numbers.insert(name, Record { keyspace, key, value });
            }
        }
        Ok(numbers)
    }
}

/// The name of a field's record.
fn field(key: &Bytes) -> Result<Bytes> {
    let [field] = records::decode_elements(record::FIELD, key).map_err(|flaw| corrupt(key, flaw))?;
    Ok(field.into_bytes())
}

impl OwnOrder for FieldsByName {
    fn walk(&self, direction: Direction, expected: usize) -> Box<dyn OwnWalk> {
        let order = Self { after_start: self.after_start, ..Self::new(&self.namespaces, &self.at, &self.names) };
        let (keyspace, range) = self.texts();
        let texts = Scan::new(keyspace, range, direction, expected);
        Box::new(WalkByName { order, direction, texts, text: None, numbers: None })
    }

    fn range(&self) -> RecordRange {
        self.texts()
    }

    fn behind(&self, record: &RecordKey) -> Rc<dyn OwnOrder> {
        let start = field(&record.1).unwrap_or_default();
        let names = Names { start, end: self.names.end.clone() };
        Rc::new(Self { after_start: true, ..Self::new(&self.namespaces, &self.at, &names) })
    }
}

#[derive(Debug)]
struct WalkByName {
    order: FieldsByName,
    direction: Direction,
    texts: Scan,
    /// The next one of the texts.
    text: Option<(Bytes, Record)>,
    /// The numbers that are still to come; `None` before the first step.
    numbers: Option<BTreeMap<Bytes, Record>>,
}

impl OwnWalk for WalkByName {
    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<Record>> {
        let mut numbers = match self.numbers.take() {
            Some(numbers) => numbers,
            None => self.order.numbers(transaction)?,
        };
        if self.text.is_none()
            && let Some((key, value)) = transaction.next(&mut self.texts)?
        {
            let keyspace = self.order.texts().0;
            self.text = Some((field(&key)?, Record { keyspace, key, value }));
        }
        let number = if self.direction == Direction::Forward { numbers.first_entry() } else { numbers.last_entry() };
        let next = match (number, &self.text) {
            (Some(number), Some((text, _))) if (number.key() < text) == (self.direction == Direction::Forward) => Some(number.remove()),
            (Some(number), None) => Some(number.remove()),
            _ => self.text.take().map(|(_, record)| record),
        };
        self.numbers = Some(numbers);
        Ok(next)
    }
}

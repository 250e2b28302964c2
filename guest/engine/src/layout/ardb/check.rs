//! The check: every record decoded, sub-records against their meta records, counted where these have counted, and both halves of
//! what sorted sets have of each member.

use super::data::Item;
use super::records::{self, Contents, Head, Key, Meta, record};
use super::{Ardb, elements, sub_types};
use crate::codec::Flaw;
use crate::error::Result;
use crate::layout::pass::{Tally, Visitor, visit};
use crate::layout::records::Record;
use crate::layout::{Finding, Kind};
use crate::store::{Direction, Keyspace, Order};
use crate::transaction::Transaction;
use bytes::Bytes;

impl Ardb {
    pub(super) fn check_step(&self, transaction: &mut Transaction<'_>, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>> {
        let mut check = Check { layout: self, findings: Vec::new() };
        visit(transaction, &self.namespaces.0, cursor, budget, &mut check)?;
        Ok(check.findings)
    }
}

struct Check<'l> {
    layout: &'l Ardb,
    findings: Vec<Finding>,
}

/// What is wrong with a record, as far as it is not a store's error.
type Wrong = Option<String>;

impl Visitor for Check<'_> {
    fn record(&mut self, transaction: &mut Transaction<'_>, found: &Record, tally: &mut Tally) -> Result<()> {
        let wrong = match records::decode_key(&found.key) {
            Ok(Key { user_key, kind: record::META, elements }) => {
                self.counted(transaction, found.keyspace, tally)?;
                *tally = Tally::default();
                self.meta(transaction, found, &user_key, &elements, tally)?
            }
            Ok(key) => {
                self.count(transaction, found.keyspace, &key, tally)?;
                self.sub_record(transaction, found, &key)?
            }
            Err(flaw) => Some(text(flaw)),
        };
        self.note(found.keyspace, &found.key, wrong);
        Ok(())
    }

    fn end(&mut self, transaction: &mut Transaction<'_>, keyspace: Keyspace, tally: &Tally) -> Result<()> {
        self.counted(transaction, keyspace, tally)
    }
}

impl Check<'_> {
    fn note(&mut self, keyspace: Keyspace, key: &Bytes, wrong: Wrong) {
        if let Some(what) = wrong {
            self.findings.push(Finding { keyspace: self.layout.namespaces.name(keyspace), key: key.clone(), what });
        }
    }

    fn meta(
        &self,
        transaction: &mut Transaction<'_>,
        found: &Record,
        user_key: &Bytes,
        elements: &[Item],
        tally: &mut Tally,
    ) -> Result<Wrong> {
        if !elements.is_empty() {
            return Ok(Some("a meta record with elements in its key".to_owned()));
        }
        let head = match records::decode_meta(&found.value) {
            Ok(Meta::Head(head)) => head,
            Ok(Meta::Stream) => return Ok(Some("a stream, which is not served".to_owned())),
            Ok(Meta::Nothing) => return Ok(None),
            Err(flaw) => return Ok(Some(text(flaw))),
        };
        let Contents::Collection { kind, .. } = head.contents else { return Ok(None) };
        let (first, end) = sub_types(kind);
        // From here on its records are counted, also if there are none.
        tally.of = records::encode_prefix(user_key, first);
        let sub_records = records::types(user_key, first, end);
        let is_empty = transaction.first(found.keyspace, sub_records, Direction::Forward)?.is_none();
        if is_empty {
            return Ok(Some(format!("an empty {}, which counts as absent", kind.name())));
        }
        Ok(has_gaps(&head).then(|| "a sequential list of another size than its bounds have between them".to_owned()))
    }

    fn sub_record(&self, transaction: &mut Transaction<'_>, found: &Record, key: &Key) -> Result<Wrong> {
        let kind = match key.kind {
            record::FIELD => Kind::Hash,
            record::ELEMENT => Kind::List,
            record::MEMBER => Kind::Set,
            record::SCORED | record::SCORE => Kind::SortedSet,
            record::STREAM_ENTRY | record::STREAM_PENDING => return Ok(Some("a record of a stream, which is not served".to_owned())),
            record::EXPIRY => return Ok(Some("an expiry record, which is for other engines than RocksDB".to_owned())),
            other => return Ok(Some(format!("a record of the unknown type {other}"))),
        };
        let Some(head) = self.head(transaction, found.keyspace, &key.user_key)? else {
            return Ok(Some(format!("a record of a {} that is not there", kind.name())));
        };
        let Contents::Collection { kind: own, is_sequential, bounds, .. } = &head.contents else {
            return Ok(Some(format!("a record of a {}, but the key is a string", kind.name())));
        };
        if *own != kind {
            return Ok(Some(format!("a record of a {}, but the key is a {}", kind.name(), own.name())));
        }
        let verified = match key.kind {
            record::FIELD => field(&found.key, &found.value),
            record::ELEMENT => element(&found.key, &found.value, *is_sequential),
            record::MEMBER => member(&found.key, &found.value),
            record::SCORED => return self.scored(transaction, found, key),
            _ => return self.score(transaction, found, key, bounds.as_ref()),
        };
        Ok(verified.map_err(text).err().or_else(|| within(bounds.as_ref(), key.elements.last())))
    }

    /// A score with its member: the member has that score.
    fn scored(&self, transaction: &mut Transaction<'_>, found: &Record, key: &Key) -> Result<Wrong> {
        let verify = || {
            let [score, member] = records::decode_elements::<2>(record::SCORED, &found.key)?;
            let [] = records::decode_plain_value(record::SCORED, &found.value)?;
            Ok::<_, Flaw>((records::score(&score)?, member))
        };
        let (score, member) = match verify() {
            Ok(verified) => verified,
            Err(flaw) => return Ok(Some(text(flaw))),
        };
        let other = records::encode_key(&key.user_key, record::SCORE, [&member]);
        let Some(value) = transaction.get(found.keyspace, &other)? else { return Ok(Some("its member is not there".to_owned())) };
        let has_score = records::decode_plain_value(record::SCORE, &value).is_ok_and(|[own]: [Item; 1]| own.number() == Some(score));
        Ok((!has_score).then(|| "its member has another score".to_owned()))
    }

    /// A member with its score: it is in its place among the scores.
    fn score(&self, transaction: &mut Transaction<'_>, found: &Record, key: &Key, bounds: Option<&[Item; 2]>) -> Result<Wrong> {
        let verify = || {
            let [member] = records::decode_elements::<1>(record::SCORE, &found.key)?;
            let [score] = records::decode_plain_value::<1>(record::SCORE, &found.value)?;
            Ok::<_, Flaw>((records::score(&score)?, member))
        };
        let (score, member) = match verify() {
            Ok(verified) => verified,
            Err(flaw) => return Ok(Some(text(flaw))),
        };
        let other = records::encode_key(&key.user_key, record::SCORED, [&Item::Float(score), &member]);
        if transaction.get(found.keyspace, &other)?.is_none() {
            return Ok(Some("its score is not there".to_owned()));
        }
        let is_number = !matches!(member, Item::Text(_));
        let wrong = is_number.then(|| "a member that is stored as a number: commands find it by its score only".to_owned());
        Ok(wrong.or_else(|| within(bounds, Some(&member))))
    }

    /// Counts a sub-record. Those of a collection and of one type follow each other.
    fn count(&mut self, transaction: &mut Transaction<'_>, keyspace: Keyspace, key: &Key, tally: &mut Tally) -> Result<()> {
        let group = records::encode_prefix(&key.user_key, key.kind);
        if group != tally.of {
            self.counted(transaction, keyspace, tally)?;
            *tally = Tally { of: group, count: 0 };
        }
        tally.count += 1;
        Ok(())
    }

    /// Compares what was counted with the size that the meta record knows.
    fn counted(&mut self, transaction: &mut Transaction<'_>, keyspace: Keyspace, tally: &Tally) -> Result<()> {
        let Ok((user_key, counted_type)) = records::decode_prefix(&tally.of) else { return Ok(()) };
        let Some(head) = self.head(transaction, keyspace, &user_key)? else { return Ok(()) };
        let Contents::Collection { kind, size: Some(size), .. } = head.contents else { return Ok(()) };
        let (first, end) = sub_types(kind);
        if (first..end).contains(&counted_type) && size != tally.count {
            let meta = records::encode_key(&user_key, record::META, []);
            self.note(keyspace, &meta, Some(format!("the size is {size}, there are {}", tally.count)));
        }
        Ok(())
    }

    /// What the meta record says; `None` also where it cannot be read, which has been named already.
    fn head(&self, transaction: &mut Transaction<'_>, keyspace: Keyspace, user_key: &[u8]) -> Result<Option<Head>> {
        let value = transaction.get(keyspace, &records::encode_key(user_key, record::META, []))?;
        Ok(match value.map(|value| records::decode_meta(&value)) {
            Some(Ok(Meta::Head(head))) => Some(head),
            _ => None,
        })
    }
}

fn text(flaw: Flaw) -> String {
    format!("{} at offset {}", flaw.what, flaw.offset)
}

fn field(key: &Bytes, value: &Bytes) -> std::result::Result<(), Flaw> {
    let [field] = records::decode_elements(record::FIELD, key)?;
    records::decode_value::<1>(record::FIELD, value)?;
    is_canonical(&field)
}

fn member(key: &Bytes, value: &Bytes) -> std::result::Result<(), Flaw> {
    let [member] = records::decode_elements(record::MEMBER, key)?;
    records::decode_plain_value::<0>(record::MEMBER, value)?;
    is_canonical(&member)
}

fn element(key: &Bytes, value: &Bytes, is_sequential: bool) -> std::result::Result<(), Flaw> {
    let index = elements::decode_index(key)?;
    records::decode_plain_value::<1>(record::ELEMENT, value)?;
    match elements::item(index) {
        Item::Float(_) if is_sequential => Err(Flaw { offset: 0, what: "a fraction as the index in a sequential list" }),
        _ => Ok(()),
    }
}

/// Fields and members are looked for under one form only.
fn is_canonical(name: &Item) -> std::result::Result<(), Flaw> {
    if Item::of(&name.clone().into_bytes()) == *name {
        Ok(())
    } else {
        Err(Flaw { offset: 0, what: "a name that commands do not find: it is stored as what it is not" })
    }
}

/// Whether a list that is said to be sequential cannot be so.
fn has_gaps(head: &Head) -> bool {
    let Contents::Collection { is_sequential: true, size: Some(size), bounds: Some([first, last]), .. } = &head.contents else {
        return false;
    };
    let (Item::Integer(first), Item::Integer(last)) = (first, last) else { return true };
    first.checked_add_unsigned(*size) != last.checked_add(1)
}

/// Whether an index or a member is within the bounds of its collection.
fn within(bounds: Option<&[Item; 2]>, item: Option<&Item>) -> Wrong {
    let ([low, high], item) = (bounds?, item?);
    let key = |item: &Item| records::encode_key(b"", record::MEMBER, [item]);
    let is_within = Order::Ardb.compare(&key(low), &key(item)).is_le() && Order::Ardb.compare(&key(item), &key(high)).is_le();
    (!is_within).then(|| "outside of the bounds of its collection".to_owned())
}

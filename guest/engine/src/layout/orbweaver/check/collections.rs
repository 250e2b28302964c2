//! The check of keys: each meta record, and the records of its collection.

use super::cursor::{Cursor, Part, Within};
use super::{Step, after};
use crate::codec::{Flaw, Reader};
use crate::error::Result;
use crate::layout::orbweaver::{field_expiry, keyspace, records};
use crate::layout::{Body, Collection, Kind};
use crate::store::KeyRange;
use bytes::Bytes;

impl Step<'_, '_, '_> {
    /// Verifies meta records and their collections. True once all are.
    pub(super) fn metas(&mut self, cursor: &mut Cursor) -> Result<bool> {
        let mut scan = self.scan(self.layout.meta, &cursor.next, None);
        while let Some((key, value)) = self.transaction.next(&mut scan)? {
            let begun = cursor.within.take().filter(|_| cursor.next == key);
            if begun.is_none() {
                self.looked_at_one();
            }
            cursor.within = self.meta(&key, &value, begun)?;
            if cursor.within.is_some() {
                cursor.next = key.to_vec();
                return Ok(false);
            }
            cursor.next = after(&key);
            if self.left == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Verifies one key, from `begun` on. Returns where to go on if the step ends within its collection.
    fn meta(&mut self, key: &Bytes, value: &Bytes, begun: Option<Within>) -> Result<Option<Within>> {
        let meta = match records::decode_meta(value) {
            Ok(meta) => meta,
            Err(flaw) => {
                self.find_flaw(keyspace::META, key, flaw);
                return Ok(None);
            }
        };
        if begun.is_none() {
            self.space_of(key)?;
            if let Some(at) = meta.expire_at_ms
                && self.transaction.get(self.layout.expiry, &records::encode_expiry_key(at, key))?.is_none()
            {
                self.find(keyspace::META, key, format!("the expiry record of its expiry at {at} is missing"));
            }
        }
        let Body::Collection(collection) = meta.body else { return Ok(None) };
        if collection.is_packed {
            self.layout.show_packed(self.transaction, key, &meta)?;
        }
        let within = match begun {
            // It has been replaced since the last step.
            Some(begun) if begun.version != collection.version => return Ok(None),
            Some(begun) => begun,
            None => {
                self.head(key, &collection)?;
                Within { version: collection.version, part: Part::Data, counted: 0, next: Vec::new() }
            }
        };
        self.sub_records(key, &collection, within)
    }

    fn space_of(&mut self, key: &Bytes) -> Result<()> {
        let space = match Reader::new(key).u32("a space is cut short") {
            Ok(space) => space,
            Err(flaw) => {
                self.find_flaw(keyspace::META, key, flaw);
                return Ok(());
            }
        };
        let garbage = records::encode_garbage_space_key(space);
        if self.system.dbs_of(space).is_empty() && self.transaction.get(self.layout.garbage, &garbage)?.is_none() {
            self.find(keyspace::META, key, format!("space {space} is neither a db's nor garbage"));
        }
        Ok(())
    }

    fn head(&mut self, key: &Bytes, collection: &Collection) -> Result<()> {
        let version = collection.version;
        if collection.count == 0 {
            self.find(keyspace::META, key, format!("an empty {}", collection.kind.name()));
        }
        if !self.system.was_given(version) {
            self.find(keyspace::META, key, format!("version {version} was never given"));
        }
        if self.is_garbage(version)? {
            self.find(keyspace::META, key, format!("its version {version} is queued as garbage"));
        }
        match collection.expiries {
            Some(expiries) => self.next_field_expiry(key, version, expiries.next_ms),
            None => Ok(()),
        }
    }

    /// Verifies the records of a collection, first those in `data`, then those in `score` or `field-expiry`, then those in `rank`.
    fn sub_records(&mut self, key: &Bytes, collection: &Collection, mut within: Within) -> Result<Option<Within>> {
        loop {
            let (keyspace, name, range, expected) = match (within.part, collection.expiries) {
                (Part::Tree, _) => return self.rank_tree(key, collection, within),
                (Part::Data, _) => {
                    (self.layout.data, keyspace::DATA, KeyRange::prefix(&collection.version.to_be_bytes()), collection.count)
                }
                (Part::Second, Some(expiries)) => {
                    (self.layout.field_expiry, keyspace::FIELD_EXPIRY, field_expiry::fields_of(collection.version), expiries.count)
                }
                (Part::Second, None) => {
                    (self.layout.score, keyspace::SCORE, KeyRange::prefix(&collection.version.to_be_bytes()), collection.count)
                }
            };
            let start = range.start.max(std::mem::take(&mut within.next));
            let mut scan = self.scan(keyspace, &start, range.end);
            while let Some((sub_key, value)) = self.transaction.next(&mut scan)? {
                if self.left == 0 {
                    within.next = sub_key.to_vec();
                    return Ok(Some(within));
                }
                self.looked_at_one();
                within.counted = within.counted.saturating_add(1);
                let flaw = match name {
                    keyspace::DATA => self.data(collection, &sub_key, &value)?,
                    keyspace::SCORE => self.score(&sub_key, &value)?,
                    // They are verified one by one in a phase of their own.
                    _ => None,
                };
                if let Some(what) = flaw {
                    self.find(name, &sub_key, what);
                }
            }
            if within.counted != expected {
                let (kind, counted) = (collection.kind.name(), within.counted);
                self.find(keyspace::META, key, format!("the {kind} counts {expected} but has {counted} {name} records"));
            }
            let part = match within.part {
                Part::Data if collection.kind == Kind::SortedSet || collection.expiries.is_some() => Part::Second,
                Part::Second if collection.rank_levels > 0 => Part::Tree,
                _ => return Ok(None),
            };
            within = Within { part, counted: 0, next: Vec::new(), version: within.version };
        }
    }

    /// What is wrong with a record of the keyspace `data`.
    fn data(&mut self, collection: &Collection, key: &Bytes, value: &Bytes) -> Result<Option<String>> {
        Ok(match collection.kind {
            // The kind of a collection is never string.
            Kind::String => None,
            Kind::Hash => match records::decode_field_value(value) {
                Ok(field) => self.field(collection, key, field.expire_at_ms)?,
                Err(flaw) => Some(describe(flaw)),
            },
            Kind::Set => (!value.is_empty()).then(|| "a set member's value is not empty".to_owned()),
            Kind::List => match records::decode_element_key(key) {
                Ok((_, index)) => {
                    let inside = index.checked_sub(collection.list.first_index()).is_some_and(|position| position < collection.count);
                    (!inside).then(|| format!("element {index} is outside of its list's head and tail"))
                }
                Err(flaw) => Some(describe(flaw)),
            },
            Kind::SortedSet => match (records::decode_score(value), records::decode_sub_key(key)) {
                (Ok(score), Ok((version, member))) => {
                    let (score_key, expected) = records::encode_scored(version, score, &member);
                    match self.transaction.get(self.layout.score, &score_key)? {
                        None => Some("its score record is missing".to_owned()),
                        Some(found) => (found != expected).then(|| "its score record has the other zero".to_owned()),
                    }
                }
                (Err(flaw), _) | (_, Err(flaw)) => Some(describe(flaw)),
            },
        })
    }

    /// What is wrong with a record of the keyspace `score`.
    fn score(&mut self, key: &Bytes, value: &Bytes) -> Result<Option<String>> {
        let (version, score, member) = match records::decode_scored(key, value) {
            Ok(scored) => scored,
            Err(flaw) => return Ok(Some(describe(flaw))),
        };
        let own = self.transaction.get(self.layout.data, &records::encode_sub_key(version, &member))?;
        Ok(match own.map(|own| records::decode_score(&own)) {
            None => Some("its member's record is missing".to_owned()),
            Some(Ok(own)) if own != score => Some(format!("its member's score is {own}")),
            // A record that cannot be read, and the wrong zero, have been named with the member.
            Some(_) => None,
        })
    }
}

fn describe(flaw: Flaw) -> String {
    format!("{} at offset {}", flaw.what, flaw.offset)
}

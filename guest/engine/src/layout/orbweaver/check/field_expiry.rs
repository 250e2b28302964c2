//! The check of fields that expire: the index leads to fields and hashes that say the same, and back.

use super::Step;
use crate::error::Result;
use crate::layout::orbweaver::field_expiry::{FieldExpiry, decode, encode, fields_of};
use crate::layout::orbweaver::{keyspace, records};
use crate::layout::{Collection, Meta};
use crate::store::Direction;
use bytes::Bytes;

const KEYSPACE: &str = keyspace::FIELD_EXPIRY;

impl Step<'_, '_, '_> {
    /// Verifies what the head of a hash says of its next field that expires.
    pub(super) fn next_field_expiry(&mut self, meta_key: &Bytes, version: u64, next_ms: u64) -> Result<()> {
        let record = encode(&FieldExpiry::Hash { next_ms, version });
        match self.transaction.get(self.layout.field_expiry, &record)? {
            None => self.find(keyspace::META, meta_key, format!("the record of its next field expiry at {next_ms} is missing")),
            Some(value) if value != *meta_key => self.find(KEYSPACE, &record, "it leads to another key"),
            Some(_) => {}
        }
        let first = self.transaction.first(self.layout.field_expiry, fields_of(version), Direction::Forward)?;
        if let Some(Ok(FieldExpiry::Field { expire_at_ms, .. })) = first.map(|(key, _)| decode(&key))
            && expire_at_ms != next_ms
        {
            self.find(keyspace::META, meta_key, format!("its next field expires at {expire_at_ms}, not at {next_ms}"));
        }
        Ok(())
    }

    /// What is wrong with the expiry of a field, whose record in `data` has this key.
    pub(super) fn field(&mut self, hash: &Collection, key: &Bytes, expire_at_ms: Option<u64>) -> Result<Option<String>> {
        let Some(expire_at_ms) = expire_at_ms else { return Ok(None) };
        if hash.expiries.is_none() {
            return Ok(Some("a field expires that its hash does not know of".to_owned()));
        }
        let Ok((version, field)) = records::decode_sub_key(key) else { return Ok(None) };
        let record = encode(&FieldExpiry::Field { version, expire_at_ms, field });
        let is_there = self.transaction.get(self.layout.field_expiry, &record)?.is_some();
        Ok((!is_there).then(|| format!("the record of its expiry at {expire_at_ms} is missing")))
    }

    /// Verifies a record of the keyspace.
    pub(super) fn field_expiry(&mut self, key: &Bytes, value: &Bytes) -> Result<()> {
        match decode(key) {
            Ok(FieldExpiry::Field { version, expire_at_ms, field }) => {
                if !value.is_empty() {
                    self.find(KEYSPACE, key, "its value is not empty");
                }
                self.expiring_field(key, version, expire_at_ms, &field)
            }
            Ok(FieldExpiry::Hash { next_ms, version }) => {
                let meta = self.transaction.get(self.layout.meta, value)?.map(|meta| records::decode_meta(&meta));
                let own = |meta: &Meta| meta.collection().filter(|hash| hash.version == version);
                match meta {
                    Some(Ok(meta)) if own(&meta).is_some_and(|hash| hash.expiries.is_some_and(|own| own.next_ms == next_ms)) => {}
                    // A meta record that cannot be read has been named already.
                    Some(Err(_)) => {}
                    _ => self.find(KEYSPACE, key, "it leads to no hash whose next field expires then"),
                }
                Ok(())
            }
            Err(flaw) => {
                self.find_flaw(KEYSPACE, key, flaw);
                Ok(())
            }
        }
    }

    fn expiring_field(&mut self, key: &Bytes, version: u64, expire_at_ms: u64, field: &[u8]) -> Result<()> {
        let own = self.transaction.get(self.layout.data, &records::encode_sub_key(version, field))?;
        match own.map(|own| records::decode_field_value(&own)) {
            Some(Ok(own)) if own.expire_at_ms != Some(expire_at_ms) => {
                self.find(KEYSPACE, key, "its field does not expire then");
            }
            None if !self.is_garbage(version)? => self.find(KEYSPACE, key, "its field does not exist"),
            // A field that cannot be read has been named already.
            _ => {}
        }
        Ok(())
    }
}

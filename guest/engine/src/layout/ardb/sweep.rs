//! The sweep: removes keys whose time is past, and what Ardb leaves of hashes without fields.
//!
//! Sub-records without a meta record stay: they might be those of a collection that is being written. Nobody sees them, and who
//! makes a collection under their key removes them first.

use super::records::{self, Meta, record};
use super::{Ardb, walks};
use crate::error::Result;
use crate::layout::pass::{Dead, Judge};
use crate::layout::records::Record;
use crate::layout::{KeyAt, Layout};
use crate::store::Keyspace;
use crate::transaction::Transaction;

impl Judge for Ardb {
    fn keyspaces(&self) -> Vec<Keyspace> {
        self.namespaces.0.to_vec()
    }

    fn judge(&self, transaction: &mut Transaction<'_>, found: &Record, now_ms: u64) -> Result<Option<Dead>> {
        let Ok((user_key, record::META)) = records::decode_prefix(&found.key) else { return Ok(None) };
        let owner = KeyAt::new(self.namespaces.space(found.keyspace), user_key);
        // What cannot be read is left to the check to name.
        match records::decode_meta(&found.value) {
            Ok(Meta::Head(head)) => {
                let is_expired_key = head.expire_at_ms.is_some_and(|at_ms| self.expiry_rules().is_past(at_ms, now_ms));
                let is_dead = is_expired_key || walks::is_empty(transaction, (found.keyspace, &owner.key), &head)?;
                Ok(is_dead.then_some(Dead { owner, is_expired_key }))
            }
            Ok(Meta::Nothing) => Ok(Some(Dead { owner, is_expired_key: false })),
            Ok(Meta::Stream) | Err(_) => Ok(None),
        }
    }

    fn remove(&self, transaction: &mut Transaction<'_>, found: &Record) -> Result<()> {
        if let Ok((user_key, _)) = records::decode_prefix(&found.key) {
            let owner = KeyAt::new(self.namespaces.space(found.keyspace), user_key);
            self.remove_left_over(transaction, &owner)?;
        }
        Ok(transaction.delete(found.keyspace, found.key.clone())?)
    }
}

//! What the sweep finds dead: expired keys, rows of versions that are gone, and score rows that say an earlier score.

use super::members::corrupt;
use super::records::{KeyMeta, Row, Tag};
use super::{Camellia, SPACE, UNFINISHED_FOR_MS, keyspace, redis};
use crate::error::Result;
use crate::layout::pass::{Dead, Judge};
use crate::layout::records::Record;
use crate::layout::{Collection, KeyAt, Kind, Layout, New};
use crate::store::Keyspace;
use crate::transaction::Transaction;
use bytes::Bytes;

/// Rows of a version that no key has may be of a collection that is being written: not so long behind it.
const DEAD_AFTER_MS: u64 = 2 * UNFINISHED_FOR_MS;

impl Judge for Camellia {
    fn keyspaces(&self) -> Vec<Keyspace> {
        vec![self.kv, self.redis]
    }

    fn judge(&self, transaction: &mut Transaction<'_>, record: &Record, now_ms: u64) -> Result<Option<Dead>> {
        let dead = |owner, is_dead: bool| is_dead.then_some(Dead { owner, is_expired_key: false });
        if record.keyspace == self.redis {
            let (key, _) = redis::decode(&record.key).map_err(|flaw| corrupt(keyspace::REDIS, &record.key, flaw))?;
            let Some((user_key, version)) = redis::decode_key(&self.rows.namespace, &key) else { return Ok(None) };
            let owner = KeyAt::new(SPACE, user_key);
            let is_dead = self.is_left(transaction, &owner, version, now_ms)?;
            return Ok(dead(owner, is_dead));
        }
        let row = self.rows.decode(&record.key).map_err(|flaw| corrupt(keyspace::KV, &record.key, flaw))?;
        let Some(Row { tag, user_key, version, rest }) = row else { return Ok(None) };
        let owner = KeyAt::new(SPACE, user_key);
        if tag == Tag::Meta {
            let key_meta = KeyMeta::decode(&record.value).map_err(|flaw| corrupt(keyspace::KV, &record.key, flaw))?;
            return Ok(self.is_past(&key_meta, now_ms).then_some(Dead { owner, is_expired_key: true }));
        }
        if self.is_left(transaction, &owner, version, now_ms)? {
            return Ok(dead(owner, true));
        }
        let is_stale = tag == Tag::Score && !self.says_the_score(transaction, &owner, version, &rest)?;
        Ok(dead(owner, is_stale))
    }

    fn remove(&self, transaction: &mut Transaction<'_>, record: &Record) -> Result<()> {
        if record.keyspace == self.kv
            && let Ok(Some(Row { tag: Tag::Meta, user_key, .. })) = self.rows.decode(&record.key)
        {
            let at = KeyAt::new(SPACE, user_key);
            // Whatever it is, its rows go with it.
            let old = KeyMeta::decode(&record.value).and_then(|key_meta| key_meta.meta()).ok();
            return self.write(transaction, &at, old.as_ref(), New::Nothing, 0);
        }
        Ok(transaction.delete(record.keyspace, record.key.clone())?)
    }
}

impl Camellia {
    fn is_past(&self, key_meta: &KeyMeta, now_ms: u64) -> bool {
        u64::try_from(key_meta.expire_time).is_ok_and(|at_ms| self.expiry_rules().is_past(at_ms, now_ms))
    }

    /// Whether no key has that version, and none will.
    fn is_left(&self, transaction: &mut Transaction<'_>, at: &KeyAt, version: u64, now_ms: u64) -> Result<bool> {
        let is_owned = self.key_meta(transaction, at)?.is_some_and(|own| own.key_version == version);
        Ok(!is_owned && version.saturating_add(DEAD_AFTER_MS) < now_ms)
    }

    /// Whether a score row's member has that score, as far as it can be read. A row of a collection that is not there yet does.
    pub(super) fn says_the_score(&self, transaction: &mut Transaction<'_>, at: &KeyAt, version: u64, rest: &Bytes) -> Result<bool> {
        if self.key_meta(transaction, at)?.is_none_or(|own| own.key_version != version) {
            return Ok(true);
        }
        let set = self.sorted_set(at, &Collection::empty(Kind::SortedSet, version));
        Ok(!set.read_scores(transaction, vec![set.sub_key(Tag::Score, rest)])?.is_empty())
    }
}

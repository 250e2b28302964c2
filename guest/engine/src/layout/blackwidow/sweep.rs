//! The sweep, by the rules of the original's compaction filters.

use super::records::{DataKey, MetaRecord, decode_string, version_of};
use super::{Blackwidow, Role, SPACE};
use crate::error::{Error, Result};
use crate::layout::pass::{Dead, Judge};
use crate::layout::records::Record;
use crate::layout::{Collection, KeyAt, Kind};
use crate::store::Keyspace;
use crate::transaction::Transaction;
use bytes::Bytes;

/// For so many seconds records without a meta record are left alone: they may be of a collection that is written in several
/// transactions, of which the last one writes the meta record. A collection's version is about the second in which it was begun.
const UNFINISHED_FOR: i64 = 3600;
/// Its writer has to give up some time before.
const WRITTEN_WITHIN: i64 = 3000;

/// Makes sure that the sweep does not take what a writer has written so far for left behind.
pub(super) fn check_age(collection: &Collection, now_ms: u64) -> Result<()> {
    if clock(now_ms) > i64::from(version_of(collection.version)).saturating_add(WRITTEN_WITHIN) {
        return Err(Error::Client(
            format!("ERR the layout blackwidow takes no collection that is loaded for more than {WRITTEN_WITHIN} seconds").into(),
        ));
    }
    Ok(())
}

fn clock(now_ms: u64) -> i64 {
    i64::try_from(now_ms / 1000).unwrap_or(i64::MAX)
}

fn is_past(timestamp: i32, now: i64) -> bool {
    timestamp != 0 && i64::from(timestamp) < now
}

impl Judge for Blackwidow {
    fn keyspaces(&self) -> Vec<Keyspace> {
        // Meta records last: without them it would take longer until their collections' records are known to be dead.
        self.keyspaces.into_iter().rev().collect()
    }

    fn judge(&self, transaction: &mut Transaction<'_>, record: &Record, now_ms: u64) -> Result<Option<Dead>> {
        let now = clock(now_ms);
        let judged = match self.role(record.keyspace) {
            Role::Strings => decode_string(&record.value).map(|(_, timestamp)| dead_key(&record.key, is_past(timestamp, now))),
            Role::Metas(kind) => MetaRecord::decode(kind, &record.value).map(|meta| {
                let is_replaceable = i64::from(meta.version) < now;
                match (is_past(meta.timestamp, now), meta.count) {
                    (_, 0) if is_replaceable => Some(Dead { is_expired_key: false, owner: owner(&record.key) }),
                    (is_past, _) => dead_key(&record.key, is_past && is_replaceable),
                }
            }),
            Role::Data(kind) => return self.judge_data(transaction, kind, record, now),
            Role::Scores => return self.judge_data(transaction, Kind::SortedSet, record, now),
        };
        judged.map_err(|flaw| self.corrupt(record.keyspace, &record.key, flaw))
    }
}

fn owner(key: &Bytes) -> KeyAt {
    KeyAt::new(SPACE, key.clone())
}

fn dead_key(key: &Bytes, is_dead: bool) -> Option<Dead> {
    is_dead.then(|| Dead { is_expired_key: true, owner: owner(key) })
}

impl Blackwidow {
    fn judge_data(&self, transaction: &mut Transaction<'_>, kind: Kind, record: &Record, now: i64) -> Result<Option<Dead>> {
        let data = DataKey::decode(&record.key).map_err(|flaw| self.corrupt(record.keyspace, &record.key, flaw))?;
        let is_dead = match self.meta_record(transaction, kind, &data.key)? {
            None => i64::from(data.version).saturating_add(UNFINISHED_FOR) < now,
            Some(meta) => is_past(meta.timestamp, now) || meta.version > data.version,
        };
        Ok(is_dead.then(|| Dead { is_expired_key: false, owner: owner(&data.key) }))
    }
}

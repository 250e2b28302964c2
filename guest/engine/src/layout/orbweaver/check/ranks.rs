//! The check of trees that tell ranks: each level begins before all members, each node counts what it covers.

use super::cursor::Within;
use super::{Step, after};
use crate::error::{Error, Result};
use crate::layout::Collection;
use crate::layout::orbweaver::{keyspace, rank};
use crate::layout::ranks::{Node, RankRecords};
use crate::store::{Direction, KeyRange};
use crate::transaction::Scan;
use bytes::Bytes;

impl Step<'_, '_, '_> {
    /// Verifies the tree of a sorted set whose members have been verified. Returns where to go on if the step ends before it does.
    pub(super) fn rank_tree(&mut self, meta_key: &Bytes, set: &Collection, mut within: Within) -> Result<Option<Within>> {
        let version = set.version;
        if within.next.is_empty() {
            for level in 1..=set.rank_levels {
                if self.transaction.get(self.layout.rank, &rank::encode_key(version, level, b""))?.is_none() {
                    self.find(keyspace::META, meta_key, format!("its tree of ranks has no first node of level {level}"));
                }
            }
        }
        let range = KeyRange::prefix(&version.to_be_bytes());
        let start = range.start.max(std::mem::take(&mut within.next));
        let mut scan = self.scan(self.layout.rank, &start, range.end);
        while let Some((key, value)) = self.transaction.next(&mut scan)? {
            if self.left == 0 {
                within.next = key.to_vec();
                return Ok(Some(within));
            }
            self.looked_at_one();
            match rank::decode_key(&key).and_then(|(_, level, place)| Ok((level, place, rank::decode_count(&value)?))) {
                Ok((level, ..)) if level > set.rank_levels => self.find(keyspace::RANK, &key, "a level that its tree does not have"),
                Ok((level, place, count)) => self.rank_node(&key, version, level, &Node { place, count })?,
                Err(flaw) => self.find_flaw(keyspace::RANK, &key, flaw),
            }
        }
        Ok(None)
    }

    /// Verifies what a node says of the level below.
    fn rank_node(&mut self, key: &Bytes, version: u64, level: u8, node: &Node) -> Result<()> {
        let layout = self.layout;
        let (keyspace, others) = layout.level(version, level, b"", None);
        let next = self.transaction.first(keyspace, KeyRange { start: after(key), ..others }, Direction::Forward)?;
        // What cannot be read is named when it is its turn.
        let end = next.and_then(|(key, _)| rank::decode_key(&key).ok()).map(|(_, _, place)| place);
        let below = level.saturating_sub(1);
        if below > 0 && self.transaction.get(layout.rank, &rank::encode_key(version, below, &node.place))?.is_none() {
            self.find(keyspace::RANK, key, format!("no node of level {below} begins where it does"));
        }
        let (keyspace, range) = layout.level(version, below, &node.place, end.as_deref());
        let mut scan = Scan::new(keyspace, range, Direction::Forward, self.left);
        let mut counted = 0_u64;
        while let Some((key, value)) = self.transaction.next(&mut scan)? {
            self.looked_at_one();
            match layout.decode(below, &key, &value) {
                Ok((_, members)) => counted = counted.saturating_add(members),
                Err(Error::Corrupt(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if counted != node.count {
            self.find(keyspace::RANK, key, format!("it counts {} members but has {counted}", node.count));
        }
        Ok(())
    }
}

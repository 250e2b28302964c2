//! Questions of scans: what is asked of a structure, as the key of a page that is kept.

use super::gaps::Structure;
use super::options::{PREFIX_BYTES, within_prefix};
use orbweaver_engine::store::{Direction, KeyRange, PageLimit};

/// A scan: a page of a range is asked for.
#[derive(Clone, Copy)]
pub struct Asked<'r> {
    pub range: &'r KeyRange,
    pub direction: Direction,
    pub limit: PageLimit,
}

/// A question of a scan, to which a page is the answer. Its keys begin with the same bytes, as many as name a structure.
pub struct Question {
    /// The first bytes of its keys.
    pub prefix: [u8; PREFIX_BYTES],
    /// No two questions have the same.
    pub bytes: Vec<u8>,
}

impl Question {
    /// The question of a scan within one structure; `None` where it is not within one.
    pub fn new(range: &KeyRange, direction: Direction, limit: PageLimit) -> Option<Self> {
        let prefix = range.start.first_chunk().filter(|_| within_prefix(&range.start, range.end.as_deref(), Some(PREFIX_BYTES)))?;
        let (start, end) = (&range.start, range.end.as_deref().unwrap_or_default());
        let mut bytes = Vec::with_capacity(start.len() + end.len() + 14);
        bytes.push(u8::from(range.after_start) | u8::from(direction == Direction::Reverse) << 1);
        bytes.extend_from_slice(&limit.max_items.to_le_bytes());
        bytes.extend_from_slice(&limit.max_bytes.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(start.len()).ok()?.to_le_bytes());
        bytes.extend_from_slice(start);
        bytes.extend_from_slice(end);
        Some(Self { prefix: *prefix, bytes })
    }

    /// The structure that it concerns.
    pub fn structure(&self, space: u32) -> Structure {
        (space, self.prefix)
    }
}

//! Keys of a bucket, page by page. Both drafts have pages and cursors; the cursors differ.

use crate::Result;
use crate::bindings::orbweaver::engine::keys;
use crate::bindings::orbweaver::engine::types::{Blobs, Filter};
use crate::bucket::{Bucket, DB};
use std::iter;

/// How many keys a page has.
const PAGE: u32 = 1000;

impl Bucket {
    /// A page of keys in byte order, those behind the cursor: the last key of the page before. No cursor comes with the last page.
    ///
    /// # Errors
    /// As in the engine's `keys`.
    pub fn list_after(&self, cursor: Option<String>) -> Result<(Vec<String>, Option<String>)> {
        let mut after = cursor.map(|key| self.name(&key));
        loop {
            // One more than a page, to see whether it is the last.
            let found = keys::list_keys(DB, self.prefix.as_bytes(), after.as_deref(), PAGE.saturating_add(1))?;
            let is_last = found.ends.len() <= PAGE as usize;
            let names: Vec<&[u8]> = pieces(&found).take(PAGE as usize).collect();
            let keys = self.keys(names.iter().copied());
            let cursor = keys.last().cloned();
            if is_last || cursor.is_some() {
                return Ok((keys, cursor.filter(|_| !is_last)));
            }
            // A page of nothing but keys that are not UTF-8: its end is no cursor.
            after = names.last().map(|name| name.to_vec());
        }
    }

    /// A page of keys from a cursor on, in no order. No cursor comes with the last page. A key may come twice if others are
    /// removed meanwhile (`docs/scan.md`).
    ///
    /// # Errors
    /// As in the engine's `keys`.
    pub fn scan(&self, cursor: Option<u64>) -> Result<(Vec<String>, Option<u64>)> {
        let mut cursor = cursor.unwrap_or(0);
        loop {
            let filter = Filter { pattern: Some(pattern(&self.prefix)), count: PAGE };
            let page = keys::scan(DB, cursor, &filter, None)?;
            cursor = page.cursor;
            let keys = self.keys(pieces(&page.elements));
            if cursor == 0 || !keys.is_empty() {
                return Ok((keys, Some(cursor).filter(|cursor| *cursor != 0)));
            }
        }
    }

    /// The keys of the bucket by their names in the engine, without those that are not UTF-8.
    fn keys<'a>(&self, names: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
        let keys = names.filter_map(|name| name.strip_prefix(self.prefix.as_bytes()));
        keys.filter_map(|key| std::str::from_utf8(key).ok()).map(str::to_owned).collect()
    }
}

/// The byte strings in a buffer.
pub(crate) fn pieces(blobs: &Blobs) -> impl Iterator<Item = &[u8]> {
    let starts = iter::once(0).chain(blobs.ends.iter().copied());
    let range = |(start, end): (u32, u32)| blobs.bytes.get(start as usize..end as usize).unwrap_or_default();
    starts.zip(blobs.ends.iter().copied()).map(range)
}

/// A glob pattern for what begins with the prefix.
fn pattern(prefix: &str) -> Vec<u8> {
    let mut pattern = Vec::new();
    for byte in prefix.bytes() {
        if b"*?[]\\".contains(&byte) {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.push(b'*');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_in_an_identifier_stand_for_themselves() {
        assert_eq!(pattern(""), b"*");
        assert_eq!(pattern(r"a*[b]?\:"), br"a\*\[b\]\?\\:*");
    }

    #[test]
    fn pieces_are_cut_at_their_ends() {
        let blobs = Blobs { bytes: b"abc".to_vec(), ends: vec![1, 1, 3] };
        assert_eq!(pieces(&blobs).collect::<Vec<_>>(), [b"a".as_slice(), b"", b"bc"]);
    }
}

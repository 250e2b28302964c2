//! The journal: how a commit is whole that changes several databases.
//!
//! A batch of one database is one write of its log. One of several databases is written into a file of the store's directory first;
//! then each database gets its part, and the file is removed. Whoever opens the store after a crash and finds the file gives
//! their parts to the databases that did not get them: those whose sequence number is still the one from before.
//!
//! ```text
//! file = magic (8) | CRC-32 of what follows (u32) | part ...
//! part = length of the folder (u32) | folder | sequence number before (u64) | length of the batch (u32) | RocksDB's write batch
//! ```
//! Integers are little-endian. A file that is cut short or has another sum was being written at the crash: no database has been
//! touched yet, and it counts for nothing.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Its name in the directory of the store.
pub const FILE: &str = "orbweaver.journal";

const MAGIC: &[u8; 8] = b"orbjrnl1";

/// What one database is to get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The database's folder.
    pub folder: String,
    /// The number of its last change before this one.
    pub sequence: u64,
    /// RocksDB's write batch.
    pub batch: Vec<u8>,
}

/// Writes the journal of a commit; with `sync`, it is on the disk then.
///
/// # Errors
/// Those of the file system: the journal may be there in part, or whole.
pub fn write(directory: &Path, parts: &[Part], sync: bool) -> io::Result<()> {
    let mut body = Vec::new();
    for part in parts {
        push(&mut body, part.folder.as_bytes())?;
        body.extend_from_slice(&part.sequence.to_le_bytes());
        push(&mut body, &part.batch)?;
    }
    let mut file = File::create(directory.join(FILE))?;
    file.write_all(&[MAGIC.as_slice(), &crc32fast::hash(&body).to_le_bytes(), &body].concat())?;
    if sync {
        file.sync_data()?;
        // The name of the file is the directory's.
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

fn push(body: &mut Vec<u8>, piece: &[u8]) -> io::Result<()> {
    let length = u32::try_from(piece.len()).map_err(io::Error::other)?;
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(piece);
    Ok(())
}

/// The parts of the commit that was under way; none where the journal is not there or not whole.
///
/// # Errors
/// Those of the file system.
pub fn read(directory: &Path) -> io::Result<Vec<Part>> {
    match fs::read(directory.join(FILE)) {
        Ok(bytes) => Ok(decode(&bytes).unwrap_or_default()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Removes the journal where there is one.
///
/// # Errors
/// Those of the file system.
pub fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_file(directory.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn decode(bytes: &[u8]) -> Option<Vec<Part>> {
    let (sum, mut body) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<4>()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut parts = Vec::new();
    while !body.is_empty() {
        let folder = String::from_utf8(take(&mut body)?.to_vec()).ok()?;
        let (sequence, rest) = body.split_first_chunk::<8>()?;
        body = rest;
        parts.push(Part { folder, sequence: u64::from_le_bytes(*sequence), batch: take(&mut body)?.to_vec() });
    }
    Some(parts)
}

fn take<'a>(body: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = body.split_first_chunk::<4>()?;
    let (piece, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    *body = rest;
    Some(piece)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn parts() -> Vec<Part> {
        let part = |folder: &str, sequence, batch: &[u8]| Part { folder: folder.into(), sequence, batch: batch.into() };
        vec![part("strings", 7, b"one"), part("hashes", u64::MAX, b"")]
    }

    #[test]
    fn a_journal_reads_back_until_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        for sync in [false, true] {
            write(directory.path(), &parts(), sync).unwrap();
            assert_eq!(read(directory.path()).unwrap(), parts());
        }
        remove(directory.path()).unwrap();
        assert_eq!(read(directory.path()).unwrap(), []);
        remove(directory.path()).unwrap();
    }

    #[test]
    fn a_journal_that_is_not_whole_counts_for_nothing() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &parts(), false).unwrap();
        let whole = fs::read(directory.path().join(FILE)).unwrap();
        for cut in 0..whole.len() {
            fs::write(directory.path().join(FILE), &whole[..cut]).unwrap();
            assert_eq!(read(directory.path()).unwrap(), [], "cut at {cut}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(directory.path().join(FILE), &changed).unwrap();
            assert_eq!(read(directory.path()).unwrap(), [], "changed at {at}");
        }
    }
}

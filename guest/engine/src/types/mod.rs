//! Data-structure logic: functions on a [`crate::db::Db`] with plain arguments and results, one file a subject. The commands, and
//! the typed interfaces, sit on the same functions. A type knows no replies and no bytes of records.

pub mod bitmaps;
pub mod draw;
pub mod encoding;
pub mod geo;
pub mod hashes;
pub mod hyperloglog;
pub mod keys;
pub mod lcs;
pub mod lists;
pub mod payloads;
pub mod random_key;
pub mod range_scans;
pub mod set_algebra;
pub mod sets;
pub mod sort;
pub mod sorted_sets;
pub mod strings;

use crate::few::Few;
use bytes::Bytes;

/// Names as they are given, each once and in byte order.
fn distinct<'n>(names: impl IntoIterator<Item = &'n Bytes>) -> Few<&'n Bytes> {
    let mut names: Few<&Bytes> = names.into_iter().collect();
    names.sort_unstable();
    names.dedup();
    names
}

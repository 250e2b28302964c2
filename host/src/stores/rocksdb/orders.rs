//! What RocksDB keeps of column families: a comparator's name for each, and how their files are compressed.
//!
//! A column family opens only with the comparator that it was written with, so the names must be known before the database is
//! open. RocksDB writes them, with all other options, into a file beside its data whenever it opens or changes a database.

use orbweaver_engine::store::{Order, StoreError};
use rocksdb::Options;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What RocksDB calls plain byte order.
const BYTES: &str = "leveldb.BytewiseComparator";

/// What the newest options file says.
#[derive(Debug, Default)]
pub struct Families {
    /// The orders by name. Column families of which the file says nothing are left out.
    pub orders: BTreeMap<String, Order>,
    /// Whoever wrote the database does not compress its files, perhaps cannot.
    pub uncompressed: bool,
}

/// What is known of the column families of the database in `directory`; nothing where there is no database yet.
///
/// # Errors
/// [`StoreError::UnsupportedOrder`] for a comparator that nobody here knows; [`StoreError::Io`] for a file that cannot be read.
pub fn read(directory: &Path) -> Result<Families, StoreError> {
    let mut families = Families::default();
    let Some(file) = newest_options(directory) else { return Ok(families) };
    let text = fs::read_to_string(directory.join(&file))
        .map_err(|error| StoreError::Io(format!("cannot read {}: {error}", directory.join(&file).display())))?;
    let mut section = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line.strip_prefix("[CFOptions \"").and_then(|rest| rest.strip_suffix("\"]"));
        } else if let (Some(name), Some(comparator)) = (section, line.strip_prefix("comparator=")) {
            let order = if comparator == BYTES { Some(Order::Bytes) } else { Order::from_name(comparator) };
            let unknown = || format!("keyspace {name} in {} is ordered by {comparator}, which is not known here", directory.display());
            families.orders.insert(name.to_owned(), order.ok_or_else(|| StoreError::UnsupportedOrder(unknown()))?);
        } else if section.is_some() && line == "compression=kNoCompression" {
            families.uncompressed = true;
        }
    }
    Ok(families)
}

/// The name of the newest options file of the database in `directory`.
pub fn newest_options(directory: &Path) -> Option<String> {
    let names = fs::read_dir(directory).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbered = names.filter_map(|name| Some((name.strip_prefix("OPTIONS-")?.parse::<u64>().ok()?, name)));
    numbered.max().map(|(_, name)| name)
}

/// Sets the comparator of a column family.
pub fn set(options: &mut Options, order: Order) {
    if order != Order::Bytes {
        options.set_comparator(order.name(), Box::new(move |a, b| order.compare(a, b)));
    }
}

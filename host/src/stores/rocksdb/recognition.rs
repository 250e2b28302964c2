//! Which layout a directory is of: by the names of its databases and column families, and by their comparators.

use super::directory::{Contents, open_error, read_failure};
use super::layout::Layout;
use super::{Db, orders};
use orbweaver_engine::store::{Order, StoreError};
use rocksdb::Options;
use std::path::{Path, PathBuf};

/// Where a store is, and of which layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory that [`super::RocksStore::open`] takes: the one that was named, or one below it.
    pub directory: PathBuf,
    /// Its layout.
    pub layout: Layout,
}

/// Column families that only Blackwidow has.
const BLACKWIDOW_FAMILIES: [&str; 2] = ["data_cf", "member_cf"];

/// Finds the store in a directory: there, or one level below, as in Pika's `db-path` (`db0`) and Ardb's `data-dir` (`rocksdb`). Where
/// there is nothing yet, it is of the layout `wanted`, or of our own.
///
/// Reads only.
///
/// # Errors
/// [`StoreError::Io`] where the directory is of another layout than `wanted`, of none that is known here, not whole, or holds
/// several stores; [`StoreError::UnsupportedOrder`] where a comparator is not known.
pub fn recognise(path: &Path, wanted: Option<Layout>) -> Result<Place, StoreError> {
    let shown = path.display();
    match (find(path)?, wanted) {
        (Some(place), Some(wanted)) if place.layout != wanted => {
            let (directory, found, wanted) = (place.directory.display(), place.layout.name(), wanted.name());
            Err(StoreError::Io(format!(
                "{directory} is of the layout {found}, not {wanted}: leave the layout out, or name another directory"
            )))
        }
        (Some(place), _) => Ok(place),
        (None, Some(layout)) if layout.databases().len() > 1 && !is_empty(path)? => {
            Err(StoreError::Io(format!("{shown} holds other files, and no database of {}: name an empty directory", layout.name())))
        }
        (None, wanted) => Ok(Place { directory: path.to_owned(), layout: wanted.unwrap_or_default() }),
    }
}

fn find(path: &Path) -> Result<Option<Place>, StoreError> {
    if let Some(place) = find_here(path)? {
        return Ok(Some(place));
    }
    let mut below = Vec::new();
    for name in folders(path)?.into_iter().filter(|name| is_usual(name)) {
        below.extend(find_here(&path.join(name))?);
    }
    if below.len() > 1 {
        let names: Vec<String> = below.iter().map(|place| place.directory.display().to_string()).collect();
        return Err(StoreError::Io(format!("{} holds several databases: name one of them, {}", path.display(), names.join(" or "))));
    }
    Ok(below.pop())
}

/// Whether a store is commonly found in a folder of this name.
fn is_usual(name: &str) -> bool {
    let number = name.strip_prefix("db");
    name == "rocksdb" || number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn find_here(path: &Path) -> Result<Option<Place>, StoreError> {
    let contents = Contents::of(path)?;
    let layout = if contents.database {
        of_database(path, contents.data)?
    } else {
        let mut several = Layout::ALL.into_iter().filter(|layout| layout.databases().len() > 1);
        several.find_map(|layout| holds_one_of(path, layout).map(|holds| holds.then_some(layout)).transpose()).transpose()?
    };
    Ok(layout.map(|layout| Place { directory: path.to_owned(), layout }))
}

fn holds_one_of(path: &Path, layout: Layout) -> Result<bool, StoreError> {
    for plan in layout.databases() {
        if Contents::of(&plan.path(path))?.database {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The layout of a directory that is one database; `None` where it holds nothing yet, as after a creation that was interrupted.
fn of_database(path: &Path, data: bool) -> Result<Option<Layout>, StoreError> {
    let names = Db::list_cf(&Options::default(), path).map_err(|error| open_error(path, &error))?;
    let holds = |wanted: &str| names.iter().any(|name| name == wanted);
    if orders::read(path)?.orders.values().any(|order| *order == Order::Ardb) {
        return Ok(Some(Layout::Ardb));
    }
    for layout in [Layout::Camellia, Layout::Orbweaver] {
        if layout.databases().iter().flat_map(|plan| plan.families).take(1).any(|(first, _)| holds(first)) {
            return Ok(Some(layout));
        }
    }
    let shown = path.display();
    if BLACKWIDOW_FAMILIES.into_iter().any(holds) {
        return Err(StoreError::Io(format!(
            "{shown} is one of the five databases of Blackwidow: name the directory that holds all of them"
        )));
    }
    if data {
        let names = names.join(", ");
        return Err(StoreError::Io(format!(
            "{shown} is a RocksDB database of a layout that is not known here; its column families: {names}"
        )));
    }
    Ok(None)
}

fn folders(path: &Path) -> Result<Vec<String>, StoreError> {
    let Ok(entries) = std::fs::read_dir(path) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| read_failure(path, &error))?;
        if entry.path().is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn is_empty(path: &Path) -> Result<bool, StoreError> {
    match std::fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(read_failure(path, &error)),
    }
}

//! Directories of RocksDB databases: whether one is there, whether it is whole, and what a failed open means.

use super::orders;
use orbweaver_engine::store::StoreError;
use rocksdb::ErrorKind;
use std::fs;
use std::io;
use std::path::Path;

/// What a directory holds, as far as its names show it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// RocksDB's file `CURRENT`: there is a database.
    pub database: bool,
    /// Tables, or logs that are not empty: something has been written.
    pub data: bool,
    /// Something that neither belongs to a database nor is left of the creation of one.
    pub others: bool,
}

impl Contents {
    /// Looks at a directory, which may be missing.
    ///
    /// # Errors
    /// [`StoreError::Io`] where it cannot be read, is none, or holds a part of a database only.
    pub fn of(path: &Path) -> Result<Self, StoreError> {
        let mut contents = Self::default();
        match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(read_failure(path, &error)),
            Ok(entries) => {
                for entry in entries {
                    let entry = entry.map_err(|error| read_failure(path, &error))?;
                    contents.add(&entry);
                }
            }
        }
        match missing_part(path, &contents)? {
            Some(part) => Err(not_whole(path, &format!("{part} is missing"))),
            None => Ok(contents),
        }
    }

    fn add(&mut self, entry: &fs::DirEntry) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_numbered = |ending: &str| {
            name.strip_suffix(ending).is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        if name == "CURRENT" {
            self.database = true;
        } else if is_numbered(".sst") {
            self.data = true;
        } else if is_numbered(".log") {
            self.data |= entry.metadata().is_ok_and(|file| file.len() > 0);
        } else if !is_remains(&name) {
            self.others = true;
        }
    }
}

/// What the files of records in a directory take, in bytes; 0 where it cannot be read.
pub fn file_bytes(path: &Path) -> u64 {
    let files = fs::read_dir(path).into_iter().flatten().flatten();
    let records = files.filter(|file| Path::new(&file.file_name()).extension().is_some_and(|ending| ending == "sst"));
    records.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

/// Whether RocksDB leaves a file of this name when it is stopped while it creates a database.
fn is_remains(name: &str) -> bool {
    let begins = ["LOCK", "LOG", "IDENTITY", "MANIFEST-", "OPTIONS-"].iter().any(|start| name.starts_with(start));
    begins || name.ends_with(".dbtmp")
}

/// What is not there though it should be, as in a copy that was not finished. A database that holds nothing yet may lack what RocksDB
/// writes last.
fn missing_part(path: &Path, contents: &Contents) -> Result<Option<String>, StoreError> {
    if !contents.database {
        return Ok(contents.data.then(|| "CURRENT".to_owned()));
    }
    let current = fs::read_to_string(path.join("CURRENT")).map_err(|error| read_failure(path, &error))?;
    let manifest = current.trim();
    if !path.join(manifest).is_file() {
        return Ok(Some(if manifest.is_empty() { "the text of CURRENT".to_owned() } else { manifest.to_owned() }));
    }
    Ok((contents.data && orders::newest_options(path).is_none()).then(|| "the OPTIONS file".to_owned()))
}

/// The error for a directory of which a part is missing.
pub fn not_whole(path: &Path, what: &str) -> StoreError {
    let path = path.display();
    StoreError::Io(format!("{path} is not whole: {what}. Copy the whole directory again, while no program has it open"))
}

/// The error for a directory that cannot be read.
pub fn read_failure(path: &Path, error: &io::Error) -> StoreError {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::PermissionDenied => StoreError::Io(format!("permission denied on {shown}")),
        io::ErrorKind::NotADirectory => StoreError::Io(format!("{shown} is not a directory")),
        _ => StoreError::Io(format!("cannot read {shown}: {error}")),
    }
}

/// What a failed open means. RocksDB tells these cases apart by their texts alone.
pub fn open_error(path: &Path, error: &rocksdb::Error) -> StoreError {
    let (text, shown) = (error.to_string(), path.display());
    let names_missing_table = || text.split([' ', '/', ':']).find(|word| word.ends_with(".sst"));
    if text.contains("lock hold by current process") {
        StoreError::Io(format!("{shown} is open already in this process"))
    } else if text.contains("While lock file") {
        StoreError::Io(format!("{shown} is in use by another process: stop it, or open the directory read-only"))
    } else if text.contains("Permission denied") {
        StoreError::Io(format!("permission denied on {shown}"))
    } else if let (true, Some(table)) = (text.contains("No such file"), names_missing_table()) {
        not_whole(path, &format!("{table} is missing"))
    } else if error.kind() == ErrorKind::Corruption {
        StoreError::Corrupt(format!("{shown}: {text}"))
    } else {
        StoreError::Io(format!("cannot open {shown}: {text}"))
    }
}

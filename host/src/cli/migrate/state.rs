//! How far a migration is: a file, as long as it is not finished.

use super::lines::Position;
use super::loss::Loss;
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The version of the file.
const VERSION: u32 = 2;

/// What a migration was asked to do. Another one does not go on with it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The directory of the source, or its URL without a password.
    pub from: String,
    /// The same of the target.
    pub to: String,
    /// The layout of the target, where it was named.
    pub to_layout: String,
    /// How many dbs there are.
    pub databases: u16,
    /// What may be lost.
    pub lossy: Vec<Loss>,
}

/// A step of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Keys are written.
    Copy,
    /// Everything is written, and compared with the source.
    Compare,
}

/// How far a migration is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    version: u32,
    pub task: Task,
    /// The time that holds for all of it, Unix time in milliseconds: no key expires while it is on its way.
    pub now_ms: u64,
    /// Bytes of the source's dump.
    pub total: u64,
    /// Whether the target's layout cannot hold all.
    pub is_lossy: bool,
    pub phase: Phase,
    /// Bytes of the source's dump that are written.
    pub done: u64,
    /// Where the dump goes on behind them.
    pub position: Position,
}

impl State {
    /// The state before anything is written.
    pub fn new(task: Task, now_ms: u64, total: u64, is_lossy: bool) -> Self {
        Self { version: VERSION, task, now_ms, total, is_lossy, phase: Phase::Copy, done: 0, position: Position::default() }
    }

    /// Reads a state; `None` where there is no such file.
    pub fn read(path: &Path) -> anyhow::Result<Option<Self>> {
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let state: Self = serde_json::from_slice(&text).with_context(|| format!("{} is not the state of a migration", path.display()))?;
        if state.version != VERSION {
            bail!("{} was written by another version of orbweaver", path.display());
        }
        Ok(Some(state))
    }

    /// Writes the state: after a crash the file holds this one or the one before.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let write = || {
            let mut name = path.as_os_str().to_owned();
            name.push(".new");
            let new = PathBuf::from(name);
            let mut file = File::create(&new)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.sync_all()?;
            fs::rename(&new, path)?;
            sync_directory_of(path)
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }

    /// Removes the state of a migration that is finished.
    pub fn remove(path: &Path) -> anyhow::Result<()> {
        let remove = || fs::remove_file(path).and_then(|()| sync_directory_of(path));
        remove().with_context(|| format!("cannot remove {}", path.display()))
    }
}

/// A file that was created, renamed or removed is so on the disk once its directory is.
fn sync_directory_of(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn state() -> State {
        let lossy = vec![Loss::Milliseconds, Loss::LongKeys];
        State::new(Task { from: "old".into(), to: "new".into(), to_layout: "nemo".into(), databases: 16, lossy }, 1, 2, true)
    }

    #[test]
    fn a_state_is_read_back_replaced_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new.migration");
        assert_eq!(State::read(&path).unwrap(), None);
        let first = state();
        first.write(&path).unwrap();
        assert_eq!(State::read(&path).unwrap().as_ref(), Some(&first));
        let second = State { phase: Phase::Compare, done: 2, ..first };
        second.write(&path).unwrap();
        assert_eq!(State::read(&path).unwrap(), Some(second));
        State::remove(&path).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn other_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.migration");
        fs::write(&path, "{}").unwrap();
        assert!(State::read(&path).unwrap_err().to_string().ends_with("x.migration is not the state of a migration"));
        State { version: 1, ..state() }.write(&path).unwrap();
        assert!(State::read(&path).unwrap_err().to_string().ends_with("was written by another version of orbweaver"));
    }
}

//! Folders that hold what tests need from a package registry, as pinned by files of the repository: most are in the cache.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, Result};

/// Holds the pins that a folder was installed by; written last, so that an installation that broke off is done again.
const MARK: &str = "installed-pins";

/// A folder and what is to be in it.
pub struct Installation {
    folder: PathBuf,
    pins: String,
}

impl Installation {
    /// The folder `name` of the cache, to be installed as `pins` (the text of requirement files or lock files) say.
    pub fn new(name: &str, pins: &[&str]) -> Result<Self> {
        Ok(Self { folder: cache_folder()?.join(name), pins: pins.concat() })
    }

    /// A folder elsewhere, to be installed as `pins` say.
    pub fn at(folder: PathBuf, pins: &str) -> Self {
        Self { folder, pins: pins.to_owned() }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Empties the folder and has `install` fill it, unless it is there by the same pins already.
    pub fn install_missing(&self, install: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let mark = self.folder.join(MARK);
        if fs::read_to_string(&mark).is_ok_and(|installed| installed == self.pins) {
            return Ok(());
        }
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).with_context(|| format!("cannot empty {}", self.folder.display()))?;
        }
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {}", self.folder.display()))?;
        install(&self.folder)?;
        fs::write(&mark, &self.pins).with_context(|| format!("cannot write {}", mark.display()))
    }
}

/// `$XDG_CACHE_HOME/orbweaver`, by default `~/.cache/orbweaver` (XDG Base Directory Specification).
fn cache_folder() -> Result<PathBuf> {
    let cache = match env::var_os("XDG_CACHE_HOME") {
        Some(cache) if !cache.is_empty() => PathBuf::from(cache),
        _ => env::home_dir().context("HOME is not set: cannot tell where the cache folder is")?.join(".cache"),
    };
    Ok(cache.join("orbweaver"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn what_is_installed_stays_until_the_pins_change_and_what_broke_off_is_done_again() {
        let folder = env::temp_dir().join(format!("orbweaver-installation-{}", std::process::id()));
        let with = |pins: &str| Installation::at(folder.clone(), pins);
        assert!(with("1").install_missing(|_| bail!("no network")).is_err());
        with("1").install_missing(|folder| Ok(fs::write(folder.join("old"), "")?)).unwrap();
        with("1").install_missing(|_| bail!("it is there")).unwrap();
        with("2").install_missing(|folder| Ok(fs::write(folder.join("new"), "")?)).unwrap();
        assert!(!folder.join("old").exists() && folder.join("new").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}

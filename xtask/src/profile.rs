//! `cargo xtask profile`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::{command, rust, setup};

/// Where the build of the component looks for it (`tools/component`).
const PROFILE: &str = "guest/component.profdata";

/// And how often each piece of the module runs that is made by it.
const BRANCHES: &str = "guest/component.branches";

/// Writes both anew.
pub fn profile() -> Result<()> {
    setup::build()?;
    let llvm_profdata = rust::llvm_tool("llvm-profdata")?;
    let bench = command::build("orbweaver-bench")?;
    let folder = command::target_directory().join("profile");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // What another version of the workload has counted does not belong to this one.
    counted(&folder)?.into_iter().try_for_each(fs::remove_file)?;
    command::run(Command::new(&bench).arg("--train").arg(&folder))?;
    // Not sparse: the counts of what never ran tell the compiler to make it small.
    let mut merge = Command::new(llvm_profdata);
    command::run(merge.args(["merge", "--output"]).arg(command::root().join(PROFILE)).args(counted(&folder)?))?;
    command::run(Command::new(&bench).arg("--train-branches").arg(&folder))?;
    let branches = folder.join("component.branches");
    fs::copy(&branches, command::root().join(BRANCHES)).with_context(|| format!("cannot copy {}", branches.display()))?;
    Ok(())
}

/// The files of counts in a folder.
fn counted(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "profraw")).collect())
}

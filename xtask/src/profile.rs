//! `cargo xtask profile`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::{command, rust, setup};

/// Where the build of the component looks for it (`tools/component`).
const PROFILE: &str = "guest/component.profdata";

/// Writes the profile anew.
pub fn profile() -> Result<()> {
    setup::build()?;
    let llvm_profdata = rust::llvm_tool("llvm-profdata")?;
    let bench = command::build("orbweaver-bench")?;
    let folder = command::target_directory().join("profile");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    command::run(Command::new(bench).arg("--train").arg(&folder))?;
    let counted = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let counted = counted.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "profraw"));
    // Not sparse: the counts of what never ran tell the compiler to make it small.
    let mut merge = Command::new(llvm_profdata);
    command::run(merge.args(["merge", "--output"]).arg(command::root().join(PROFILE)).args(counted))
}

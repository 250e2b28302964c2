//! `cargo xtask run`.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;

use crate::{command, first_build, setup};

/// Builds and starts `orbweaver serve` with the given arguments, in the current folder.
pub fn run(arguments: &[OsString]) -> Result<()> {
    setup::build()?;
    first_build::announce();
    let mut serve = Command::new(command::build("orbweaver")?);
    replace_by(serve.arg("serve").args(arguments))
}

/// Becomes the program: it gets every signal itself.
#[cfg(unix)]
fn replace_by(program: &mut Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;

    use anyhow::Context as _;

    Err(program.exec()).with_context(|| format!("cannot start `{}`", command::line(program)))
}

#[cfg(not(unix))]
fn replace_by(program: &mut Command) -> Result<()> {
    command::run(program)
}

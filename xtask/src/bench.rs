//! `cargo xtask bench`.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;

use crate::{command, first_build, packages, setup, web};

/// Measures Orbweaver in Chromium against code that uses IndexedDB itself.
pub fn browser() -> Result<()> {
    web::web(false)?;
    web::bench()
}

/// Builds and runs the benchmarks. They measure Debian's redis-server too, so they need what the tests need.
pub fn bench(arguments: &[OsString]) -> Result<()> {
    setup::test()?;
    if arguments.iter().any(|argument| argument.to_string_lossy().starts_with("--flame")) {
        packages::install_missing(packages::FLAME.iter())?;
    }
    first_build::announce();
    // The server that is measured, and the program that measures it.
    command::build("orbweaver")?;
    command::run(Command::new(command::build("orbweaver-bench")?).arg("--docs").arg(command::root().join("docs")).args(arguments))
}

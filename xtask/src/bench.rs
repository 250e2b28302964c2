//! `cargo xtask bench`.

use std::ffi::OsString;

use anyhow::Result;

use crate::{command, first_build, setup};

/// Builds and runs the benchmarks. They measure Debian's redis-server too, so they need what the tests need.
pub fn bench(arguments: &[OsString]) -> Result<()> {
    setup::test()?;
    first_build::announce();
    let bench = ["run", "--release", "--package", "orbweaver-bench", "--bin", "orbweaver-bench", "--"];
    command::run(command::cargo().args(bench).args(arguments))
}

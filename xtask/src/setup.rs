//! Set-up: what every verb needs before its real work. Each step is instant when nothing is missing.

use std::path::PathBuf;

use anyhow::Result;

use crate::{examples, packages, python, rust};

/// What building the engine, the component and this workspace's light crates needs.
pub fn light() -> Result<()> {
    rust::install_missing()
}

/// What building RocksDB, and so the server, needs.
pub fn build() -> Result<()> {
    light()?;
    packages::install_missing(packages::BUILD.iter())
}

/// What building the fuzzer needs, which is C++.
pub fn fuzz() -> Result<()> {
    light()?;
    packages::install_missing([&packages::COMPILER].into_iter())
}

/// What running the tests needs; the path of the Python that has what they use from PyPI.
pub fn test() -> Result<PathBuf> {
    light()?;
    packages::install_missing(packages::BUILD.iter().chain(&packages::TEST))?;
    examples::install_missing()?;
    python::install_missing()
}

/// `cargo xtask setup`.
pub fn everything() -> Result<()> {
    test()?;
    println!("Everything that building and testing need is here.");
    Ok(())
}

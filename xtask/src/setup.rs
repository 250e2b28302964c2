//! Set-up: what every verb needs before its real work. Each step is instant when nothing is missing.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{examples, node, packages, python, rust, web};

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

/// What building and testing for browsers needs.
pub fn web() -> Result<()> {
    light()?;
    packages::install_missing(packages::BROWSER.iter())?;
    web::install_missing()
}

/// What the tests use that is not ours.
pub struct TestTools {
    python: python::Environment,
    node_modules: PathBuf,
}

impl TestTools {
    /// Tells a command where they are.
    pub fn name_in<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env("ORBWEAVER_PYTHON", &self.python.python)
            .env("ORBWEAVER_REDIS_PY", &self.python.redis_py)
            .env("ORBWEAVER_NODE_MODULES", &self.node_modules)
    }
}

/// What running the tests needs.
pub fn test() -> Result<TestTools> {
    light()?;
    packages::install_missing(packages::BUILD.iter().chain(&packages::TEST).chain(&packages::BROWSER))?;
    examples::install_missing()?;
    web::install_missing()?;
    Ok(TestTools { python: python::install_missing()?, node_modules: node::install_missing()? })
}

/// `cargo xtask setup`.
pub fn everything() -> Result<()> {
    test()?;
    println!("Everything that building and testing need is here.");
    Ok(())
}

//! `cargo xtask docs`.

use anyhow::Result;

use crate::command;

/// Writes the pages of docs/ that are generated from the engine's tables.
pub fn docs() -> Result<()> {
    command::run(command::cargo().args(["run", "--package", "orbweaver-engine", "--example", "generate_docs"]))
}

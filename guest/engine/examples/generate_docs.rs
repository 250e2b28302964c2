//! Writes `docs/commands.md` from the command table, and `docs/round-trips.md` from what examples of the commands ask of a store.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "shares code with the tests")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/measured/mod.rs"]
mod measured;
#[path = "../tests/round_trips/mod.rs"]
mod round_trips;

use orbweaver_engine::command::reference;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::create_dir_all(&docs)?;
    std::fs::write(docs.join("commands.md"), reference::markdown())?;
    std::fs::write(docs.join("round-trips.md"), round_trips::markdown())
}

//! Writes `docs/commands.md` from the command table.

use orbweaver_engine::command::reference;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::create_dir_all(&docs)?;
    std::fs::write(docs.join("commands.md"), reference::markdown())
}

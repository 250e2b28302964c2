//! Builds the component and precompiles it, so that the host carries both and start-up compiles nothing.

use std::env;
use std::error::Error;
use std::path::PathBuf;

#[path = "src/runtime/config.rs"]
mod config;

fn main() -> Result<(), Box<dyn Error>> {
    let manifest_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let workspace = manifest_dir.parent().ok_or("the package stands in a workspace")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for watched in ["guest", "wit", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(watched).display());
    }
    println!("cargo::rerun-if-changed=src/runtime/config.rs");

    let guest = out.join("guest");
    std::fs::write(out.join("orbweaver.wasm"), orbweaver_component::build(workspace, &guest)?)?;
    // What runs here has deadlines.
    let checked = orbweaver_component::module_with_hints(workspace, &guest)?;
    std::fs::write(out.join("checked.wasm"), &checked)?;

    let engine = wasmtime::Engine::new(config::config().target(&env::var("TARGET")?)?)?;
    std::fs::write(out.join("checked.cwasm"), engine.precompile_module(&checked)?)?;
    Ok(())
}

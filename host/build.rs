//! Builds the component and precompiles it, so that the host carries both and start-up compiles nothing.
//!
//! The guest is a package of this workspace for another target, which cargo cannot build as a dependency: it is built by a cargo
//! of its own, into a target directory of its own.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

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

    let module = build_guest(workspace, &out.join("guest"))?;
    let component = wit_component::ComponentEncoder::default().validate(true).module(&module)?.encode()?;
    std::fs::write(out.join("orbweaver.wasm"), &component)?;

    let engine = wasmtime::Engine::new(config::config().target(&env::var("TARGET")?)?)?;
    std::fs::write(out.join("orbweaver.cwasm"), engine.precompile_component(&component)?)?;
    Ok(())
}

/// The guest's core module.
fn build_guest(workspace: &Path, target_dir: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut cargo = Command::new(env::var("CARGO")?);
    cargo
        .current_dir(workspace)
        .args(["build", "--quiet", "--package", "orbweaver-guest", "--target", "wasm32-unknown-unknown", "--profile", "component"])
        .arg("--target-dir")
        .arg(target_dir);
    // What was meant for the host's build (flags, wrappers such as clippy's) is not meant for the guest's.
    for (name, _) in env::vars().filter(|(name, _)| is_for_the_host(name)) {
        cargo.env_remove(name);
    }
    if !cargo.status()?.success() {
        return Err("the component did not build; is the target there? rustup target add wasm32-unknown-unknown".into());
    }
    Ok(std::fs::read(target_dir.join("wasm32-unknown-unknown/component/orbweaver_guest.wasm"))?)
}

fn is_for_the_host(name: &str) -> bool {
    let kept = ["CARGO", "CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_TERM_COLOR"];
    let rust = ["RUSTFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOCFLAGS", "CLIPPY_ARGS", "TARGET"];
    (name.starts_with("CARGO") && !kept.contains(&name) && !name.starts_with("CARGO_REGISTRIES")) || rust.contains(&name)
}

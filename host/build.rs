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

    let mut config = config::config();
    config.target(&env::var("TARGET")?)?;
    if env::var("CARGO_CFG_TARGET_ARCH")? == "x86_64" {
        use_second_level(&mut config);
    }
    let engine = wasmtime::Engine::new(&config)?;
    std::fs::write(out.join("checked.cwasm"), engine.precompile_module(&checked)?)?;
    Ok(())
}

/// The second level of x86-64, which servers have had since 2009: words of 16 bytes that are shuffled by one instruction, not by a call of the host.
/// On a machine without it the host compiles the module when it starts.
#[expect(unsafe_code, reason = "wasmtime looks whether the processor has them when the code is loaded")]
fn use_second_level(config: &mut wasmtime::Config) {
    for feature in ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"] {
        // SAFETY: these are features of the instruction set that code is made for; no others are changed.
        unsafe { config.cranelift_flag_enable(feature) };
    }
}

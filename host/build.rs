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
        use_features(&mut config)?;
    }
    let engine = wasmtime::Engine::new(&config)?;
    std::fs::write(out.join("checked.cwasm"), engine.precompile_module(&checked)?)?;
    Ok(())
}

/// What code for x86-64 may count on where all of the executable does (`.cargo/config.toml`), in the compiler's words and in wasmtime's: a shuffle of
/// 16 bytes, for one, is an instruction then, and not a call of the host.
const FEATURES: [(&str, &str); 5] =
    [("sse3", "has_sse3"), ("ssse3", "has_ssse3"), ("sse4.1", "has_sse41"), ("sse4.2", "has_sse42"), ("popcnt", "has_popcnt")];

#[expect(unsafe_code, reason = "a feature that the processor lacks would run into instructions that it does not know")]
fn use_features(config: &mut wasmtime::Config) -> Result<(), Box<dyn Error>> {
    let enabled = env::var("CARGO_CFG_TARGET_FEATURE")?;
    for (feature, flag) in FEATURES {
        if enabled.split(',').any(|name| name == feature) {
            // SAFETY: the host is compiled with it, too; and wasmtime loads no code that is made for more than the processor has.
            unsafe { config.cranelift_flag_enable(flag) };
        }
    }
    Ok(())
}

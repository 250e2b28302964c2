//! Builds the store for the browser: the crate `orbweaver-web-store`, and the JavaScript around it.

use anyhow::{Context as _, Result, bail, ensure};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wasm_bindgen_cli_support::Bindgen;

const USAGE: &str = "usage: orbweaver-web FOLDER TARGET-DIRECTORY";

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Leaves `store.js` and `store_bg.wasm` in a folder.
fn build() -> Result<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [out, target_dir] = arguments.as_slice() else { bail!(USAGE) };
    let mut cargo = orbweaver_component::cargo();
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    cargo.args(["build", "--quiet", "--package", "orbweaver-web-store", "--target", "wasm32-unknown-unknown", "--profile", "component"]);
    ensure!(
        cargo.arg("--target-dir").arg(target_dir).status()?.success(),
        "the store did not build; is the target there? rustup target add wasm32-unknown-unknown"
    );
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let module = target_dir.join("wasm32-unknown-unknown/component/orbweaver_web_store.wasm");
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name("store").web(true)?.typescript(false).omit_default_module_path(false);
    bindgen.remove_name_section(true).remove_producers_section(true);
    bindgen.generate(out)
}

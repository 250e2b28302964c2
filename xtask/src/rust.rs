//! The parts of the Rust toolchain that rust-toolchain.toml names.
//!
//! rustup installs them by itself only while RUSTUP_AUTO_INSTALL is on, and only together with the toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command;

/// What the component and the plugins are compiled for.
const TARGETS: [&str; 2] = ["wasm32-unknown-unknown", "wasm32-wasip2"];

/// Adds the targets of WebAssembly, rustfmt and clippy to the toolchain that runs this program.
///
/// rustup hands down the name of that toolchain in RUSTUP_TOOLCHAIN, so the rustup commands need not name it.
pub fn install_missing() -> Result<()> {
    for target in TARGETS {
        if !target_is_installed(target) {
            rustup(&["target", "add", target])?;
        }
    }
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !command::succeeds(command::cargo().args([subcommand, "--version"])) {
            rustup(&["component", "add", component])?;
        }
    }
    Ok(())
}

/// A program of LLVM, of the same version as the compiler's.
pub fn llvm_tool(name: &str) -> Result<PathBuf> {
    let libraries = command::output(Command::new("rustc").args(["--print", "target-libdir"])).context("rustc does not tell its folder")?;
    let tool = Path::new(&libraries).with_file_name("bin").join(name);
    if !tool.exists() {
        rustup(&["component", "add", "llvm-tools"])?;
    }
    Ok(tool)
}

fn target_is_installed(target: &str) -> bool {
    let library = command::output(Command::new("rustc").args(["--print", "target-libdir", "--target", target]));
    library.is_some_and(|library| Path::new(&library).is_dir())
}

fn rustup(arguments: &[&str]) -> Result<()> {
    let mut rustup = Command::new("rustup");
    rustup.args(arguments);
    println!("Installing a missing part of the Rust toolchain: {}", command::line(&rustup));
    command::run(&mut rustup).with_context(|| format!("the Rust toolchain lacks a part that `{}` could not add", command::line(&rustup)))
}

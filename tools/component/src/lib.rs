//! Builds the component: for the host, which carries it, and for the release artefacts.

mod anatomy;
mod calls;
pub mod copies;
pub mod counting;
pub mod deadline;
pub mod hints;
pub mod profile;
mod rewriting;

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::Command;

/// The library of the package `orbweaver-guest`.
const GUEST: &str = "orbweaver_guest";

/// The allocator and what frees results are 6 functions with loops; the engine has thousands.
const MAX_UNCHECKED: usize = 16;

/// Which branches are taken how often, as `cargo xtask profile` has counted: the compiler lays out the component by it.
const PROFILE: &str = "guest/component.profdata";

/// How often each piece of [`module_with_checks`] runs, and what its calls by a table mean, as `cargo xtask profile` has counted: wasmtime lays out the code
/// by it, and such calls are made directly.
const BRANCHES: &str = "guest/component.branches";

/// Builds the component from the package `orbweaver-guest` of `workspace`, with a cargo of its own and a target directory of its
/// own: cargo cannot build a package for another target as a dependency.
///
/// # Errors
/// For people: the target is not installed, the guest does not compile, or it imports what is not in `wit/`.
pub fn build(workspace: &Path, target_dir: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let profile = workspace.join(PROFILE);
    let used = format!("-Cprofile-use={}", profile.to_str().ok_or("the path of the workspace is no UTF-8")?);
    let flags = [
        used.as_str(),
        FEATURES,
        MANGLING,
        NO_VALUES,
        // Code that has changed since is compiled as without a profile: that is no reason to warn whoever changes it.
        "-Cllvm-args=-no-pgo-warn-mismatch",
        // With LLVM's own, 3000, the component is 3% larger and no faster.
        "-Cllvm-args=-hot-callsite-threshold=400",
    ];
    // Without one, `cargo xtask profile` can still make it.
    compile(workspace, target_dir, if profile.exists() { &flags } else { &[FEATURES] }, false)
}

/// Builds a component that counts its branches, as [`build`] does otherwise. Its `maintenance.describe` of the keyspace `profile` gives
/// what it has counted, as a file for `llvm-profdata`.
///
/// # Errors
/// As [`build`].
pub fn build_counting(workspace: &Path, target_dir: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let flags = ["--cfg=orbweaver_profile", "-Cprofile-generate", "-Zno-profiler-runtime", FEATURES, NO_VALUES, MANGLING];
    compile(workspace, target_dir, &flags, true)
}

/// Words of 16 bytes, which WebAssembly has since 2.0 and all runtimes of components have: what is moved and compared is mostly longer than a word of 8.
const FEATURES: &str = "-Ctarget-feature=+simd128";

/// Counts are kept by the names of functions, so both builds must name them alike.
const MANGLING: &str = "-Csymbol-mangling-version=v0";

/// Counts of values, lengths for example, would need LLVM's own runtime, which is not there for this target.
const NO_VALUES: &str = "-Cllvm-args=-disable-vp";

fn compile(workspace: &Path, target_dir: &Path, flags: &[&str], unstable: bool) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut cargo = cargo();
    cargo
        .current_dir(workspace)
        .args(["build", "--quiet", "--package", "orbweaver-guest", "--target", "wasm32-unknown-unknown", "--profile", "component"])
        .arg("--target-dir")
        .arg(target_dir)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    if unstable {
        cargo.env("RUSTC_BOOTSTRAP", "1");
    }
    if !cargo.status()?.success() {
        return Err("the component did not build; is the target there? rustup target add wasm32-unknown-unknown".into());
    }
    encode(target_dir, GUEST)
}

/// The core module of the component that [`build`] has built into `target_dir`, with [checks](deadline) in its loops and
/// [short copies](copies) of its own. Only hosts that give it [`deadline::CHECK`] can run it.
///
/// # Errors
/// For people: it was not built, it is not what checks can be put into, or more than the allocator would be left without.
pub fn module_with_checks(target_dir: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let checked = deadline::with_checks(&read(target_dir, GUEST)?)?;
    if checked.unchecked.len() > MAX_UNCHECKED {
        return Err(format!("loops without checks, in what the canonical ABI's functions reach: {}", checked.unchecked.join(", ")).into());
    }
    copies::with_short_copies(&checked.module)
}

/// What [`module_with_checks`] gives, with [`hints`] of what is rare in it, and with direct calls where one function is mostly meant, as `workspace` has
/// counted it.
///
/// # Errors
/// As [`module_with_checks`]; and for people, where what was counted cannot be read.
pub fn module_with_hints(workspace: &Path, target_dir: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let (module, counted) = (module_with_checks(target_dir)?, workspace.join(BRANCHES));
    // Without it, `cargo xtask profile` can still make it.
    if counted.exists() { hints::with_hints(&module, &std::fs::read(counted)?) } else { Ok(module) }
}

/// Makes a component of a library that was built for `wasm32-unknown-unknown` with the profile `component`.
///
/// # Errors
/// For people: the library was not built, or it imports what its WIT packages do not have.
pub fn encode(target_dir: &Path, library: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    wrap(&read(target_dir, library)?)
}

fn read(target_dir: &Path, library: &str) -> std::io::Result<Vec<u8>> {
    std::fs::read(target_dir.join(format!("wasm32-unknown-unknown/component/{library}.wasm")))
}

fn wrap(module: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    Ok(wit_component::ComponentEncoder::default().validate(true).module(module)?.encode()?)
}

/// A cargo that does not hear what was meant for the build around it: flags, targets, and wrappers such as clippy's.
#[must_use]
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_for_the_build_around)) {
        cargo.env_remove(name);
    }
    cargo
}

fn is_for_the_build_around(name: &str) -> bool {
    let kept = ["CARGO", "CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_TERM_COLOR"];
    let rust = ["RUSTFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOCFLAGS", "CLIPPY_ARGS", "TARGET"];
    (name.starts_with("CARGO") && !kept.contains(&name) && !name.starts_with("CARGO_REGISTRIES")) || rust.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::is_for_the_build_around;

    #[test]
    fn registries_and_the_home_of_cargo_are_kept() {
        for name in ["CARGO_HOME", "CARGO_REGISTRIES_CRATES_IO_PROTOCOL", "PATH", "RUSTUP_TOOLCHAIN"] {
            assert!(!is_for_the_build_around(name), "{name}");
        }
        for name in ["CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC_WORKSPACE_WRAPPER", "TARGET"] {
            assert!(is_for_the_build_around(name), "{name}");
        }
    }
}

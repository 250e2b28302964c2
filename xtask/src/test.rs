//! `cargo xtask test`.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::{command, examples, first_build, fuzz, package, setup, web};

/// One check: a cargo command under a name.
struct Step {
    name: &'static str,
    cargo: &'static str,
}

/// What each step took, by its name.
type Times = Vec<(&'static str, Duration)>;

/// In the dev profile, with its checks for arithmetic overflow; neither RocksDB nor wasmtime is built.
const LIGHT: [Step; 7] = [
    Step { name: "formatting", cargo: "fmt --all --check" },
    // Other workspaces.
    Step { name: "formatting: fuzz targets", cargo: "fmt --manifest-path fuzz/Cargo.toml --check" },
    Step { name: "formatting: plugins", cargo: "fmt --manifest-path plugins/Cargo.toml --all --check" },
    Step { name: "formatting: browser", cargo: "fmt --manifest-path web/Cargo.toml --all --check" },
    Step {
        name: "lints: engine, component",
        cargo: "clippy --package orbweaver-engine --package orbweaver-guest --package orbweaver-component --package xtask --all-targets -- -D warnings",
    },
    Step { name: "tests and examples: engine", cargo: "test --package orbweaver-engine --package xtask" },
    Step { name: "rustdoc: engine", cargo: "doc --no-deps --package orbweaver-engine" },
];

/// The components for WASI hosts, in their own workspace and target directory, and the release artefacts in processes.
const PLUGINS: [Step; 3] = [
    Step { name: "lints: plugins", cargo: "clippy --manifest-path plugins/Cargo.toml --release --workspace --all-targets -- -D warnings" },
    Step {
        name: "lints: redb under WASI",
        cargo: "clippy --manifest-path plugins/Cargo.toml --release --package orbweaver-redb --target wasm32-wasip2 -- -D warnings",
    },
    Step { name: "tests: plugins, artefacts", cargo: "test --manifest-path plugins/Cargo.toml --release --workspace --no-fail-fast" },
];

/// What only browsers get, in its own workspace and target directory.
const BROWSER: [Step; 2] = [
    Step {
        name: "lints: store on IndexedDB",
        cargo: "clippy --manifest-path web/Cargo.toml --package orbweaver-web-store --target wasm32-unknown-unknown -- -D warnings",
    },
    Step { name: "lints: browser tool", cargo: "clippy --manifest-path web/Cargo.toml --package orbweaver-web-tool -- -D warnings" },
];

/// The same scripts on every runtime: prints their table.
const RUNTIMES: Step =
    Step { name: "runtimes agree", cargo: "run --manifest-path plugins/Cargo.toml --release --quiet --package orbweaver-runtimes" };

/// In the release profile, and over the packages of [`command::HOST_PACKAGES`], so that RocksDB and wasmtime are built once for
/// everything.
const HEAVY: [Step; 4] = [
    // By itself, because the tests start the program `orbweaver`, which `cargo test` does not always build.
    Step { name: "build: server", cargo: "build HOST --bin orbweaver" },
    Step { name: "lints: host, tests", cargo: "clippy HOST --all-targets -- -D warnings" },
    Step { name: "tests and examples: all", cargo: "test HOST --no-fail-fast" },
    Step { name: "rustdoc: host", cargo: "doc HOST --no-deps" },
];

/// Runs the steps in order and stops at the first that fails; prints what each one took.
pub fn test(quick: bool) -> Result<()> {
    let mut times = Times::new();
    let result = if quick { light(&mut times) } else { all(&mut times) };
    if !times.is_empty() {
        println!("\n{}", table(&times));
    }
    result
}

fn light(times: &mut Times) -> Result<()> {
    setup::light()?;
    LIGHT.iter().try_for_each(|step| step.run(&mut command::cargo(), times))
}

fn all(times: &mut Times) -> Result<()> {
    let tools = setup::test()?;
    light(times)?;
    plugins(&tools, times)?;
    browser(times)?;
    println!();
    first_build::announce();
    HEAVY.iter().try_for_each(|step| step.run(tools.name_in(&mut command::cargo()), times))?;
    timed("fuzzing", times, || {
        println!("\n=== fuzzing: cargo xtask fuzz");
        fuzz::fuzz(&[], None)
    })?;
    let orbweaver = command::target_directory().join("release/orbweaver");
    RUNTIMES.run(in_plugins(&mut command::cargo(), &tools)?.env("ORBWEAVER_COMMAND", orbweaver), times)?;
    package::print_components()
}

/// Notes what a step took, also where it failed.
fn timed(name: &'static str, times: &mut Times, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    let result = work();
    times.push((name, start.elapsed()));
    result.with_context(|| format!("the step \"{name}\" failed"))
}

fn plugins(tools: &setup::TestTools, times: &mut Times) -> Result<()> {
    timed("release artefacts", times, || {
        println!("\n=== release artefacts: cargo xtask package");
        package::package()
    })?;
    timed("components in JavaScript", times, || examples::transpile(&dist()?))?;
    PLUGINS.iter().try_for_each(|step| step.run(in_plugins(&mut command::cargo(), tools)?, times))
}

fn browser(times: &mut Times) -> Result<()> {
    timed("browser package", times, || {
        println!("\n=== browser package: cargo xtask web");
        web::build()
    })?;
    BROWSER.iter().try_for_each(|step| step.run(command::cargo().env("CARGO_TARGET_DIR", web::target_directory()), times))?;
    timed("types: page", times, || {
        println!("\n=== types: page: tsc --project web");
        web::check_types()
    })?;
    timed("tests: Chromium", times, || {
        println!("\n=== tests: Chromium: node --test web/tests");
        web::test(&dist()?)
    })
}

/// Where `cargo xtask package` has put the release.
fn dist() -> Result<PathBuf> {
    Ok(env::current_dir()?.join(package::FOLDER))
}

/// A cargo of the workspace of the plugins, whose tests run the release.
fn in_plugins<'c>(cargo: &'c mut Command, tools: &setup::TestTools) -> Result<&'c mut Command> {
    cargo.env("CARGO_TARGET_DIR", package::target_directory()).env("ORBWEAVER_DIST", dist()?);
    Ok(tools.name_in(cargo))
}

impl Step {
    fn run(&self, cargo: &mut Command, times: &mut Times) -> Result<()> {
        let line = self.cargo.replace("HOST", command::HOST_PACKAGES);
        println!("\n=== {}: cargo {line}", self.name);
        timed(self.name, times, || {
            command::run(cargo.args(line.split(' ')).current_dir(command::root()).env("RUSTDOCFLAGS", "-D warnings"))
        })
    }
}

/// One line a step, seconds to the right, and their sum.
fn table(times: &[(&str, Duration)]) -> String {
    let total = ("total", times.iter().map(|(_, time)| *time).sum());
    let lines = times.iter().chain([&total]).map(|(name, time)| format!("{name:<28} {:>7.1} s", time.as_secs_f64()));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ends_with_the_sum() {
        let times = [("formatting", Duration::from_millis(1500)), ("lints", Duration::from_secs(61))];
        let expected = "\
            formatting                       1.5 s\n\
            lints                           61.0 s\n\
            total                           62.5 s";
        assert_eq!(table(&times), expected);
    }

    #[test]
    fn a_failed_step_is_named_and_timed() {
        let step = Step { name: "broken", cargo: "no-such-subcommand" };
        let mut times = Times::new();
        let error = step.run(&mut Command::new("false"), &mut times).unwrap_err();
        assert_eq!(format!("{error:#}"), "the step \"broken\" failed: `false no-such-subcommand` failed: exit status: 1");
        assert_eq!(times.len(), 1);
    }
}

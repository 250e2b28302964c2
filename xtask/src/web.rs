//! `cargo xtask web` and `cargo xtask demo`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::installation::Installation;
use crate::{command, node, package, setup};

const LOCK: &str = include_str!("../../web/package-lock.json");

/// Builds the release artefacts, and of them what browsers get; with `sizes`, tells the documentation how large it is.
pub fn web(sizes: bool) -> Result<()> {
    setup::web()?;
    package::package()?;
    build()?;
    if sizes {
        let document = command::root().join("docs/browser.md");
        command::run(Command::new("node").arg(sources().join("sizes.mjs")).arg(folder()?).arg(document))?;
    }
    Ok(())
}

/// Installs jco, wasm-opt and playwright if they are missing or were installed by another lock file.
pub fn install_missing() -> Result<()> {
    let install = |_: &Path| {
        println!("Installing jco, binaryen and playwright-core from npm into web");
        node::install_locked(&sources())
    };
    Installation::at(sources().join("node_modules"), LOCK).install_missing(install).context("cannot install packages from npm")
}

/// Makes the npm package of the component in `dist`, and the page around it.
pub fn build() -> Result<()> {
    let (out, store) = (folder()?, target_directory().join("store"));
    let mut tool = command::cargo();
    tool.args(["run", "--quiet", "--manifest-path"]).arg(sources().join("Cargo.toml")).args(["--package", "orbweaver-web-tool"]);
    command::run(tool.arg("--target-dir").arg(target_directory()).arg("--").arg(&store).arg(target_directory()))?;
    let component = env::current_dir()?.join(package::FOLDER).join("orbweaver.wasm");
    command::run(Command::new("node").arg(sources().join("build.mjs")).arg(component).arg(&store).arg(&out))
}

/// Checks the types of the page's JavaScript, which stand in its comments.
pub fn check_types() -> Result<()> {
    let compiler = sources().join("node_modules/typescript/bin/tsc");
    command::run(Command::new("node").arg(compiler).arg("--project").arg(sources()))
}

/// How long the tests in Chromium may take, in seconds. Playwright waits for a browser that hangs, also at the end.
const TEST_SECONDS: &str = "1500";

/// Tests what [`build`] has made of the release in `dist`, in Chromium.
pub fn test(dist: &Path) -> Result<()> {
    let web = folder()?;
    command::run(Command::new("node").arg(sources().join("tests/prepare.mjs")).arg(dist).arg(&web))?;
    let mut node = within_limits(TEST_SECONDS);
    // Without names, every *.test.mjs of the folder.
    node.args(["node", "--test", "--test-reporter=spec", "--test-concurrency=1"]).current_dir(sources());
    command::run(node.env("ORBWEAVER_WEB", web))
}

/// How long the benchmark in Chromium may take, in seconds.
const BENCH_SECONDS: &str = "900";

/// Prints the table of the benchmark in Chromium.
pub fn bench() -> Result<()> {
    let mut node = within_limits(BENCH_SECONDS);
    command::run(node.arg("node").arg(sources().join("bench/run.mjs")).env("ORBWEAVER_WEB", folder()?))
}

fn within_limits(seconds: &str) -> Command {
    let mut timeout = Command::new("timeout");
    timeout.args(["--kill-after", "30", seconds]);
    timeout
}

/// Builds, and serves the page on the loopback interface until it is interrupted.
pub fn demo(port: u16) -> Result<()> {
    web(false)?;
    command::run(Command::new("node").arg(sources().join("serve.mjs")).arg(folder()?).arg(port.to_string()))
}

/// Where what browsers get is put.
pub fn folder() -> Result<PathBuf> {
    let folder = env::current_dir()?.join(package::FOLDER).join("web");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Where the sources are.
pub fn sources() -> PathBuf {
    command::root().join("web")
}

/// Where their workspace is built: beside what is built here, so that CI keeps both.
pub fn target_directory() -> PathBuf {
    command::target_directory().join("web")
}

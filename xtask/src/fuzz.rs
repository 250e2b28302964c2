//! `cargo xtask fuzz`: the targets of fuzz/, built with coverage by the toolchain of the workspace, and run for a while each.
//!
//! `cargo fuzz` wants a nightly toolchain for its sanitizer. The engine has no unsafe code, so coverage is all that is needed, and that a
//! stable compiler has. `cargo +nightly fuzz run TARGET` works on the same folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{command, setup};

/// What libFuzzer needs to see which way an input has taken, and what it was compared with.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0";

/// How long each target is fuzzed when nobody says, in seconds.
const SECONDS: u64 = 10;
/// Says otherwise, also for `cargo xtask test`.
const SECONDS_VARIABLE: &str = "ORBWEAVER_FUZZ_SECONDS";
/// An input that takes longer, in seconds, counts as a failure.
const INPUT_SECONDS: u32 = 20;

/// Fuzzes the targets of these names, all of them where there is no name.
pub fn fuzz(targets: &[String], seconds: Option<u64>) -> Result<()> {
    setup::fuzz()?;
    let folder = &command::root().join("fuzz");
    let all = all_targets(&folder.join("fuzz_targets"))?;
    if let Some(unknown) = targets.iter().find(|name| !all.contains(name)) {
        bail!("there is no fuzz target {unknown}; there are {}", all.join(", "));
    }
    let seconds = seconds.map_or_else(seconds_of_environment, Ok)?;
    let programs = build(folder)?;
    let chosen = if targets.is_empty() { &all[..] } else { targets };
    for (position, target) in chosen.iter().enumerate() {
        println!("fuzz {}/{}: {target}, the corpus and then {seconds} s", position + 1, chosen.len());
        run(&programs.join(target), target, folder, seconds)?;
    }
    Ok(())
}

fn seconds_of_environment() -> Result<u64> {
    let Some(text) = env::var_os(SECONDS_VARIABLE) else { return Ok(SECONDS) };
    text.to_str().and_then(|text| text.parse().ok()).with_context(|| format!("{SECONDS_VARIABLE} must be a number of seconds"))
}

/// The targets are the files of a folder.
fn all_targets(folder: &Path) -> Result<Vec<String>> {
    let files = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = files.collect::<Result<Vec<_>, _>>()?.into_iter().map(|file| file.path());
    let mut names: Vec<String> = paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}

/// Builds all targets; returns the folder of the programs. It is apart from other builds, whose flags are others.
fn build(folder: &Path) -> Result<PathBuf> {
    let host = host_triple()?;
    let target_directory = command::target_directory().join("fuzz");
    // With a --target, the flags are not for build scripts and procedural macros.
    let arguments = ["build", "--release", "--bins", "--target", &host];
    let mut cargo = command::cargo();
    cargo.args(arguments).arg("--manifest-path").arg(folder.join("Cargo.toml")).arg("--target-dir").arg(&target_directory);
    command::run(cargo.env("RUSTFLAGS", COVERAGE).env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    Ok(target_directory.join(host).join("release"))
}

fn host_triple() -> Result<String> {
    let version = command::output(Command::new("rustc").arg("-vV")).context("rustc does not tell its version")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not tell its host")
}

/// Runs one target: first the kept corpus, then new inputs. What is found goes to a folder of the target directory, where the next run
/// starts from it; the kept corpus stays as it is.
fn run(program: &Path, target: &str, folder: &Path, seconds: u64) -> Result<()> {
    let found = command::target_directory().join("fuzz").join("corpus").join(target);
    let artifacts = folder.join("artifacts").join(target);
    for new in [&found, &artifacts] {
        fs::create_dir_all(new).with_context(|| format!("cannot create {}", new.display()))?;
    }
    let log = found.with_extension("log");
    let output = fs::File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
    let status = Command::new(program)
        .arg(&found)
        .arg(folder.join("corpus").join(target))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .stdout(output.try_clone()?)
        .stderr(output)
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let log = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    ensure!(status.success(), "{}", failure(target, &log));
    println!("  {}", log.lines().rev().find(|line| line.contains("DONE")).unwrap_or("no summary"));
    Ok(())
}

/// What went wrong, from what the program has written.
fn failure(target: &str, log: &str) -> String {
    let panic = log.lines().skip_while(|line| !line.contains("panicked at") && !line.contains("ERROR: libFuzzer"));
    let panic: Vec<&str> = panic.take_while(|line| !line.starts_with("stack backtrace")).take(8).collect();
    let input = log.lines().find_map(|line| line.split_once("Test unit written to ")).map_or("(none)", |(_, path)| path);
    format!(
        "fuzz target {target} failed:\n{}\ninput: {input}\nOnce it is mended, keep the input: move it to fuzz/corpus/{target}/ under a name \
         that says what it was.",
        panic.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_kept_corpus_and_a_row_in_the_manifest() {
        let folder = command::root().join("fuzz");
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let targets = all_targets(&folder.join("fuzz_targets")).unwrap();
        assert!(!targets.is_empty());
        for target in targets {
            assert!(fs::read_dir(folder.join("corpus").join(&target)).unwrap().count() > 0, "{target}");
            assert!(manifest.contains(&format!("name = \"{target}\"\npath = \"fuzz_targets/{target}.rs\"")), "{target}");
        }
    }

    #[test]
    fn a_failure_shows_the_panic_and_the_input() {
        let log = "INFO: Seed: 1\nthread '<unnamed>' panicked at a.rs:1:2:\nleft is not right\nstack backtrace:\n  0: x\n\
                   artifact_prefix='a/'; Test unit written to a/crash-1\n";
        let expected = "fuzz target t failed:\nthread '<unnamed>' panicked at a.rs:1:2:\nleft is not right\ninput: a/crash-1\n\
                        Once it is mended, keep the input: move it to fuzz/corpus/t/ under a name that says what it was.";
        assert_eq!(failure("t", log), expected);
    }
}

//! Where the time of one operation goes in the component on RocksDB: a flame graph, from samples that `perf` takes of this process.
//!
//! `perf` takes every sample twice. Frame pointers lead through the functions of the component, which has no other means of unwinding,
//! and not through RocksDB, which has no frame pointers; tables of unwinding lead through RocksDB and end at the component. So samples
//! within the component count by the former, and all others by the latter.

use crate::in_process::{Subject, rocks_options};
use crate::workload::{Fill, Operation};
use anyhow::{Context as _, Result, anyhow, ensure};
use bytes::Bytes;
use inferno::collapse::Collapse as _;
use inferno::collapse::perf::{Folder, Options};
use inferno::flamegraph;
use orbweaver::runtime::Component;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How long samples are taken.
const SECONDS: &str = "10";
/// Samples a second: no multiple of what a system does regularly.
const FREQUENCY: &str = "997";
/// Calls between two looks at whether `perf` has ended.
const CALLS_IN_A_ROW: usize = 100;
/// Behind the names of functions that were compiled from WebAssembly.
const COMPILED: &str = "_[j]";

/// Draws the flame graph of an operation, `pipeline` requests a call, into the folder `to`. Returns where it is.
pub fn draw(operation: &Operation, pipeline: usize, operations: usize, to: &Path) -> Result<PathBuf> {
    ensure!(!matches!(operation.fill, Fill::Runs(..)), "{} takes away what it finds: it cannot run for long", operation.name);
    let dir = tempfile::tempdir()?;
    let component = Component::load_for_perf().map_err(|error| anyhow!("{error:#}"))?;
    let mut subject = Subject::component(&dir.path().join("data"), &component, rocks_options())?;
    subject.prepare(operation, 0..operation.keys)?;
    let runs = operation.runs(operations) / pipeline * pipeline;
    ensure!(runs > 0, "--operations is below a pipeline of {pipeline}");
    let requests: Vec<Bytes> = (0..runs).step_by(pipeline).map(|from| operation.requests(from..from + pipeline).into()).collect();
    let samples = dir.path().join("samples");
    record(&mut subject, &requests, &samples)?;

    let script = dir.path().join("script");
    let perf = Command::new("perf").args(["script", "--no-inline", "--input"]).arg(&samples).stdout(File::create(&script)?).status()?;
    ensure!(perf.success(), "perf cannot read its own samples");
    // wasmtime wrote it where perf looks for it.
    let _ = fs::remove_file(format!("/tmp/perf-{}.map", std::process::id()));
    let folded = [folded(&script, "frames", true)?, folded(&script, "tables", false)?].concat();
    fs::create_dir_all(to)?;
    let name = operation.name.to_lowercase().replace(' ', "-");
    let path = to.join(format!("flame-{name}-{pipeline}.svg"));
    let mut options = flamegraph::Options::default();
    options.title = format!("{}, {pipeline} in a call: the component on RocksDB", operation.name);
    options.count_name = "nanoseconds of CPU time".to_owned();
    flamegraph::from_lines(&mut options, folded.iter().map(String::as_str), File::create(&path)?).map_err(|error| anyhow!("{error}"))?;
    Ok(path)
}

/// Runs the requests, again and again, while `perf` watches. (Its events have names of the same length: shorter ones it would pad with
/// spaces, behind which the collapser does not find how long a sample is.)
fn record(subject: &mut Subject, requests: &[Bytes], samples: &Path) -> Result<()> {
    let mut perf = Command::new("perf")
        .args(["record", "--quiet", "--freq", FREQUENCY, "--pid", &std::process::id().to_string()])
        .args(["--event", "cpu-clock/call-graph=fp,name=frames/", "--event", "cpu-clock/call-graph=dwarf,name=tables/", "--output"])
        .arg(samples)
        .args(["--", "sleep", SECONDS])
        .stdin(Stdio::null())
        .spawn()
        .context("perf is missing: apt-get install linux-perf")?;
    let mut endless = requests.iter().cycle();
    let status = loop {
        endless.by_ref().take(CALLS_IN_A_ROW).try_for_each(|request| subject.exchange(request))?;
        if let Some(status) = perf.try_wait()? {
            break status;
        }
    };
    ensure!(status.success(), "perf took no samples; it may need: sysctl kernel.perf_event_paranoid=1");
    Ok(())
}

/// The stacks of one kind of samples, one a line, root first: those that end within the component, or all others.
fn folded(script: &Path, event: &str, compiled: bool) -> Result<Vec<String>> {
    let mut options = Options::default();
    options.event_filter = Some(event.to_owned());
    options.annotate_jit = true;
    let mut folded = Vec::new();
    Folder::from(options).collapse_file(Some(script), &mut folded)?;
    let folded = String::from_utf8(folded).context("names of functions are not text")?;
    let within = |line: &&str| line.rsplit_once(' ').is_some_and(|(stack, _)| stack.ends_with(COMPILED));
    Ok(folded.lines().filter(|line| within(line) == compiled).map(readable).collect())
}

/// A stack with names that people read.
fn readable(line: &str) -> String {
    let Some((stack, count)) = line.rsplit_once(' ') else { return line.to_owned() };
    let frames: Vec<String> = stack.split(';').map(frame).collect();
    format!("{} {count}", frames.join(";"))
}

/// A function's name as it is in the source, without what wasmtime puts before it: `wasm[0]::function[7]::`.
fn frame(name: &str) -> String {
    let Some(compiled) = name.strip_suffix(COMPILED) else { return name.to_owned() };
    let symbol = compiled.rsplit_once("]::").map_or(compiled, |(_, symbol)| symbol);
    format!("{:#}{COMPILED}", rustc_demangle::demangle(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_component_have_their_names_and_others_keep_theirs() {
        let folded = "bench;wasm[0]::function[201]::_ZN16orbweaver_engine7session3run4plan17hdd1e8459e6af512eE_[j];rocksdb::Get 12";
        assert_eq!(readable(folded), "bench;orbweaver_engine::session::run::plan_[j];rocksdb::Get 12");
        assert_eq!(frame("component-lift[3]_[j]"), "component-lift[3]_[j]");
    }
}

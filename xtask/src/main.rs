#![cfg_attr(test, allow(clippy::panic, clippy::unwrap_used))]
//! The developer's verbs, `cargo xtask setup | run | test | fuzz | bench | profile | docs | package | web | demo`.

mod bench;
mod command;
mod docs;
mod examples;
mod first_build;
mod fuzz;
mod installation;
mod node;
mod package;
mod packages;
mod profile;
mod python;
mod run;
mod rust;
mod setup;
mod test;
mod web;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Orbweaver's developer verbs. Each one sets up what it needs first.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Find out what building and testing need, and install what is missing
    ///
    /// Installs the Rust targets wasm32-unknown-unknown and wasm32-wasip2, rustfmt and clippy with rustup, Debian packages with
    /// apt-get (as root; otherwise it prints the command and stops with exit code 1), redis-py, wasmtime and componentize-py
    /// from PyPI into a virtual environment in the cache folder, clients of Redis from npm into the cache folder, and jco and
    /// lmdb from npm into examples/node. At once when nothing is missing.
    #[command(after_help = "Example:\n  cargo xtask setup")]
    Setup,

    /// Build the server and start it on an embedded RocksDB
    ///
    /// Builds `orbweaver` in release and runs `orbweaver serve`. The first build takes about 20 minutes on two cores.
    #[command(after_help = "Examples:\n  cargo xtask run\n  \
        cargo xtask run -- --listen 127.0.0.1:7000 --dir /tmp/data --durability always\n  \
        cargo xtask run -- --help")]
    Run {
        /// Arguments of `orbweaver serve`
        #[arg(last = true, value_name = "ARGS")]
        arguments: Vec<OsString>,
    },

    /// Run every check and test, up to the first failure
    ///
    /// Formatting, clippy, the tests of all crates and rustdoc, each with its time.
    #[command(after_help = "Examples:\n  cargo xtask test\n  cargo xtask test --quick")]
    Test {
        /// Only what builds neither RocksDB nor wasmtime: formatting, and the engine's lints, tests and rustdoc
        #[arg(long)]
        quick: bool,
    },

    /// Fuzz the readers of foreign bytes, each target for some seconds after its kept corpus
    ///
    /// Builds the targets of fuzz/ with the workspace's own toolchain; neither cargo-fuzz nor a nightly toolchain is needed.
    #[command(after_help = "Examples:\n  cargo xtask fuzz\n  cargo xtask fuzz commands --seconds 600")]
    Fuzz {
        /// Which ones; all of them when none is named
        #[arg(value_name = "TARGET")]
        targets: Vec<String>,
        /// How long each; without it what ORBWEAVER_FUZZ_SECONDS says, or 10
        #[arg(long)]
        seconds: Option<u64>,
    },

    /// Measure, and print tables of ratios
    ///
    /// Builds in release and runs the crate `bench`: raw RocksDB, the engine compiled natively, the component, and servers beside
    /// redis-server. docs/benchmarks.md shows a run.
    #[command(after_help = "Examples:\n  cargo xtask bench\n  cargo xtask bench --all --write\n  \
        cargo xtask bench --in-process --only SET,GET\n  cargo xtask bench --flame SET:32\n  cargo xtask bench -- --help")]
    Bench {
        /// In Chromium instead, against code that uses IndexedDB itself
        #[arg(long, exclusive = true)]
        browser: bool,
        /// Arguments of the crate `bench`: `-- --help` tells them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        arguments: Vec<OsString>,
    },

    /// Count which branches of the component are taken, for the compiler
    ///
    /// Builds a component that counts, runs every command and what is measured through it, and writes guest/component.profdata, by
    /// which the component is compiled, and then guest/component.branches, by which wasmtime lays out its code and calls are made directly. Due after changes to what
    /// is hot; until then changed functions are compiled as without them.
    #[command(after_help = "Example:\n  cargo xtask profile")]
    Profile,

    /// Write the generated pages of docs/, such as docs/commands.md
    #[command(after_help = "Example:\n  cargo xtask docs")]
    Docs,

    /// Build the release artefacts into dist/
    ///
    /// The component, stores and a command line for any WASI host, compositions of them, the WIT packages, and
    /// checksums. Builds neither RocksDB nor wasmtime. docs/plugins.md describes them.
    #[command(after_help = "Example:\n  cargo xtask package")]
    Package,

    /// Build the npm package and the page into dist/web
    ///
    /// The release's component as JavaScript for browsers, the store on IndexedDB, and the page. docs/browser.md describes them.
    #[command(after_help = "Examples:\n  cargo xtask web\n  cargo xtask web --sizes")]
    Web {
        /// Write the sizes of what was built into docs/browser.md
        #[arg(long)]
        sizes: bool,
    },

    /// Serve the page on the loopback interface
    ///
    /// Builds what `cargo xtask web` builds first.
    #[command(after_help = "Example:\n  cargo xtask demo --port 8080")]
    Demo {
        /// Where to listen on 127.0.0.1
        #[arg(long, default_value_t = 8000)]
        port: u16,
    },
}

fn main() -> ExitCode {
    // Not returned from main, which would add a backtrace where RUST_BACKTRACE is set: these errors are for people.
    match carry_out(Arguments::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(verb: Verb) -> Result<()> {
    match verb {
        Verb::Setup => setup::everything(),
        Verb::Run { arguments } => run::run(&arguments),
        Verb::Test { quick } => test::test(quick),
        Verb::Fuzz { targets, seconds } => fuzz::fuzz(&targets, seconds),
        Verb::Bench { browser: true, .. } => bench::browser(),
        Verb::Bench { arguments, .. } => bench::bench(&arguments),
        Verb::Profile => profile::profile(),
        Verb::Docs => docs::docs(),
        Verb::Package => package::package(),
        Verb::Web { sizes } => web::web(sizes),
        Verb::Demo { port } => web::demo(port),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_declared_without_contradiction() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_follows_two_dashes_reaches_the_server_unread() {
        let parsed = Arguments::try_parse_from(["cargo xtask", "run", "--", "--store", "memory", "--help"]);
        let Ok(Arguments { verb: Verb::Run { arguments } }) = parsed else {
            panic!("the arguments are refused");
        };
        assert_eq!(arguments, ["--store", "memory", "--help"]);
    }

    #[test]
    fn an_option_of_the_server_without_two_dashes_is_refused() {
        assert!(Arguments::try_parse_from(["cargo xtask", "run", "--store", "memory"]).is_err());
    }
}

//! Subcommands, and what becomes of their errors: exit code 0 for success, 1 for a failure, 2 for a wrong command line.

mod check;
mod clock;
mod component;
mod dump;
mod exec;
mod inspect;
mod load;
mod migrate;
mod options;
mod output;
mod records;
mod refused;
mod serve;
mod store;

use clap::{Parser, Subcommand};
use std::fmt;
use std::io;
use std::process::ExitCode;

/// Redis data structures as one WebAssembly component, over RocksDB, PostgreSQL or etcd.
#[derive(Debug, Parser)]
#[command(version, after_help = "Start with `orbweaver serve`, then `redis-cli`. Each subcommand shows examples with --help.")]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Serve a database to redis clients.
    Serve(serve::ServeArgs),
    /// Run one command, or a script, on a database without a server.
    Exec(exec::ExecArgs),
    /// Write every live key as a line of JSON.
    Dump(dump::DumpArgs),
    /// Read what `dump` wrote.
    Load(load::LoadArgs),
    /// Write or read the raw records of a database.
    #[command(subcommand)]
    Records(records::RecordsVerb),
    /// Copy a database into another one, of any layout.
    Migrate(migrate::MigrateArgs),
    /// Show the records of a key, and what each byte of them means.
    Inspect(inspect::InspectArgs),
    /// Verify every record of a database.
    Check(check::CheckArgs),
    /// Write the WebAssembly component that is built into this command.
    Component(component::ComponentArgs),
}

/// The command line asks for something that is not allowed.
#[derive(Debug)]
struct UsageError(String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Runs a subcommand.
pub fn run(cli: Cli) -> ExitCode {
    let outcome = match cli.verb {
        Verb::Serve(args) => serve::serve(&args),
        Verb::Exec(args) => exec::exec(args),
        Verb::Dump(args) => dump::dump(&args),
        Verb::Load(args) => load::load(&args),
        Verb::Records(verb) => records::records(&verb),
        Verb::Migrate(args) => migrate::migrate(&args),
        Verb::Inspect(args) => inspect::inspect(&args),
        Verb::Check(args) => check::check(&args),
        Verb::Component(args) => component::component(&args),
    };
    match outcome {
        Ok(code) => code,
        // Whoever read the output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            if error.is::<UsageError>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

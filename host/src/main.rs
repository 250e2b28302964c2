//! The command `orbweaver`: a server, and tools for its databases.

mod cli;

use clap::Parser;
use std::process::ExitCode;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cli::run(cli::Cli::parse())
}

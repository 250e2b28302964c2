//! A command line on top of the engine: one command from the arguments, or a script on standard input.

mod session;

/// Generated from the WIT packages.
mod bindings {
    wit_bindgen::generate!({
        world: "orbweaver:plugins/command",
        path: ["../../wit/deps/clocks", "../../wit/deps/random", "../../wit/kv", "../../wit/engine", "../wit"],
        generate_all,
    });
}

use bindings::orbweaver::plugins::lifetime;
use session::Session;
use std::env;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: orbweaver-cli.wasm COMMAND [ARGUMENT...]
       orbweaver-cli.wasm < SCRIPT

Runs one command, or without one a script on standard input: a command on each line, with the quotes of redis-cli; blank lines and
lines that begin with # are passed over. Prints replies as redis-cli does: with types and quotes on a terminal, bare otherwise.
Arguments that are not UTF-8 can be given in a script, as \"\\xff\".

The data is in the first folder that the host opens for the program, or in the one that ORBWEAVER_DIR names.
Exit code: 1 if any reply was an error, or if the data cannot be opened.

Examples:
  wasmtime run --dir data orbweaver-cli.wasm SET greeting 'hello world'
  wasmtime run --dir data orbweaver-cli.wasm < script.txt";

fn main() -> ExitCode {
    let words: Vec<Vec<u8>> = env::args_os().skip(1).map(|word| word.into_encoded_bytes()).collect();
    if words.first().is_some_and(|word| word == b"--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let outcome = Session::open().and_then(|session| if words.is_empty() { session.run_script() } else { session.run_one(&words) });
    lifetime::close();
    match outcome {
        Ok(failed) => ExitCode::from(u8::from(failed)),
        Err(error) => {
            eprintln!("orbweaver-cli: {error}");
            ExitCode::FAILURE
        }
    }
}

//! The test-suite of the contract `orbweaver:kv`, as a command: for whoever implements it.

// The engine's own view of an imported store: what is tested is what the engine will see.
#[path = "../../../guest/src/store.rs"]
mod store;
mod subject;

/// Generated from the WIT packages.
mod bindings {
    wit_bindgen::generate!({
        world: "orbweaver:plugins/conformance",
        path: ["../../wit/deps/clocks", "../../wit/deps/random", "../../wit/kv", "../../wit/engine", "../wit"],
        generate_all,
    });
}

use orbweaver_engine::store::StoreError;
use orbweaver_engine::store::conformance::{AFTER_REOPENING, BEFORE_REOPENING, Needs, Subject, TESTS, Test};
use std::env;
use std::process::ExitCode;
use subject::Imported;

const USAGE: &str = "\
Usage: orbweaver-conform.wasm [leave | find]

Tests the store that the component is composed with, or that the host implements, against the contract of orbweaver:kv, and prints
a line for each obligation. The store must be empty, and is empty afterwards.

  (nothing)  every obligation that one conversation with the store can show
  leave      leaves records in the store, for `find` to look for
  find       finds what `leave` left, after the store, or the machine, was started again; removes it

What takes several conversations at once, or a store that is opened again within the process, is listed and not tested.
Exit code: 1 if the store fails an obligation or is not empty.";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        [] => everything(),
        ["leave"] => Imported::empty().and_then(|_| run(&BEFORE_REOPENING, &|| Ok(Box::new(Imported)))),
        ["find"] => run(&AFTER_REOPENING, &|| Ok(Box::new(Imported))).and_then(|passed| Imported::wiped().map(|_| passed)),
        ["--help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => Err(StoreError::Io(USAGE.to_owned())),
    };
    match outcome {
        Ok(passed) => ExitCode::from(u8::from(!passed)),
        Err(error) => {
            eprintln!("orbweaver-conform: {error}");
            ExitCode::FAILURE
        }
    }
}

fn everything() -> Result<bool, StoreError> {
    Imported::empty()?;
    let mut passed = true;
    for test in TESTS {
        passed &= match test.needs {
            Needs::Nothing => run(test, &|| Ok(Box::new(Imported::wiped()?)))?,
            Needs::Threads => untested(test, "takes several conversations at once"),
            Needs::Reopening => untested(test, "run `leave` and `find` in turn"),
        };
    }
    Imported::wiped()?;
    Ok(passed)
}

/// Runs a test and prints how it went; whether it passed.
fn run(test: &Test, fresh: &dyn Fn() -> Result<Box<dyn Subject>, StoreError>) -> Result<bool, StoreError> {
    let outcome = test.run(fresh);
    match &outcome {
        Ok(()) => println!("ok    {}", test.name),
        Err(failure) => println!("FAIL  {failure}"),
    }
    Ok(outcome.is_ok())
}

fn untested(test: &Test, why: &str) -> bool {
    println!("-     {}: {why}", test.name);
    true
}

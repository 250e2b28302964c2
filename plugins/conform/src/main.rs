//! The test-suite of the contract `orbweaver:kv`, as a command: for whoever implements it.

// The engine's own view of an imported store: what is tested is what the engine will see.
#[path = "../../../guest/src/store.rs"]
#[expect(dead_code, reason = "no host ends a transaction for this suite")]
mod store;
mod subject;

/// Generated from the WIT packages, as the engine has them.
mod store_bindings {
    wit_bindgen::generate!({
        world: "orbweaver:plugins/conformance",
        ownership: Borrowing { duplicate_if_necessary: true },
        path: ["../../wit/deps/clocks", "../../wit/deps/random", "../../wit/kv", "../../wit/engine", "../wit"],
        generate_all,
    });
}

use orbweaver_engine::store::StoreError;
use orbweaver_engine::store::conformance::{self, AFTER_REOPENING, BEFORE_REOPENING, Failure, Fresh, Needs, Part, TESTS, Test};
use std::env;
use std::process::ExitCode;
use subject::Imported;

const USAGE: &str = "\
Usage: orbweaver-conform.wasm [leave | find | contend NUMBER OF]

Tests the store that the component is composed with, or that the host implements, against the contract of orbweaver:kv, and prints
a line for each obligation. The store must be empty, and is empty afterwards.

  (nothing)  every obligation that one conversation with the store can show
  leave      leaves records in the store, for `find` to look for
  find       finds what `leave` left, after the store, or the machine, was started again; removes it
  contend    one of OF participants, 2 or more, that use one store at the same time, each an instance with its NUMBER from 0:
             what several conversations show; all of them are started within a minute

What takes several conversations at once, or a store that is opened again within the process, is listed and not tested.
Exit code: 1 if the store fails an obligation or is not empty.";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        [] => everything(),
        ["leave"] => Imported::empty().map(|_| run(&BEFORE_REOPENING, &|| Ok(Box::new(Imported)))),
        ["find"] => {
            let passed = run(&AFTER_REOPENING, &|| Ok(Box::new(Imported)));
            Imported::wiped().map(|_| passed)
        }
        ["contend", number, of] => contend(number, of),
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
            Needs::Nothing => run(test, &|| Ok(Box::new(Imported::wiped()?))),
            Needs::Company => untested(test, "takes several conversations at once, run `contend`"),
            Needs::Threads => untested(test, "takes threads"),
            Needs::Reopening => untested(test, "run `leave` and `find` in turn"),
            Needs::Numbers => untested(test, "takes numbers of pages, which this contract does not have"),
        };
    }
    Imported::wiped()?;
    Ok(passed)
}

/// Takes part in what several instances show; whether this one has seen no failure.
fn contend(number: &str, of: &str) -> Result<bool, StoreError> {
    let (Ok(number), Ok(of)) = (number.parse(), of.parse()) else { return Err(StoreError::Io(USAGE.to_owned())) };
    let outcomes = conformance::contend(&Imported, Part { number, of }).map_err(|failure| StoreError::Io(failure.to_string()))?;
    Ok(outcomes.into_iter().fold(true, |passed, (name, outcome)| print(name, outcome) && passed))
}

/// Runs a test and prints how it went; whether it passed.
fn run(test: &Test, fresh: Fresh<'_>) -> bool {
    print(test.name, test.run(fresh))
}

/// Prints how a test went; whether it passed.
fn print(name: &str, outcome: Result<(), Failure>) -> bool {
    match &outcome {
        Ok(()) => println!("ok    {name}"),
        Err(failure) => println!("FAIL  {failure}"),
    }
    outcome.is_ok()
}

fn untested(test: &Test, why: &str) -> bool {
    println!("-     {}: {why}", test.name);
    true
}

//! An application with a library of each draft, which share one store.

mod draft;
mod draft2;

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = draft::main();
    if code == ExitCode::SUCCESS { draft2::main() } else { code }
}

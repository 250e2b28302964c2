//! Runs the same scripts on every runtime, clocks and randomness held still, and prints the matrix. Exit code 1 where a runtime does
//! not answer byte for byte as the first one, leaves other records, or does not run.

mod compare;
mod runtime;
mod script;

use anyhow::Result;
use compare::differences;
use runtime::{ALL, Outcome, Paths};
use script::Script;
use std::process::ExitCode;

fn main() -> ExitCode {
    match matrix() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the table; whether every cell says `equal`.
fn matrix() -> Result<bool> {
    let paths = Paths::from_environment()?;
    let scripts = script::all(&paths.repository)?;
    let mut rows = vec![row("replies, dumps and raw records", scripts.iter().map(|script| script.name.clone()))];
    let [(reference_name, reference), others @ ..] = &ALL;
    let outcomes = scripts.iter().map(|script| reference.run(&paths, script)).collect::<Result<Vec<_>>>()?;
    rows.push(row("commands", scripts.iter().map(|script| script.commands.len().to_string())));
    rows.push(row("keys left", outcomes.iter().map(|outcome| outcome.dump.len().to_string())));
    rows.push(row("records left", outcomes.iter().map(|outcome| outcome.records.len().to_string())));
    rows.push(row(reference_name, scripts.iter().map(|_| "reference".to_owned())));
    let mut complaints = Vec::new();
    for (name, runtime) in others {
        let cells = scripts.iter().zip(&outcomes).map(|(script, outcome)| {
            let cell = cell(script, outcome, runtime.run(&paths, script));
            cell.unwrap_or_else(|(cell, complaint)| {
                complaints.push(format!("{name}, {}: {complaint}", script.name));
                cell
            })
        });
        rows.push(row(name, cells));
    }
    println!("{}", rows.join("\n"));
    complaints.iter().for_each(|complaint| println!("{complaint}"));
    Ok(complaints.is_empty())
}

/// What the table says, and where it is bad news the whole of it.
fn cell(script: &Script, reference: &Outcome, outcome: Result<Outcome>) -> Result<String, (String, String)> {
    let outcome = outcome.map_err(|error| ("did not run".to_owned(), format!("{error:#}")))?;
    let found = differences(script, reference, &outcome);
    if found.is_empty() {
        return Ok("equal".to_owned());
    }
    let names: Vec<&str> = found.iter().map(|difference| difference.what).collect();
    let details: Vec<&str> = found.iter().map(|difference| difference.detail.as_str()).collect();
    Err((format!("other {}", names.join(", ")), details.join("; ")))
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> String {
    format!("{name:<40}") + &cells.map(|cell| format!(" {cell:>11}")).collect::<String>()
}

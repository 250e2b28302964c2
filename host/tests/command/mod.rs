//! The command `orbweaver` as a process.
#![allow(dead_code, reason = "every test file uses a part of it")]

use orbweaver_tests::orbweaver_server::executable;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What a tool came to.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Starts `orbweaver` in `dir`.
pub fn start(dir: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(executable());
    command.current_dir(dir).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs `orbweaver` in `dir`, with `input` on its standard input.
pub fn run_with(dir: &Path, args: &[&str], input: &str) -> Ran {
    let mut child = start(dir, args);
    // A tool that ends early does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

pub fn run(dir: &Path, args: &[&str]) -> Ran {
    run_with(dir, args, "")
}

/// Runs a tool that must succeed, and returns what it printed.
pub fn good(dir: &Path, args: &[&str]) -> String {
    let ran = run(dir, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    ran.out
}

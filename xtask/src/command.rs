//! Running other programs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// What every build of RocksDB and wasmtime selects: another selection means other features of some shared crate, and with them
/// another build of twenty minutes. The component is built for its own target, by the host's build script.
pub const HOST_PACKAGES: &str = "--release --workspace --exclude orbweaver-guest";

/// Builds a program of the workspace, and returns where it is.
pub fn build(program: &str) -> Result<PathBuf> {
    run(cargo().arg("build").args(HOST_PACKAGES.split(' ')).args(["--bin", program]))?;
    Ok(target_directory().join("release").join(program))
}

/// Where cargo puts what it builds: this program runs as TARGET_DIRECTORY/debug/xtask, wherever that was told to be.
pub fn target_directory() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    program.parent().and_then(Path::parent).unwrap_or(Path::new("target")).to_owned()
}

/// The root of the workspace, whatever folder cargo was called in.
pub fn root() -> PathBuf {
    let own = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    own.as_deref().and_then(Path::parent).unwrap_or(Path::new(".")).to_owned()
}

/// The cargo that runs this program, so that a toolchain chosen with `cargo +NAME xtask` is kept.
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// Runs a program with our own input and output; an error names the command line and how it ended.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", line(command)))?;
    ensure!(status.success(), "`{}` failed: {status}", line(command));
    Ok(())
}

/// Whether a program can be started and succeeds; what it prints is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// What a program prints on standard output, without white space around it; none if it cannot be started or fails.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command line for people to read and repeat, cargo by its plain name.
pub fn line(command: &Command) -> String {
    let program = command.get_program();
    let program = if Some(program) == env::var_os("CARGO").as_deref() { "cargo".into() } else { program.to_string_lossy() };
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_command_line_and_the_exit_code() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c exit 3` failed: exit status: 3");
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error_and_no_success() {
        let error = run(&mut Command::new("orbweaver-no-such-program")).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `orbweaver-no-such-program`");
        assert!(!succeeds(&mut Command::new("orbweaver-no-such-program")));
    }

    #[test]
    fn the_output_of_a_failed_program_is_none() {
        assert_eq!(output(Command::new("sh").args(["-c", "echo yes"])).as_deref(), Some("yes"));
        assert_eq!(output(Command::new("sh").args(["-c", "echo yes; exit 1"])), None);
    }
}

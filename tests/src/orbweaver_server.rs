//! The built `orbweaver serve`, as its users run it.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use orbweaver_engine::resp::Value;
use tempfile::TempDir;

use crate::client::Args;
use crate::process::ServerProcess;
use crate::target::{SocketTarget, Target};

/// The environment variable that names another `orbweaver` executable than the one beside the tests.
pub const EXECUTABLE: &str = "ORBWEAVER_EXECUTABLE";

/// The `orbweaver` command that is under test: the one built in the same profile as the tests, or what [`EXECUTABLE`] names.
///
/// # Panics
/// When it has not been built.
#[must_use]
pub fn executable() -> PathBuf {
    let path = std::env::var_os(EXECUTABLE).map_or_else(beside_this_program, PathBuf::from);
    assert!(path.is_file(), "{} is missing: `cargo xtask test` builds it; or name another in {EXECUTABLE}", path.display());
    path
}

/// Programs lie in `target/PROFILE`, tests in `target/PROFILE/deps`.
fn beside_this_program() -> PathBuf {
    let program = std::env::current_exe().expect("a program knows its own path");
    let folder = program.parent().expect("a program lies in a directory");
    let profile = if folder.ends_with("deps") { folder.parent().expect("deps lies in a profile's directory") } else { folder };
    profile.join("orbweaver")
}

/// A running `orbweaver serve`. It is killed when dropped.
pub struct OrbweaverServer {
    process: ServerProcess,
}

impl OrbweaverServer {
    /// Starts a server on a free loopback port whose data lies in `dir` (logs beside it, in `dir` with the extension `log`), with
    /// `options` such as `["--store", "rocksdb", "--durability", "always"]`.
    ///
    /// # Panics
    /// When the command is not built, or does not come up.
    #[must_use]
    pub fn start(dir: &Path, options: &[&str]) -> Self {
        let command = |address: SocketAddr| {
            let mut command = Command::new(executable());
            command.arg("serve").arg("--dir").arg(dir).args(["--listen", &address.to_string()]).args(options);
            command
        };
        Self { process: ServerProcess::start(command, "listening on ", &dir.with_extension("log")) }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }

    /// The process itself, to look at its log or its id.
    #[must_use]
    pub fn process(&mut self) -> &mut ServerProcess {
        &mut self.process
    }

    /// SIGKILL. Start another on the same directory to see what is left.
    pub fn kill(self) {
        self.process.kill();
    }

    /// SIGTERM, and waits for the end.
    pub fn terminate(self) -> ExitStatus {
        self.process.terminate()
    }
}

/// A server with an empty directory of its own, as a target.
pub struct ServedTarget {
    target: SocketTarget,
    server: OrbweaverServer,
    _dir: TempDir,
}

impl ServedTarget {
    /// Starts a server with `options`, such as `["--store", "rocksdb"]`, that leaves durability to the system.
    ///
    /// # Panics
    /// As [`OrbweaverServer::start`].
    #[must_use]
    pub fn start(options: &[&str]) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let server = OrbweaverServer::start(&dir.path().join("data"), &[options, &["--durability", "os"]].concat());
        Self { target: SocketTarget::new(server.address()), server, _dir: dir }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

impl Target for ServedTarget {
    fn reset(&mut self) -> io::Result<()> {
        self.target.reset()
    }

    fn execute(&mut self, connection: usize, commands: &[&Args]) -> io::Result<Vec<Value>> {
        self.target.execute(connection, commands)
    }
}

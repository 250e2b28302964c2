//! Debian's `redis-server`, the reference for every reply.

use std::net::SocketAddr;
use std::process::Command;

use tempfile::TempDir;

use crate::process::ServerProcess;

/// A redis-server that keeps everything in memory. It is killed when dropped.
pub struct RedisServer {
    process: ServerProcess,
    _dir: TempDir,
}

impl RedisServer {
    /// Starts a server on a free loopback port with `options` (as on its command line) beside those that switch persistence off.
    ///
    /// # Panics
    /// When `redis-server` is not installed (Debian package `redis-server`) or does not come up.
    #[must_use]
    pub fn start(options: &[&str]) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let command = |address: SocketAddr| {
            let mut command = Command::new("redis-server");
            command
                .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
                // It ends the waits of blocking commands at its ticks only: 10 a second by default.
                .args(["--save", "", "--appendonly", "no", "--hz", "500", "--dir"])
                .arg(dir.path())
                .args(options);
            command
        };
        let process = ServerProcess::start(command, "Ready to accept connections", &dir.path().join("log"));
        Self { process, _dir: dir }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }
}

//! A server as a child process on a free loopback port.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::client::{Client, args};

/// A server has this long until it answers its first PING, and until it has stopped after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(60);
/// A port that was free may be taken, by another test or a connection, when the server comes to it: so many are tried.
const PORTS_TRIED: usize = 8;

/// A loopback address that nobody listens on at the moment.
///
/// # Errors
/// When the system has no free port.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// A running server. Dropping it kills it.
pub struct ServerProcess {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl ServerProcess {
    /// Starts what `command` says for a free loopback address, on which it must listen, and waits until it has written `up`, as it does
    /// when it listens, and answers a PING: an answer alone may be that of another server, which was faster to take the port. Its output
    /// goes to the end of `log`.
    ///
    /// # Panics
    /// When the program cannot be started, or does not answer in time: the text shows its output.
    #[must_use]
    pub fn start(command: impl Fn(SocketAddr) -> Command, up: &str, log: &Path) -> Self {
        for _ in 0..PORTS_TRIED {
            let address = free_address().expect("a free port");
            let mut output = File::options().create(true).append(true).open(log).expect("the log file can be opened");
            let begin = output.seek(SeekFrom::End(0)).expect("the log file has an end");
            let errors = output.try_clone().expect("the log file can be opened twice");
            let mut command = command(address);
            let child = command
                .stdin(Stdio::null())
                .stdout(output)
                .stderr(errors)
                .spawn()
                .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
            let mut server = Self { child, address, log: log.to_owned() };
            if server.comes_up(up, usize::try_from(begin).expect("a log fits into memory")) {
                return server;
            }
        }
        panic!("{PORTS_TRIED} free ports were taken before a server listened on them");
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What the server has written to its standard output and error.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Whether the process still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// SIGKILL: the server gets no chance to finish anything.
    pub fn kill(mut self) {
        self.kill_and_wait();
    }

    /// SIGSTOP: the server does nothing until it is [resumed](Self::resume), while its sockets take what clients send.
    ///
    /// # Panics
    /// When the server does not run any more.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// SIGCONT.
    ///
    /// # Panics
    /// When the server does not run any more.
    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("process ids are small");
        kill(Pid::from_raw(id), signal).expect("the server runs");
    }

    /// SIGTERM, then waits for the server to stop by itself.
    ///
    /// # Panics
    /// When the server has not stopped in time.
    pub fn terminate(mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.wait_for_exit()
    }

    /// Waits for a server that was told to stop (by SHUTDOWN).
    ///
    /// # Panics
    /// When the server has not stopped in time.
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("the server is our child") {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "the server did not stop; it wrote:\n{}", self.log());
            sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the server has written `up` behind the first `begin` bytes of its log, and answers: false where its port is taken.
    fn comes_up(&mut self, up: &str, begin: usize) -> bool {
        let start = Instant::now();
        loop {
            // Asked first, so that all that a stopped server wrote is in the log.
            let running = self.is_running();
            let log = self.log();
            let written = log.get(begin..).unwrap_or_default();
            if !running && written.contains("Address already in use") {
                return false;
            }
            assert!(running, "the server stopped while starting; it wrote:\n{log}");
            if written.contains(up) && Client::connect(self.address).and_then(|mut client| client.call(&args(["PING"]))).is_ok() {
                return true;
            }
            assert!(start.elapsed() < PATIENCE, "the server does not answer; it wrote:\n{log}");
            sleep(Duration::from_millis(10));
        }
    }

    fn kill_and_wait(&mut self) {
        // Fails when it has stopped already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill_and_wait();
    }
}

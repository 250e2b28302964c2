//! A server of PostgreSQL.

use crate::free_ports;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long the server may take to serve.
const PATIENCE: Duration = Duration::from_secs(60);
const NAP: Duration = Duration::from_millis(20);

/// A server's certificate and its key, in PEM.
#[derive(Clone, Debug)]
pub struct PostgresTls {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// A server of PostgreSQL on loopback. The superuser needs no password, which saves the time of checking it; others do.
pub struct PostgresServer {
    port: u16,
    directory: TempDir,
    arguments: Vec<String>,
    process: Option<Child>,
    owner: Owner,
}

/// Who runs the server: it does not run as root.
#[derive(Clone, Copy)]
struct Owner {
    uid: u32,
    gid: u32,
}

impl PostgresServer {
    /// Starts a server with further `settings`, such as `fsync=off`, and waits until it serves.
    ///
    /// # Errors
    /// Where PostgreSQL is not installed, or does not come up within a minute.
    pub fn start(settings: &[&str]) -> io::Result<Self> {
        Self::launch(settings, None)
    }

    /// Starts a server that takes connections with TLS alone.
    ///
    /// # Errors
    /// As [`PostgresServer::start`].
    pub fn start_with_tls(tls: &PostgresTls) -> io::Result<Self> {
        Self::launch(&["ssl=on", "ssl_cert_file=server.crt", "ssl_key_file=server.key"], Some(tls))
    }

    fn launch(settings: &[&str], tls: Option<&PostgresTls>) -> io::Result<Self> {
        let [port] = free_ports()?;
        let directory = tempfile::tempdir()?;
        let owner = Owner::find(directory.path())?;
        chown(directory.path(), Some(owner.uid), Some(owner.gid))?;
        let data = directory.path().join("data");
        let mut command = owner.command("initdb")?;
        command.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "-D"]);
        let made = command.arg(&data).output()?;
        if !made.status.success() {
            return Err(io::Error::other(format!("initdb: {}", String::from_utf8_lossy(&made.stderr))));
        }
        let mut arguments = vec![format!("port={port}"), "listen_addresses=127.0.0.1".into(), "max_connections=200".into()];
        arguments.push(format!("unix_socket_directories={}", directory.path().display()));
        arguments.extend(settings.iter().map(|&setting| setting.to_owned()));
        let host = if tls.is_some() { "hostssl" } else { "host" };
        let access = format!("{host} all postgres 127.0.0.1/32 trust\n{host} all all 127.0.0.1/32 scram-sha-256\n");
        std::fs::write(data.join("pg_hba.conf"), access)?;
        if let Some(tls) = tls {
            owner.write(&data.join("server.crt"), &tls.certificate)?;
            owner.write(&data.join("server.key"), &tls.key)?;
        }
        let mut server = Self { port, directory, arguments, process: None, owner };
        server.revive()?;
        Ok(server)
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The URL for the superuser, with these options: `schema=mine&pool=4`.
    #[must_use]
    pub fn url(&self, options: &str) -> String {
        Self::url_by("127.0.0.1", self.port, options)
    }

    /// The URL by another address, such as that of a proxy.
    #[must_use]
    pub fn url_by(host: &str, port: u16, options: &str) -> String {
        format!("postgres://postgres@{host}:{port}/postgres?{options}")
    }

    /// Ends the server as a power failure does (SIGKILL).
    ///
    /// # Errors
    /// Where the system does not end it.
    pub fn kill(&mut self) -> io::Result<()> {
        match self.process.take() {
            Some(mut process) => {
                process.kill()?;
                process.wait().map(drop)
            }
            None => Ok(()),
        }
    }

    /// Starts the server again with the data that it has, and waits until it serves.
    ///
    /// # Errors
    /// As [`PostgresServer::start`].
    pub fn revive(&mut self) -> io::Result<()> {
        let start = Instant::now();
        loop {
            self.run()?;
            if self.comes_up(start)? {
                return Ok(());
            }
            // Processes of the server that was killed may still end.
            if start.elapsed() > PATIENCE {
                return Err(io::Error::other(format!("PostgreSQL does not come up: {}", self.log())));
            }
            sleep(NAP);
        }
    }

    /// Runs SQL as the superuser.
    ///
    /// # Errors
    /// Where the server refuses it.
    pub fn run_sql(&self, sql: &str) -> io::Result<()> {
        let mut command = self.owner.command("psql")?;
        command.args(["-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres", "-p", &self.port.to_string(), "-c", sql]);
        let told = command.output()?;
        if told.status.success() { Ok(()) } else { Err(io::Error::other(String::from_utf8_lossy(&told.stderr))) }
    }

    /// What the server has logged.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn run(&mut self) -> io::Result<()> {
        let log = File::options().create(true).append(true).open(self.directory.path().join("log"))?;
        let mut command = self.owner.command("postgres")?;
        command.arg("-D").arg(self.directory.path().join("data"));
        for argument in &self.arguments {
            command.args(["-c", argument]);
        }
        self.process = Some(command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?);
        Ok(())
    }

    /// Waits until the server serves. False where it has ended.
    fn comes_up(&mut self, start: Instant) -> io::Result<bool> {
        while start.elapsed() < PATIENCE {
            if self.process.as_mut().map(Child::try_wait).transpose()?.flatten().is_some() {
                return Ok(false);
            }
            let mut ready = self.owner.command("pg_isready")?;
            if ready.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]).status()?.success() {
                return Ok(true);
            }
            sleep(NAP);
        }
        Ok(false)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // An immediate shutdown: the server ends its own processes, which a kill would leave behind for a moment.
        let told = Command::new("kill").args(["-QUIT", &process.id().to_string()]).status();
        if !told.is_ok_and(|status| status.success()) {
            process.kill().unwrap_or(());
        }
        process.wait().map(drop).unwrap_or(());
    }
}

impl Owner {
    /// The user who runs this, or `postgres` where that is root.
    fn find(own: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(own)?;
        if metadata.uid() != 0 {
            return Ok(Self { uid: metadata.uid(), gid: metadata.gid() });
        }
        let id = |option: &str| {
            let told = Command::new("id").args([option, "postgres"]).output()?;
            String::from_utf8_lossy(&told.stdout).trim().parse().map_err(|_| io::Error::other("there is no user postgres"))
        };
        Ok(Self { uid: id("-u")?, gid: id("-g")? })
    }

    /// A program of PostgreSQL, run by this user. Debian keeps most of them away from the path.
    fn command(self, program: &str) -> io::Result<Command> {
        let mut versions: Vec<PathBuf> = match std::fs::read_dir("/usr/lib/postgresql") {
            Ok(directory) => directory.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?,
            Err(_) => Vec::new(),
        };
        versions.sort();
        let installed = versions.iter().rev().map(|version| version.join("bin").join(program)).find(|path| path.exists());
        let mut command = Command::new(installed.unwrap_or_else(|| program.into()));
        command.uid(self.uid).gid(self.gid).current_dir("/");
        Ok(command)
    }

    /// Writes a file that nobody else reads.
    fn write(self, path: &Path, text: &str) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(path, text)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        chown(path, Some(self.uid), Some(self.gid))
    }
}

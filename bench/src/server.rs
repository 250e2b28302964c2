//! Servers that are measured: `orbweaver serve` on RocksDB, and redis-server with an append-only file.

use crate::workload::Piece;
use anyhow::{Context as _, Result, ensure};
use orbweaver_engine::resp::Value;
use orbweaver_tests::client::Client;
use orbweaver_tests::orbweaver_server::{OrbweaverServer, executable};
use orbweaver_tests::redis_server::RedisServer;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// A running server.
pub struct Server {
    pub name: String,
    pub address: SocketAddr,
    process: Process,
    /// It ends with the value.
    _running: Running,
}

enum Running {
    Orbweaver(#[expect(dead_code, reason = "ends the server")] OrbweaverServer),
    Redis(#[expect(dead_code, reason = "ends the server")] RedisServer),
}

/// The options of a server that writes its log once a second.
pub const EVERYSEC: [&str; 4] = ["--store", "rocksdb", "--durability", "everysec"];

impl Server {
    /// `orbweaver serve` on the database in `dir`, with so many workers: as many as it likes where none is said.
    pub fn orbweaver(dir: &Path, workers: Option<usize>) -> Result<Self> {
        let count = workers.map(|count| count.to_string());
        let mut options = EVERYSEC.to_vec();
        if let Some(count) = &count {
            ensure!(has_workers()?, "this orbweaver has no option --workers");
            options.extend(["--workers", count]);
        }
        let mut server = OrbweaverServer::start(dir, &options);
        let name = count.map_or_else(|| "orbweaver".to_owned(), |count| format!("orbweaver, {count} workers"));
        Ok(Self { name, address: server.address(), process: Process::new(server.process().id()), _running: Running::Orbweaver(server) })
    }

    /// Debian's redis-server, which writes its append-only file through once a second.
    pub fn redis() -> Result<Self> {
        let server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "everysec"]);
        let address = server.address();
        let info = Client::connect(address)?.call(&[b"INFO".to_vec(), b"server".to_vec()])?;
        let Value::Bulk(info) = info else { anyhow::bail!("redis-server does not tell of itself") };
        let info = String::from_utf8_lossy(&info).into_owned();
        let id = info.lines().find_map(|line| line.strip_prefix("process_id:")?.trim().parse().ok());
        let process = Process::new(id.context("redis-server does not tell its process id")?);
        Ok(Self { name: "redis everysec".to_owned(), address, process, _running: Running::Redis(server) })
    }

    /// Sends requests, and waits for their replies, a piece at a time.
    pub fn send(&self, mut pieces: impl Iterator<Item = Piece>) -> Result<()> {
        let mut client = Client::connect(self.address)?;
        pieces.try_for_each(|piece| send(&mut client, &piece))
    }

    /// The CPU time that it has taken, in seconds.
    pub fn cpu_seconds(&mut self) -> f64 {
        self.process.refresh();
        self.process.get().map_or(f64::NAN, |process| process.accumulated_cpu_time() as f64 / 1000.0)
    }

    /// Its resident memory, in bytes.
    pub fn resident_bytes(&mut self) -> f64 {
        self.process.refresh();
        self.process.get().map_or(f64::NAN, |process| process.memory() as f64)
    }
}

/// Sends requests on one connection, and waits for their replies.
pub fn send(client: &mut Client, piece: &Piece) -> Result<()> {
    client.send_raw(&piece.bytes)?;
    for _ in 0..piece.requests {
        let reply = client.read_reply()?;
        ensure!(!matches!(reply, Value::Error(_)), "a server refused a command: {reply:?}");
    }
    Ok(())
}

fn has_workers() -> Result<bool> {
    let help = Command::new(executable()).args(["serve", "--help"]).output().context("cannot start orbweaver")?;
    Ok(String::from_utf8_lossy(&help.stdout).contains("--workers"))
}

/// A process that is looked at.
struct Process {
    id: Pid,
    system: System,
}

impl Process {
    fn new(id: u32) -> Self {
        Self { id: Pid::from_u32(id), system: System::new() }
    }

    fn refresh(&mut self) {
        let what = ProcessRefreshKind::nothing().with_cpu().with_memory();
        self.system.refresh_processes_specifics(ProcessesToUpdate::Some(&[self.id]), true, what);
    }

    fn get(&self) -> Option<&sysinfo::Process> {
        self.system.process(self.id)
    }
}

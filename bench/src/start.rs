//! From the start of `orbweaver serve` on an existing database to its first reply.

use crate::progress;
use crate::server::EVERYSEC;
use crate::statistics::median;
use crate::template::{Numbers, filling, request};
use crate::workload::Piece;
use anyhow::{Result, ensure};
use orbweaver_tests::client::Client;
use orbweaver_tests::orbweaver_server::{OrbweaverServer, executable};
use orbweaver_tests::process::free_address;
use serde::Serialize;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const KEYS: usize = 100_000;
const STARTS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(30);

/// Milliseconds to the first reply, of [`STARTS`] starts.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Start {
    /// Keys of the database: nine strings for each hash of ten fields.
    pub keys: usize,
    /// The one after the server that has written everything.
    pub first_ms: f64,
    pub median_ms: f64,
    pub longest_ms: f64,
}

/// Makes a database and starts a server on it, again and again.
pub fn measure() -> Result<Start> {
    let dir = tempfile::tempdir()?;
    let data = dir.path().join("data");
    let bar = progress::bar("start", STARTS);
    let server = OrbweaverServer::start(&data, &EVERYSEC);
    let mut client = Client::connect(server.address())?;
    let mut requests = (0..KEYS).map(|key| {
        let numbers = Numbers { key, ..Numbers::default() };
        if key % 10 == 0 { filling("HSET hash:#", "field:% $", numbers, 0..10) } else { request("SET string:# $", numbers) }
    });
    while let Some(piece) = Piece::of(&mut requests) {
        crate::server::send(&mut client, &piece)?;
    }
    ensure!(server.terminate().success(), "orbweaver did not stop as it should");
    let mut times = Vec::new();
    for _ in 0..STARTS {
        times.push(start(&data)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let longest_ms = times.iter().copied().fold(0.0, f64::max);
    Ok(Start { keys: KEYS, first_ms: times.first().copied().unwrap_or(f64::NAN), median_ms: median(times), longest_ms })
}

/// A server that ends with the value.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Milliseconds from the start of the process to its first reply.
fn start(dir: &Path) -> Result<f64> {
    let address = free_address()?;
    let begin = Instant::now();
    let mut command = Command::new(executable());
    command.arg("serve").arg("--dir").arg(dir).args(["--listen", &address.to_string()]).args(EVERYSEC);
    let _started = Started(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    while ping(address).is_err() {
        ensure!(begin.elapsed() < PATIENCE, "orbweaver does not answer");
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

fn ping(address: SocketAddr) -> std::io::Result<()> {
    let mut socket = TcpStream::connect(address)?;
    socket.write_all(b"PING\r\n")?;
    socket.read_exact(&mut [0; 7])
}

//! What a run was made on.

use crate::raw::Raw;
use anyhow::Result;
use serde::Serialize;
use std::fmt;
use std::process::Command;
use std::time::SystemTime;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// The date, the machine, and what is compared with.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    pub date: String,
    pub cores: usize,
    pub cpu: String,
    pub memory_gib: f64,
    pub system: String,
    pub kernel: String,
    pub rocksdb: String,
    pub redis: String,
}

impl Machine {
    /// This one, today.
    pub fn look() -> Result<Self> {
        let what = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()).with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(what);
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let unknown = || "unknown".to_owned();
        Ok(Self {
            date: now.chars().take_while(|&c| c != 'T').collect(),
            cores: system.cpus().len(),
            cpu: system.cpus().first().map_or_else(unknown, |cpu| cpu.brand().to_owned()),
            memory_gib: system.total_memory() as f64 / f64::from(1 << 30),
            system: System::long_os_version().unwrap_or_else(unknown),
            kernel: System::kernel_version().unwrap_or_else(unknown),
            rocksdb: rocksdb_version()?.unwrap_or_else(unknown),
            redis: redis_version().unwrap_or_else(unknown),
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { date, cores, cpu, memory_gib, system, kernel, rocksdb, redis } = self;
        write!(f, "{date}, {cores} cores of {cpu}, {memory_gib:.0} GiB, {system}, kernel {kernel}, RocksDB {rocksdb}, redis-server {redis}")
    }
}

/// A database names, beside its options, the RocksDB that wrote them.
fn rocksdb_version() -> Result<Option<String>> {
    let dir = tempfile::tempdir()?;
    let _database = Raw::open(dir.path())?;
    for entry in std::fs::read_dir(dir.path())? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("OPTIONS") {
            let options = std::fs::read_to_string(entry.path())?;
            return Ok(options.lines().find_map(|line| line.trim().strip_prefix("rocksdb_version=").map(str::to_owned)));
        }
    }
    Ok(None)
}

fn redis_version() -> Option<String> {
    let output = Command::new("redis-server").arg("--version").output().ok()?;
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    line.split(' ').find_map(|word| word.strip_prefix("v=").map(str::to_owned))
}

//! The memory of `orbweaver serve` while more data than its settings allow in memory is loaded, and read at random.

use crate::charts::{Axes, Chart, Line};
use crate::progress;
use crate::server::{Server, send};
use crate::workload::Piece;
use anyhow::Result;
use orbweaver::stores::rocksdb::RocksOptions;
use orbweaver_tests::client::{Client, encode_command};
use serde::Serialize;

/// Bytes of a record's values: of one string, or of ten fields.
const RECORD_BYTES: usize = 1000;
const FIELDS: usize = 10;
/// Points of each part of the chart.
const POINTS: usize = 100;
/// One record is read where so many were written.
const WRITTEN_FOR_EACH_READ: usize = 4;

/// Resident memory, in megabytes.
#[derive(Clone, Debug, Serialize)]
pub struct Memory {
    /// Bytes of values that were loaded.
    pub data_bytes: u64,
    /// What the settings name: the caches for what is read, and the buffers for what is written.
    pub settings_mb: f64,
    /// Before anything is loaded: the program, the component, RocksDB.
    pub at_first_mb: f64,
    pub most_while_loading_mb: f64,
    pub most_while_reading_mb: f64,
    pub chart: Chart,
}

/// Loads so many bytes, half of them in strings and half in hashes, and reads a quarter of the records.
pub fn measure(data_bytes: u64) -> Result<Memory> {
    let dir = tempfile::tempdir()?;
    let mut server = Server::orbweaver(&dir.path().join("data"), None)?;
    let mut client = Client::connect(server.address)?;
    let records = usize::try_from(data_bytes)? / RECORD_BYTES;
    let bar = progress::bar("memory", 2 * POINTS);
    let at_first_mb = server.resident_bytes() / 1e6;
    let mut random = fastrand::Rng::with_seed(1);

    let mut part = |name: &str, requests: &mut dyn FnMut(usize) -> Vec<u8>, from_gb: f64, count: usize| -> Result<Line> {
        let mut line = Line { name: name.to_owned(), points: vec![(from_gb, server.resident_bytes() / 1e6)] };
        for point in 0..POINTS {
            let mut requests = (point * count / POINTS..(point + 1) * count / POINTS).map(&mut *requests);
            while let Some(piece) = Piece::of(&mut requests) {
                send(&mut client, &piece)?;
            }
            let gigabytes = ((point + 1) * count / POINTS * RECORD_BYTES) as f64 / 1e9;
            line.points.push((from_gb + gigabytes, server.resident_bytes() / 1e6));
            bar.inc(1);
        }
        Ok(line)
    };
    let mut seeded = random.fork();
    let loading = part("while loading", &mut |record| write(record, &mut seeded), 0.0, records)?;
    let loaded_gb = data_bytes as f64 / 1e9;
    let read = records / WRITTEN_FOR_EACH_READ;
    let reading = part("while reading at random", &mut |_| read_one(random.usize(..records.max(1))), loaded_gb, read)?;
    bar.finish_and_clear();

    let options = RocksOptions::default();
    let buffers = RocksOptions::WRITE_BUFFERS * options.write_buffer_bytes + options.write_back_bytes;
    let settings_mb = (options.block_cache_bytes + options.record_cache_bytes + buffers) as f64 / 1e6;
    let end_gb = reading.points.last().map_or(loaded_gb, |point| point.0);
    let settings = Line { name: "caches and write buffers".to_owned(), points: vec![(0.0, settings_mb), (end_gb, settings_mb)] };
    let most = |line: &Line| line.points.iter().fold(0.0_f64, |most, point| most.max(point.1));
    Ok(Memory {
        data_bytes,
        settings_mb,
        at_first_mb,
        most_while_loading_mb: most(&loading),
        most_while_reading_mb: most(&reading),
        chart: Chart {
            file: "memory".to_owned(),
            title: "Resident memory of the server".to_owned(),
            x: "GB of values written, then read",
            y: "MB resident",
            axes: Axes::Linear,
            lines: vec![loading, reading, settings],
        },
    })
}

/// Even records are strings, odd ones are hashes. Values are random: nothing to compress.
fn write(record: usize, random: &mut fastrand::Rng) -> Vec<u8> {
    let mut value = |bytes: usize| (0..bytes).map(|_| random.u8(..)).collect::<Vec<u8>>();
    if record.is_multiple_of(2) {
        return encode_command(&[b"SET".to_vec(), key(record), value(RECORD_BYTES)]);
    }
    let mut command = vec![b"HSET".to_vec(), key(record)];
    command.extend((0..FIELDS).flat_map(|field| [format!("field:{field}").into_bytes(), value(RECORD_BYTES / FIELDS)]));
    encode_command(&command)
}

fn read_one(record: usize) -> Vec<u8> {
    let command: &[u8] = if record.is_multiple_of(2) { b"GET" } else { b"HGETALL" };
    encode_command(&[command.to_vec(), key(record)])
}

fn key(record: usize) -> Vec<u8> {
    format!("record:{record:012}").into_bytes()
}

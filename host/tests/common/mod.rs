//! Directories that other programs wrote, and what is in them.
#![allow(dead_code, reason = "each test binary uses a part")]

use bytes::Bytes;
use orbweaver::stores::rocksdb::RocksStore;
use orbweaver_engine::store::{Direction, KeyRange, PageLimit, Scope, Store as _};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub type Records = Vec<(Bytes, Bytes)>;

/// The directories below `tests/fixtures`, with their layouts.
pub const DIRECTORIES: [(&str, &str); 6] = [
    ("blackwidow/a-flushed", "blackwidow"),
    ("blackwidow/a-wal", "blackwidow"),
    ("blackwidow/a-mixed", "blackwidow"),
    ("blackwidow/a-quirks", "blackwidow"),
    ("nemo/db", "nemo"),
    ("ardb/rocksdb", "ardb"),
];

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name)
}

/// A copy of a directory, as RocksDB writes into what it opens.
pub fn copy_of(name: &str) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_into(&fixture(name), copy.path());
    copy
}

pub fn copy_into(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_into(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Every file and folder below a directory, by its name, with what it holds: what must stay where nothing may change.
pub fn image(directory: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut image = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            image.extend(self::image(&path));
            image.insert(path, None);
        } else {
            let bytes = fs::read(&path).unwrap();
            image.insert(path, Some(bytes));
        }
    }
    image
}

pub fn unhex(text: &str) -> Bytes {
    hex::decode(text).unwrap().into()
}

/// The records that the original program's own library reads from a fixture, by keyspace.
pub fn expected_records(name: &str) -> BTreeMap<String, Records> {
    let mut expected: BTreeMap<String, Records> = BTreeMap::new();
    let mut add = |keyspace: String, key: &str, value: &str| expected.entry(keyspace).or_default().push((unhex(key), unhex(value)));
    if name.starts_with("blackwidow") {
        let mut lines = String::new();
        let raw = fs::File::open(fixture(&format!("{name}.raw.jsonl.gz"))).unwrap();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(raw), &mut lines).unwrap();
        for line in lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
            let field = |name: &str| line[name].as_str().unwrap();
            add(format!("{}/{}", field("db"), field("cf")), field("k"), field("v"));
        }
        return expected;
    }
    let lines = fs::read_to_string(fixture(name).parent().unwrap().join("records.hex")).unwrap();
    for line in lines.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let keyspace = if name.starts_with("nemo") { format!("{}/default", fields[0]) } else { fields[0].to_owned() };
        add(keyspace, fields[1], fields[2]);
    }
    expected
}

/// All records of a keyspace, in pages of so many items.
pub fn records(store: &RocksStore, keyspace: &str, direction: Direction, items: u32) -> Records {
    let mut handle = store.handle();
    let opened = handle.open_keyspace(keyspace, store.order(keyspace)).unwrap();
    handle.begin(&Scope::Read).unwrap();
    let (mut range, mut met) = (KeyRange::all(), Records::new());
    loop {
        let page = handle.scan(opened, &range, direction, PageLimit::items(items)).unwrap();
        met.extend(page.records());
        if !page.more {
            return met;
        }
        let last = met.last().unwrap().0.to_vec();
        match direction {
            Direction::Forward => range = KeyRange { start: last, after_start: true, end: None },
            Direction::Reverse => range.end = Some(last),
        }
    }
}

//! Directories of other programs: recognised, refused where something is missing, left alone where they are only read, and made so that
//! their programs can read them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use bytes::Bytes;
use common::{DIRECTORIES, copy_into, copy_of, fixture, image, records};
use orbweaver::stores::rocksdb::{Layout, RocksOptions, RocksStore, recognise};
use orbweaver_engine::store::{Batch, Direction, Order, Scope, Store, StoreError};
use rocksdb::{ColumnFamilyDescriptor, DB, MergeOperands, Options, WriteBatch};
use std::fs;
use std::path::Path;

fn layout(path: &Path) -> Result<Layout, StoreError> {
    recognise(path, None).map(|place| place.layout)
}

fn open(path: &Path, read_only: bool) -> Result<RocksStore, StoreError> {
    let place = recognise(path, None)?;
    RocksStore::open(&place.directory, RocksOptions { layout: place.layout, read_only, ..RocksOptions::default() })
}

fn put(store: &RocksStore, keyspace: &str, order: Order, key: &[u8], value: &[u8]) {
    let mut handle = store.handle();
    let keyspace = handle.open_keyspace(keyspace, order).unwrap();
    let mut batch = Batch::new();
    batch.put(keyspace, key, value).unwrap();
    handle.begin(&Scope::Exclusive).unwrap();
    handle.commit(&batch, &[]).unwrap();
}

#[test]
fn a_store_is_found_one_level_down() {
    let top = tempfile::tempdir().unwrap();
    copy_into(&fixture("blackwidow/a-mixed"), &top.path().join("db0"));
    let place = recognise(top.path(), None).unwrap();
    assert_eq!((place.layout, place.directory), (Layout::Blackwidow, top.path().join("db0")));
    copy_into(&fixture("blackwidow/a-wal"), &top.path().join("db1"));
    let error = recognise(top.path(), None).unwrap_err().to_string();
    assert!(error.contains("several databases") && error.contains("db0 or ") && error.ends_with("db1"), "{error}");
    let place = recognise(fixture("ardb").as_path(), None).unwrap();
    assert_eq!((place.layout, place.directory), (Layout::Ardb, fixture("ardb/rocksdb")));
}

#[test]
fn our_own_databases_are_told_apart_by_their_keyspaces() {
    for own in [Layout::Orbweaver, Layout::Camellia] {
        let directory = tempfile::tempdir().unwrap();
        drop(RocksStore::open(directory.path(), RocksOptions { layout: own, ..RocksOptions::default() }).unwrap());
        assert_eq!(layout(directory.path()), Ok(own));
    }
}

#[test]
fn what_is_not_there_yet_is_of_the_layout_that_is_wanted() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().to_owned(), directory.path().join("absent")] {
        assert_eq!(recognise(&path, Some(Layout::Nemo)).unwrap().layout, Layout::Nemo);
        assert_eq!(recognise(&path, None).unwrap().layout, Layout::Orbweaver);
    }
    fs::write(directory.path().join("letter.txt"), "not for us").unwrap();
    let error = recognise(directory.path(), Some(Layout::Nemo)).unwrap_err().to_string();
    assert!(error.contains("holds other files, and no database of nemo"), "{error}");
}

#[test]
fn another_layout_than_the_directorys_is_refused() {
    for (name, found) in DIRECTORIES {
        for wanted in Layout::ALL {
            let outcome = recognise(&fixture(name), Some(wanted));
            if wanted.name() == found {
                assert_eq!(outcome.unwrap().layout, wanted);
            } else {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains(&format!("is of the layout {found}, not {}", wanted.name())), "{error}");
            }
        }
    }
}

#[test]
fn a_part_of_a_store_is_not_taken_for_one() {
    for part in ["hashes", "sets", "lists", "zsets"] {
        let error = layout(&fixture("blackwidow/a-flushed").join(part)).unwrap_err().to_string();
        assert!(error.contains("one of the five databases of Blackwidow"), "{part}: {error}");
    }
    for part in ["blackwidow/a-flushed/strings", "nemo/db/kv"] {
        let error = layout(&fixture(part)).unwrap_err().to_string();
        assert!(error.contains("of a layout that is not known here"), "{part}: {error}");
    }
}

#[test]
fn an_unknown_comparator_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_comparator("floyd.ListsDataKeyComparator", Box::new(|a, b| a.cmp(b)));
    drop(DB::open(&options, directory.path()).unwrap());
    let error = layout(directory.path()).unwrap_err().to_string();
    assert!(error.contains("floyd.ListsDataKeyComparator"), "{error}");
}

/// Removes the files of a directory whose names begin or end so.
fn remove(directory: &Path, part: &str) {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let doomed: Vec<String> = names.filter(|name| name.starts_with(part) || name.ends_with(part)).collect();
    assert!(!doomed.is_empty(), "{part} in {}", directory.display());
    doomed.iter().for_each(|name| fs::remove_file(directory.join(name)).unwrap());
}

#[test]
fn a_directory_that_was_copied_in_part_is_refused_and_left_alone() {
    for (name, folder) in [("blackwidow/a-flushed", "zsets"), ("blackwidow/a-wal", "strings"), ("nemo/db", "hash"), ("ardb/rocksdb", "")] {
        for part in ["CURRENT", "MANIFEST-", "OPTIONS-", ".sst"] {
            if part == ".sst" && name == "blackwidow/a-wal" {
                continue;
            }
            let copy = copy_of(name);
            remove(&copy.path().join(folder), part);
            let before = image(copy.path());
            for read_only in [true, false] {
                let outcome = open(copy.path(), read_only);
                let error = outcome.map(|_| ()).unwrap_err().to_string();
                assert!(
                    error.contains("is not whole") && error.contains("Copy the whole directory again"),
                    "{name} without {part}: {error}"
                );
            }
            if part != ".sst" {
                assert!(image(copy.path()) == before, "{name} without {part} was changed");
            }
        }
    }
}

#[test]
fn a_store_without_one_of_its_databases_is_refused() {
    for (name, folder) in [("blackwidow/a-flushed", "lists"), ("blackwidow/a-wal", "zsets"), ("nemo/db", "set")] {
        let copy = copy_of(name);
        fs::remove_dir_all(copy.path().join(folder)).unwrap();
        let error = open(copy.path(), false).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(&format!("{folder} is missing")), "{error}");
    }
}

#[test]
fn a_creation_that_was_interrupted_is_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let options = RocksOptions { layout: Layout::Blackwidow, ..RocksOptions::default() };
    let store = RocksStore::open(directory.path(), options.clone()).unwrap();
    put(&store, "strings/default", Order::Bytes, b"k", b"v");
    drop(store);
    // As if it had been killed after the second database.
    for folder in ["sets", "lists", "zsets"] {
        fs::remove_dir_all(directory.path().join(folder)).unwrap();
    }
    let data = fs::read_dir(directory.path().join("strings")).unwrap().map(|entry| entry.unwrap().path());
    data.filter(|path| path.extension().is_some_and(|ending| ending == "log")).for_each(|path| fs::write(path, "").unwrap());
    let store = RocksStore::open(directory.path(), options).unwrap();
    put(&store, "zsets/score_cf", Order::BlackwidowScores, b"\x01\0\0\0k\0\0\0\0", b"");
    assert_eq!(records(&store, "zsets/score_cf", Direction::Forward, 10).len(), 1);
}

#[test]
fn a_store_in_use_is_refused_but_may_be_read() {
    for (name, _) in DIRECTORIES {
        let copy = copy_of(name);
        let store = open(copy.path(), false).unwrap();
        let error = open(copy.path(), false).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("is open already"), "{error}");
        open(copy.path(), true).unwrap();
        drop(store);
        open(copy.path(), false).unwrap();
    }
}

#[test]
fn reading_changes_no_file() {
    for (name, _) in DIRECTORIES {
        let copy = copy_of(name);
        let before = image(copy.path());
        let store = open(copy.path(), true).unwrap();
        let mut met = 0;
        for keyspace in store.keyspaces().unwrap() {
            met += records(&store, &keyspace, Direction::Forward, 100).len();
        }
        assert!(met > 20, "{name}");
        let mut handle = store.handle();
        assert_eq!(handle.begin(&Scope::Exclusive), Err(StoreError::ReadOnly));
        drop((handle, store));
        assert!(image(copy.path()) == before, "{name} was changed");
    }
}

#[test]
fn column_families_are_made_as_the_original_makes_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new");
    let options = RocksOptions { layout: Layout::Blackwidow, ..RocksOptions::default() };
    let store = RocksStore::open(&path, options.clone()).unwrap();
    assert!(!path.exists(), "nothing is made before the first write");
    assert!(store.keyspaces().unwrap().is_empty());
    put(&store, "strings/default", Order::Bytes, b"", b"the empty key");
    drop(store);
    let original = fixture("blackwidow/a-flushed");
    for folder in ["strings", "hashes", "sets", "lists", "zsets"] {
        // RocksDB lists them in the order of their creation.
        let [made, wanted] = [&path, &original].map(|directory| DB::list_cf(&Options::default(), directory.join(folder)).unwrap());
        assert_eq!(made, wanted, "{folder}");
    }
    assert_eq!(layout(&path), Ok(Layout::Blackwidow));
    let store = open(&path, false).unwrap();
    let expected = [(Bytes::new(), Bytes::from("the empty key"))];
    assert_eq!(records(&store, "strings/default", Direction::Forward, 1), expected);
    assert_eq!(records(&store, "strings/default", Direction::Reverse, 1), expected);
}

/// The version of the format of each table below a directory, and the kind of its checksums, from its footer.
fn footers(directory: &Path) -> Vec<(u32, u8)> {
    let files = image(directory).into_iter().filter(|(path, _)| path.extension().is_some_and(|ending| ending == "sst"));
    let footer = |bytes: Vec<u8>| {
        let footer = &bytes[bytes.len() - 53..];
        (u32::from_le_bytes(footer[41..45].try_into().unwrap()), footer[0])
    };
    files.filter_map(|(_, bytes)| bytes.map(footer)).collect()
}

#[test]
fn tables_are_written_in_the_format_that_old_programs_read() {
    const CRC32C: u8 = 1;
    for (layout, keyspace, order) in [
        (Layout::Blackwidow, "strings/default", Order::Bytes),
        (Layout::Nemo, "kv/default", Order::Bytes),
        (Layout::Ardb, "0", Order::Ardb),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let options = RocksOptions { layout, ..RocksOptions::default() };
        let store = RocksStore::open(directory.path(), options.clone()).unwrap();
        put(&store, keyspace, order, b"\x01k\x01\0", &vec![b'v'; 10_000]);
        drop(store);
        // What is in the log becomes a table when the store is opened again.
        drop(RocksStore::open(directory.path(), options).unwrap());
        assert_eq!(footers(directory.path()), [(2, CRC32C)], "{}", layout.name());
        assert_eq!(recognise(directory.path(), None).unwrap().layout, layout);
    }
}

#[test]
fn a_namespace_of_ardb_is_made_by_the_first_write_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), RocksOptions { layout: Layout::Ardb, ..RocksOptions::default() }).unwrap();
    put(&store, "0", Order::Ardb, b"\x01k\x01\0", b"v");
    assert!(records(&store, "7", Direction::Forward, 10).is_empty());
    assert_eq!(store.keyspaces().unwrap(), ["0", "default"]);
    put(&store, "7", Order::Ardb, b"\x01k\x01\0", b"v");
    assert_eq!(store.keyspaces().unwrap(), ["0", "7", "default"]);
    assert!(matches!(store.handle().open_keyspace("8", Order::Bytes), Err(StoreError::UnsupportedOrder(_))));
    drop(store);
    assert_eq!(layout(directory.path()), Ok(Layout::Ardb));
}

#[test]
fn merge_records_of_ardb_are_handed_on() {
    let directory = tempfile::tempdir().unwrap();
    let (untouched, counted, fresh) = (b"\x01a\x01\0", b"\x01b\x01\0", b"\x01c\x01\0");
    {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let mut family = Options::default();
        family.set_comparator("ardb.comparator", Box::new(|a, b| Order::Ardb.compare(a, b)));
        let never = |_: &[u8], _: Option<&[u8]>, _: &MergeOperands| None;
        family.set_merge_operator("ardb.merger", never, never);
        let families = ["default", "0"].map(|name| ColumnFamilyDescriptor::new(name, family.clone()));
        let db = DB::open_cf_descriptors(&options, directory.path(), families).unwrap();
        let cf = db.cf_handle("0").unwrap();
        let mut batch = WriteBatch::default();
        batch.put_cf(cf, untouched, b"plain");
        batch.put_cf(cf, counted, b"base");
        batch.merge_cf(cf, counted, b"\x1e\x70\0\x01");
        batch.merge_cf(cf, counted, b"\x1e\x64\0\x02");
        batch.merge_cf(cf, fresh, b"\x1e\x70\0\x03");
        db.write(batch).unwrap();
    }
    let framed = b"\x1e\xff\x04\0\0\0base\x04\0\0\0\x1e\x70\0\x01\x04\0\0\0\x1e\x64\0\x02".as_slice();
    let expected = [
        (Bytes::from_static(untouched), Bytes::from("plain")),
        (Bytes::from_static(counted), Bytes::from(framed)),
        (Bytes::from_static(fresh), Bytes::from_static(b"\x1e\xff\xff\xff\xff\xff\x04\0\0\0\x1e\x70\0\x03")),
    ];
    // In the log, and again when the first open has made tables of it.
    for read_only in [true, false, false] {
        let store = open(directory.path(), read_only).unwrap();
        assert_eq!(records(&store, "0", Direction::Forward, 1), expected);
        let mut handle = store.handle();
        let keyspace = handle.open_keyspace("0", Order::Ardb).unwrap();
        handle.begin(&Scope::Read).unwrap();
        assert_eq!(handle.get(keyspace, counted).unwrap().as_deref(), Some(framed));
    }
}

//! Collections of a million elements on RocksDB, served by a component with little memory.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use orbweaver::runtime::{Component, Orbweaver};
use orbweaver::stores::rocksdb::{Durability, RocksOptions, RocksStore};
use orbweaver_engine::resp::Value;
use std::sync::OnceLock;
use tempfile::TempDir;

const MANY: usize = 1_000_000;
/// Elements that one command adds.
const TOGETHER: usize = 2000;
/// What the component itself, a page of records and some 16 MiB of replies take.
const LITTLE: usize = 64 << 20;
/// What the longest reply of these tests takes besides: 33 MB, in a buffer that has doubled while the one before was copied.
const FOR_WHOLE_REPLIES: usize = 128 << 20;

struct Db {
    orbweaver: Orbweaver,
    store: RocksStore,
    _directory: TempDir,
}

impl Db {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = RocksOptions { durability: Durability::Os, ..RocksOptions::default() };
        let store = RocksStore::open(directory.path(), options).unwrap();
        let orbweaver = open(&store, LITTLE);
        Self { orbweaver, store, _directory: directory }
    }

    /// Goes on with another limit of memory.
    fn limit(&mut self, memory_bytes: usize) {
        self.orbweaver = open(&self.store, memory_bytes);
    }

    fn run(&mut self, command: &str) -> Value {
        let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        let reply = self.orbweaver.command(&words).unwrap();
        if let Value::Error(text) = &reply {
            panic!("{}: {}", command.chars().take(100).collect::<String>(), text.escape_ascii());
        }
        reply
    }

    /// The elements of a reply.
    fn list(&mut self, command: &str) -> Vec<Value> {
        match self.run(command) {
            Value::Array(elements) => elements,
            other => panic!("{command}: {other:?}"),
        }
    }

    /// Adds a million elements to the collection `c`, each made from its number.
    fn fill(&mut self, add: &str, element: impl Fn(usize) -> String) {
        for first in (0..MANY).step_by(TOGETHER) {
            let elements: Vec<String> = (first..first + TOGETHER).map(&element).collect();
            self.run(&format!("{add} c {}", elements.join(" ")));
        }
    }

    /// Walks from cursor to cursor; how many items there were.
    fn walk(&mut self, scan: &str) -> usize {
        let (mut cursor, mut items) = ("0".to_owned(), 0);
        loop {
            let page = self.list(&format!("{scan} c {cursor} COUNT 5000"));
            let [Value::Bulk(next), Value::Array(elements)] = page.as_slice() else { panic!("{page:?}") };
            items += elements.len();
            cursor = String::from_utf8(next.to_vec()).unwrap();
            if cursor == "0" {
                return items;
            }
        }
    }

    /// DEL, and then the sweep of what it leaves.
    fn remove(&mut self) {
        assert_eq!(self.run("DEL c"), Value::Integer(1));
        while self.orbweaver.sweep(10_000).unwrap().more {}
        assert_eq!(self.run("DBSIZE"), Value::Integer(0));
        assert_eq!(self.orbweaver.traps(), 0);
    }
}

fn open(store: &RocksStore, memory_bytes: usize) -> Orbweaver {
    static COMPONENT: OnceLock<Component> = OnceLock::new();
    let component = COMPONENT.get_or_init(|| Component::load().unwrap());
    Orbweaver::builder().memory_limit(memory_bytes).open(component, Box::new(store.handle())).unwrap()
}

fn named(number: usize) -> Value {
    Value::Bulk(format!("{number:09}").into())
}

#[test]
fn a_list_of_a_million_elements_is_served_in_little_memory() {
    let mut db = Db::new();
    db.fill("RPUSH", |number| format!("{number:09}"));
    assert_eq!(db.run("LLEN c"), Value::Integer(1_000_000));
    assert_eq!(db.run("LINDEX c 654321"), named(654_321));
    for first in [0, 499_000, 900_000] {
        let slice = db.list(&format!("LRANGE c {first} {}", first + 99_999));
        assert_eq!((slice.len(), &slice[0], &slice[99_999]), (100_000, &named(first), &named(first + 99_999)));
    }
    db.limit(FOR_WHOLE_REPLIES);
    assert_eq!(db.list("LRANGE c 0 -1").len(), MANY);
    db.remove();
}

#[test]
fn a_hash_of_a_million_fields_is_served_in_little_memory() {
    let mut db = Db::new();
    db.fill("HSET", |number| format!("{number:09} {number}"));
    assert_eq!(db.run("HGET c 000654321"), Value::Bulk("654321".into()));
    assert_eq!(db.walk("HSCAN"), 2 * MANY);
    db.limit(FOR_WHOLE_REPLIES);
    assert_eq!(db.list("HGETALL c").len(), 2 * MANY);
    db.remove();
}

#[test]
fn a_set_of_a_million_members_is_served_in_little_memory() {
    let mut db = Db::new();
    db.fill("SADD", |number| format!("{number:09}"));
    assert_eq!(db.run("SISMEMBER c 000654321"), Value::Integer(1));
    assert_eq!(db.walk("SSCAN"), MANY);
    assert_eq!(db.list("SRANDMEMBER c 1000").len(), 1000);
    db.limit(FOR_WHOLE_REPLIES);
    assert_eq!(db.list("SMEMBERS c").len(), MANY);
    db.remove();
}

#[test]
fn a_sorted_set_of_a_million_members_is_served_in_little_memory() {
    let mut db = Db::new();
    db.fill("ZADD", |number| format!("{number} {number:09}"));
    let slice = db.list("ZRANGEBYSCORE c 500000 599999");
    assert_eq!((slice.len(), &slice[0]), (100_000, &named(500_000)));
    let slice = db.list("ZREVRANGE c 0 99999");
    assert_eq!((slice.len(), &slice[0]), (100_000, &named(999_999)));
    assert_eq!(db.run("ZRANK c 000654321"), Value::Integer(654_321));
    assert_eq!(db.walk("ZSCAN"), 2 * MANY);
    db.limit(FOR_WHOLE_REPLIES);
    assert_eq!(db.list("ZRANGE c 0 -1").len(), MANY);
    db.remove();
}

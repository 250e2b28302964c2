//! The layout `ardb` against a database of the real program, and against records that the format's rules predict.

use std::collections::BTreeMap;

use bytes::Bytes;
use orbweaver_engine::environment::{Environment, HeldEnvironment};
use orbweaver_engine::layout::ardb::Ardb;
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::{MemoryStore, Order, Scope, Store as _};
use orbweaver_engine::transaction::Transaction;
use orbweaver_tests::fixtures::{expected, records};
use orbweaver_tests::golden::{self, Clock, Golden, Step};
use orbweaver_tests::logical::{self, Entry};
use orbweaver_tests::readers::{Record, read};

const DATABASES: usize = 16;

/// After the fixture's two keys have expired.
const FIXTURE_NOW_MS: u64 = 1_800_000_000_000;

/// A client of an engine with the layout.
struct Client {
    engine: Engine,
    store: MemoryStore,
}

impl Client {
    fn new(now_ms: u64) -> Self {
        Self::with_records(now_ms, &[])
    }

    /// On a store that holds these records.
    fn with_records(now_ms: u64, records: &[Record]) -> Self {
        let store = store_of(records);
        let mut engine = engine(&store, HeldEnvironment::new(now_ms, 1));
        engine.connect(1, "in-process", None);
        Self { engine, store }
    }

    /// The reply to an inline command, with spaces for line ends.
    fn run(&mut self, line: &str) -> String {
        let input = format!("{line}\r\n").into();
        let answers = self.engine.exchange(&[Delivery { connection: 1, input }]).answers;
        let reply: Vec<u8> = answers.into_iter().flat_map(|answer| answer.output).collect();
        reply.escape_ascii().to_string().replace("\\r\\n", " ").trim_end().to_owned()
    }

    fn dump(&mut self) -> Vec<Entry> {
        let dump = self.engine.dump(&mut Vec::new(), 1 << 30).expect("a sound database");
        logical::from_dump(std::str::from_utf8(&dump).expect("JSON").lines()).expect("a dump")
    }

    fn check(&mut self) -> Vec<String> {
        let (mut cursor, mut found) = (Vec::new(), Vec::new());
        loop {
            let findings = self.engine.check(&mut cursor, 7).expect("the store can be read");
            found.extend(findings.iter().map(|finding| format!("{} {}: {}", finding.keyspace, finding.key.escape_ascii(), finding.what)));
            if cursor.is_empty() {
                return found;
            }
        }
    }
}

fn engine(store: &MemoryStore, environment: impl Environment + 'static) -> Engine {
    let layout = Ardb::open(&mut store.clone(), DATABASES).expect("a store in memory opens");
    Engine::with_layout(Box::new(store.clone()), Box::new(layout), Box::new(environment), Settings::default())
}

fn store_of(records: &[Record]) -> MemoryStore {
    let mut store = MemoryStore::new();
    let names: BTreeMap<&str, _> = records.iter().map(|record| record.keyspace.as_str()).map(|name| (name, ())).collect();
    let keyspaces: BTreeMap<&str, _> =
        names.into_keys().map(|name| (name, store.open_keyspace(name, Order::Ardb).expect("a new keyspace"))).collect();
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).expect("nobody else is there");
    for record in records {
        transaction.put(keyspaces[record.keyspace.as_str()], record.key.clone(), record.value.clone()).expect("it fits");
    }
    transaction.commit().expect("nobody else is there");
    store
}

/// All records of a store, sorted by keyspace and key in byte order, as golden records are.
fn records_of(store: &MemoryStore) -> Vec<Record> {
    let all = store.contents().into_iter();
    let mut records: Vec<Record> = all
        .flat_map(|(keyspace, records)| records.into_iter().map(move |(key, value)| Record { keyspace: keyspace.clone(), key, value }))
        .collect();
    records.sort();
    records
}

fn hex(text: &str) -> Bytes {
    hex::decode(text.replace(' ', "")).expect("hexadecimal digits").into()
}

fn record(key: &str, value: &str) -> Record {
    Record { keyspace: "0".to_owned(), key: hex(key), value: hex(value) }
}

#[test]
fn a_database_of_the_real_program_holds_what_is_expected() {
    let mut client = Client::with_records(FIXTURE_NOW_MS, &records("ardb", "rocksdb"));
    let mut found = client.dump();
    logical::sort(&mut found);
    assert_eq!(found, expected("ardb", "rocksdb").live);
    assert_eq!(client.check(), Vec::<String>::new());
    assert_eq!(records_of(&client.store).len(), records("ardb", "rocksdb").len(), "reading changes nothing");
}

#[test]
fn the_order_of_the_real_program_is_that_of_the_memory_store() {
    let records = records("ardb", "rocksdb");
    let store = store_of(&records);
    for (name, stored) in store.contents() {
        let listed = records.iter().filter(|record| record.keyspace == name).map(|record| (record.key.clone(), record.value.clone()));
        assert_eq!(stored, listed.collect::<Vec<_>>());
    }
}

#[test]
fn scripts_leave_the_records_that_the_format_predicts() {
    for golden in golden::all("ardb") {
        let clock = Clock::default();
        let store = MemoryStore::new();
        let mut engine = engine(&store, clock.clone());
        golden.replay(&mut engine, &clock);
        let differences = golden.differences(&records_of(&store));
        assert!(differences.is_empty(), "{}:\n{differences}", golden.name);
    }
}

#[test]
fn golden_records_hold_what_the_script_says_and_are_in_order() {
    for golden in golden::all("ardb") {
        let mut client = Client::with_records(golden.now_ms(), &golden.records);
        let mut found = client.dump();
        logical::sort(&mut found);
        assert_eq!(found, own_contents(&golden), "{}", golden.name);
        assert_eq!(client.check(), Vec::<String>::new(), "{}", golden.name);
    }
}

/// What the engine's own layout holds after the script.
fn own_contents(golden: &Golden) -> Vec<Entry> {
    let clock = Clock::default();
    let mut engine =
        Engine::open(Box::new(MemoryStore::new()), Box::new(clock.clone()), Settings::default()).expect("an empty store opens");
    golden.replay(&mut engine, &clock);
    assert!(golden.steps.iter().any(|step| matches!(step, Step::Command(_))));
    let dump = engine.dump(&mut Vec::new(), 1 << 30).expect("a sound database");
    logical::from_dump(std::str::from_utf8(&dump).expect("JSON").lines()).expect("a dump")
}

#[test]
fn commands_work_on_a_database_of_the_real_program() {
    let mut client = Client::with_records(FIXTURE_NOW_MS, &records("ardb", "rocksdb"));
    let conversation = [
        ("TYPE list:ins", "+list"),
        ("DBSIZE", ":33"),
        ("LRANGE list:ins 1 -2", "*5 $1 a $2 ab $1 b $2 bc $1 c"),
        ("LINDEX list:ins -2", "$1 c"),
        ("LSET list:ins 2 AB", "+OK"),
        ("LPOP list:ins", "$5 first"),
        ("RPUSH list:ins end", ":7"),
        ("LRANGE list:ins 0 -1", "*7 $1 a $2 AB $1 b $2 bc $1 c $4 last $3 end"),
        ("LPUSH list:rem v", ":4"),
        ("LRANGE list:rem 0 -1", "*4 $1 v $1 y $1 z $1 x"),
        ("HLEN hash:hm", ":4"),
        ("HGET hash:hm -3", "$3 neg"),
        ("HSET hash:one f w g x", ":1"),
        ("HGETALL hash:one", "*4 $1 f $1 w $1 g $1 x"),
        ("SISMEMBER set:int 100", ":1"),
        ("SADD set:int 7 x", ":2"),
        ("SMEMBERS set:int", "*8 $3 -20 $2 -1 $1 0 $1 7 $1 9 $2 10 $3 100 $1 x"),
        ("ZRANGEBYSCORE zset:a (-2.5 3 WITHSCORES", "*8 $4 zero $1 0 $4 frac $3 0.1 $5 three $1 3 $7 three-b $1 3"),
        ("ZINCRBY zset:a 1 three", "$1 4"),
        ("ZRANK zset:a three", ":5"),
        ("ZRANGE zset:a 4 5", "*2 $7 three-b $5 three"),
        ("INCRBYFLOAT str:incrbyfloat 0.25", "$5 10.75"),
        ("PEXPIRETIME str:ttl", ":4102444800000"),
        ("EXISTS str:expired hash:expired", ":0"),
        ("DEL hash:two set:mix zset:a list:lr", ":4"),
        ("KEYS hash*", "*3 $7 hash:hm $8 hash:one $8 hash:ttl"),
        ("SELECT 1", "+OK"),
        ("KEYS *", "*2 $8 other-db $2 z1"),
        ("FLUSHDB", "+OK"),
        ("DBSIZE", ":0"),
    ];
    for (line, reply) in conversation {
        assert_eq!(client.run(line), reply, "{line}");
    }
    assert_eq!(client.check(), Vec::<String>::new());
    let contents = read("ardb", &records_of(&client.store), FIXTURE_NOW_MS.try_into().expect("a time of our days"));
    assert_eq!(contents.flaws, [], "the plain reader agrees");
    assert_eq!(contents.live, {
        let mut own = client.dump();
        logical::sort(&mut own);
        own
    });
}

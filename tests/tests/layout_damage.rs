//! Damaged records of each foreign layout: whatever is asked of their key is answered, if only by an error that names the record, and all
//! other keys are as they were.

use std::collections::BTreeMap;

use fastrand::Rng;
use orbweaver_engine::settings::Settings;
use orbweaver_tests::client::Args;
use orbweaver_tests::foreign::{self, Opened};
use orbweaver_tests::layouts;
use orbweaver_tests::logical::{self, Entry};
use orbweaver_tests::readers::Record;

const NOW_MS: u64 = 1_700_000_000_000;
const ROUNDS: u64 = if cfg!(debug_assertions) { 300 } else { 3_000 };

/// Keys, none of which begins as another one does, with what makes them and what reads them; `@` stands for the key.
const KEYS: [(&str, &[&str], &[&str]); 11] = [
    ("string", &["SET @ value EXAT 1800000000"], STRING),
    ("number", &["SET @ 12345"], STRING),
    ("hash", &["HSET @ f v g w '' empty", "EXPIREAT @ 1800000000"], HASH),
    ("another hash", &["HSET @ f v", "HDEL @ f", "HSET @ f new g w"], HASH),
    ("list", &["RPUSH @ a b c d", "LPOP @", "LINSERT @ BEFORE c x"], LIST),
    ("one element", &["RPUSH @ a"], LIST),
    ("members", &["SADD @ a b 3 4 ''", "SREM @ b"], SET),
    ("set", &["SADD @ a", "DEL @", "SADD @ b c"], SET),
    ("zset", &["ZADD @ -2.5 a 0 b 0.25 c 3 d", "ZADD @ 1 b"], SORTED_SET),
    ("just one", &["ZADD @ 7 a-member-that-is-longer-than-that"], SORTED_SET),
    ("untouched", &["SET @ value"], STRING),
];
const STRING: &[&str] = &["TYPE @", "PTTL @", "GET @", "STRLEN @", "GETRANGE @ 1 2", "EXISTS @"];
const HASH: &[&str] = &["TYPE @", "PTTL @", "HGETALL @", "HLEN @", "HGET @ f", "HEXISTS @ g", "HSCAN @ 0"];
const LIST: &[&str] = &["TYPE @", "PTTL @", "LRANGE @ 0 -1", "LLEN @", "LINDEX @ -1", "LPOS @ c"];
const SET: &[&str] = &["TYPE @", "PTTL @", "SMEMBERS @", "SCARD @", "SISMEMBER @ a", "SSCAN @ 0"];
const SORTED_SET: &[&str] = &[
    "TYPE @",
    "PTTL @",
    "ZRANGE @ 0 -1 WITHSCORES",
    "ZREVRANGE @ 0 1",
    "ZCARD @",
    "ZSCORE @ b",
    "ZRANK @ b",
    "ZRANGEBYSCORE @ -1 2 WITHSCORES",
    "ZCOUNT @ -inf +inf",
];
/// What is tried on the damaged key in the end.
const WRITES: [&str; 12] = [
    "APPEND @ x",
    "HSET @ f x",
    "HDEL @ f",
    "RPUSH @ x",
    "LPOP @",
    "SADD @ x",
    "SREM @ a",
    "ZADD @ 5 x",
    "ZREM @ a",
    "EXPIREAT @ 1900000000",
    "RENAME @ renamed",
    "DEL @",
];
/// About all keys.
const GLOBAL: [&str; 5] = ["KEYS *", "SCAN 0 COUNT 1000", "DBSIZE", "RANDOMKEY", "INFO keyspace"];

fn words(line: &str, key: &str) -> Args {
    let word = |word: &str| match word {
        "@" => key.into(),
        "''" => Vec::new(),
        _ => word.into(),
    };
    line.split(' ').map(word).collect()
}

/// A database, and whose records are whose.
struct Sound {
    records: Vec<Record>,
    /// By the record's position, the key that alone has it.
    owners: BTreeMap<usize, usize>,
    contents: Vec<Entry>,
    /// The replies to the reads of each key.
    replies: Vec<Vec<Vec<u8>>>,
}

impl Sound {
    fn new(settings: &Settings) -> Self {
        let mut opened = Opened::open(settings, &[], NOW_MS).expect("an empty store opens");
        let mut owner_of = BTreeMap::new();
        let mut before = foreign::records(&opened.store);
        for (index, (key, makes, _)) in KEYS.iter().enumerate() {
            for line in *makes {
                let reply = opened.call(&words(line, key));
                assert!(!reply.starts_with(b"-") || reply.starts_with(b"-ERR the layout "), "{line}: {}", reply.escape_ascii());
            }
            let after = foreign::records(&opened.store);
            for record in
                after.iter().filter(|record| before.iter().all(|old| (&old.keyspace, &old.key) != (&record.keyspace, &record.key)))
            {
                owner_of.insert((record.keyspace.clone(), record.key.clone()), index);
            }
            before = after;
        }
        let owners = before.iter().enumerate().filter_map(|(position, record)| {
            let owner = owner_of.get(&(record.keyspace.clone(), record.key.clone()))?;
            Some((position, *owner))
        });
        let owners = owners.collect();
        let replies = (0..KEYS.len()).map(|index| replies(&mut opened, index)).collect();
        Self { records: before, owners, contents: opened.contents(), replies }
    }
}

fn replies(opened: &mut Opened, index: usize) -> Vec<Vec<u8>> {
    let (key, _, reads) = KEYS[index];
    reads.iter().map(|line| opened.call(&words(line, key))).collect()
}

/// Errors say what is wrong.
fn assert_typed(reply: &[u8], line: &str) {
    let known = ["-ERR corrupt record", "-WRONGTYPE ", "-ERR the layout ", "-ERR no such key", "-ERR value is not", "-ERR hash value"];
    let is_known = !reply.starts_with(b"-") || known.iter().any(|known| reply.starts_with(known.as_bytes()));
    assert!(is_known && !reply.is_empty(), "{line}: {}", reply.escape_ascii());
}

/// Bytes that are cut short, longer, or others.
fn damage(random: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    match random.u32(..4) {
        0 => bytes.truncate(random.usize(..=bytes.len())),
        1 => bytes.extend((0..=random.usize(..9)).map(|_| random.u8(..)).collect::<Vec<_>>()),
        _ => {
            let at = random.usize(..bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = if random.bool() { random.u8(..) } else { *byte ^ (1 << random.u32(..8)) };
            }
        }
    }
    bytes
}

/// Says which round it was, where that has failed.
struct Round(String);

impl Drop for Round {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("in {}", self.0);
        }
    }
}

#[test]
fn a_damaged_record_costs_no_more_than_its_key() {
    for settings in layouts::all() {
        let name = layouts::name(&settings);
        let sound = Sound::new(&settings);
        let positions: Vec<usize> = sound.owners.keys().copied().collect();
        let mut errors = 0;
        for seed in 0..ROUNDS {
            let mut random = Rng::with_seed(seed);
            let position = positions[random.usize(..positions.len())];
            let owner = sound.owners[&position];
            let mut records = sound.records.clone();
            let mut damaged = records.remove(position);
            if random.u32(..3) == 0 {
                damaged.key = damage(&mut random, &damaged.key).into();
                records.retain(|record| (&record.keyspace, &record.key) != (&damaged.keyspace, &damaged.key));
            } else {
                damaged.value = damage(&mut random, &damaged.value).into();
            }
            let _round = Round(format!("{name}, seed {seed}: {} {damaged:x?}", KEYS[owner].0));
            records.push(damaged);
            let mut opened = Opened::open(&settings, &records, NOW_MS).expect("the layout opens beside the damage");
            errors += usize::from(assert_others_are_well(&mut opened, &sound, owner));
        }
        println!("{name}: {ROUNDS} damaged records, {errors} of them found by a read of their key");
        assert!(errors > 0);
    }
}

/// Whether a read of the damaged key was answered with an error.
fn assert_others_are_well(opened: &mut Opened, sound: &Sound, owner: usize) -> bool {
    let others = || (0..KEYS.len()).filter(|index| *index != owner);
    let found = replies(opened, owner);
    let is_found = found.iter().any(|reply| reply.starts_with(b"-ERR corrupt record"));
    found.iter().for_each(|reply| assert_typed(reply, "a read"));
    for index in others() {
        assert_eq!(replies(opened, index), sound.replies[index], "{}", KEYS[index].0);
    }
    for line in GLOBAL {
        assert_typed(&opened.call(&words(line, "")), line);
    }
    if let Ok(dump) = opened.engine.dump(&mut Vec::new(), 1 << 30) {
        let contents = logical::from_dump(std::str::from_utf8(&dump).expect("JSON").lines()).expect("a dump");
        for entry in sound.contents.iter().filter(|entry| entry.key != KEYS[owner].0) {
            assert!(contents.contains(entry), "{entry:?}");
        }
    }
    opened.findings(100);
    let _ = opened.engine.sweep(1_000);
    for line in WRITES {
        assert_typed(&opened.call(&words(line, KEYS[owner].0)), line);
    }
    for index in others() {
        assert_eq!(replies(opened, index), sound.replies[index], "after writes: {}", KEYS[index].0);
        let exists = !sound.replies[index][0].starts_with(b"+none");
        assert_eq!(opened.call(&words("DEL @", KEYS[index].0)), if exists { b":1\r\n" } else { b":0\r\n" }, "{}", KEYS[index].0);
    }
    is_found
}

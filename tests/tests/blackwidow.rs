//! The layout `blackwidow` on the databases of the original, and on records that are made for it.

use std::collections::BTreeSet;

use bytes::Bytes;
use orbweaver_engine::layout::blackwidow::Blackwidow;
use orbweaver_engine::layout::{KeyAt, Layout as _};
use orbweaver_engine::store::{Direction, Scope};
use orbweaver_engine::transaction::{Scan, Transaction};
use orbweaver_tests::fixtures::{self, expected};
use orbweaver_tests::foreign::{self, Opened};
use orbweaver_tests::logical::Entry;
use orbweaver_tests::readers::Record;

const LAYOUT: &str = "blackwidow";
const FIXTURES: [&str; 4] = ["a-flushed", "a-wal", "a-mixed", "a-quirks"];
/// The clock of the tests that have no fixture's.
const NOW_MS: u64 = 1_700_000_000_000;
/// The version of collections that are made then.
const VERSION: u32 = 1_700_000_000;

fn opened(records: &[Record], now_ms: u64) -> Opened {
    Opened::new(LAYOUT, records, now_ms, |store| Ok(Box::new(Blackwidow::open(store)?)))
}

fn fixture(name: &str) -> Opened {
    let now_ms = u64::try_from(expected(LAYOUT, name).now_ms).expect("a time of our days");
    opened(&fixtures::records(LAYOUT, name), now_ms)
}

#[test]
fn a_sweep_removes_garbage_and_nothing_that_anybody_can_see() {
    for name in FIXTURES {
        let mut opened = fixture(name);
        let before = opened.contents();
        // Later, so that no garbage may still be somebody's work in progress; nothing expires meanwhile.
        opened.clock.wait_ms(7_200_000);
        let expired_meanwhile = |entry: &Entry| entry.expire_at_ms.is_some_and(|at| at < 1_700_010_000_000);
        let visible: Vec<&Entry> = before.iter().filter(|entry| !expired_meanwhile(entry)).collect();
        assert!(opened.sweep() > 0, "{name}");
        let after = opened.contents();
        assert_eq!(after.iter().collect::<Vec<_>>(), visible, "{name}");
        // All that is left belongs to a key that is there.
        let records = foreign::records(&opened.store);
        let keys: BTreeSet<&[u8]> = after.iter().map(|entry| entry.key.as_ref()).collect();
        for record in records.iter().filter(|record| record.keyspace.ends_with("/default")) {
            assert!(keys.contains(record.key.as_ref()), "{name}: {record:?}");
        }
        assert_eq!(opened.sweep(), 0, "{name}: it is not yet time for another pass");
        opened.clock.wait_ms(600_000);
        assert_eq!(opened.sweep(), 0, "{name}: there is nothing left to do");
    }
}

/// `key length | key | version | rest`.
fn data_key(key: &str, version: u32, rest: &[u8]) -> Bytes {
    let length = u32::try_from(key.len()).expect("a short key").to_le_bytes();
    [&length, key.as_bytes(), &version.to_le_bytes(), rest].concat().into()
}

/// `count | version | timestamp`: the meta record of a set or a sorted set.
fn meta(keyspace: &str, key: &str, count: i32, version: u32) -> Record {
    let value = [count.to_le_bytes(), version.to_le_bytes(), [0; 4]].concat();
    record(keyspace, key.as_bytes(), &value)
}

fn record(keyspace: &str, key: &[u8], value: &[u8]) -> Record {
    Record { keyspace: keyspace.to_owned(), key: Bytes::copy_from_slice(key), value: Bytes::copy_from_slice(value) }
}

fn member(key: &str, version: u32, member: &str) -> Record {
    record("sets/member_cf", &data_key(key, version, member.as_bytes()), b"")
}

fn scored_member(key: &str, member: &str, score: f64) -> Record {
    record("zsets/data_cf", &data_key(key, VERSION, member.as_bytes()), &score.to_le_bytes())
}

fn score(key: &str, score: f64, member: &str) -> Record {
    record("zsets/score_cf", &data_key(key, VERSION, &[&score.to_le_bytes(), member.as_bytes()].concat()), b"")
}

/// Runs commands, each with its reply behind `=>`.
fn expect(opened: &mut Opened, script: &[&str]) {
    for line in script {
        let (command, reply) = line.split_once(" => ").unwrap_or((line.trim_end_matches(" =>"), ""));
        assert_eq!(opened.run(command), reply, "{command}");
    }
}

#[test]
fn a_key_may_exist_in_five_types_at_once() {
    let mut five = fixture("a-flushed");
    expect(
        &mut five,
        &[
            "TYPE shared => +string",
            "EXISTS shared => :5",
            "SCAN 0 MATCH shared TYPE zset COUNT 1000 => *2 $1 0 *1 $6 shared",
            "SCAN 0 MATCH shared COUNT 1000 => *2 $1 0 *5 $6 shared $6 shared $6 shared $6 shared $6 shared",
            "EXPIRE shared 100 => :5",
            "TTL shared => :100",
            "PERSIST shared => :5",
            "SET shared new => +OK",
            "HLEN shared => :1",
            "UNLINK shared => :5",
            "TYPE shared => +none",
        ],
    );
}

#[test]
fn what_bugs_of_the_original_have_left_is_named_and_does_no_harm() {
    // SREM with a member several times: the count is 0, and hides what is there.
    let mut hidden = opened(&[meta("sets/default", "s", 0, VERSION), member("s", VERSION, "a"), member("s", VERSION, "b")], NOW_MS);
    assert_eq!(hidden.findings(9), ["sets/default b\"s\": it counts 0 records, and there are 2"]);
    expect(&mut hidden, &["EXISTS s => :0", "SADD s new => :1", "SMEMBERS s => *1 $3 new"]);
    assert_eq!(hidden.findings(9), [""; 0]);

    // The same, below 0: the key is there. The first write counts.
    let mut negative =
        opened(&[meta("sets/default", "s", -2, VERSION), member("s", VERSION, "a"), meta("sets/default", "none", -1, VERSION)], NOW_MS);
    let miscounts =
        ["sets/default b\"none\": it counts -1 records, and there are 0", "sets/default b\"s\": it counts -2 records, and there are 1"];
    assert_eq!(negative.findings(9), miscounts);
    expect(
        &mut negative,
        &["KEYS * => *1 $1 s", "SCARD s => :1", "SADD s b => :1", "SCARD s => :2", "EXISTS none => :0", "SADD none a => :1"],
    );
    assert_eq!(negative.findings(9), [""; 0]);

    // ZINCRBY of infinity by its opposite.
    let with_nan = [meta("zsets/default", "z", 2, VERSION), scored_member("z", "m", 1.0), score("z", 1.0, "m")];
    let nan = [scored_member("z", "n", f64::NAN), score("z", f64::NAN, "n")];
    let mut nan = opened(&[with_nan.as_slice(), &nan].concat(), NOW_MS);
    assert_eq!(nan.findings(9), ["zsets/data_cf b\"\\x01\\0\\0\\0z\\0\\xf1Sen\": a score that is not a number"]);
    expect(
        &mut nan,
        &[
            "ZRANGE z 0 -1 WITHSCORES => *4 $1 m $1 1 $1 n $3 nan",
            "ZRANGEBYSCORE z -inf +inf => *1 $1 m",
            "ZREM z n => :1",
            "ZCARD z => :1",
        ],
    );
    assert_eq!(nan.findings(9), [""; 0]);

    // ZPOPMAX that ran into another key's score records.
    let lost = [
        meta("zsets/default", "z", 2, VERSION),
        scored_member("z", "m", 1.0),
        score("z", 1.0, "m"),
        scored_member("z", "lost", 2.0),
        score("z", 3.0, "alone"),
    ];
    let mut lost = opened(&lost, NOW_MS);
    let halves = [
        "zsets/data_cf b\"\\x01\\0\\0\\0z\\0\\xf1Selost\": a member without a score record",
        "zsets/score_cf b\"\\x01\\0\\0\\0z\\0\\xf1Se\\0\\0\\0\\0\\0\\0\\x08@alone\": a score record without a member",
    ];
    assert_eq!(lost.findings(9), halves);
    expect(
        &mut lost,
        &["ZSCORE z lost => $1 2", "ZADD z 5 lost => :0", "ZADD z 3 alone => :1", "ZRANGE z 0 -1 => *3 $1 m $5 alone $4 lost"],
    );

    // A writer who gave up before the meta record.
    let mut ahead = opened(&[meta("sets/default", "s", 1, VERSION), member("s", VERSION, "a"), member("s", VERSION + 1, "b")], NOW_MS);
    let name = "sets/member_cf b\"\\x01\\0\\0\\0s\\x01\\xf1Seb\": a record of a version that its key has not reached";
    assert_eq!(ahead.findings(9), [name]);
    expect(&mut ahead, &["SMEMBERS s => *1 $1 a", "DEL s => :1", "SADD s c => :1", "SMEMBERS s => *1 $1 c"]);
}

#[test]
fn damaged_records_are_named_and_others_stay_readable() {
    let list_meta = [&5_u64.to_le_bytes()[..], &VERSION.to_le_bytes(), &[0; 4], &7_u64.to_le_bytes(), &9_u64.to_le_bytes()].concat();
    let zset = [meta("zsets/default", "z", 1, VERSION), record("zsets/data_cf", &data_key("z", VERSION, b"m"), &[0; 7])];
    let set = [meta("sets/default", "s", 1, VERSION), member("s", VERSION, "m")];
    let cases: &[(&[Record], &str, &str)] = &[
        (&[record("strings/default", b"k", b"abc")], "GET k", "a timestamp is cut short"),
        (&[record("hashes/default", b"k", &[1; 11])], "HGET k f", "a timestamp is cut short"),
        (&[record("sets/default", b"k", &[1; 13])], "SADD k m", "trailing bytes"),
        (&[record("lists/default", b"k", &list_meta)], "LLEN k", "a list's count is not that of its bounds"),
        (&[record("lists/default", b"k", &list_meta[..31])], "LPUSH k e", "a right bound is cut short"),
        (&zset, "ZSCORE z m", "a score is cut short"),
        (&[record("zsets/score_cf", &data_key("z", VERSION, b"")[..8], b"")], "PING", "a version is cut short"),
        (&[record("sets/member_cf", b"\x09\0\0\0short", b"")], "PING", "a key is cut short"),
    ];
    for (records, command, what) in cases {
        let mut damaged = opened(&[*records, &set].concat(), NOW_MS);
        let reply = damaged.run(command);
        assert!(*command == "PING" || reply.starts_with("-ERR") && reply.contains(what), "{command}: {reply}");
        let findings = damaged.findings(1);
        assert!(matches!(findings.as_slice(), [finding] if finding.contains(what)), "{command}: {findings:?}");
        expect(&mut damaged, &["SMEMBERS s => *1 $1 m", "SET other v => +OK", "GET other => $1 v"]);
        damaged.clock.wait_ms(7_200_000);
        damaged.sweep();
        assert_eq!(damaged.findings(1).len(), 1, "{command}: the sweep leaves it");
    }
}

#[test]
fn what_the_format_cannot_hold_is_refused_and_changes_nothing() {
    let mut refusing = opened(&[], NOW_MS);
    expect(&mut refusing, &["SET k v => +OK", "HSET h f v => :1", "SADD s m => :1"]);
    let before = foreign::records(&refusing.store);
    expect(
        &mut refusing,
        &[
            "PEXPIRE k 1500 => -ERR the layout blackwidow keeps expiries in full seconds",
            "SET k w PX 10 => -ERR the layout blackwidow keeps expiries in full seconds",
            "EXPIREAT k 2147483648 => -ERR the layout blackwidow keeps no expiry behind the Unix time 2147483647",
            "HEXPIRE h 100 FIELDS 1 f => -ERR this layout cannot hold the expiry of a field",
            "SELECT 1 => -ERR DB index is out of range",
            "SWAPDB 0 1 => -ERR DB index is out of range",
        ],
    );
    refusing.clock.wait_ms((1 << 31) * 1000 - NOW_MS);
    expect(
        &mut refusing,
        &[
            "SADD new m => -ERR the layout blackwidow has no versions behind 2147483647",
            "DEL s => -ERR the layout blackwidow has no versions behind 2147483647",
            "SADD s m => :0",
        ],
    );
    assert_eq!(foreign::records(&refusing.store), before);
}

#[test]
fn versions_never_go_back_with_the_clock() {
    let mut opened = opened(&[], NOW_MS + 5000);
    expect(&mut opened, &["SADD s a => :1", "DEL s => :1"]);
    opened.clock.set(NOW_MS);
    expect(&mut opened, &["SADD s b => :1", "SMEMBERS s => *1 $1 b"]);
    let records = foreign::records(&opened.store);
    assert!(records.contains(&meta("sets/default", "s", 1, VERSION + 7)), "{records:?}");
}

#[test]
fn records_without_a_meta_record_are_swept_once_nobody_can_be_writing_them_any_more() {
    let mut unfinished = opened(&[member("s", VERSION, "a"), member("s", VERSION, "b")], NOW_MS);
    assert_eq!(unfinished.sweep(), 0);
    unfinished.clock.wait_ms(3_600_000);
    assert_eq!(unfinished.sweep(), 0);
    unfinished.clock.wait_ms(1_000_000);
    assert_eq!(unfinished.sweep(), 2);
    assert_eq!(foreign::records(&unfinished.store), []);
}

#[test]
fn the_empty_key_is_a_key_as_any_other() {
    let mut empty = opened(&[], NOW_MS);
    expect(
        &mut empty,
        &["SET '' v => +OK", "RPUSH '' a b => :2", "LRANGE '' 0 -1 => *2 $1 a $1 b", "SCAN 0 => *2 $1 0 *2 $0  $0", "EXPIRE '' 10 => :2"],
    );
    empty.clock.wait_ms(20_000);
    expect(&mut empty, &["EXISTS '' => :0"]);
    assert_eq!(empty.sweep(), 4);
    assert_eq!(foreign::records(&empty.store), []);
}

#[test]
fn a_collection_that_takes_several_batches_is_loaded_whole_in_the_place_of_another() {
    let mut source = opened(&[], NOW_MS);
    for first in 0..50 {
        let members: Vec<String> = (0..200).map(|number| format!("{0} member{0:05}", first * 200 + number)).collect();
        source.run(&format!("ZADD z {}", members.join(" ")));
    }
    let dump = source.engine.dump(&mut Vec::new(), 1 << 30).expect("it is sound");
    let mut target = opened(&[], NOW_MS + 1000);
    expect(&mut target, &["ZADD z 1 old => :1"]);
    target.engine.load(&dump).expect("the layout holds it");
    assert_eq!(target.contents(), source.contents());
    assert_eq!(target.findings(1000), [""; 0]);
    // The old set's.
    target.clock.wait_ms(2000);
    assert_eq!(target.sweep(), 2);
    assert_eq!(target.contents(), source.contents());
}

#[test]
fn the_records_of_a_key_are_found_dead_ones_too_and_no_others() {
    let user_key = |record: &Record| match record.keyspace.as_str() {
        keyspace if keyspace.ends_with("/default") => record.key.clone(),
        _ => {
            let length = u32::from_le_bytes(record.key[..4].try_into().expect("four bytes"));
            record.key.slice(4..4 + usize::try_from(length).expect("a short key"))
        }
    };
    for name in FIXTURES {
        let records = fixtures::records(LAYOUT, name);
        let mut store = foreign::store(LAYOUT, &records);
        let layout = Blackwidow::open(&mut store).expect("the keyspaces open");
        let keys: BTreeSet<Bytes> = records.iter().map(user_key).collect();
        let mut transaction = Transaction::begin(&mut store, Scope::Read).expect("the store can be read");
        for key in keys {
            let at = KeyAt::new(1, key.clone());
            let mut found = Vec::new();
            for (keyspace, range) in layout.records_of(&at, &[]) {
                let mut scan = Scan::new(keyspace, range, Direction::Forward, 10);
                while let Some((key, value)) = transaction.next(&mut scan).expect("the store can be read") {
                    found.push(Record { keyspace: layout.keyspace_name(keyspace).to_owned(), key, value });
                }
            }
            let mut wanted: Vec<Record> = records.iter().filter(|record| user_key(record) == key).cloned().collect();
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted, "{name}: {key:?}");
        }
    }
}

//! The layout `nemo` on the database of the original, and what it writes itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orbweaver_engine::environment::{Environment, HeldEnvironment};
use orbweaver_engine::layout::anatomy::{UNKNOWN, UNREADABLE};
use orbweaver_engine::layout::nemo::Nemo;
use orbweaver_engine::layout::orbweaver::Orbweaver;
use orbweaver_engine::layout::{KeyAt, Kind, Layout};
use orbweaver_engine::store::{Limits, MemoryStore, Scope};
use orbweaver_engine::transaction::Transaction;
use orbweaver_tests::fixtures::{self, expected};
use orbweaver_tests::foreign::{self, Opened};
use orbweaver_tests::golden::bytes;
use orbweaver_tests::readers::Record;

const LAYOUT: &str = "nemo";
/// The version of the format document's examples, as a time.
const NOW_MS: u64 = 0x6b01_555a * 1000;

const SEPARATORS: [(&str, &str); 5] =
    [("hash/default", "68"), ("list/default", "6c"), ("set/default", "73"), ("zset/default", "79"), ("zset/default", "7a")];

fn opened(records: &[Record], now_ms: u64) -> Opened {
    Opened::new(LAYOUT, records, now_ms, |store| Ok(Box::new(Nemo::open(store)?)))
}

fn new() -> Opened {
    opened(&[], NOW_MS)
}

fn fixture() -> Opened {
    let now_ms = u64::try_from(expected(LAYOUT, "db").now_ms).expect("a time of our days");
    opened(&fixtures::records(LAYOUT, "db"), now_ms)
}

/// A record as the document writes it, with dots between the fields.
fn record(keyspace: &str, key: &str, value: &str) -> Record {
    Record { keyspace: keyspace.into(), key: bytes(key).expect("a key"), value: bytes(value).expect("a value") }
}

fn records(keyspace: &str, records: &[(&str, &str)]) -> Vec<Record> {
    records.iter().map(|(key, value)| record(keyspace, key, value)).collect()
}

fn separators() -> Vec<Record> {
    SEPARATORS.iter().map(|(keyspace, key)| record(keyspace, key, "00*8")).collect()
}

/// The records that are left, beside the separators.
fn left_in(opened: &Opened) -> Vec<Record> {
    foreign::records(&opened.store).into_iter().filter(|record| !separators().contains(record)).collect()
}

/// The records that are left by commands, beside the separators.
fn left_by(commands: &[&str]) -> Vec<Record> {
    let mut nemo = new();
    for command in commands {
        let reply = nemo.run(command);
        assert!(!reply.starts_with('-'), "{command}: {reply}");
    }
    assert_eq!(nemo.findings(7), [""; 0]);
    left_in(&nemo)
}

/// The same database with a record replaced, or without it.
fn damaged(opened: &Opened, keyspace: &str, key: &str, value: Option<&str>) -> Opened {
    let key = bytes(key).expect("a key");
    let mut records = foreign::records(&opened.store);
    records.retain(|record| record.keyspace != keyspace || record.key != key);
    records.extend(value.map(|value| Record { keyspace: keyspace.into(), key, value: bytes(value).expect("a value") }));
    self::opened(&records, NOW_MS)
}

#[test]
fn ranges_answer_the_scores_of_slots_and_zscore_the_exact_one() {
    let mut nemo = fixture();
    assert_eq!(nemo.run("ZRANGEBYSCORE zset:a 123 124 WITHSCORES"), "*2 $5 round $9 123.45679");
    assert_eq!(nemo.run("ZSCORE zset:a round"), "$10 123.456789");
    assert_eq!(nemo.run("ZRANGE zset:a -1 -1 WITHSCORES"), "*2 $3 big $15 9999999999999.5");
    assert_eq!(nemo.run("ZRANGEBYSCORE zset:a 0 (0.1"), "*2 $4 tiny $4 zero");
    assert_eq!(nemo.run("ZRANK zset:a round"), ":8");
    assert_eq!(nemo.run("ZPOPMAX zset:a 2"), "*4 $3 big $15 9999999999999.5 $5 round $9 123.45679");
    assert_eq!(nemo.run("ZCARD zset:a"), ":8");
    assert_eq!(nemo.findings(7), [""; 0]);
}

#[test]
fn an_empty_store_gets_its_separators_and_one_that_cannot_be_written_nothing() {
    assert_eq!(foreign::records(&new().store), separators());
    let store = MemoryStore::new();
    Nemo::open(&mut store.limited(Limits { read_only: true, ..Limits::NONE })).expect("the layout opens");
    assert_eq!(foreign::records(&store), []);
    let mut nemo = fixture();
    assert_eq!(nemo.run("FLUSHALL"), "+OK");
    assert_eq!(foreign::records(&nemo.store), separators());
}

#[test]
fn commands_leave_the_records_of_the_document() {
    let plain = records("kv/default", &[("7374723a706c61696e", "626172.00000000.00000000")]);
    assert_eq!(left_by(&["SET str:plain bar"]), plain);
    let expiring = left_by(&["SET str:ttl later", "EXPIREAT str:ttl 2145916800"]);
    assert_eq!(expiring, records("kv/default", &[("7374723a74746c", "6c61746572.00000000.8017e87f")]));
    let hash = records(
        "hash/default",
        &[
            ("48.686173683a74776f", "0200000000000000.5a55016b.00000000"),
            ("68.08.686173683a74776f.3d.6669656c6431", "48656c6c6f.5a55016b.00000000"),
            ("68.08.686173683a74776f.3d.6669656c6432", "3432.5a55016b.00000000"),
        ],
    );
    assert_eq!(left_by(&["HSET hash:two field1 Hello field2 42"]), hash);
    let set = records(
        "set/default",
        &[
            ("53.7365743a61", "0300000000000000.5a55016b.00000000"),
            ("73.05.7365743a61", "5a55016b.00000000"),
            ("73.05.7365743a61.62616e616e61", "5a55016b.00000000"),
            ("73.05.7365743a61.636865727279", "5a55016b.00000000"),
        ],
    );
    assert_eq!(left_by(&["SADD set:a banana cherry ''"]), set);
    let zset = records(
        "zset/default",
        &[
            ("5a.7a7365743a61", "0200000000000000.5a55016b.00000000"),
            ("79.06.7a7365743a61.0de0b6b3a7602f70.6e6567", "5a55016b.00000000"),
            ("79.06.7a7365743a61.0de0b6b3a820614f.726f756e64", "5a55016b.00000000"),
            ("7a.06.7a7365743a61.6e6567", "00000000000004c0.5a55016b.00000000"),
            ("7a.06.7a7365743a61.726f756e64", "0b0bee073cdd5e40.5a55016b.00000000"),
        ],
    );
    assert_eq!(left_by(&["ZADD zset:a 1 neg 123.456789 round", "ZADD zset:a -2.5 neg"]), zset);
}

#[test]
fn lists_are_linked_as_in_the_document() {
    let pushed = records(
        "list/default",
        &[
            ("4c.6c6973743a6c72", "0300000000000000.0300000000000000.0100000000000000.0400000000000000.5a55016b.00000000"),
            ("6c.07.6c6973743a6c72.0100000000000000", "0200000000000000.0000000000000000.61.5a55016b.00000000"),
            ("6c.07.6c6973743a6c72.0200000000000000", "0300000000000000.0100000000000000.62.5a55016b.00000000"),
            ("6c.07.6c6973743a6c72.0300000000000000", "0000000000000000.0200000000000000.63.5a55016b.00000000"),
        ],
    );
    assert_eq!(left_by(&["RPUSH list:lr a", "LPUSH list:lr b", "LPUSH list:lr c"]), pushed);
    let inserted = records(
        "list/default",
        &[
            ("4c.69", "0300000000000000.0100000000000000.0400000000000000.0500000000000000.5a55016b.00000000"),
            ("6c.01.69.0100000000000000", "0000000000000000.0300000000000000.61.5a55016b.00000000"),
            ("6c.01.69.0300000000000000", "0100000000000000.0400000000000000.62.5a55016b.00000000"),
            ("6c.01.69.0400000000000000", "0300000000000000.0000000000000000.64.5a55016b.00000000"),
        ],
    );
    assert_eq!(left_by(&["RPUSH i a c", "LINSERT i BEFORE c b", "RPOP i", "RPUSH i d"]), inserted);
    let emptied = records("list/default", &[("4c.69", "00*24.0100000000000000.5a55016b.00000000")]);
    assert_eq!(left_by(&["RPUSH i a b", "LPOP i 2"]), emptied);
    let removed = left_by(&["RPUSH i a", "DEL i"]);
    assert_eq!(
        removed,
        records(
            "list/default",
            &[
                ("4c.69", "00*24.0100000000000000.5b55016b.00000000"),
                ("6c.01.69.0100000000000000", "0000000000000000.0000000000000000.61.5a55016b.00000000"),
            ]
        )
    );
}

#[test]
fn what_an_earlier_collection_left_is_passed_over() {
    for (fill, refill, read, reply) in [
        ("HSET k a 1 b 2", "HSET k b 3", "HGETALL k", "*2 $1 b $1 3"),
        ("RPUSH k a b c", "RPUSH k d", "LRANGE k 0 -1", "*1 $1 d"),
        ("SADD k a b c", "SADD k b", "SMEMBERS k", "*1 $1 b"),
        ("ZADD k 1 a 2 b", "ZADD k 3 b", "ZRANGE k 0 -1 WITHSCORES", "*2 $1 b $1 3"),
    ] {
        // Removed, and expired: once more behind each other.
        for gone in ["DEL k", "EXPIRE k 1"] {
            let mut nemo = new();
            nemo.run(fill);
            assert_eq!(nemo.run(gone), ":1");
            nemo.clock.wait_ms(2000);
            assert_eq!(nemo.run(read), "*0", "{fill} {gone}");
            assert_eq!(nemo.run("EXISTS k"), ":0");
            assert_eq!(nemo.run("DBSIZE"), ":0");
            assert_eq!(nemo.run(refill), ":1");
            assert_eq!(nemo.run(read), reply, "{fill} {gone}");
            assert_eq!(nemo.run("TTL k"), ":-1");
            assert_eq!(nemo.findings(7), [""; 0]);
        }
    }
}

#[test]
fn a_key_lives_through_the_second_that_is_stored_and_a_time_to_live_counts_from_the_one_before() {
    let mut nemo = new();
    nemo.run("MSET at v for v");
    assert_eq!(nemo.run(&format!("EXPIREAT at {}", NOW_MS / 1000 + 10)), ":1");
    assert_eq!(nemo.run("EXPIRE for 10"), ":1");
    assert_eq!(left_in(&nemo), records("kv/default", &[("6174", "76.00000000.6455016b"), ("666f72", "76.00000000.6355016b")]));
    assert_eq!(nemo.run("TTL for"), ":10");
    nemo.clock.wait_ms(9999);
    assert_eq!(nemo.run("EXISTS at for"), ":2");
    nemo.clock.wait_ms(1);
    assert_eq!(nemo.run("EXISTS at for"), ":1");
    nemo.clock.wait_ms(1000);
    assert_eq!(nemo.run("EXISTS at for"), ":0");
    assert_eq!(left_in(&nemo).len(), 2, "what is expired stays until it is swept");
}

#[test]
fn elements_copy_the_expiry_of_the_time_and_hdel_keeps_it() {
    let mut nemo = new();
    nemo.run("HSET hash:ttl f v");
    nemo.run("EXPIREAT hash:ttl 2145916801");
    nemo.run("HSET hash:ttl g after-expire x y");
    nemo.run("HDEL hash:ttl x");
    let left = records(
        "hash/default",
        &[
            ("48.686173683a74746c", "0200000000000000.5a55016b.8117e87f"),
            ("68.08.686173683a74746c.3d.66", "76.5a55016b.00000000"),
            ("68.08.686173683a74746c.3d.67", "61667465722d657870697265.5a55016b.8117e87f"),
        ],
    );
    assert_eq!(left_in(&nemo), left);
}

#[test]
fn a_key_may_be_in_each_database() {
    let mut nemo = new();
    for command in ["ZADD k 1 m", "SADD k m", "LPUSH k e", "HSET k f v", "SET k v"] {
        assert!(!nemo.run(command).starts_with('-'), "{command}");
    }
    for kind in ["string", "hash", "list", "zset", "set"] {
        assert_eq!(nemo.run("TYPE k"), format!("+{kind}"));
        let gone = match kind {
            "string" => "GETDEL k",
            "hash" => "HDEL k f",
            "list" => "LPOP k",
            "zset" => "ZREM k m",
            _ => "SREM k m",
        };
        assert!(!nemo.run(gone).starts_with('-'));
    }
    assert_eq!(nemo.run("TYPE k"), "+none");
}

#[test]
fn what_the_format_cannot_hold_is_refused_and_changes_nothing() {
    let mut nemo = new();
    nemo.run("SET s v");
    nemo.run("ZADD z 1 m");
    let before = foreign::records(&nemo.store);
    let long = "k".repeat(255);
    for (command, error) in [
        (format!("HSET {long} f v"), "-ERR the layout nemo keeps hashes, lists, sets and sorted sets under keys of 1 to 254 bytes"),
        (format!("RPUSH {long} e"), "-ERR the layout nemo keeps hashes, lists, sets and sorted sets under keys of 1 to 254 bytes"),
        ("SADD '' m".to_owned(), "-ERR the layout nemo keeps hashes, lists, sets and sorted sets under keys of 1 to 254 bytes"),
        ("ZADD z inf m".to_owned(), "-ERR the layout nemo keeps scores from -1e13 to 1e13"),
        ("ZADD z 1 new -1.1e13 m".to_owned(), "-ERR the layout nemo keeps scores from -1e13 to 1e13"),
        ("ZINCRBY z 1e13 m".to_owned(), "-ERR the layout nemo keeps scores from -1e13 to 1e13"),
        ("PEXPIRE s 1500".to_owned(), "-ERR the layout nemo keeps expiries in full seconds"),
        ("EXPIREAT s 2147483648".to_owned(), "-ERR the layout nemo keeps no expiry behind the Unix time 2147483647"),
        ("SELECT 1".to_owned(), "-ERR DB index is out of range"),
    ] {
        assert_eq!(nemo.run(&command), error, "{command}");
    }
    assert_eq!(foreign::records(&nemo.store), before);
    let longest = "k".repeat(254);
    assert_eq!(nemo.run(&format!("SADD {longest} m")), ":1");
    assert_eq!(nemo.run(&format!("SET {long} v")), "+OK");
    assert_eq!(nemo.run(&format!("SISMEMBER {longest} m")), ":1");
    assert_eq!(nemo.run("ZADD z -1e13 low 1e13 high"), ":2");
    assert_eq!(nemo.run("ZRANGE z -inf +inf BYSCORE"), "*3 $3 low $1 m $4 high");
    assert_eq!(nemo.findings(7), [""; 0]);
}

#[test]
fn scores_in_one_slot_stand_in_the_order_of_their_members() {
    let mut nemo = new();
    nemo.run("ZADD z 0.000004 a 0 b 0.000002 c");
    assert_eq!(nemo.run("ZRANGE z 0 -1 WITHSCORES"), "*6 $1 a $1 0 $1 b $1 0 $1 c $1 0");
    // Where there are fewer doubles than slots, the score of a slot may be that of another one.
    for score in ["9007199254740.997", "9999999999999.998", "-9999999999999.99"] {
        nemo.run(&format!("ZADD z {score} m"));
        assert_eq!(nemo.run("ZREM z m"), ":1");
        nemo.run(&format!("ZADD z {score} m"));
        nemo.run(if score.starts_with('-') { "ZPOPMIN z" } else { "ZPOPMAX z" });
        assert_eq!(nemo.run("ZCARD z"), ":3", "{score}");
        assert_eq!(nemo.findings(7), [""; 0], "{score}");
    }
}

#[test]
fn lists_answer_as_those_of_the_default_layout() {
    let (mut nemo, mut other) = (new(), Opened::new("orbweaver", &[], NOW_MS, |store| Ok(Box::new(Orbweaver::open(store)?))));
    let mut random = HeldEnvironment::new(0, 7);
    let mut below = |limit: u64| random.random() % limit;
    for step in 0..3000 {
        let (a, b) = (below(7), below(12));
        let from = i64::try_from(below(14)).expect("small") - 7;
        let command = match below(12) {
            0 | 1 => format!("RPUSH l {a} {b}"),
            2 | 3 => format!("LPUSH l {b} {a} {step}"),
            4 => format!("LINSERT l {} {a} {step}", if b < 6 { "BEFORE" } else { "AFTER" }),
            5 => format!("LREM l {from} {a}"),
            6 => format!("LTRIM l {} {}", below(3), -1 - i64::try_from(below(3)).expect("small")),
            7 => format!("LPOP l {}", below(3)),
            8 => format!("RPOP l {}", below(3)),
            9 => format!("LSET l {from} {step}"),
            10 => format!("LINDEX l {from}"),
            _ if below(40) == 0 => "DEL l".to_owned(),
            _ => format!("LRANGE l {from} {}", from + i64::try_from(b).expect("small")),
        };
        assert_eq!(nemo.run(&command), other.run(&command), "{step}: {command}");
        assert_eq!(nemo.run("LRANGE l 0 -1"), other.run("LRANGE l 0 -1"), "{step}: {command}");
        if step % 50 == 0 {
            assert_eq!(nemo.findings(7), [""; 0], "{step}: {command}");
        }
    }
}

#[test]
fn the_sweep_removes_what_is_dead_and_a_meta_record_behind_its_elements() {
    let mut nemo = new();
    for command in [
        "HSET gone f v g w",
        "DEL gone",
        "SADD again a b",
        "DEL again",
        "SADD again b",
        "ZADD expiring 1 m",
        "EXPIRE expiring 1",
        "SET s v EX 1",
        "RPUSH stays a b",
    ] {
        nemo.run(command);
    }
    let mut left: Vec<Record> = left_in(&nemo).into_iter().filter(|record| record.keyspace == "list/default").collect();
    nemo.clock.wait_ms(5000);
    // Two fields, a member, two records of another one; and two keys that have expired.
    assert_eq!(nemo.sweep(), 2 + 1 + 2 + 2);
    nemo.clock.wait_ms(600_000);
    assert_eq!(nemo.sweep(), 2, "the meta records have nothing behind them now");
    left.extend(records(
        "set/default",
        &[("53.616761696e", "0100000000000000.5b55016b.00000000"), ("73.05.616761696e.62", "5b55016b.00000000")],
    ));
    assert_eq!(left_in(&nemo), left);
    assert_eq!(nemo.run("SMEMBERS again"), "*1 $1 b");
}

#[test]
fn a_record_that_cannot_be_read_is_an_error_for_its_key_alone() {
    for (keyspace, key, value, command, finding) in [
        ("kv/default", "62", "00", "GET b", "a trailer is cut short at offset 0"),
        ("hash/default", "48.62", "01", "HGET b f", "a trailer is cut short at offset 0"),
        ("hash/default", "48.62", "010000000000000000.5a55016b.00000000", "HLEN b", "trailing bytes at offset 8"),
        ("hash/default", "68.01.62.3d.66", "5a55016b", "HGET b f", "a trailer is cut short at offset 0"),
        ("list/default", "4c.62", "0100000000000000.5a55016b.00000000", "LLEN b", "not the number of a first node at offset 8"),
        ("list/default", "6c.01.62.0100000000000000", "00.5a55016b.00000000", "LINDEX b 0", "not the number of a node before at offset 0"),
        ("set/default", "73.01.62.66", "5a", "SISMEMBER b f", "a trailer is cut short at offset 0"),
        ("zset/default", "7a.01.62.66", "00000000000004.5a55016b.00000000", "ZSCORE b f", "a score is cut short at offset 0"),
        ("zset/default", "7a.01.62.66", "000000000000f07f.5a55016b.00000000", "ZSCORE b f", "not a score from -1e13 to 1e13 at offset 0"),
        ("zset/default", "79.01.62.1bc16d674ec80001.66", "5a55016b.00000000", "ZRANGEBYSCORE b 1 inf", "the slot of no score at offset 0"),
    ] {
        let mut nemo = new();
        for name in ["a", "b"] {
            for command in ["SET {} v", "HSET {} f v", "RPUSH {} f", "SADD {} f", "ZADD {} 1 f"] {
                nemo.run(&command.replace("{}", name));
            }
        }
        let mut nemo = damaged(&nemo, keyspace, key, Some(value));
        let reply = nemo.run(command);
        assert!(reply.starts_with("-ERR corrupt record: ") && reply.contains(keyspace), "{command}: {reply}");
        let other = nemo.run(&command.replace(" b", " a"));
        assert!(!other.starts_with('-'), "{command}: {other}");
        let named = format!("{keyspace} {:?}: {finding}", bytes(key).expect("a key"));
        assert!(nemo.findings(7).contains(&named), "{named} is not in {:?}", nemo.findings(7));
    }
}

#[test]
fn the_check_names_what_does_not_fit_together() {
    for (keyspace, key, value, finding) in [
        ("hash/default", "48.6b", Some("0200000000000000.5a55016b.00000000"), "hash/default b\"Hk\": counts 2 elements, has 1"),
        ("hash/default", "68.01.6b.3d.66", None, "hash/default b\"Hk\": counts 1 elements, has none"),
        ("hash/default", "58", Some("00"), "hash/default b\"X\": no record of this layout"),
        ("hash/default", "68", Some("01"), "hash/default b\"h\": a separator record's value is not zero"),
        ("kv/default", "6b", Some("76.01000000.00000000"), "kv/default b\"k\": a string with a version"),
        (
            "list/default",
            "4c.6b",
            Some("0200000000000000.0000000000000000.0200000000000000.0300000000000000.5a55016b.00000000"),
            "list/default b\"Lk\": 2 elements from 0 to 2, before 3",
        ),
        (
            "list/default",
            "6c.01.6b.0200000000000000",
            Some("0000000000000000.0000000000000000.62.5a55016b.00000000"),
            "list/default b\"l\\x01k\\x02\\0\\0\\0\\0\\0\\0\\0\": the node before it, 0, leads to 1",
        ),
        ("set/default", "73.01.6b.66", Some("76.5a55016b.00000000"), "set/default b\"s\\x01kf\": a value where none belongs"),
        (
            "zset/default",
            "7a.01.6b.66",
            Some("0000000000000040.5a55016b.00000000"),
            "zset/default b\"z\\x01kf\": its member has no record in its slot",
        ),
        (
            "zset/default",
            "79.01.6b.0de0b6b3a7640000.67",
            Some("5a55016b.00000000"),
            "zset/default b\"y\\x01k\\r\\xe0\\xb6\\xb3\\xa7d\\0\\0g\": its member does not exist",
        ),
        (
            "zset/default",
            "79.01.6b.0de0b6b3a7640000.66",
            Some("5a55016b.00000000"),
            "zset/default b\"y\\x01k\\r\\xe0\\xb6\\xb3\\xa7d\\0\\0f\": its member has a score in another slot",
        ),
    ] {
        let mut nemo = new();
        for command in ["SET k v", "HSET k f v", "RPUSH k a b", "SADD k f", "ZADD k 1 f"] {
            nemo.run(command);
        }
        let found = damaged(&nemo, keyspace, key, value).findings(7);
        assert!(found.iter().any(|found| found == finding), "{finding} is not in {found:?}");
    }
}

#[test]
fn a_collection_that_is_loaded_in_parts_is_not_seen_before_it_is_whole() {
    let text = |text: &str| format!("\"{}\"", STANDARD.encode(text));
    let members: Vec<String> = (0..30_000).map(|number| text(&number.to_string())).collect();
    let line = format!("{{\"db\":0,\"key\":{},\"type\":\"set\",\"expire_at_ms\":null,\"members\":[{}]}}\n", text("k"), members.join(","));
    let mut nemo = new();
    nemo.run("SADD k old 1 2");
    nemo.engine.load(line.as_bytes()).expect("a sound line");
    assert_eq!(nemo.run("SCARD k"), ":30000");
    assert_eq!(nemo.run("SISMEMBER k old"), ":0");
    assert_eq!(nemo.findings(7), [""; 0]);
}

#[test]
fn every_record_of_the_fixture_is_taken_apart_without_a_rest() {
    let nemo = fixture();
    for record in fixtures::records(LAYOUT, "db") {
        let shown = foreign::fields(&nemo.engine.describe(&record.keyspace, &record.key, &record.value));
        assert!(!shown.contains(UNKNOWN) && !shown.contains(UNREADABLE), "{record:?}: {shown}");
    }
}

#[test]
fn the_records_of_a_key_say_what_they_are() {
    let mut nemo = new();
    for command in ["RPUSH k a b", "ZADD k -2.5 m", "HSET k f v"] {
        nemo.run(command);
    }
    nemo.run("EXPIREAT k 2145916800");
    let found = nemo.engine.inspect(0, b"k", &mut Vec::new(), 100).expect("the key is found");
    let shown: Vec<String> = found.iter().map(foreign::fields).collect();
    let version = "version 1795249498 = 2026-11-21T08:24:58Z";
    let expiry = "timestamp 2145916800 = 2038-01-01T00:00:00Z";
    let expected = [
        format!("tag H, key \"k\" -> count 1, {version}, {expiry}"),
        format!("tag h, key length 1, key \"k\", separator =, field \"f\" -> value \"v\", {version}, timestamp 0 = no expiry"),
        format!("tag L, key \"k\" -> count 2, left 1, right 2, next_seq 3, {version}, {expiry}"),
        format!("tag l, key length 1, key \"k\", seq 1 -> prev 0 = none, next 2, element \"a\", {version}, timestamp 0 = no expiry"),
        format!("tag l, key length 1, key \"k\", seq 2 -> prev 1, next 0 = none, element \"b\", {version}, timestamp 0 = no expiry"),
        format!("tag Z, key \"k\" -> count 1, {version}, {expiry}"),
        format!("tag y, key length 1, key \"k\", score 999999999999750000 = -2.5, member \"m\" -> {version}, timestamp 0 = no expiry"),
        format!("tag z, key length 1, key \"k\", member \"m\" -> score -2.5, {version}, timestamp 0 = no expiry"),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_list_in_a_circle_is_an_error_and_no_endless_walk() {
    let huge = "ffffffffffffff0f";
    let head = format!("{huge}.0100000000000000.0200000000000000.{huge}.5a55016b.00000000");
    let circle = records(
        "list/default",
        &[
            ("4c.6b", head.as_str()),
            ("6c.01.6b.0100000000000000", "0200000000000000.0200000000000000.61.5a55016b.00000000"),
            ("6c.01.6b.0200000000000000", "0100000000000000.0100000000000000.62.5a55016b.00000000"),
        ],
    );
    for command in ["LRANGE k 0 -1", "LINDEX k 1000000", "LPOS k x", "LREM k 0 x", "LREM k -1 x", "SORT k ALPHA"] {
        let reply = opened(&circle, NOW_MS).run(command);
        assert!(reply.starts_with("-ERR corrupt record: "), "{command}: {reply}");
    }
}

/// Begins to write a set under `k` in parts. Returns whether that may go on at the end of `meanwhile`.
fn begun_set(opened: &mut Opened, meanwhile: fn(&mut Opened)) -> bool {
    let mut store = opened.store.clone();
    let layout = Nemo::open(&mut store).expect("the layout opens");
    let at = KeyAt::new(1, "k".into());
    let mut transaction = Transaction::begin(&mut store, Scope::Keys(vec![at.lock_key().clone()])).expect("it begins");
    let version = layout.next_version(&mut transaction, &at, Kind::Set, NOW_MS, &mut || Ok(0)).expect("a version");
    let set = layout.empty_collection(Kind::Set, version);
    layout.renew_unfinished(&mut transaction, &at, &set, true, NOW_MS).expect("nothing is there");
    let record = layout.member(&at, &set, b"begun");
    layout.write_member(&mut transaction, &at, &set, b"begun", record, true).expect("it fits");
    transaction.commit().expect("it fits");
    meanwhile(opened);
    let mut transaction = Transaction::begin(&mut store, Scope::Read).expect("it begins");
    layout.is_unfinished(&mut transaction, &at, &set).expect("it can be read")
}

#[test]
fn what_is_being_written_is_nobodys_until_it_is_whole_and_swept_when_it_was_given_up() {
    let mut nemo = new();
    let unseen = begun_set(&mut nemo, |nemo| {
        assert_eq!(nemo.run("EXISTS k"), ":0");
        nemo.clock.wait_ms(3_599_000);
        assert_eq!(nemo.sweep(), 0);
    });
    assert!(unseen);
    nemo.clock.wait_ms(2000 + 600_000);
    assert_eq!(nemo.sweep(), 1, "the member");
    nemo.clock.wait_ms(600_000);
    assert_eq!(nemo.sweep(), 1, "the note");
    assert_eq!(left_in(&nemo), []);
    let mut nemo = new();
    let goes_on = begun_set(&mut nemo, |nemo| assert_eq!(nemo.run("SADD k own"), ":1"));
    assert!(!goes_on);
    assert_eq!(nemo.run("SMEMBERS k"), "*1 $3 own");
    assert_eq!(nemo.findings(7), [""; 0]);
}

#[test]
fn a_list_that_lrem_empties_keeps_a_version_that_is_ahead_of_the_clock() {
    let mut nemo = opened(&[], NOW_MS);
    // Each removal takes the next version, whatever the clock says.
    for command in ["RPUSH l a b c", "DEL l", "RPUSH l a b c", "DEL l", "RPUSH l x", "LREM l 0 x"] {
        assert!(!nemo.run(command).starts_with('-'), "{command}");
    }
    // Else the nodes of the removed lists would be its own.
    assert_eq!(nemo.run("RPUSH l y"), ":1");
    assert_eq!(nemo.findings(100), [""; 0]);
    assert_eq!(nemo.run("LRANGE l 0 -1"), "*1 $1 y");
}

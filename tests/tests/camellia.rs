//! The layout `camellia` on rows of the original's own classes, and what it writes itself.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use orbweaver_engine::environment::{Environment, HeldEnvironment};
use orbweaver_engine::layout::anatomy::{UNKNOWN, UNREADABLE};
use orbweaver_engine::layout::camellia::{Camellia, EncodeVersion, Options, redis};
use orbweaver_engine::layout::orbweaver::Orbweaver;
use orbweaver_tests::fixtures::{self, expected};
use orbweaver_tests::foreign::{self, Opened};
use orbweaver_tests::golden::bytes;
use orbweaver_tests::readers::Record;

const LAYOUT: &str = "camellia";
const KV: &str = "camellia_kv";
const REDIS: &str = "camellia_redis";
/// The key version of the format document's examples, but for its last byte.
const NOW_MS: u64 = 0x18f_d3ab_c200;

fn options() -> Options {
    Options { namespace: "ns".into(), ..Options::default() }
}

fn version_1() -> Options {
    Options { hashes: EncodeVersion::V1, sets: EncodeVersion::V1, sorted_sets: EncodeVersion::V1, ..options() }
}

fn with_slots(options: Options) -> Options {
    Options { has_slot_prefix: true, ..options }
}

fn opened(records: &[Record], now_ms: u64, options: &Options) -> Opened {
    Opened::new(LAYOUT, records, now_ms, |store| Ok(Box::new(Camellia::open(store, options)?)))
}

fn new(options: &Options) -> Opened {
    opened(&[], NOW_MS, options)
}

/// The rows of the fixture, and what is in its redis.
fn fixture_rows(has_slot_prefix: bool) -> Vec<Record> {
    let mut rows = fixtures::records(LAYOUT, "records");
    for row in rows.iter_mut().filter(|row| !has_slot_prefix && row.keyspace == KV) {
        row.key = row.key.slice(8..);
    }
    rows.sort();
    rows
}

fn fixture(has_slot_prefix: bool) -> Opened {
    let now_ms = u64::try_from(expected(LAYOUT, "records").now_ms).expect("a time of our days");
    opened(&fixture_rows(has_slot_prefix), now_ms, &Options { has_slot_prefix, ..options() })
}

/// A row as the document writes it, with dots between the fields.
fn row(keyspace: &str, key: &str, value: &str) -> Record {
    Record { keyspace: keyspace.into(), key: bytes(key).expect("a key"), value: bytes(value).expect("a value") }
}

fn rows(rows: &[(&str, &str)]) -> Vec<Record> {
    let mut rows: Vec<Record> = rows.iter().map(|(key, value)| row(KV, key, value)).collect();
    rows.sort();
    rows
}

/// The rows that are left by commands.
fn left_by(options: &Options, commands: &[&str]) -> Vec<Record> {
    let mut camellia = new(options);
    for command in commands {
        let reply = camellia.run(command);
        assert!(!reply.starts_with('-'), "{command}: {reply}");
    }
    assert_eq!(camellia.findings(7), [""; 0]);
    foreign::records(&camellia.store)
}

/// The same database with a row replaced, or without it.
fn damaged(opened: &Opened, options: &Options, keyspace: &str, key: &str, value: Option<&str>) -> Opened {
    let key = bytes(key).expect("a key");
    let mut records = foreign::records(&opened.store);
    records.retain(|record| record.keyspace != keyspace || record.key != key);
    records.extend(value.map(|value| Record { keyspace: keyspace.into(), key, value: bytes(value).expect("a value") }));
    self::opened(&records, NOW_MS, options)
}

#[test]
fn the_fixture_is_dumped_as_expected_and_nothing_changed() {
    for has_slot_prefix in [true, false] {
        let mut camellia = fixture(has_slot_prefix);
        assert_eq!(camellia.contents(), expected(LAYOUT, "records").live);
        for budget in [1, 7, 10_000] {
            assert_eq!(camellia.findings(budget), [""; 0], "{budget} records a step");
        }
        assert_eq!(foreign::records(&camellia.store), fixture_rows(has_slot_prefix));
    }
}

#[test]
fn keys_are_found_among_the_rows_of_all_slots() {
    for has_slot_prefix in [true, false] {
        let mut camellia = fixture(has_slot_prefix);
        assert_eq!(camellia.run("DBSIZE"), ":15");
        assert_eq!(camellia.run("GET str:plain"), "$3 bar");
        assert_eq!(camellia.run("SCARD set:v1"), ":2");
        assert_eq!(camellia.run("HLEN hash:v1"), ":2");
        assert_eq!(camellia.run("ZCARD zset:v1"), ":4");
        let reply = camellia.run("PKSCANRANGE string '' ''");
        if has_slot_prefix {
            assert_eq!(reply, "-ERR the layout camellia keeps keys in no order of their names");
        } else {
            assert!(reply.starts_with("*2 $0  *5 $5 bin"), "{reply}");
        }
        assert_eq!(camellia.run("FLUSHALL"), "+OK");
        assert_eq!(foreign::records(&camellia.store), []);
    }
}

#[test]
fn another_namespace_is_neither_seen_nor_removed() {
    for has_slot_prefix in [true, false] {
        let other = Options { namespace: "other".into(), has_slot_prefix, ..version_1() };
        let before = fixture_rows(has_slot_prefix);
        let mut camellia = opened(&before, NOW_MS, &other);
        for command in ["SET s v", "HSET h f v", "ZADD z 1 m 2 a-member-that-is-long"] {
            assert!(!camellia.run(command).starts_with('-'));
        }
        assert_eq!(camellia.run("DBSIZE"), ":3");
        assert_eq!(camellia.findings(7), [""; 0]);
        assert_eq!(camellia.run("FLUSHALL"), "+OK");
        assert_eq!(foreign::records(&camellia.store), before);
    }
}

#[test]
fn commands_leave_the_rows_of_the_document() {
    let string = [("6d23.6e73.7374723a706c61696e", "00.01.0000018fd3abc200.ffffffffffffffff.626172")];
    assert_eq!(left_by(&options(), &["SET str:plain bar"]), rows(&string));
    let expiring = [("6d23.6e73.7374723a74746c", "00.01.0000018fd3abc200.000003bb2cc3d800.6c61746572")];
    assert_eq!(left_by(&options(), &["SET str:ttl later", "PEXPIREAT str:ttl 4102444800000"]), rows(&expiring));
    for (options, meta) in
        [(options(), "00.02.0000018fd3abc200.ffffffffffffffff.00000002"), (version_1(), "01.02.0000018fd3abc200.ffffffffffffffff")]
    {
        let hash = [
            ("6d23.6e73.686173683a7630", meta),
            ("7323.6e73.00000007.686173683a7630.0000018fd3abc200.6669656c6431", "48656c6c6f"),
            ("7323.6e73.00000007.686173683a7630.0000018fd3abc200.6669656c6432", "3432"),
        ];
        assert_eq!(left_by(&options, &["HSET hash:v0 field1 Hello field2 42"]), rows(&hash));
    }
    let set = [
        ("6d23.6e73.7365743a7630", "00.05.0000018fd3abc200.ffffffffffffffff.00000003"),
        ("7323.6e73.00000006.7365743a7630.0000018fd3abc200", "-"),
        ("7323.6e73.00000006.7365743a7630.0000018fd3abc200.6170706c65", "-"),
        ("7323.6e73.00000006.7365743a7630.0000018fd3abc200.62616e616e61", "-"),
    ];
    assert_eq!(left_by(&options(), &["SADD set:v0 '' apple banana"]), rows(&set));
    let zset = [
        ("6d23.6e73.7a7365743a7630", "00.03.0000018fd3abc200.ffffffffffffffff.00000002"),
        ("7323.6e73.00000007.7a7365743a7630.0000018fd3abc200.6e6567", "2d322e35"),
        ("7323.6e73.00000007.7a7365743a7630.0000018fd3abc200.626967", "312e30453130"),
        ("6b23.6e73.00000007.7a7365743a7630.0000018fd3abc200.c004000000000000.6e6567", "-"),
        ("6b23.6e73.00000007.7a7365743a7630.0000018fd3abc200.4202a05f20000000.626967", "-"),
    ];
    assert_eq!(left_by(&options(), &["ZADD zset:v0 1 neg 1e10 big", "ZADD zset:v0 -2.5 neg"]), rows(&zset));
    let prefix = hex::encode(&Md5::digest("898")[..8]);
    let slotted = [
        (format!("{prefix}.6d23.6e73.686173683a7630"), "00.02.0000018fd3abc200.ffffffffffffffff.00000001"),
        (format!("{prefix}.7323.6e73.00000007.686173683a7630.0000018fd3abc200.66"), "76"),
    ];
    let slotted: Vec<(&str, &str)> = slotted.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    assert_eq!(left_by(&with_slots(options()), &["HSET hash:v0 f v"]), rows(&slotted));
}

#[test]
fn a_sorted_set_of_version_1_is_split_between_the_rows_and_the_redis() {
    let mut expected = rows(&[
        ("6d23.6e73.7a7365743a7631", "01.03.0000018fd3abc200.ffffffffffffffff"),
        ("6923.6e73.00000007.7a7365743a7631.0000018fd3abc200.01.e915dff3b673e359dafa9c71bdeacbb2", "65786163746c792d31356279746573"),
    ]);
    let key = b"c#ns{zset:v1}1717243200000";
    for (index, score) in [("00.73686f7274", -1.5), ("01.e915dff3b673e359dafa9c71bdeacbb2", 2.0)] {
        let index = bytes(index).expect("an index");
        let row = |key, value| Record { keyspace: REDIS.into(), key, value };
        expected.push(row(redis::member_key(key, &index), redis::encode_score(score)));
        expected.push(row(redis::score_key(key, score, &index), "".into()));
    }
    expected.sort();
    let commands =
        ["ZADD zset:v1 7 short 2 exactly-15bytes", "ZADD zset:v1 -1.5 short 3 gone-and-not-short", "ZREM zset:v1 gone-and-not-short"];
    assert_eq!(left_by(&version_1(), &commands), expected);
}

#[test]
fn a_removed_collection_leaves_nothing() {
    for options in [options(), version_1(), with_slots(options()), with_slots(version_1())] {
        let fill = ["HSET h f v", "SADD s m", "ZADD z -1 m 2 a-member-that-is-long", "SET t v"];
        let removals: [&[&str]; 4] = [
            &["DEL h s z t"],
            &["HDEL h f", "SREM s m", "ZPOPMIN z", "ZPOPMAX z", "GETDEL t"],
            &["EXPIRE h 0", "EXPIRE s 0", "EXPIRE z 0", "EXPIRE t 0"],
            &["SET h v", "SET s v", "SET z v", "DEL h s z t"],
        ];
        for removal in removals {
            let commands: Vec<&str> = fill.iter().chain(removal).copied().collect();
            assert_eq!(left_by(&options, &commands), [], "{removal:?}");
        }
    }
}

#[test]
fn a_key_is_gone_at_its_millisecond_and_its_rows_with_it() {
    let mut camellia = new(&options());
    camellia.run("HSET h f v");
    camellia.run("PEXPIRE h 10");
    camellia.clock.wait_ms(9);
    assert_eq!(camellia.run("HGET h f"), "$1 v");
    camellia.clock.wait_ms(1);
    assert_eq!(camellia.run("HGET h f"), "$-1");
    assert_eq!(camellia.run("HSET h g w"), ":1");
    assert_eq!(camellia.run("HGETALL h"), "*2 $1 g $1 w");
    assert_eq!(foreign::records(&camellia.store).len(), 2);
}

#[test]
fn a_string_has_a_new_version_when_it_is_set() {
    let mut camellia = new(&options());
    camellia.run("SET s a");
    camellia.clock.wait_ms(1);
    camellia.run("PEXPIREAT s 4102444800000");
    assert_eq!(foreign::records(&camellia.store), rows(&[("6d23.6e73.73", "00.01.0000018fd3abc200.000003bb2cc3d800.61")]));
    camellia.run("SET s b");
    assert_eq!(foreign::records(&camellia.store), rows(&[("6d23.6e73.73", "00.01.0000018fd3abc201.ffffffffffffffff.62")]));
}

#[test]
fn a_collection_that_takes_the_place_of_another_has_a_later_version() {
    for options in [options(), version_1()] {
        let mut camellia = new(&options);
        camellia.run("SADD a x y");
        camellia.run("SADD b y z");
        assert_eq!(camellia.run("SINTERSTORE a a b"), ":1");
        assert_eq!(camellia.run("SMEMBERS a"), "*1 $1 y");
        camellia.run("ZADD z 1 x 2 y");
        assert_eq!(camellia.run("ZUNIONSTORE z 2 z b WEIGHTS 10 1"), ":3");
        assert_eq!(camellia.run("ZRANGE z 0 -1 WITHSCORES"), "*6 $1 z $1 1 $1 x $2 10 $1 y $2 21");
        assert_eq!(camellia.run("RENAME z a"), "+OK");
        assert_eq!(camellia.run("ZCARD a"), ":3");
        assert_eq!(camellia.findings(7), [""; 0]);
    }
}

#[test]
fn negative_scores_and_both_zeros_are_in_their_places() {
    for options in [options(), version_1()] {
        let mut camellia = new(&options);
        camellia.run("ZADD z -1 b -1 a -1 c -inf low -0 y 0 x 0 z 2 q 2 p inf high");
        let all = "*10 $3 low $1 a $1 b $1 c $1 x $1 y $1 z $1 p $1 q $4 high";
        assert_eq!(camellia.run("ZRANGE z 0 -1"), all);
        let reversed = "*10 $4 high $1 q $1 p $1 z $1 y $1 x $1 c $1 b $1 a $3 low";
        assert_eq!(camellia.run("ZREVRANGE z 0 -1"), reversed);
        assert_eq!(camellia.run("ZRANGEBYSCORE z (-1 (2"), "*3 $1 x $1 y $1 z");
        assert_eq!(camellia.run("ZRANGEBYSCORE z -1 0"), "*6 $1 a $1 b $1 c $1 x $1 y $1 z");
        assert_eq!(camellia.run("ZREVRANGEBYSCORE z (0 -inf"), "*4 $1 c $1 b $1 a $3 low");
        assert_eq!(camellia.run("ZRANGEBYSCORE z 0 0"), "*3 $1 x $1 y $1 z");
        assert_eq!(camellia.run("ZRANK z y"), ":5");
        assert_eq!(camellia.run("ZREVRANK z b"), ":7");
        assert_eq!(camellia.run("ZSCORE z y"), "$2 -0");
        assert_eq!(camellia.run("ZREMRANGEBYRANK z 1 4"), ":4");
        assert_eq!(camellia.run("ZRANGE z 0 -1"), "*6 $3 low $1 y $1 z $1 p $1 q $4 high");
        assert_eq!(camellia.findings(7), [""; 0]);
    }
}

#[test]
fn sorted_sets_answer_as_those_of_the_default_layout() {
    for options in [options(), version_1(), with_slots(version_1())] {
        let (mut camellia, mut other) =
            (new(&options), Opened::new("orbweaver", &[], NOW_MS, |store| Ok(Box::new(Orbweaver::open(store)?))));
        let mut random = HeldEnvironment::new(0, 11);
        let mut below = |limit: u64| random.random() % limit;
        let scores = ["-inf", "-7.5", "-1", "-1", "-0.5", "0", "0", "0.25", "3", "3", "1e20", "inf"];
        for step in 0..1200 {
            let name = |n: u64| if n.is_multiple_of(3) { format!("a-rather-long-member-{n}") } else { format!("m{n}") };
            let score = |n: u64| scores[usize::try_from(n).expect("small")];
            let (a, b, first, second) = (below(20), below(20), below(12), below(12));
            let (low, high) = (below(24), below(24));
            let command = match below(14) {
                0..=3 => format!("ZADD z {} {} {} {}", score(first), name(a), score(second), name(b)),
                4 => format!("ZREM z {} {}", name(a), name(b)),
                5 => format!("ZINCRBY z -0.25 {}", name(a)),
                6 => format!("ZRANGEBYSCORE z {} ({} LIMIT 1 5", score(first), score(second)),
                7 => format!("ZREVRANGEBYSCORE z ({} {}", score(first), score(second)),
                8 => format!("ZRANK z {}", name(a)),
                9 => format!("ZREVRANGE z {low} {high}"),
                10 => format!("ZCOUNT z {} {}", score(first), score(second)),
                11 => format!("ZPOPMAX z {}", below(2)),
                12 => format!("ZREMRANGEBYSCORE z {} ({}", score(first), score(first.max(second))),
                _ => format!("ZRANGE z {low} {high} WITHSCORES"),
            };
            assert_eq!(camellia.run(&command), other.run(&command), "{step}: {command}");
            assert_eq!(camellia.run("ZRANGE z 0 -1 WITHSCORES"), other.run("ZRANGE z 0 -1 WITHSCORES"), "{step}: {command}");
            if step % 50 == 0 {
                assert_eq!(camellia.findings(7), [""; 0], "{step}: {command}");
            }
        }
    }
}

#[test]
fn score_rows_of_earlier_scores_are_passed_over_and_swept() {
    let mut camellia = fixture(false);
    let stale = row(KV, "6b23.6e73.0000000a.7a7365743a7374616c65.0000018fd3abc20c.3ff0000000000000.6d31", "-");
    assert!(foreign::records(&camellia.store).contains(&stale));
    assert_eq!(camellia.run("ZRANGE zset:stale 0 -1 WITHSCORES"), "*4 $2 m2 $1 2 $2 m1 $1 5");
    assert_eq!(camellia.run("ZCOUNT zset:stale 1 1"), ":0");
    assert_eq!(camellia.run("ZRANK zset:stale m1"), ":1");
    // Two keys that have expired, the row, and one of an older version.
    assert_eq!(camellia.sweep(), 2 + 2);
    assert!(!foreign::records(&camellia.store).contains(&stale));
    assert_eq!(camellia.run("ZRANGE zset:stale 0 -1 WITHSCORES"), "*4 $2 m2 $1 2 $2 m1 $1 5");
    assert_eq!(camellia.findings(7), [""; 0]);
}

#[test]
fn the_sweep_leaves_what_may_still_be_in_writing() {
    let key = redis::key(b"ns", b"k", NOW_MS);
    let rows = [
        row(KV, "7323.6e73.00000001.6b.0000018fd3abc200.66", "76"),
        Record { keyspace: REDIS.into(), key: redis::member_key(&key, b"\0m"), value: redis::encode_score(1.0) },
    ];
    let mut camellia = opened(&rows, NOW_MS, &options());
    camellia.clock.wait_ms(7_200_000);
    assert_eq!(camellia.sweep(), 0);
    camellia.clock.wait_ms(600_001);
    assert_eq!(camellia.sweep(), 2);
    assert_eq!(foreign::records(&camellia.store), []);
}

#[test]
fn what_the_format_cannot_hold_is_refused_and_changes_nothing() {
    let mut camellia = new(&options());
    camellia.run("SET s v");
    let before = foreign::records(&camellia.store);
    for (command, error) in [
        ("RPUSH l a", "-ERR the layout camellia keeps no lists"),
        ("SORT s STORE l", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("SELECT 1", "-ERR DB index is out of range"),
        ("RPUSH s a", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
    ] {
        assert_eq!(camellia.run(command), error, "{command}");
    }
    for (command, reply) in [("LRANGE l 0 -1", "*0"), ("RPUSHX l a", ":0"), ("LPOP l", "$-1")] {
        assert_eq!(camellia.run(command), reply, "{command}");
    }
    assert_eq!(foreign::records(&camellia.store), before);
}

#[test]
fn a_database_of_other_options_or_of_an_old_release_is_not_opened() {
    let open = |rows: &[Record], options: &Options| {
        let opened = Camellia::open(&mut foreign::store(LAYOUT, rows), options);
        opened.map(|_| ()).map_err(|error| error.to_string())
    };
    let refused = |text: &str| Err(text.to_owned());
    assert_eq!(open(&fixture_rows(true), &options()), refused("ERR the rows of this database have a slot prefix"));
    assert_eq!(open(&fixture_rows(false), &with_slots(options())), refused("ERR the rows of this database have no slot prefix"));
    let hash = hex::encode(&Md5::digest("k")[..8]);
    let old = row(KV, &format!("6d23.6e73.{hash}.6b"), "00.01.0000018fd3abc200.ffffffffffffffff.76");
    assert_eq!(
        open(&[old], &options()),
        refused("ERR this database was written by release 1.2.28 of Camellia or an older one, whose layout is another")
    );
    assert_eq!(open(&[row(KV, "6162", "-")], &options()), Ok(()), "a row that is damaged says nothing");
}

#[test]
fn a_record_that_cannot_be_read_is_an_error_for_its_key_alone() {
    let meta = "6d23.6e73.62";
    let redis_key = redis::key(b"ns", b"b", NOW_MS);
    let redis_row = hex::encode(redis::member_key(&redis_key, b"\0m"));
    for (options, keyspace, key, value, command) in [
        (options(), "camellia_kv", meta, "00.01.0000018fd3abc200.ffffffffffffff", "GET b"),
        (options(), "camellia_kv", meta, "00.04.0000018fd3abc200.ffffffffffffffff", "TYPE b"),
        (options(), "camellia_kv", meta, "07.02.0000018fd3abc200.ffffffffffffffff.00000001", "HLEN b"),
        (options(), "camellia_kv", meta, "00.03.0000018fd3abc200.ffffffffffffffff.000001", "ZCARD b"),
        (options(), "camellia_kv", "7323.6e73.00000001.62.0000018fd3abc200.6d", "6f6f7073", "ZSCORE b m"),
        (options(), "camellia_kv", "7323.6e73.00000001.62.0000018fd3abc200.6d", "4e614e", "ZRANGE b 0 -1"),
        (version_1(), "camellia_redis", redis_row.as_str(), "00", "ZSCORE b m"),
    ] {
        let mut camellia = new(&options);
        for name in ["a", "b"] {
            camellia.run(&format!("ZADD {name} 1 m"));
        }
        let mut camellia = damaged(&camellia, &options, keyspace, key, Some(value));
        let reply = camellia.run(command);
        assert!(reply.starts_with("-ERR corrupt record: ") && reply.contains(keyspace), "{command}: {reply}");
        assert_eq!(camellia.run("ZRANGE a 0 -1 WITHSCORES"), "*2 $1 m $1 1");
        let found = camellia.findings(7);
        assert!(!found.is_empty() && found.iter().all(|found| !found.contains("nsa") && !found.contains("{a}")), "{found:?}");
    }
}

#[test]
fn the_check_names_what_does_not_fit_together() {
    let redis_key = redis::key(b"ns", b"z", NOW_MS);
    let member = hex::encode(redis::member_key(&redis_key, b"\0m"));
    let long_row = "6923.6e73.00000001.7a.0000018fd3abc200.01.e915dff3b673e359dafa9c71bdeacbb2";
    for (options, keyspace, key, value, what) in [
        (options(), "camellia_kv", "6d23.6e73.68", Some("00.02.0000018fd3abc200.ffffffffffffffff.00000002"), "counts 2 elements, has 1"),
        (options(), "camellia_kv", "7323.6e73.00000001.68.0000018fd3abc200.66", None, "counts 1 elements, has none"),
        (options(), "camellia_kv", "7323.6e73.00000001.73.0000018fd3abc200.6d", Some("76"), "a value where none belongs"),
        (options(), "camellia_kv", "7323.6e73.00000001.7a.0000018fd3abc200.6d", Some("322e30"), "its member has no row in its place"),
        (options(), "camellia_kv", "6923.6e73.00000001.68.0000018fd3abc200.6d", Some("-"), "its key is of another kind"),
        (options(), "camellia_kv", "7823", Some("-"), "not the tag of a row"),
        (version_1(), "camellia_kv", long_row, None, "no row says its member"),
        (version_1(), "camellia_kv", long_row, Some("6d"), "its member has another index"),
        (version_1(), "camellia_redis", member.as_str(), None, "its other row is missing or says something else"),
        (version_1(), "camellia_redis", "79", Some("-"), "not a row of a sorted set"),
    ] {
        let mut camellia = new(&options);
        for command in ["HSET h f v", "SADD s m", "ZADD z 1 m 2 exactly-15bytes"] {
            camellia.run(command);
        }
        assert_eq!(camellia.findings(7), [""; 0]);
        let found = damaged(&camellia, &options, keyspace, key, value).findings(7);
        assert!(found.iter().any(|found| found.ends_with(what)), "{what} is not in {found:?}");
    }
}

#[test]
fn members_of_version_1_are_scanned_in_steps() {
    let mut camellia = new(&version_1());
    let names: BTreeSet<String> =
        (0..100).map(|n| if n % 2 == 0 { format!("m{n}") } else { format!("a-rather-long-member-{n}") }).collect();
    for name in &names {
        camellia.run(&format!("ZADD z 1 {name}"));
    }
    let (mut cursor, mut found) = ("0".to_owned(), BTreeSet::new());
    loop {
        let reply = camellia.run(&format!("ZSCAN z {cursor} COUNT 7"));
        let words: Vec<&str> = reply.split(' ').collect();
        found.extend(words[4..].chunks(4).map(|pair| pair[1].to_owned()));
        cursor = words[2].to_owned();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(found, names);
    assert_eq!(camellia.run("ZRANGEBYLEX z [m90 [m96"), "*4 $3 m90 $3 m92 $3 m94 $3 m96");
    assert_eq!(camellia.run("ZRANDMEMBER z 200").split(' ').next(), Some("*100"));
}

#[test]
fn collections_are_loaded_whole() {
    let text = |text: &str| format!("\"{}\"", STANDARD.encode(text));
    for options in [options(), version_1()] {
        let members: Vec<String> =
            (0..5000).map(|n| format!("[{},\"{n}\",\"{:016x}\"]", text(&format!("member-number-{n}")), f64::from(n).to_bits())).collect();
        let line =
            format!("{{\"db\":0,\"key\":{},\"type\":\"zset\",\"expire_at_ms\":null,\"members\":[{}]}}\n", text("k"), members.join(","));
        let mut camellia = new(&options);
        camellia.run("ZADD k 1 old 2 m1");
        camellia.engine.load(line.as_bytes()).expect("a sound line");
        assert_eq!(camellia.run("ZCARD k"), ":5000");
        assert_eq!(camellia.run("ZRANGE k -1 -1"), "*1 $18 member-number-4999");
        assert_eq!(camellia.findings(7), [""; 0]);
    }
}

#[test]
fn every_row_of_the_fixture_is_taken_apart_without_a_rest() {
    for has_slot_prefix in [true, false] {
        let camellia = fixture(has_slot_prefix);
        for row in fixture_rows(has_slot_prefix) {
            let shown = foreign::fields(&camellia.engine.describe(&row.keyspace, &row.key, &row.value));
            assert!(!shown.contains(UNKNOWN) && !shown.contains(UNREADABLE), "{row:?}: {shown}");
        }
    }
}

#[test]
fn the_rows_of_a_key_say_what_they_are() {
    let version = "key version 1717243200000 = 2024-06-01T12:00:00.000Z";
    let head = "slot prefix the MD5 of the slot, in part, tag";
    let key = "namespace \"ns\", key length 1, key \"k\"";
    let in_redis = "type z, length 20, redis key \"c#ns{k}1717243200000\"";
    for (options, expected) in [
        (
            with_slots(options()),
            vec![
                format!(
                    "{head} \"m#\", namespace \"ns\", key \"k\" -> encode version 0, key type 3 = zset, {version}, expire time -1 = none, count 1"
                ),
                format!("{head} \"s#\", {key}, {version}, field or member \"m\" -> score \"-2.5\""),
                format!("{head} \"k#\", {key}, {version}, score -2.5, member \"m\" -> "),
            ],
        ),
        (
            version_1(),
            vec![
                format!("tag \"m#\", namespace \"ns\", key \"k\" -> encode version 1, key type 3 = zset, {version}, expire time -1 = none"),
                format!("{in_redis}, part m, index the member \"m\" -> score -2.5"),
                format!("{in_redis}, part s, ordered score -2.5, index the member \"m\" -> "),
            ],
        ),
    ] {
        let mut camellia = new(&options);
        camellia.run("ZADD k -2.5 m");
        let found = camellia.engine.inspect(0, b"k", &mut Vec::new(), 100).expect("the key is found");
        assert_eq!(found.iter().map(foreign::fields).collect::<Vec<_>>(), expected);
    }
}

//! The layout `ardb` against a database of the real program, and against records that the format's rules predict.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use orbweaver_engine::error::Result;
use orbweaver_engine::layout::Layout;
use orbweaver_engine::layout::ardb::Ardb;
use orbweaver_engine::session::Engine;
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::{Limits, Store};
use orbweaver_tests::fixtures;
use orbweaver_tests::foreign::{self, Opened};
use orbweaver_tests::golden::Clock;
use orbweaver_tests::readers::{Record, read};

const LAYOUT: &str = "ardb";
const DATABASES: usize = 16;
/// The clock of all tests: the fixture's two keys have expired before.
const NOW_MS: u64 = 1_800_000_000_000;

fn opened(records: &[Record]) -> Opened {
    Opened::new(LAYOUT, records, NOW_MS, open)
}

fn open(store: &mut dyn Store) -> Result<Box<dyn Layout>> {
    Ok(Box::new(Ardb::open(store, DATABASES)?))
}

fn fixture() -> Vec<Record> {
    fixtures::records(LAYOUT, "rocksdb")
}

fn hex(text: &str) -> Bytes {
    hex::decode(text.replace(' ', "")).expect("hexadecimal digits").into()
}

fn record(key: &str, value: &str) -> Record {
    Record { keyspace: "0".to_owned(), key: hex(key), value: hex(value) }
}

#[test]
fn the_order_of_the_real_program_is_that_of_the_memory_store() {
    for (name, stored) in opened(&fixture()).store.contents() {
        let listed = fixture().into_iter().filter(|record| record.keyspace == name).map(|record| (record.key, record.value));
        assert_eq!(stored, listed.collect::<Vec<_>>());
    }
}

#[test]
fn commands_work_on_a_database_of_the_real_program() {
    let mut opened = opened(&fixture());
    let replies = [
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
        ("MOVE b 1", ":1"),
        ("EXISTS b", ":0"),
    ];
    conversation(&mut opened, &replies);
    assert_eq!(opened.findings(7), [""; 0]);
    let contents = read(LAYOUT, &foreign::records(&opened.store), NOW_MS.try_into().expect("a time of our days"));
    assert_eq!(contents.flaws, [], "the plain reader agrees");
    assert_eq!(contents.live, opened.contents());

    conversation(&mut opened, &[("FLUSHDB", "+OK"), ("DBSIZE", ":0")]);
    assert!(lines(&opened).iter().all(|line| line.starts_with("1 ")), "the other db is untouched");
    assert_eq!(opened.contents().len(), 3);
}

/// What the store holds, a line for each record: the namespace, the key and the value as hexadecimal digits.
fn lines(opened: &Opened) -> Vec<String> {
    let lines = foreign::records(&opened.store).into_iter();
    lines.map(|Record { keyspace, key, value }| format!("{keyspace} {} {}", hex::encode(key), hex::encode(value))).collect()
}

fn conversation(opened: &mut Opened, lines: &[(&str, &str)]) {
    for (line, reply) in lines {
        assert_eq!(opened.run(line), *reply, "{line}");
    }
}

#[test]
fn merge_operations_are_applied_when_read_and_gone_when_written() {
    let mut opened = opened(&[
        // INCRBY 7, as Ardb writes it.
        record("016e 01 00", "1e 7000 01 010e"),
        // 5, INCRBY 2, APPEND x, folded.
        record("0161 01 00", "1eff 06000000 020000010 10a 06000000 1e7000010104 07000000 1e640001040178"),
        // PEXPIREAT before a hash is there, and HSETNX, which makes it.
        record("0168 01 00", "1eff ffffffff 08000000 1e370001018080 01 06000000 1ea10001 0102".replace(' ', "").as_str()),
        record("0168 04 01 040166", "1eff ffffffff 07000000 1ea00001040176"),
        // SETXX of nothing comes to nothing.
        record("0178 01 00", "1e 7e00 01 040176"),
    ]);
    conversation(
        &mut opened,
        &[
            ("GET n", "$1 7"),
            ("GET a", "$2 7x"),
            ("HGETALL h", "*2 $1 f $1 v"),
            ("HLEN h", ":1"),
            ("EXISTS x", ":0"),
            ("KEYS *", "*3 $1 a $1 h $1 n"),
            ("INCR n", ":8"),
            ("HSET h f w", ":0"),
        ],
    );
    let written = lines(&opened);
    assert!(written.contains(&"0 016e0100 02000001 0110".replace("01 0110", "010110")), "{written:?}");
    assert!(written.contains(&"0 01680401040166 0401040177".to_owned()), "{written:?}");
    assert_eq!(opened.findings(7), [""; 0]);
}

#[test]
fn an_unknown_merge_operation_is_a_corrupt_record() {
    let mut opened = opened(&[record("016e 01 00", "1e 0700 01 010e"), record("0161 01 00", "02000001040176")]);
    let error = opened.run("GET n");
    assert!(error.starts_with("-ERR corrupt record: an unknown merge operation"), "{error}");
    conversation(&mut opened, &[("GET a", "$1 v")]);
    assert_eq!(opened.findings(7), [r#"0 b"\x01n\x01\0": an unknown merge operation at offset 1"#]);
}

#[test]
fn what_cannot_be_read_is_named_and_other_keys_stay_readable() {
    let good = record("0167 01 00", "02000001040176");
    let head = |kind: &str| record("016b 01 00", kind);
    let set = head("07 00 00 02 02 040161 040161");
    let cases = [
        (vec![head("02 00 00")], "GET k"),
        (vec![head("63 00 00")], "TYPE k"),
        (vec![head("03 00 00 01 00"), record("016b 04 01 040166", "04 02 0100 0100")], "HGET k f"),
        (vec![head("05 00 00 02 01 02 0100 0100"), record("016b 06 01 0100", "06 01")], "LINDEX k 0"),
        (vec![head("05 00 00 04 01 02 0100 0102"), record("016b 06 01 0100", "06 01 040161")], "LRANGE k 0 -1"),
        (vec![head("05 00 00 04 00 02 0100 0102"), record("016b 06 01 0100", "06 01 040161")], "LRANGE k 0 -1"),
        (vec![set, record("016b 08 01 09", "08 00")], "SMEMBERS k"),
        (vec![head("09 00 00 02 02 040161 040161"), record("016b 0b 01 040161", "0b 01 040131")], "ZSCORE k a"),
        (vec![head("09 00 00 02 02 040161 040161"), record("016b 0a 02 040131 040161", "0a 00")], "ZRANGE k 0 -1"),
    ];
    for (mut records, command) in cases {
        records.push(good.clone());
        let mut opened = opened(&records);
        let reply = opened.run(command);
        assert!(reply.starts_with("-ERR corrupt record: "), "{command}: {reply}");
        conversation(&mut opened, &[("GET g", "$1 v"), ("SET g w", "+OK"), ("GET g", "$1 w")]);
        assert!(!opened.findings(7).is_empty(), "{command}");
    }
}

#[test]
fn the_check_names_what_does_not_belong_together() {
    let cases = [
        (vec![record("0173 08 01 040161", "0800")], "a record of a set that is not there"),
        (vec![record("0173 01 00", "02000001040176"), record("0173 08 01 040161", "0800")], "a record of a set, but the key is a string"),
        (vec![record("0173 01 00", "0300000100"), record("0173 08 01 040161", "0800")], "a record of a set, but the key is a hash"),
        (vec![record("0173 01 00", "0700000402 0401610 40161"), record("0173 08 01 040161", "0800")], "the size is 2, there are 1"),
        (vec![record("0173 01 00", "0700000202 040161040161"), record("0173 08 01 040162", "0800")], "outside of the bounds"),
        (vec![record("0173 01 00", "0700000100"), record("0173 08 01 040131", "0800")], "a name that commands do not find"),
        (vec![record("0168 01 00", "0300000100")], "an empty hash, which counts as absent"),
        (
            vec![record("016c 01 00", "0500000201 02 0100 0104"), record("016c 06 01 0100", "0601040161")],
            "a sequential list of another size",
        ),
        (vec![record("017a 01 00", "0900000202 040161040161"), record("017a 0a 02 0200 040161", "0a00")], "its member is not there"),
        (
            vec![
                record("017a 01 00", "0900000202 040161040161"),
                record("017a 0a 02 0200 040161", "0a00"),
                record("017a 0b 01 040161", "0b01 0280808080808080f07f"),
            ],
            "its member has another score",
        ),
        (vec![record("0178 01 00", "0c000002 0100 00")], "a stream, which is not served"),
        (vec![record("0178 0d 01 040161", "0d00")], "a record of a stream"),
        (vec![record("00 1d 03 0102 040130 040161", "1d00")], "an expiry record"),
        (vec![record("0178 63 00", "6300")], "a record of the unknown type 99"),
        (vec![record("05 61", "00")], "a string is cut short at offset 1"),
    ];
    for (records, expected) in cases {
        let mut opened = opened(&records);
        let found = opened.findings(7);
        assert!(found.iter().any(|found| found.contains(expected)), "{expected}: {found:?}");
    }
}

#[test]
fn records_of_unknown_types_are_passed_over_in_both_directions() {
    let unknown = |kind: &str| record(&format!("016b {kind} 00"), "00");
    let cut_short = record("016b 02", "00");
    let key = record("016b 01 00", "02000001040176");
    let mut opened = opened(&[unknown("00"), key, cut_short, unknown("02"), unknown("1f"), unknown("ff")]);
    conversation(
        &mut opened,
        &[("KEYS *", "*1 $1 k"), ("PKSCANRANGE string '' ''", "*2 $0  *1 $1 k"), ("PKRSCANRANGE string '' ''", "*2 $0  *1 $1 k")],
    );
    assert_eq!(opened.findings(7).len(), 5);
}

#[test]
fn a_stream_is_not_listed_and_refused_by_name() {
    let stream = [record("0178 01 00", "0c000002041000"), record("0161 01 00", "02000001040176")];
    let mut opened = opened(&stream);
    let refused = "-ERR the key holds a stream, which Orbweaver does not serve";
    conversation(&mut opened, &[("KEYS *", "*1 $1 a"), ("TYPE x", refused), ("SET x v", refused), ("DBSIZE", ":1")]);
    assert_eq!(lines(&opened).len(), 2);
    conversation(&mut opened, &[("FLUSHDB", "+OK")]);
    assert_eq!(lines(&opened), [""; 0]);
}

#[test]
fn a_hash_without_fields_is_absent_and_what_is_left_over_is_not_taken_for_new() {
    let mut opened = opened(&[
        record("0165 01 00", "0300000100"),
        record("0168 01 00", "02000001040176"),
        record("0168 04 01 040178", "0401040178"),
        record("0173 08 01 040178", "0800"),
    ]);
    conversation(
        &mut opened,
        &[
            ("EXISTS e", ":0"),
            ("TYPE e", "+none"),
            ("KEYS *", "*1 $1 h"),
            ("DEL h", ":1"),
            ("HSET h f v", ":1"),
            ("HGETALL h", "*2 $1 f $1 v"),
            ("SADD s a", ":1"),
            ("SMEMBERS s", "*1 $1 a"),
            ("HSET e f v", ":1"),
            ("HDEL e f", ":1"),
        ],
    );
    assert_eq!(opened.findings(7), [""; 0]);
}

#[test]
fn the_sweep_removes_expired_keys_with_their_records_and_empty_hashes() {
    let mut records = fixture();
    records.extend([record("0165 01 00", "0300000100"), record("0173 08 01 040178", "0800")]);
    let mut opened = opened(&records);
    // Two keys, and the empty hash.
    assert_eq!(opened.sweep(), 3);
    // Two keys, the fields of one of them, and the empty hash.
    assert_eq!(lines(&opened).len(), records.len() - 2 - 2 - 1);
    assert_eq!(opened.findings(7), [r#"0 b"\x01s\x08\x01\x04\x01x": a record of a set that is not there"#]);
}

#[test]
fn a_set_of_unknown_size_stays_one() {
    let set = [record("0173 01 00", "0700000100"), record("0173 08 01 0102", "0800")];
    let mut opened = opened(&set);
    conversation(&mut opened, &[("SCARD s", ":1"), ("SADD s 1 2 x", ":2"), ("SCARD s", ":3"), ("SPOP s 0", "*0")]);
    assert_eq!(lines(&opened)[0], "0 01730100 0700000100");
    conversation(&mut opened, &[("SREM s 1 2 x", ":3"), ("EXISTS s", ":0")]);
    assert_eq!(lines(&opened), [""; 0]);
}

#[test]
fn a_member_that_is_stored_as_a_number_is_walked_over_and_removed() {
    let mut opened = opened(&[
        record("017a 01 00", "0900000402 0114 040161"),
        record("017a 0a 02 0200 0114", "0a00"),
        record("017a 0a 02 0200 040161", "0a00"),
        record("017a 0b 01 0114", "0b010200"),
        record("017a 0b 01 040161", "0b010200"),
    ]);
    assert_eq!(opened.findings(7).len(), 1, "it is named");
    conversation(&mut opened, &[("ZRANGE z 0 -1", "*2 $2 10 $1 a"), ("ZSCORE z 10", "$-1"), ("ZPOPMIN z", "*2 $2 10 $1 0")]);
    assert_eq!(lines(&opened).len(), 3);
    assert_eq!(opened.findings(7), [""; 0]);
}

#[test]
fn items_fit_between_two_neighbours_however_often() {
    let mut opened = opened(&[]);
    conversation(&mut opened, &[("RPUSH l a z", ":2")]);
    let mut model = vec!["a".to_owned(), "z".to_owned()];
    for number in 0..150 {
        // The place is always between the first two.
        assert_eq!(opened.run(&format!("LINSERT l AFTER a {number}")), format!(":{}", number + 3));
        model.insert(1, number.to_string());
    }
    let reply = opened.run("LRANGE l 0 -1");
    let items: Vec<&str> = reply.split(' ').skip(1).enumerate().filter(|(at, _)| at % 2 == 1).map(|(_, item)| item).collect();
    assert_eq!(items, model);
    assert_eq!(opened.findings(7), [""; 0]);
    conversation(
        &mut opened,
        &[
            ("LINDEX l 75", "$2 75"),
            ("LINDEX l -2", "$1 0"),
            ("LRANGE l 74 76", "*3 $2 76 $2 75 $2 74"),
            ("LTRIM l 74 -75", "+OK"),
            ("LRANGE l 0 -1", "*4 $2 76 $2 75 $2 74 $2 73"),
            ("LREM l -1 75", ":1"),
            ("LPUSH l first", ":4"),
            ("RPUSH l last", ":5"),
            ("LRANGE l 0 -1", "*5 $5 first $2 76 $2 74 $2 73 $4 last"),
            ("LINSERT l BEFORE first zeroth", ":6"),
            ("LINSERT l AFTER last omega", ":7"),
            ("LRANGE l -2 -1", "*2 $4 last $5 omega"),
            ("LPOP l 7", "*7 $6 zeroth $5 first $2 76 $2 74 $2 73 $4 last $5 omega"),
        ],
    );
    assert_eq!(lines(&opened), [""; 0]);
}

#[test]
fn ranges_over_names_go_by_bytes_although_numbers_are_stored_first() {
    let mut opened = opened(&[]);
    conversation(
        &mut opened,
        &[
            ("HSET h 9 a 10 b 1x c x d 2 e", ":5"),
            ("HKEYS h", "*5 $1 2 $1 9 $2 10 $2 1x $1 x"),
            ("PKHSCANRANGE h '' '' LIMIT 2", "*2 $1 2 *4 $2 10 $1 b $2 1x $1 c"),
            ("PKHSCANRANGE h 2 '' LIMIT 2", "*2 $1 x *4 $1 2 $1 e $1 9 $1 a"),
            ("PKHSCANRANGE h 1x 9", "*2 $0  *6 $2 1x $1 c $1 2 $1 e $1 9 $1 a"),
            ("PKHRSCANRANGE h '' 2", "*2 $0  *6 $1 x $1 d $1 9 $1 a $1 2 $1 e"),
        ],
    );
}

#[test]
fn a_large_collection_is_loaded_in_parts_over_what_was_there() {
    let mut opened = opened(&[
        record("016b 01 00", "0700000202 040161040161"),
        record("016b 08 01 040161", "0800"),
        record("016b 08 01 040162", "0800"),
    ]);
    let mut limited = opened.store.limited(Limits { max_batch_ops: 40, ..Limits::NONE });
    let layout = open(&mut limited).expect("a store in memory opens");
    let mut engine = Engine::with_layout(Box::new(limited), layout, Box::new(Clock::at(NOW_MS)), Settings::default());
    let members: Vec<String> = (0..300).map(|number| format!("\"{}\"", STANDARD.encode(format!("m{number}")))).collect();
    let line = format!("{{\"db\":0,\"key\":\"aw==\",\"type\":\"set\",\"expire_at_ms\":null,\"members\":[{}]}}\n", members.join(","));
    assert_eq!(engine.load(line.as_bytes()).expect("it fits").keys, 1);
    conversation(&mut opened, &[("SCARD k", ":300"), ("SISMEMBER k a", ":0"), ("SISMEMBER k m299", ":1")]);
    assert_eq!(opened.findings(7), [""; 0]);
    conversation(&mut opened, &[("DEL k", ":1")]);
    assert_eq!(lines(&opened), [""; 0]);
}

#[test]
fn what_the_format_cannot_hold_is_refused_and_changes_nothing() {
    let mut opened = opened(&[]);
    conversation(&mut opened, &[("HSET h f v", ":1")]);
    let before = lines(&opened);
    conversation(
        &mut opened,
        &[
            ("HPEXPIRE h 1000 FIELDS 1 f", "-ERR this layout cannot hold the expiry of a field"),
            ("SWAPDB 0 1", "-ERR the layout ardb cannot exchange dbs"),
        ],
    );
    assert_eq!(lines(&opened), before);
}

//! List commands, from bytes in to bytes out. The expected replies are those of redis-server.
#![allow(clippy::unwrap_used)]

mod common;

use common::Client;
use orbweaver_engine::layout::lists::ListHead;
use orbweaver_engine::layout::lock_key;
use orbweaver_engine::layout::orbweaver::records::{encode_element_key, encode_meta};
use orbweaver_engine::layout::{Body, Collection, Kind, Meta};
use orbweaver_engine::store::{Batch, Keyspace, MemoryStore, Order, Scope, Store};

const NIL: &str = "$-1";
const NO_ARRAY: &str = "*-1";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_AN_INTEGER: &str = "-ERR value is not an integer or out of range";
const NOT_POSITIVE: &str = "-ERR value is out of range, must be positive";
const NO_SUCH_KEY: &str = "-ERR no such key";
const INDEX_OUT_OF_RANGE: &str = "-ERR index out of range";
const INDEX_OVERFLOW: &str = "-ERR list index overflow";
const SYNTAX: &str = "-ERR syntax error";
const NO_KEYS: &str = "-ERR numkeys should be greater than 0";
const NO_COUNT: &str = "-ERR count should be greater than 0";
const RANK_ZERO: &str = "-ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start \
                         from the end of the list";

/// Runs commands one after the other and compares each reply.
fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

#[test]
fn both_ends_are_pushed_to_and_popped_from() {
    check(
        &mut Client::new(),
        &[
            ("LPUSHX l a", ":0"),
            ("RPUSHX l a", ":0"),
            ("EXISTS l", ":0"),
            ("RPUSH l c d", ":2"),
            ("LPUSH l b a", ":4"),
            ("LPUSHX l x y", ":6"),
            ("RPUSHX l z", ":7"),
            ("LLEN l", ":7"),
            ("LLEN missing", ":0"),
            ("TYPE l", "+list"),
            ("LRANGE l 0 -1", "*7 $1 y $1 x $1 a $1 b $1 c $1 d $1 z"),
            ("LPOP l", "$1 y"),
            ("RPOP l", "$1 z"),
            ("LPOP l 2", "*2 $1 x $1 a"),
            ("RPOP l 2", "*2 $1 d $1 c"),
            ("LPOP l 0", "*0"),
            ("LPOP l 9223372036854775807", "*1 $1 b"),
            ("EXISTS l", ":0"),
            ("LPOP l", NIL),
            ("RPOP l 0", NO_ARRAY),
            ("LPOP l 1", NO_ARRAY),
            ("LPUSH l \"\"", ":1"),
            ("LINDEX l 0", "$0"),
        ],
    );
}

#[test]
fn counts_of_pops_are_checked_before_the_key() {
    let mut client = Client::new();
    client.run("SET s v");
    for count in ["-1", "x", "1.5", "\"\"", "\" 1\"", "9223372036854775808"] {
        for key in ["s", "missing"] {
            assert_eq!(client.run(&format!("LPOP {key} {count}")), NOT_POSITIVE);
            assert_eq!(client.run(&format!("RPOP {key} {count}")), NOT_POSITIVE);
        }
    }
    check(
        &mut client,
        &[
            ("LPOP s 0", WRONG_TYPE),
            ("LPOP", "-ERR wrong number of arguments for 'lpop' command"),
            ("RPOP s 1 2", "-ERR wrong number of arguments for 'rpop' command"),
        ],
    );
}

#[test]
fn positions_count_from_the_head_or_from_the_tail() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l a b c", ":3"),
            ("LINDEX l 0", "$1 a"),
            ("LINDEX l -1", "$1 c"),
            ("LINDEX l -3", "$1 a"),
            ("LINDEX l 3", NIL),
            ("LINDEX l -4", NIL),
            ("LINDEX l 9223372036854775807", NIL),
            ("LINDEX l -9223372036854775808", NIL),
            ("LINDEX l x", NOT_AN_INTEGER),
            ("LINDEX missing x", NIL),
            ("LSET l 0 A", "+OK"),
            ("LSET l -1 C", "+OK"),
            ("LSET l 3 x", INDEX_OUT_OF_RANGE),
            ("LSET l -4 x", INDEX_OUT_OF_RANGE),
            ("LSET l x x", NOT_AN_INTEGER),
            ("LSET missing x x", NO_SUCH_KEY),
            ("LRANGE l 0 -1", "*3 $1 A $1 b $1 C"),
        ],
    );
}

#[test]
fn ranges_are_cut_to_the_list() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l a b c d e", ":5"),
            ("LRANGE l 1 2", "*2 $1 b $1 c"),
            ("LRANGE l -2 -1", "*2 $1 d $1 e"),
            ("LRANGE l -100 0", "*1 $1 a"),
            ("LRANGE l 4 100", "*1 $1 e"),
            ("LRANGE l 3 2", "*0"),
            ("LRANGE l 5 6", "*0"),
            ("LRANGE l 0 -6", "*0"),
            ("LRANGE l 9223372036854775807 -9223372036854775808", "*0"),
            ("LRANGE l -9223372036854775808 9223372036854775807", "*5 $1 a $1 b $1 c $1 d $1 e"),
            ("LRANGE missing 0 -1", "*0"),
            ("LRANGE missing 0 x", NOT_AN_INTEGER),
            ("LTRIM l 1 -2", "+OK"),
            ("LRANGE l 0 -1", "*3 $1 b $1 c $1 d"),
            ("LTRIM l -9223372036854775808 9223372036854775807", "+OK"),
            ("LTRIM missing 0 0", "+OK"),
            ("LTRIM l x 0", NOT_AN_INTEGER),
            ("LLEN l", ":3"),
            ("LTRIM l 2 1", "+OK"),
            ("EXISTS l", ":0"),
            ("RPUSH l a b", ":2"),
            ("LTRIM l 5 9", "+OK"),
            ("EXISTS l", ":0"),
        ],
    );
}

#[test]
fn elements_are_inserted_beside_the_first_pivot() {
    check(
        &mut Client::new(),
        &[
            ("LINSERT l before a x", ":0"),
            ("LINSERT l middle a x", SYNTAX),
            ("RPUSH l a b c b", ":4"),
            ("LINSERT l before a 1", ":5"),
            ("LINSERT l AFTER a 2", ":6"),
            ("LINSERT l Before b 3", ":7"),
            ("LINSERT l after c 4", ":8"),
            ("LINSERT l after nope x", ":-1"),
            ("LRANGE l 0 -1", "*8 $1 1 $1 a $1 2 $1 3 $1 b $1 c $1 4 $1 b"),
            ("LINSERT l after 1 5", ":9"),
            ("RPUSH t x", ":1"),
            ("LINSERT t after x y", ":2"),
            ("LRANGE t 0 -1", "*2 $1 x $1 y"),
        ],
    );
}

#[test]
fn equal_elements_are_removed_from_either_side() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l a x b x c x d x", ":8"),
            ("LREM l 1 x", ":1"),
            ("LRANGE l 0 -1", "*7 $1 a $1 b $1 x $1 c $1 x $1 d $1 x"),
            ("LREM l -2 x", ":2"),
            ("LRANGE l 0 -1", "*5 $1 a $1 b $1 x $1 c $1 d"),
            ("LREM l 0 nope", ":0"),
            ("RPUSH l x x", ":7"),
            ("LREM l 0 x", ":3"),
            ("LRANGE l 0 -1", "*4 $1 a $1 b $1 c $1 d"),
            ("LREM l -9223372036854775808 a", ":1"),
            ("LREM missing 0 a", ":0"),
            ("LREM missing x a", NOT_AN_INTEGER),
            ("RPUSH same y y y", ":3"),
            ("LREM same 5 y", ":3"),
            ("EXISTS same", ":0"),
        ],
    );
}

#[test]
fn lpos_takes_the_options_of_redis() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l a b c 1 2 3 c c", ":8"),
            ("LPOS l c", ":2"),
            ("LPOS l nope", NIL),
            ("LPOS l c RANK 2", ":6"),
            ("LPOS l c RANK 4", NIL),
            ("LPOS l c RANK -1", ":7"),
            ("LPOS l c RANK -1 COUNT 0", "*3 :7 :6 :2"),
            ("LPOS l c rank 2 count 1", "*1 :6"),
            ("LPOS l c COUNT 2", "*2 :2 :6"),
            ("LPOS l c COUNT 2 COUNT 1", "*1 :2"),
            ("LPOS l c MAXLEN 2", NIL),
            ("LPOS l c MAXLEN 3", ":2"),
            ("LPOS l c COUNT 0 MAXLEN 7", "*2 :2 :6"),
            ("LPOS l c COUNT 0 MAXLEN 2 RANK -1", "*2 :7 :6"),
            ("LPOS l c RANK 9223372036854775807", NIL),
            ("LPOS missing c", NIL),
            ("LPOS missing c COUNT 1", "*0"),
            ("LPOS missing c RANK 0", RANK_ZERO),
            ("LPOS l c RANK x", NOT_AN_INTEGER),
            // As in Redis 7.2; 7.0 takes it.
            (
                "LPOS l c RANK -9223372036854775808",
                "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
            ),
            ("LPOS l c COUNT -1", "-ERR COUNT can't be negative"),
            ("LPOS l c COUNT x", "-ERR COUNT can't be negative"),
            ("LPOS l c MAXLEN -1", "-ERR MAXLEN can't be negative"),
            ("LPOS l c COUNT", SYNTAX),
            ("LPOS l c COUNT 1 RANK", SYNTAX),
            ("LPOS l c NOPE 1", SYNTAX),
        ],
    );
}

#[test]
fn lmpop_pops_from_the_first_list_that_exists() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l a b c d", ":4"),
            ("RPUSH m x", ":1"),
            ("SET s v", "+OK"),
            ("LMPOP 2 missing l LEFT", "*2 $1 l *1 $1 a"),
            ("LMPOP 3 missing l s RIGHT count 2", "*2 $1 l *2 $1 d $1 c"),
            ("LMPOP 2 l m left COUNT 9223372036854775807", "*2 $1 l *1 $1 b"),
            ("LMPOP 2 l m LEFT", "*2 $1 m *1 $1 x"),
            ("LMPOP 2 l m LEFT", NO_ARRAY),
            ("LMPOP 2 missing s LEFT", WRONG_TYPE),
            ("LMPOP x l LEFT", NO_KEYS),
            ("LMPOP 0 l LEFT", NO_KEYS),
            ("LMPOP -1 l LEFT", NO_KEYS),
            ("LMPOP 1 l", "-ERR wrong number of arguments for 'lmpop' command"),
            ("LMPOP 2 l LEFT", SYNTAX),
            ("LMPOP 9223372036854775807 l LEFT", SYNTAX),
            ("LMPOP 1 s MIDDLE", SYNTAX),
            ("LMPOP 1 s LEFT COUNT", SYNTAX),
            ("LMPOP 1 s LEFT COUNT 0", NO_COUNT),
            ("LMPOP 1 s LEFT COUNT x", NO_COUNT),
            ("LMPOP 1 s LEFT COUNT 0 COUNT 1", NO_COUNT),
            ("LMPOP 1 s LEFT COUNT 1 COUNT 1", SYNTAX),
            ("LMPOP 1 s LEFT NOPE 1", SYNTAX),
        ],
    );
}

#[test]
fn elements_move_between_lists_and_within_one() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l a b c", ":3"),
            ("LMOVE l m RIGHT LEFT", "$1 c"),
            ("LMOVE l m left right", "$1 a"),
            ("RPOPLPUSH l m", "$1 b"),
            ("EXISTS l", ":0"),
            ("LRANGE m 0 -1", "*3 $1 b $1 c $1 a"),
            ("RPOPLPUSH m m", "$1 a"),
            ("LMOVE m m LEFT RIGHT", "$1 a"),
            ("LMOVE m m LEFT LEFT", "$1 b"),
            ("LRANGE m 0 -1", "*3 $1 b $1 c $1 a"),
            ("LMOVE missing m LEFT LEFT", NIL),
            ("SET s v", "+OK"),
            ("LMOVE m s LEFT LEFT", WRONG_TYPE),
            ("RPOPLPUSH m s", WRONG_TYPE),
            ("LMOVE missing s LEFT LEFT", NIL),
            ("LMOVE s missing LEFT LEFT", WRONG_TYPE),
            ("LMOVE s s UP LEFT", SYNTAX),
            ("LMOVE s s LEFT UP", SYNTAX),
            ("LRANGE m 0 -1", "*3 $1 b $1 c $1 a"),
        ],
    );
}

#[test]
fn the_only_element_moves_within_its_list_without_touching_the_expiry() {
    check(
        &mut Client::new(),
        &[
            ("RPUSH l x", ":1"),
            ("EXPIRE l 1000", ":1"),
            ("LMOVE l l LEFT RIGHT", "$1 x"),
            ("RPOPLPUSH l l", "$1 x"),
            ("LMOVE l l LEFT LEFT", "$1 x"),
            ("TTL l", ":1000"),
            ("LPUSH l y", ":2"),
            ("RPOP l", "$1 x"),
            ("TTL l", ":1000"),
            ("LPOP l", "$1 y"),
            ("LPUSH l z", ":1"),
            ("TTL l", ":-1"),
        ],
    );
}

#[test]
fn another_type_is_refused_before_or_after_the_arguments_as_in_redis() {
    check(
        &mut Client::new(),
        &[
            ("SET s v", "+OK"),
            ("LPUSH s a", WRONG_TYPE),
            ("RPUSH s a", WRONG_TYPE),
            ("LPUSHX s a", WRONG_TYPE),
            ("RPUSHX s a", WRONG_TYPE),
            ("LPOP s", WRONG_TYPE),
            ("RPOP s", WRONG_TYPE),
            ("LLEN s", WRONG_TYPE),
            ("LINDEX s x", WRONG_TYPE),
            ("LSET s x v", WRONG_TYPE),
            ("LINSERT s before a b", WRONG_TYPE),
            ("LINSERT s middle a b", SYNTAX),
            ("LRANGE s x 0", NOT_AN_INTEGER),
            ("LRANGE s 0 0", WRONG_TYPE),
            ("LTRIM s x 0", NOT_AN_INTEGER),
            ("LTRIM s 0 0", WRONG_TYPE),
            ("LREM s x a", NOT_AN_INTEGER),
            ("LREM s 0 a", WRONG_TYPE),
            ("LPOS s a RANK 0", RANK_ZERO),
            ("LPOS s a", WRONG_TYPE),
            ("RPUSH l a", ":1"),
            ("GET l", WRONG_TYPE),
            ("HGET l a", WRONG_TYPE),
            ("GET s", "$1 v"),
        ],
    );
}

#[test]
fn what_is_absent_is_null_in_resp3() {
    let mut client = Client::new();
    client.run("HELLO 3");
    for command in ["LPOP l", "LPOP l 1", "LINDEX l 0", "LPOS l a", "RPOPLPUSH l m", "LMPOP 1 l LEFT"] {
        assert_eq!(client.run(command), "_", "{command}");
    }
}

#[test]
fn an_expired_list_is_absent_and_its_successor_new() {
    let mut client = Client::new();
    check(&mut client, &[("RPUSH l a b", ":2"), ("PEXPIRE l 100", ":1"), ("LPUSH l c", ":3"), ("PTTL l", ":100")]);
    client.wait_ms(101);
    check(&mut client, &[("LLEN l", ":0"), ("LPUSHX l d", ":0"), ("RPUSH l d", ":1"), ("LRANGE l 0 -1", "*1 $1 d"), ("PTTL l", ":-1")]);
}

#[test]
fn the_encoding_is_that_of_redis_by_size() {
    let mut client = Client::new();
    let mut encoding_of = |elements: &str| {
        client.run("DEL l");
        client.run(&format!("RPUSH l {elements}"));
        client.run("OBJECT ENCODING l")
    };
    let (small, large) = ("$8 listpack", "$9 quicklist");
    assert_eq!(encoding_of("a"), small);
    // 7 bytes of its own, 2 for a small integer, 4 for a large one, 3 above the length of a text of 64 to 127 bytes.
    assert_eq!(encoding_of(&"7 ".repeat(4092)), small);
    assert_eq!(encoding_of(&"7 ".repeat(4093)), large);
    assert_eq!(encoding_of(&"10000 ".repeat(2046)), small);
    assert_eq!(encoding_of(&"10000 ".repeat(2047)), large);
    let text = format!("{} ", "x".repeat(97));
    assert_eq!(encoding_of(&text.repeat(81)), small);
    assert_eq!(encoding_of(&text.repeat(82)), large);
    assert_eq!(encoding_of(&"x".repeat(9000)), large);
}

#[test]
fn changes_are_seen_by_watchers_and_failures_are_not() {
    let mut store = MemoryStore::new();
    let mut client = Client::on(&store);
    let mut revision_after = |command: &str| {
        client.run(command);
        store.revisions(&[lock_key(1, b"l")]).unwrap()
    };
    let mut before = revision_after("RPUSH l a b");
    for command in ["LPOP l 0", "LREM l 0 x", "LINSERT l after x y", "LSET l 9 x", "LINDEX l 0", "LRANGE l 0 -1", "LPOP l x"] {
        assert_eq!(revision_after(command), before, "{command}");
    }
    for command in ["LSET l 0 a", "LTRIM l 0 -1", "LMOVE l l LEFT LEFT", "RPOPLPUSH l l", "LREM l 0 a", "LPUSHX l c", "LMPOP 1 l LEFT"] {
        let after = revision_after(command);
        assert_ne!(after, before, "{command}");
        before = after;
    }
}

/// Changes the records of a store behind the engine's back.
fn tamper(store: &MemoryStore, change: impl Fn(&mut Batch, Keyspace, Keyspace)) {
    let mut store = store.clone();
    let meta = store.open_keyspace("meta", Order::Bytes).unwrap();
    let data = store.open_keyspace("data", Order::Bytes).unwrap();
    let mut batch = Batch::new();
    change(&mut batch, meta, data);
    store.begin(&Scope::Exclusive).unwrap();
    store.commit(&batch, &[]).unwrap();
}

#[test]
fn an_end_without_room_refuses_to_grow() {
    for (head, full, free, both) in [(0, "LPUSH", "RPUSH", "*2 $1 a $1 b"), (u64::MAX - 1, "RPUSH", "LPUSH", "*2 $1 b $1 a")] {
        let store = MemoryStore::new();
        tamper(&store, |batch, meta, data| {
            let list = Collection { list: ListHead::Array { head }, ..Collection::empty(Kind::List, 1).changed_by(1, 0) };
            let record = encode_meta(&Meta { expire_at_ms: None, body: Body::Collection(list) });
            batch.put(meta, &lock_key(1, b"l"), &record).unwrap();
            batch.put(data, &encode_element_key(1, head), b"a").unwrap();
        });
        let mut client = Client::on(&store);
        assert_eq!(client.run(&format!("{full} l x")), INDEX_OVERFLOW);
        assert_eq!(client.run("LRANGE l 0 -1"), "*1 $1 a");
        assert_eq!(client.run("LPOS l a RANK -1"), ":0");
        assert_eq!(client.run(&format!("{free} l b")), ":2");
        assert_eq!(client.run("LPOP l 2"), both);
        assert_eq!(client.run("EXISTS l"), ":0");
    }
}

#[test]
fn a_missing_element_is_a_corrupt_record_and_no_panic() {
    let store = MemoryStore::new();
    let mut client = Client::on(&store);
    client.run("RPUSH l a b c");
    let (_, data) = store.contents().into_iter().find(|(name, _)| name == "data").unwrap();
    let (second, _) = data.into_iter().nth(1).unwrap();
    tamper(&store, |batch, _, data| batch.delete(data, &second).unwrap());
    let mut client = Client::on(&store);
    for command in ["LINDEX l 1", "LRANGE l 0 -1", "LPOS l c", "LREM l 0 c", "LINSERT l after c x", "LPOP l 3", "RPOP l 2"] {
        let reply = client.run(command);
        assert!(reply.starts_with("-ERR corrupt record: a missing record at offset 0 of data key "), "{command}: {reply}");
    }
    check(&mut client, &[("LINDEX l 2", "$1 c"), ("LPOP l", "$1 a"), ("LPUSH l a", ":3")]);
    let in_a_row = client.run("LPOP l\r\nLPOP l");
    assert!(in_a_row.starts_with("$1 a -ERR corrupt record: a missing record at offset 0 of data key "), "{in_a_row}");
    check(&mut client, &[("LINDEX l 1", "$1 c"), ("RPOP l", "$1 c"), ("LLEN l", ":1")]);
}

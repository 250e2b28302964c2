//! Hash commands, from bytes in to bytes out. The expected replies are those of redis-server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;
use orbweaver_engine::layout::lock_key;
use orbweaver_engine::store::{MemoryStore, Store};
use std::collections::BTreeSet;

const NIL: &str = "$-1";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_AN_INTEGER: &str = "-ERR value is not an integer or out of range";
const NOT_A_FLOAT: &str = "-ERR value is not a valid float";
const OUT_OF_RANGE: &str = "-ERR value is out of range";
const SYNTAX: &str = "-ERR syntax error";
const NO_CURSOR: &str = "-ERR invalid cursor";

/// Runs commands one after the other and compares each reply.
fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

/// A hash `h` of the fields `f000` to `f099` with the values 0 to 99.
fn client_with_a_hundred_fields() -> Client {
    let mut client = Client::new();
    let pairs: String = (0..100).map(|number| format!(" f{number:03} {number}")).collect();
    assert_eq!(client.run(&format!("HSET h{pairs}")), ":100");
    client
}

/// The elements of an array of bulk strings.
fn elements(reply: &str) -> Vec<String> {
    let words: Vec<&str> = reply.split(' ').collect();
    assert!(words[0].starts_with('*'), "{reply}");
    words[1..].chunks(2).map(|pair| pair[1].to_owned()).collect()
}

#[test]
fn fields_are_set_and_read() {
    check(
        &mut Client::new(),
        &[
            ("HSET h a 1 b 2", ":2"),
            ("HSET h a 3 c 4", ":1"),
            ("HGET h a", "$1 3"),
            ("HGET h nope", NIL),
            ("HGET missing a", NIL),
            ("HMGET h a nope a b", "*4 $1 3 $-1 $1 3 $1 2"),
            ("HMGET missing a b", "*2 $-1 $-1"),
            ("HLEN h", ":3"),
            ("HLEN missing", ":0"),
            ("HEXISTS h c", ":1"),
            ("HEXISTS h nope", ":0"),
            ("HEXISTS missing c", ":0"),
            ("HSTRLEN h a", ":1"),
            ("HSTRLEN h nope", ":0"),
            ("HSET h \"\" \"\"", ":1"),
            ("HGET h \"\"", "$0"),
            ("HSTRLEN h \"\"", ":0"),
            ("HEXISTS h \"\"", ":1"),
            ("HMSET other x 1 y 2", "+OK"),
            ("HGETALL other", "*4 $1 x $1 1 $1 y $1 2"),
            ("HKEYS other", "*2 $1 x $1 y"),
            ("HVALS other", "*2 $1 1 $1 2"),
            ("HGETALL missing", "*0"),
            ("HKEYS missing", "*0"),
            ("HVALS missing", "*0"),
            ("TYPE h", "+hash"),
        ],
    );
}

#[test]
fn the_last_of_several_values_wins_and_a_field_counts_once() {
    check(
        &mut Client::new(),
        &[
            ("HSET h a 1 b 2 a 3", ":2"),
            ("HLEN h", ":2"),
            ("HGETALL h", "*4 $1 a $1 3 $1 b $1 2"),
            ("HDEL h a a nope", ":1"),
            ("HLEN h", ":1"),
        ],
    );
}

#[test]
fn a_hash_without_fields_does_not_exist() {
    check(
        &mut Client::new(),
        &[
            ("HSET h a 1 b 2", ":2"),
            ("HDEL missing a", ":0"),
            ("HDEL h nope", ":0"),
            ("HDEL h b a", ":2"),
            ("EXISTS h", ":0"),
            ("HLEN h", ":0"),
            ("HSET h c 3", ":1"),
            ("HGETALL h", "*2 $1 c $1 3"),
        ],
    );
}

#[test]
fn a_deleted_hash_leaves_nothing_to_its_successor() {
    check(
        &mut Client::new(),
        &[
            ("HSET h a 1 b 2", ":2"),
            ("DEL h", ":1"),
            ("HSET h c 3", ":1"),
            ("HGETALL h", "*2 $1 c $1 3"),
            ("SET h string", "+OK"),
            ("DEL h", ":1"),
            ("HLEN h", ":0"),
        ],
    );
}

#[test]
fn hsetnx_sets_what_is_absent_only() {
    check(
        &mut Client::new(),
        &[("HSETNX h a 1", ":1"), ("HSETNX h a 2", ":0"), ("HSETNX h b 2", ":1"), ("HGETALL h", "*4 $1 a $1 1 $1 b $1 2")],
    );
}

#[test]
fn numbers_in_fields_are_added_to() {
    check(
        &mut Client::new(),
        &[
            ("HINCRBY h n 5", ":5"),
            ("HINCRBY h n -7", ":-2"),
            ("HSET h max 9223372036854775807 text abc space \" 1\" empty \"\" infinite inf", ":5"),
            ("HINCRBY h max 1", "-ERR increment or decrement would overflow"),
            ("HINCRBY h text 1", "-ERR hash value is not an integer"),
            ("HINCRBY h space 1", "-ERR hash value is not an integer"),
            ("HINCRBY h empty 1", "-ERR hash value is not an integer"),
            ("HINCRBY h n 1.5", NOT_AN_INTEGER),
            ("HINCRBYFLOAT h n 0.1", "$4 -1.9"),
            ("HINCRBYFLOAT h n 5.0e3", "$22 4998.10000000000000009"),
            ("HINCRBY h n 1", "-ERR hash value is not an integer"),
            ("HINCRBYFLOAT h zero -0.0", "$1 0"),
            ("HINCRBYFLOAT h text 1", "-ERR hash value is not a float"),
            ("HINCRBYFLOAT h space 1", "-ERR hash value is not a float"),
            ("HINCRBYFLOAT h empty 1", "-ERR hash value is not a float"),
            ("HINCRBYFLOAT h infinite 1", "-ERR increment would produce NaN or Infinity"),
            ("HINCRBYFLOAT h n inf", "-ERR value is NaN or Infinity"),
            ("HINCRBYFLOAT h n nan", NOT_A_FLOAT),
            ("HINCRBYFLOAT h n x", NOT_A_FLOAT),
            ("HGET h n", "$22 4998.10000000000000009"),
            ("HINCRBY missing n x", NOT_AN_INTEGER),
            ("EXISTS missing", ":0"),
        ],
    );
}

#[test]
fn another_type_is_refused_before_or_after_the_arguments_as_in_redis() {
    check(
        &mut Client::new(),
        &[
            ("SET s v", "+OK"),
            ("HSET s a 1", WRONG_TYPE),
            ("HSET s a 1 b", "-ERR wrong number of arguments for 'hset' command"),
            ("HMSET s a 1 b", "-ERR wrong number of arguments for 'hmset' command"),
            ("hMset s a", "-ERR wrong number of arguments for 'hmset' command"),
            ("HSETNX s a 1", WRONG_TYPE),
            ("HGET s a", WRONG_TYPE),
            ("HMGET s a", WRONG_TYPE),
            ("HDEL s a", WRONG_TYPE),
            ("HEXISTS s a", WRONG_TYPE),
            ("HSTRLEN s a", WRONG_TYPE),
            ("HLEN s", WRONG_TYPE),
            ("HGETALL s", WRONG_TYPE),
            ("HKEYS s", WRONG_TYPE),
            ("HVALS s", WRONG_TYPE),
            ("HINCRBY s a x", NOT_AN_INTEGER),
            ("HINCRBY s a 1", WRONG_TYPE),
            ("HINCRBYFLOAT s a inf", "-ERR value is NaN or Infinity"),
            ("HINCRBYFLOAT s a 1", WRONG_TYPE),
            ("HRANDFIELD s", WRONG_TYPE),
            ("HRANDFIELD s 0", WRONG_TYPE),
            ("HRANDFIELD s x", NOT_AN_INTEGER),
            ("HRANDFIELD s 1 y", SYNTAX),
            ("HSCAN s x", NO_CURSOR),
            ("HSCAN s 0 y", WRONG_TYPE),
            ("GET s", "$1 v"),
        ],
    );
}

#[test]
fn an_expired_hash_is_absent_and_its_successor_new() {
    let mut client = Client::new();
    check(&mut client, &[("HSET h a 1", ":1"), ("PEXPIRE h 100", ":1"), ("HSET h b 2", ":1"), ("PTTL h", ":100")]);
    client.wait_ms(101);
    check(
        &mut client,
        &[
            ("HLEN h", ":0"),
            ("HGETALL h", "*0"),
            ("HSCAN h 0", "*2 $1 0 *0"),
            ("HSET h c 3", ":1"),
            ("HGETALL h", "*2 $1 c $1 3"),
            ("PTTL h", ":-1"),
        ],
    );
}

#[test]
fn setting_a_field_again_is_a_change_for_watchers_and_removing_none_is_not() {
    let mut store = MemoryStore::new();
    let mut client = Client::on(&store);
    let mut revision_after = |command: &str| {
        client.run(command);
        store.revisions(&[lock_key(1, b"h")]).unwrap()
    };
    let mut before = revision_after("HSET h a 1");
    for command in ["HDEL h nope", "HSETNX h a 2", "HINCRBY h a x", "HGET h a"] {
        assert_eq!(revision_after(command), before, "{command}");
    }
    for command in ["HSET h a 1", "HMSET h a 1", "HINCRBY h a 0", "HINCRBYFLOAT h a 0", "HSETNX h b 1", "HDEL h b", "HDEL h a"] {
        let after = revision_after(command);
        assert_ne!(after, before, "{command}");
        before = after;
    }
}

#[test]
fn an_unchanged_count_does_not_rewrite_the_meta_record() {
    let store = MemoryStore::new();
    let mut client = Client::on(&store);
    let records = |name: &str| store.contents().into_iter().find(|(keyspace, _)| keyspace == name).unwrap().1;
    client.run("HSET h a 1");
    let (meta, data) = (records("meta"), records("data"));
    client.run("HSET h a 2");
    assert_eq!(records("meta"), meta);
    assert_ne!(records("data"), data);
    client.run("HSET h b 2");
    assert_ne!(records("meta"), meta);
}

#[test]
fn random_fields_come_in_the_shapes_of_redis() {
    check(
        &mut Client::new(),
        &[
            ("HRANDFIELD missing", NIL),
            ("HRANDFIELD missing 3", "*0"),
            ("HRANDFIELD missing -3 WITHVALUES", "*0"),
            ("HSET h a 1", ":1"),
            ("HRANDFIELD h", "$1 a"),
            ("HRANDFIELD h 0", "*0"),
            ("HRANDFIELD h 5", "*1 $1 a"),
            ("HRANDFIELD h 5 withvalues", "*2 $1 a $1 1"),
            ("HRANDFIELD h -2", "*2 $1 a $1 a"),
            ("HRANDFIELD h -2 WITHVALUES", "*4 $1 a $1 1 $1 a $1 1"),
            ("HRANDFIELD h x", NOT_AN_INTEGER),
            ("HRANDFIELD h 1 x", SYNTAX),
            ("HRANDFIELD h x x", NOT_AN_INTEGER),
            ("HRANDFIELD h 1 withvalues x", SYNTAX),
            ("HRANDFIELD h 9223372036854775807", "*1 $1 a"),
            ("HRANDFIELD h 9223372036854775808", NOT_AN_INTEGER),
            ("HRANDFIELD h 4611686018427387903 WITHVALUES", "*2 $1 a $1 1"),
            ("HRANDFIELD h 4611686018427387904 WITHVALUES", OUT_OF_RANGE),
            ("HRANDFIELD missing -4611686018427387904 WITHVALUES", OUT_OF_RANGE),
            (
                "HRANDFIELD h -9223372036854775808",
                "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
            ),
        ],
    );
}

#[test]
fn a_huge_negative_count_is_refused_instead_of_filling_the_memory() {
    let mut client = Client::new();
    client.run("HSET h a 1");
    assert_eq!(client.run("HRANDFIELD h -9223372036854775807"), OUT_OF_RANGE);
    assert_eq!(client.run("HRANDFIELD h -1048577"), OUT_OF_RANGE);
    assert!(client.run("HRANDFIELD h -1048576").starts_with("*1048576 $1 a $1 a"));
    let long = "x".repeat(60_000);
    client.run(&format!("HSET h a {long}"));
    assert_eq!(client.run("HRANDFIELD h -10000 WITHVALUES"), OUT_OF_RANGE, "600 MB");
}

#[test]
fn random_fields_are_different_ones_unless_asked_otherwise() {
    let mut client = client_with_a_hundred_fields();
    for count in [1, 2, 50, 99, 100, 101] {
        let drawn = elements(&client.run(&format!("HRANDFIELD h {count}")));
        let different: BTreeSet<&String> = drawn.iter().collect();
        assert_eq!((drawn.len(), different.len()), (count.min(100), count.min(100)), "count {count}");
    }
    let drawn = elements(&client.run("HRANDFIELD h -1000 WITHVALUES"));
    assert_eq!(drawn.len(), 2000);
    for pair in drawn.chunks(2) {
        assert_eq!(pair[0][1..].parse::<u32>(), pair[1].parse::<u32>());
    }
}

#[test]
fn hscan_takes_the_options_of_redis() {
    check(
        &mut Client::new(),
        &[
            ("HSET h a1 1 a2 2 b 3 \"\" 4", ":4"),
            ("HSCAN h 0", "*2 $1 0 *8 $0  $1 4 $2 a1 $1 1 $2 a2 $1 2 $1 b $1 3"),
            ("HSCAN h 0 MATCH a* COUNT 100", "*2 $1 0 *4 $2 a1 $1 1 $2 a2 $1 2"),
            ("HSCAN h 0 MATCH *", "*2 $1 0 *8 $0  $1 4 $2 a1 $1 1 $2 a2 $1 2 $1 b $1 3"),
            ("HSCAN h 0 MATCH nope MATCH b", "*2 $1 0 *2 $1 b $1 3"),
            ("HSCAN h 0 COUNT 4", "*2 $1 0 *8 $0  $1 4 $2 a1 $1 1 $2 a2 $1 2 $1 b $1 3"),
            ("HSCAN missing 0", "*2 $1 0 *0"),
            ("HSCAN missing 0 nonsense", "*2 $1 0 *0"),
            ("HSCAN missing x", NO_CURSOR),
            ("HSCAN h x", NO_CURSOR),
            ("HSCAN h 18446744073709551616", NO_CURSOR),
            ("HSCAN h \" 0\"", NO_CURSOR),
            ("HSCAN h 0 MATCH", SYNTAX),
            ("HSCAN h 0 COUNT 0", SYNTAX),
            ("HSCAN h 0 COUNT -1", SYNTAX),
            ("HSCAN h 0 COUNT x", NOT_AN_INTEGER),
            ("HSCAN h 0 TYPE hash", SYNTAX),
            ("HSCAN h 0 NOVALUES", SYNTAX),
        ],
    );
}

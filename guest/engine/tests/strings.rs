//! String commands, from bytes in to bytes out. The expected replies are those of redis-server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;
use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::layout::orbweaver::Orbweaver;
use orbweaver_engine::layout::{Body, Collection, KeyAt, Kind, Layout, Meta, New};
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::{MemoryStore, Scope};
use orbweaver_engine::transaction::Transaction;

const NIL: &str = "$-1";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_AN_INTEGER: &str = "-ERR value is not an integer or out of range";
const NOT_A_FLOAT: &str = "-ERR value is not a valid float";
const SYNTAX: &str = "-ERR syntax error";
const TOO_LONG: &str = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)";

/// Runs commands one after the other and compares each reply.
fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

/// A client whose store has a hash under the key `hash`.
fn client_with_a_hash() -> Client {
    let mut store = MemoryStore::new();
    let layout = Orbweaver::open(&mut store).unwrap();
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    let space = layout.load_catalog(&mut transaction, 16).unwrap().spaces[0];
    let collection = Collection::empty(Kind::Hash, 1).changed_by(1, 0);
    let meta = Meta { expire_at_ms: None, body: Body::Collection(collection) };
    layout.write(&mut transaction, &KeyAt::new(space, "hash".into()), None, New::Value(&meta), 0).unwrap();
    transaction.commit().unwrap();
    Client::on(&store)
}

#[test]
fn set_writes_only_where_its_condition_holds() {
    check(
        &mut Client::new(),
        &[
            ("SET k a XX", NIL),
            ("GET k", NIL),
            ("SET k a NX", "+OK"),
            ("SET k b nx", NIL),
            ("GET k", "$1 a"),
            ("SET k b xx", "+OK"),
            ("GET k", "$1 b"),
            ("SETNX k c", ":0"),
            ("SETNX n c", ":1"),
            ("GET n", "$1 c"),
        ],
    );
}

#[test]
fn set_with_get_returns_the_old_value_whether_it_writes_or_not() {
    check(
        &mut Client::new(),
        &[
            ("SET k a GET", NIL),
            ("SET k b GET", "$1 a"),
            ("SET k c NX GET", "$1 b"),
            ("GET k", "$1 b"),
            ("SET n c GET NX", NIL),
            ("GET n", "$1 c"),
            ("SET absent c XX GET", NIL),
            ("GET absent", NIL),
            ("GETSET k d", "$1 b"),
            ("GETSET new d", NIL),
            ("GET new", "$1 d"),
        ],
    );
}

#[test]
fn options_that_exclude_each_other_are_a_syntax_error_and_change_nothing() {
    let mut client = Client::new();
    let refused = [
        "SET k v NX XX",
        "SET k v XX NX",
        "SET k v EX 10 PX 10",
        "SET k v EX 10 KEEPTTL",
        "SET k v KEEPTTL PXAT 10",
        "SET k v EX",
        "SET k v PERSIST",
        "SET k v nonsense",
        "GETEX k EX 10 PERSIST",
        "GETEX k PERSIST EXAT 10",
        "GETEX k EX 10 PX 10",
        "GETEX k KEEPTTL",
        "GETEX k NX",
        "GETEX k PXAT",
    ];
    for command in refused {
        assert_eq!(client.run(command), SYNTAX, "{command}");
    }
    assert_eq!(client.run("GET k"), NIL);
    check(&mut client, &[("SET k v EX 1 EX 10 NX NX", "+OK"), ("GETEX k PERSIST PERSIST", "$1 v"), ("SET k v KEEPTTL KEEPTTL", "+OK")]);
}

#[test]
fn a_time_to_live_that_is_not_positive_or_too_far_is_refused() {
    let mut client = Client::new();
    let times = ["0", "-1", "9223372036854775807", "9223372036854776"];
    for time in times {
        for (command, name) in [("SET k v EX {}", "set"), ("SETEX k {} v", "setex")] {
            let reply = client.run(&command.replace("{}", time));
            assert_eq!(reply, format!("-ERR invalid expire time in '{name}' command"));
        }
    }
    check(
        &mut client,
        &[
            ("PSETEX k 0 v", "-ERR invalid expire time in 'psetex' command"),
            ("PSETEX k 9223372036854775807 v", "-ERR invalid expire time in 'psetex' command"),
            ("SET k v PX x", NOT_AN_INTEGER),
            ("SETEX k 1.5 v", NOT_AN_INTEGER),
            ("GET k", NIL),
            // An absent key is told before a bad time.
            ("GETEX k EX 0", NIL),
            ("SET k v PXAT 9223372036854775807", "+OK"),
            ("GETEX k EX 0", "-ERR invalid expire time in 'getex' command"),
            ("GETEX k EX x", NOT_AN_INTEGER),
            ("GET k", "$1 v"),
        ],
    );
}

#[test]
fn a_value_is_gone_once_its_time_is_past() {
    for set in
        ["SET k v EX 2", "SET k v PX 2000", "SET k v EXAT 1700000002", "SET k v PXAT 1700000002000", "SETEX k 2 v", "PSETEX k 2000 v"]
    {
        let mut client = Client::new();
        assert_eq!(client.run(set), "+OK");
        client.wait_ms(2000);
        assert_eq!(client.run("GET k"), "$1 v", "{set}");
        client.wait_ms(1);
        check(&mut client, &[("GET k", NIL), ("MGET k", "*1 $-1"), ("STRLEN k", ":0"), ("SET k w XX", NIL), ("APPEND k x", ":1")]);
        client.wait_ms(10_000);
        assert_eq!(client.run("GET k"), "$1 x", "the new key has no expiry");
    }
}

#[test]
fn a_time_of_the_past_removes_the_key() {
    check(
        &mut Client::new(),
        &[("SET k v EXAT 1", "+OK"), ("GET k", NIL), ("SET k v", "+OK"), ("GETEX k PXAT 1700000000000", "$1 v"), ("GET k", NIL)],
    );
}

/// Whether `k`, which was given a second to live, has an expiry after `command`.
fn keeps_expiry(command: &str) -> bool {
    let mut client = Client::new();
    client.run("SET k 10 EX 1");
    let reply = client.run(command);
    assert!(!reply.starts_with('-'), "{command}: {reply}");
    client.wait_ms(1001);
    client.run("GET k") == NIL
}

#[test]
fn commands_that_change_a_value_keep_its_expiry_and_those_that_replace_it_do_not() {
    let changing =
        ["INCR k", "DECRBY k 3", "INCRBYFLOAT k 1.5", "APPEND k 1", "SETRANGE k 0 9", "SET k 1 KEEPTTL", "GETEX k", "SET k 1 NX"];
    for command in changing {
        assert!(keeps_expiry(command), "{command}");
    }
    for command in ["SET k 1", "GETSET k 1", "MSET k 1", "SET k 1 GET", "GETEX k PERSIST", "GETEX k EX 100"] {
        assert!(!keeps_expiry(command), "{command}");
    }
}

#[test]
fn getdel_returns_the_value_and_removes_the_key() {
    check(&mut Client::new(), &[("SET k v", "+OK"), ("GETDEL k", "$1 v"), ("GETDEL k", NIL), ("GET k", NIL)]);
}

#[test]
fn every_command_but_set_and_mget_refuses_another_type() {
    let mut client = client_with_a_hash();
    let refused = [
        "GET hash",
        "GETDEL hash",
        "GETEX hash",
        "GETEX hash EX 0",
        "GETSET hash v",
        "SET hash v GET",
        "SET hash v XX GET",
        "INCR hash",
        "DECR hash",
        "INCRBY hash 1",
        "DECRBY hash 1",
        "INCRBYFLOAT hash x",
        "APPEND hash v",
        "STRLEN hash",
        "GETRANGE hash 0 1",
        "SUBSTR hash 0 1",
        "SETRANGE hash 0 v",
        "SETRANGE hash 0 \"\"",
    ];
    for command in refused {
        assert_eq!(client.run(command), WRONG_TYPE, "{command}");
    }
    check(
        &mut client,
        &[
            ("MGET hash absent", "*2 $-1 $-1"),
            ("SETNX hash v", ":0"),
            ("MSETNX new 1 hash v", ":0"),
            ("GET new", NIL),
            ("INCRBY hash x", NOT_AN_INTEGER),
            ("SETRANGE hash -1 v", "-ERR offset is out of range"),
            ("LCS hash absent bad option", "-ERR The specified keys must contain string values"),
            ("LCS absent hash", "-ERR The specified keys must contain string values"),
            ("SET hash v", "+OK"),
            ("GET hash", "$1 v"),
        ],
    );
}

#[test]
fn mset_sets_all_keys_and_msetnx_all_or_none() {
    check(
        &mut Client::new(),
        &[
            ("MSET a 1 b 2 a 3", "+OK"),
            ("MGET a b c a", "*4 $1 3 $1 2 $-1 $1 3"),
            ("MSETNX c 1 a 1", ":0"),
            ("GET c", NIL),
            ("MSETNX c 1 d 2 c 3", ":1"),
            ("MGET c d", "*2 $1 3 $1 2"),
            ("MSET a 1 b", "-ERR wrong number of arguments for 'mset' command"),
            ("MSETNX x 1 y", "-ERR wrong number of arguments for 'msetnx' command"),
            ("MGET a x", "*2 $1 3 $-1"),
        ],
    );
}

#[test]
fn integers_are_counted_up_and_down_within_64_bits() {
    check(
        &mut Client::new(),
        &[
            ("INCR n", ":1"),
            ("INCRBY n 41", ":42"),
            ("DECR n", ":41"),
            ("DECRBY n -9", ":50"),
            ("DECRBY n 100", ":-50"),
            ("GET n", "$3 -50"),
            ("SET n 9223372036854775807", "+OK"),
            ("INCR n", "-ERR increment or decrement would overflow"),
            ("GET n", "$19 9223372036854775807"),
            ("INCRBY n -9223372036854775808", ":-1"),
            ("DECRBY n 9223372036854775807", ":-9223372036854775808"),
            ("DECR n", "-ERR increment or decrement would overflow"),
            ("DECRBY n -9223372036854775808", "-ERR decrement would overflow"),
            ("INCRBY n 9223372036854775808", NOT_AN_INTEGER),
            ("INCRBY n +1", NOT_AN_INTEGER),
        ],
    );
}

#[test]
fn only_the_plain_text_of_an_integer_can_be_counted() {
    let mut client = Client::new();
    for value in ["\"\"", "\" 1\"", "01", "1.0", "-0", "9223372036854775808", "x"] {
        client.run(&format!("SET n {value}"));
        assert_eq!(client.run("INCR n"), NOT_AN_INTEGER, "{value}");
    }
}

#[test]
fn floats_are_added_as_long_doubles_and_written_without_an_exponent() {
    check(
        &mut Client::new(),
        &[
            ("INCRBYFLOAT f 0.1", "$3 0.1"),
            ("INCRBYFLOAT f 0.2", "$3 0.3"),
            ("INCRBYFLOAT f 5.0e3", "$22 5000.29999999999999982"),
            ("GET f", "$22 5000.29999999999999982"),
            ("SET f 3.0", "+OK"),
            ("INCRBYFLOAT f 1.000000000000000000000", "$1 4"),
            ("INCR f", ":5"),
            ("INCRBYFLOAT f x", NOT_A_FLOAT),
            ("INCRBYFLOAT f nan", NOT_A_FLOAT),
            ("INCRBYFLOAT f inf", "-ERR increment would produce NaN or Infinity"),
            ("INCRBYFLOAT f \"1 \"", NOT_A_FLOAT),
            ("GET f", "$1 5"),
            ("SET f x", "+OK"),
            ("INCRBYFLOAT f 1", NOT_A_FLOAT),
        ],
    );
}

#[test]
fn parts_of_strings_are_read_and_overwritten() {
    check(
        &mut Client::new(),
        &[
            ("APPEND k hello", ":5"),
            ("APPEND k \" world\"", ":11"),
            ("APPEND k \"\"", ":11"),
            ("STRLEN k", ":11"),
            ("GETRANGE k 0 4", "$5 hello"),
            ("SUBSTR k -5 -1", "$5 world"),
            ("GETRANGE k 20 30", "$0"),
            ("GETRANGE absent 0 -1", "$0"),
            ("GETRANGE k 0 x", NOT_AN_INTEGER),
            ("SETRANGE k 6 redis", ":11"),
            ("GET k", "$11 hello redis"),
            ("SETRANGE k 10 ses", ":13"),
            ("GET k", "$13 hello redises"),
            ("SETRANGE k 0 \"\"", ":13"),
            ("SETRANGE absent 5 \"\"", ":0"),
            ("GET absent", NIL),
            ("SETRANGE gap 3 x", ":4"),
            ("GET gap", "$4 \0\0\0x"),
            ("SETRANGE gap -1 x", "-ERR offset is out of range"),
            ("SETRANGE gap x x", NOT_AN_INTEGER),
        ],
    );
}

#[test]
fn a_string_grows_up_to_the_limit_and_not_beyond() {
    let settings = Settings { max_string_bytes: 10, ..Settings::default() };
    let mut engine = Engine::open(Box::new(MemoryStore::new()), Box::new(HeldEnvironment::new(0, 1)), settings).unwrap();
    let connection = 1;
    engine.connect(connection, "127.0.0.1:1", None);
    let mut run = |command: &str| {
        let outcome = engine.exchange(&[Delivery { connection, input: format!("{command}\r\n").into() }]);
        String::from_utf8(outcome.answers[0].output.clone()).unwrap().trim_end().to_owned()
    };
    let steps = [
        ("SET k 12345", "+OK"),
        ("APPEND k 678901", TOO_LONG),
        ("APPEND k 67890", ":10"),
        ("APPEND k 1", TOO_LONG),
        ("SETRANGE k 9 x", ":10"),
        ("SETRANGE k 10 x", TOO_LONG),
        ("SETRANGE absent 9223372036854775807 x", TOO_LONG),
        ("SETRANGE absent 9223372036854775807 \"\"", ":0"),
        ("STRLEN k", ":10"),
        ("STRLEN absent", ":0"),
        ("LCS k k LEN", "-ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"),
        ("LCS absent absent LEN", ":0"),
    ];
    for (command, reply) in steps {
        assert_eq!(run(command), reply, "{command}");
    }
}

#[test]
fn lcs_answers_with_the_subsequence_its_length_or_its_matches() {
    check(
        &mut Client::new(),
        &[
            ("MSET a ohmytext b mynewtext", "+OK"),
            ("LCS a b", "$6 mytext"),
            ("LCS a b LEN", ":6"),
            ("LCS a b IDX", "*4 $7 matches *2 *2 *2 :4 :7 *2 :5 :8 *2 *2 :2 :3 *2 :0 :1 $3 len :6"),
            ("LCS a b idx MINMATCHLEN 4", "*4 $7 matches *1 *2 *2 :4 :7 *2 :5 :8 $3 len :6"),
            ("LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN", "*4 $7 matches *1 *3 *2 :4 :7 *2 :5 :8 :4 $3 len :6"),
            ("LCS a b IDX MINMATCHLEN -1", "*4 $7 matches *2 *2 *2 :4 :7 *2 :5 :8 *2 *2 :2 :3 *2 :0 :1 $3 len :6"),
            ("LCS a b MINMATCHLEN 100 WITHMATCHLEN", "$6 mytext"),
            ("LCS a absent", "$0"),
            ("LCS a absent IDX", "*4 $7 matches *0 $3 len :0"),
            ("LCS a b LEN IDX", "-ERR If you want both the length and indexes, please just use IDX."),
            ("LCS a b MINMATCHLEN", SYNTAX),
            ("LCS a b MINMATCHLEN x", NOT_AN_INTEGER),
            ("LCS a b nonsense", SYNTAX),
        ],
    );
}

//! Expiries of hash fields: every command and option with its literal replies, over the memory store with a clock moved by hand.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;
mod keeper;
mod measured;

use common::Client;
use keeper::{Keeper, hex};
use measured::{Cost, Measured};
use orbweaver_engine::store::{MemoryStore, Order, Scope, Store};
use orbweaver_engine::transaction::Transaction;

/// The clock of a new client.
const NOW: u64 = 1_700_000_000_000;
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

/// A client with the hash `h` of the fields `a`, `b` and `c`.
fn client() -> Client {
    let mut client = Client::new();
    assert_eq!(client.run("HSET h a 1 b 2 c 3"), ":3");
    client
}

#[test]
fn every_unit_sets_and_tells_the_same_expiry() {
    let mut client = client();
    check(
        &mut client,
        &[
            ("HEXPIRE h 10 FIELDS 1 a", "*1 :1"),
            ("HPEXPIRE h 10001 FIELDS 1 b", "*1 :1"),
            ("HPTTL h FIELDS 4 a b c none", "*4 :10000 :10001 :-1 :-2"),
            ("HTTL h FIELDS 4 a b c none", "*4 :10 :11 :-1 :-2"),
            ("HEXPIRETIME h FIELDS 4 a b c none", "*4 :1700000010 :1700000011 :-1 :-2"),
            ("HPEXPIRETIME h FIELDS 4 a b c none", "*4 :1700000010000 :1700000010001 :-1 :-2"),
            ("HEXPIREAT h 1700000020 fields 1 a", "*1 :1"),
            ("HPEXPIREAT h 1700000020001 FIELDS 2 b c", "*2 :1 :1"),
            ("HPTTL h FIELDS 3 a b c", "*3 :20000 :20001 :20001"),
            ("HGETALL h", "*6 $1 a $1 1 $1 b $1 2 $1 c $1 3"),
        ],
    );
}

#[test]
fn a_field_is_gone_when_its_time_is_past_and_not_at_it() {
    let mut client = client();
    check(&mut client, &[("HPEXPIRE h 100 FIELDS 1 a", "*1 :1"), ("HPEXPIRE h 200 FIELDS 1 b", "*1 :1")]);
    client.wait_ms(100);
    check(&mut client, &[("HGET h a", "$1 1"), ("HLEN h", ":3"), ("HPTTL h FIELDS 1 a", "*1 :0"), ("HTTL h FIELDS 1 a", "*1 :0")]);
    client.wait_ms(1);
    check(
        &mut client,
        &[
            ("HLEN h", ":2"),
            ("HGET h a", "$-1"),
            ("HMGET h a b c", "*3 $-1 $1 2 $1 3"),
            ("HEXISTS h a", ":0"),
            ("HSTRLEN h a", ":0"),
            ("HGETALL h", "*4 $1 b $1 2 $1 c $1 3"),
            ("HKEYS h", "*2 $1 b $1 c"),
            ("HVALS h", "*2 $1 2 $1 3"),
            ("HSCAN h 0", "*2 $1 0 *4 $1 b $1 2 $1 c $1 3"),
            ("HRANDFIELD h 5 WITHVALUES", "*4 $1 b $1 2 $1 c $1 3"),
            ("HPTTL h FIELDS 2 a b", "*2 :-2 :99"),
            ("HPERSIST h FIELDS 1 a", "*1 :-2"),
            ("HEXPIRE h 10 FIELDS 1 a", "*1 :-2"),
            ("HDEL h a", ":0"),
            ("HLEN h", ":2"),
        ],
    );
    client.wait_ms(100);
    check(&mut client, &[("HLEN h", ":1"), ("HGETALL h", "*2 $1 c $1 3"), ("EXISTS h", ":1")]);
}

#[test]
fn what_is_drawn_at_random_is_never_past_its_time() {
    let mut client = Client::new();
    for number in 0..40 {
        client.run(&format!("HSET h f{number} v"));
        if number % 3 != 0 {
            client.run(&format!("HPEXPIRE h 10 FIELDS 1 f{number}"));
        }
    }
    client.wait_ms(11);
    let mut drawn = std::collections::BTreeSet::new();
    for _ in 0..300 {
        drawn.insert(client.run("HRANDFIELD h"));
    }
    let live: std::collections::BTreeSet<String> =
        (0..40).step_by(3).map(|n| format!("f{n}")).map(|f| format!("${} {f}", f.len())).collect();
    assert_eq!(drawn, live);
    assert!(client.run("HRANDFIELD h 40").starts_with("*14 "));
    assert!(client.run("HRANDFIELD h -40").starts_with("*40 "));
    assert_eq!(client.run("HLEN h"), ":14");
}

#[test]
fn conditions_are_those_of_redis() {
    let mut client = client();
    check(
        &mut client,
        &[
            ("HPEXPIRE h 1000 XX FIELDS 1 a", "*1 :0"),
            ("HPEXPIRE h 1000 GT FIELDS 1 a", "*1 :0"),
            ("HPEXPIRE h 1000 LT FIELDS 1 a", "*1 :1"),
            ("HPEXPIRE h 1000 NX FIELDS 3 a b none", "*3 :0 :1 :-2"),
            ("HPEXPIRE h 2000 xx FIELDS 2 a c", "*2 :1 :0"),
            ("HPEXPIRE h 1500 GT FIELDS 2 a b", "*2 :0 :1"),
            ("HPEXPIRE h 2000 gt FIELDS 1 a", "*1 :0"),
            ("HPEXPIRE h 2000 LT FIELDS 1 a", "*1 :0"),
            ("HPEXPIRE h 1999 LT FIELDS 2 a b", "*2 :1 :0"),
            ("HPTTL h FIELDS 3 a b c", "*3 :1999 :1500 :-1"),
        ],
    );
}

#[test]
fn a_time_that_is_not_ahead_removes_the_field_at_once() {
    let mut client = client();
    check(
        &mut client,
        &[
            ("HPEXPIRE h 1000 FIELDS 1 a", "*1 :1"),
            // The condition comes first.
            ("HEXPIREAT h 1 NX FIELDS 3 a b none", "*3 :0 :2 :-2"),
            ("HGETALL h", "*4 $1 a $1 1 $1 c $1 3"),
            ("HEXPIRE h 0 FIELDS 2 c c", "*2 :2 :-2"),
            ("HLEN h", ":1"),
            ("HPEXPIRE h 0 FIELDS 1 a", "*1 :2"),
            ("EXISTS h", ":0"),
            ("HPEXPIREAT h 0 FIELDS 1 a", "*1 :-2"),
        ],
    );
}

#[test]
fn a_field_that_comes_twice_is_taken_as_the_first_time_left_it() {
    check(
        &mut client(),
        &[
            ("HPEXPIRE h 100 NX FIELDS 3 a b a", "*3 :1 :1 :0"),
            ("HPERSIST h FIELDS 3 a a c", "*3 :1 :-1 :-1"),
            ("HPTTL h FIELDS 2 a b", "*2 :-1 :100"),
        ],
    );
}

#[test]
fn a_missing_key_has_no_fields() {
    check(
        &mut Client::new(),
        &[
            ("HEXPIRE h 10 FIELDS 2 a b", "*2 :-2 :-2"),
            ("HTTL h FIELDS 2 a b", "*2 :-2 :-2"),
            ("HPERSIST h FIELDS 1 a", "*1 :-2"),
            ("EXISTS h", ":0"),
        ],
    );
}

#[test]
fn wrong_arguments_are_refused_in_the_order_of_redis() {
    let mut client = client();
    client.run("SET s v");
    let mismatch = "-ERR The `numfields` parameter must match the number of arguments";
    let no_fields = "-ERR Mandatory argument FIELDS is missing or not at the right position";
    for (command, at_limit, above) in [
        ("hexpire", 68_668_744_177, 68_668_744_178_u64),
        ("hpexpire", (1 << 46) - 1 - NOW, (1 << 46) - NOW),
        ("hexpireat", 70_368_744_177, 70_368_744_178),
        ("hpexpireat", (1 << 46) - 1, 1 << 46),
    ] {
        let no_number = "-ERR Parameter `numFields` should be greater than 0";
        let out_of_range = format!("-ERR invalid expire time in '{command}' command");
        let arity = format!("-ERR wrong number of arguments for '{command}' command");
        let cases: [(&str, &str); 17] = [
            ("h 1 FIELDS 1", &arity),
            ("s x NO 0 a", WRONG_TYPE),
            ("h x NO 0 a", "-ERR value is not an integer or out of range"),
            ("h 1.5 FIELDS 1 a", "-ERR value is not an integer or out of range"),
            ("h -1 NO 0 a", "-ERR invalid expire time, must be >= 0"),
            ("h 9223372036854775807 NO 0 a", &out_of_range),
            ("h 9223372036854775808 NO 0 a", "-ERR value is not an integer or out of range"),
            ("none 1 NO 0 a", no_fields),
            ("h 1 NX XX FIELDS 1 a", no_fields),
            ("h 1 1 a b", no_fields),
            ("h 1 FIELDS 0 a", no_number),
            ("h 1 FIELDS -1 a", no_number),
            ("h 1 FIELDS x a", no_number),
            ("h 1 FIELDS 2 a", mismatch),
            ("h 1 FIELDS 1 a b", mismatch),
            ("h 1 NX FIELDS 1", mismatch),
            ("none 1 FIELDS 9223372036854775807 a", mismatch),
        ];
        for (arguments, error) in cases {
            assert_eq!(client.run(&format!("{command} {arguments}")), error, "{command} {arguments}");
        }
        assert_eq!(client.run(&format!("{command} h {above} FIELDS 1 a")), out_of_range);
        assert_eq!(client.run(&format!("{command} h {at_limit} FIELDS 1 a")), "*1 :1");
        assert_eq!(client.run("HPERSIST h FIELDS 1 a"), "*1 :1");
    }
    for command in ["httl", "hpttl", "hexpiretime", "hpexpiretime", "hpersist"] {
        let no_number = "-ERR Number of fields must be a positive integer";
        let arity = format!("-ERR wrong number of arguments for '{command}' command");
        let cases: [(&str, &str); 8] = [
            ("h FIELDS 1", &arity),
            ("s NO 0 a", WRONG_TYPE),
            ("none NO 0 a", no_fields),
            ("h FIELDS 0 a", no_number),
            ("h FIELDS x a", no_number),
            ("none FIELDS 2 a", mismatch),
            ("h FIELDS 1 a b", mismatch),
            ("h 1 FIELDS a", no_fields),
        ];
        for (arguments, error) in cases {
            assert_eq!(client.run(&format!("{command} {arguments}")), error, "{command} {arguments}");
        }
    }
    assert_eq!(client.run("HPTTL h FIELDS 3 a b c"), "*3 :-1 :-1 :-1");
}

#[test]
fn setting_a_field_takes_its_expiry_and_adding_to_it_does_not() {
    let mut client = client();
    check(
        &mut client,
        &[
            ("HPEXPIRE h 1000 FIELDS 3 a b c", "*3 :1 :1 :1"),
            ("HSET h a 5", ":0"),
            ("HINCRBY h b 5", ":7"),
            ("HINCRBYFLOAT h c 0.5", "$3 3.5"),
            ("HSETNX h b 9", ":0"),
            ("HPTTL h FIELDS 3 a b c", "*3 :-1 :1000 :1000"),
            ("HMSET h c 9", "+OK"),
            ("HPTTL h FIELDS 3 a b c", "*3 :-1 :1000 :-1"),
        ],
    );
    client.wait_ms(1001);
    // What is past its time counts as 0, is new, and comes without an expiry.
    check(
        &mut client,
        &[("HINCRBY h b 5", ":5"), ("HPTTL h FIELDS 1 b", "*1 :-1"), ("HPEXPIRE h 1 FIELDS 2 a b", "*2 :1 :1"), ("HLEN h", ":3")],
    );
    client.wait_ms(2);
    check(
        &mut client,
        &[
            ("HLEN h", ":1"),
            ("HSETNX h a 6", ":1"),
            ("HSET h b 7 c 8 d 9", ":2"),
            ("HGETALL h", "*8 $1 a $1 6 $1 b $1 7 $1 c $1 8 $1 d $1 9"),
            ("HPTTL h FIELDS 2 a b", "*2 :-1 :-1"),
        ],
    );
}

#[test]
fn a_hash_whose_last_field_is_past_its_time_does_not_exist() {
    let uses: &[(&str, &str)] = &[
        ("EXISTS h", ":0"),
        ("TYPE h", "+none"),
        ("TTL h", ":-2"),
        ("DBSIZE", ":0"),
        ("KEYS *", "*0"),
        ("SCAN 0", "*2 $1 0 *0"),
        ("SCAN 0 TYPE hash", "*2 $1 0 *0"),
        ("SCAN 0 MATCH h", "*2 $1 0 *0"),
        ("RANDOMKEY", "$-1"),
        ("HLEN h", ":0"),
        ("HGETALL h", "*0"),
        ("HSCAN h 0", "*2 $1 0 *0"),
        ("HRANDFIELD h", "$-1"),
        ("OBJECT ENCODING h", "$-1"),
        ("MEMORY USAGE h", "$-1"),
        ("DEL h", ":0"),
        ("RENAME h i", "-ERR no such key"),
        ("COPY h i", ":0"),
        ("MOVE h 1", ":0"),
        ("PERSIST h", ":0"),
        ("EXPIRE h 10", ":0"),
        ("HDEL h a", ":0"),
        ("GET h", "$-1"),
        ("LPUSH h x", ":1"),
        ("SADD h x", ":1"),
        ("SET h v NX", "+OK"),
        ("HSETNX h a v", ":1"),
        ("HSET h a v", ":1"),
        ("HINCRBY h a 2", ":2"),
    ];
    for (command, reply) in uses {
        let mut client = client();
        check(
            &mut client,
            &[("PEXPIRE h 100000", ":1"), ("HPEXPIRE h 10 FIELDS 2 a b", "*2 :1 :1"), ("HPEXPIRE h 20 FIELDS 1 c", "*1 :1")],
        );
        client.wait_ms(21);
        assert_eq!(client.run(command), *reply, "{command}");
    }
    let mut client = client();
    check(&mut client, &[("PEXPIRE h 100000", ":1"), ("HPEXPIRE h 10 FIELDS 3 a b c", "*3 :1 :1 :1")]);
    client.wait_ms(11);
    // Nothing of the old hash is left in the new one.
    check(&mut client, &[("HSET h a v", ":1"), ("HGETALL h", "*2 $1 a $1 v"), ("TTL h", ":-1"), ("HPTTL h FIELDS 1 a", "*1 :-1")]);
}

#[test]
fn expiries_of_fields_move_and_are_copied_with_their_key() {
    let mut client = client();
    check(
        &mut client,
        &[
            ("HPEXPIRE h 100 FIELDS 1 a", "*1 :1"),
            ("HPEXPIRE h 200 FIELDS 1 b", "*1 :1"),
            ("COPY h copy", ":1"),
            ("RENAME h renamed", "+OK"),
            ("COPY copy other DB 1", ":1"),
            ("MOVE copy 2", ":1"),
            ("HPTTL renamed FIELDS 3 a b c", "*3 :100 :200 :-1"),
            ("SWAPDB 1 3", "+OK"),
            ("HPERSIST renamed FIELDS 1 b", "*1 :1"),
            ("SELECT 2", "+OK"),
            ("HPTTL copy FIELDS 3 a b c", "*3 :100 :200 :-1"),
            ("SELECT 3", "+OK"),
            ("HPTTL other FIELDS 3 a b c", "*3 :100 :200 :-1"),
            ("SELECT 0", "+OK"),
        ],
    );
    client.wait_ms(201);
    check(
        &mut client,
        &[
            ("HGETALL renamed", "*4 $1 b $1 2 $1 c $1 3"),
            ("SELECT 3", "+OK"),
            ("HGETALL other", "*2 $1 c $1 3"),
            ("COPY other again", ":1"),
            ("HLEN again", ":1"),
        ],
    );
}

#[test]
fn a_transaction_sees_its_own_expiries() {
    check(
        &mut client(),
        &[
            ("MULTI", "+OK"),
            ("HPEXPIRE h 50 FIELDS 1 a", "+QUEUED"),
            ("HPTTL h FIELDS 1 a", "+QUEUED"),
            ("HEXPIRE h 0 FIELDS 2 a b", "+QUEUED"),
            ("HLEN h", "+QUEUED"),
            ("EXEC", "*4 *1 :1 *1 :50 *2 :2 :2 :1"),
        ],
    );
}

#[test]
fn the_encoding_is_named_as_in_redis() {
    check(
        &mut client(),
        &[("OBJECT ENCODING h", "$8 listpack"), ("HPEXPIRE h 50 FIELDS 1 a", "*1 :1"), ("OBJECT ENCODING h", "$10 listpackex")],
    );
}

#[test]
fn what_does_not_expire_yet_costs_no_more_than_a_plain_hash() {
    let mut measured = Measured::on(MemoryStore::new());
    check(
        &mut measured.client,
        &[
            ("HSET plain a 1 b 2 c 3", ":3"),
            ("HSET early a 1 b 2 c 3", ":3"),
            ("HPEXPIRE early 1000 FIELDS 2 a b", "*2 :1 :1"),
            ("HSET late a 1 b 2 c 3", ":3"),
            ("HPEXPIRE late 10 FIELDS 3 a b c", "*3 :1 :1 :1"),
        ],
    );
    // The meta record, and the record of the field that is asked for.
    for key in ["plain", "early"] {
        for (command, records) in [(format!("HLEN {key}"), 1), (format!("EXISTS {key}"), 1), (format!("HGET {key} a"), 2)] {
            assert_eq!(measured.cost_of(&command).0.records_read, records, "{command}");
        }
    }
    for (command, puts) in [("HSET plain a 2", 1), ("HSET plain d 4", 2), ("HSET early c 2", 1), ("HPEXPIRE early 2000 FIELDS 1 c", 3)] {
        assert_eq!(measured.cost_of(command).0.puts, puts, "{command}");
    }
    // The last record of the index tells that all fields are past their time.
    measured.client.wait_ms(11);
    assert_eq!(measured.cost_of("EXISTS late"), (Cost { calls: 4, reads: 2, records_read: 2, ..Cost::default() }, ":0".into()));
}

#[test]
fn a_store_from_before_there_were_such_fields_is_opened_in_place() {
    let mut store = MemoryStore::new();
    let records = [
        ("system", "666f726d6174", "6f7262776561766572 00000001"),
        ("system", "6e6578742d76657273696f6e", "0000000000001001"),
        ("meta", "00000001 68", "02 00 0000000000000001 0000000000000002"),
        ("data", "0000000000000001 61", "00 31"),
        ("data", "0000000000000001 62", "00 32"),
    ];
    let keyspaces = records.map(|(name, ..)| store.open_keyspace(name, Order::Bytes).unwrap());
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    for (keyspace, (_, key, value)) in keyspaces.into_iter().zip(records) {
        transaction.put(keyspace, hex(key), hex(value)).unwrap();
    }
    transaction.commit().unwrap();
    let mut client = Client::on(&store);
    let steps = [("HGETALL h", "*4 $1 a $1 1 $1 b $1 2"), ("HTTL h FIELDS 1 a", "*1 :-1"), ("HPEXPIRE h 5 FIELDS 1 a", "*1 :1")];
    check(&mut client, &steps);
    client.wait_ms(6);
    assert_eq!(client.run("HLEN h"), ":1");
    assert_eq!(Keeper::over(store.clone(), store).check(100), Vec::<String>::new());
}

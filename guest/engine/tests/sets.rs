//! Set commands, from bytes in to bytes out. The expected replies are those of redis-server, but for the order of members, which
//! Redis leaves open.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;
use orbweaver_engine::environment::{Environment, HeldEnvironment, random_below};
use orbweaver_engine::layout::lock_key;
use orbweaver_engine::store::{MemoryStore, Store};
use std::collections::{BTreeMap, BTreeSet};

const NIL: &str = "$-1";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_AN_INTEGER: &str = "-ERR value is not an integer or out of range";
const NOT_POSITIVE: &str = "-ERR value is out of range, must be positive";
const OUT_OF_RANGE: &str = "-ERR value is out of range";
const SYNTAX: &str = "-ERR syntax error";
const NO_CURSOR: &str = "-ERR invalid cursor";
const NO_NUMKEYS: &str = "-ERR numkeys should be greater than 0";
const NO_LIMIT: &str = "-ERR LIMIT can't be negative";

/// Runs commands one after the other and compares each reply.
fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

/// The members of a set or an array of bulk strings, none of them empty.
fn members(reply: &str) -> Vec<String> {
    assert!(reply.starts_with(['*', '~']), "{reply}");
    reply.split(' ').skip(2).step_by(2).map(str::to_owned).collect()
}

fn add_all(client: &mut Client, key: &str, members: impl IntoIterator<Item = String>) {
    let members: Vec<String> = members.into_iter().collect();
    for some in members.chunks(1000) {
        client.run(&format!("SADD {key} {}", some.join(" ")));
    }
}

#[test]
fn members_are_added_and_found() {
    check(
        &mut Client::new(),
        &[
            ("SADD s b a b", ":2"),
            ("SADD s a c", ":1"),
            ("SADD s c", ":0"),
            ("SMEMBERS s", "*3 $1 a $1 b $1 c"),
            ("SCARD s", ":3"),
            ("SISMEMBER s a", ":1"),
            ("SISMEMBER s nope", ":0"),
            ("SMISMEMBER s a nope a", "*3 :1 :0 :1"),
            ("SADD s \"\"", ":1"),
            ("SISMEMBER s \"\"", ":1"),
            ("TYPE s", "+set"),
            ("SMEMBERS missing", "*0"),
            ("SCARD missing", ":0"),
            ("SISMEMBER missing a", ":0"),
            ("SMISMEMBER missing a b", "*2 :0 :0"),
            ("SADD s", "-ERR wrong number of arguments for 'sadd' command"),
        ],
    );
}

#[test]
fn a_set_without_members_does_not_exist() {
    check(
        &mut Client::new(),
        &[
            ("SADD s a b c", ":3"),
            ("SREM missing a", ":0"),
            ("SREM s nope", ":0"),
            ("SREM s a a nope", ":1"),
            ("SREM s c b", ":2"),
            ("EXISTS s", ":0"),
            ("SADD s d", ":1"),
            ("SPOP s", "$1 d"),
            ("EXISTS s", ":0"),
            ("SADD s e f", ":2"),
            ("SPOP s 2", "*2 $1 e $1 f"),
            ("EXISTS s", ":0"),
            ("SADD s g", ":1"),
            ("SMEMBERS s", "*1 $1 g"),
        ],
    );
}

#[test]
fn sets_have_a_type_of_their_own_in_resp3() {
    let mut client = Client::new();
    client.run("HELLO 3");
    check(
        &mut client,
        &[
            ("SADD s a b", ":2"),
            ("SMEMBERS s", "~2 $1 a $1 b"),
            ("SMEMBERS missing", "~0"),
            ("SINTER s s", "~2 $1 a $1 b"),
            ("SUNION s missing", "~2 $1 a $1 b"),
            ("SDIFF s missing", "~2 $1 a $1 b"),
            ("SINTER s missing", "~0"),
            ("SRANDMEMBER s 5", "*2 $1 a $1 b"),
            ("SRANDMEMBER missing", "_"),
            ("SRANDMEMBER missing 2", "*0"),
            ("SISMEMBER s a", ":1"),
            ("SMISMEMBER s a", "*1 :1"),
            ("SSCAN s 0", "*2 $1 0 *2 $1 a $1 b"),
            ("SPOP s 0", "~0"),
            ("SPOP missing", "_"),
            ("SPOP missing 3", "~0"),
            ("SPOP s 5", "~2 $1 a $1 b"),
        ],
    );
}

#[test]
fn a_member_moves_from_set_to_set() {
    check(
        &mut Client::new(),
        &[
            ("SADD s a b", ":2"),
            ("SADD t a", ":1"),
            ("SET str v", "+OK"),
            ("SMOVE s t nope", ":0"),
            ("SMOVE missing t a", ":0"),
            ("SMOVE missing str a", ":0"),
            ("SMOVE s str nope", WRONG_TYPE),
            ("SMOVE str s a", WRONG_TYPE),
            ("SMOVE str str a", WRONG_TYPE),
            ("SMOVE s s a", ":1"),
            ("SMOVE s s nope", ":0"),
            ("SMOVE s t a", ":1"),
            ("SMEMBERS s", "*1 $1 b"),
            ("SMEMBERS t", "*1 $1 a"),
            ("SMOVE s new b", ":1"),
            ("EXISTS s", ":0"),
            ("SMEMBERS new", "*1 $1 b"),
        ],
    );
}

#[test]
fn sets_are_intersected_united_and_subtracted() {
    check(
        &mut Client::new(),
        &[
            ("SADD a 1 2 3 4", ":4"),
            ("SADD b 3 4 5 \"\"", ":4"),
            ("SADD c 4 6", ":2"),
            ("SINTER a b", "*2 $1 3 $1 4"),
            ("SINTER a b c", "*1 $1 4"),
            ("SINTER a", "*4 $1 1 $1 2 $1 3 $1 4"),
            ("SINTER a a", "*4 $1 1 $1 2 $1 3 $1 4"),
            ("SINTER a missing", "*0"),
            ("SUNION c b missing c", "*5 $0  $1 3 $1 4 $1 5 $1 6"),
            ("SUNION missing", "*0"),
            ("SDIFF a b", "*2 $1 1 $1 2"),
            ("SDIFF b a c missing", "*2 $0  $1 5"),
            ("SDIFF a a", "*0"),
            ("SDIFF missing a", "*0"),
            ("SINTERCARD 2 a b", ":2"),
            ("SINTERCARD 2 a b LIMIT 1", ":1"),
            ("SINTERCARD 2 a b limit 0", ":2"),
            ("SINTERCARD 2 a b LIMIT 9223372036854775807", ":2"),
            ("SINTERCARD 1 a LIMIT 2 LIMIT 1", ":1"),
            ("SINTERCARD 2 a missing", ":0"),
        ],
    );
}

#[test]
fn a_result_replaces_what_was_there_whatever_it_was() {
    check(
        &mut Client::new(),
        &[
            ("SADD a 1 2 3", ":3"),
            ("SADD b 2 3 4", ":3"),
            ("SET str v EX 100", "+OK"),
            ("SUNIONSTORE str a b", ":4"),
            ("TTL str", ":-1"),
            ("SMEMBERS str", "*4 $1 1 $1 2 $1 3 $1 4"),
            ("SINTERSTORE str a b", ":2"),
            ("SMEMBERS str", "*2 $1 2 $1 3"),
            ("SDIFFSTORE a a b", ":1"),
            ("SMEMBERS a", "*1 $1 1"),
            ("SUNIONSTORE b a b b", ":4"),
            ("SMEMBERS b", "*4 $1 1 $1 2 $1 3 $1 4"),
            ("SDIFFSTORE b b b", ":0"),
            ("EXISTS b", ":0"),
            ("HSET h f v", ":1"),
            ("SINTERSTORE h a missing", ":0"),
            ("EXISTS h", ":0"),
            ("SET other v", "+OK"),
            ("SUNIONSTORE other missing a other", WRONG_TYPE),
            ("SINTERSTORE d missing other", WRONG_TYPE),
            ("GET other", "$1 v"),
        ],
    );
}

#[test]
fn another_type_is_refused_before_or_after_the_arguments_as_in_redis() {
    check(
        &mut Client::new(),
        &[
            ("SET str v", "+OK"),
            ("SADD str a", WRONG_TYPE),
            ("SREM str a", WRONG_TYPE),
            ("SCARD str", WRONG_TYPE),
            ("SMEMBERS str", WRONG_TYPE),
            ("SISMEMBER str a", WRONG_TYPE),
            ("SMISMEMBER str a", WRONG_TYPE),
            ("SINTER missing str", WRONG_TYPE),
            ("SUNION missing str", WRONG_TYPE),
            ("SDIFF missing str", WRONG_TYPE),
            ("SINTERCARD 2 missing str", WRONG_TYPE),
            ("SINTERCARD 1 str LIMIT -1", NO_LIMIT),
            ("SINTERCARD 1 str LIMIT", SYNTAX),
            ("SPOP str", WRONG_TYPE),
            ("SPOP str 0", WRONG_TYPE),
            ("SPOP str x", NOT_POSITIVE),
            ("SPOP str x 2", SYNTAX),
            ("SRANDMEMBER str", WRONG_TYPE),
            ("SRANDMEMBER str 0", WRONG_TYPE),
            ("SRANDMEMBER str x", NOT_AN_INTEGER),
            ("SRANDMEMBER str x 2", SYNTAX),
            ("SSCAN str x", NO_CURSOR),
            ("SSCAN str 0 nope", WRONG_TYPE),
            ("GET str", "$1 v"),
        ],
    );
}

#[test]
fn wrong_counts_are_refused_with_the_texts_of_redis() {
    check(
        &mut Client::new(),
        &[
            ("SADD s a", ":1"),
            ("SPOP s -1", NOT_POSITIVE),
            ("SPOP s 1.5", NOT_POSITIVE),
            ("SPOP s 9223372036854775808", NOT_POSITIVE),
            ("SPOP missing -1", NOT_POSITIVE),
            ("SPOP s 1 2", SYNTAX),
            ("SPOP s 0", "*0"),
            ("SPOP missing", NIL),
            ("SPOP missing 3", "*0"),
            ("SRANDMEMBER s", "$1 a"),
            ("SRANDMEMBER s 0", "*0"),
            ("SRANDMEMBER s 2", "*1 $1 a"),
            ("SRANDMEMBER s -2", "*2 $1 a $1 a"),
            ("SRANDMEMBER s 9223372036854775807", "*1 $1 a"),
            ("SRANDMEMBER s 9223372036854775808", NOT_AN_INTEGER),
            (
                "SRANDMEMBER s -9223372036854775808",
                "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
            ),
            ("SRANDMEMBER s -1048577", OUT_OF_RANGE),
            ("SRANDMEMBER missing", NIL),
            ("SRANDMEMBER missing -2", "*0"),
            ("SINTERCARD 0 s", NO_NUMKEYS),
            ("SINTERCARD -1 s", NO_NUMKEYS),
            ("SINTERCARD x s", NO_NUMKEYS),
            ("SINTERCARD 99999999999999999999 s", NO_NUMKEYS),
            ("SINTERCARD 2 s", "-ERR Number of keys can't be greater than number of args"),
            ("SINTERCARD 1 s LIMIT", SYNTAX),
            ("SINTERCARD 1 s NOPE 2", SYNTAX),
            ("SINTERCARD 1 s LIMIT -1", NO_LIMIT),
            ("SINTERCARD 1 s LIMIT x", NO_LIMIT),
            ("SMEMBERS s", "*1 $1 a"),
        ],
    );
}

#[test]
fn sscan_takes_the_options_of_redis() {
    check(
        &mut Client::new(),
        &[
            ("SADD s a1 a2 b", ":3"),
            ("SSCAN s 0", "*2 $1 0 *3 $2 a1 $2 a2 $1 b"),
            ("SSCAN s 0 MATCH a* COUNT 100", "*2 $1 0 *2 $2 a1 $2 a2"),
            ("SSCAN missing 0 nonsense", "*2 $1 0 *0"),
            ("SSCAN missing x", NO_CURSOR),
            ("SSCAN s 0 COUNT 0", SYNTAX),
            ("SSCAN s 0 COUNT x", NOT_AN_INTEGER),
            ("SSCAN s 0 NOVALUES", SYNTAX),
        ],
    );
}

#[test]
fn sscan_in_small_steps_returns_every_member() {
    let mut client = Client::new();
    add_all(&mut client, "s", (0..100).map(|number| format!("m{number:02}")));
    let (mut cursor, mut seen) = ("0".to_owned(), Vec::new());
    loop {
        let reply = client.run(&format!("SSCAN s {cursor} COUNT 7"));
        let words: Vec<&str> = reply.splitn(4, ' ').collect();
        seen.extend(members(words[3]));
        cursor = words[2].to_owned();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen, (0..100).map(|number| format!("m{number:02}")).collect::<Vec<_>>());
}

#[test]
fn the_encoding_is_what_redis_would_choose() {
    let mut client = Client::new();
    let mut encoding = |members: Vec<String>| {
        client.run("DEL s");
        add_all(&mut client, "s", members);
        client.run("OBJECT ENCODING s").split(' ').next_back().unwrap().to_owned()
    };
    let numbers = |count: u32| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
    let words = |count: u32| (0..count).map(|number| format!("w{number}")).collect::<Vec<_>>();
    assert_eq!(encoding(numbers(512)), "intset");
    assert_eq!(encoding(numbers(513)), "hashtable");
    assert_eq!(encoding(words(128)), "listpack");
    assert_eq!(encoding(words(129)), "hashtable");
    assert_eq!(encoding([numbers(127), words(1)].concat()), "listpack");
    assert_eq!(encoding([numbers(128), words(1)].concat()), "hashtable");
    assert_eq!(encoding(vec!["x".repeat(64)]), "listpack");
    assert_eq!(encoding(vec!["x".repeat(65)]), "hashtable");
    assert_eq!(encoding(vec!["01".into()]), "listpack");
}

#[test]
fn an_expired_set_is_absent_and_its_successor_new() {
    let mut client = Client::new();
    check(&mut client, &[("SADD s a", ":1"), ("PEXPIRE s 100", ":1"), ("SADD s b", ":1"), ("PTTL s", ":100"), ("SADD t a", ":1")]);
    client.wait_ms(101);
    check(
        &mut client,
        &[
            ("SMEMBERS s", "*0"),
            ("SINTER s t", "*0"),
            ("SUNION s t", "*1 $1 a"),
            ("SMOVE s t a", ":0"),
            ("SPOP s", NIL),
            ("SADD s c", ":1"),
            ("SMEMBERS s", "*1 $1 c"),
            ("PTTL s", ":-1"),
        ],
    );
}

#[test]
fn only_what_changes_a_set_is_a_change_for_watchers() {
    let mut store = MemoryStore::new();
    let mut client = Client::on(&store);
    let mut revision_after = |command: &str| {
        client.run(command);
        store.revisions(&[lock_key(1, b"s")]).unwrap()
    };
    let mut before = revision_after("SADD s a b c d");
    for command in ["SADD s a", "SREM s nope", "SMOVE s t nope", "SMOVE s s a", "SPOP s 0", "SRANDMEMBER s 2", "SUNIONSTORE t s"] {
        assert_eq!(revision_after(command), before, "{command}");
    }
    for command in ["SADD s e", "SREM s e", "SMOVE s t a", "SPOP s", "SPOP s 1", "SUNIONSTORE s s", "SDIFFSTORE s s s"] {
        let after = revision_after(command);
        assert_ne!(after, before, "{command}");
        before = after;
    }
    assert_eq!(revision_after("SINTERSTORE s missing"), before);
}

#[test]
fn large_sets_are_popped_without_a_member_lost_or_seen_twice() {
    let mut client = Client::new();
    let all: BTreeSet<String> = (0..5000).map(|number| format!("m{number}")).collect();
    add_all(&mut client, "s", all.clone());
    let mut popped = members(&client.run("SPOP s 1500"));
    popped.extend(members(&client.run("SPOP s 1000")));
    assert_eq!(client.run("SCARD s"), ":2500");
    popped.extend(members(&client.run("SPOP s 2500")));
    assert_eq!(client.run("EXISTS s"), ":0");
    assert_eq!(popped.len(), 5000);
    assert_eq!(popped.into_iter().collect::<BTreeSet<_>>(), all);
}

/// Sets of sizes so different that some are walked over and others probed, in more than one chunk.
#[test]
fn large_sets_combine_as_small_ones_do() {
    let multiples = |of: usize, below: usize| (0..below).step_by(of).map(|number| format!("{number:05}")).collect::<BTreeSet<_>>();
    let sets = [("a", multiples(2, 1200)), ("b", multiples(3, 9000)), ("c", multiples(400, 9000)), ("d", multiples(5, 1500))];
    let mut client = Client::new();
    for (key, members) in &sets {
        add_all(&mut client, key, members.iter().cloned());
    }
    for first in &sets {
        for second in &sets {
            for third in &sets {
                let keys = format!("{} {} {}", first.0, second.0, third.0);
                let both: BTreeSet<String> = first.1.intersection(&second.1).cloned().collect();
                let common: Vec<String> = both.intersection(&third.1).cloned().collect();
                assert_eq!(members(&client.run(&format!("SINTER {keys}"))), common, "{keys}");
                assert_eq!(client.run(&format!("SINTERCARD 3 {keys} LIMIT 7")), format!(":{}", common.len().min(7)), "{keys}");
                let either: BTreeSet<String> = second.1.union(&third.1).cloned().collect();
                let rest: Vec<String> = first.1.difference(&either).cloned().collect();
                assert_eq!(members(&client.run(&format!("SDIFF {keys}"))), rest, "{keys}");
                let any: Vec<String> = first.1.union(&either).cloned().collect();
                assert_eq!(client.run(&format!("SUNIONSTORE d2 {keys}")), format!(":{}", any.len()), "{keys}");
                assert_eq!(members(&client.run("SMEMBERS d2")), any, "{keys}");
            }
        }
    }
}

/// What the sets are expected to hold, by key.
type Model = BTreeMap<String, BTreeSet<String>>;

/// Replaces a set of the model, and returns its size as a reply.
fn replace(model: &mut Model, key: &str, members: BTreeSet<String>) -> String {
    let reply = format!(":{}", members.len());
    model.insert(key.to_owned(), members);
    reply
}

#[test]
fn random_commands_leave_what_a_model_says() {
    let mut random = HeldEnvironment::new(0, 7);
    let mut below = |limit: u64| random_below(&mut random as &mut dyn Environment, limit);
    let (mut client, mut model) = (Client::new(), Model::new());
    for step in 0..5000 {
        let [x, y, z] = [0; 3].map(|_| format!("k{}", below(4)));
        let some: Vec<String> = (0..=below(4)).map(|_| below(30).to_string()).collect();
        let (left, right) = (model.get(&y).cloned().unwrap_or_default(), model.get(&z).cloned().unwrap_or_default());
        let mut own = model.get(&x).cloned().unwrap_or_default();
        let (command, expected) = match below(6) {
            0 | 1 => {
                let before = own.len();
                own.extend(some.iter().cloned());
                let added = own.len() - before;
                replace(&mut model, &x, own);
                (format!("SADD {x} {}", some.join(" ")), format!(":{added}"))
            }
            2 => {
                let removed = own.len();
                own.retain(|member| !some.contains(member));
                let removed = removed - own.len();
                replace(&mut model, &x, own);
                (format!("SREM {x} {}", some.join(" ")), format!(":{removed}"))
            }
            3 => (format!("SINTERSTORE {x} {y} {z}"), replace(&mut model, &x, &left & &right)),
            4 => (format!("SUNIONSTORE {x} {y} {z}"), replace(&mut model, &x, &left | &right)),
            _ => (format!("SDIFFSTORE {x} {y} {z}"), replace(&mut model, &x, &left - &right)),
        };
        assert_eq!(client.run(&command), expected, "step {step}: {command}");
        let held = model.get(&x).cloned().unwrap_or_default();
        assert_eq!(members(&client.run(&format!("SMEMBERS {x}"))), held.into_iter().collect::<Vec<_>>(), "step {step}: {command}");
        let exists = if model.get(&x).is_some_and(|held| !held.is_empty()) { ":1" } else { ":0" };
        assert_eq!(client.run(&format!("EXISTS {x}")), exists, "step {step}: {command}");
    }
}

#[test]
fn members_of_any_length_are_shown_in_their_order_also_behind_changes_of_the_same_transaction() {
    let mut random = HeldEnvironment::new(0, 11);
    let mut below = |limit: u64| random_below(&mut random as &mut dyn Environment, limit);
    for size in [1, 2, 33, 129, 1500, 3000] {
        let mut client = Client::new();
        let mut model = BTreeSet::new();
        while model.len() < size {
            // Runs of short ones, of long ones, and of both.
            let length = match model.len() / 200 % 3 {
                0 => 1 + below(16),
                1 => 17 + below(20),
                _ => 10 + below(14),
            };
            model.insert((0..length).map(|_| char::from(b'a' + u8::try_from(below(26)).unwrap())).collect::<String>());
        }
        add_all(&mut client, "s", model.iter().cloned());
        assert_eq!(members(&client.run("SMEMBERS s")), model.iter().cloned().collect::<Vec<_>>(), "{size}");
        // In one transaction: the scan meets what is not written yet.
        let gone = model.pop_first().unwrap();
        model.insert("k".to_owned());
        let replies = client.run_bytes(&format!("MULTI\r\nSREM s {gone}\r\nSADD s k\r\nSMEMBERS s\r\nEXEC"));
        let replies = String::from_utf8(replies).unwrap().replace("\r\n", " ");
        let shown = &replies[replies.find("*3 ").unwrap() + 3..];
        let shown = &shown[shown.find('*').unwrap()..];
        assert_eq!(members(shown.trim_end()), model.iter().cloned().collect::<Vec<_>>(), "{size}");
    }
}

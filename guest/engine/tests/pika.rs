//! Pika's commands, from bytes in to bytes out. The expected replies are those that Pika 3's sources make.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SYNTAX: &str = "-ERR syntax error";
const NOT_AN_INTEGER: &str = "-ERR value is not an integer or out of range";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const REVERSED: &str = "-ERR Invalid argument: error in given range";

fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

#[test]
fn a_string_is_set_if_it_is_the_expected_value() {
    check(
        &mut Client::new(),
        &[
            ("SETVX k old new", ":0"),
            ("EXISTS k", ":0"),
            ("SET k old EX 100", "+OK"),
            ("SETVX k other new", ":-1"),
            ("GET k", "$3 old"),
            ("TTL k", ":100"),
            ("SETVX k old new", ":1"),
            ("GET k", "$3 new"),
            ("TTL k", ":-1"),
            ("SETVX k new newer ex 10", ":1"),
            ("TTL k", ":10"),
            ("SETVX k newer x EX 0", "-ERR invalid expire time in 'setvx' command"),
            ("SETVX k newer x EX ten", NOT_AN_INTEGER),
            ("SETVX k newer x PX 10", SYNTAX),
            ("SETVX k newer x EX", SYNTAX),
            ("SETVX k newer", "-ERR wrong number of arguments for 'setvx' command"),
            ("SADD set x", ":1"),
            ("SETVX set x y", WRONG_TYPE),
        ],
    );
}

#[test]
fn what_is_past_its_time_is_passed_over() {
    let mut client = Client::new();
    client.run("HSET h a 1 b 2 c 3");
    client.run("HSET mortal a 1");
    client.run("SET s v PX 50");
    client.run("HPEXPIRE h 50 FIELDS 1 b");
    client.run("HPEXPIRE mortal 50 FIELDS 1 a");
    client.wait_ms(51);
    check(
        &mut client,
        &[
            ("PKHSCANRANGE h \"\" \"\"", "*2 $0  *4 $1 a $1 1 $1 c $1 3"),
            ("PKSCANRANGE hash \"\" \"\"", "*2 $0  *1 $1 h"),
            ("PKSCANRANGE string_with_value \"\" \"\"", "*2 $0  *0"),
        ],
    );
}

#[test]
fn set_compares_with_an_expected_value() {
    check(
        &mut Client::new(),
        &[
            ("SET k new VX old", ":0"),
            ("SET k old", "+OK"),
            ("SET k new vx other", ":-1"),
            ("SET k new VX old PX 1000", ":1"),
            ("PTTL k", ":1000"),
            ("SET k newer VX new KEEPTTL", ":1"),
            ("PTTL k", ":1000"),
            ("SET k x VX", SYNTAX),
            ("SET k x VX newer NX", SYNTAX),
            ("SET k x XX VX newer", SYNTAX),
            ("SET k x VX newer GET", SYNTAX),
            ("GET k", "$5 newer"),
        ],
    );
}

#[test]
fn a_string_is_removed_if_it_is_the_expected_value() {
    check(
        &mut Client::new(),
        &[
            ("DELVX k value", ":0"),
            ("SET k value", "+OK"),
            ("DELVX k other", ":-1"),
            ("GET k", "$5 value"),
            ("DELVX k value", ":1"),
            ("EXISTS k", ":0"),
            ("SADD set x", ":1"),
            ("DELVX set x", WRONG_TYPE),
        ],
    );
}

#[test]
fn a_string_expires_at_a_unix_time() {
    // The clock of the client is at 1,700,000,000 seconds.
    check(
        &mut Client::new(),
        &[
            ("PKSETEXAT k 1700000100 v", "+OK"),
            ("TTL k", ":100"),
            ("PKSETEXAT k 0 v", "+OK"),
            ("TTL k", ":-1"),
            ("PKSETEXAT k 1600000000 v", "+OK"),
            ("EXISTS k", ":0"),
            ("PKSETEXAT k -1 v", "+OK"),
            ("EXISTS k", ":0"),
            ("PKSETEXAT k soon v", NOT_AN_INTEGER),
        ],
    );
}

#[test]
fn keys_of_a_type_are_scanned_between_two_keys() {
    let mut client = Client::new();
    for command in ["MSET a 1 b 2 c 3 d 4", "SADD bb x", "HSET cc f v", "RPUSH l x", "ZADD z 1 x"] {
        client.run(command);
    }
    client.run("SET bbb gone PX 1");
    client.wait_ms(2);
    check(
        &mut client,
        &[
            ("PKSCANRANGE string a d", "*2 $0  *4 $1 a $1 b $1 c $1 d"),
            ("PKSCANRANGE String_With_Value b c", "*2 $0  *4 $1 b $1 2 $1 c $1 3"),
            ("PKSCANRANGE string \"\" \"\" LIMIT 3", "*2 $1 d *3 $1 a $1 b $1 c"),
            ("PKSCANRANGE string d \"\" LIMIT 3", "*2 $0  *1 $1 d"),
            ("PKSCANRANGE string bb cc", "*2 $0  *1 $1 c"),
            ("PKSCANRANGE string \"\" \"\" LIMIT 2 MATCH [bd]", "*2 $1 c *1 $1 b"),
            ("PKRSCANRANGE string d b LIMIT 2", "*2 $1 b *2 $1 d $1 c"),
            ("PKRSCANRANGE string b \"\"", "*2 $0  *2 $1 b $1 a"),
            ("PKRSCANRANGE string_with_value \"\" c", "*2 $0  *4 $1 d $1 4 $1 c $1 3"),
            ("PKSCANRANGE set \"\" \"\"", "*2 $0  *1 $2 bb"),
            ("PKSCANRANGE hash \"\" \"\"", "*2 $0  *1 $2 cc"),
            ("PKRSCANRANGE list \"\" \"\"", "*2 $0  *1 $1 l"),
            ("PKRSCANRANGE zset \"\" \"\"", "*2 $0  *1 $1 z"),
            ("PKSCANRANGE string x z", "*2 $0  *0"),
        ],
    );
}

#[test]
fn what_a_range_scan_cannot_do_is_refused() {
    let mut client = Client::new();
    client.run("SET k v");
    check(
        &mut client,
        &[
            ("PKSCANRANGE string b a", REVERSED),
            ("PKRSCANRANGE string a b", REVERSED),
            ("PKHSCANRANGE missing b a", REVERSED),
            ("PKSCANRANGE stream a b", "-ERR invalid DB for 'pkscanrange'"),
            ("PKRSCANRANGE nothing a b", "-ERR invalid DB for 'pkrscanrange'"),
            ("PKSCANRANGE string a b LIMIT 0", NOT_AN_INTEGER),
            ("PKSCANRANGE string a b LIMIT -1", NOT_AN_INTEGER),
            ("PKSCANRANGE string a b LIMIT many", NOT_AN_INTEGER),
            ("PKSCANRANGE string a b LIMIT", SYNTAX),
            ("PKSCANRANGE string a b COUNT 1", SYNTAX),
            ("PKSCANRANGE string a", "-ERR wrong number of arguments for 'pkscanrange' command"),
            ("PKHSCANRANGE k a b", WRONG_TYPE),
            ("PKPATTERNMATCHDEL * stream", "-ERR invalid DB for 'pkpatternmatchdel'"),
        ],
    );
}

#[test]
fn fields_are_scanned_between_two_fields() {
    let mut client = Client::new();
    client.run("HSET h a 1 b 2 c 3 d 4");
    client.run("HSET i a 5");
    check(
        &mut client,
        &[
            ("PKHSCANRANGE h b c", "*2 $0  *4 $1 b $1 2 $1 c $1 3"),
            ("PKHSCANRANGE h \"\" \"\" LIMIT 3", "*2 $1 d *6 $1 a $1 1 $1 b $1 2 $1 c $1 3"),
            ("PKHSCANRANGE h \"\" c MATCH b LIMIT 2", "*2 $1 c *2 $1 b $1 2"),
            ("PKHRSCANRANGE h c \"\" LIMIT 2", "*2 $1 a *4 $1 c $1 3 $1 b $1 2"),
            ("PKHRSCANRANGE h \"\" c", "*2 $0  *4 $1 d $1 4 $1 c $1 3"),
            ("PKHSCANRANGE missing a b", "*2 $0  *0"),
        ],
    );
}

#[test]
fn the_empty_name_never_is_the_next_one() {
    check(
        &mut Client::new(),
        &[
            ("MSET \"\" 0 a 1", "+OK"),
            ("PKSCANRANGE string \"\" \"\" LIMIT 1", "*2 $1 a *1 $0"),
            ("PKRSCANRANGE string \"\" \"\" LIMIT 1", "*2 $0  *2 $1 a $0"),
            ("HSET h \"\" 0 a 1", ":2"),
            ("PKHRSCANRANGE h \"\" \"\" LIMIT 1", "*2 $0  *4 $1 a $1 1 $0  $1 0"),
        ],
    );
}

#[test]
fn keys_that_match_are_removed_by_type() {
    let mut client = Client::new();
    for command in ["MSET user:1 a user:2 b other c", "SADD user:3 x", "HSET user:4 f v", "MULTI", "SET user:5 d"] {
        client.run(command);
    }
    check(
        &mut client,
        &[
            ("PKPATTERNMATCHDEL user:* string", "+QUEUED"),
            ("EXEC", "*2 +OK :3"),
            ("PKPATTERNMATCHDEL user:* string", ":0"),
            ("PKPATTERNMATCHDEL user:? set", ":1"),
            ("KEYS *", "*2 $5 other $6 user:4"),
            ("PKPATTERNMATCHDEL * hash", ":1"),
            ("PKPATTERNMATCHDEL other string", ":1"),
            ("DBSIZE", ":0"),
        ],
    );
}

#[test]
fn command_info_shows_pikas_commands() {
    let mut client = Client::new();
    assert!(client.run("COMMAND INFO pkhscanrange").starts_with("*1 *10 $12 pkhscanrange :-4 *1 +readonly :1 :1 :1"));
    assert!(client.run("COMMAND DOCS delvx").contains("$4 pika"));
}

/// What a step of a scan over `model` replies, by the rules alone: names and values are of one letter, or empty.
fn expected(model: &BTreeMap<String, u8>, first: &str, last: &str, limit: usize, reverse: bool) -> String {
    let (low, high) = if reverse { (last, first) } else { (first, last) };
    if !low.is_empty() && !high.is_empty() && low > high {
        return REVERSED.to_owned();
    }
    let within = |name: &str| name >= low && (high.is_empty() || name <= high);
    let mut all: Vec<(&String, &u8)> = model.iter().filter(|(name, _)| within(name)).collect();
    if reverse {
        all.reverse();
    }
    let mut page: Vec<(&String, &u8)> = all.iter().copied().take(limit).collect();
    let mut next = all.get(limit).map_or("", |(name, _)| name.as_str());
    if all.get(limit).is_some_and(|(name, _)| name.is_empty()) {
        page = all;
        next = "";
    }
    let items: String = page.iter().map(|(name, value)| format!(" ${} {name} $1 {value}", name.len())).collect();
    format!("*2 ${} {next} *{}{items}", next.len(), page.len() * 2)
}

proptest! {
    /// Against a sorted map, for keys and for fields, forwards and backwards.
    #[test]
    fn a_step_is_what_a_sorted_map_says(
        names in prop::collection::btree_map("[a-d]{0,3}", 0_u8..10, 1..30),
        first in "[a-d]{0,3}",
        last in "[a-d]{0,3}",
        limit in 1_usize..12,
    ) {
        let mut client = Client::new();
        for (name, value) in &names {
            client.run(&format!("SET \"{name}\" {value}"));
            // Between the keys, of another type.
            client.run(&format!("SADD \"{name}-\" x"));
            client.run(&format!("HSET -hash \"{name}\" {value}"));
        }
        for (reverse, keys, fields) in [(false, "PKSCANRANGE", "PKHSCANRANGE"), (true, "PKRSCANRANGE", "PKHRSCANRANGE")] {
            let expected = expected(&names, &first, &last, limit, reverse);
            let range = format!("\"{first}\" \"{last}\" LIMIT {limit}");
            prop_assert_eq!(client.run(&format!("{keys} string_with_value {range}")), expected.trim_end());
            prop_assert_eq!(client.run(&format!("{fields} -hash {range}")), expected.trim_end());
        }
    }
}

/// Calls that would read, or remove, more keys than one call may.
#[test]
fn a_call_does_a_bounded_amount_of_work() {
    let mut client = Client::new();
    for thousand in 0..70 {
        let pairs: String = (0..1000).map(|number| format!(" s{:05} v", thousand * 1000 + number)).collect();
        client.run(&format!("MSET{pairs}"));
    }
    client.run("SADD t x");
    check(
        &mut client,
        &[
            ("PKSCANRANGE set \"\" \"\"", "*2 $6 s65536 *0"),
            ("PKSCANRANGE set s65536 \"\"", "*2 $0  *1 $1 t"),
            ("PKRSCANRANGE set \"\" \"\"", "*2 $6 s04464 *1 $1 t"),
            ("PKPATTERNMATCHDEL s* string", ":65536"),
            ("PKPATTERNMATCHDEL s* string", ":4464"),
            ("KEYS *", "*1 $1 t"),
        ],
    );
}

//! The worked example of `docs/format.md` is what the engine writes, byte for byte.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;
mod keeper;

use common::Client;
use keeper::*;
use std::cell::RefCell;
use std::collections::BTreeSet;

const FORMAT: &str = include_str!("../../../docs/format.md");

/// The blocks of hexadecimal records under a heading, without what is for the eye.
fn documented_blocks(heading: &str) -> Vec<Vec<String>> {
    let section = FORMAT.split(&format!("\n## {heading}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks = section.split("```records\n").skip(1).map(|block| block.split("```").next().unwrap());
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    blocks.map(|block| block.lines().map(words).collect()).collect()
}

/// Every record as `keyspace key = value`, in plain hexadecimal.
fn records(keeper: &Keeper) -> BTreeSet<(usize, String)> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let contents = keeper.store.contents().into_iter().enumerate();
    let named = contents.flat_map(|(order, (name, records))| {
        records.into_iter().map(move |(key, value)| (order, format!("{name} {} = {}", hex(&key), hex(&value))))
    });
    named.collect()
}

/// The line with the spaces within key and value taken out.
fn plain(line: &str) -> String {
    let (change, rest) = line.split_once(' ').unwrap();
    let (keyspace, record) = rest.split_once(' ').unwrap();
    let (key, value) = record.split_once('=').unwrap();
    format!("{change} {keyspace} {} = {}", key.replace(' ', ""), value.replace(' ', ""))
}

#[test]
fn the_worked_example_is_what_the_engine_writes() {
    let steps: [fn(&mut Keeper); 4] = [
        |keeper| {
            keeper.load(&line(0, "s", None, &string("v")));
            keeper.load(&line(0, "h", Some(4_102_444_800_000), &hash(2)));
            keeper.load(&line(0, "l", None, &items(2)));
            keeper.load(&line(0, "m", None, &set(1)));
            keeper.load(&line(0, "z", None, &sorted_set(&[1.5, -0.0, -2.0])));
            keeper.load(&line(1, "x", None, &string("w")));
        },
        |keeper| {
            keeper.remove("h");
        },
        |keeper| keeper.flush(1),
        |keeper| {
            keeper.sweep(100);
        },
    ];
    follow("Worked example", Keeper::new(), &steps);
}

#[test]
fn the_worked_example_of_fields_that_expire_is_what_the_engine_writes() {
    let keeper = Keeper::new();
    let client = RefCell::new(Client::on(&keeper.store));
    let run = |lines: &[&str]| lines.iter().for_each(|line| assert!(!client.borrow_mut().run(line).starts_with('-'), "{line}"));
    let sweep = |keeper: &mut Keeper| {
        keeper.now_ms.set(4_102_444_800_001);
        keeper.sweep(100);
    };
    let set = ["HSET h a 1 b 2 c 3", "HPEXPIREAT h 4102444800000 FIELDS 1 a", "HPEXPIREAT h 4102444800500 FIELDS 1 b"];
    let steps: [&dyn Fn(&mut Keeper); 5] = [&|_| run(&set), &|_| run(&["RENAME h i"]), &sweep, &|_| run(&["DEL i"]), &sweep];
    follow("Worked example of fields that expire", keeper, &steps);
}

#[test]
fn the_worked_example_of_ranks_is_what_the_engine_writes() {
    let keeper = Keeper::new();
    let client = RefCell::new(Client::on(&keeper.store));
    let run = |line: &str| assert!(client.borrow_mut().run(line).starts_with(':'), "{line}");
    let members: String = (0..512).map(|number| format!(" {number} m{number:03}")).collect();
    let steps: [&dyn Fn(&mut Keeper); 6] = [
        &|_| run(&format!("ZADD z{members}")),
        &|_| run("ZADD z 512 m512"),
        &|_| run("ZADD z 200.5 new"),
        &|_| run("ZREMRANGEBYRANK z 0 99"),
        &|_| run("DEL z"),
        &|keeper| {
            keeper.sweep(100);
        },
    ];
    follow_within(&["meta", "garbage", "rank"], "Worked example of ranks", keeper, &steps);
}

#[test]
fn the_worked_example_of_packed_collections_is_what_the_engine_writes() {
    let keeper = Keeper::packing(44);
    let client = RefCell::new(Client::on_any_packing(Box::new(keeper.store.clone()), 44));
    let run = |lines: &[&str]| lines.iter().for_each(|line| assert!(!client.borrow_mut().run(line).starts_with('-'), "{line}"));
    let steps: [&dyn Fn(&mut Keeper); 4] = [
        &|_| run(&["HSET h f v", "RPUSH l a b", "SADD s m", "ZADD z 1.5 m"]),
        &|_| run(&["ZADD z 2 m", "LPOP l"]),
        &|_| run(&["ZADD z 3 a-member-of-24-bytes-xyz"]),
        &|_| run(&["DEL h s"]),
    ];
    follow("Worked example of packed collections", keeper, &steps);
}

/// Takes the steps of the example under a heading, and compares what each of them changes.
fn follow(heading: &str, keeper: Keeper, steps: &[impl Fn(&mut Keeper)]) {
    let all: Vec<String> = keeper.store.contents().into_iter().map(|(name, _)| name).collect();
    follow_within(&all.iter().map(String::as_str).collect::<Vec<_>>(), heading, keeper, steps);
}

/// As [`follow`], but only what is in these keyspaces.
fn follow_within(keyspaces: &[&str], heading: &str, mut keeper: Keeper, steps: &[impl Fn(&mut Keeper)]) {
    let documented = documented_blocks(heading);
    assert_eq!(documented.len(), steps.len());
    let mut before = BTreeSet::new();
    for (step, documented) in steps.iter().zip(documented) {
        step(&mut keeper);
        let mut after = records(&keeper);
        after.retain(|(_, record)| keyspaces.iter().any(|name| record.split(' ').next() == Some(*name)));
        let gone = before.difference(&after).map(|(_, record)| format!("- {record}"));
        let new = after.difference(&before).map(|(_, record)| format!("+ {record}"));
        let written: Vec<String> = gone.chain(new).collect();
        let documented: Vec<String> = documented.iter().map(|line| plain(line)).collect();
        assert_eq!(written, documented);
        before = after;
    }
}

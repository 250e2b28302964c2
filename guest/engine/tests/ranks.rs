//! The trees that tell the ranks of large sorted sets: when there is one, what becomes of it, and what damage to it does.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;
mod keeper;

use common::Client;
use keeper::*;
use orbweaver_engine::store::fault::{FaultPlan, FaultStore};
use orbweaver_engine::store::{Limits, MemoryStore, StoreError};

/// The version of the first collection of a store.
const VERSION: &str = "0000000000000001";

/// `ZADD z` of the members m000, m001 and so on with the scores 0, 1, 2 and so on.
fn zadd(members: std::ops::Range<usize>) -> String {
    let pairs: Vec<String> = members.map(|number| format!("{number} m{number:03}")).collect();
    format!("ZADD z {}", pairs.join(" "))
}

/// A keeper, and a client of an engine beside it, over a sorted set `z` of so many members.
fn with_members(count: usize) -> (Keeper, Client) {
    let keeper = Keeper::new();
    let mut client = Client::on(&keeper.store);
    assert_eq!(client.run(&zadd(0..count)), format!(":{count}"));
    (keeper, client)
}

fn nodes(keeper: &Keeper) -> usize {
    keeper.store.contents().iter().find(|(name, _)| *name == "rank").unwrap().1.len()
}

/// The place of a member of `z` in hexadecimal.
fn place(number: usize) -> String {
    let score = u64::try_from(number).map(|number| number as f64).unwrap();
    let ordered = if score == 0.0 { 1 << 63 } else { score.to_bits() ^ 1 << 63 };
    let member: String = format!("m{number:03}").bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{ordered:016x} {member}")
}

#[test]
fn a_set_of_512_members_has_no_tree_and_one_of_513_has() {
    let (keeper, mut client) = with_members(512);
    assert_eq!(nodes(&keeper), 0);
    client.run("ZADD z 512 m512");
    assert_eq!(nodes(&keeper), 4);
    // It goes once one node would do.
    client.run("ZREMRANGEBYRANK z 0 299");
    assert_eq!(nodes(&keeper), 2);
    client.run("ZREMRANGEBYRANK z 0 99");
    assert_eq!(nodes(&keeper), 0);
    assert_eq!(client.run("ZRANK z m500"), ":100");
}

#[test]
fn members_that_move_in_pipelines_are_counted_as_those_that_move_alone() {
    let (mut keeper, mut client) = with_members(3000);
    let mut scores: Vec<usize> = (0..3000).collect();
    let mut seed = 1_usize;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    // Few of them, and so many that all nodes are walked over.
    for length in [1, 2, 7, 20, 128, 128, 128, 400, 1500] {
        let moves: Vec<(usize, usize)> = (0..length).map(|_| (random(3000), random(5000))).collect();
        let pipeline: Vec<String> = moves.iter().map(|(member, score)| format!("ZADD z {score} m{member:03}")).collect();
        // And some that are added to, in a row behind them.
        let additions: Vec<(usize, usize)> = (0..length / 2).map(|_| (random(3000), random(2000))).collect();
        let increments = additions.iter().map(|(member, score)| format!("ZINCRBY z {score} m{member:03}"));
        let replies = client.run_bytes(&pipeline.into_iter().chain(increments).collect::<Vec<_>>().join("\r\n"));
        moves.into_iter().for_each(|(member, score)| scores[member] = score);
        let sums = additions.into_iter().map(|(member, score)| {
            scores[member] += score;
            let sum = scores[member].to_string();
            format!("${}\r\n{sum}\r\n", sum.len())
        });
        assert_eq!(String::from_utf8(replies).unwrap(), ":0\r\n".repeat(length) + &sums.collect::<String>());
        assert_eq!(keeper.check(1000), Vec::<String>::new(), "{length}");
        let mut order: Vec<(usize, String)> = scores.iter().enumerate().map(|(member, &score)| (score, format!("m{member:03}"))).collect();
        order.sort();
        for rank in (0..3000).step_by(97) {
            assert_eq!(client.run(&format!("ZRANK z {}", order[rank].1)), format!(":{rank}"), "{length}");
        }
    }
}

#[test]
fn a_set_that_is_removed_or_emptied_leaves_its_tree_to_the_sweep() {
    for command in ["DEL z", "SET z v", "ZREMRANGEBYRANK z 0 -1", "ZPOPMIN z 600", "ZREMRANGEBYSCORE z -inf inf", "FLUSHALL"] {
        let (mut keeper, mut client) = with_members(600);
        assert_eq!(nodes(&keeper), 4);
        assert!(!client.run(command).starts_with('-'));
        assert_eq!(keeper.check(1000), Vec::<String>::new(), "{command}");
        keeper.sweep(1000);
        assert_eq!(nodes(&keeper), 0, "{command}");
        assert_eq!(keeper.check(1000), Vec::<String>::new(), "{command}");
        client.run("DEL z");
        keeper.sweep(1000);
        assert_eq!(keeper.sizes(), NOTHING, "{command}");
    }
}

#[test]
fn whoever_writes_a_large_set_writes_its_tree() {
    for (command, count) in [
        ("COPY z y", 600),
        ("RENAME z y", 600),
        ("ZUNIONSTORE y 1 z", 600),
        ("ZRANGESTORE y z 0 549", 550),
        ("ZDIFFSTORE y 2 z nothing", 600),
        ("MOVE z 1", 600),
    ] {
        let (mut keeper, mut client) = with_members(600);
        assert!(!client.run(command).starts_with('-'));
        let key = if command.starts_with("MOVE") { "z" } else { "y" };
        client.run(if key == "z" { "SELECT 1" } else { "SELECT 0" });
        assert_eq!(client.run(&format!("ZREVRANK {key} m000")), format!(":{}", count - 1), "{command}");
        assert_eq!(nodes(&keeper), if command.starts_with("RENAME") || key == "z" { 4 } else { 8 }, "{command}");
        assert_eq!(keeper.check(1000), Vec::<String>::new(), "{command}");
        // The tree is kept right from there on.
        client.run(&format!("ZREM {key} m000 m300"));
        assert_eq!(client.run(&format!("ZRANK {key} m301")), ":299", "{command}");
        assert_eq!(keeper.check(1000), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn a_restored_set_and_a_set_of_places_have_trees() {
    let (mut keeper, mut client) = with_members(600);
    let dump = client.run_bytes("DUMP z");
    let payload = &dump[dump.iter().position(|&byte| byte == b'\n').unwrap() + 1..dump.len() - 2];
    let mut request = format!("*4\r\n$7\r\nRESTORE\r\n$1\r\ny\r\n$1\r\n0\r\n${}\r\n", payload.len()).into_bytes();
    request.extend_from_slice(payload);
    request.extend_from_slice(b"\r\n");
    assert_eq!(client.exchange(request.into()), b"+OK\r\n");
    assert_eq!(nodes(&keeper), 8);
    let places: Vec<String> = (0..600).map(|number| format!("{} 1.5 p{number}", f64::from(number) / 100.0)).collect();
    assert_eq!(client.run(&format!("GEOADD g {}", places.join(" "))), ":600");
    assert_eq!(client.run("GEOSEARCHSTORE near g FROMLONLAT 3 1.5 BYRADIUS 20000 km"), ":600");
    assert_eq!(nodes(&keeper), 16);
    assert_eq!(keeper.check(1000), Vec::<String>::new());
}

#[test]
fn a_command_that_fails_and_a_transaction_that_is_given_up_leave_the_tree_as_it_was() {
    let (mut keeper, mut client) = with_members(600);
    let before = keeper.store.contents();
    client.run("MULTI");
    client.run("ZADD z 5 new");
    client.run("DISCARD");
    // The first write of a group is taken back, the second one stays out.
    assert!(client.run("ZADD z 5 new nonsense m1").starts_with('-'));
    assert!(client.run("ZINCRBY z nan m001").starts_with('-'));
    assert_eq!(keeper.store.contents(), before);
    client.run("MULTI");
    client.run("ZADD z 5 new");
    client.run("ZREMRANGEBYRANK z 100 399");
    client.run("LPUSH z x");
    client.run("ZRANK z m400");
    assert_eq!(client.run("EXEC"), "*4 :1 :300 -WRONGTYPE Operation against a key holding the wrong kind of value :101");
    assert_eq!(keeper.check(1000), Vec::<String>::new());
}

#[test]
fn a_set_that_became_large_without_a_tree_is_read_and_gets_one_when_it_grows() {
    let (mut keeper, mut client) = with_members(600);
    // As a program from before there were trees has left it.
    let nodes_of_z: Vec<Damage> = keeper
        .store
        .contents()
        .iter()
        .find(|(name, _)| *name == "rank")
        .unwrap()
        .1
        .iter()
        .map(|(key, _)| ("rank", key.clone(), None))
        .collect();
    keeper.damage(&nodes_of_z);
    keeper.damage(&[("meta", hex("00000001 7a"), Some(hex(&format!("05 00 {VERSION} 0000000000000258"))))]);
    assert_eq!(keeper.check(1000), Vec::<String>::new());
    let mut client_of_it = Client::on(&keeper.store);
    assert_eq!(client_of_it.run("ZRANK z m400"), ":400");
    assert_eq!(client_of_it.run("ZREM z m000"), ":1");
    assert_eq!(nodes(&keeper), 0);
    assert_eq!(client.run("ZADD z 1000 new"), ":1");
    assert_eq!(nodes(&keeper), 4);
    assert_eq!(client.run("ZREVRANK z m001"), ":599");
    assert_eq!(keeper.check(1000), Vec::<String>::new());
}

fn loaded(count: usize) -> String {
    let scores: Vec<f64> = (0..count).map(|number| f64::from(u32::try_from(number % 100).unwrap())).collect();
    line(0, "k", None, &sorted_set(&scores))
}

#[test]
fn a_load_in_several_batches_ends_with_the_tree() {
    let store = MemoryStore::with_limits(Limits { max_batch_ops: 24, ..Limits::NONE });
    let mut keeper = Keeper::over(store.clone(), store.clone());
    keeper.load(&loaded(2000));
    assert_eq!(nodes(&keeper), 15);
    assert_eq!(keeper.check(1000), Vec::<String>::new());
    let mut other = Keeper::new();
    other.load(&loaded(2000));
    assert_eq!(other.store.contents(), store.contents());
}

#[test]
fn wherever_the_load_of_a_large_set_is_interrupted_nothing_of_its_tree_is_left() {
    let limits = Limits { max_batch_ops: 200, ..Limits::NONE };
    let mut interrupted = 0;
    for call in 1.. {
        let (store, plan) = (MemoryStore::with_limits(limits), FaultPlan::default());
        let failing = FaultStore::new(store.clone(), plan.clone(), StoreError::Io("unplugged".into()));
        let mut keeper = Keeper::over(store, failing);
        plan.fail_at(call);
        let loaded = keeper.engine.load(loaded(700).as_bytes());
        if loaded.is_ok() {
            break;
        }
        interrupted += 1;
        plan.fail_at(0);
        assert_eq!(keeper.check(1000), Vec::<String>::new(), "call {call}");
        keeper.now_ms.set(NOW_MS + HOUR_MS + 1);
        keeper.sweep(1000);
        assert_eq!(keeper.sizes(), NOTHING, "call {call}");
    }
    assert!(interrupted > 40, "{interrupted}");
}

struct Case {
    name: &'static str,
    damage: Vec<(&'static str, String, Option<&'static str>)>,
    /// What a command says afterwards, and that it may fail; the server goes on in any case.
    commands: &'static [(&'static str, &'static str)],
    /// What the check says, without the keys.
    found: &'static [&'static str],
}

/// Damage to the tree of 600 members in nodes of 150 that begin at m150, m300 and m450.
fn cases() -> Vec<Case> {
    let node = |level: u8, place: &str| format!("{VERSION} {level:02x} {place}");
    let second = || node(1, &place(150));
    vec![
        Case {
            name: "a count that is too low",
            damage: vec![("rank", second(), Some("0000000000000001"))],
            commands: &[
                ("ZREM z m160 m161", "-ERR corrupt record"),
                ("ZRANGE z 590 590", "*1 $4 m590"),
                ("ZRANGE z 300 300", "*1"),
                ("GET other", "$1 v"),
            ],
            found: &["it counts 1 members but has 150"],
        },
        Case {
            name: "a count that is too high",
            damage: vec![("rank", second(), Some("7fffffffffffffff"))],
            commands: &[("ZRANK z m400", "-ERR corrupt record"), ("ZRANK z m100", ":100"), ("ZREVRANK z m599", "-ERR corrupt record")],
            found: &["it counts 9223372036854775807 members but has 150"],
        },
        Case {
            name: "a first node that is missing",
            damage: vec![("rank", node(1, ""), None)],
            commands: &[
                ("ZRANK z m400", "-ERR corrupt record"),
                ("ZADD z 1 m001x", "-ERR corrupt record"),
                ("ZRANGE z 300 300", "-ERR corrupt record"),
                ("ZSCORE z m400", "$3 400"),
                ("ZRANGE z 0 0", "*1 $4 m000"),
            ],
            found: &["its tree of ranks has no first node of level 1"],
        },
        Case {
            name: "a node that is missing",
            damage: vec![("rank", second(), None)],
            commands: &[("ZSCORE z m400", "$3 400")],
            found: &["it counts 150 members but has 300"],
        },
        Case {
            name: "a value that is cut short",
            damage: vec![("rank", second(), Some("00000000000000"))],
            commands: &[("ZRANK z m400", "-ERR corrupt record"), ("ZREM z m160", "-ERR corrupt record"), ("ZREM z m010", ":1")],
            found: &["a count is cut short at offset 0"],
        },
        Case {
            name: "a node of another level, and one without a place",
            damage: vec![("rank", node(2, ""), Some("0000000000000258")), ("rank", node(3, "00"), Some("0000000000000258"))],
            commands: &[("ZRANK z m400", ":400")],
            found: &["a level that its tree does not have", "a place is cut short at offset 9"],
        },
        Case {
            name: "a tree of a set that has none",
            damage: vec![("rank", "0000000000000f00 01".to_owned(), Some("0000000000000258"))],
            commands: &[("ZRANK z m400", ":400")],
            found: &["version 3840 belongs to no key and is not garbage"],
        },
        Case {
            name: "a set that does not know of its tree",
            damage: vec![("meta", "00000001 7a".to_owned(), Some("05 00 0000000000000001 0000000000000258"))],
            commands: &[("ZRANK z m400", ":400")],
            found: &["version 1 belongs to no key and is not garbage"],
        },
        Case {
            name: "a set that knows of more levels",
            damage: vec![("meta", "00000001 7a".to_owned(), Some("05 04 02 0000000000000001 0000000000000258"))],
            commands: &[("ZRANK z m400", "-ERR corrupt record")],
            found: &["its tree of ranks has no first node of level 2"],
        },
        Case {
            name: "a number of levels that no tree has",
            damage: vec![("meta", "00000001 7a".to_owned(), Some("05 04 00 0000000000000001 0000000000000258"))],
            commands: &[("ZRANK z m400", "-ERR corrupt record"), ("ZADD z 1 m", "-ERR corrupt record"), ("GET other", "$1 v")],
            found: &[
                "a number of levels that no tree has at offset 2",
                "version 1 belongs to no key and is not garbage",
                "version 1 belongs to no key and is not garbage",
                "version 1 belongs to no key and is not garbage",
            ],
        },
    ]
}

#[test]
fn damage_to_a_tree_is_found_and_named_and_never_ends_the_server() {
    for Case { name, damage, commands, found } in cases() {
        let (mut keeper, mut client) = with_members(600);
        client.run("SET other v");
        let damage: Vec<Damage> = damage.iter().map(|(keyspace, key, value)| (*keyspace, hex(key), value.map(hex))).collect();
        keeper.damage(&damage);
        for budget in [1, 10, 1000] {
            let texts: Vec<String> = keeper.check(budget).iter().map(|text| text.split_once(": ").unwrap().1.to_owned()).collect();
            assert_eq!(texts, found, "{name}, {budget} records a step");
        }
        for (command, reply) in commands {
            let answer = client.run(command);
            assert!(answer.starts_with(reply), "{name}: {command}: {answer}");
        }
        // A dump and a load make it right.
        if found[0].ends_with("offset 2") {
            continue;
        }
        let lines = keeper.dump(1 << 20);
        let mut mended = Keeper::new();
        mended.load(&lines);
        assert_eq!(mended.check(1000), Vec::<String>::new(), "{name}");
    }
}

//! What list commands cost: calls of the store, records read, records written.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;
mod measured;

use common::Client;
use measured::Measured;
use orbweaver_engine::store::MemoryStore;

/// A list `l` of the elements e0, e1, e2 and so on.
fn with_list_of(count: usize) -> Measured {
    let store = MemoryStore::new();
    let mut filler = Client::on(&store);
    for first in (0..count).step_by(1000) {
        let elements: Vec<String> = (first..count.min(first + 1000)).map(|number| format!("e{number}")).collect();
        assert!(filler.run(&format!("RPUSH l {}", elements.join(" "))).starts_with(':'));
    }
    Measured::on(store)
}

#[test]
fn the_ends_and_any_position_cost_the_same_in_a_list_of_any_length() {
    let commands = [
        "LINDEX l 0",
        "LINDEX l -1",
        "LINDEX l 50",
        "LLEN l",
        "LPUSH l x",
        "RPUSH l y",
        "LPOP l",
        "RPOP l",
        "LSET l 50 z",
        "LPOP l 3",
        "RPOP l 3",
        "LMOVE l l LEFT RIGHT",
        "LMPOP 1 l LEFT",
        "LTRIM l 1 -2",
        "LRANGE l 40 49",
        "LRANGE l -10 -1",
    ];
    let (mut short, mut long) = (with_list_of(100), with_list_of(100_000));
    for command in commands {
        let (in_short, in_long) = (short.cost_of(command).0, long.cost_of(command).0);
        assert_eq!(in_short, in_long, "{command}");
        assert!(in_long.calls <= 5 && in_long.records_read <= 11, "{command}: {in_long:?}");
    }
}

#[test]
fn the_middle_of_a_long_list_is_read_without_its_head() {
    let mut long = with_list_of(100_000);
    let (cost, reply) = long.cost_of("LINDEX l 50000");
    assert_eq!((cost.records_read, reply.as_str()), (2, "$6 e50000"));
    let (cost, reply) = long.cost_of("LRANGE l 50000 50002");
    assert_eq!((cost.records_read, reply.as_str()), (4, "*3 $6 e50000 $6 e50001 $6 e50002"));
    // The head of the list, then pages of 64 and 256.
    let (cost, reply) = long.cost_of("LPOS l e99900 RANK -1");
    assert_eq!(reply, ":99900");
    assert!(cost.records_read <= 1 + 64 + 256, "{cost:?}");
    let (cost, reply) = long.cost_of("LPOS l nope MAXLEN 10");
    assert_eq!((cost.records_read, reply.as_str()), (11, "$-1"));
}

#[test]
fn insert_and_remove_move_the_shorter_side_only() {
    let mut long = with_list_of(10_000);
    // The element, those between it and the nearer end, and the list's head.
    assert_eq!(long.cost_of("LINSERT l BEFORE e3 x").0.puts, 1 + 3 + 1);
    assert_eq!(long.cost_of("LINSERT l AFTER e9997 y").0.puts, 1 + 2 + 1);
    let (cost, _) = long.cost_of("LREM l 0 x");
    assert_eq!((cost.puts, cost.deletes), (3 + 1, 1));
    let (cost, _) = long.cost_of("LREM l 0 y");
    assert_eq!((cost.puts, cost.deletes), (2 + 1, 1));
    // Gaps near both ends are closed from both.
    long.client.run("LINSERT l BEFORE e2 gap");
    long.client.run("LINSERT l AFTER e9995 gap");
    let (cost, reply) = long.cost_of("LREM l 0 gap");
    assert_eq!((reply.as_str(), cost.puts, cost.deletes), (":2", 2 + 4 + 1, 2));
    assert_eq!(long.client.run("LRANGE l 0 3"), "*4 $2 e0 $2 e1 $2 e2 $2 e3");
    assert_eq!(long.client.run("LRANGE l -2 -1"), "*2 $5 e9998 $5 e9999");
}

#[test]
fn many_elements_are_removed_as_a_range_and_few_one_by_one() {
    let mut long = with_list_of(10_000);
    let (cost, _) = long.cost_of("LTRIM l 5 -4");
    assert_eq!((cost.puts, cost.deletes, cost.range_deletes, cost.records_read), (1, 8, 0, 1));
    let (cost, _) = long.cost_of("LTRIM l 4000 4009");
    assert_eq!((cost.puts, cost.deletes, cost.range_deletes, cost.records_read), (1, 0, 2, 1));
    assert_eq!(long.client.run("LRANGE l 0 0"), "*1 $5 e4005");
    assert_eq!(long.client.run("LLEN l"), ":10");
}

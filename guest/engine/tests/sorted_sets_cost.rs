//! What sorted set commands cost: calls of the store, records read, records written.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;
mod measured;

use common::Client;
use measured::Measured;
use orbweaver_engine::store::MemoryStore;

/// A sorted set `z` of the members m0, m1, m2 and so on with the scores 0, 1, 2 and so on.
fn with_sorted_set_of(count: usize) -> Measured {
    let store = MemoryStore::new();
    let mut filler = Client::on(&store);
    for first in (0..count).step_by(1000) {
        let pairs: Vec<String> = (first..count.min(first + 1000)).map(|number| format!("{number} m{number}")).collect();
        assert!(filler.run(&format!("ZADD z {}", pairs.join(" "))).starts_with(':'));
    }
    Measured::on(store)
}

#[test]
fn members_scores_and_both_ends_cost_the_same_in_a_sorted_set_of_any_size() {
    let commands = [
        "ZCARD z",
        "ZSCORE z m50",
        "ZMSCORE z m1 m2 m3",
        "ZADD z 1.5 m50",
        "ZADD z 7 new 8 newer",
        "ZINCRBY z 2 m50",
        "ZREM z m50 new newer",
        "ZRANGE z 0 2",
        "ZRANGE z -3 -1",
        "ZREVRANGE z 0 2",
        "ZRANGE z 20 22 BYSCORE",
        "ZRANGEBYSCORE z 30 inf LIMIT 0 3",
        "ZREVRANGEBYSCORE z 30 -inf LIMIT 1 2",
        "ZCOUNT z (20 23",
        "ZREMRANGEBYSCORE z 60 62",
        "ZPOPMIN z 2",
        "ZPOPMAX z 2",
        "ZMPOP 1 z MIN",
    ];
    let (mut small, mut large) = (with_sorted_set_of(100), with_sorted_set_of(20_000));
    for command in commands {
        let (in_small, in_large) = (small.cost_of(command).0, large.cost_of(command).0);
        assert_eq!(in_small, in_large, "{command}");
        assert!(in_large.calls <= 5 && in_large.records_read <= 7, "{command}: {in_large:?}");
    }
}

#[test]
fn the_old_scores_of_all_members_are_read_at_once_and_only_changes_are_written() {
    let mut set = with_sorted_set_of(100);
    // Begin, the head of the set, the scores, commit.
    let (cost, reply) = set.cost_of("ZADD z CH 1 m1 5 m2 3 m3 1 new");
    assert_eq!((reply.as_str(), cost.calls, cost.records_read), (":2", 4, 1 + 4));
    // Both records of m2 and of the new member, and the head; the old place of m2.
    assert_eq!((cost.puts, cost.deletes), (2 + 2 + 1, 1));
    let (cost, reply) = set.cost_of("ZADD z CH 1 m1 5 m2 3 m3 1 new");
    assert_eq!((reply.as_str(), cost.puts, cost.deletes), (":0", 0, 0));
    // The head stays as it is where the number of members does.
    let (cost, _) = set.cost_of("ZINCRBY z 1 m1");
    assert_eq!((cost.puts, cost.deletes), (2, 1));
}

#[test]
fn ranks_are_walked_from_the_nearer_end() {
    let mut set = with_sorted_set_of(20_000);
    for (command, reply) in [
        ("ZRANK z m10", ":10"),
        ("ZREVRANK z m10", ":19989"),
        ("ZRANK z m19990", ":19990"),
        ("ZREVRANK z m19990", ":9"),
        ("ZRANGE z 19990 19991", "*2 $6 m19990 $6 m19991"),
        ("ZREVRANGE z 19989 19990", "*2 $3 m10 $2 m9"),
        ("ZRANGE z 10 11", "*2 $3 m10 $3 m11"),
    ] {
        let (cost, answer) = set.cost_of(command);
        assert_eq!(answer, reply, "{command}");
        // The head and the score, then a first page from either end.
        assert!(cost.records_read <= 2 + 2 * 64, "{command}: {cost:?}");
    }
    let (cost, reply) = set.cost_of("ZRANK z m10000");
    assert!(reply == ":10000" && cost.records_read > 20_000, "{cost:?}");
}

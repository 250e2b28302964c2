//! What sorted set commands cost: calls of the store, records read, records written.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;
mod measured;

use common::Client;
use measured::{Cost, Measured};
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
        "ZRANGE z 0 2",
        "ZRANGE z -3 -1",
        "ZREVRANGE z 0 2",
        "ZRANGE z 20 22 BYSCORE",
        "ZRANGEBYSCORE z 30 inf LIMIT 0 3",
        "ZREVRANGEBYSCORE z 30 -inf LIMIT 1 2",
        "ZCOUNT z (20 23",
    ];
    let (mut small, mut large) = (with_sorted_set_of(100), with_sorted_set_of(20_000));
    for command in commands {
        let (in_small, in_large) = (small.cost_of(command).0, large.cost_of(command).0);
        assert_eq!(in_small, in_large, "{command}");
        assert!(in_large.calls <= 5 && in_large.records_read <= 7, "{command}: {in_large:?}");
    }
}

#[test]
fn a_change_of_a_large_sorted_set_reads_and_puts_one_record_more_for_each_place_that_counts_it() {
    // How many reads more there are, how many records more they read, and how many more are put.
    let commands = [
        ("ZADD z 7 new", 1, 1, 1),
        ("ZADD z XX 7.5 new", 2, 2, 0),
        ("ZADD z 19000 m50", 2, 2, 2),
        ("ZINCRBY z 2 m51", 2, 2, 0),
        ("ZADD z 7 new2 8 new3", 2, 2, 1),
        ("ZREM z new", 1, 1, 1),
        ("ZREM z new2 new3 m12000", 4, 4, 2),
        ("ZPOPMIN z", 1, 1, 1),
        // All are in the node that was found first: the second read finds no other.
        ("ZPOPMAX z 20", 2, 1, 1),
        ("ZREMRANGEBYRANK z 0 9", 2, 2, 1),
        ("ZREMRANGEBYSCORE z 60 62", 2, 2, 1),
    ];
    let (mut small, mut large) = (with_sorted_set_of(500), with_sorted_set_of(20_000));
    small.client.run("ZADD z 12000 m12000 19999 m19999");
    for (command, reads, records, puts) in commands {
        let (in_small, in_large) = (small.cost_of(command).0, large.cost_of(command).0);
        let more = Cost {
            calls: in_small.calls + reads,
            reads: in_small.reads + reads,
            records_read: in_small.records_read + records,
            puts: in_small.puts + puts,
            ..in_small
        };
        assert_eq!(in_large, more, "{command}");
    }
}

#[test]
fn a_sorted_set_that_becomes_large_gets_its_tree_with_the_command_that_makes_it_so() {
    let mut set = with_sorted_set_of(511);
    let small = set.cost_of("ZADD z 511 m511").0;
    let (cost, _) = set.cost_of("ZADD z 512 m512");
    // Four nodes of 128 members and one: three are cut off.
    assert_eq!((cost.puts, cost.calls, cost.records_read), (small.puts + 4, small.calls + 3, small.records_read + 3 * 129));
    let (cost, _) = set.cost_of("ZADD z 513 m513");
    assert_eq!((cost.puts, cost.calls, cost.records_read), (small.puts + 1, small.calls + 1, small.records_read + 1));
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
fn in_a_small_sorted_set_ranks_are_walked_from_the_nearer_end() {
    let mut set = with_sorted_set_of(500);
    for (command, reply) in [
        ("ZRANK z m10", ":10"),
        ("ZREVRANK z m10", ":489"),
        ("ZRANK z m490", ":490"),
        ("ZREVRANK z m490", ":9"),
        ("ZRANGE z 490 491", "*2 $4 m490 $4 m491"),
        ("ZREVRANGE z 489 490", "*2 $3 m10 $2 m9"),
        ("ZRANGE z 10 11", "*2 $3 m10 $3 m11"),
    ] {
        let (cost, answer) = set.cost_of(command);
        assert_eq!(answer, reply, "{command}");
        // The head and the score, then a first page from either end.
        assert!(cost.records_read <= 2 + 2 * 64, "{command}: {cost:?}");
    }
    let (cost, reply) = set.cost_of("ZRANK z m250");
    assert!(reply == ":250" && cost.records_read > 500, "{cost:?}");
}

/// Sizes of sorted sets, the largest in release only, where they take seconds.
const SIZES: &[usize] = if cfg!(debug_assertions) { &[1000, 10_000] } else { &[1000, 10_000, 60_000, 100_000, 1_000_000] };
/// The most records of one level, or members, that are read to find one place.
const OF_A_LEVEL: usize = 300;

/// As [`OF_A_LEVEL`], of the highest: all of its nodes are read, which are many where the set is soon to have another level.
fn of_the_highest(size: usize, levels: usize) -> usize {
    const FANOUT: usize = 128;
    (0..levels).fold(size, |nodes, _| nodes.div_ceil(FANOUT)).max(OF_A_LEVEL)
}

#[test]
fn ranks_cost_what_the_number_of_digits_of_the_size_does() {
    let mut of_smaller: Option<Cost> = None;
    for &size in SIZES {
        let mut set = with_sorted_set_of(size);
        let levels = [512, 65_536].iter().filter(|&&limit| size > limit).count();
        let mut most = Cost::default();
        for tenth in 0..10 {
            let rank = size / 10 * tenth + size / 37;
            let (back, last) = (size - rank - 1, size - 1);
            let member = format!("*1 ${} m{rank}", format!("m{rank}").len());
            // What is asked, and how many places are looked for in the tree.
            for (command, reply, places) in [
                (format!("ZRANK z m{rank}"), format!(":{rank}"), 1),
                (format!("ZREVRANK z m{rank}"), format!(":{back}"), 1),
                (format!("ZRANGE z {rank} {rank}"), member.clone(), 1),
                (format!("ZREVRANGE z {back} {back}"), member.clone(), 2),
                (format!("ZCOUNT z {rank} inf"), format!(":{}", size - rank), 2),
                (format!("ZCOUNT z ({rank} {last}"), format!(":{back}"), 3),
                (format!("ZRANGEBYSCORE z -inf inf LIMIT {rank} 1"), member.clone(), 3),
            ] {
                let (cost, answer) = set.cost_of(&command);
                assert_eq!(answer, reply, "{command}");
                assert!(cost.calls <= 4 + (levels + 1) * places, "{size}: {command}: {cost:?}");
                assert!(
                    cost.records_read <= 2 + places * (of_the_highest(size, levels) + levels * OF_A_LEVEL),
                    "{size}: {command}: {cost:?}"
                );
                most = Cost { calls: most.calls.max(cost.calls), records_read: most.records_read.max(cost.records_read), ..most };
            }
        }
        if let Some(smaller) = of_smaller {
            assert!(most.calls <= smaller.calls + 3, "{size}: {most:?}, {smaller:?}");
            assert!(most.records_read <= smaller.records_read + 3 * OF_A_LEVEL, "{size}: {most:?}, {smaller:?}");
        }
        of_smaller = Some(most);
    }
}

#[test]
fn ranges_by_rank_are_removed_for_what_it_costs_to_find_them_and_to_delete_their_members() {
    for &size in SIZES {
        let mut set = with_sorted_set_of(size);
        let levels = [512, 65_536].iter().filter(|&&limit| size > limit).count();
        for start in [size - 20, size / 2, size / 3, 5] {
            let (cost, answer) = set.cost_of(&format!("ZREMRANGEBYRANK z {start} {}", start + 9));
            assert_eq!(answer, ":10");
            assert_eq!(cost.deletes, 2 * 10, "{size}: {start}");
            // The head, and two nodes of each level.
            assert!(cost.puts <= 1 + 2 * levels, "{size}: {start}: {cost:?}");
            assert!(cost.calls <= 4 + (levels + 1) + 4 * levels, "{size}: {start}: {cost:?}");
            assert!(cost.records_read <= 2 + of_the_highest(size, levels) + levels * OF_A_LEVEL, "{size}: {start}: {cost:?}");
        }
        // Nodes that are emptied go, for a few calls each.
        let removed = size / 2;
        let (cost, answer) = set.cost_of(&format!("ZREMRANGEBYRANK z 10 {}", removed + 9));
        assert_eq!(answer, format!(":{removed}"));
        let nodes = removed / 128 + 2;
        assert!(cost.deletes <= 2 * removed + nodes + nodes / 64, "{size}: {cost:?}");
        assert!(cost.calls <= 20 + removed / 1000 + 8 * nodes, "{size}: {cost:?}");
        assert!(cost.records_read <= removed + 12 * nodes + 1500, "{size}: {cost:?}");
    }
}

/// A top list: each step adds a member and removes those behind the first thousand.
#[test]
fn a_top_list_costs_the_same_however_many_members_have_gone_through_it() {
    let (size, steps) = (1000, if cfg!(debug_assertions) { 3000 } else { 30_000 });
    let mut set = with_sorted_set_of(size);
    let (mut reads, mut most) = (0, 0);
    for step in size..size + steps {
        let (added, _) = set.cost_of(&format!("ZADD z {step} m{step}"));
        let (removed, reply) = set.cost_of("ZREMRANGEBYRANK z 0 -1001");
        assert_eq!(reply, ":1");
        let read = added.records_read + removed.records_read;
        (reads, most) = (reads + read, most.max(read));
        assert!(added.calls + removed.calls <= 24, "{step}: {added:?}, {removed:?}");
    }
    // A node is cut now and then, and one in front becomes one with the next.
    assert!(most <= 150 && reads / steps <= 10, "{} of {most} records", reads / steps);
    let (cost, reply) = set.cost_of(&format!("ZREVRANK z m{steps}"));
    assert_eq!(reply, ":999");
    assert!(cost.records_read <= 2 + 2 * OF_A_LEVEL, "{cost:?}");
}

//! Random draws are uniform: counts of what is drawn against Pearson's chi-square statistic, with a fixed seed. `docs/sampling.md` says
//! how draws are made and what they cost. Those from large collections are in `sampling_large.rs`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;
mod measured;

use common::Client;
use common::uniformity::{LIMIT_OF_100, drawn, pearson};
use measured::Measured;
use orbweaver_engine::store::MemoryStore;
use std::collections::{BTreeMap, BTreeSet};

const SIZE: usize = 100;
/// Nine degrees of freedom, as [`LIMIT_OF_100`].
const LIMIT_OF_10: f64 = 27.9;

/// A set `s`, a hash `h` and a sorted set `z` of so many members: m000, m001 and so on. All scores are equal or nearly so.
fn fill(client: &mut Client, size: usize) {
    for number in 0..size {
        client.run(&format!("SADD s m{number:03}"));
        client.run(&format!("HSET h m{number:03} value"));
        client.run(&format!("ZADD z {} m{number:03}", number % 3));
    }
}

/// Pearson's statistic of how often each of `size` outcomes was met, all of which are equally likely.
fn chi_square(counts: &BTreeMap<String, u32>, size: usize) -> f64 {
    assert_eq!(counts.len(), size, "every outcome is met");
    let total: u32 = counts.values().sum();
    let expected = f64::from(total) / f64::from(u32::try_from(size).unwrap());
    pearson(counts.values().map(|&count| (f64::from(count), expected)))
}

#[test]
fn every_member_is_drawn_equally_often() {
    let mut client = Client::new();
    fill(&mut client, SIZE);
    for name in ["SRANDMEMBER s", "HRANDFIELD h", "ZRANDMEMBER z"] {
        for count in ["", " 7", " 60", " -9", " -1000"] {
            let (command, mut counts, mut total) = (format!("{name}{count}"), BTreeMap::new(), 0);
            while total < 5_000 {
                let members = drawn(&client.run(&command));
                assert!(!members.is_empty(), "{command}");
                total += members.len();
                members.into_iter().for_each(|member| *counts.entry(member).or_default() += 1);
            }
            let statistic = chi_square(&counts, SIZE);
            assert!(statistic < LIMIT_OF_100, "{command}: {statistic}");
        }
    }
}

#[test]
fn a_positive_count_draws_different_members_and_a_negative_one_draws_as_often_as_it_says() {
    let mut client = Client::new();
    fill(&mut client, SIZE);
    for name in ["SRANDMEMBER s", "HRANDFIELD h", "ZRANDMEMBER z"] {
        for count in [1, 2, 50, 99, 100, 101] {
            let members = drawn(&client.run(&format!("{name} {count}")));
            let different: BTreeSet<&String> = members.iter().collect();
            assert_eq!((members.len(), different.len()), (count.min(SIZE), count.min(SIZE)), "{name} {count}");
            assert_eq!(drawn(&client.run(&format!("{name} -{count}"))).len(), count);
        }
    }
}

#[test]
fn every_member_is_popped_equally_often() {
    let mut client = Client::new();
    fill(&mut client, SIZE);
    for command in ["SPOP s", "SPOP s 7", "SPOP s 60"] {
        let (mut counts, mut total) = (BTreeMap::new(), 0);
        while total < 5_000 {
            let members = drawn(&client.run(command));
            assert_eq!(client.run("SCARD s"), format!(":{}", SIZE - members.len()));
            client.run(&format!("SADD s {}", members.join(" ")));
            total += members.len();
            members.into_iter().for_each(|member| *counts.entry(member).or_default() += 1);
        }
        let statistic = chi_square(&counts, SIZE);
        assert!(statistic < LIMIT_OF_100, "{command}: {statistic}");
    }
}

#[test]
fn every_choice_of_two_members_is_equally_likely() {
    let mut client = Client::new();
    fill(&mut client, 5);
    for command in ["SRANDMEMBER s 2", "HRANDFIELD h 2", "ZRANDMEMBER z 2", "SPOP s 2"] {
        let mut counts = BTreeMap::new();
        for _ in 0..5000 {
            let mut pair = drawn(&client.run(command));
            client.run("SADD s m000 m001 m002 m003 m004");
            pair.sort();
            assert_ne!(pair[0], pair[1], "{command}");
            *counts.entry(pair.concat()).or_default() += 1;
        }
        let statistic = chi_square(&counts, 10);
        assert!(statistic < LIMIT_OF_10, "{command}: {statistic}");
    }
}

/// The second of two draws with repetition does not depend on the first.
#[test]
fn repeated_draws_are_independent() {
    let mut client = Client::new();
    fill(&mut client, 10);
    for command in ["SRANDMEMBER s -2", "HRANDFIELD h -2", "ZRANDMEMBER z -2"] {
        let mut counts = BTreeMap::new();
        for _ in 0..5_000 {
            *counts.entry(drawn(&client.run(command)).concat()).or_default() += 1;
        }
        let statistic = chi_square(&counts, 100);
        assert!(statistic < LIMIT_OF_100, "{command}: {statistic}");
    }
}

/// They are more than a census is kept of, and none is made that would be forgotten before it is of use.
#[test]
fn draws_from_many_sets_in_turn_read_about_a_quarter_of_the_members_and_never_more_than_half() {
    const LARGE: usize = 2000;
    const SETS: usize = 20;
    let store = MemoryStore::new();
    let mut filler = Client::on(&store);
    for set in 0..SETS {
        let members: Vec<String> = (0..LARGE).map(|number| format!("m{number}")).collect();
        filler.run(&format!("SADD s{set} {}", members.join(" ")));
    }
    let mut sets = Measured::on(store);
    let draw = |number: usize| sets.cost_of(&format!("SRANDMEMBER s{}", number % SETS)).0.records_read;
    let costs: Vec<usize> = (0..10 * SETS).map(draw).collect();
    let average = costs.iter().sum::<usize>() / costs.len();
    assert!((LARGE / 5..LARGE * 2 / 5).contains(&average), "{average}");
    // The head of the set, and the rest of the last page.
    assert!(costs.iter().all(|cost| *cost <= LARGE / 2 + 1100), "{:?}", costs.iter().max());
}

#[test]
fn draws_from_a_large_sorted_set_are_as_fair_and_read_a_few_records() {
    const LARGE: usize = 5000;
    let store = MemoryStore::new();
    let pairs: Vec<String> = (0..LARGE).map(|number| format!("{} m{number:04}", number % 700)).collect();
    Client::on(&store).run(&format!("ZADD z {}", pairs.join(" ")));
    let mut set = Measured::on(store);
    for (command, draws) in [("ZRANDMEMBER z", 1), ("ZRANDMEMBER z 4", 4), ("ZRANDMEMBER z -4", 4)] {
        let mut counts = BTreeMap::new();
        for _ in 0..5000 / draws {
            let (cost, reply) = set.cost_of(command);
            assert!(cost.records_read <= 1 + draws * 300, "{command}: {cost:?}");
            let members = drawn(&reply);
            assert_eq!(members.len(), draws);
            // A hundred groups of fifty members each.
            members.into_iter().for_each(|member| *counts.entry(member[3..].to_owned()).or_default() += 1);
        }
        let statistic = chi_square(&counts, 100);
        assert!(statistic < LIMIT_OF_100, "{command}: {statistic}");
    }
}

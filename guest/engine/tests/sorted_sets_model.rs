//! Sorted sets under random commands, held against a plain map; ranks and ranges are those of its sorted list.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod common;
mod keeper;

use common::Client;
use keeper::Keeper;
use orbweaver_engine::environment::{HeldEnvironment, random_below};
use orbweaver_engine::number::format_double;
use orbweaver_engine::store::MemoryStore;
use std::collections::BTreeMap;

/// What a sorted set is: members with their scores.
type Model = BTreeMap<String, f64>;

const SCORES: [f64; 9] = [0.0, 1.0, 1.0, 2.5, -1.0, -1e300, f64::INFINITY, f64::NEG_INFINITY, 0.1];

/// The members in the order of a sorted set.
fn ordered(model: &Model) -> Vec<(String, f64)> {
    let mut members: Vec<(String, f64)> = model.iter().map(|(member, score)| (member.clone(), *score)).collect();
    members.sort_by(|(_, left), (_, right)| left.partial_cmp(right).unwrap());
    members
}

/// The reply that has these members with their scores.
fn with_scores(members: &[(String, f64)]) -> String {
    let texts = members.iter().flat_map(|(member, score)| [member.clone(), format_double(*score)]);
    let texts: String = texts.map(|text| format!(" ${} {text}", text.len())).collect();
    format!("*{}{texts}", members.len() * 2)
}

/// Random commands against the model: replies, and in the end the records.
struct Run {
    random: HeldEnvironment,
    client: Client,
    models: [Model; 3],
    /// How many members there can be, and how many a command adds at most.
    members: usize,
    together: usize,
}

impl Run {
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(random_below(&mut self.random, u64::try_from(limit).unwrap())).unwrap()
    }

    fn score(&mut self) -> f64 {
        let at = self.below(SCORES.len());
        SCORES[at]
    }

    fn member(&mut self) -> String {
        format!("m{}", self.below(self.members))
    }

    fn add(&mut self, key: usize) {
        let (mut command, mut added) = (format!("ZADD z{key}"), 0);
        for _ in 0..=self.below(self.together) {
            let (score, member) = (self.score(), self.member());
            command.push_str(&format!(" {} {member}", format_double(score)));
            added += i32::from(self.models[key].insert(member, score).is_none());
        }
        assert_eq!(self.client.run(&command), format!(":{added}"), "{command}");
    }

    fn increment(&mut self, key: usize) {
        let (by, member) = (self.score(), self.member());
        let sum = self.models[key].get(&member).unwrap_or(&0.0) + by;
        let command = format!("ZINCRBY z{key} {} {member}", format_double(by));
        if sum.is_nan() {
            assert_eq!(self.client.run(&command), "-ERR resulting score is not a number (NaN)");
        } else {
            self.models[key].insert(member, sum);
            let text = format_double(sum);
            assert_eq!(self.client.run(&command), format!("${} {text}", text.len()), "{command}");
        }
    }

    /// Removes by name, from the ends, by rank and by score.
    fn remove(&mut self, key: usize) {
        let (count, score, member) = (self.below(self.together / 3), self.score(), self.member());
        let all = ordered(&self.models[key]);
        let popped: Vec<(String, f64)> = all.iter().take(count).cloned().collect();
        let last: Vec<(String, f64)> = all.iter().rev().take(count).cloned().collect();
        let same: Vec<(String, f64)> = all.iter().filter(|(_, own)| *own == score).cloned().collect();
        let middle: Vec<(String, f64)> = all.iter().skip(all.len() / 2).take(count + 1).cloned().collect();
        let named: Vec<(String, f64)> = all.iter().filter(|(own, _)| *own == member).cloned().collect();
        let number = |gone: &[(String, f64)]| format!(":{}", gone.len());
        let score = format_double(score);
        let (command, reply, gone) = match self.below(5) {
            0 => (format!("ZPOPMIN z{key} {count}"), with_scores(&popped), popped),
            1 => (format!("ZPOPMAX z{key} {count}"), with_scores(&last), last),
            2 => (format!("ZREMRANGEBYSCORE z{key} {score} {score}"), number(&same), same),
            3 => (format!("ZREMRANGEBYRANK z{key} {} {}", all.len() / 2, all.len() / 2 + count), number(&middle), middle),
            _ => (format!("ZREM z{key} {member} nope"), number(&named), named),
        };
        assert_eq!(self.client.run(&command), reply, "{command}");
        self.models[key].retain(|member, _| gone.iter().all(|(gone, _)| gone != member));
    }

    /// Combines two sorted sets into one.
    fn combine(&mut self, key: usize) {
        let (left, right) = (self.below(3), self.below(3));
        let (a, b) = (&self.models[left], &self.models[right]);
        let (name, result): (&str, Model) = match random_below(&mut self.random, 3) {
            0 => ("ZUNIONSTORE", a.iter().chain(b).map(|(member, _)| (member.clone(), greatest(a, b, member))).collect()),
            1 => ("ZINTERSTORE", a.keys().filter(|m| b.contains_key(*m)).map(|m| (m.clone(), greatest(a, b, m))).collect()),
            _ => ("ZDIFFSTORE", a.iter().filter(|(m, _)| !b.contains_key(*m)).map(|(m, score)| (m.clone(), *score)).collect()),
        };
        let options = if name == "ZDIFFSTORE" { "" } else { " AGGREGATE MAX" };
        let command = format!("{name} z{key} 2 z{left} z{right}{options}");
        assert_eq!(self.client.run(&command), format!(":{}", result.len()), "{command}");
        self.models[key] = result;
    }

    /// Reads by rank, by score and by name, both ways.
    fn read(&mut self, key: usize) {
        let all = ordered(&self.models[key]);
        let reversed: Vec<(String, f64)> = all.iter().rev().cloned().collect();
        let (first, count) = (self.below(all.len() + 2), self.below(30) + 1);
        let (low, high, member) = (self.score(), self.score(), self.member());
        let slice = |members: &[(String, f64)]| with_scores(&members.iter().skip(first).take(count).cloned().collect::<Vec<_>>());
        let between = |members: &[(String, f64)]| -> Vec<(String, f64)> {
            members.iter().filter(|(_, score)| *score >= low && *score < high).cloned().collect()
        };
        let (low_text, high_text) = (format_double(low), format_double(high));
        let last = first + count - 1;
        let rank = |members: &[(String, f64)]| {
            members.iter().position(|(own, _)| *own == member).map_or("$-1".to_owned(), |rank| format!(":{rank}"))
        };
        let expected = [
            (format!("ZCARD z{key}"), format!(":{}", all.len())),
            (format!("ZRANGE z{key} {first} {last} WITHSCORES"), slice(&all)),
            (format!("ZRANGE z{key} {first} {last} REV WITHSCORES"), slice(&reversed)),
            (format!("ZRANK z{key} {member}"), rank(&all)),
            (format!("ZREVRANK z{key} {member}"), rank(&reversed)),
            (format!("ZCOUNT z{key} {low_text} ({high_text}"), format!(":{}", between(&all).len())),
            (format!("ZRANGE z{key} {low_text} ({high_text} BYSCORE WITHSCORES"), with_scores(&between(&all))),
            (format!("ZREVRANGEBYSCORE z{key} ({high_text} {low_text} WITHSCORES LIMIT {first} {count}"), slice(&between(&reversed))),
        ];
        for (command, reply) in expected {
            assert_eq!(self.client.run(&command), reply, "{command}");
        }
    }
}

fn greatest(a: &Model, b: &Model, member: &str) -> f64 {
    let scores = [a.get(member), b.get(member)];
    scores.into_iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Runs so many random commands, and checks the records that they leave.
fn run(seed: u64, members: usize, together: usize, commands: usize) {
    let store = MemoryStore::new();
    let (random, client) = (HeldEnvironment::new(0, seed), Client::on(&store));
    let mut run = Run { random, client, models: Default::default(), members, together };
    for _ in 0..commands {
        let key = run.below(3);
        match run.below(10) {
            0..4 => run.add(key),
            4 => run.increment(key),
            5 => run.remove(key),
            6 if run.below(3) == 0 => run.combine(key),
            _ => run.read(key),
        }
    }
    let mut keeper = Keeper::over(store.clone(), store);
    assert_eq!(keeper.check(1000), Vec::<String>::new(), "seed {seed}");
    assert_eq!(keeper.check(7), Vec::<String>::new(), "seed {seed}");
}

#[test]
fn random_commands_do_what_a_map_does_and_leave_sound_records() {
    (0..6).for_each(|seed| run(seed, 400, 60, 250));
}

#[test]
fn so_they_do_in_sorted_sets_with_a_tree() {
    (0..4).for_each(|seed| run(seed, 4000, 900, 150));
}

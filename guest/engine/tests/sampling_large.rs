//! Random draws from large hashes and sets are uniform whatever has changed since the first of them, and cost some tens of records each.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;
mod measured;

use bytes::Bytes;
use common::Client;
use common::uniformity::{LIMIT_OF_100, drawn, pearson, statistic_of_neighbours};
use measured::Measured;
use orbweaver_engine::environment::{HeldEnvironment, random_below};
use orbweaver_engine::layout::NAMES;
use orbweaver_engine::store::fault::{FaultPlan, FaultStore};
use orbweaver_engine::store::{MemoryStore, StoreError};
use orbweaver_engine::typed;
use orbweaver_engine::typed::sets::{Action, Operation as Sets};
use orbweaver_engine::typed::strings::{Action as Text, Operation as Strings};
use orbweaver_engine::types::draw::Draw;
use std::collections::{BTreeMap, BTreeSet};

/// More than are walked over.
const SIZE: usize = 6000;
const DRAWS: usize = 2000;
/// Records of a part that is read for a draw, at most, and the head of the collection.
const OF_A_DRAW: usize = 2 * 32 + 2;

fn member(number: usize) -> String {
    format!("m{number:06}")
}

fn members(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(member).collect()
}

fn add(client: &mut Client, members: &[String]) {
    for some in members.chunks(1000) {
        client.run(&format!("SADD s {}", some.join(" ")));
        client.run(&format!("HSET h {} v", some.join(" v ")));
    }
}

fn remove(client: &mut Client, members: &[String]) {
    for some in members.chunks(1000) {
        client.run(&format!("SREM s {}", some.join(" ")));
        client.run(&format!("HDEL h {}", some.join(" ")));
    }
}

/// A client of a store with a set `s` and a hash `h` of the first members.
fn filled(client: Client, size: usize) -> (Client, BTreeSet<String>) {
    let mut client = client;
    let all = members(0..size);
    add(&mut client, &all);
    (client, all.into_iter().collect())
}

fn take_out(all: &mut BTreeSet<String>, members: &[String]) {
    for member in members {
        all.remove(member);
    }
}

/// So many draws, or a few more, by a command.
fn draw(client: &mut Client, command: &str, draws: usize) -> Vec<String> {
    let mut all = Vec::new();
    while all.len() < draws {
        let some = drawn(&client.run(command));
        assert!(!some.is_empty(), "{command}");
        all.extend(some);
    }
    all
}

fn assert_fair(members: &BTreeSet<String>, draws: &[String], what: &str) {
    let statistic = statistic_of_neighbours(members, draws);
    assert!(statistic < LIMIT_OF_100, "{what}: {statistic}");
}

const COMMANDS: [&str; 6] = ["SRANDMEMBER s", "SRANDMEMBER s 9", "SRANDMEMBER s -9", "HRANDFIELD h", "HRANDFIELD h 9", "HRANDFIELD h -9"];

/// All commands in the default layout, a few of them in the others.
fn commands_of(layout: &str) -> &'static [&'static str] {
    if layout == NAMES[0] { &COMMANDS } else { &["SRANDMEMBER s 9", "HRANDFIELD h -9"] }
}

#[test]
fn every_member_is_drawn_equally_often_in_every_layout() {
    for layout in NAMES {
        let (mut client, all) = filled(Client::on_layout(&MemoryStore::new(), layout), SIZE);
        for command in commands_of(layout) {
            assert_fair(&all, &draw(&mut client, command, DRAWS), &format!("{layout}: {command}"));
        }
    }
}

/// A few places gain many, others lose most, and some are written again.
#[test]
fn draws_stay_fair_when_members_come_and_go_after_the_first_one() {
    for layout in NAMES {
        let (mut client, mut all) = filled(Client::on_layout(&MemoryStore::new(), layout), SIZE);
        // Between the draws.
        for round in 0..2 {
            for command in commands_of(layout) {
                client.run(command);
            }
            let near = 1000 * (round + 1);
            let new: Vec<String> = (0..700).map(|number| format!("{}+{number}", member(near))).collect();
            let gone = members((near + 10..near + 900).filter(|number| number % 8 != 0));
            add(&mut client, &new);
            remove(&mut client, &gone);
            add(&mut client, &members(near + 3900..near + 3990));
            take_out(&mut all, &gone);
            all.extend(new);
            all.extend(members(near + 3900..near + 3990));
            for command in commands_of(layout) {
                assert_fair(&all, &draw(&mut client, command, DRAWS), &format!("{layout}, round {round}: {command}"));
            }
        }
    }
}

/// Rounds of nine draws each.
const ROUNDS: usize = 40;

/// A sixth of all members is a sixth of the 360 draws: 60, with a standard deviation of 7.1.
fn assert_a_sixth(met: usize, what: &str) {
    assert!((60 - 28..60 + 28).contains(&met), "{what}: {met}");
}

/// As many members go as come, to one place: the sum of all bounds does not tell, and there are few draws before it is all taken back.
#[test]
fn members_are_drawn_as_often_as_others_right_behind_the_command_that_adds_them() {
    for is_one_transaction in [true, false] {
        let (mut client, _) = filled(Client::new(), SIZE);
        let mut met = 0;
        for round in 0..ROUNDS {
            let new: Vec<String> = (0..1000).map(|number| format!("{}+{number}", member(100 * round + 50))).collect();
            let start = (100 * round + 3000) % 5000;
            let (new_line, gone_line) = (new.join(" "), members(start..start + 1000).join(" "));
            let change = format!("SADD s {new_line}\r\nSREM s {gone_line}\r\n");
            let back = format!("SREM s {new_line}\r\nSADD s {gone_line}\r\n");
            client.run("SRANDMEMBER s");
            let transactions = if is_one_transaction {
                vec![format!("MULTI\r\n{change}SRANDMEMBER s -9\r\n{back}EXEC\r\n")]
            } else {
                vec![change, "SRANDMEMBER s -9\r\n".to_owned(), back]
            };
            for lines in transactions {
                let replies = String::from_utf8(client.exchange(lines.into())).unwrap();
                met += drawn(&replies).iter().filter(|member| new.contains(member)).count();
            }
            assert_eq!(client.run("SCARD s"), format!(":{SIZE}"));
        }
        assert_a_sixth(met, if is_one_transaction { "in one transaction" } else { "in several" });
    }
}

/// Removes members and draws many times: typed operations of one transaction.
fn removal_and_draws(removed: &[String]) -> Vec<typed::Operation> {
    let operation = |action| Sets::One("s".into(), action).into();
    let removal = operation(Action::Remove(removed.iter().map(|member| Bytes::from(member.clone())).collect()));
    // So many that most parts of what was removed are found empty.
    let draws = std::iter::repeat_n(operation(Action::Random(Draw::Repeated(20))), 20);
    std::iter::once(removal).chain(draws).collect()
}

/// What draws have found out of members that were removed must not outlive the removal. Members that were only nearly added let the bounds
/// be high elsewhere: their sum does not tell.
#[test]
fn members_whose_removal_is_undone_are_drawn_as_often_as_others() {
    let (mut client, _) = filled(Client::new(), SIZE);
    client.run("SET text none");
    let removed = members(3000..4000);
    let added = (0..1100).map(|number| format!("{}+{number}", member(100)).into()).collect();
    let mut operations = removal_and_draws(&removed);
    operations.push(Sets::One("s".into(), Action::Add(added)).into());
    operations.push(Strings::One("text".into(), Text::Increment(1)).into());
    let mut met = 0;
    for _ in 0..ROUNDS {
        client.run("SRANDMEMBER s");
        assert!(client.engine().perform(0, operations.clone()).is_err());
        assert_eq!(client.run("SCARD s"), format!(":{SIZE}"));
        met += drawn(&client.run("SRANDMEMBER s -9")).iter().filter(|member| removed.contains(member)).count();
    }
    assert_a_sixth(met, "after what was undone");
}

#[test]
fn draws_are_fair_after_a_commit_that_fails() {
    let on_a_store = || {
        let plan = FaultPlan::default();
        let store = FaultStore::new(MemoryStore::new(), plan.clone(), StoreError::Io("the disk is gone".into()));
        let (client, all) = filled(Client::on_any(Box::new(store)), SIZE);
        plan.fail_at(0);
        (client, plan, all)
    };
    let operations = removal_and_draws(&members(1000..1500));
    let (mut client, plan, all) = on_a_store();
    // The same on another store, where nothing fails, tells which call is the commit.
    let (mut other, other_plan, _) = on_a_store();
    assert!(other.engine().perform(0, operations.clone()).is_ok());
    plan.fail_at(other_plan.calls());
    assert!(client.engine().perform(0, operations).is_err());
    assert_eq!(client.run("SCARD s"), format!(":{SIZE}"));
    assert_fair(&all, &draw(&mut client, "SRANDMEMBER s", DRAWS), "after a commit that has failed");
}

#[test]
fn fields_past_their_time_are_not_drawn_and_leave_the_others_their_share() {
    let (mut client, mut all) = filled(Client::new(), 2 * SIZE);
    // The second one makes the census.
    client.run("HRANDFIELD h");
    client.run("HRANDFIELD h");
    let gone = members((0..2 * SIZE).filter(|number| number % 4 != 0 && *number < SIZE));
    for some in gone.chunks(1000) {
        client.run(&format!("HPEXPIRE h 100 FIELDS {} {}", some.len(), some.join(" ")));
    }
    client.wait_ms(200);
    take_out(&mut all, &gone);
    for command in &COMMANDS[3..] {
        assert_fair(&all, &draw(&mut client, command, DRAWS), command);
    }
}

/// The two members of a pair do not depend on each other, drawn with repetition or without.
#[test]
fn every_pair_is_equally_likely() {
    let (mut client, _) = filled(Client::new(), SIZE);
    for command in ["SRANDMEMBER s 2", "SRANDMEMBER s -2", "HRANDFIELD h 2", "HRANDFIELD h -2"] {
        let mut met = BTreeMap::new();
        for _ in 0..DRAWS {
            let pair = drawn(&client.run(command));
            assert!(pair.len() == 2 && (command.contains('-') || pair[0] != pair[1]));
            // Ten groups, of the members with the same last digit.
            *met.entry((pair[0][6..].to_owned(), pair[1][6..].to_owned())).or_insert(0.0) += 1.0;
        }
        assert_eq!(met.len(), 100);
        let statistic = pearson(met.into_values().map(|met| (met, DRAWS as f64 / 100.0)));
        assert!(statistic < LIMIT_OF_100, "{command}: {statistic}");
    }
}

#[test]
fn members_that_are_popped_and_added_again_are_popped_equally_often() {
    let (mut client, all) = filled(Client::new(), SIZE);
    for command in ["SPOP s", "SPOP s 9"] {
        let mut popped = Vec::new();
        while popped.len() < DRAWS {
            let some = drawn(&client.run(command));
            assert_eq!(client.run("SCARD s"), format!(":{}", SIZE - some.len()));
            client.run(&format!("SADD s {}", some.join(" ")));
            popped.extend(some);
        }
        assert_fair(&all, &popped, command);
    }
}

#[test]
fn a_set_that_is_popped_until_it_is_empty_gives_each_member_once() {
    for layout in NAMES {
        let (mut client, all) = filled(Client::on_layout(&MemoryStore::new(), layout), SIZE);
        let mut popped = Vec::new();
        // Several of one transaction first.
        popped.extend(drawn(&String::from_utf8(client.exchange("SPOP s\r\n".repeat(300).into())).unwrap()));
        while popped.len() < SIZE {
            popped.extend(drawn(&client.run(if popped.len() < 1000 { "SPOP s" } else { "SPOP s 70" })));
        }
        assert_eq!((popped.len(), client.run("EXISTS s").as_str()), (SIZE, ":0"), "{layout}");
        assert_eq!(popped.into_iter().collect::<BTreeSet<_>>(), all, "{layout}");
    }
}

/// Random changes and draws, compared with a plain set.
#[test]
fn whatever_happens_to_a_set_its_draws_are_members_of_it() {
    for layout in NAMES {
        let (mut client, mut model) = filled(Client::on_layout(&MemoryStore::new(), layout), SIZE);
        let mut random = HeldEnvironment::new(0, 3);
        for step in 0..300 {
            let mut below = |limit: usize| usize::try_from(random_below(&mut random, u64::try_from(limit).unwrap())).unwrap();
            let start = below(2 * SIZE);
            let some = members(start..start + 1 + below(60));
            match below(6) {
                _ if step % 100 == 99 => {
                    client.run(["DEL s", "FLUSHALL", "RENAME s t"][step / 100]);
                    let all = members(start..start + SIZE);
                    add(&mut client, &all);
                    model = all.into_iter().collect();
                }
                0 | 1 => {
                    client.run(&format!("SADD s {}", some.join(" ")));
                    model.extend(some);
                }
                2 => {
                    client.run(&format!("SREM s {}", some.join(" ")));
                    take_out(&mut model, &some);
                }
                3 => {
                    let count = 1 + below(9);
                    let popped = drawn(&client.run(&format!("SPOP s {count}")));
                    assert!(popped.len() == count && popped.iter().all(|member| model.remove(member)), "{layout}, {step}: {popped:?}");
                }
                _ => {
                    let count = 1 + below(9);
                    let (different, any) = (drawn(&client.run(&format!("SRANDMEMBER s {count}"))), drawn(&client.run("SRANDMEMBER s -5")));
                    assert!(different.iter().chain(&any).all(|member| model.contains(member)), "{layout}, {step}");
                    assert_eq!((different.iter().collect::<BTreeSet<_>>().len(), any.len()), (count, 5), "{layout}, {step}");
                }
            }
            assert_eq!(client.run("SCARD s"), format!(":{}", model.len()), "{layout}, {step}");
        }
    }
}

/// What another instance adds is not known until its part is read: nothing is drawn that is not there, and soon everything is fair again.
#[test]
fn members_that_another_instance_adds_and_removes_are_drawn_and_not_drawn() {
    let store = MemoryStore::new();
    let (mut client, mut all) = filled(Client::on(&store), SIZE);
    let mut other = Client::on(&store);
    draw(&mut client, "SRANDMEMBER s", 50);
    let (gone, new) = (members(2000..2900), (0..900).map(|number| format!("{}+{number}", member(4000))).collect::<Vec<_>>());
    remove(&mut other, &gone);
    add(&mut other, &new);
    take_out(&mut all, &gone);
    all.extend(new);
    assert!(draw(&mut client, "SRANDMEMBER s", 1000).iter().all(|member| all.contains(member)));
    assert_fair(&all, &draw(&mut client, "SRANDMEMBER s", DRAWS), "once the parts have been read");
}

#[test]
fn a_draw_after_the_first_two_reads_some_tens_of_records_however_many_there_are() {
    let foreign = NAMES[1..].iter().map(|layout| (layout, 6000));
    for (layout, size) in [(&NAMES[0], 10_000), (&NAMES[0], 100_000)].into_iter().chain(foreign) {
        let store = MemoryStore::new();
        filled(Client::on_layout(&store, layout), size);
        let mut measured = Measured::on_layout(store, layout);
        for (command, draws) in [("SRANDMEMBER s", 1), ("SRANDMEMBER s 9", 9), ("SPOP s", 1), ("HRANDFIELD h", 1), ("HRANDFIELD h -9", 9)] {
            // Ardb does not say how many fields a hash has: they are counted for each draw.
            if *layout == "ardb" && command.contains(" h") {
                continue;
            }
            for _ in 0..2 {
                let (early, _) = measured.cost_of(command);
                assert!(early.records_read <= size + draws * OF_A_DRAW, "{layout}: {command}: {early:?}");
            }
            for _ in 0..50 {
                let (cost, reply) = measured.cost_of(command);
                assert_eq!(drawn(&reply).len(), draws);
                // A try fails now and then, where members were popped.
                assert!(cost.records_read <= (draws + 3) * OF_A_DRAW, "{layout}, {size}: {command}: {cost:?}");
            }
        }
        // Changes in between cost it little.
        let (mut reads, rounds) = (0, 100);
        for round in 0..rounds {
            measured.client.run(&format!("SADD s {}", members(size + round * 20..size + round * 20 + 20).join(" ")));
            measured.client.run(&format!("SREM s {}", members(round * 20..round * 20 + 20).join(" ")));
            reads += measured.cost_of("SPOP s").0.records_read;
        }
        assert!(reads / rounds <= 2 * OF_A_DRAW, "{layout}, {size}: {reads}");
    }
}

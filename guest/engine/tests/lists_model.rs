//! Random list commands against a plain model, with the engine opened again on the way.
#![allow(clippy::unwrap_used)]

mod common;

use common::Client;
use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::session::Engine;
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// What one step does.
#[derive(Clone, Debug)]
enum Step {
    Push { key: &'static str, head: bool, elements: Vec<u8> },
    Pop { key: &'static str, head: bool, count: usize },
    PopFirst { head: bool, count: usize },
    Move { from: &'static str, to: &'static str, from_head: bool, to_head: bool },
    Set { key: &'static str, position: i64, element: u8 },
    Insert { key: &'static str, before: bool, pivot: u8, element: u8 },
    Remove { key: &'static str, count: i64, element: u8 },
    Trim { key: &'static str, start: i64, stop: i64 },
    Range { key: &'static str, start: i64, stop: i64 },
    Positions { key: &'static str, element: u8, rank: i64, max_compared: usize },
    Reopen,
}

const KEYS: [&str; 2] = ["a", "b"];

fn step() -> impl Strategy<Value = Step> {
    let key = || prop::sample::select(&KEYS[..]);
    let element = || 0..6_u8;
    let position = || prop_oneof![8 => -12..12_i64, 1 => -700..700_i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
    let count = || prop_oneof![8 => 1..6_usize, 1 => 1..700_usize];
    // Now and then so many that they are read in pages and removed as a range.
    let elements = prop_oneof![10 => prop::collection::vec(element(), 1..8), 1 => prop::collection::vec(element(), 300..600)];
    prop_oneof![
        8 => (key(), any::<bool>(), elements).prop_map(|(key, head, elements)| Step::Push { key, head, elements }),
        3 => (key(), any::<bool>(), count()).prop_map(|(key, head, count)| Step::Pop { key, head, count }),
        1 => (any::<bool>(), count()).prop_map(|(head, count)| Step::PopFirst { head, count }),
        3 => (key(), key(), any::<bool>(), any::<bool>())
            .prop_map(|(from, to, from_head, to_head)| Step::Move { from, to, from_head, to_head }),
        2 => (key(), position(), element()).prop_map(|(key, position, element)| Step::Set { key, position, element }),
        4 => (key(), any::<bool>(), element(), element())
            .prop_map(|(key, before, pivot, element)| Step::Insert { key, before, pivot, element }),
        3 => (key(), -4..5_i64, element()).prop_map(|(key, count, element)| Step::Remove { key, count, element }),
        1 => (key(), position(), position()).prop_map(|(key, start, stop)| Step::Trim { key, start, stop }),
        2 => (key(), position(), position()).prop_map(|(key, start, stop)| Step::Range { key, start, stop }),
        2 => (key(), element(), prop_oneof![-3..0_i64, 1..4_i64], 0..20_usize)
            .prop_map(|(key, element, rank, max_compared)| Step::Positions { key, element, rank, max_compared }),
        1 => Just(Step::Reopen),
    ]
}

type Lists = BTreeMap<&'static str, VecDeque<u8>>;

/// The positions that a list of `length` elements has from `start` to `stop`.
fn cut(start: i64, stop: i64, length: usize) -> std::ops::Range<usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let from_head = |position: i64| if position < 0 { position.saturating_add(length) } else { position };
    let start = from_head(start).max(0);
    let end = from_head(stop).saturating_add(1).min(length);
    let index = |position: i64| usize::try_from(position).unwrap_or(0);
    if start < end { index(start)..index(end) } else { 0..0 }
}

fn pop(list: &mut VecDeque<u8>, head: bool) -> Option<u8> {
    if head { list.pop_front() } else { list.pop_back() }
}

fn push(list: &mut VecDeque<u8>, head: bool, element: u8) {
    if head { list.push_front(element) } else { list.push_back(element) }
}

fn bulks(elements: impl IntoIterator<Item = u8>) -> String {
    let texts: Vec<String> = elements.into_iter().map(|element| format!(" $1 {element}")).collect();
    format!("*{}{}", texts.len(), texts.concat())
}

fn end(head: bool) -> &'static str {
    if head { "LEFT" } else { "RIGHT" }
}

fn initial(head: bool) -> &'static str {
    if head { "L" } else { "R" }
}

/// Changes the model and tells the command with its reply.
fn apply(lists: &mut Lists, step: &Step) -> (String, String) {
    let mut absent = VecDeque::new();
    match step {
        Step::Push { key, head, elements } => {
            let list = lists.entry(key).or_default();
            elements.iter().for_each(|&element| push(list, *head, element));
            let words: Vec<String> = elements.iter().map(u8::to_string).collect();
            (format!("{}PUSH {key} {}", initial(*head), words.join(" ")), format!(":{}", list.len()))
        }
        Step::Pop { key, head, count } => {
            let command = format!("{}POP {key} {count}", initial(*head));
            let Some(list) = lists.get_mut(key) else { return (command, "*-1".into()) };
            let popped: Vec<u8> = (0..*count).map_while(|_| pop(list, *head)).collect();
            (command, bulks(popped))
        }
        Step::PopFirst { head, count } => {
            let command = format!("LMPOP 2 {} {} {} COUNT {count}", KEYS[0], KEYS[1], end(*head));
            let Some((key, list)) = lists.iter_mut().next() else { return (command, "*-1".into()) };
            let popped: Vec<u8> = (0..*count).map_while(|_| pop(list, *head)).collect();
            (command, format!("*2 $1 {key} {}", bulks(popped)))
        }
        Step::Move { from, to, from_head, to_head } => {
            let command = format!("LMOVE {from} {to} {} {}", end(*from_head), end(*to_head));
            let Some(element) = lists.get_mut(from).and_then(|list| pop(list, *from_head)) else { return (command, "$-1".into()) };
            push(lists.entry(to).or_default(), *to_head, element);
            (command, format!("$1 {element}"))
        }
        Step::Set { key, position, element } => {
            let command = format!("LSET {key} {position} {element}");
            let Some(list) = lists.get_mut(key) else { return (command, "-ERR no such key".into()) };
            let range = cut(*position, *position, list.len());
            let reply = if range.is_empty() { "-ERR index out of range" } else { "+OK" };
            list.range_mut(range).for_each(|at| *at = *element);
            (command, reply.into())
        }
        Step::Insert { key, before, pivot, element } => {
            let command = format!("LINSERT {key} {} {pivot} {element}", if *before { "BEFORE" } else { "AFTER" });
            let Some(list) = lists.get_mut(key) else { return (command, ":0".into()) };
            let Some(found) = list.iter().position(|at| at == pivot) else { return (command, ":-1".into()) };
            list.insert(if *before { found } else { found + 1 }, *element);
            (command, format!(":{}", list.len()))
        }
        Step::Remove { key, count, element } => {
            let list = lists.get_mut(key).unwrap_or(&mut absent);
            let length = list.len();
            let mut left = if *count == 0 { u64::MAX } else { count.unsigned_abs() };
            let mut stays = |at: &u8| {
                let goes = at == element && left > 0;
                left -= u64::from(goes);
                !goes
            };
            *list = if *count < 0 {
                let kept: VecDeque<u8> = list.iter().rev().copied().filter(|at| stays(at)).collect();
                kept.into_iter().rev().collect()
            } else {
                list.iter().copied().filter(|at| stays(at)).collect()
            };
            (format!("LREM {key} {count} {element}"), format!(":{}", length - list.len()))
        }
        Step::Trim { key, start, stop } => {
            let list = lists.get_mut(key).unwrap_or(&mut absent);
            *list = list.range(cut(*start, *stop, list.len())).copied().collect();
            (format!("LTRIM {key} {start} {stop}"), "+OK".into())
        }
        Step::Range { key, start, stop } => {
            let list = lists.get(key).unwrap_or(&absent);
            (format!("LRANGE {key} {start} {stop}"), bulks(list.range(cut(*start, *stop, list.len())).copied()))
        }
        Step::Positions { key, element, rank, max_compared } => {
            let list = lists.get(key).unwrap_or(&absent);
            let most = if *max_compared == 0 { usize::MAX } else { *max_compared };
            let skipped = usize::try_from(rank.unsigned_abs() - 1).unwrap_or(usize::MAX);
            let all = list.iter().enumerate();
            let visited: Vec<(usize, &u8)> = if *rank < 0 { all.rev().take(most).collect() } else { all.take(most).collect() };
            let found = visited.into_iter().filter(|(_, at)| *at == element).skip(skipped);
            let positions: Vec<String> = found.map(|(position, _)| format!(" :{position}")).collect();
            let command = format!("LPOS {key} {element} RANK {rank} COUNT 0 MAXLEN {max_compared}");
            (command, format!("*{}{}", positions.len(), positions.concat()))
        }
        Step::Reopen => (format!("LLEN {}", KEYS[0]), format!(":{}", lists.get(KEYS[0]).map_or(0, VecDeque::len))),
    }
}

/// How many records a keyspace holds.
fn records(store: &MemoryStore, keyspace: &str) -> usize {
    store.contents().into_iter().filter(|(name, _)| name == keyspace).map(|(_, records)| records.len()).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn lists_do_what_a_plain_model_does(steps in prop::collection::vec(step(), 1..80)) {
        let store = MemoryStore::new();
        let lists = live(&steps, || Client::on(&store))?;
        // Only lists that were trimmed to nothing leave elements to be swept, as DEL does.
        let trims = steps.iter().any(|step| matches!(step, Step::Trim { .. }));
        prop_assert!(trims || records(&store, "garbage") == 0);
        let mut engine = Engine::open(Box::new(store.clone()), Box::new(HeldEnvironment::new(0, 0)), Settings::default()).unwrap();
        while engine.sweep(1000).unwrap().more {}
        prop_assert_eq!(records(&store, "data"), lists.values().map(VecDeque::len).sum::<usize>());
        prop_assert_eq!((records(&store, "meta"), records(&store, "garbage")), (lists.len(), 0));
    }

    #[test]
    fn lists_that_are_spread_do_what_a_plain_model_does(steps in prop::collection::vec(step(), 1..80)) {
        let store = MemoryStore::new();
        let lists = live(&steps, || Client::on_layout(&store, "ardb"))?;
        prop_assert_eq!(records(&store, "0"), lists.values().map(|list| list.len() + 1).sum::<usize>());
    }
}

/// Takes the steps, with a client that `open` gives at first and at each reopening. Returns what the lists are in the end.
fn live(steps: &[Step], open: impl Fn() -> Client) -> Result<Lists, TestCaseError> {
    let mut client = open();
    let mut lists = Lists::new();
    for step in steps {
        if matches!(step, Step::Reopen) {
            client = open();
        }
        let (command, reply) = apply(&mut lists, step);
        lists.retain(|_, list| !list.is_empty());
        prop_assert_eq!(client.run(&command), reply, "{}", command);
    }
    for (key, list) in &lists {
        prop_assert_eq!(client.run(&format!("LRANGE {key} 0 -1")), bulks(list.iter().copied()));
    }
    Ok(lists)
}

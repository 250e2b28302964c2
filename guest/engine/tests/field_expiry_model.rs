//! Random hash commands with fields that expire against a plain model: the clock jumps, the sweep runs, the engine is opened again.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;
mod keeper;

use common::Client;
use keeper::Keeper;
use orbweaver_engine::store::MemoryStore;
use proptest::prelude::*;
use std::collections::BTreeMap;

const KEYS: [&str; 2] = ["a", "b"];
const CONDITIONS: [&str; 5] = ["", "NX", "XX", "GT", "LT"];
/// Fields `f0` to `f11`.
const FIELDS: u8 = 12;

/// What one step does.
#[derive(Clone, Debug)]
enum Step {
    Set { key: &'static str, fields: Vec<u8> },
    SetNew { key: &'static str, field: u8 },
    Add { key: &'static str, field: u8 },
    Remove { key: &'static str, fields: Vec<u8> },
    Expire { key: &'static str, ms: u64, condition: &'static str, fields: Vec<u8> },
    Persist { key: &'static str, fields: Vec<u8> },
    ExpireKey { key: &'static str, ms: u64 },
    Rename { from: &'static str, to: &'static str },
    Copy { from: &'static str, to: &'static str },
    Delete { key: &'static str },
    Wait { ms: u64 },
    Sweep { budget: usize },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || prop::sample::select(&KEYS[..]);
    let field = || 0..FIELDS;
    let fields = || prop::collection::vec(field(), 1..8);
    let condition = prop::sample::select(&CONDITIONS[..]);
    prop_oneof![
        4 => (key(), fields()).prop_map(|(key, fields)| Step::Set { key, fields }),
        1 => (key(), field()).prop_map(|(key, field)| Step::SetNew { key, field }),
        1 => (key(), field()).prop_map(|(key, field)| Step::Add { key, field }),
        2 => (key(), fields()).prop_map(|(key, fields)| Step::Remove { key, fields }),
        6 => (key(), 0..40_u64, condition, fields())
            .prop_map(|(key, ms, condition, fields)| Step::Expire { key, ms, condition, fields }),
        1 => (key(), fields()).prop_map(|(key, fields)| Step::Persist { key, fields }),
        1 => (key(), 1..60_u64).prop_map(|(key, ms)| Step::ExpireKey { key, ms }),
        1 => (key(), key()).prop_map(|(from, to)| Step::Rename { from, to }),
        1 => (key(), key()).prop_map(|(from, to)| Step::Copy { from, to }),
        1 => key().prop_map(|key| Step::Delete { key }),
        4 => (0..30_u64).prop_map(|ms| Step::Wait { ms }),
        2 => prop::sample::select(&[1, 3, 50][..]).prop_map(|budget| Step::Sweep { budget }),
        1 => Just(Step::Reopen),
    ]
}

#[derive(Clone, Debug, Default)]
struct Hash {
    expire_at: Option<u64>,
    /// Value and expiry of each field.
    fields: BTreeMap<u8, (u64, Option<u64>)>,
}

#[derive(Default)]
struct Model {
    hashes: BTreeMap<&'static str, Hash>,
    now: u64,
    /// Gives every write another value.
    writes: u64,
}

fn words(fields: &[u8]) -> String {
    fields.iter().map(|field| format!(" f{field}")).collect()
}

fn integers(numbers: impl IntoIterator<Item = i64>) -> String {
    let texts: Vec<String> = numbers.into_iter().map(|number| format!(" :{number}")).collect();
    format!("*{}{}", texts.len(), texts.concat())
}

fn bulk(text: &str) -> String {
    format!("${} {text}", text.len())
}

impl Model {
    /// Leaves out what is past its time.
    fn settle(&mut self) {
        let now = self.now;
        let is_past = |at: Option<u64>| at.is_some_and(|at| now > at);
        self.hashes.retain(|_, hash| {
            hash.fields.retain(|_, (_, at)| !is_past(*at));
            !is_past(hash.expire_at) && !hash.fields.is_empty()
        });
    }

    fn fields(&mut self, key: &'static str) -> &mut BTreeMap<u8, (u64, Option<u64>)> {
        &mut self.hashes.entry(key).or_default().fields
    }

    fn expire(&mut self, key: &'static str, ms: u64, condition: &str, fields: &[u8]) -> Vec<i64> {
        let (now, new) = (self.now, self.now + ms);
        let hash = self.fields(key);
        let mut expire = |field: &u8| {
            let Some((_, old)) = hash.get_mut(field) else { return -2 };
            let allowed = match condition {
                "NX" => old.is_none(),
                "XX" => old.is_some(),
                "GT" => old.is_some_and(|old| new > old),
                "LT" => old.is_none_or(|old| new < old),
                _ => true,
            };
            if allowed && new <= now {
                hash.remove(field);
                return 2;
            }
            if allowed {
                *old = Some(new);
            }
            i64::from(allowed)
        };
        fields.iter().map(&mut expire).collect()
    }

    /// Changes the model and tells the command with its reply; `None` for what is no command.
    fn apply(&mut self, step: &Step) -> Option<(String, String)> {
        self.writes += 1;
        let value = self.writes;
        Some(match step {
            Step::Set { key, fields } => {
                let hash = self.fields(key);
                let before = hash.len();
                hash.extend(fields.iter().map(|field| (*field, (value, None))));
                let pairs: String = fields.iter().map(|field| format!(" f{field} {value}")).collect();
                (format!("HSET {key}{pairs}"), format!(":{}", hash.len() - before))
            }
            Step::SetNew { key, field } => {
                let hash = self.fields(key);
                let is_new = !hash.contains_key(field);
                hash.entry(*field).or_insert((value, None));
                (format!("HSETNX {key} f{field} {value}"), format!(":{}", u8::from(is_new)))
            }
            Step::Add { key, field } => {
                let own = self.fields(key).entry(*field).or_default();
                own.0 += 3;
                (format!("HINCRBY {key} f{field} 3"), format!(":{}", own.0))
            }
            Step::Remove { key, fields } => {
                let hash = self.fields(key);
                let removed = fields.iter().filter(|field| hash.remove(field).is_some()).count();
                (format!("HDEL {key}{}", words(fields)), format!(":{removed}"))
            }
            Step::Expire { key, ms, condition, fields } => {
                let command = format!("HPEXPIRE {key} {ms} {condition} FIELDS {}{}", fields.len(), words(fields));
                (command, integers(self.expire(key, *ms, condition, fields)))
            }
            Step::Persist { key, fields } => {
                let hash = self.fields(key);
                let mut persist = |field: &u8| match hash.get_mut(field) {
                    None => -2,
                    Some((_, at)) => at.take().map_or(-1, |_| 1),
                };
                let answers: Vec<i64> = fields.iter().map(&mut persist).collect();
                (format!("HPERSIST {key} FIELDS {}{}", fields.len(), words(fields)), integers(answers))
            }
            Step::ExpireKey { key, ms } => {
                let at = self.now + ms;
                let hash = self.hashes.get_mut(key);
                let reply = format!(":{}", u8::from(hash.is_some()));
                hash.into_iter().for_each(|hash| hash.expire_at = Some(at));
                (format!("PEXPIRE {key} {ms}"), reply)
            }
            Step::Rename { from, to } => {
                let command = format!("RENAME {from} {to}");
                let Some(hash) = self.hashes.remove(from) else { return Some((command, "-ERR no such key".into())) };
                self.hashes.insert(to, hash);
                (command, "+OK".into())
            }
            Step::Copy { from, to } if from == to => return None,
            Step::Copy { from, to } => {
                let hash = self.hashes.get(from).cloned();
                let reply = format!(":{}", u8::from(hash.is_some()));
                hash.into_iter().for_each(|hash| drop(self.hashes.insert(to, hash)));
                (format!("COPY {from} {to} REPLACE"), reply)
            }
            Step::Delete { key } => (format!("DEL {key}"), format!(":{}", u8::from(self.hashes.remove(key).is_some()))),
            Step::Wait { ms } => {
                self.now += ms;
                return None;
            }
            Step::Sweep { .. } | Step::Reopen => return None,
        })
    }

    /// What commands that read must answer.
    fn questions(&self, key: &'static str) -> Vec<(String, String)> {
        let absent = Hash::default();
        let hash = self.hashes.get(key).unwrap_or(&absent);
        let mut sorted: Vec<(String, u64)> = hash.fields.iter().map(|(field, (value, _))| (format!("f{field}"), *value)).collect();
        sorted.sort();
        let pairs: Vec<String> = sorted.iter().map(|(field, value)| format!(" {} {}", bulk(field), bulk(&value.to_string()))).collect();
        let all: Vec<u8> = (0..FIELDS).collect();
        let ttl = |field: &u8| match hash.fields.get(field) {
            None => -2,
            Some((_, None)) => -1,
            Some((_, Some(at))) => i64::try_from(at - self.now).unwrap(),
        };
        vec![
            (format!("EXISTS {key}"), format!(":{}", u8::from(!hash.fields.is_empty()))),
            (format!("HLEN {key}"), format!(":{}", hash.fields.len())),
            (format!("HGETALL {key}"), format!("*{}{}", 2 * pairs.len(), pairs.concat())),
            (format!("HPTTL {key} FIELDS {FIELDS}{}", words(&all)), integers(all.iter().map(ttl))),
        ]
    }
}

fn client_at(store: &MemoryStore, now: u64) -> Client {
    let mut client = Client::on(store);
    client.wait_ms(now);
    client
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn fields_expire_as_in_a_plain_model(steps in prop::collection::vec(step(), 1..60)) {
        let store = MemoryStore::new();
        let mut keeper = Keeper::over(store.clone(), store.clone());
        let mut client = client_at(&store, 0);
        let mut model = Model::default();
        for step in &steps {
            let asked = model.apply(step);
            model.settle();
            match (step, asked) {
                (_, Some((command, reply))) => prop_assert_eq!(client.run(&command), reply, "{}", command),
                (Step::Wait { ms }, None) => {
                    client.wait_ms(*ms);
                    keeper.now_ms.set(keeper.now_ms.get() + ms);
                }
                (Step::Sweep { budget }, None) => drop(keeper.engine.sweep(*budget).unwrap()),
                _ => client = client_at(&store, model.now),
            }
            for (question, answer) in KEYS.into_iter().flat_map(|key| model.questions(key)) {
                prop_assert_eq!(client.run(&question), answer, "{} after {:?}", question, step);
            }
            prop_assert_eq!(client.run("DBSIZE"), format!(":{}", model.hashes.len()));
            prop_assert_eq!(keeper.check(1000), Vec::<String>::new(), "after {:?}", step);
        }
        prop_assert_eq!(keeper.check(3), Vec::<String>::new());
        // The sweep leaves what is live, and nothing else.
        keeper.sweep(5);
        let fields: usize = model.hashes.values().map(|hash| hash.fields.len()).sum();
        let expiring = |hash: &Hash| hash.fields.values().filter(|(_, at)| at.is_some()).count();
        let index: usize = model.hashes.values().map(|hash| expiring(hash) + expiring(hash).min(1)).sum();
        let expiries = model.hashes.values().filter(|hash| hash.expire_at.is_some()).count();
        let expected = format!("meta {}, data {fields}, score 0, expiry {expiries}, garbage 0, field-expiry {index}, rank 0", model.hashes.len());
        prop_assert_eq!(keeper.sizes(), expected);
        for (question, answer) in KEYS.into_iter().flat_map(|key| model.questions(key)) {
            prop_assert_eq!(client.run(&question), answer, "{} after the sweep", question);
        }
        // A dump and what is loaded from it say the same.
        let dump = keeper.dump(100);
        let mut other = Keeper::new();
        other.now_ms.set(keeper.now_ms.get());
        other.load(&dump);
        prop_assert_eq!(other.dump(1 << 20), dump);
        prop_assert_eq!(other.check(1000), Vec::<String>::new());
    }
}

//! The engine on a store beside the model, with the engine and the store opened again on the way.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use orbweaver_engine::environment::{Environment, HeldEnvironment};
use orbweaver_engine::layout;
use orbweaver_engine::resp::{Value, render_human};
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;
use orbweaver_engine::store::conformance::Subject;

use super::Model;
use super::generator::Generator;
use crate::client::{Args, args, encode_command};
use crate::compare::{Exchange, Watch, same};
use crate::engine_target::decode_all;
use crate::layouts::fit::Fit;
use crate::layouts::refusals;
use crate::sequence::Step;

const CONNECTION: u64 = 1;
const START_MS: u64 = 1_700_000_000_000;
/// Records in one step of a check or a sweep.
const BUDGET: usize = 500;

/// How much to try, and how.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Where the random sequence starts.
    pub seed: u64,
    /// At least so many commands.
    pub commands: usize,
    /// At most so many commands are delivered together, so that they share transactions and see each other's writes in the overlay.
    /// 1: each has a transaction of its own, and reads what the store has.
    pub together: usize,
    /// After so many commands everything is closed, opened again, and compared and checked as a whole.
    pub reopen_after: usize,
}

#[derive(Clone)]
struct Clock {
    now_ms: Rc<Cell<u64>>,
    random: HeldEnvironment,
}

impl Environment for Clock {
    fn now_us(&self) -> u64 {
        self.now_ms.get() * 1000
    }

    fn random(&mut self) -> u64 {
        self.random.random()
    }
}

/// Runs random commands on an engine over the subject's store and on the model.
///
/// # Panics
/// When a reply differs, when the data differs after reopening, or when a check finds something.
pub fn prove(subject: &mut dyn Subject, plan: Plan) {
    prove_on(&Settings::default(), subject, plan);
}

/// As [`prove`], with the layout of the settings. What it refuses is left out; returns how many commands that were.
///
/// # Panics
/// As [`prove`].
pub fn prove_on(settings: &Settings, subject: &mut dyn Subject, plan: Plan) -> usize {
    let layout = layout::open(settings, &mut MemoryStore::new()).expect("an empty store opens");
    let rules = layout.expiry_rules();
    let kind = Layout { settings: settings.clone(), fit: Fit::of(layout.as_ref()), has_namespaces: !layout.namespaces().is_empty() };
    let now_ms = Rc::new(Cell::new(START_MS));
    let (mut generator, mut model) = (Generator::new(plan.seed, rules.unit_ms), Model::new(START_MS, rules));
    let mut refused = 0;
    for done in (0..plan.commands).step_by(plan.reopen_after) {
        let mut run = Run::open(subject, &now_ms, plan, &kind);
        run.compare_everything(&mut model);
        let mut left = plan.reopen_after;
        while left > 0 {
            if generator.below(20) == 0 {
                run.wait(&mut model, generator.below(1500));
            }
            if generator.below(100) == 0 {
                run.sweep_some();
            }
            let count = (1 + generator.below(plan.together)).min(left);
            let mut commands: Vec<Args> = (0..count).map(|_| generator.command(now_ms.get())).collect();
            commands.iter_mut().for_each(|command| kind.fit.apply_to_one(generator.number(), command));
            run.compare(&mut model, &commands);
            left -= count;
        }
        run.check();
        if done + plan.reopen_after >= plan.commands {
            run.compare_everything(&mut model);
        }
        refused += run.refused;
        drop(run);
        subject.reopen().expect("the store opens again");
    }
    refused
}

/// What is opened, and what that means for commands and replies.
struct Layout {
    settings: Settings,
    fit: Fit,
    has_namespaces: bool,
}

struct Run<'r> {
    engine: Engine,
    now_ms: Rc<Cell<u64>>,
    plan: Plan,
    layout: &'r Layout,
    /// How many commands the layout had no room for.
    refused: usize,
}

impl<'r> Run<'r> {
    fn open(subject: &dyn Subject, now_ms: &Rc<Cell<u64>>, plan: Plan, layout: &'r Layout) -> Self {
        let store = subject.handle().expect("the store gives a handle");
        let clock = Clock { now_ms: Rc::clone(now_ms), random: HeldEnvironment::new(0, plan.seed) };
        let mut engine = Engine::open(store, Box::new(clock), layout.settings.clone()).expect("the engine opens");
        engine.connect(CONNECTION, "model", None);
        Self { engine, now_ms: Rc::clone(now_ms), plan, layout, refused: 0 }
    }

    fn wait(&mut self, model: &mut Model, ms: usize) {
        self.now_ms.set(self.now_ms.get() + u64::try_from(ms).expect("a short time"));
        model.wait_until(self.now_ms.get());
    }

    fn sweep_some(&mut self) {
        self.engine.sweep(BUDGET).expect("the store works");
    }

    /// Delivers the commands together, and compares the replies with the model's.
    fn compare(&mut self, model: &mut Model, commands: &[Args]) {
        let input: Bytes = commands.iter().flat_map(|command| encode_command(command)).collect();
        let answer = self.engine.exchange(&[Delivery { connection: CONNECTION, input }]).answers.remove(0);
        let replies = decode_all(&answer.output.into(), commands.len()).expect("one reply for each command");
        for (position, (command, reply)) in commands.iter().zip(replies).enumerate() {
            if refusals::text_of(&reply).is_some() {
                self.refused += 1;
                continue;
            }
            let expected = model.apply(command);
            if !self.is_as_expected(command, &reply, &expected) {
                let script: String = commands[..=position].iter().map(|command| format!("{}\n", Step::new(command.clone()))).collect();
                panic!("{:?}\n{script}got\n{}expected\n{}", self.plan, render_human(&reply), render_human(&expected));
            }
        }
    }

    /// The default layout answers in byte order, and exactly.
    fn is_as_expected(&self, command: &Args, reply: &Value, expected: &Value) -> bool {
        let is_default = self.layout.settings.layout == layout::NAMES[0];
        let exchange = Exchange { command, redis: expected, other: reply, watch: Watch::Nothing };
        reply == expected || !is_default && same(&exchange, None)
    }

    /// Reads all keys, and compares them with the model's.
    fn compare_everything(&mut self, model: &mut Model) {
        self.compare(model, &[args(["DBSIZE"]), args(["KEYS", "*"])]);
        let Value::Array(keys) = model.apply(&args(["KEYS", "*"])) else { panic!("KEYS has an array") };
        for key in keys {
            let Value::Bulk(key) = key else { panic!("a key is a bulk") };
            let of_key = |words: &[&str]| -> Args {
                let (name, rest) = words.split_first().expect("a command has a name");
                [Vec::from(*name), key.to_vec()].into_iter().chain(rest.iter().map(|word| Vec::from(*word))).collect()
            };
            // All but one of the reads are answered with WRONGTYPE, by both.
            let reads = [
                &["TYPE"][..],
                &["PEXPIRETIME"],
                &["GET"],
                &["HGETALL"],
                &["HLEN"],
                &["LRANGE", "0", "-1"],
                &["LLEN"],
                &["SMEMBERS"],
                &["SCARD"],
                &["ZRANGE", "0", "-1", "WITHSCORES"],
                &["ZCARD"],
            ];
            let mut reads = reads.map(of_key).to_vec();
            // What is wrong in one namespace is nothing in several.
            reads.retain(|read| !self.layout.has_namespaces || !matches!(model.apply(read), Value::Error(_)));
            self.compare(model, &reads);
        }
    }

    fn check(&mut self) {
        let mut cursor = Vec::new();
        loop {
            let found = self.engine.check(&mut cursor, BUDGET).expect("the store works");
            assert!(found.is_empty(), "{:?}: {found:?}", self.plan);
            if cursor.is_empty() {
                return;
            }
        }
    }
}

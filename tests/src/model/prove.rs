//! The engine on a store beside the model, with the engine and the store opened again on the way.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use orbweaver_engine::environment::{Environment, HeldEnvironment};
use orbweaver_engine::resp::{Value, render_human};
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::conformance::Subject;

use super::Model;
use super::generator::Generator;
use crate::client::{Args, args, encode_command};
use crate::engine_target::decode_all;
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
    let now_ms = Rc::new(Cell::new(START_MS));
    let (mut generator, mut model) = (Generator::new(plan.seed), Model::new(START_MS));
    for done in (0..plan.commands).step_by(plan.reopen_after) {
        let mut run = Run::open(subject, &now_ms, plan);
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
            let commands: Vec<Args> = (0..count).map(|_| generator.command(now_ms.get())).collect();
            run.compare(&mut model, &commands);
            left -= count;
        }
        run.check();
        if done + plan.reopen_after >= plan.commands {
            run.compare_everything(&mut model);
        }
        drop(run);
        subject.reopen().expect("the store opens again");
    }
}

struct Run {
    engine: Engine,
    now_ms: Rc<Cell<u64>>,
    plan: Plan,
}

impl Run {
    fn open(subject: &dyn Subject, now_ms: &Rc<Cell<u64>>, plan: Plan) -> Self {
        let store = subject.handle().expect("the store gives a handle");
        let clock = Clock { now_ms: Rc::clone(now_ms), random: HeldEnvironment::new(0, plan.seed) };
        let mut engine = Engine::open(store, Box::new(clock), Settings::default()).expect("the engine opens");
        engine.connect(CONNECTION, "model", None);
        Self { engine, now_ms: Rc::clone(now_ms), plan }
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
            let expected = model.apply(command);
            if reply != expected {
                let script: String = commands[..=position].iter().map(|command| format!("{}\n", Step::new(command.clone()))).collect();
                panic!("{:?}\n{script}got\n{}expected\n{}", self.plan, render_human(&reply), render_human(&expected));
            }
        }
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
            self.compare(model, &reads.map(of_key));
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

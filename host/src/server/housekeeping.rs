//! What a server does beside its clients: the sweep, and what it tells of itself.

use super::clients::Clients;
use super::facts::Facts;
use super::options::ServerOptions;
use crate::runtime::Orbweaver;
use orbweaver_engine::environment::{SystemEnvironment, random_below};
use std::time::{Duration, Instant};

/// Records in one step: a few milliseconds at most.
const SWEEP_BUDGET: u32 = 1000;
/// How long the sweep rests after an error.
const SWEEP_REST: Duration = Duration::from_secs(10);
/// How often facts are told and silent connections are looked for.
const TELL_PERIOD: Duration = Duration::from_secs(1);

/// When what is due.
pub struct Housekeeping {
    facts: Facts,
    idle_timeout: Option<Duration>,
    /// The store may be written, and nobody else sweeps it.
    sweeps: bool,
    sweep_period: Duration,
    random: SystemEnvironment,
    next_sweep: Instant,
    /// The last step left something to do.
    more_to_sweep: bool,
    next_tell: Instant,
}

impl Housekeeping {
    /// Of the worker with that number: the first one sweeps.
    pub fn new(worker: usize, facts: Facts, options: &ServerOptions) -> Self {
        let now = Instant::now();
        let (idle_timeout, sweeps) = (options.idle_timeout, worker == 0 && !options.read_only);
        let (sweep_period, random) = (options.sweep_period, SystemEnvironment::default());
        Self { facts, idle_timeout, sweeps, sweep_period, random, next_sweep: now, more_to_sweep: false, next_tell: now }
    }

    /// How long the server may wait for its clients.
    pub fn patience(&self) -> Duration {
        if self.more_to_sweep { Duration::ZERO } else { self.next_sweep.saturating_duration_since(Instant::now()) }
    }

    /// Does what is due. `served` says whether clients were served in this turn: they go before the sweep. Returns whether keys
    /// or fields have expired, so that somebody may have to be told.
    pub fn work(&mut self, orbweaver: &mut Orbweaver, clients: &mut Clients, served: bool) -> bool {
        let now = Instant::now();
        if now >= self.next_tell {
            self.next_tell = now + TELL_PERIOD;
            clients.close_silent(self.idle_timeout, orbweaver);
            clients.keep_within_memory(orbweaver);
            orbweaver.tell(self.facts.now());
        }
        if now < self.next_sweep && (!self.more_to_sweep || served) {
            return false;
        }
        self.next_sweep = now + self.time_to_next_sweep();
        self.sweeps && self.sweep(orbweaver)
    }

    /// From half the period to one and a half: servers that share a store do not stay in step.
    fn time_to_next_sweep(&mut self) -> Duration {
        let period_us = u64::try_from(self.sweep_period.as_micros()).unwrap_or(u64::MAX);
        self.sweep_period / 2 + Duration::from_micros(random_below(&mut self.random, period_us))
    }

    /// One step of the sweep. Returns whether keys or fields have expired.
    fn sweep(&mut self, orbweaver: &mut Orbweaver) -> bool {
        match orbweaver.sweep(SWEEP_BUDGET) {
            Ok(swept) => {
                let something = swept.expired_keys + swept.records + swept.ranges > 0;
                // More to do and nothing done: another server sweeps the same, and goes first.
                self.more_to_sweep = swept.more && something;
                swept.expired_keys + swept.records > 0
            }
            Err(error) => {
                tracing::error!("the sweep failed and rests for {} seconds: {error}", SWEEP_REST.as_secs());
                self.more_to_sweep = false;
                self.next_sweep += SWEEP_REST;
                false
            }
        }
    }
}

//! How servers on one store get into each other's way: a simulation, the same for the same seed.
//!
//! The model is that of Orbweaver's servers. A server takes the requests of all its clients as one group, reads in one round trip,
//! and commits in another. The store commits one group after the other, each in `store_us`; it refuses a group one of whose keys
//! another server has changed since the group read it. Then the server waits, a random part of a bound that doubles with each
//! refusal in a row, and runs the group again. Each client sends its next request when it has its reply.

mod chart;
mod table;

use anyhow::Result;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::path::Path;

/// What is simulated. Times in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Servers on the store.
    pub servers: usize,
    /// Clients of each server; each has one request under way.
    pub clients: usize,
    /// Keys that all clients write. The others are so many that no two requests meet.
    pub hot_keys: usize,
    /// Requests in a hundred that go to hot keys.
    pub hot_percent: u32,
    /// From a server to the store and back, to read: on average, each way up to a half more or less.
    pub read_us: u64,
    /// The same for a commit.
    pub commit_us: u64,
    /// How long the store is busy with one commit.
    pub store_us: u64,
    /// How long it goes on.
    pub duration_us: u64,
    /// What the random numbers begin with.
    pub seed: u64,
}

impl Model {
    /// A store in the same building: half a millisecond there and back, two for a commit that is on several disks.
    const NEAR: Self = Self {
        servers: 1,
        clients: 16,
        hot_keys: 1,
        hot_percent: 20,
        read_us: 500,
        commit_us: 2_000,
        store_us: 50,
        duration_us: 20_000_000,
        seed: 1,
    };
}

/// Bounds of the delays after conflicts, as the stores have them (`stores/remote/src/backoff.rs`).
const FIRST_DELAY_US: u64 = 1_000;
const LONGEST_DELAY_US: u64 = 200_000;

/// What a simulation came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Requests that were answered, a second, by all servers together.
    pub requests_per_second: f64,
    /// Refused commits for each that was taken.
    pub conflicts_per_commit: f64,
}

/// What comes next for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The group's reads see the store.
    Read,
    /// The group's commit is at the store.
    Commit,
}

/// A server and the group that it works on.
struct Server {
    keys: BTreeSet<usize>,
    read_at_us: u64,
    conflicts_in_a_row: u32,
}

struct Simulation {
    model: Model,
    random: fastrand::Rng,
    servers: Vec<Server>,
    /// Time, server, step: the earliest first.
    agenda: BinaryHeap<Reverse<(u64, usize, Step)>>,
    /// When each hot key was changed last.
    changed_us: HashMap<usize, u64>,
    store_free_us: u64,
    commits: u64,
    conflicts: u64,
}

/// Runs a simulation.
pub fn simulate(model: Model) -> Outcome {
    let servers = (0..model.servers).map(|_| Server { keys: BTreeSet::new(), read_at_us: 0, conflicts_in_a_row: 0 }).collect();
    let mut simulation = Simulation {
        model,
        random: fastrand::Rng::with_seed(model.seed),
        servers,
        agenda: BinaryHeap::new(),
        changed_us: HashMap::new(),
        store_free_us: 0,
        commits: 0,
        conflicts: 0,
    };
    for server in 0..model.servers {
        let start_us = simulation.random.u64(..model.read_us + model.commit_us);
        simulation.take_group(server, start_us);
    }
    while let Some(Reverse((now_us, server, step))) = simulation.agenda.pop().filter(|Reverse((now_us, ..))| *now_us < model.duration_us) {
        match step {
            Step::Read => simulation.read(server, now_us),
            Step::Commit => simulation.commit(server, now_us),
        }
    }
    let requests = simulation.commits as f64 * model.clients as f64;
    Outcome {
        requests_per_second: requests * 1e6 / model.duration_us as f64,
        conflicts_per_commit: simulation.conflicts as f64 / (simulation.commits as f64).max(1.0),
    }
}

impl Simulation {
    /// The next requests of all clients of a server.
    fn take_group(&mut self, server: usize, now_us: u64) {
        let Model { clients, hot_keys, hot_percent, .. } = self.model;
        let hot = (0..clients).filter(|_| self.random.u32(..100) < hot_percent).count();
        self.servers[server].keys = (0..hot).map(|_| self.random.usize(..hot_keys)).collect();
        self.servers[server].conflicts_in_a_row = 0;
        self.begin(server, now_us);
    }

    fn begin(&mut self, server: usize, now_us: u64) {
        let way_us = self.way(self.model.read_us);
        self.agenda.push(Reverse((now_us + way_us, server, Step::Read)));
    }

    fn read(&mut self, server: usize, now_us: u64) {
        self.servers[server].read_at_us = now_us;
        let ways_us = self.way(self.model.read_us) + self.way(self.model.commit_us);
        self.agenda.push(Reverse((now_us + ways_us, server, Step::Commit)));
    }

    /// One way of a round trip: half of it, more or less by up to a half.
    fn way(&mut self, round_trip_us: u64) -> u64 {
        round_trip_us / 4 + self.random.u64(..=round_trip_us / 2)
    }

    /// The store takes commits one after the other.
    fn commit(&mut self, server: usize, now_us: u64) {
        if now_us < self.store_free_us {
            self.agenda.push(Reverse((self.store_free_us, server, Step::Commit)));
            return;
        }
        self.store_free_us = now_us + self.model.store_us;
        let told_us = self.store_free_us + self.way(self.model.commit_us);
        let Server { keys, read_at_us, .. } = &self.servers[server];
        let is_refused = keys.iter().any(|key| self.changed_us.get(key).is_some_and(|changed_us| changed_us > read_at_us));
        if is_refused {
            self.conflicts += 1;
            let bound_us = FIRST_DELAY_US.checked_shl(self.servers[server].conflicts_in_a_row.min(20)).unwrap_or(LONGEST_DELAY_US);
            self.servers[server].conflicts_in_a_row += 1;
            let delay_us = self.random.u64(..bound_us.min(LONGEST_DELAY_US));
            return self.begin(server, told_us + delay_us);
        }
        self.commits += 1;
        self.changed_us.extend(keys.iter().map(|&key| (key, now_us)));
        self.take_group(server, told_us);
    }
}

/// How many servers there are.
const SERVERS: [usize; 7] = [1, 2, 3, 5, 8, 13, 20];
/// How many keys all of them write.
const HOT_KEYS: [usize; 5] = [1, 10, 100, 1_000, 100_000];

/// What a number of hot keys comes to, with each number of servers.
pub struct Line {
    pub hot_keys: usize,
    pub outcomes: Vec<(usize, Outcome)>,
}

/// Simulates all of it, prints the table and draws the charts into `folder`.
pub fn run(folder: &Path) -> Result<()> {
    let lines: Vec<Line> = HOT_KEYS
        .into_iter()
        .map(|hot_keys| {
            let outcomes = SERVERS.into_iter().map(|servers| (servers, simulate(Model { servers, hot_keys, ..Model::NEAR })));
            Line { hot_keys, outcomes: outcomes.collect() }
        })
        .collect();
    println!("{}", table::of(&lines));
    std::fs::create_dir_all(folder)?;
    chart::throughput(&folder.join("scale-throughput.svg"), &lines)?;
    chart::conflicts(&folder.join("scale-conflicts.svg"), &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(servers: usize, hot_keys: usize) -> Outcome {
        simulate(Model { servers, hot_keys, duration_us: 5_000_000, ..Model::NEAR })
    }

    #[test]
    fn the_same_seed_gives_the_same_outcome() {
        assert_eq!(outcome(5, 10), outcome(5, 10));
    }

    #[test]
    fn one_server_meets_nobody_and_is_as_fast_as_its_round_trips() {
        let Outcome { requests_per_second, conflicts_per_commit } = outcome(1, 1);
        assert_eq!(conflicts_per_commit, 0.0);
        let group_us = (Model::NEAR.read_us + Model::NEAR.commit_us + Model::NEAR.store_us) as f64;
        let expected = Model::NEAR.clients as f64 * 1e6 / group_us;
        assert!((requests_per_second / expected - 1.0).abs() < 0.05, "{requests_per_second} instead of {expected}");
    }

    #[test]
    fn many_keys_let_servers_add_up_and_one_key_does_not() {
        let alone = outcome(1, 100_000).requests_per_second;
        assert!(outcome(3, 100_000).requests_per_second > 2.8 * alone);
        assert!(outcome(3, 1).requests_per_second < 1.5 * alone);
        assert!(outcome(3, 1).conflicts_per_commit > 10.0 * outcome(3, 1_000).conflicts_per_commit);
    }
}

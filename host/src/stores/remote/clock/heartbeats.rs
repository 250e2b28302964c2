//! Servers compare their clocks through the store, where the store has no clock of its own: each one writes a record, its *heartbeat*,
//! again and again, and reads those of the others.
//!
//! A record tells, by its writer's clock, between which times the record *before* it was committed. A reader that saw that one appear
//! between two of its own looks knows both clocks at one event, whatever the network took.

use super::{Clock, Reference, Skew};
use bytes::Bytes;
use orbweaver_engine::environment::{Environment as _, SystemEnvironment};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Order, PageLimit, Scope, Store, StoreError};
use std::collections::BTreeMap;

/// The keyspace of the records: key is the server's number, value a [`Beat`].
const KEYSPACE: &str = "servers";
/// Begins the lock keys of servers. Those of user keys begin with the number of a space, which is never so large.
const LOCK_PREFIX: &[u8] = b"\xff\xff\xff\xffserver";
/// A heartbeat is written at every second look.
const LOOKS_A_BEAT: u64 = 2;
/// A server that has not written for so many looks is not there.
const LOOKS_UNTIL_GONE: u64 = 8;
/// Then its record is removed.
const LOOKS_UNTIL_REMOVED: u64 = 240;
/// More servers than anybody has.
const PAGE: PageLimit = PageLimit { max_items: 10_000, max_bytes: 1 << 20 };

/// A heartbeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Beat {
    /// Counts from 1.
    number: u64,
    /// Between which times of the writer's clock, in Unix milliseconds, the record before was committed.
    before_ms: (u64, u64),
}

impl Beat {
    fn encode(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let numbers = [self.number, self.before_ms.0, self.before_ms.1];
        bytes.chunks_exact_mut(8).zip(numbers).for_each(|(place, number)| place.copy_from_slice(&number.to_be_bytes()));
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut numbers = bytes.chunks_exact(8).map(|part| Some(u64::from_be_bytes(part.try_into().ok()?)));
        let beat = Self { number: numbers.next()??, before_ms: (numbers.next()??, numbers.next()??) };
        (bytes.len() == 24).then_some(beat)
    }
}

/// What is known of another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Other {
    number: u64,
    /// Between which times of this clock that beat appeared; `None` where it was there at the first look.
    appeared_ms: Option<(u64, u64)>,
    skew: Option<Skew>,
    /// How many looks ago it appeared.
    silent_looks: u64,
}

impl Other {
    fn new(beat: Beat) -> Self {
        Self { number: beat.number, appeared_ms: None, skew: None, silent_looks: 0 }
    }

    /// Takes what a look has found.
    fn see(&mut self, beat: Beat, look_ms: (u64, u64)) {
        if beat.number == self.number {
            self.silent_looks += 1;
            return;
        }
        if beat.number == self.number.wrapping_add(1)
            && let Some(appeared_ms) = self.appeared_ms
        {
            self.skew = Some(Skew::new(appeared_ms, beat.before_ms));
        }
        (self.number, self.appeared_ms, self.silent_looks) = (beat.number, Some(look_ms), 0);
    }

    const fn is_there(&self) -> bool {
        self.silent_looks < LOOKS_UNTIL_GONE
    }
}

/// The heartbeats of a store.
pub struct Heartbeats {
    store: Box<dyn Store + Send>,
    keyspace: Keyspace,
    /// This server's number, drawn at random.
    own: Bytes,
    beat: Beat,
    looks: u64,
    others: BTreeMap<Bytes, Other>,
    last_look_ms: Option<u64>,
}

impl Heartbeats {
    /// Takes part in the heartbeats of the store that the handle is of.
    ///
    /// # Errors
    /// What opening the keyspace returns.
    pub fn new(mut store: Box<dyn Store + Send>) -> Result<Self, StoreError> {
        let keyspace = store.open_keyspace(KEYSPACE, Order::Bytes)?;
        let own = Bytes::copy_from_slice(&SystemEnvironment::default().random().to_be_bytes());
        Ok(Self { store, keyspace, own, beat: Beat::default(), looks: 0, others: BTreeMap::new(), last_look_ms: None })
    }

    /// Writes this server's record, and removes those of servers that are gone for good.
    fn write(&mut self, clock: &Clock) -> Result<(), StoreError> {
        let gone = |other: &&Bytes| self.others.get(*other).is_some_and(|other| other.silent_looks >= LOOKS_UNTIL_REMOVED);
        let gone: Vec<Bytes> = self.others.keys().filter(gone).cloned().collect();
        let next = Beat { number: self.beat.number + 1, ..self.beat };
        let mut batch = Batch::new();
        batch.put(self.keyspace, &self.own, &next.encode())?;
        gone.iter().try_for_each(|server| batch.delete(self.keyspace, server))?;
        let started_ms = clock();
        self.commit(&batch, &gone)?;
        self.beat = Beat { before_ms: (started_ms, clock()), ..next };
        self.others.retain(|server, _| !gone.contains(server));
        Ok(())
    }

    fn commit(&mut self, batch: &Batch, others: &[Bytes]) -> Result<(), StoreError> {
        let mut keys: Vec<Bytes> = others.iter().chain([&self.own]).map(|server| [LOCK_PREFIX, server].concat().into()).collect();
        keys.sort_unstable();
        let changed: Vec<u32> = (0..).take(keys.len()).collect();
        self.store.begin(&Scope::Keys(keys))?;
        self.store.commit(batch, &changed)
    }

    /// Reads the records of the others.
    fn look(&mut self, clock: &Clock) -> Result<(), StoreError> {
        let started_ms = clock();
        self.store.begin(&Scope::Read)?;
        let page = self.store.scan(self.keyspace, &KeyRange::all(), Direction::Forward, PAGE);
        self.store.rollback();
        let page = page?;
        // What this look finds and the last one did not has appeared after the last one began.
        let look_ms = (self.last_look_ms.unwrap_or(started_ms), clock());
        self.last_look_ms = Some(started_ms);
        let mut found = BTreeMap::new();
        for (server, value) in page.records().filter(|(server, _)| *server != self.own) {
            let Some(beat) = Beat::decode(&value) else { continue };
            let server = Bytes::copy_from_slice(&server);
            let mut other = self.others.get(&server).copied().unwrap_or_else(|| Other::new(beat));
            other.see(beat, look_ms);
            found.insert(server, other);
        }
        self.others = found;
        Ok(())
    }
}

impl Reference for Heartbeats {
    /// Looks; answers once each of the others has been compared with, or is gone.
    fn compare(&mut self, clock: &Clock) -> Result<Option<Vec<Skew>>, StoreError> {
        if self.looks.is_multiple_of(LOOKS_A_BEAT) {
            match self.write(clock) {
                // The next look writes another one.
                Ok(()) | Err(StoreError::Conflict | StoreError::Expired) => {}
                Err(error) => return Err(error),
            }
        }
        self.looks += 1;
        self.look(clock)?;
        let there = self.others.values().filter(|other| other.is_there());
        Ok(there.map(|other| other.skew).collect())
    }
}

impl Drop for Heartbeats {
    /// The others need not wait for this server when they start.
    fn drop(&mut self) {
        let mut batch = Batch::new();
        if batch.delete(self.keyspace, &self.own).is_ok() {
            // Otherwise somebody else removes it in a minute.
            let _ = self.commit(&batch, &[]);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use orbweaver_engine::store::MemoryStore;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A server on a store of several, whose clock the test moves.
    struct Server {
        heartbeats: Heartbeats,
        clock: Clock,
    }

    /// Time as it passes for all, in milliseconds.
    fn time() -> Arc<AtomicU64> {
        Arc::new(AtomicU64::new(1_700_000_000_000))
    }

    fn server(store: &MemoryStore, time: &Arc<AtomicU64>, ahead_ms: u64) -> Server {
        let time = Arc::clone(time);
        let clock: Clock = Arc::new(move || time.load(Ordering::SeqCst) + ahead_ms);
        Server { heartbeats: Heartbeats::new(Box::new(store.clone())).unwrap(), clock }
    }

    /// What each server says at last, after so many looks of all.
    fn look(servers: &mut [Server], time: &AtomicU64, looks: usize) -> Vec<Option<Vec<i64>>> {
        let mut said = Vec::new();
        for _ in 0..looks {
            said = servers
                .iter_mut()
                .map(|server| {
                    time.fetch_add(80, Ordering::SeqCst);
                    let skews = server.heartbeats.compare(&server.clock).unwrap();
                    skews.map(|skews| skews.into_iter().map(Skew::certain_ms).collect())
                })
                .collect();
        }
        said
    }

    #[test]
    fn a_server_alone_has_nothing_to_wait_for() {
        let (store, time) = (MemoryStore::new(), time());
        assert_eq!(look(&mut [server(&store, &time, 0)], &time, 1), [Some(vec![])]);
    }

    #[test]
    fn equal_clocks_are_known_to_be_equal_and_others_by_how_much_they_differ() {
        let (store, time) = (MemoryStore::new(), time());
        let mut servers = [server(&store, &time, 0), server(&store, &time, 0), server(&store, &time, 5000)];
        let said = look(&mut servers, &time, 20);
        let sorted = |mut skews: Vec<i64>| {
            skews.sort_unstable();
            skews
        };
        for (server, said) in said.into_iter().enumerate() {
            let skews = sorted(said.unwrap());
            let (near, far) = if server == 2 { (skews[0], skews[1]) } else { (skews[1], skews[0]) };
            if server == 2 {
                assert!(near > 4400 && far > 4400 && far <= 5000, "{skews:?}");
            } else {
                assert!(near == 0 && (-5000..-4400).contains(&far), "{skews:?}");
            }
        }
    }

    #[test]
    fn a_server_that_starts_waits_until_it_has_compared_or_the_other_is_gone() {
        let (store, time) = (MemoryStore::new(), time());
        let first = server(&store, &time, 0);
        let mut servers = vec![first];
        look(&mut servers, &time, 3);
        servers.push(server(&store, &time, 0));
        assert_eq!(look(&mut servers, &time, 1)[1], None);
        let gone = servers.remove(0);
        // As after a SIGKILL: its record stays.
        std::mem::forget(gone);
        let said = look(&mut servers, &time, usize::try_from(LOOKS_UNTIL_GONE).unwrap() + 1);
        assert_eq!(said[0], Some(vec![]));
        look(&mut servers, &time, usize::try_from(LOOKS_UNTIL_REMOVED).unwrap() + 2);
        assert!(servers[0].heartbeats.others.is_empty(), "the record of a server that is gone is removed");
    }

    #[test]
    fn a_beat_is_24_bytes_and_nothing_else() {
        let beat = Beat { number: 7, before_ms: (1, u64::MAX) };
        assert_eq!(Beat::decode(&beat.encode()), Some(beat));
        assert_eq!(Beat::decode(&beat.encode()[..23]), None);
        assert_eq!(Beat::decode(&[0; 32]), None);
    }
}

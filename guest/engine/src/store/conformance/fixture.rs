//! What the tests share: a handle with its keyspaces open, short ways to read and write, and failures as values.

use super::Subject;
use crate::store::{Batch, Direction, KeyRange, Keyspace, Order, Page, PageLimit, Scope, Store, StoreError};
use bytes::Bytes;
use std::fmt::{self, Debug};

/// Why a store did not pass.
#[derive(Debug)]
pub enum Problem {
    /// It broke an obligation.
    Broken(String),
    /// It reported an error where none was due.
    Error(StoreError),
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::Error(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(what) => f.write_str(what),
            Self::Error(error) => write!(f, "unexpected error: {error}"),
        }
    }
}

/// The outcome of a test, or of a step of one.
pub type Check<T = ()> = Result<T, Problem>;

/// Records as the tests compare them.
pub type Records = Vec<(Bytes, Bytes)>;

/// The keyspaces that tests use: names that a store for the default layout knows.
pub const KEYSPACES: [&str; 4] = ["system", "meta", "data", "score"];

/// A page limit that no test's range exceeds.
pub const WHOLE: PageLimit = PageLimit { max_items: u32::MAX, max_bytes: u32::MAX };

/// How often a transaction is run again after a conflict before the test gives up.
const ATTEMPTS: u32 = 100_000;

/// What a put takes in a batch beside its key and its value, and more.
const ROOM: usize = 64;

/// Fails with `what` unless `condition` holds.
pub fn ensure(condition: bool, what: impl FnOnce() -> String) -> Check {
    if condition { Ok(()) } else { Err(Problem::Broken(what())) }
}

/// Fails unless both are equal.
pub fn equal<T: PartialEq + Debug>(what: &str, got: &T, expected: &T) -> Check {
    ensure(got == expected, || format!("{what}: got {}, expected {}", shortened(got), shortened(expected)))
}

/// Fails unless there is an error.
pub fn refused<T>(what: &str, outcome: Result<T, StoreError>) -> Check<StoreError> {
    match outcome {
        Ok(_) => Err(Problem::Broken(format!("{what} was accepted"))),
        Err(error) => Ok(error),
    }
}

fn shortened(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    let mut short: String = text.chars().take(400).collect();
    if short.len() < text.len() {
        short.push_str(" ...");
    }
    short
}

/// A handle with the tests' keyspaces open.
pub struct Conn {
    pub store: Box<dyn Store + Send>,
    pub system: Keyspace,
    pub meta: Keyspace,
    pub data: Keyspace,
    pub score: Keyspace,
}

impl Conn {
    /// A further handle on the subject.
    pub fn open(subject: &dyn Subject) -> Check<Self> {
        let mut store = subject.handle()?;
        let [system, meta, data, score] = KEYSPACES.map(|name| store.open_keyspace(name, Order::Bytes));
        Ok(Self { system: system?, meta: meta?, data: data?, score: score?, store })
    }

    pub fn begin_read(&mut self) -> Check<u64> {
        Ok(self.store.begin(&Scope::Read)?)
    }

    /// Begins a transaction on one lock key.
    pub fn begin_on(&mut self, key: &[u8]) -> Check<u64> {
        Ok(self.store.begin(&keys(&[key]))?)
    }

    /// One transaction on a lock key of its own that writes what `fill` puts into the batch.
    pub fn write(&mut self, fill: impl FnOnce(&mut Batch) -> Result<(), StoreError>) -> Check {
        let mut batch = Batch::new();
        fill(&mut batch)?;
        self.begin_on(b"writer")?;
        Ok(self.store.commit(&batch, &[0])?)
    }

    /// Puts records, in as many batches as the store's limits ask for.
    pub fn put_all(&mut self, keyspace: Keyspace, records: &[(Bytes, Bytes)]) -> Check {
        let limits = self.store.limits();
        let fits = |batch: &Batch, record: &(Bytes, Bytes)| {
            let bytes = batch.as_bytes().len() + record.0.len() + record.1.len() + ROOM;
            batch.len() < limits.max_batch_ops && u64::try_from(bytes).is_ok_and(|bytes| bytes <= limits.max_batch_bytes)
        };
        let mut batch = Batch::new();
        for record in records {
            if !fits(&batch, record) {
                let full = std::mem::take(&mut batch);
                self.write(|batch| {
                    *batch = full;
                    Ok(())
                })?;
            }
            batch.put(keyspace, &record.0, &record.1)?;
        }
        self.write(|rest| {
            *rest = batch;
            Ok(())
        })
    }

    /// Runs `body` in transactions that read until one sees a state that has not expired.
    fn look<T>(&mut self, mut body: impl FnMut(&mut dyn Store) -> Result<T, StoreError>) -> Check<T> {
        let mut seen = None;
        self.transact(&Scope::Read, |conn, _| {
            seen = Some(body(conn.store.as_mut())?);
            Ok(Vec::new())
        })?;
        seen.ok_or_else(|| Problem::Broken("a transaction that reads ended before it read".into()))
    }

    /// Reads one key in a transaction of its own.
    pub fn read(&mut self, keyspace: Keyspace, key: &[u8]) -> Check<Option<Bytes>> {
        self.look(|store| store.get(keyspace, key))
    }

    /// One page in a transaction of its own.
    pub fn page(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Check<Page> {
        self.look(|store| store.scan(keyspace, range, direction, limit))
    }

    /// The records of a range within the open transaction, as one page.
    pub fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction) -> Check<Records> {
        let page = self.store.scan(keyspace, range, direction, WHOLE)?;
        Ok(page.records().collect())
    }

    /// The records of a range in a transaction of its own.
    pub fn read_range(&mut self, keyspace: Keyspace, range: &KeyRange) -> Check<Records> {
        Ok(self.page(keyspace, range, Direction::Forward, WHOLE)?.records().collect())
    }

    /// Runs `body` in transactions of `scope` until one meets neither a conflict nor an expired snapshot. `body` fills the batch
    /// and returns the positions that it changes.
    pub fn transact(&mut self, scope: &Scope, mut body: impl FnMut(&mut Self, &mut Batch) -> Check<Vec<u32>>) -> Check {
        for _ in 0..ATTEMPTS {
            match self.store.begin(scope) {
                Err(StoreError::Conflict | StoreError::Expired) => continue,
                other => other?,
            };
            let mut batch = Batch::new();
            let changed = match body(self, &mut batch) {
                Ok(changed) => changed,
                Err(problem) => {
                    self.store.rollback();
                    match problem {
                        // The epoch may have been another one.
                        Problem::Error(StoreError::Conflict | StoreError::Expired) => continue,
                        other => return Err(other),
                    }
                }
            };
            match self.store.commit(&batch, &changed) {
                Err(StoreError::Conflict | StoreError::Expired) => std::thread::yield_now(),
                other => return Ok(other?),
            }
        }
        Err(Problem::Broken(format!("{ATTEMPTS} attempts in a row met a conflict or an expired snapshot")))
    }

    /// The number under `key` within the open transaction; 0 where there is none.
    pub fn number(&mut self, keyspace: Keyspace, key: &[u8]) -> Check<u64> {
        match self.store.get(keyspace, key)? {
            None => Ok(0),
            Some(value) => value
                .as_ref()
                .try_into()
                .map(u64::from_le_bytes)
                .map_err(|_| Problem::Broken(format!("a value of 8 bytes came back as {} bytes", value.len()))),
        }
    }
}

/// The scope of these lock keys.
pub fn keys(keys: &[&[u8]]) -> Scope {
    Scope::Keys(keys.iter().map(|key| Bytes::copy_from_slice(key)).collect())
}

/// Short for owned bytes.
pub fn owned(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// Some thousand records whose values are of many sizes, a few larger than most pages; in the order of their keys.
pub fn many_records() -> Records {
    (0_u32..3000)
        .map(|number| {
            let size = if number % 500 == 499 { 70_000 } else { usize::try_from(number % 97).unwrap_or(0) * 3 };
            let fill = number.to_le_bytes().first().copied().unwrap_or(0);
            (Bytes::from(format!("record:{number:08}")), Bytes::from(vec![fill; size]))
        })
        .collect()
}

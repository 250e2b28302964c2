//! Obligations that only show where several conversations take place at the same time: on threads here, or in processes of their own.

use super::fixture::{Check, Conn, Problem, ensure};
use super::{Body, Failure, Subject, TESTS};
use crate::store::{Direction, KeyRange, Keyspace, Scope};
use bytes::Bytes;
use std::time::{Duration, Instant};

/// How long one participant waits for the others.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks at whether the others are there.
const NAP: Duration = Duration::from_millis(2);

/// How many take part on threads.
const THREADS: u64 = 4;

/// Which one of the participants somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 0.
    pub number: u64,
    /// How many participants there are: 2 or more.
    pub of: u64,
}

/// What every participant does at the same time as the others, and what then holds of the store, by the number of participants.
#[derive(Clone, Copy)]
pub struct Contest {
    pub body: fn(&mut Conn, Part) -> Check,
    pub verdict: fn(&mut Conn, u64) -> Check,
}

impl Contest {
    /// Has the participants on threads, each with a handle of its own.
    pub fn on_threads(&self, subject: &dyn Subject) -> Check {
        std::thread::scope(|scope| {
            let mut running = Vec::new();
            for number in 0..THREADS {
                let mut conn = Conn::open(subject)?;
                let thread = std::thread::Builder::new().spawn_scoped(scope, move || (self.body)(&mut conn, Part { number, of: THREADS }));
                running.push(thread.map_err(|error| Problem::Broken(format!("no thread: {error}")))?);
            }
            running.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(Problem::Broken("the store panicked".into()))))
        })?;
        (self.verdict)(&mut Conn::open(subject)?, THREADS)
    }
}

/// The name of an obligation, and whether the store kept it.
pub type Outcome = (&'static str, Result<(), Failure>);

/// Takes part in every contest on a store that several processes, or several instances of a component, use at once: each of
/// them calls this with its own number. They meet in the store, which is empty before and afterwards.
///
/// # Errors
/// Where the store holds records, where the participants do not meet within a minute, or where the store fails in between.
pub fn contend(subject: &dyn Subject, part: Part) -> Result<Vec<Outcome>, Failure> {
    take_part(subject, part).map_err(|problem| Failure { test: "several conversations meet in the store", what: problem.to_string() })
}

fn take_part(subject: &dyn Subject, part: Part) -> Check<Vec<Outcome>> {
    ensure(part.number < part.of && part.of > 1, || format!("there is no participant {} of {}", part.number, part.of))?;
    let mut meeting = Meeting { conn: Conn::open(subject)?, part, places: 0 };
    meeting.ensure_empty()?;
    meeting.meet()?;
    let mut outcomes = Vec::new();
    for test in TESTS {
        let Body::Together(contest) = &test.body else { continue };
        if part.number == 0 {
            let Conn { meta, data, score, .. } = meeting.conn;
            meeting.wipe(&[meta, data, score])?;
        }
        meeting.meet()?;
        let fought = (contest.body)(&mut meeting.conn, part);
        meeting.conn.store.rollback();
        meeting.meet()?;
        let outcome = fought.and_then(|()| (contest.verdict)(&mut meeting.conn, part.of));
        outcomes.push((test.name, outcome.map_err(|problem| test.failed(&problem))));
        meeting.meet()?;
    }
    meeting.part_ways()?;
    Ok(outcomes)
}

/// What marks of participants begin with.
const MARK: &str = "orbweaver-conform:";

/// A conversation that waits for others by marks in the store.
struct Meeting {
    conn: Conn,
    part: Part,
    places: u32,
}

impl Meeting {
    /// Fails where the store holds other records than the marks of others who have just come.
    fn ensure_empty(&mut self) -> Check {
        let own = self.mark(0);
        let all = [self.conn.system, self.conn.meta, self.conn.data, self.conn.score];
        self.conn.transact(&Scope::Read, |conn, _| {
            for keyspace in all {
                let records = conn.scan(keyspace, &KeyRange::all(), Direction::Forward)?;
                let is_foreign = |key: &Bytes| !key.starts_with(MARK.as_bytes()) || *key == own;
                let text = "the store holds records, which the tests would remove: give them an empty store";
                ensure(!records.iter().any(|(key, _)| is_foreign(key)), || text.into())?;
            }
            Ok(Vec::new())
        })
    }

    fn mark(&self, place: u32) -> Bytes {
        Bytes::from(format!("{MARK}{place}:{}", self.part.number))
    }

    /// Comes to the next place, and waits there for everybody else.
    fn meet(&mut self) -> Check {
        self.come()?;
        self.wait()
    }

    fn come(&mut self) -> Check {
        self.places += 1;
        let (mark, system) = (self.mark(self.places - 1), self.conn.system);
        self.conn.transact(&Scope::Keys(vec![mark.clone()]), |_, batch| {
            batch.put(system, &mark, b"")?;
            Ok(vec![0])
        })
    }

    fn wait(&mut self) -> Check {
        let (start, system) = (Instant::now(), self.conn.system);
        let here = KeyRange::prefix(format!("{MARK}{}:", self.places - 1).as_bytes());
        while start.elapsed() < PATIENCE {
            let mut present = 0;
            self.conn.transact(&Scope::Read, |conn, _| {
                present = conn.scan(system, &here, Direction::Forward)?.len();
                Ok(Vec::new())
            })?;
            if u64::try_from(present) == Ok(self.part.of) {
                return Ok(());
            }
            std::thread::sleep(NAP);
        }
        Err(Problem::Broken(format!("not all of {} participants came within {PATIENCE:?}", self.part.of)))
    }

    /// The last place: the first participant waits there until nobody else needs the store, and empties it.
    fn part_ways(&mut self) -> Check {
        self.come()?;
        if self.part.number > 0 {
            return Ok(());
        }
        self.wait()?;
        let Conn { system, meta, data, score, .. } = self.conn;
        self.wipe(&[system, meta, data, score])
    }

    /// Empties keyspaces.
    fn wipe(&mut self, keyspaces: &[Keyspace]) -> Check {
        self.conn.transact(&Scope::Exclusive, |_, batch| {
            keyspaces.iter().try_for_each(|keyspace| batch.delete_range(*keyspace, &KeyRange::all()))?;
            Ok(Vec::new())
        })
    }
}

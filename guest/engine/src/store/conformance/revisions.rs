//! How others learn that something changed: the epoch, and the revisions of lock keys.

use super::Subject;
use super::fixture::{Check, Conn, ensure, equal};
use crate::store::{Batch, Scope};
use bytes::Bytes;

/// Of this many keys, some may share a counter; most may not.
const KEYS: u32 = 64;

fn lock_keys() -> Vec<Bytes> {
    (0..KEYS).map(|number| Bytes::from(format!("lock key {number}"))).collect()
}

fn epoch_of(conn: &mut Conn) -> Check<u64> {
    let epoch = conn.begin_read()?;
    conn.store.rollback();
    Ok(epoch)
}

fn commit_exclusive(conn: &mut Conn) -> Check {
    let mut batch = Batch::new();
    batch.put(conn.data, b"k", b"v")?;
    conn.store.begin(&Scope::Exclusive)?;
    Ok(conn.store.commit(&batch, &[])?)
}

pub fn epoch(subject: &mut dyn Subject) -> Check {
    let (mut conn, mut other) = (Conn::open(subject)?, Conn::open(subject)?);
    let mut seen = vec![epoch_of(&mut conn)?];
    for round in 0..5 {
        commit_exclusive(if round % 2 == 0 { &mut other } else { &mut conn })?;
        let epoch = epoch_of(&mut conn)?;
        ensure(!seen.contains(&epoch), || format!("epoch {epoch} came again after an exclusive commit"))?;
        equal("the epoch of another handle", &epoch_of(&mut other)?, &epoch)?;
        seen.push(epoch);
    }
    Ok(())
}

pub fn epoch_stays(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let before = epoch_of(&mut conn)?;
    let data = conn.data;
    conn.write(|batch| batch.put(data, b"k", b"v"))?;
    conn.store.begin(&Scope::Exclusive)?;
    conn.store.rollback();
    equal("the epoch without an exclusive commit", &epoch_of(&mut conn)?, &before)
}

/// A transaction that declares two keys and changes the first; without a value it writes nothing, and says so nevertheless: what was put was
/// there.
fn change_first(conn: &mut Conn, changed: &Bytes, declared: &Bytes, value: Option<&[u8]>) -> Check {
    let mut batch = Batch::new();
    if let Some(value) = value {
        batch.put(conn.data, changed, value)?;
    }
    conn.store.begin(&Scope::Keys(vec![changed.clone(), declared.clone()]))?;
    Ok(conn.store.commit(&batch, &[0])?)
}

pub fn changes(subject: &mut dyn Subject) -> Check {
    let (mut conn, mut watcher) = (Conn::open(subject)?, Conn::open(subject)?);
    let names = lock_keys();
    let values = [Some(b"v".as_slice()), None].into_iter().cycle();
    for ((name, next), value) in names.iter().zip(names.iter().cycle().skip(1)).zip(values) {
        let before = watcher.store.revisions(&names)?;
        equal("how many revisions came back", &before.len(), &names.len())?;
        change_first(&mut conn, name, next, value)?;
        let after = watcher.store.revisions(&names)?;
        watcher.begin_read()?;
        let within = watcher.store.revisions(&names)?;
        watcher.store.rollback();
        let of = |revisions: &[u64]| names.iter().position(|other| other == name).and_then(|at| revisions.get(at).copied());
        ensure(of(&before) != of(&after), || format!("the revision of {name:?} stayed although it changed"))?;
        ensure(of(&before) != of(&within), || format!("within a transaction, the revision of {name:?} stayed although it changed"))?;
    }
    Ok(())
}

pub fn stays(subject: &mut dyn Subject) -> Check {
    let (mut conn, mut watcher) = (Conn::open(subject)?, Conn::open(subject)?);
    let names = lock_keys();
    let mut alarms = 0_usize;
    for (name, next) in names.iter().zip(names.iter().cycle().skip(1)) {
        let before = watcher.store.revisions(std::slice::from_ref(next))?;
        change_first(&mut conn, name, next, Some(b"v"))?;
        conn.store.begin(&Scope::Keys(vec![next.clone()]))?;
        conn.store.rollback();
        alarms += usize::from(watcher.store.revisions(std::slice::from_ref(next))? != before);
    }
    ensure(alarms <= names.len() / 4, || format!("{alarms} of {} revisions changed with keys that did not", names.len()))
}

//! RANDOMKEY without reading the whole db.

use super::keys::{key_records, walk};
use crate::db::Db;
use crate::environment::random_below;
use crate::error::Result;
use crate::store::Direction;
use bytes::Bytes;
use std::ops::ControlFlow;

/// How many times a position is narrowed at most. Eight choices tell a hundred million decimal numbers apart.
const MAX_CHOICES: usize = 8;
/// The key is one of so many from the chosen position on.
const MAX_WALK: u64 = 16;

/// A random key of the db that has not expired; `None` where there is none.
///
/// The keys are seen as a tree of their bytes: at each fork a byte is drawn between the smallest and the largest that follow, and
/// the nearest branch that exists is taken; from there a few keys are walked, past the last key on from the first. Dbs of up to
/// sixteen keys are drawn from almost evenly. In larger ones the draw is biased: branches with few keys, and those behind gaps,
/// are drawn as often as full ones, and a key that is the beginning of many others only through its neighbours. It costs a few
/// dozen reads whatever the size of the db, plus the expired keys on the way that no sweep has removed yet.
///
/// # Errors
/// Store errors, corrupt records.
pub fn random(db: &mut Db) -> Result<Option<Bytes>> {
    let Some(start) = random_position(db)? else { return Ok(None) };
    let wanted = random_below(db.environment, MAX_WALK) + 1;
    let mut seen: Vec<Bytes> = Vec::new();
    let enough = |seen: &Vec<Bytes>| u64::try_from(seen.len()).is_ok_and(|seen| seen >= wanted);
    walk(db, b"", &start, &mut |key, _| {
        seen.push(key.clone());
        if enough(&seen) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if !enough(&seen) {
        walk(db, b"", b"", &mut |key, _| {
            if enough(&seen) || *key >= start {
                return ControlFlow::Break(());
            }
            seen.push(key.clone());
            ControlFlow::Continue(())
        })?;
    }
    if enough(&seen) {
        return Ok(seen.pop());
    }
    // The whole db has been seen.
    let position = random_below(db.environment, u64::try_from(seen.len()).unwrap_or(u64::MAX));
    Ok(usize::try_from(position).ok().and_then(|position| seen.get(position).cloned()))
}

/// A stored key, expired or not, by random choices between the branches of the keys; `None` in an empty db.
fn random_position(db: &mut Db) -> Result<Option<Bytes>> {
    let mut prefix = Bytes::new();
    let Some(mut low) = edge(db, &prefix, b"", Direction::Forward)? else { return Ok(None) };
    for _ in 0..MAX_CHOICES {
        let Some(high) = edge(db, &prefix, &low, Direction::Reverse)? else { break };
        let shared = low.iter().zip(&high).take_while(|(low, high)| low == high).count();
        prefix = high.slice(..shared);
        if low.len() == shared {
            // A key that the others begin with is no branch of its own.
            let behind = [low.as_ref(), b"\0"].concat();
            let Some(next) = edge(db, &prefix, &behind, Direction::Forward)? else { break };
            low = next;
        }
        let (Some(&first), Some(&last)) = (low.get(shared), high.get(shared)) else { break };
        let offset = random_below(db.environment, u64::from(last.saturating_sub(first)) + 1);
        let byte = u8::try_from(offset).map_or(last, |offset| first.saturating_add(offset));
        let branch = [prefix.as_ref(), &[byte]].concat();
        let Some(next) = edge(db, &prefix, &branch, Direction::Forward)? else { break };
        prefix = next.slice(..next.len().min(shared + 1));
        low = next;
    }
    Ok(Some(low))
}

/// The first or last stored key among those that begin with `prefix`, from `start` on.
fn edge(db: &mut Db, prefix: &[u8], start: &[u8], direction: Direction) -> Result<Option<Bytes>> {
    let space = db.at(&Bytes::new())?.space;
    let records = key_records(db, space, None, prefix, start);
    let Some(record) = records.first(db.transaction, direction)? else { return Ok(None) };
    let (key, _) = db.layout.decode_key(&record)?;
    Ok(Some(key))
}

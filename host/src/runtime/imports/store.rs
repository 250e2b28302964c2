//! The store as the component imports it, `orbweaver:kv/store`.
//!
//! Keys are read where the component has them, and values and pages go from where the store has them into the component's memory.

use super::super::bindings::orbweaver::kv::store::{Error, Excess, Limits};
use super::super::canonical::{Canonical, Lower, aligned, list, piece, size, word};
use super::super::guest::Guest;
use super::{Host, State};
use bytes::Bytes;
use orbweaver_engine::store::{self, Batch, KeyRange, Keyspace, Order, PageLimit, StoreError};
use wasmtime::{Linker, Result, bail, format_err};

const STORE: &str = "orbweaver:kv/store@0.1.0";

/// `pieces`.
#[derive(Canonical)]
struct Pieces {
    bytes: Bytes,
    ends: Vec<u32>,
}

/// `page`.
#[derive(Canonical)]
struct Page {
    records: Pieces,
    more: bool,
}

/// `found`, or why not: the values as an address and a length, their ends, and which are absent.
type Found = Result<((u32, u32), Vec<u32>, Vec<u32>), Error>;

/// Gives the functions to a linker.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap(STORE, "get-limits", |mut host: Host<'_>, answer: u32| {
        answered(&mut host, answer, |_, state| {
            let store::Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only } = state.store.limits();
            Ok(Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only })
        })
    })?;
    linker.func_wrap(
        STORE,
        "open-keyspace",
        |mut host: Host<'_>, name: u32, name_bytes: u32, order: u32, order_bytes: u32, answer: u32| {
            answered(&mut host, answer, |memory, state| {
                let name = text(memory, name, name_bytes)?;
                let order = text(memory, order, order_bytes)?;
                let Some(order) = Order::from_name(order) else {
                    return Ok(Err(Error::UnsupportedOrder(format!("{order} is not known here"))));
                };
                Ok(state.store.open_keyspace(name, order).map(|Keyspace(number)| number).map_err(error))
            })
        },
    )?;
    linker.func_wrap(
        STORE,
        "begin",
        |mut host: Host<'_>, scope: u32, bytes: u32, bytes_length: u32, ends: u32, ends_length: u32, answer: u32| {
            answered(&mut host, answer, |memory, state| {
                let scope = match scope {
                    0 => store::Scope::Read,
                    1 => store::Scope::Keys(strings(memory, (bytes, bytes_length), (ends, ends_length))?),
                    2 => store::Scope::Exclusive,
                    scope => bail!("the component begins a transaction of scope {scope}"),
                };
                Ok(state.store.begin(&scope).map_err(error))
            })
        },
    )?;
    linker.func_wrap(STORE, "get", |mut host: Host<'_>, keyspace: u32, key: u32, key_length: u32, answer: u32| {
        answered(&mut host, answer, |memory, state| Ok(state.store.get(Keyspace(keyspace), bytes(memory, key, key_length)?).map_err(error)))
    })?;
    linker.func_wrap(
        STORE,
        "get-many",
        |mut host: Host<'_>, keyspaces: u32, count: u32, bytes: u32, bytes_length: u32, ends: u32, ends_length: u32, answer: u32| {
            let mut guest = super::calling(&mut host)?;
            let (memory, state) = guest.parts();
            let keyspaces: Vec<u32> = list(memory, keyspaces, count)?;
            let keys = strings(memory, (bytes, bytes_length), (ends, ends_length))?;
            if keys.len() != keyspaces.len() {
                bail!("the component asks get-many for {} keys in {} keyspaces", keys.len(), keyspaces.len());
            }
            let keys: Vec<(Keyspace, Bytes)> = keyspaces.into_iter().map(Keyspace).zip(keys).collect();
            let values = state.store.get_many(&keys).map_err(error);
            found(&mut guest, size(answer), values)
        },
    )?;
    linker.func_wrap(
        STORE,
        "scan",
        |mut host: Host<'_>,
         keyspace: u32,
         start: u32,
         start_length: u32,
         after_start: u32,
         has_end: u32,
         end: u32,
         end_length: u32,
         direction: u32,
         max_items: u32,
         max_bytes: u32,
         answer: u32| {
            answered(&mut host, answer, |memory, state| {
                let end = match has_end {
                    0 => None,
                    1 => Some(bytes(memory, end, end_length)?.to_vec()),
                    case => bail!("the component gives case {case} of an option"),
                };
                let range = KeyRange { start: bytes(memory, start, start_length)?.to_vec(), after_start: after_start != 0, end };
                let direction = match direction {
                    0 => store::Direction::Forward,
                    1 => store::Direction::Reverse,
                    direction => bail!("the component scans in direction {direction}"),
                };
                let page = state.store.scan(Keyspace(keyspace), &range, direction, PageLimit { max_items, max_bytes });
                Ok(page.map(|store::Page { bytes, ends, more }| Page { records: Pieces { bytes, ends }, more }).map_err(error))
            })
        },
    )?;
    linker.func_wrap(
        STORE,
        "revisions",
        |mut host: Host<'_>, bytes: u32, bytes_length: u32, ends: u32, ends_length: u32, answer: u32| {
            answered(&mut host, answer, |memory, state| {
                let keys = strings(memory, (bytes, bytes_length), (ends, ends_length))?;
                Ok(state.store.revisions(&keys).map_err(error))
            })
        },
    )?;
    linker.func_wrap(
        STORE,
        "commit",
        |mut host: Host<'_>, batch: u32, batch_length: u32, changed: u32, changed_length: u32, answer: u32| {
            answered(&mut host, answer, |memory, state| {
                let batch = bytes(memory, batch, batch_length)?.to_vec();
                let changed: Vec<u32> = list(memory, changed, changed_length)?;
                Ok(commit(state, batch, &changed).map_err(error))
            })
        },
    )?;
    linker.func_wrap(STORE, "rollback", |mut host: Host<'_>| super::imported(&mut host).store.rollback())?;
    Ok(())
}

/// Writes what `work` comes to, which has the component's memory and the instance's state, to where the component waits for it.
#[inline]
fn answered<T: Lower>(host: &mut Host<'_>, answer: u32, work: impl FnOnce(&[u8], &mut State) -> Result<T>) -> Result<()> {
    let mut guest = super::calling(host)?;
    let (memory, state) = guest.parts();
    let done = work(memory, state)?;
    done.lower(&mut guest, aligned(size(answer), T::SHAPE.align)?)
}

fn error(error: StoreError) -> Error {
    match error {
        StoreError::Conflict => Error::Conflict,
        StoreError::Expired => Error::Expired,
        StoreError::TooLarge { what, limit } => Error::TooLarge(Excess { what, limit }),
        StoreError::UnknownOutcome(text) => Error::UnknownOutcome(text),
        StoreError::ReadOnly => Error::ReadOnly,
        StoreError::UnsupportedOrder(text) => Error::UnsupportedOrder(text),
        StoreError::Corrupt(text) => Error::Corrupt(text),
        StoreError::Io(text) => Error::Io(text),
    }
}

fn bytes(memory: &[u8], at: u32, length: u32) -> Result<&[u8]> {
    piece(memory, size(at), size(length))
}

fn text(memory: &[u8], at: u32, length: u32) -> Result<&str> {
    std::str::from_utf8(bytes(memory, at, length)?).map_err(|_| format_err!("the component gives a text that is no UTF-8"))
}

/// The strings of flat pieces. What a guest gives is not trusted: ends that run backwards or past the bytes are refused.
fn strings(memory: &[u8], (at, length): (u32, u32), (ends, count): (u32, u32)) -> Result<Vec<Bytes>> {
    let all = bytes(memory, at, length)?;
    let ends: Vec<u32> = list(memory, ends, count)?;
    let all = Bytes::copy_from_slice(all);
    if ends == [length] {
        // The whole of it: a slice would count its references, in memory of their own.
        return Ok(vec![all]);
    }
    let mut start = 0;
    let cut = |&end: &u32| {
        let end = Some(size(end)).filter(|&end| start <= end && end <= all.len());
        let end = end.ok_or_else(|| format_err!("the component's pieces end where its bytes do not"))?;
        let piece = all.slice(start..end);
        start = end;
        Ok(piece)
    };
    ends.iter().map(cut).collect()
}

/// Answers `get-many`: the values are copied once, from where the store has them.
fn found(guest: &mut Guest<'_>, answer: usize, values: Result<Vec<Option<Bytes>>, Error>) -> Result<()> {
    let answer = aligned(answer, Found::SHAPE.align)?;
    let values = match values {
        Ok(values) => values,
        Err(error) => return Found::Err(error).lower(guest, answer),
    };
    let length = values.iter().flatten().map(Bytes::len).sum();
    if word(length).is_err() {
        let excess = Excess { what: "an answer of get-many".into(), limit: u32::MAX.into() };
        return Found::Err(Error::TooLarge(excess)).lower(guest, answer);
    }
    let at = guest.allocate(length, 1)?;
    let (mut end, mut ends, mut absent) = (0, Vec::with_capacity(values.len()), Vec::new());
    let mut room = guest.room(at, length)?;
    for (value, position) in values.iter().zip(0_u32..) {
        match value {
            Some(value) => {
                let (place, behind) =
                    room.split_at_mut_checked(value.len()).ok_or_else(|| format_err!("values that are longer than they are"))?;
                place.copy_from_slice(value);
                (room, end) = (behind, end + value.len());
            }
            None => absent.push(position),
        }
        ends.push(word(end)?);
    }
    let placed = (word(at)?, word(length)?);
    Found::Ok((placed, ends, absent)).lower(guest, answer)
}

fn commit(state: &mut State, batch: Vec<u8>, changed: &[u32]) -> Result<(), StoreError> {
    let result = match Batch::from_bytes(batch) {
        Ok(batch) => state.store.commit(&batch, changed),
        Err(error) => {
            // A commit ends the transaction, also where it is refused.
            state.store.rollback();
            Err(error)
        }
    };
    if matches!(result, Ok(()) | Err(StoreError::UnknownOutcome(_))) {
        state.commits += 1;
    }
    result
}

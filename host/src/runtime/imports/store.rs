//! The store as the component imports it, `orbweaver:kv/store`.
//!
//! By hand instead of by `bindgen!`, which has a list of its own for all bytes that cross: here keys, values and pages are [`Bytes`], and go
//! from where the store has them into the component's memory.

use super::super::bindings::orbweaver::kv::store::{Direction, Error, Excess, KeyRange, Limits};
use super::{State, imported};
use bytes::Bytes;
use orbweaver_engine::store::{self, Batch, Keyspace, Order, PageLimit, StoreError};
use smallvec::SmallVec;
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker, Lower, WasmList};

/// `pieces`.
#[derive(ComponentType, Lift, Lower)]
#[component(record)]
struct Pieces {
    bytes: Bytes,
    ends: Vec<u32>,
}

/// `scope`.
#[derive(ComponentType, Lift)]
#[component(variant)]
enum Scope {
    #[component(name = "read")]
    Read,
    #[component(name = "keys")]
    Keys(Pieces),
    #[component(name = "exclusive")]
    Exclusive,
}

/// `page`.
#[derive(ComponentType, Lower)]
#[component(record)]
struct Page {
    records: Pieces,
    more: bool,
}

/// `found`.
#[derive(ComponentType, Lower)]
#[component(record)]
struct Found {
    values: Pieces,
    absent: Vec<u32>,
}

/// Keys of less than this are not allocated on their way.
const SHORT_KEY: usize = 128;

/// The host, while the component waits for it.
type Host<'h> = StoreContextMut<'h, State>;

/// What a function of the contract gives back.
type Answer<T> = wasmtime::Result<(T,)>;

/// Gives the functions to a linker.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut store = linker.instance("orbweaver:kv/store@0.1.0")?;
    store.func_wrap("get-limits", |mut host: Host<'_>, (): ()| -> Answer<Limits> { Ok((limits(imported(host.data_mut())),)) })?;
    store.func_wrap("open-keyspace", |mut host: Host<'_>, (name, order): (String, String)| {
        Ok((open_keyspace(imported(host.data_mut()), &name, &order).map_err(error),))
    })?;
    store.func_wrap("begin", |mut host: Host<'_>, (scope,): (Scope,)| Ok((begin(imported(host.data_mut()), scope).map_err(error),)))?;
    store.func_wrap("get", |mut host: Host<'_>, (keyspace, key): (u32, WasmList<u8>)| {
        let key: SmallVec<[u8; SHORT_KEY]> = SmallVec::from_slice(key.as_le_slice(&host));
        Ok((imported(host.data_mut()).store.get(Keyspace(keyspace), &key).map_err(error),))
    })?;
    store.func_wrap("get-many", |mut host: Host<'_>, (keyspaces, keys): (Vec<u32>, Pieces)| {
        Ok((get_many(imported(host.data_mut()), keyspaces, keys).map_err(error),))
    })?;
    store.func_wrap(
        "scan",
        |mut host: Host<'_>, (keyspace, range, direction, max_items, max_bytes): (u32, KeyRange, Direction, u32, u32)| {
            let page = scan(imported(host.data_mut()), keyspace, range, direction, PageLimit { max_items, max_bytes });
            Ok((page.map_err(error),))
        },
    )?;
    store.func_wrap("revisions", |mut host: Host<'_>, (lock_keys,): (Pieces,)| {
        let state = imported(host.data_mut());
        Ok((strings(lock_keys).and_then(|keys| state.store.revisions(&keys)).map_err(error),))
    })?;
    store.func_wrap("commit", |mut host: Host<'_>, (batch, changed): (Vec<u8>, Vec<u32>)| {
        Ok((commit(imported(host.data_mut()), batch, &changed).map_err(error),))
    })?;
    store.func_wrap("rollback", |mut host: Host<'_>, (): ()| {
        imported(host.data_mut()).store.rollback();
        Ok(())
    })
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

/// The strings of flat pieces. What a guest gives is not trusted: ends that run backwards or past the buffer are refused.
fn strings(Pieces { bytes, ends }: Pieces) -> Result<Vec<Bytes>, StoreError> {
    if ends.len() == 1 && ends.first().copied() == u32::try_from(bytes.len()).ok() {
        // The whole of it: a slice would count its references, in memory of their own.
        return Ok(vec![bytes]);
    }
    let mut start = 0;
    let cut = |&end: &u32| {
        let end = usize::try_from(end).ok().filter(|&end| start <= end && end <= bytes.len());
        let end = end.ok_or_else(|| StoreError::Io("the ends of pieces do not fit their bytes".into()))?;
        let piece = bytes.slice(start..end);
        start = end;
        Ok(piece)
    };
    ends.iter().map(cut).collect()
}

fn limits(state: &State) -> Limits {
    let store::Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only } = state.store.limits();
    Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only }
}

fn open_keyspace(state: &mut State, name: &str, order: &str) -> Result<u32, StoreError> {
    let order = Order::from_name(order).ok_or_else(|| StoreError::UnsupportedOrder(format!("{order} is not known here")))?;
    state.store.open_keyspace(name, order).map(|Keyspace(number)| number)
}

fn begin(state: &mut State, scope: Scope) -> Result<u64, StoreError> {
    let scope = match scope {
        Scope::Read => store::Scope::Read,
        Scope::Keys(keys) => store::Scope::Keys(strings(keys)?),
        Scope::Exclusive => store::Scope::Exclusive,
    };
    state.store.begin(&scope)
}

fn get_many(state: &mut State, keyspaces: Vec<u32>, keys: Pieces) -> Result<Found, StoreError> {
    let keys = strings(keys)?;
    if keys.len() != keyspaces.len() {
        return Err(StoreError::Io("get-many needs a keyspace for each key".into()));
    }
    let keys: Vec<(Keyspace, Bytes)> = keyspaces.into_iter().map(Keyspace).zip(keys).collect();
    let values = state.store.get_many(&keys)?;
    let mut bytes = Vec::with_capacity(values.iter().flatten().map(Bytes::len).sum());
    let (mut ends, mut absent) = (Vec::with_capacity(keys.len()), Vec::new());
    for (value, position) in values.iter().zip(0_u32..) {
        match value {
            Some(value) => bytes.extend_from_slice(value),
            None => absent.push(position),
        }
        let too_large = |_| StoreError::TooLarge { what: "an answer of get-many".into(), limit: u64::from(u32::MAX) };
        ends.push(u32::try_from(bytes.len()).map_err(too_large)?);
    }
    Ok(Found { values: Pieces { bytes: bytes.into(), ends }, absent })
}

fn scan(state: &mut State, keyspace: u32, range: KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
    let range = store::KeyRange { start: range.start, after_start: range.after_start, end: range.end };
    let direction = match direction {
        Direction::Forward => store::Direction::Forward,
        Direction::Reverse => store::Direction::Reverse,
    };
    let store::Page { bytes, ends, more } = state.store.scan(Keyspace(keyspace), &range, direction, limit)?;
    Ok(Page { records: Pieces { bytes, ends }, more })
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

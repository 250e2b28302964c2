//! The exported functions: each one a call of the store.

use crate::bindings::exports::orbweaver::{kv::store as wit, plugins::lifetime};
use crate::{Provider, convert};
use bytes::Bytes;
use orbweaver_engine::store::{Batch, Keyspace, Limits, Order, PageLimit, Store, StoreError};
use std::cell::RefCell;
use std::marker::PhantomData;

/// The exports of a component whose store `P` provides.
pub struct Adapter<P>(PhantomData<P>);

enum State {
    Unopened,
    Open(Box<dyn Store>),
    Closed,
}

thread_local! {
    // An instance is one conversation, and so has one store.
    static STATE: RefCell<State> = const { RefCell::new(State::Unopened) };
}

fn with_store<P: Provider, T>(work: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>) -> Result<T, wit::Error> {
    STATE.with_borrow_mut(|state| {
        if matches!(state, State::Unopened) {
            *state = State::Open(P::open().map_err(convert::error)?);
        }
        match state {
            State::Open(store) => work(store.as_mut()).map_err(convert::error),
            State::Unopened | State::Closed => Err(wit::Error::Io("the store is closed".into())),
        }
    })
}

impl<P: Provider> wit::Guest for Adapter<P> {
    fn get_limits() -> wit::Limits {
        // Where the store does not open, the next call says why.
        convert::limits(with_store::<P, _>(|store| Ok(store.limits())).unwrap_or(Limits::NONE))
    }

    fn open_keyspace(name: String, order: String) -> Result<wit::Keyspace, wit::Error> {
        let order = Order::from_name(&order).ok_or(wit::Error::UnsupportedOrder(order))?;
        with_store::<P, _>(|store| store.open_keyspace(&name, order)).map(|keyspace| keyspace.0)
    }

    fn begin(scope: wit::Scope) -> Result<u64, wit::Error> {
        with_store::<P, _>(|store| store.begin(&convert::scope(scope)?))
    }

    fn get(keyspace: wit::Keyspace, key: Vec<u8>) -> Result<Option<Vec<u8>>, wit::Error> {
        with_store::<P, _>(|store| store.get(Keyspace(keyspace), &key)).map(|value| value.map(Vec::from))
    }

    fn get_many(keyspaces: Vec<wit::Keyspace>, keys: wit::Pieces) -> Result<wit::Found, wit::Error> {
        with_store::<P, _>(|store| {
            let keys = convert::strings(keys)?;
            if keys.len() != keyspaces.len() {
                return Err(StoreError::Io("get-many names another number of keyspaces than of keys".into()));
            }
            let keys: Vec<(Keyspace, &[u8])> = keyspaces.into_iter().map(Keyspace).zip(keys.iter().map(Bytes::as_ref)).collect();
            store.get_many(&keys).map(convert::found)
        })
    }

    fn scan(
        keyspace: wit::Keyspace,
        range: wit::KeyRange,
        direction: wit::Direction,
        max_items: u32,
        max_bytes: u32,
    ) -> Result<wit::Page, wit::Error> {
        let limit = PageLimit { max_items, max_bytes };
        let scan = |store: &mut dyn Store| store.scan(Keyspace(keyspace), &convert::range(range), convert::direction(direction), limit);
        with_store::<P, _>(scan).map(convert::page)
    }

    fn revisions(lock_keys: wit::Pieces) -> Result<Vec<u64>, wit::Error> {
        with_store::<P, _>(|store| store.revisions(&convert::strings(lock_keys)?))
    }

    fn commit(batch: Vec<u8>, changed: Vec<u32>) -> Result<(), wit::Error> {
        with_store::<P, _>(|store| match Batch::from_bytes(batch) {
            Ok(batch) => store.commit(&batch, &changed),
            Err(error) => {
                store.rollback();
                Err(error)
            }
        })
    }

    fn rollback() {
        STATE.with_borrow_mut(|state| {
            if let State::Open(store) = state {
                store.rollback();
            }
        });
    }
}

impl<P: Provider> lifetime::Guest for Adapter<P> {
    fn close() {
        STATE.set(State::Closed);
    }
}

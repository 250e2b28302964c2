//! One conversation with the store: a transaction at a time, on a connection of the pool.
//!
//! `begin` sends nothing: the transaction begins on the server with its first read, in one round trip with it. What that round trip
//! brings beside the read are the epoch and, where the transaction writes, the locks of its stripes.

use crate::changes::stretches;
use crate::commit::Commit;
use crate::error::Failure;
use crate::link::Link;
use crate::pool::Lease;
use crate::scan;
use crate::schema::{self, STRIPES};
use crate::statements::{BEGIN_EXCLUSIVE, BEGIN_READ, BEGIN_WRITE};
use crate::store::{Shared, corrupt};
use bytes::Bytes;
use futures_util::future::{join3, try_join_all};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Limits, Order, Page, PageLimit, Scope, Store, StoreError, Values};
use orbweaver_remote::{Contention, Meter, RoundTrips, Stripes, block_on};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;
use tokio_postgres::{Error, Row};

/// A handle on a [`crate::PostgresStore`]. Dropping it rolls its transaction back.
pub struct PostgresHandle {
    shared: Arc<Shared>,
    keyspaces: BTreeSet<Keyspace>,
    state: State,
    contention: Contention,
    meter: Meter,
    sizes: scan::Sizes,
}

enum State {
    /// No transaction.
    Idle,
    /// One of which the server has not heard yet.
    Declared(Declared),
    Open(Box<Open>),
    /// One that the server has ended: what every further request comes to.
    Over(StoreError),
}

/// What a transaction may change, and the epoch that the engine was told.
pub struct Declared {
    pub scope: Scope,
    pub epoch: i64,
}

/// A transaction on the server.
pub struct Open {
    pub lease: Lease,
    pub declared: Declared,
    /// The stripes that are locked, with their revisions.
    pub locked: BTreeMap<i32, i64>,
}

fn no_transaction() -> StoreError {
    StoreError::Io("no transaction is open".into())
}

impl Declared {
    const fn begin(&self) -> &'static str {
        match self.scope {
            Scope::Read => BEGIN_READ,
            Scope::Keys(_) => BEGIN_WRITE,
            Scope::Exclusive => BEGIN_EXCLUSIVE,
        }
    }

    /// Reads the epoch, and locks the stripes.
    async fn lock(&self, link: &Link) -> Result<Vec<Row>, Error> {
        match (&self.scope, Stripes::new(&self.scope, &[], STRIPES)) {
            (Scope::Read, _) => link.client.query(&link.statements.epoch, &[]).await,
            (_, Some(stripes)) => {
                let ascending: Vec<i32> = stripes.declared.into_iter().map(i32::from).collect();
                link.client.query(&link.statements.lock, &[&ascending]).await
            }
            (_, None) => link.client.query(&link.statements.lock_all, &[]).await,
        }
    }

    /// The epoch, and the revisions of the stripes that are locked.
    fn locked(&self, rows: &[Row]) -> Result<(i64, BTreeMap<i32, i64>), StoreError> {
        let absent = || StoreError::Corrupt("the store's stripes have been removed".into());
        let first = rows.first().ok_or_else(absent)?;
        if self.scope == Scope::Read {
            return Ok((first.try_get(0).map_err(|error| corrupt(&error))?, BTreeMap::new()));
        }
        let pair = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
        let locked = rows.iter().map(pair).collect::<Result<_, Error>>().map_err(|error| corrupt(&error))?;
        Ok((first.try_get(2).map_err(|error| corrupt(&error))?, locked))
    }
}

impl PostgresHandle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let (meter, contention) = (shared.meter.of_handle(), Contention::new(Arc::clone(&shared.turns)));
        Self { shared, keyspaces: BTreeSet::new(), state: State::Idle, contention, meter, sizes: scan::Sizes::default() }
    }

    /// How many requests this handle has sent and waited for.
    #[must_use]
    pub fn round_trips(&self) -> RoundTrips {
        self.meter.round_trips()
    }

    /// The number of a keyspace in the tables.
    fn number(&self, keyspace: Keyspace) -> Result<i32, StoreError> {
        let number = i32::try_from(keyspace.0).ok().filter(|_| self.keyspaces.contains(&keyspace));
        number.ok_or_else(|| StoreError::Io(format!("keyspace {} is not open", keyspace.0)))
    }

    /// Makes a request within the transaction, which begins with it where it has not begun.
    fn request<T>(&mut self, request: impl AsyncFn(&Link) -> Result<T, Error>) -> Result<T, StoreError> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => Err(no_transaction()),
            State::Over(error) => {
                self.state = State::Over(error.clone());
                Err(error)
            }
            State::Declared(declared) => match self.begin_with(declared, &request) {
                Ok((open, answer)) => {
                    self.state = State::Open(Box::new(open));
                    Ok(answer)
                }
                Err(error) => Err(self.over(error)),
            },
            State::Open(open) => {
                self.meter.count_read();
                match block_on(self.shared.wait(request(&open.lease.link)))? {
                    Ok(answer) => {
                        self.state = State::Open(open);
                        Ok(answer)
                    }
                    Err(failure) => {
                        self.shared.give_up(open.lease, &failure);
                        self.contention.collided();
                        Err(self.over(failure.of_read()))
                    }
                }
            }
        }
    }

    fn over(&mut self, error: StoreError) -> StoreError {
        self.state = State::Over(error.clone());
        error
    }

    /// Begins the transaction on the server, in one round trip with the first request: again after a collision, of which nobody has to
    /// know as nothing was read, and on another connection where an idle one turns out to be gone.
    fn begin_with<T>(&mut self, declared: Declared, request: &impl AsyncFn(&Link) -> Result<T, Error>) -> Result<(Open, T), StoreError> {
        let start = Instant::now();
        loop {
            let lease = block_on(self.shared.pool.take())??;
            let client = &lease.link.client;
            let together = async {
                // Looked at in their order for the first time, which sends them in that order.
                let (begun, rows, answer) =
                    join3(client.batch_execute(declared.begin()), declared.lock(&lease.link), request(&lease.link)).await;
                begun?;
                Ok((rows?, answer?))
            };
            self.meter.count_read();
            match block_on(self.shared.wait(together))? {
                Ok((rows, answer)) => {
                    let (epoch, locked) = match declared.locked(&rows) {
                        Ok((epoch, locked)) if epoch == declared.epoch => (epoch, locked),
                        other => {
                            self.shared.roll_back(lease);
                            // The next transaction is told the epoch as it is.
                            self.shared.note_epoch(other?.0);
                            return Err(StoreError::Conflict);
                        }
                    };
                    self.shared.note_epoch(epoch);
                    return Ok((Open { lease, declared, locked }, answer));
                }
                Err(failure) => {
                    self.shared.give_up(lease, &failure);
                    match failure {
                        Failure::Collision => {
                            self.contention.collided();
                            self.contention.begin(&declared.scope)?;
                        }
                        Failure::Lost(_) if self.shared.may_try_again(start) => {}
                        other => return Err(other.alone()),
                    }
                }
            }
        }
    }
}

impl Store for PostgresHandle {
    fn limits(&self) -> Limits {
        self.shared.limits
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        if order != Order::Bytes {
            return Err(StoreError::UnsupportedOrder(format!("{name}: PostgreSQL orders keys by their bytes, not by {}", order.name())));
        }
        let schema = &self.shared.pool.options().schema;
        let number = self.shared.ask(&self.meter, async |link| schema::keyspace(&link.client, schema, name).await)?;
        let keyspace = Keyspace(u32::try_from(number).map_err(|_| StoreError::Corrupt(format!("keyspace {name} has number {number}")))?);
        self.keyspaces.insert(keyspace);
        // Whoever opens keyspaces goes on with transactions, whose first read had better not find an old epoch.
        self.shared.refresh_epoch(&self.meter)?;
        Ok(keyspace)
    }

    fn order(&self, _keyspace: Keyspace) -> Order {
        Order::Bytes
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        if !matches!(self.state, State::Idle) {
            return Err(StoreError::Io("a transaction is open already".into()));
        }
        if self.shared.limits.read_only && *scope != Scope::Read {
            return Err(StoreError::ReadOnly);
        }
        self.contention.begin(scope)?;
        let epoch = self.shared.epoch();
        self.state = State::Declared(Declared { scope: scope.clone(), epoch });
        u64::try_from(epoch).map_err(|_| StoreError::Corrupt(format!("the store's epoch is {epoch}")))
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let number = self.number(keyspace)?;
        let row = self.request(async |link| link.client.query_opt(&link.statements.get, &[&number, &key]).await)?;
        row.map(|row| bytes_of(&row, 0)).transpose()
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        let mut wanted: BTreeMap<i32, Vec<&[u8]>> = BTreeMap::new();
        for (keyspace, key) in keys {
            wanted.entry(self.number(*keyspace)?).or_default().push(key);
        }
        let of_keyspace = |(number, keys)| stretches(keys).into_iter().map(move |keys| (number, keys));
        let wanted: Vec<(i32, Vec<&[u8]>)> = wanted.into_iter().flat_map(of_keyspace).collect();
        let rows = self.request(async |link| {
            let requests = wanted.iter().map(|(number, keys)| async move {
                let rows = link.client.query(&link.statements.get_many, &[number, keys]).await?;
                Ok(rows.into_iter().map(|row| (*number, row)).collect::<Vec<_>>())
            });
            try_join_all(requests).await
        })?;
        let mut found: BTreeMap<(i32, Bytes), Bytes> = BTreeMap::new();
        for (number, row) in rows.iter().flatten() {
            found.insert((*number, bytes_of(row, 0)?), bytes_of(row, 1)?);
        }
        let mut values = Values::with_capacity(keys.len());
        for (keyspace, key) in keys {
            values.push(found.get(&(self.number(*keyspace)?, Bytes::copy_from_slice(key))).map(Bytes::as_ref))?;
        }
        Ok(values)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        let number = self.number(keyspace)?;
        if matches!(self.state, State::Idle) {
            return Err(no_transaction());
        }
        let mut walk = scan::Walk::new(range, direction, limit, self.sizes.of(keyspace));
        while let Some(rows) = walk.next_rows() {
            let (start, end) = walk.range();
            let found = self.request(async |link| match end {
                Some(end) => link.client.query(link.statements.scan(direction, true), &[&number, &start, &end, &rows]).await,
                None => link.client.query(link.statements.scan(direction, false), &[&number, &start, &rows]).await,
            })?;
            walk.take(&found).map_err(|error| corrupt(&error))?;
        }
        self.sizes.note(keyspace, walk.record_bytes());
        Ok(walk.finish())
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        let stripes: Vec<i32> = keys.iter().map(|key| Stripes::of(key, STRIPES).into()).collect();
        let read = async |link: &Link| link.client.query(&link.statements.revisions, &[&stripes]).await;
        let rows = if matches!(self.state, State::Idle) { self.shared.ask(&self.meter, read)? } else { self.request(read)? };
        let pair = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
        let found: BTreeMap<i32, i64> = rows.iter().map(pair).collect::<Result<_, Error>>().map_err(|error| corrupt(&error))?;
        let revision = |stripe: &i32| found.get(stripe).and_then(|revision| u64::try_from(*revision).ok());
        let absent = || StoreError::Corrupt("the store's stripes have been removed".into());
        stripes.iter().map(|stripe| revision(stripe).ok_or_else(absent)).collect()
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        if matches!(self.state, State::Idle) {
            return Err(no_transaction());
        }
        let outcome = self.write(batch, changed);
        self.contention.committed(&outcome);
        self.rollback();
        outcome
    }

    fn rollback(&mut self) {
        self.contention.ended();
        if let State::Open(open) = std::mem::replace(&mut self.state, State::Idle) {
            self.shared.roll_back(open.lease);
        }
    }
}

impl PostgresHandle {
    /// Commits a batch. What is left of the transaction afterwards is to be rolled back.
    fn write(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let ops = batch.ops_within(self.limits())?;
        ops.iter().try_for_each(|op| self.number(op.keyspace()).map(drop))?;
        let scope = match &self.state {
            State::Declared(declared) => &declared.scope,
            State::Open(open) => &open.declared.scope,
            State::Over(error) => return Err(as_of_commit(error.clone())),
            State::Idle => return Err(no_transaction()),
        };
        match scope {
            Scope::Read if ops.is_empty() => return Ok(()),
            Scope::Read => return Err(StoreError::ReadOnly),
            Scope::Keys(_) if ops.is_empty() && changed.is_empty() => return Ok(()),
            Scope::Keys(_) | Scope::Exclusive => {}
        }
        if let State::Declared(_) = self.state {
            // Nothing was read. The locks come first all the same: what others have done has to be known before anything is written.
            self.request(async |_| Ok(())).map_err(as_of_commit)?;
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Open(open) => block_on(Commit::new(&self.shared, &self.meter, *open, changed).write(&ops))?,
            _ => Err(no_transaction()),
        }
    }
}

impl Drop for PostgresHandle {
    fn drop(&mut self) {
        self.rollback();
    }
}

/// What a commit reports where a read would report `error`.
fn as_of_commit(error: StoreError) -> StoreError {
    if error == StoreError::Expired { StoreError::Conflict } else { error }
}

fn bytes_of(row: &Row, column: usize) -> Result<Bytes, StoreError> {
    row.try_get(column).map(Bytes::copy_from_slice).map_err(|error| corrupt(&error))
}

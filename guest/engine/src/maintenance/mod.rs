//! Maintenance: sweeping, checking, dumping and loading, each in steps of bounded size that a host calls between commands.
//!
//! The sweep and the check are the layout's business ([`crate::layout::Layout`]); dumps and loads speak of logical records only,
//! so that they move data between layouts.

mod dump;
mod inspect;
mod line;
mod load;

pub use load::LoadReport;

use crate::db::Versions;
use crate::error::{Error, Result};
use crate::events::{Classes, Events};
use crate::layout::{Catalog, Expired, Finding, KeyAt, Layout, Swept};
use crate::session::{Engine, Message, VERSION_BLOCK};
use crate::store::{Scope, StoreError};
use crate::transaction::Transaction;

/// How often a step is run again after conflicts.
const MAX_ATTEMPTS: u32 = 100;

/// What a step of maintenance works with.
struct Workspace<'e, 's> {
    transaction: Transaction<'s>,
    layout: &'e dyn Layout,
    catalog: &'e Catalog,
    versions: &'e mut Versions,
    now_ms: u64,
}

impl Engine {
    /// Removes expired keys and fields and what removed keys have left, about `budget` records. With nothing to do it costs three
    /// short scans. Call it again at once where [`Swept::more`] says so. Several sweepers may work on a store, beside commands. The
    /// next [`Engine::exchange`] sends the events of the expired keys.
    ///
    /// # Errors
    /// Store errors. Records that cannot be read are passed over; [`Engine::check`] names them.
    pub fn sweep(&mut self, budget: usize) -> Result<Swept> {
        let now_ms = self.environment.now_us() / 1000;
        if self.catalog_epoch.is_none() && self.server.settings.notify_keyspace_events.tell_anything() {
            match self.load_catalog() {
                // Nobody can tell which db a key was in: there is nothing to tell.
                Err(Error::Corrupt(_)) => {}
                loaded => loaded?,
            }
        }
        let Self { store, layout, catalog, server, happened, .. } = self;
        let mut events = Events::new(server.wanted_events());
        let mut on_expired = |at: KeyAt, expired: Expired| {
            let told: &[(Classes, &'static str)] = match expired {
                Expired::Key => &[(Classes::EXPIRED, "expired")],
                Expired::Fields => &[(Classes::HASH, "hexpired")],
                Expired::LastFields => &[(Classes::HASH, "hexpired"), (Classes::GENERIC, "del")],
            };
            told.iter().for_each(|&(class, event)| events.notify(catalog, class, event, &at));
        };
        let result = layout.sweep(store.as_mut(), now_ms, budget, &mut on_expired);
        happened.extend(events.take().into_iter().map(Message::Event));
        let swept = result?;
        self.server.stats.expired_keys += swept.expired_keys;
        Ok(swept)
    }

    /// Verifies about `budget` records and returns what is wrong with them. Begin with an empty cursor; it is moved on, and empty
    /// again once all is verified. On a database that changes between two calls, findings are to be confirmed by a second run.
    ///
    /// # Errors
    /// Store errors; a client's mistake where the cursor is none of this function's.
    pub fn check(&mut self, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>> {
        let mut transaction = Transaction::begin(self.store.as_mut(), Scope::Read)?;
        self.layout.check(&mut transaction, cursor, budget)
    }

    /// Runs `work` in a transaction and commits it: again after conflicts, after other instances have flushed or swapped dbs, and
    /// when versions had to be reserved.
    fn transact<T>(
        &mut self,
        scope: impl Fn(&Self) -> Result<Scope>,
        mut work: impl FnMut(&mut Workspace<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let mut last_error = Error::from(StoreError::Conflict);
        for _ in 0..MAX_ATTEMPTS {
            match self.transact_once(&scope, &mut work) {
                Err(error) if error.is_transient() => last_error = error,
                other => return other,
            }
        }
        Err(last_error)
    }

    fn transact_once<T>(
        &mut self,
        scope: impl Fn(&Self) -> Result<Scope>,
        work: &mut impl FnMut(&mut Workspace<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        if self.catalog_epoch.is_none() {
            self.load_catalog()?;
        }
        let scope = scope(self)?;
        let now_ms = self.layout.expiry_rules().clock(self.environment.now_us() / 1000);
        let Self { store, layout, catalog, catalog_epoch, versions, censuses, .. } = self;
        let mut transaction = Transaction::begin(store.as_mut(), scope)?;
        transaction.use_censuses(censuses);
        if *catalog_epoch != Some(transaction.epoch()) {
            *catalog_epoch = None;
            return Err(StoreError::Conflict.into());
        }
        let mut workspace = Workspace { transaction, layout: layout.as_ref(), catalog, versions, now_ms };
        match work(&mut workspace) {
            Ok(value) => workspace.transaction.commit().map(|()| value).map_err(Error::from),
            Err(Error::OutOfVersions) => {
                drop(workspace);
                self.reserve_versions(VERSION_BLOCK)?;
                Err(StoreError::Conflict.into())
            }
            Err(error) => Err(error),
        }
    }
}

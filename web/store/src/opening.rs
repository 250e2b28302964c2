//! Opening a database, with the object stores that are wanted.
//!
//! IndexedDB creates object stores only while a database is upgraded to a new version, all or nothing. The version has no other
//! meaning here: it grows by one with each upgrade.

use crate::bindings::set_timeout;
use crate::failure;
use idb::{Database, DatabaseEvent as _, Factory, ObjectStoreParams, Request as _};
use js_sys::{Function, Promise};
use orbweaver_engine::store::StoreError;
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

/// How long an upgrade waits for another connection to the database to close. The connection of a tab that has just closed may
/// outlive its Web Lock for a moment.
const BLOCKED_MS: i32 = 5000;

const OPENING: &str = "the database does not open";

/// Opens the database, creating what is missing of it.
///
/// # Errors
/// [`StoreError::Io`]: no IndexedDB, blocked by another connection, quota, aborted. The database is then as it was.
pub async fn open(name: &str, keyspaces: &[String]) -> Result<Database, StoreError> {
    let database = request(name, None, keyspaces).await?;
    if has(&database, keyspaces) {
        return Ok(database);
    }
    let version = database.version().map_err(|error| failure::idb(OPENING, error))?.saturating_add(1);
    database.close();
    let database = request(name, Some(version), keyspaces).await?;
    if !has(&database, keyspaces) {
        database.close();
        return Err(StoreError::Io(format!("{OPENING}: the browser did not create its object stores")));
    }
    Ok(database)
}

fn has(database: &Database, keyspaces: &[String]) -> bool {
    let stores = database.store_names();
    keyspaces.iter().all(|keyspace| stores.contains(keyspace))
}

/// One open request, and the upgrade in it: to `version`, or where the database is new.
async fn request(name: &str, version: Option<u32>, keyspaces: &[String]) -> Result<Database, StoreError> {
    let failed = |error| failure::idb(OPENING, error);
    let mut request = Factory::new().and_then(|factory| factory.open(name, version)).map_err(failed)?;
    let wanted = keyspaces.to_vec();
    request.on_upgrade_needed(move |event| {
        // What could not be created is missed by `open`, which then fails.
        if let Ok(database) = event.database() {
            let stores = database.store_names();
            for keyspace in wanted.iter().filter(|keyspace| !stores.contains(keyspace)) {
                let _ = database.create_object_store(keyspace, ObjectStoreParams::new());
            }
        }
    });
    let given_up = Rc::new(Cell::new(false));
    let promise = settle(&mut request, &given_up);
    let opened = JsFuture::from(promise).await;
    let outcome = match opened {
        Ok(_) => request.database().map_err(failed),
        Err(blocked) if blocked.is_string() => {
            // The request cannot be taken back. Should it still succeed, its connection is closed at once.
            given_up.set(true);
            Err(StoreError::Io(format!("{OPENING}: another tab or window holds an older connection to it. Close it, then try again")))
        }
        Err(_) => Err(match request.error() {
            Ok(Some(error)) => failure::browser(OPENING, &error),
            Ok(None) => StoreError::Io(OPENING.to_owned()),
            Err(error) => failed(error),
        }),
    };
    request.forget_callbacks();
    outcome
}

/// Resolved on success; rejected on an error, or with a string where the request is blocked for too long.
fn settle(request: &mut idb::request::OpenDatabaseRequest, given_up: &Rc<Cell<bool>>) -> Promise {
    let given_up = Rc::clone(given_up);
    let call = |function: Function, argument: JsValue| {
        let _ = function.call1(&JsValue::NULL, &argument);
    };
    Promise::new(&mut |resolve, reject| {
        let given_up = Rc::clone(&given_up);
        request.on_success(move |event| {
            if given_up.get()
                && let Ok(database) = event.database()
            {
                database.close();
            }
            call(resolve, JsValue::NULL);
        });
        let blocked = reject.clone();
        request.on_blocked(move |_| {
            set_timeout(&blocked, BLOCKED_MS, &JsValue::from_str("blocked"));
        });
        request.on_error(move |_| call(reject, JsValue::NULL));
    })
}

//! Commits: one `readwrite` transaction, all or nothing over every object store.

use crate::bindings::Committable;
use crate::{failure, reading};
use idb::{ObjectStore, Query};
use js_sys::{Promise, Uint8Array};
use orbweaver_engine::store::{BatchOp, KeyRange, StoreError};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::IdbTransaction;

const WRITING: &str = "writing fails";

/// Issues the request of one operation.
pub fn apply(store: &ObjectStore, op: &BatchOp<'_>) -> Result<(), StoreError> {
    let js = |bytes: &[u8]| JsValue::from(Uint8Array::from(bytes));
    let failed = |error| failure::idb(WRITING, error);
    match *op {
        BatchOp::Put { key, value, .. } => store.put(&js(value), Some(&js(key))).map(drop).map_err(failed),
        BatchOp::Delete { key, .. } => store.delete(js(key)).map(drop).map_err(failed),
        BatchOp::DeleteRange { start, end, .. } => {
            let range = KeyRange { start: start.to_vec(), after_start: false, end: (!end.is_empty()).then(|| end.to_vec()) };
            if reading::is_empty(&range) {
                return Ok(());
            }
            match reading::query(&range)? {
                None => store.clear().map(drop),
                Some(Query::Key(key)) => store.delete(key).map(drop),
                Some(Query::KeyRange(range)) => store.delete(range).map(drop),
            }
            .map_err(failed)
        }
    }
}

/// Waits until everything of the transaction is written.
///
/// # Errors
/// Where the browser has aborted it, for whatever reason: then nothing is.
pub async fn complete(transaction: &IdbTransaction) -> Result<(), StoreError> {
    let promise = Promise::new(&mut |resolve, reject| {
        transaction.set_oncomplete(Some(&resolve));
        transaction.set_onabort(Some(&reject));
    });
    // No further request follows: the browser need not wait for one.
    let _ = transaction.unchecked_ref::<Committable>().commit();
    match JsFuture::from(promise).await {
        Ok(_) => Ok(()),
        Err(_) => {
            let error = transaction.error().map_or(JsValue::UNDEFINED, JsValue::from);
            Err(failure::browser(WRITING, &error))
        }
    }
}

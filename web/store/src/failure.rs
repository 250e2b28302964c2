//! Errors: what the browser reports, in the contract's terms, and how they reach the component.

use js_sys::{BigInt, Error as JsError, Object, Reflect};
use orbweaver_engine::store::StoreError;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::DomException;

/// What went wrong in the browser while doing `what`. In every case nothing was written: IndexedDB undoes a transaction that does not
/// complete.
pub fn browser(what: &str, error: &JsValue) -> StoreError {
    let (name, message) = match error.dyn_ref::<DomException>() {
        Some(exception) => (exception.name(), exception.message()),
        None => (String::new(), error.dyn_ref::<JsError>().map_or_else(String::new, |error| error.message().into())),
    };
    StoreError::Io(match name.as_str() {
        "QuotaExceededError" => {
            format!("{what}: the browser's storage quota for this site is used up. Nothing was written; remove data, or free disk space")
        }
        "SecurityError" => format!("{what}: the browser refuses this page access to IndexedDB (blocked site data, or a private window)"),
        "InvalidStateError" => {
            format!("{what}: the browser has closed the database, or offers none (site data cleared, a private window). Reload the page")
        }
        _ => format!("{what}: {name} {message}"),
    })
}

/// As [`browser`], for what idb reports.
pub fn idb(what: &str, error: idb::Error) -> StoreError {
    use idb::Error as E;
    match error {
        E::DomException(exception) => browser(what, &exception),
        E::IndexedDbNotFound(_) => {
            StoreError::Io(format!("{what}: this browser, or this window (private mode), offers no IndexedDB to the page"))
        }
        E::IndexedDbOpenFailed(error)
        | E::ObjectStoreCreateFailed(error)
        | E::ObjectStoreNotFound(error)
        | E::TransactionOpenFailed(error)
        | E::GetFailed(error)
        | E::GetAllFailed(error)
        | E::GetAllKeysFailed(error)
        | E::OpenCursorFailed(error)
        | E::UpdateFailed(error)
        | E::DeleteFailed(error)
        | E::ClearFailed(error)
        | E::KeyRangeCreateFailed(error)
        | E::CursorContinueFailed(error) => browser(what, &error),
        other => StoreError::Io(format!("{what}: {other}")),
    }
}

/// The exception that jco turns into the contract's `error`: its property `payload` is the case.
pub fn thrown(error: &StoreError) -> JsValue {
    let text = |text: &str| Some(JsValue::from_str(text));
    let (tag, value) = match error {
        StoreError::Conflict => ("conflict", None),
        StoreError::Expired => ("expired", None),
        StoreError::TooLarge { what, limit } => {
            let excess = Object::new();
            set(&excess, "what", &JsValue::from_str(what));
            set(&excess, "limit", &BigInt::from(*limit));
            ("too-large", Some(excess.into()))
        }
        StoreError::UnknownOutcome(what) => ("unknown-outcome", text(what)),
        StoreError::ReadOnly => ("read-only", None),
        StoreError::UnsupportedOrder(order) => ("unsupported-order", text(order)),
        StoreError::Corrupt(what) => ("corrupt", text(what)),
        StoreError::Io(what) => ("io", text(what)),
    };
    let payload = Object::new();
    set(&payload, "tag", &JsValue::from_str(tag));
    if let Some(value) = value {
        set(&payload, "val", &value);
    }
    let error = JsError::new(&error.to_string());
    set(&error, "payload", &payload);
    error.into()
}

/// Sets a property of an object of our own, which cannot fail.
pub fn set(object: &Object, name: &str, value: &JsValue) {
    let _ = Reflect::set(object, &JsValue::from_str(wasm_bindgen::intern(name)), value);
}

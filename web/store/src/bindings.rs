//! What idb does not bind.

use js_sys::{Array, Function, Object};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::{IdbRequest, IdbTransaction};

#[wasm_bindgen]
extern "C" {
    /// Timers, in pages and workers alike.
    #[wasm_bindgen(js_name = setTimeout)]
    pub fn set_timeout(handler: &Function, milliseconds: i32, argument: &JsValue) -> JsValue;

    /// `IDBDatabase`, with the options of a transaction.
    #[wasm_bindgen(extends = Object)]
    pub type DatabaseWithOptions;

    #[wasm_bindgen(method, catch)]
    pub fn transaction(this: &DatabaseWithOptions, stores: &Array, mode: &str, options: &JsValue) -> Result<IdbTransaction, JsValue>;

    /// `IDBTransaction`, whose `commit` web-sys has as deprecated: it is in version 3.0 again.
    #[wasm_bindgen(extends = Object)]
    pub type Committable;

    #[wasm_bindgen(method, catch)]
    pub fn commit(this: &Committable) -> Result<(), JsValue>;

    /// `IDBObjectStore`, with keys and values of a range by one request, also backwards (Indexed Database API 3.0).
    #[wasm_bindgen(extends = Object)]
    pub type StoreWithRecords;

    #[wasm_bindgen(method, catch, js_name = getAllRecords)]
    pub fn get_all_records(this: &StoreWithRecords, options: &RecordsOptions) -> Result<IdbRequest, JsValue>;

    #[wasm_bindgen(method, getter, js_name = getAllRecords)]
    pub fn get_all_records_function(this: &StoreWithRecords) -> JsValue;

    /// `IDBGetAllOptions`.
    #[wasm_bindgen(extends = Object)]
    pub type RecordsOptions;

    #[wasm_bindgen(method, setter)]
    pub fn set_query(this: &RecordsOptions, query: &JsValue);

    #[wasm_bindgen(method, setter)]
    pub fn set_count(this: &RecordsOptions, count: u32);

    #[wasm_bindgen(method, setter)]
    pub fn set_direction(this: &RecordsOptions, direction: &str);

    /// `IDBRecord`.
    #[wasm_bindgen(extends = Object)]
    pub type Record;

    #[wasm_bindgen(method, getter)]
    pub fn key(this: &Record) -> JsValue;

    #[wasm_bindgen(method, getter)]
    pub fn value(this: &Record) -> JsValue;
}

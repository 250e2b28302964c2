//! Reads: requests that are issued together, in one `readonly` transaction.

use crate::bindings::{Record, RecordsOptions, StoreWithRecords};
use crate::{convert, failure};
use idb::{ObjectStore, Query};
use js_sys::{Array, Promise, Uint8Array};
use orbweaver_engine::store::{Direction, KeyRange, Order, Page, PageBuilder, PageLimit, StoreError};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{IdbRequest, IdbTransaction};

const READING: &str = "reading fails";

/// How many records the first request of a page asks for. A request cannot be limited in bytes, so that a page of few large records
/// should not load many.
const FIRST_RECORDS: u32 = 128;

/// The result of the last of some requests, all made in `transaction`: requests succeed in their order.
///
/// # Errors
/// Where a request fails, which aborts the transaction.
pub async fn last(transaction: &IdbTransaction, request: &IdbRequest) -> Result<JsValue, StoreError> {
    let promise = Promise::new(&mut |resolve, reject| {
        request.set_onsuccess(Some(&resolve));
        transaction.set_onabort(Some(&reject));
    });
    match JsFuture::from(promise).await {
        Ok(_) => request.result().map_err(|error| failure::browser(READING, &error)),
        Err(_) => Err(aborted(transaction)),
    }
}

fn aborted(transaction: &IdbTransaction) -> StoreError {
    let error = transaction.error().map_or(JsValue::UNDEFINED, JsValue::from);
    failure::browser(READING, &error)
}

/// A request for the value of a key. For the empty key, too, which IndexedDB knows and nobody has written.
pub fn get(store: &ObjectStore, key: &[u8]) -> Result<IdbRequest, StoreError> {
    let key = JsValue::from(Uint8Array::from(key));
    store.get(key).map(IdbRequest::from).map_err(|error| failure::idb(READING, error))
}

/// One page of a range.
pub async fn scan(
    transaction: &IdbTransaction,
    store: &ObjectStore,
    range: &KeyRange,
    direction: Direction,
    limit: PageLimit,
) -> Result<Page, StoreError> {
    let mut page = PageBuilder::new(limit);
    let mut rest = range.clone();
    // One more than wanted shows whether there is more.
    let mut wanted = limit.max_items.max(1).saturating_add(1);
    let mut count = FIRST_RECORDS;
    loop {
        let asked = wanted.min(count);
        let records = if is_empty(&rest) { Vec::new() } else { records(transaction, store, &rest, direction, asked).await? };
        let is_last = u32::try_from(records.len()).is_ok_and(|got| got < asked);
        for (key, value) in &records {
            if page.is_full() || !page.push(key, value) {
                return Ok(page.finish(true));
            }
        }
        let Some((key, _)) = records.into_iter().next_back().filter(|_| !is_last) else { return Ok(page.finish(false)) };
        match direction {
            Direction::Forward => rest = KeyRange { start: key, after_start: true, end: rest.end },
            Direction::Reverse => rest.end = Some(key),
        }
        wanted = wanted.saturating_sub(asked).max(1);
        count = count.saturating_mul(2);
    }
}

/// Whether no key can be in the range: IndexedDB refuses such ranges.
pub fn is_empty(range: &KeyRange) -> bool {
    range.is_empty(Order::Bytes) || range.end.as_ref().is_some_and(Vec::is_empty)
}

/// A range that is not empty, as IndexedDB has it; none is everything.
pub fn query(range: &KeyRange) -> Result<Option<Query>, StoreError> {
    let key = |bytes: &[u8]| JsValue::from(Uint8Array::from(bytes));
    let made = match (range.start.as_slice(), range.end.as_deref()) {
        // Behind the empty key there is a bound: it may be one of them.
        ([], None) if !range.after_start => return Ok(None),
        ([], Some(end)) if !range.after_start => idb::KeyRange::upper_bound(&key(end), Some(true)),
        (start, None) => idb::KeyRange::lower_bound(&key(start), Some(range.after_start)),
        (start, Some(end)) => idb::KeyRange::bound(&key(start), &key(end), Some(range.after_start), Some(true)),
    };
    made.map(|range| Some(Query::KeyRange(range))).map_err(|error| failure::idb(READING, error))
}

type Records = Vec<(Vec<u8>, Vec<u8>)>;

/// The first records of a range that is not empty.
async fn records(
    transaction: &IdbTransaction,
    store: &ObjectStore,
    range: &KeyRange,
    direction: Direction,
    count: u32,
) -> Result<Records, StoreError> {
    let query = query(range)?;
    let with_records = JsValue::from(store.clone()).unchecked_into::<StoreWithRecords>();
    if with_records.get_all_records_function().is_function() {
        let options = js_sys::Object::new().unchecked_into::<RecordsOptions>();
        if let Some(query) = query {
            options.set_query(&query.into());
        }
        options.set_count(count);
        options.set_direction(if direction == Direction::Forward { "next" } else { "prev" });
        let request = with_records.get_all_records(&options).map_err(|error| failure::browser(READING, &error))?;
        let records = last(transaction, &request).await?.unchecked_into::<Array>();
        let pair = |record: Record| (convert::bytes(&record.key()), convert::bytes(&record.value()));
        return Ok(records.iter().map(|record| pair(record.unchecked_into())).collect());
    }
    match direction {
        Direction::Forward => forward(transaction, store, query, count).await,
        Direction::Reverse => backward(store, query, count).await,
    }
}

/// Keys and values by two requests at once.
async fn forward(transaction: &IdbTransaction, store: &ObjectStore, query: Option<Query>, count: u32) -> Result<Records, StoreError> {
    let failed = |error| failure::idb(READING, error);
    let keys = IdbRequest::from(store.get_all_keys(query.clone(), Some(count)).map_err(failed)?);
    let values = IdbRequest::from(store.get_all(query, Some(count)).map_err(failed)?);
    let values = last(transaction, &values).await?.unchecked_into::<Array>();
    let keys = keys.result().map_err(|error| failure::browser(READING, &error))?.unchecked_into::<Array>();
    Ok(keys.iter().zip(values.iter()).map(|(key, value)| (convert::bytes(&key), convert::bytes(&value))).collect())
}

/// A cursor: nothing else walks backwards.
async fn backward(store: &ObjectStore, query: Option<Query>, count: u32) -> Result<Records, StoreError> {
    let failed = |error| failure::idb(READING, error);
    let request = store.open_cursor(query, Some(idb::CursorDirection::Prev)).map_err(failed)?;
    let Some(cursor) = request.await.map_err(failed)? else { return Ok(Vec::new()) };
    let mut cursor = cursor.into_managed();
    let mut records = Vec::new();
    while let (Some(key), Some(value)) = (cursor.key().map_err(failed)?, cursor.value().map_err(failed)?) {
        records.push((convert::bytes(&key), convert::bytes(&value)));
        if u32::try_from(records.len()).is_ok_and(|got| got >= count) {
            break;
        }
        cursor.next(None).await.map_err(failed)?;
    }
    Ok(records)
}

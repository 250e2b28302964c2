//! The contract's values as jco hands them over, and takes them.

use crate::failure::set;
use bytes::Bytes;
use js_sys::{BigInt, Object, Reflect, Uint8Array, Uint32Array};
use orbweaver_engine::store::{KeyRange, Limits, Page, Scope, StoreError};
use wasm_bindgen::{JsCast as _, JsValue};

/// A property of an object; undefined where there is none.
fn property(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(wasm_bindgen::intern(name))).unwrap_or(JsValue::UNDEFINED)
}

/// The bytes of a `Uint8Array` or an `ArrayBuffer`.
pub fn bytes(value: &JsValue) -> Vec<u8> {
    Uint8Array::new(value).to_vec()
}

/// `pieces`: one buffer, and where each piece ends.
pub fn pieces(value: &JsValue) -> Result<Vec<Bytes>, StoreError> {
    let broken = || StoreError::Io("the ends of pieces go back, or beyond the bytes".into());
    let buffer = Bytes::from(bytes(&property(value, "bytes")));
    let mut start = 0;
    let ends = Uint32Array::new(&property(value, "ends")).to_vec();
    ends.into_iter()
        .map(|end| {
            let end = usize::try_from(end).map_err(|_| broken())?;
            if end < start || end > buffer.len() {
                return Err(broken());
            }
            let piece = buffer.slice(start..end);
            start = end;
            Ok(piece)
        })
        .collect()
}

/// `scope`: its tag, and the lock keys.
pub fn scope(value: &JsValue) -> Result<Scope, StoreError> {
    Ok(match property(value, "tag").as_string().as_deref() {
        Some("read") => Scope::Read,
        Some("keys") => Scope::Keys(pieces(&property(value, "val"))?),
        _ => Scope::Exclusive,
    })
}

/// `key-range`.
pub fn range(value: &JsValue) -> KeyRange {
    let end = property(value, "end");
    KeyRange {
        start: bytes(&property(value, "start")),
        after_start: property(value, "afterStart").is_truthy(),
        end: end.is_object().then(|| bytes(&end)),
    }
}

/// `limits`.
pub fn limits(limits: Limits) -> JsValue {
    let object = Object::new();
    let number = |name: &str, value: u64| set(&object, name, &BigInt::from(value));
    number("maxKeyBytes", limits.max_key_bytes);
    number("maxValueBytes", limits.max_value_bytes);
    number("maxBatchOps", limits.max_batch_ops);
    number("maxBatchBytes", limits.max_batch_bytes);
    set(&object, "readOnly", &JsValue::from_bool(limits.read_only));
    object.into()
}

fn flat(bytes: &[u8], ends: &[u32]) -> Object {
    let object = Object::new();
    set(&object, "bytes", &Uint8Array::from(bytes));
    set(&object, "ends", &Uint32Array::from(ends));
    object
}

/// `page`.
pub fn page(page: &Page) -> JsValue {
    let object = Object::new();
    set(&object, "records", &flat(&page.bytes, &page.ends));
    set(&object, "more", &JsValue::from_bool(page.more));
    object.into()
}

/// `found`, from values of the browser: undefined for an absent key.
pub fn found(values: &[JsValue]) -> Result<JsValue, StoreError> {
    let (mut buffer, mut ends, mut absent) = (Vec::new(), Vec::with_capacity(values.len()), Vec::new());
    for (position, value) in (0..).zip(values) {
        match value.dyn_ref::<Uint8Array>() {
            Some(value) => buffer.extend_from_slice(&value.to_vec()),
            None => absent.push(position),
        }
        ends.push(u32::try_from(buffer.len()).map_err(|_| StoreError::Io("the values of one request exceed 4 GiB".into()))?);
    }
    let object = Object::new();
    set(&object, "values", &flat(&buffer, &ends));
    set(&object, "absent", &Uint32Array::from(absent.as_slice()));
    Ok(object.into())
}

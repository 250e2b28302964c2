//! The decoders of the layout `ardb`: what they take comes back from the encoders' bytes. These may be others: a varint has many forms, and
//! merge operations are applied. Input: a byte with the length of the key, the key, the value.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use orbweaver_engine::layout::ardb::records::{self, Meta, record};
use orbweaver_engine::store::Order;
use std::fmt::Debug;

fuzz_target!(|data: &[u8]| {
    let [length, rest @ ..] = data else { return };
    let (key, value) = rest.split_at(rest.len().min(usize::from(*length)));
    let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
    if let Ok(decoded) = records::decode_key(&key)
        && let [one, two] = decoded.elements.as_slice()
    {
        let again = records::encode_key(&decoded.user_key, decoded.kind, [one, two]);
        assert_same(&records::decode_key(&again).unwrap(), &decoded);
        assert!(Order::Ardb.compare(&key, &again).is_eq());
    }
    if let Ok(Meta::Head(head)) = records::decode_meta(&value) {
        let again = records::decode_meta(&records::encode_meta(&head)).unwrap();
        assert_same(&again, &Meta::Head(head));
    }
    if let Ok(Some([item])) = records::decode_value(record::FIELD, &value) {
        let again: [_; 1] = records::decode_value(record::FIELD, &records::encode_value(record::FIELD, [&item])).unwrap().unwrap();
        assert_same(&again, &[item]);
    }
});

/// NaN is not equal to itself, but looks the same. Only what is not equal is shown: a SETRANGE of a few bytes makes half a gigabyte.
fn assert_same<T: PartialEq + Debug>(one: &T, other: &T) {
    if one != other {
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
}

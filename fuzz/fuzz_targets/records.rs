//! The decoders of the default layout's records: what they take is what the encoders write, byte for byte. Input: a byte that chooses
//! the decoder, a byte with the length of the key, the key, the value.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use orbweaver_engine::layout::orbweaver::{field_expiry, rank, records};
use orbweaver_engine::layout::{Meta, lock_key};
use orbweaver_engine::packed::{self, Records};

fuzz_target!(|data: &[u8]| {
    let [decoder, length, rest @ ..] = data else { return };
    let (key, value) = rest.split_at(rest.len().min(usize::from(*length)));
    let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
    match decoder % 10 {
        0 => {
            if let Ok(meta) = records::decode_meta(&value) {
                assert_eq!(encode_head(&meta, &value), value);
            }
        }
        1 => {
            if let Ok((version, rest)) = records::decode_sub_key(&key) {
                assert_eq!(records::encode_sub_key(version, &rest), key);
            }
        }
        2 => {
            if let Ok(field) = records::decode_field_value(&value) {
                assert_eq!(records::encode_field_value(&field), value);
            }
        }
        3 => {
            if let Ok(score) = records::decode_score(&value) {
                assert_eq!(records::encode_score(score), value);
            }
        }
        4 => {
            if let Ok((version, score, member)) = records::decode_scored(&key, &value) {
                assert_eq!(records::encode_scored(version, score, &member), (key, value));
            }
        }
        5 => {
            if let Ok((version, index)) = records::decode_element_key(&key) {
                assert_eq!(records::encode_element_key(version, index), key);
            }
        }
        6 => {
            if let Ok((at, space, user_key)) = records::decode_expiry_key(&key) {
                assert_eq!(records::encode_expiry_key(at, &lock_key(space, &user_key)), key);
            }
        }
        7 => {
            if let Ok(garbage) = records::decode_garbage(&key, &value) {
                assert_eq!(records::encode_garbage(&garbage), (key, value));
            }
        }
        8 => {
            if let Ok(record) = field_expiry::decode(&key) {
                assert_eq!(field_expiry::encode(&record), key);
            }
        }
        _ => {
            if let (Ok((version, level, place)), Ok(count)) = (rank::decode_key(&key), rank::decode_count(&value)) {
                assert_eq!((rank::encode_key(version, level, &place), rank::encode_count(count)), (key, value));
            }
        }
    }
});

/// A head with the records that are packed in `value`, where it is packed.
fn encode_head(meta: &Meta, value: &[u8]) -> Vec<u8> {
    let mut head = records::encode_meta(meta).to_vec();
    if meta.collection().is_some_and(|collection| collection.is_packed) {
        let packed = &value[head.len()..];
        head[1] |= records::PACKED;
        Records::of(packed).for_each(|(key, value)| assert!(packed::push(&mut head, key, value)));
    }
    head
}

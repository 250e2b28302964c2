//! The decoders of the layouts nemo and camellia: what they take is what the encoders write, byte for byte. Input: a byte that chooses
//! the decoder, a byte with the length of the key, the key, the value.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use orbweaver_engine::layout::Kind;
use orbweaver_engine::layout::{camellia, nemo};

fuzz_target!(|data: &[u8]| {
    let [decoder, length, rest @ ..] = data else { return };
    let (key, value) = rest.split_at(rest.len().min(usize::from(*length)));
    let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
    match decoder % 3 {
        0 => of_nemo(&key, &value),
        1 => of_camellia(&key, &value),
        _ => of_a_redis(&key, &value),
    }
});

fn of_nemo(key: &Bytes, value: &Bytes) {
    use nemo::records::{self, Tag, Trailer};
    for kind in [Kind::Hash, Kind::List] {
        if let Ok(head) = records::decode_meta(kind, value) {
            assert_eq!(records::encode_meta(&head), value);
        }
    }
    let Ok((payload, trailer)) = Trailer::split(value) else { return };
    assert_eq!(trailer.behind(&payload), value);
    if let Ok(node) = records::decode_node(&payload) {
        assert_eq!(records::encode_node(&node), payload);
    }
    if let Ok(score) = records::decode_score(&payload) {
        assert_eq!(records::encode_score(score)[..], payload);
    }
    let Some(tag) = key.first().and_then(|byte| Tag::of_byte(*byte)) else { return };
    let Ok((user_key, rest)) = records::decode_sub_key(tag, key) else { return };
    assert_eq!(records::encode_named_key(tag, &user_key, &rest), key);
    if let Ok(number) = records::decode_number(&rest) {
        assert_eq!(number.to_le_bytes()[..], rest);
    }
    if let (Tag::Slot, Ok((slot, member))) = (tag, records::decode_slot(&rest)) {
        assert_eq!(records::encode_slot_key(&user_key, slot, &member), key);
    }
}

fn of_camellia(key: &Bytes, value: &Bytes) {
    use camellia::records::{self, KeyMeta, Rows, Tag};
    if let Ok(key_meta) = KeyMeta::decode(value) {
        assert_eq!(key_meta.encode(), value);
        if let Ok(meta) = key_meta.meta() {
            let again = KeyMeta::of(&meta, key_meta.key_version).unwrap();
            // All negative times say the same.
            assert_eq!(KeyMeta { expire_time: key_meta.expire_time.max(-1), ..key_meta }, again);
        }
    }
    if let Some(score) = camellia::double::parse(value) {
        let again = camellia::double::parse(camellia::double::format(score).as_bytes()).unwrap();
        assert!(again.to_bits() == score.to_bits() || score.is_nan() && again.is_nan());
    }
    let rows = Rows { namespace: "ns".into(), has_slot_prefix: false };
    let Ok(Some(row)) = rows.decode(key) else { return };
    if row.tag == Tag::Meta {
        assert_eq!(rows.meta_key(&row.user_key), key);
    } else {
        assert_eq!(rows.sub_key(row.tag, &row.user_key, row.version, &[&row.rest]), key);
    }
    if let (Tag::Score, Ok((score, member))) = (row.tag, records::decode_score(&row.rest)) {
        assert_eq!(rows.score_key(&row.user_key, row.version, score, &member), key);
    }
}

fn of_a_redis(key: &Bytes, value: &Bytes) {
    use camellia::redis::{self, Place};
    if let Ok(score) = redis::decode_score(value) {
        assert_eq!(redis::encode_score(score), value);
    }
    let Ok((redis_key, place)) = redis::decode(key) else { return };
    let again = match place {
        Place::Member(index) => redis::member_key(&redis_key, &index),
        Place::Score(score, index) => redis::score_key(&redis_key, score, &index),
    };
    assert_eq!(again, key);
    if let Some((user_key, version)) = redis::decode_key(b"ns", &redis_key) {
        assert_eq!(redis::key(b"ns", &user_key, version), redis_key);
    }
}

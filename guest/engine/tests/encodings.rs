//! The keys of the default layout stand in the order of what they encode, and every encoding is read back.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use orbweaver_engine::layout::lists::ListHead;
use orbweaver_engine::layout::orbweaver::records::{self, Garbage};
use orbweaver_engine::layout::{Body, Collection, FieldValue, Kind, Meta, lock_key};
use orbweaver_engine::number::{format_double, parse_double};
use orbweaver_engine::store::{KeyRange, Order, prefix_end};
use proptest::prelude::*;
use std::cmp::Ordering;

/// Any byte string; more often one of bytes at the edges, so that many are prefixes of each other.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let edges = prop::sample::select(&[0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, b'a'][..]);
    prop_oneof![3 => prop::collection::vec(edges, 0..6), 1 => any::<Vec<u8>>()]
}

fn number() -> impl Strategy<Value = u64> {
    let edges = [0, 1, 255, 256, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
    prop_oneof![prop::sample::select(edges.to_vec()), any::<u64>(), 0..1000_u64]
}

/// Any score: of random bits, of 17 digits, near a power of two, and those at the edges.
fn score() -> impl Strategy<Value = f64> {
    let edges = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        -f64::MIN_POSITIVE,
        f64::MIN_POSITIVE.next_down(),
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.1,
        0.1_f64.next_up(),
        9_007_199_254_740_993.0,
    ];
    let digits = (any::<bool>(), 10_u64.pow(16)..10_u64.pow(17), -340..293_i32);
    let of_digits = digits.prop_filter_map("within the range of doubles", |(negative, digits, exponent)| {
        let sign = if negative { "-" } else { "" };
        parse_double(format!("{sign}{digits}e{exponent}").as_bytes())
    });
    let near_a_power = (-1074..1024_i32, -2..3_i64).prop_map(|(exponent, steps)| {
        let bits = 2_f64.powi(exponent).to_bits().cast_signed().saturating_add(steps).max(0);
        f64::from_bits(bits.cast_unsigned())
    });
    let any = any::<u64>().prop_map(f64::from_bits);
    prop_oneof![prop::sample::select(edges), any, of_digits, near_a_power].prop_filter("no score is NaN", |score| !score.is_nan())
}

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(&[Kind::Hash, Kind::List, Kind::Set, Kind::SortedSet][..])
}

/// How a store in byte order sees two keys.
fn in_store(one: &[u8], two: &[u8]) -> Ordering {
    Order::Bytes.compare(one, two)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn score_records_stand_by_version_score_and_member(
        one in (number(), score(), name()), two in (number(), score(), name()), same_version: bool, same_score: bool,
    ) {
        let version = if same_version { one.0 } else { two.0 };
        let score = if same_score { one.1 } else { two.1 };
        let expected = one.0.cmp(&version).then(one.1.partial_cmp(&score).unwrap()).then(one.2.cmp(&two.2));
        let keys = [records::encode_scored(one.0, one.1, &one.2).0, records::encode_scored(version, score, &two.2).0];
        prop_assert_eq!(in_store(&keys[0], &keys[1]), expected);
    }

    #[test]
    fn scores_are_read_back_to_the_bit(version in number(), score in score(), member in name()) {
        let (key, value) = records::encode_scored(version, score, &member);
        let (own, read, name) = records::decode_scored(&key, &value).unwrap();
        prop_assert_eq!((own, read.to_bits(), name), (version, score.to_bits(), member.into()));
        prop_assert_eq!(records::decode_score(&records::encode_score(score)).unwrap().to_bits(), score.to_bits());
        // What a client reads and sends back is the same score.
        prop_assert_eq!(parse_double(format_double(score).as_bytes()).unwrap().to_bits(), score.to_bits());
    }

    #[test]
    fn elements_stand_by_version_and_index(one in (number(), number()), two in (number(), number())) {
        let keys = [one, two].map(|(version, index)| records::encode_element_key(version, index));
        prop_assert_eq!(in_store(&keys[0], &keys[1]), one.cmp(&two));
        prop_assert_eq!(records::decode_element_key(&keys[0]).unwrap(), one);
    }

    #[test]
    fn sub_records_stand_by_version_and_name(one in (number(), name()), two in (number(), name()), same_version: bool) {
        let two = (if same_version { one.0 } else { two.0 }, two.1);
        let keys = [&one, &two].map(|(version, name)| records::encode_sub_key(*version, name));
        prop_assert_eq!(in_store(&keys[0], &keys[1]), one.cmp(&two));
        let (version, name) = records::decode_sub_key(&keys[0]).unwrap();
        prop_assert_eq!((version, name.to_vec()), one);
    }

    #[test]
    fn expiries_stand_by_time_space_and_key(one in (number(), any::<u32>(), name()), two in (number(), any::<u32>(), name()), same: bool) {
        let two = if same { (one.0, one.1, two.2) } else { two };
        let keys = [&one, &two].map(|(at, space, key)| records::encode_expiry_key(*at, &lock_key(*space, key)));
        prop_assert_eq!(in_store(&keys[0], &keys[1]), one.cmp(&two));
        let (at, space, key) = records::decode_expiry_key(&keys[0]).unwrap();
        prop_assert_eq!((at, space, key.to_vec()), one);
    }

    #[test]
    fn user_keys_stand_by_space_and_key(one in (any::<u32>(), name()), two in (any::<u32>(), name()), same: bool) {
        let two = if same { (one.0, two.1) } else { two };
        let keys = [&one, &two].map(|(space, key)| lock_key(*space, key));
        prop_assert_eq!(in_store(&keys[0], &keys[1]), one.cmp(&two));
    }

    #[test]
    fn the_range_of_a_prefix_holds_what_begins_with_it_and_nothing_else(prefix in name(), key in name(), begins: bool) {
        let key = if begins { [prefix.as_slice(), &key].concat() } else { key };
        let range = KeyRange::prefix(&prefix);
        let is_within = key >= range.start && range.end.as_ref().is_none_or(|end| key < *end);
        prop_assert_eq!(is_within, key.starts_with(&prefix));
        prop_assert_eq!(prefix_end(&prefix).is_none(), prefix.iter().all(|byte| *byte == 0xff));
    }

    #[test]
    fn meta_records_are_read_back(
        kind in kind(), version in number(), count in number(), head in number(), at in prop::option::of(number()), value in name(),
    ) {
        // A list that ends at the last index at the latest.
        let head = if kind == Kind::List { head.min(u64::MAX - count) } else { 0 };
        let list = if kind == Kind::List { ListHead::Array { head } } else { ListHead::None };
        let bodies = [Body::Collection(Collection { list, ..Collection::empty(kind, version).changed_by(count, 0) }), Body::String(value.into())];
        for body in bodies {
            let meta = Meta { expire_at_ms: at, body };
            prop_assert_eq!(records::decode_meta(&records::encode_meta(&meta)), Ok(meta));
        }
    }

    #[test]
    fn field_values_and_garbage_are_read_back(kind in kind(), version in number(), number in number(), space: u32, value in name(), expire: bool) {
        for expire_at_ms in [None, Some(number)] {
            let field = FieldValue { expire_at_ms, value: Bytes::from(value.clone()) };
            prop_assert_eq!(records::decode_field_value(&records::encode_field_value(&field)), Ok(field));
        }
        let has_index = expire && matches!(kind, Kind::Hash | Kind::SortedSet);
        let all = [
            Garbage::Collection { version, kind, count: number, has_index },
            Garbage::Space(space),
            Garbage::Unfinished { version, kind, renewed_at_ms: number, has_index },
        ];
        for garbage in all {
            let (key, value) = records::encode_garbage(&garbage);
            prop_assert_eq!(records::decode_garbage(&key, &value), Ok(garbage));
        }
    }
}

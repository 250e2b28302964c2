//! The worked examples of the format document, to the byte, and what is none of its records.

use super::*;

/// The version of the examples, `5a55016b` on disk, and one of the second before it.
const VERSION: u32 = 0x6b01_555a;
const EARLIER: u32 = 0x6b01_5559;

fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect::<Vec<u8>>().into()
}

fn at(version: u32) -> Trailer {
    Trailer { version, timestamp: 0 }
}

#[test]
fn strings_are_as_in_the_document() {
    assert_eq!(at(0).behind(b"bar"), hex("626172 00000000 00000000"));
    let expiring = Trailer { version: 0, timestamp: Trailer::timestamp_of(Some(2_145_916_800_000)).unwrap() };
    assert_eq!(expiring.behind(b"later"), hex("6c61746572 00000000 8017e87f"));
    assert_eq!(Trailer::split(&hex("6c61746572 00000000 8017e87f")).unwrap(), (Bytes::from_static(b"later"), expiring));
    assert_eq!(expiring.expire_at_ms(), Some(2_145_916_800_000));
}

#[test]
fn hashes_are_as_in_the_document() {
    let head = Head { count: 2, list: ListHead::None, trailer: at(EARLIER) };
    assert_eq!(encode_meta_key(b'H', b"hash:two"), hex("48 686173683a74776f"));
    assert_eq!(encode_meta(&head), hex("0200000000000000 5955016b 00000000"));
    assert_eq!(decode_meta(Kind::Hash, &encode_meta(&head)), Ok(head));
    let key = encode_named_key(Tag::Field, b"hash:two", b"field1");
    assert_eq!(key, hex("68 08 686173683a74776f 3d 6669656c6431"));
    assert_eq!(decode_sub_key(Tag::Field, &key).unwrap(), (Bytes::from_static(b"hash:two"), Bytes::from_static(b"field1")));
    assert_eq!(at(EARLIER).behind(b"Hello"), hex("48656c6c6f 5955016b 00000000"));
}

#[test]
fn lists_are_as_in_the_document() {
    let head = Head { count: 3, list: ListHead::Linked { left: 3, right: 1, next: 4 }, trailer: at(VERSION) };
    let bytes = "0300000000000000 0300000000000000 0100000000000000 0400000000000000 5a55016b 00000000";
    assert_eq!(encode_meta(&head), hex(bytes));
    assert_eq!(decode_meta(Kind::List, &hex(bytes)), Ok(head));
    let key = encode_node_key(b"list:lr", 1);
    assert_eq!(key, hex("6c 07 6c6973743a6c72 0100000000000000"));
    let (user_key, rest) = decode_sub_key(Tag::Node, &key).unwrap();
    assert_eq!((user_key, decode_number(&rest)), (Bytes::from_static(b"list:lr"), Ok(1)));
    let node = Node { previous: 2, next: 0, element: "a".into() };
    assert_eq!(encode_node(&node), hex("0200000000000000 0000000000000000 61"));
    assert_eq!(decode_node(&encode_node(&node).into()), Ok(node));
    let emptied = Head { count: 0, list: ListHead::Linked { left: 0, right: 0, next: 1 }, trailer: at(VERSION) };
    assert_eq!(encode_meta(&emptied), hex(&format!("{} 0100000000000000 5a55016b 00000000", "00".repeat(24))));
}

#[test]
fn sets_are_as_in_the_document() {
    assert_eq!(encode_meta_key(b'S', b"set:a"), hex("53 7365743a61"));
    assert_eq!(encode_named_key(Tag::Member, b"set:a", b""), hex("73 05 7365743a61"));
    assert_eq!(encode_named_key(Tag::Member, b"set:a", b"cherry"), hex("73 05 7365743a61 636865727279"));
    assert_eq!(at(VERSION).behind(b""), hex("5a55016b 00000000"));
}

#[test]
fn sorted_sets_are_as_in_the_document() {
    for (score, bytes) in [
        (-2.5, "79 06 7a7365743a61 0de0b6b3a7602f70 6d"),
        (-0.000_006, "79 06 7a7365743a61 0de0b6b3a763ffff 6d"),
        (0.0, "79 06 7a7365743a61 0de0b6b3a7640000 6d"),
        (-0.0, "79 06 7a7365743a61 0de0b6b3a7640000 6d"),
        (0.000_004, "79 06 7a7365743a61 0de0b6b3a7640000 6d"),
        (0.1, "79 06 7a7365743a61 0de0b6b3a7642710 6d"),
        (123.456_789, "79 06 7a7365743a61 0de0b6b3a820614f 6d"),
    ] {
        let key = encode_slot_key(b"zset:a", slot(score), b"m");
        assert_eq!(key, hex(bytes), "{score}");
        let (user_key, rest) = decode_sub_key(Tag::Slot, &key).unwrap();
        assert_eq!((user_key, decode_slot(&rest)), (Bytes::from_static(b"zset:a"), Ok((slot(score), Bytes::from_static(b"m")))));
    }
    assert_eq!(encode_named_key(Tag::Scored, b"zset:a", b"neg"), hex("7a 06 7a7365743a61 6e6567"));
    assert_eq!(encode_score(-2.5), *hex("00000000000004c0"));
    assert_eq!(decode_score(&hex("00000000000004c0")), Ok(-2.5));
}

#[test]
fn slots_keep_five_decimals_and_the_order_of_scores() {
    let scores = [-1e13, -1.5, -0.00001, 0.0, 0.00001, 0.1, 1.0, 123.45679, 1e13];
    for pair in scores.windows(2) {
        assert!(slot(pair[0]) < slot(pair[1]), "{pair:?}");
    }
    for score in scores {
        assert_eq!(score_of_slot(slot(score)), score);
    }
    assert_eq!((slot(-1e13), slot(1e13)), (0, 2 * SLOT_OF_ZERO));
    assert_eq!(slot(f64::NEG_INFINITY), 0);
    assert!(slot(f64::INFINITY) > slot(1e13));
}

#[test]
fn what_is_no_record_of_the_format_is_named() {
    for (kind, value, what) in [
        (Kind::Hash, "", "a trailer is cut short"),
        (Kind::Hash, "02000000000000", "a trailer is cut short"),
        (Kind::Hash, "020000000000 5955016b 00000000", "not a count"),
        (Kind::Hash, "ffffffffffffffff 5955016b 00000000", "not a count"),
        (Kind::Hash, "0200000000000000 00 5955016b 00000000", "trailing bytes"),
        (Kind::List, "0300000000000000 0300000000000000 0100000000000000 5a55016b 00000000", "not the number of a next node"),
        (
            Kind::List,
            "0300000000000000 00000000000000ff 0100000000000000 0400000000000000 5a55016b 00000000",
            "not the number of a first node",
        ),
    ] {
        assert_eq!(decode_meta(kind, &hex(value)).unwrap_err().what, what, "{value}");
    }
    for (tag, key, what) in [
        (Tag::Field, "", "a tag is missing"),
        (Tag::Field, "73 01 6b 3d", "another tag"),
        (Tag::Field, "68", "the length of a user key is missing"),
        (Tag::Field, "68 00 3d 66", "not the length of a collection's user key"),
        (Tag::Field, "68 ff 6b", "not the length of a collection's user key"),
        (Tag::Field, "68 02 6b", "a user key is cut short"),
        (Tag::Field, "68 01 6b", "no = before a field"),
        (Tag::Field, "68 01 6b 66", "no = before a field"),
    ] {
        assert_eq!(decode_sub_key(tag, &hex(key)).unwrap_err().what, what, "{key}");
    }
    for (key, what) in
        [("", "a tag is missing"), ("53 6b", "not the tag of a meta record"), ("48", "not the length of a collection's user key")]
    {
        assert_eq!(decode_meta_key(b'H', &hex(key)).unwrap_err().what, what, "{key}");
    }
    assert_eq!(decode_number(&hex("01000000")).unwrap_err().what, "not the number of a node");
    assert_eq!(decode_number(&hex("0100000000000000 00")).unwrap_err().what, "trailing bytes");
    assert_eq!(decode_node(&hex("0100000000000000 000000")).unwrap_err().what, "not the number of a node behind");
    assert_eq!(decode_slot(&hex("0de0b6b3")).unwrap_err().what, "a slot is cut short");
    assert_eq!(decode_slot(&hex("ffffffffffffffff 6d")).unwrap_err().what, "the slot of no score");
    for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.1e13] {
        assert!(decode_score(&encode_score(score).to_vec().into()).is_err(), "{score}");
    }
    assert_eq!(decode_score(&hex("00000000000004")).unwrap_err().what, "a score is cut short");
}

//! Golden bytes: the worked examples of the format document. And what is no record.

use super::*;

fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn text(text: &[u8]) -> Item {
    Item::text(text)
}

fn collection(kind: Kind, size: Option<u64>, bounds: Option<[Item; 2]>) -> Head {
    Head { expire_at_ms: None, contents: Contents::Collection { kind, size, is_sequential: false, bounds } }
}

fn list(size: u64, is_sequential: bool, bounds: [i64; 2]) -> Head {
    let bounds = Some(bounds.map(Item::Integer));
    Head { expire_at_ms: None, contents: Contents::Collection { kind: Kind::List, size: Some(size), is_sequential, bounds } }
}

#[test]
fn keys_are_the_documented_bytes_and_read_back() {
    let int = Item::Integer;
    let examples: [(&[u8], u8, Vec<Item>, &str); 10] = [
        (b"str:plain", record::META, vec![], "09 7374723a706c61696e 01 00"),
        (b"hash:two", record::FIELD, vec![text(b"field1")], "08 686173683a74776f 04 01 04 06 6669656c6431"),
        (b"l", record::ELEMENT, vec![int(-2)], "01 6c 06 01 01 03"),
        (b"list:ins", record::ELEMENT, vec![Item::Float(0.5)], "08 6c6973743a696e73 06 01 02 80808080808080e07f"),
        (b"s", record::MEMBER, vec![int(10)], "01 73 08 01 01 14"),
        (b"s", record::MEMBER, vec![text(b"abc")], "01 73 08 01 04 03 616263"),
        (b"z", record::SCORED, vec![Item::Float(-1.5), text(b"neg")], "01 7a 0a 02 02 ffffffffffffff878001 04 03 6e6567"),
        (b"z", record::SCORED, vec![Item::Float(2.0), text(b"two")], "01 7a 0a 02 02 80808080808080808001 04 03 74776f"),
        (b"z", record::SCORE, vec![text(b"neg")], "01 7a 0b 01 04 03 6e6567"),
        (b"", record::END, vec![], "00 1f 00"),
    ];
    for (user_key, kind, elements, bytes) in examples {
        let encoded = match elements.as_slice() {
            [] => encode_key(user_key, kind, []),
            [one] => encode_key(user_key, kind, [one]),
            [one, two] => encode_key(user_key, kind, [one, two]),
            more => panic!("{more:?}"),
        };
        assert_eq!(encoded, hex(bytes), "{bytes}");
        assert_eq!(decode_key(&encoded), Ok(Key { user_key: Bytes::copy_from_slice(user_key), kind, elements }));
        assert_eq!(decode_prefix(&encoded), Ok((Bytes::copy_from_slice(user_key), kind)));
    }
}

#[test]
fn meta_records_are_the_documented_bytes_and_read_back() {
    let string = |expire_at_ms, text| Head { expire_at_ms, contents: Contents::Text(text) };
    let examples = [
        (string(None, text(b"bar")), "02 00 00 01 04 03 626172"),
        (string(None, Item::Integer(12345)), "02 00 00 01 01 f2c001"),
        (string(Some(4_102_444_800_000), Item::Integer(1)), "02 00 80e09ecce5ee01 01 01 02"),
        (string(None, Item::Float(10.5)), "02 00 00 01 02 80808080808080a58001"),
        (collection(Kind::Hash, None, None), "03 00 00 01 00"),
        (collection(Kind::Hash, Some(1), None), "03 00 00 02 00"),
        (list(3, true, [-2, 0]), "05 00 00 06 01 02 01 03 01 00"),
        (list(7, false, [-1, 3]), "05 00 00 0e 00 02 01 01 01 06"),
        (collection(Kind::Set, Some(2), Some([Item::Integer(10), text(b"abc")])), "07 00 00 04 02 01 14 04 03 616263"),
        (collection(Kind::Set, None, None), "07 00 00 01 00"),
        (collection(Kind::SortedSet, Some(3), Some([text(b"frac"), text(b"two")])), "09 00 00 06 02 04 04 66726163 04 03 74776f"),
    ];
    for (head, bytes) in examples {
        assert_eq!(encode_meta(&head), hex(bytes), "{head:?}");
        assert_eq!(decode_meta(&hex(bytes)), Ok(Meta::Head(head)));
    }
    assert_eq!(decode_meta(&hex("")), Ok(Meta::Nothing), "what compaction is about to drop");
    assert_eq!(decode_meta(&hex("0c 00 00 02 04 10 00")), Ok(Meta::Stream));
}

#[test]
fn an_expiry_of_zero_is_not_taken_for_none() {
    let head = Head { expire_at_ms: Some(0), contents: Contents::Text(Item::Integer(1)) };
    assert_eq!(decode_meta(&encode_meta(&head)), Ok(Meta::Head(Head { expire_at_ms: Some(1), ..head })));
}

#[test]
fn values_of_sub_records_are_the_documented_bytes_and_read_back() {
    assert_eq!(encode_value(record::FIELD, [&text(b"Hello")]), hex("04 01 04 05 48656c6c6f"));
    assert_eq!(encode_value(record::FIELD, [&Item::Integer(42)]), hex("04 01 01 54"));
    assert_eq!(encode_value(record::ELEMENT, [&text(b"z")]), hex("06 01 04 01 7a"));
    assert_eq!(encode_value(record::MEMBER, []), hex("08 00"));
    assert_eq!(encode_value(record::SCORED, []), hex("0a 00"));
    assert_eq!(encode_value(record::SCORE, [&Item::Float(-1.5)]), hex("0b 01 02 ffffffffffffff878001"));
    assert_eq!(decode_value(record::FIELD, &hex("04 01 01 54")), Ok(Some([Item::Integer(42)])));
    assert_eq!(decode_value(record::MEMBER, &hex("08 00")), Ok(Some([])));
    assert_eq!(decode_value::<1>(record::FIELD, &hex("")), Ok(None));
}

#[test]
fn what_is_no_key_is_refused() {
    let wrong = [
        "",
        "02 61",
        "01 61",
        "01 61 01",
        "01 61 06 01",
        "01 61 06 02 01 00",
        "01 61 06 01 05",
        "01 61 06 01 01 80",
        "01 61 01 00 00",
        "ffffffffffffffffffff01 61 01 00",
    ];
    for bytes in wrong {
        assert!(decode_key(&hex(bytes)).is_err(), "{bytes}");
    }
    assert!(decode_elements::<1>(record::FIELD, &hex("01 61 08 01 01 00")).is_err(), "another type");
    assert!(decode_elements::<1>(record::SCORED, &hex("01 61 0a 02 02 00 04 00")).is_err(), "another number of elements");
}

#[test]
fn what_is_no_meta_record_is_refused() {
    let wrong = [
        ("00 00 00 01 00", "an unknown type of key"),
        ("04 01 04 01 61", "an unknown type of key"),
        ("02", "a format is missing"),
        ("02 01 00 01 01 00", "an unknown format"),
        ("02 00", "a varint is cut short"),
        ("02 00 80", "a varint is cut short"),
        ("02 00 8080808080808080808000 01 01 00", "a varint of more than 64 bits"),
        ("02 00 00", "a count of items is missing"),
        ("02 00 00 00", "a string that is not one item"),
        ("02 00 00 02 01 00 01 00", "a string that is not one item"),
        ("02 00 00 01 04 05 61", "a string is cut short"),
        ("02 00 00 01 01 00 00", "trailing bytes"),
        ("03 00 00 03 00", "an unknown size"),
        ("03 00 00 02 02 01 00 01 00", "wrong bounds"),
        ("05 00 00 01 01 02 01 00 01 00", "an unknown size"),
        ("05 00 00 02 01 00", "wrong bounds"),
        ("05 00 00 02 01 02 04 00 01 00", "wrong bounds"),
        ("05 00 00 02", "a flag is missing"),
        ("07 00 00 02 01 01 00", "wrong bounds"),
        ("09 00 00 02 02 01 00", "a data item is missing"),
        ("1e", "operations are cut short"),
    ];
    for (bytes, what) in wrong {
        let flaw = decode_meta(&hex(bytes)).map_err(|flaw| flaw.what);
        assert!(flaw == Err(what) || bytes == "1e" && flaw.is_err(), "{bytes}: {flaw:?}");
    }
}

#[test]
fn what_is_no_value_of_a_sub_record_is_refused() {
    for bytes in ["04", "04 00", "04 02 01 00 01 00", "08 01 01 00", "04 01 01 00 00", "04 01 09"] {
        assert!(decode_value::<1>(record::FIELD, &hex(bytes)).is_err(), "{bytes}");
    }
    assert!(decode_value::<0>(record::MEMBER, &hex("08 01 01 00")).is_err());
    assert!(score(&text(b"1")).is_err() && score(&Item::Float(f64::NAN)).is_err());
    assert_eq!(score(&Item::Integer(2)), Ok(2.0));
}

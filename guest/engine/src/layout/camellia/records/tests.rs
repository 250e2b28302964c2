//! The worked examples of the format document, to the byte, and what is none of its rows.

use super::*;

fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect::<Vec<u8>>().into()
}

/// The key version that ends in this byte.
fn version(end: u64) -> u64 {
    0x18f_d3ab_c200 + end
}

fn plain() -> Rows {
    Rows { namespace: "ns".into(), has_slot_prefix: false }
}

fn slotted() -> Rows {
    Rows { has_slot_prefix: true, ..plain() }
}

fn string(value: &'static str, expire_at_ms: Option<u64>) -> Meta {
    Meta { expire_at_ms, body: Body::String(value.into()) }
}

fn head(kind: Kind, version: u64, count: Option<u64>) -> Meta {
    let empty = Collection::empty(kind, version);
    let collection = match count {
        Some(count) => Collection { count, ..empty },
        None => empty.uncounted(),
    };
    Meta { expire_at_ms: None, body: Body::Collection(collection) }
}

#[test]
fn meta_rows_are_as_in_the_document() {
    assert_eq!(plain().meta_key(b"str:plain"), hex("6d23 6e73 7374723a706c61696e"));
    for (meta, string_version, bytes) in [
        (string("bar", None), version(0), "00 01 0000018fd3abc200 ffffffffffffffff 626172"),
        (string("later", Some(4_102_444_800_000)), version(3), "00 01 0000018fd3abc203 000003bb2cc3d800 6c61746572"),
        (string("", None), version(1), "00 01 0000018fd3abc201 ffffffffffffffff"),
        (head(Kind::Hash, version(5), Some(2)), 0, "00 02 0000018fd3abc205 ffffffffffffffff 00000002"),
        (head(Kind::Hash, version(6), None), 0, "01 02 0000018fd3abc206 ffffffffffffffff"),
        (head(Kind::Set, version(9), Some(3)), 0, "00 05 0000018fd3abc209 ffffffffffffffff 00000003"),
        (head(Kind::SortedSet, version(11), Some(7)), 0, "00 03 0000018fd3abc20b ffffffffffffffff 00000007"),
        (head(Kind::SortedSet, version(13), None), 0, "01 03 0000018fd3abc20d ffffffffffffffff"),
    ] {
        let key_meta = KeyMeta::of(&meta, string_version).unwrap();
        assert_eq!(key_meta.encode(), hex(bytes));
        assert_eq!(KeyMeta::decode(&hex(bytes)), Ok(key_meta.clone()));
        assert_eq!(key_meta.meta(), Ok(meta));
    }
}

#[test]
fn sub_rows_are_as_in_the_document() {
    let field = plain().sub_key(Tag::Sub, b"hash:v0", version(5), &[b"field1"]);
    assert_eq!(field, hex("7323 6e73 00000007 686173683a7630 0000018fd3abc205 6669656c6431"));
    let row = Row { tag: Tag::Sub, user_key: "hash:v0".into(), version: version(5), rest: "field1".into() };
    assert_eq!(plain().decode(&field), Ok(Some(row)));
    assert_eq!(plain().sub_key(Tag::Sub, b"set:v0", version(9), &[b""]), hex("7323 6e73 00000006 7365743a7630 0000018fd3abc209"));
    for (score, member, bytes) in [
        (0.0, "zero", "6b23 6e73 00000007 7a7365743a7630 0000018fd3abc20b 0000000000000000 7a65726f"),
        (0.1, "frac", "6b23 6e73 00000007 7a7365743a7630 0000018fd3abc20b 3fb999999999999a 66726163"),
        (-2.5, "neg", "6b23 6e73 00000007 7a7365743a7630 0000018fd3abc20b c004000000000000 6e6567"),
    ] {
        let key = plain().score_key(b"zset:v0", version(11), score, member.as_bytes());
        assert_eq!(key, hex(bytes));
        assert_eq!(decode_score(&plain().decode(&key).unwrap().unwrap().rest), Ok((score, member.into())));
    }
    let long = index_of(b"exactly-15bytes");
    assert_eq!(long, hex("01 e915dff3b673e359dafa9c71bdeacbb2"));
    assert_eq!(
        plain().sub_key(Tag::Long, b"zset:v1", version(13), &[&long]),
        hex("6923 6e73 00000007 7a7365743a7631 0000018fd3abc20d 01 e915dff3b673e359dafa9c71bdeacbb2")
    );
    assert_eq!(index_of(b"exactly14bytes"), [b"\0", b"exactly14bytes".as_slice()].concat());
    assert_eq!(short_member(&index_of(b"")), Ok(Some(Bytes::new())));
    assert_eq!(short_member(&long), Ok(None));
}

#[test]
fn a_slot_prefix_is_the_hash_of_the_slot_that_the_tag_is_in() {
    for (key, slot) in [("str:plain", 12053_u16), ("hash:v0", 898), ("{tag}h", 8338), ("{tag}s", 8338), ("{}x", 10595)] {
        assert_eq!(slot_prefix(key.as_bytes()), Md5::digest(slot.to_string())[..8], "{key}");
    }
    let key = slotted().meta_key(b"hash:v0");
    assert_eq!(key, [&Md5::digest("898")[..8], b"m#nshash:v0"].concat());
    assert_eq!(slotted().decode(&key).unwrap().unwrap().user_key, "hash:v0");
}

#[test]
fn what_is_no_row_of_the_format_is_named() {
    for (key, what) in [
        ("", "not the tag of a row"),
        ("6d", "not the tag of a row"),
        ("7823 6e73 6b", "not the tag of a row"),
        ("7323 6e73 000000", "a user key is cut short"),
        ("7323 6e73 00000009 6b", "a user key is cut short"),
        ("7323 6e73 00000001 6b 0000018fd3abc2", "a key version is cut short"),
        ("7323 6e73 00000001 6b ff00018fd3abc200", "a key version before 1970"),
    ] {
        assert_eq!(plain().decode(&hex(key)).unwrap_err().what, what, "{key}");
    }
    assert_eq!(plain().decode(&hex("6d23 6f73 6b")), Ok(None), "another namespace");
    assert_eq!(plain().decode(&hex("6d23 6e")), Ok(None), "a shorter one");
    assert_eq!(slotted().decode(&hex("6d23 6e73 6b")).unwrap_err().what, "a slot prefix is cut short");
    assert_eq!(slotted().decode(&hex("0000000000000000 6d23 6e73 6b")).unwrap_err().what, "the prefix of another slot");
    for (value, what) in [
        ("", "an encode version is missing"),
        ("00", "a key type is missing"),
        ("00 01 0000018fd3abc2", "a key version is cut short"),
        ("00 01 8000018fd3abc200 ffffffffffffffff", "a key version before 1970"),
        ("00 01 0000018fd3abc200 ffffffffffffff", "an expire time is cut short"),
        ("00 04 0000018fd3abc200 ffffffffffffffff", "a list, which has no encoding"),
        ("00 06 0000018fd3abc200 ffffffffffffffff", "an unknown key type"),
        ("01 01 0000018fd3abc200 ffffffffffffffff", "an encode version of release 1.2.28 or older, or one that is unknown"),
        ("02 02 0000018fd3abc200 ffffffffffffffff 00000001", "an encode version of release 1.2.28 or older, or one that is unknown"),
        ("01 03 0000018fd3abc200 ffffffffffffffff 00000001", "an encode version of release 1.2.28 or older, or one that is unknown"),
        ("01 02 0000018fd3abc200 ffffffffffffffff 00", "trailing bytes"),
        ("00 02 0000018fd3abc200 ffffffffffffffff 000001", "not a count"),
        ("00 02 0000018fd3abc200 ffffffffffffffff ffffffff", "not a count"),
        ("00 02 0000018fd3abc200 ffffffffffffffff 0000000100", "trailing bytes"),
    ] {
        let flaw = KeyMeta::decode(&hex(value)).and_then(|key_meta| key_meta.meta()).unwrap_err();
        assert_eq!(flaw.what, what, "{value}");
    }
    assert_eq!(decode_score(&hex("7ff8000000000000 6d")).unwrap_err().what, "a score that is not a number");
    assert_eq!(decode_score(&hex("7ff0")).unwrap_err().what, "a score is cut short");
    for index in ["", "02 6d", "01 6d"] {
        assert_eq!(short_member(&hex(index)).unwrap_err().what, "not the index of a member", "{index}");
    }
    assert!(KeyMeta::of(&head(Kind::Hash, 1, Some(1 << 31)), 0).is_none());
    assert!(KeyMeta::of(&head(Kind::List, 1, Some(1)), 0).is_none());
}

#[test]
fn a_key_of_an_old_release_is_told_by_its_hash() {
    let old = [&Md5::digest("hash:v0")[..8], b"hash:v0"].concat();
    assert!(is_of_old_release(&old));
    assert!(!is_of_old_release(b"hash:v0") && !is_of_old_release(&old[1..]));
}

//! The plain readers against damaged records.

use bytes::Bytes;
use orbweaver_tests::golden::{self, Golden, bytes};
use orbweaver_tests::readers::{Contents, LAYOUTS, Record, read};

/// Records longer than this are left out where every length is tried.
const MAX_BYTES: usize = 50;
const ROUNDS: u64 = 5000;

fn golden(layout: &str, name: &str) -> Golden {
    golden::all(layout).into_iter().find(|golden| golden.name == name).expect("there is such a script")
}

fn contents(layout: &str, golden: &Golden, records: &[Record]) -> Contents {
    read(layout, records, golden.now_ms().try_into().expect("a time of our days"))
}

/// Puts a record in its place, or removes it.
fn put(records: &mut Vec<Record>, keyspace: &str, key: &str, value: Option<&str>) {
    let key = bytes(key).expect("hexadecimal digits");
    records.retain(|record| record.keyspace != keyspace || record.key != key);
    if let Some(value) = value {
        records.push(Record { keyspace: keyspace.into(), key, value: bytes(value).expect("hexadecimal digits") });
    }
}

/// Keyspace, key, the value that it gets or `None`, what is said of it.
type Damage<'t> = (&'t str, &'t str, Option<&'t str>, &'t str);

/// Each damage is named, and costs no more than its key.
fn assert_named(layout: &str, script: &str, damages: &[Damage<'_>]) {
    let golden = golden(layout, script);
    let sound = contents(layout, &golden, &golden.records);
    assert_eq!(sound.flaws, []);
    for (keyspace, key, value, expected) in damages {
        let mut records = golden.records.clone();
        put(&mut records, keyspace, key, *value);
        let damaged = contents(layout, &golden, &records);
        assert!(damaged.flaws.iter().any(|flaw| flaw.what.contains(expected)), "{layout} {key} {value:?}: {:?}", damaged.flaws);
        let unharmed = sound.live.iter().filter(|entry| damaged.live.contains(entry)).count();
        assert!(unharmed + 1 >= sound.live.len(), "{layout} {key} {value:?}");
    }
}

#[test]
fn damage_to_blackwidow_is_named() {
    let one = "08000000.686173683a6f6e65";
    let (new, old) = (format!("{one}.01f15365.66"), format!("{one}.ffffff7f"));
    assert_named(
        "blackwidow",
        "hashes",
        &[
            ("hashes/default", "686173683a6f6e65", Some("02000000.00f15365.00000000"), "the count is 2, there are 1"),
            ("hashes/default", "686173683a6f6e65", Some("00000000.00f15365.00000000"), "the count is 0, there are 1"),
            ("hashes/default", "686173683a6f6e65", Some("01000000.00f15365.000000"), "wrong length"),
            ("hashes/default", "686173683a6f6e65", Some("01000000.00f15365.00000000.00"), "wrong length"),
            ("hashes/data_cf", &new, Some("-"), "the meta has 1700000000"),
            ("hashes/data_cf", &old, Some("-"), "the meta has 1700000000"),
            ("hashes/data_cf", "08000000.686173683a6f6e.00f15365", Some("-"), "not a key length"),
            ("strings/default", "61", Some("000000"), "shorter than its timestamp"),
            ("streams/default", "61", Some("-"), "no such keyspace"),
        ],
    );
    let both = "6c6973743a626f7468";
    assert_named(
        "blackwidow",
        "lists",
        &[
            ("lists/default", both, Some("0500000000000000.00f15365.00000000.fcffffffffffff7f.0300000000000080"), "not the room"),
            ("lists/default", both, Some("0400000000000000.00f15365.00000000.feffffffffffff7f.0300000000000080"), "outside of the bounds"),
            ("lists/data_cf", "09000000.6c6973743a626f7468.00f15365.0000000000000080", None, "the count is 5, there are 4"),
            ("lists/data_cf", "09000000.6c6973743a626f7468.00f15365.00", Some("-"), "not 8 bytes"),
        ],
    );
    assert_named("blackwidow", "sets", &[("sets/member_cf", "07000000.7365743a616263.00f15365.61", Some("00"), "a member with a value")]);
    let member = "03000000.706f70.00f15365.6d6964";
    let score = "03000000.706f70.00f15365.000000000000f03f.6d6964";
    assert_named(
        "blackwidow",
        "sorted-set-ranges",
        &[
            ("zsets/data_cf", member, None, "without its member"),
            ("zsets/data_cf", member, Some("000000000000f0"), "not 8 bytes"),
            ("zsets/data_cf", member, Some("000000000000f87f"), "no number"),
            ("zsets/score_cf", score, None, "without its score record"),
            ("zsets/score_cf", score, Some("00"), "with an empty value"),
        ],
    );
}

#[test]
fn damage_to_nemo_is_named() {
    let first = "6c.07.6c6973743a6c72.0100000000000000";
    let meta = "4c.6c6973743a6c72";
    assert_named(
        "nemo",
        "lists",
        &[
            ("list/default", first, None, "node 1 is missing or linked twice"),
            ("list/default", first, Some("0300000000000000.0000000000000000.61.5a55016b.00000000"), "prev is 3, not 2"),
            ("list/default", first, Some("0200000000000000.0300000000000000.61.5a55016b.00000000"), "node 3 is missing or linked twice"),
            ("list/default", first, Some("0200000000000000.00000000000000.5a55016b.00000000"), "two links and an item"),
            ("list/default", first, Some("00000000000000"), "shorter than the trailer"),
            (
                "list/default",
                meta,
                Some("0300000000000000.0300000000000000.0200000000000000.0400000000000000.5a55016b.00000000"),
                "the last node is 1, the meta says 2",
            ),
            (
                "list/default",
                meta,
                Some("0300000000000000.0300000000000000.0100000000000000.0300000000000000.5a55016b.00000000"),
                "node 3, but the next is 3",
            ),
            (
                "list/default",
                meta,
                Some("0300000000000000.0200000000000000.0100000000000000.0400000000000000.5a55016b.00000000"),
                "node 3 is not linked",
            ),
            ("list/default", meta, Some("0300000000000000.5a55016b.00000000"), "the meta is too short"),
            ("list/default", "6c", None, "the separator is missing"),
            ("list/default", "6c", Some("00*7"), "8 zero bytes"),
            ("list/default", "6d.01", Some("00*8"), "no such tag"),
            ("kv/default", "61", Some("01000000.00000000"), "a string with a version"),
            ("set/default", "53", Some("01.00*15"), "not from 1 to 254"),
        ],
    );
    let exact = "7a.06.7a7365743a61.66726163";
    assert_named(
        "nemo",
        "sorted-sets",
        &[
            ("zset/default", exact, None, "without its member"),
            ("zset/default", exact, Some("000000000000f03f.5a55016b.00000000"), "without its score record"),
            ("zset/default", exact, Some("000000000000f07f.5a55016b.00000000"), "beyond 1e13"),
            ("zset/default", "5a.7a7365743a61", Some("0400000000000000.5a55016b.00000000"), "there are 5"),
        ],
    );
}

#[test]
fn damage_to_ardb_is_named() {
    assert_named(
        "ardb",
        "lists",
        &[
            ("0", "01.6c.06.01.0101", None, "a sequential list with a gap"),
            ("0", "01.6c.01.00", Some("05.00.00.08.01.02.0103.0100"), "the size is 4, there are 3"),
            ("0", "01.6c.01.00", Some("05.00.00.06.01.02.0101.0100"), "outside of the bounds"),
            ("0", "01.6c.01.00", Some("05.00.00.06.01.00"), "not two bounds"),
            ("0", "01.6c.01.00", Some("06.00.00.06.01.00"), "cannot be read"),
            ("0", "01.6c.01.00", Some("05.00.00.06.01.02.0103.0100.00"), "cannot be read"),
            ("0", "01.6c.01.00", Some("1e.6600.01.0401.61"), "a merge operand"),
            ("0", "01.6c.01.00", None, "no meta record"),
            ("0", "01.6c.06.01.0100", Some("0801.0401.62"), "cannot be read"),
            ("0", "01.6c.08.01.0100", Some("0800"), "a record of another type"),
            ("0", "01.6c.06.01.0200", Some("0601.0401.62"), "one in the order"),
            ("0", "01.6c.06.02.0100", Some("0601.0401.62"), "not a key, a type"),
            ("0", "80*11.01", Some("-"), "not a key, a type"),
        ],
    );
    assert_named(
        "ardb",
        "sorted-sets",
        &[
            ("0", "01.7a.0b.01.0403.6e6567", None, "without its member"),
            ("0", "01.7a.0a.02.02ffffffffffffff878001.0403.6e6567", None, "without its score record"),
            ("0", "01.7a.0b.01.0403.6e6567", Some("0b01.0401.61"), "cannot be read"),
        ],
    );
}

#[test]
fn damage_to_camellia_is_named() {
    let meta = "a64c94baaf368e18.6d23.6e73.686173683a7630";
    assert_named(
        "camellia",
        "hashes-0",
        &[
            ("camellia_kv", meta, Some("0002.0000018fd3abc200.ffffffffffffffff.00000003"), "there are 2"),
            ("camellia_kv", meta, Some("0102.0000018fd3abc200.ffffffffffffffff.00000002"), "ends in 00000002"),
            ("camellia_kv", meta, Some("0002.0000018fd3abc201.ffffffffffffffff.00000000"), "an empty collection with a meta row"),
            ("camellia_kv", meta, Some("0202.0000018fd3abc200.ffffffffffffffff.00000002"), "cannot be read"),
            ("camellia_kv", meta, Some("0004.0000018fd3abc200.ffffffffffffffff.00000002"), "cannot be read"),
            ("camellia_kv", meta, Some("0002.0000018fd3abc200.ffffffffffffff"), "cannot be read"),
            ("camellia_kv", "0000000000000000.6d23.6e73.61", Some("0001.0000018fd3abc200.ffffffffffffffff"), "another slot"),
            ("camellia_kv", "0000000000000000.6d23.6e74.61", Some("0001.0000018fd3abc200.ffffffffffffffff"), "not a slot, a tag"),
            ("camellia_kv", "0000000000000000.7823.6e73.00000000.0000018fd3abc200", Some("-"), "not a slot, a tag"),
            ("camellia_redis", "7a.00000001", Some("-"), "no row of a sorted set"),
            ("camellia_redis", "7a.00000001.61.6d", Some("3ff0000000000000"), "no key has this version"),
        ],
    );
    let row = "6cd9313ed34ef58b.6923.6e73.00000007.7a7365743a7631.0000018fd3abc200.01.e915dff3b673e359dafa9c71bdeacbb2";
    let redis = "7a.0000001a.63236e737b7a7365743a76317d31373137323433323030303030";
    let (score, order) = (format!("{redis}.6d.00.73686f7274"), format!("{redis}.73.4007ffffffffffff.00.73686f7274"));
    assert_named(
        "camellia",
        "sorted-sets-1",
        &[
            ("camellia_kv", row, None, "no row for the index"),
            ("camellia_kv", row, Some("61"), "has another index"),
            ("camellia_redis", &score, None, "without its member"),
            ("camellia_redis", &score, Some("3ff0000000000000"), "without its score record"),
            ("camellia_redis", &order, None, "without its score record"),
        ],
    );
}

#[test]
fn a_record_of_any_length_is_read_without_a_panic() {
    for layout in LAYOUTS {
        for golden in golden::all(layout) {
            for at in 0..golden.records.len() {
                let mut records = golden.records.clone();
                let Record { key, value, .. } = golden.records[at].clone();
                for len in 0..key.len().min(MAX_BYTES) {
                    records[at].key = key.slice(..len);
                    contents(layout, &golden, &records);
                }
                records[at].key = key;
                for len in 0..value.len().min(MAX_BYTES) {
                    records[at].value = value.slice(..len);
                    contents(layout, &golden, &records);
                }
            }
        }
    }
}

#[test]
fn a_record_with_a_changed_byte_is_read_without_a_panic() {
    let mut random = fastrand::Rng::with_seed(1);
    for layout in LAYOUTS {
        let goldens = golden::all(layout);
        for _ in 0..ROUNDS {
            let golden = random.choice(&goldens).expect("there are scripts");
            let mut records = golden.records.clone();
            let Some(at) = (!records.is_empty()).then(|| random.usize(..records.len())) else { continue };
            let Record { key, value, .. } = &mut records[at];
            let bytes = if random.bool() { key } else { value };
            let mut changed = bytes.to_vec();
            if let Some(byte) = (!changed.is_empty()).then(|| random.usize(..changed.len())) {
                changed[byte] = random.u8(..);
            }
            *bytes = Bytes::from(changed);
            contents(layout, golden, &records);
        }
    }
}

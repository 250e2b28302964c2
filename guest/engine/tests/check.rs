//! The check: nothing is wrong with what the engine writes, and every kind of damage is found and named.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod keeper;

use keeper::*;

#[test]
fn nothing_is_wrong_with_what_random_commands_write() {
    for seed in 0..8 {
        let mut keeper = Keeper::new();
        for round in 0..4 {
            random_life(&mut keeper, seed * 100 + round, 60);
            assert_eq!(keeper.check(1000), Vec::<String>::new(), "seed {seed}");
        }
        assert_eq!(keeper.check(7), Vec::<String>::new(), "seed {seed}");
        assert_ne!(keeper.sizes(), NOTHING);
        keeper.sweep(100);
        assert_eq!(keeper.check(50), Vec::<String>::new(), "seed {seed}");
        (0..3).for_each(|db| keeper.flush(db));
        keeper.sweep(100);
        assert_eq!(keeper.sizes(), NOTHING, "seed {seed}");
    }
}

/// One key of every kind: string `s`; hash `h`, version 1; list `l`, version 2; set `m`, version 3; sorted set `z`, version 4; hash `y` with
/// fields that expire, version 5.
fn one_of_each() -> Keeper {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "s", Some(NOW_MS + 1), &string("v")));
    keeper.load(&line(0, "h", None, &hash(2)));
    keeper.load(&line(0, "l", None, &items(3)));
    keeper.load(&line(0, "m", None, &set(2)));
    keeper.load(&line(0, "z", None, &sorted_set(&[1.5, -0.0])));
    keeper.load(&line(0, "y", None, &expiring_hash(&[Some(NOW_MS + 5), Some(NOW_MS + 9), None])));
    keeper
}

struct Case {
    name: &'static str,
    /// Keyspace, key in hex, value in hex.
    damage: &'static [(&'static str, &'static str, Option<&'static str>)],
    /// Keyspace, key in hex, what.
    found: &'static [(&'static str, &'static str, &'static str)],
}

const S: &str = "00000001 73";
const H: &str = "00000001 68";
const L: &str = "00000001 6c";
const M: &str = "00000001 6d";
const Z: &str = "00000001 7a";
const Y: &str = "00000001 79";
const Y_NEXT: &str = "02 0000018bcfe56805 0000000000000005";
const Y_F0: &str = "01 0000000000000005 0000018bcfe56805 6630";

const CASES: &[Case] = &[
    Case {
        name: "a marker of a newer format",
        damage: &[("system", "666f726d6174", Some("6f7262776561766572 00000003"))],
        found: &[("system", "666f726d6174", "the marker of another layout or of a newer format at offset 0")],
    },
    Case {
        name: "unknown and damaged system records",
        damage: &[
            ("system", "7878", Some("00")),
            ("system", "6462 00000005", Some("00")),
            ("system", "6e6578742d7370616365", Some("00010000 00")),
        ],
        found: &[
            ("system", "6462 00000005", "a space is cut short at offset 0"),
            ("system", "6e6578742d7370616365", "trailing bytes at offset 4"),
            ("system", "7878", "an unknown record at offset 0"),
        ],
    },
    Case {
        name: "two dbs with one space, a db with a space that was never given",
        damage: &[("system", "6462 00000005", Some("00000001")), ("system", "6462 00000006", Some("00010000"))],
        found: &[
            ("system", "6462 00000005", "space 1 is that of several dbs: [0, 5]"),
            ("system", "6462 00000006", "space 65536 was never given"),
        ],
    },
    Case {
        name: "meta records that cannot be read",
        damage: &[("meta", S, Some("09 00")), ("meta", "0000", Some("01 00"))],
        found: &[("meta", "0000", "a space is cut short at offset 0"), ("meta", S, "an unknown kind at offset 0")],
    },
    Case {
        name: "a key in a space of no db",
        damage: &[("meta", "00020000 73", Some("01 00")), ("meta", "00000000 73", Some("01 00"))],
        found: &[
            ("meta", "00000000 73", "space 0 is neither a db's nor garbage"),
            ("meta", "00020000 73", "space 131072 is neither a db's nor garbage"),
        ],
    },
    Case {
        name: "a missing expiry record",
        damage: &[("expiry", "0000018bcfe56801 00000001 73", None)],
        found: &[("meta", S, "the expiry record of its expiry at 1700000000001 is missing")],
    },
    Case {
        name: "expiry records without their key, with another expiry, with none, with a value",
        damage: &[
            ("expiry", "0000000000000005 00000001 78", Some("")),
            ("expiry", "0000000000000005 00000001 73", Some("")),
            ("expiry", "0000000000000005 00000001 68", Some("")),
            ("expiry", "0000018bcfe56801 00000001 73", Some("00")),
        ],
        found: &[
            ("expiry", "0000000000000005 00000001 68", "its key does not expire"),
            ("expiry", "0000000000000005 00000001 73", "its key expires at 1700000000001, not at 5"),
            ("expiry", "0000000000000005 00000001 78", "its key does not exist"),
            ("expiry", "0000018bcfe56801 00000001 73", "an expiry record's value is not empty"),
        ],
    },
    Case {
        name: "an expiry record that cannot be read",
        damage: &[("expiry", "0005", Some(""))],
        found: &[("expiry", "0005", "an expiry is cut short at offset 0")],
    },
    Case {
        name: "counts that are wrong",
        damage: &[
            ("meta", H, Some("02 00 0000000000000001 0000000000000003")),
            ("meta", Z, Some("05 00 0000000000000004 0000000000000001")),
        ],
        found: &[
            ("meta", H, "the hash counts 3 but has 2 data records"),
            ("meta", Z, "the zset counts 1 but has 2 data records"),
            ("meta", Z, "the zset counts 1 but has 2 score records"),
        ],
    },
    Case {
        name: "an empty collection",
        damage: &[("meta", "00000001 65", Some("04 00 0000000000000009 0000000000000000"))],
        found: &[("meta", "00000001 65", "an empty set")],
    },
    Case {
        name: "a version that was never given",
        damage: &[("meta", M, Some("04 00 0000000000002000 0000000000000002"))],
        found: &[
            ("meta", M, "version 8192 was never given"),
            ("meta", M, "the set counts 2 but has 0 data records"),
            ("data", "0000000000000003 6d30", "version 3 belongs to no key and is not garbage"),
        ],
    },
    Case {
        name: "two keys with one version",
        damage: &[("meta", "00000001 6e", Some("04 00 0000000000000003 0000000000000002"))],
        found: &[("data", "0000000000000003", "version 3 belongs to 2 keys")],
    },
    Case {
        name: "a live collection that is queued as garbage",
        damage: &[("garbage", "01 0000000000000003", Some("04 0000000000000002"))],
        found: &[("meta", M, "its version 3 is queued as garbage")],
    },
    Case {
        name: "records of no collection",
        damage: &[
            ("data", "0000000000000300 66", Some("")),
            ("score", "0000000000000300 66", Some("")),
            ("data", "0000000000000301", Some("")),
        ],
        found: &[
            ("data", "0000000000000300 66", "version 768 belongs to no key and is not garbage"),
            ("data", "0000000000000301", "version 769 belongs to no key and is not garbage"),
            ("score", "0000000000000300 66", "version 768 belongs to no key and is not garbage"),
        ],
    },
    Case {
        name: "a score record of what is no sorted set",
        damage: &[("score", "0000000000000003 8000000000000000 6d30", Some(""))],
        found: &[("score", "0000000000000003 8000000000000000 6d30", "version 3 belongs to no key and is not garbage")],
    },
    Case {
        name: "keys of data and score that are too short",
        damage: &[("data", "0000000000000003", None), ("data", "00000000000001", Some("")), ("score", "ff", Some(""))],
        found: &[("data", "00000000000001", "a version is cut short at offset 0"), ("score", "ff", "a version is cut short at offset 0")],
    },
    Case {
        name: "hash fields that cannot be read, or expire unannounced",
        damage: &[("data", "0000000000000001 6630", Some("02 76")), ("data", "0000000000000001 6631", Some("01 0000000000000005 76"))],
        found: &[
            ("data", "0000000000000001 6630", "unknown flags at offset 0"),
            ("data", "0000000000000001 6631", "a field expires that its hash does not know of"),
        ],
    },
    Case {
        name: "a set member with a value",
        damage: &[("data", "0000000000000003 6d30", Some("00"))],
        found: &[("data", "0000000000000003 6d30", "a set member's value is not empty")],
    },
    Case {
        name: "a list with a hole",
        damage: &[("data", "0000000000000002 8000000000000001", None)],
        found: &[("meta", L, "the list counts 3 but has 2 data records")],
    },
    Case {
        name: "list elements outside of head and tail, and without an index",
        damage: &[
            ("data", "0000000000000002 7fffffffffffffff", Some("")),
            ("data", "0000000000000002 8000000000000003", Some("")),
            ("data", "0000000000000002 80", Some("")),
        ],
        found: &[
            ("data", "0000000000000002 7fffffffffffffff", "element 9223372036854775807 is outside of its list's head and tail"),
            ("data", "0000000000000002 80", "an index is cut short at offset 8"),
            ("data", "0000000000000002 8000000000000003", "element 9223372036854775811 is outside of its list's head and tail"),
            ("meta", L, "the list counts 3 but has 6 data records"),
        ],
    },
    Case {
        name: "a member without its score record",
        damage: &[("score", "0000000000000004 bff8000000000000 6d30", None)],
        found: &[
            ("data", "0000000000000004 6d30", "its score record is missing"),
            ("meta", Z, "the zset counts 2 but has 1 score records"),
        ],
    },
    Case {
        name: "a score record without its member",
        damage: &[("data", "0000000000000004 6d30", None)],
        found: &[
            ("meta", Z, "the zset counts 2 but has 1 data records"),
            ("score", "0000000000000004 bff8000000000000 6d30", "its member's record is missing"),
        ],
    },
    Case {
        name: "a member whose score is another one",
        damage: &[("data", "0000000000000004 6d30", Some("4000000000000000"))],
        found: &[
            ("data", "0000000000000004 6d30", "its score record is missing"),
            ("score", "0000000000000004 bff8000000000000 6d30", "its member's score is 2"),
        ],
    },
    Case {
        name: "the wrong zero",
        damage: &[("score", "0000000000000004 8000000000000000 6d31", Some(""))],
        found: &[("data", "0000000000000004 6d31", "its score record has the other zero")],
    },
    Case {
        name: "scores that cannot be read",
        damage: &[("data", "0000000000000004 6d30", Some("00")), ("score", "0000000000000004 8000000000000000 6d31", Some("07"))],
        found: &[
            ("data", "0000000000000004 6d30", "a score is cut short at offset 0"),
            ("data", "0000000000000004 6d31", "its score record has the other zero"),
            ("score", "0000000000000004 8000000000000000 6d31", "a score record's value says nothing known at offset 0"),
        ],
    },
    Case {
        name: "a hash that another key stands for in the order of expiries",
        damage: &[("field-expiry", Y_NEXT, Some(H))],
        found: &[
            ("field-expiry", Y_NEXT, "it leads to another key"),
            ("field-expiry", Y_NEXT, "it leads to no hash whose next field expires then"),
        ],
    },
    Case {
        name: "a hash whose next expiry is another one",
        damage: &[("meta", Y, Some("02 02 0000018bcfe56806 0000000000000002 0000000000000005 0000000000000003"))],
        found: &[
            ("meta", Y, "the record of its next field expiry at 1700000000006 is missing"),
            ("meta", Y, "its next field expires at 1700000000005, not at 1700000000006"),
            ("field-expiry", Y_NEXT, "it leads to no hash whose next field expires then"),
        ],
    },
    Case {
        name: "a hash that counts too many fields that expire",
        damage: &[("meta", Y, Some("02 02 0000018bcfe56805 0000000000000003 0000000000000005 0000000000000003"))],
        found: &[("meta", Y, "the hash counts 3 but has 2 field-expiry records")],
    },
    Case {
        name: "a hash that knows nothing of its fields that expire",
        damage: &[("meta", Y, Some("02 00 0000000000000005 0000000000000003"))],
        found: &[
            ("data", "0000000000000005 6630", "a field expires that its hash does not know of"),
            ("data", "0000000000000005 6631", "a field expires that its hash does not know of"),
            ("field-expiry", Y_NEXT, "it leads to no hash whose next field expires then"),
        ],
    },
    Case {
        name: "a field that expires without a record of it",
        damage: &[("field-expiry", "01 0000000000000005 0000018bcfe56809 6631", None)],
        found: &[
            ("data", "0000000000000005 6631", "the record of its expiry at 1700000000009 is missing"),
            ("meta", Y, "the hash counts 2 but has 1 field-expiry records"),
        ],
    },
    Case {
        name: "records of fields that are not there, or do not expire then",
        damage: &[
            ("data", "0000000000000005 6630", Some("00 76")),
            ("field-expiry", "01 0000000000000005 0000018bcfe5680a 7a", Some("00")),
            ("field-expiry", "01 0000000000000007 0000018bcfe56805 66", Some("")),
        ],
        found: &[
            ("field-expiry", Y_F0, "its field does not expire then"),
            ("field-expiry", "01 0000000000000005 0000018bcfe5680a 7a", "its field does not exist"),
            ("field-expiry", "01 0000000000000005 0000018bcfe5680a 7a", "its value is not empty"),
            ("field-expiry", "01 0000000000000007 0000018bcfe56805 66", "its field does not exist"),
            ("meta", Y, "the hash counts 2 but has 3 field-expiry records"),
        ],
    },
    Case {
        name: "records of expiries that cannot be read, or lead nowhere",
        damage: &[
            ("field-expiry", "03", Some("")),
            ("field-expiry", "02 0000018bcfe56805 0000000000000009", Some("00000001 6e6f6e65")),
            ("field-expiry", "02 0000018bcfe56805 00", Some("")),
        ],
        found: &[
            ("field-expiry", "03", "an unknown kind of record at offset 0"),
            ("field-expiry", "02 0000018bcfe56805 0000000000000009", "it leads to no hash whose next field expires then"),
            ("field-expiry", "02 0000018bcfe56805 00", "a version is cut short at offset 9"),
        ],
    },
    Case {
        name: "garbage that cannot be read, was never given, or is in use",
        damage: &[
            ("garbage", "07", Some("")),
            ("garbage", "01 0000000000000006", Some("01 0000000000000002")),
            ("garbage", "01 0000000000009999", Some("02 0000000000000002")),
            ("garbage", "03 0000000000009999", Some("02 0000000000000002")),
            ("garbage", "02 00000001", Some("")),
        ],
        found: &[
            ("garbage", "01 0000000000000006", "an unknown kind at offset 0"),
            ("garbage", "01 0000000000009999", "version 39321 was never given"),
            ("garbage", "02 00000001", "space 1 is that of db 0"),
            ("garbage", "03 0000000000009999", "version 39321 was never given"),
            ("garbage", "07", "an unknown kind of garbage at offset 0"),
        ],
    },
];

#[test]
fn every_kind_of_damage_is_found_and_named() {
    for case in CASES {
        let mut keeper = one_of_each();
        assert_eq!(keeper.check(1000), Vec::<String>::new());
        let records: Vec<Damage> = case.damage.iter().map(|(keyspace, key, value)| (*keyspace, hex(key), value.map(hex))).collect();
        keeper.damage(&records);
        let mut expected: Vec<String> =
            case.found.iter().map(|(keyspace, key, what)| format!("{keyspace} {}: {what}", hex(key).escape_ascii())).collect();
        expected.sort();
        for budget in [1, 2, 5, 1000] {
            let mut found = keeper.check(budget);
            found.sort();
            assert_eq!(found, expected, "{}, {budget} records a step", case.name);
        }
    }
}

#[test]
fn a_step_looks_at_no_more_than_its_budget_and_its_cursor_stays_small() {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "zset", None, &sorted_set(&vec![1.0; 1000])));
    let mut cursor = Vec::new();
    let mut steps = 0;
    loop {
        assert!(keeper.engine.check(&mut cursor, 100).unwrap().is_empty());
        assert!(cursor.len() < 200);
        steps += 1;
        if cursor.is_empty() {
            break;
        }
    }
    assert!((20..30).contains(&steps), "{steps}");
}

#[test]
fn a_collection_that_is_replaced_between_two_steps_is_passed_over() {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "a", None, &set(100)));
    let mut cursor = Vec::new();
    assert!(keeper.engine.check(&mut cursor, 50).unwrap().is_empty());
    keeper.load(&line(0, "a", None, &set(3)));
    keeper.sweep(1000);
    while !cursor.is_empty() {
        assert_eq!(keeper.engine.check(&mut cursor, 50), Ok(Vec::new()));
    }
}

#[test]
fn a_cursor_of_something_else_is_refused() {
    let mut keeper = Keeper::new();
    let error = keeper.engine.check(&mut b"something else".to_vec(), 10).unwrap_err();
    assert_eq!(error.to_string(), "ERR invalid cursor");
}

#[test]
fn more_collections_than_a_window_holds_are_checked_window_by_window() {
    let mut keeper = Keeper::new();
    let lines: String = (0..70_000).map(|n| line(0, &format!("k{n}"), None, &set(1))).collect();
    keeper.load(&lines);
    assert_eq!(keeper.check(100_000), Vec::<String>::new());
    keeper.damage(&[("data", hex("0000000000000000 61"), Some(hex(""))), ("data", hex("0000000000012000 61"), Some(hex("")))]);
    let belongs_to_no_key = |version| format!("version {version} belongs to no key and is not garbage");
    let found = keeper.check(100_000);
    assert_eq!(found.len(), 2);
    assert!(found[0].ends_with(&belongs_to_no_key(0)) && found[1].ends_with(&belongs_to_no_key(0x12000)), "{found:?}");
}

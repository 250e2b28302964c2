//! The plain readers against the databases of the real programs.

use orbweaver_tests::fixtures::{self, expected, records};
use orbweaver_tests::readers::{Contents, read};

fn contents(layout: &str, name: &str) -> Contents {
    read(layout, &records(layout, name), expected(layout, name).now_ms)
}

#[test]
fn the_raw_records_of_every_fixture_hold_what_is_expected() {
    for (layout, name) in fixtures::ALL {
        let expected = expected(layout, name);
        let contents = contents(layout, name);
        assert!(!expected.live.is_empty() && !expected.expired.is_empty(), "{layout} {name}");
        assert_eq!(contents.live.len(), expected.live.len(), "{layout} {name}");
        for (found, wanted) in contents.live.iter().zip(&expected.live) {
            assert_eq!(found, wanted, "{layout} {name}");
        }
        assert_eq!(contents.expired.len(), expected.expired.len(), "{layout} {name}: {:?}", contents.expired);
        for wanted in &expected.expired {
            assert!(contents.expired.iter().any(|entry| wanted.is(entry)), "{layout} {name}: {wanted:?}");
        }
    }
}

#[test]
fn the_fixtures_have_the_known_flaws_and_no_others() {
    for (layout, name) in fixtures::ALL {
        let flaws: Vec<String> = contents(layout, name).flaws.iter().map(ToString::to_string).collect();
        let known: &[&str] = match (layout, name) {
            // SREM with one member twice.
            ("blackwidow", "a-quirks") => &["sets/default b\"srem:dup\": the count is 1, there are 3"],
            // ZADD of another score without the cache.
            ("camellia", _) => &["camellia_kv b\"zset:stale\": score record 3ff0000000000000 of b\"m1\" without its member"],
            _ => &[],
        };
        assert_eq!(flaws, known, "{layout} {name}");
    }
}

#[test]
fn a_key_is_there_until_its_time_is_past_by_the_rule_of_its_layout() {
    let last_ms_of = [
        // Seconds, and the key is there in the whole second.
        ("blackwidow", "a-quirks", "ttl:edge", 1_700_000_257_999),
        ("nemo", "db", "str:ttl", 2_145_916_800_999),
        // Milliseconds, of which the last is with the key, and without it.
        ("ardb", "rocksdb", "str:ttl", 4_102_444_800_000),
        ("camellia", "records", "str:ttl", 4_102_444_799_999),
    ];
    for (layout, name, key, last_ms) in last_ms_of {
        let is_there = |now_ms| read(layout, &records(layout, name), now_ms).live.iter().any(|entry| entry.key == key);
        assert!(is_there(last_ms) && !is_there(last_ms + 1), "{layout}");
    }
}

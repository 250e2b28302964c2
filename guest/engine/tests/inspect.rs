//! Inspection: the records of a key, and what each byte of them says.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;
mod keeper;

use bytes::Bytes;
use common::Client;
use keeper::*;
use orbweaver_engine::layout::anatomy::{Anatomy, Run, UNKNOWN, UNREADABLE};
use orbweaver_engine::layout::orbweaver::{Orbweaver, keyspace};
use orbweaver_engine::layout::{Kind, Layout};
use orbweaver_engine::store::MemoryStore;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A keeper of a store on which commands have been run.
fn after(lines: &[&str]) -> Keeper {
    after_on(Keeper::new(), 0, lines)
}

fn after_on(keeper: Keeper, max_packed_bytes: usize, lines: &[&str]) -> Keeper {
    let mut client = Client::on_any_packing(Box::new(keeper.store.clone()), max_packed_bytes);
    for line in lines {
        let reply = client.run(line);
        assert!(!reply.starts_with('-'), "{line}: {reply}");
    }
    keeper
}

fn inspect(keeper: &mut Keeper, key: &str, budget: usize) -> Vec<Anatomy> {
    let (mut cursor, mut found) = (Vec::new(), Vec::new());
    loop {
        found.extend(keeper.engine.inspect(0, key.as_bytes(), &mut cursor, budget).unwrap());
        if cursor.is_empty() {
            return found;
        }
    }
}

/// `keyspace: field bytes (what they say), ... -> ...`.
fn written(anatomy: &Anatomy) -> String {
    let runs = |bytes: &Bytes, runs: &[Run]| {
        let hex = |run: &Run| bytes[run.range.clone()].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let one = |run: &Run| format!("{} {} ({})", run.field, hex(run), run.shown);
        runs.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    format!("{}: {} -> {}", anatomy.keyspace, runs(&anatomy.key, &anatomy.key_runs), runs(&anatomy.value, &anatomy.value_runs))
}

#[track_caller]
fn assert_records(lines: &[&str], key: &str, expected: &[&str]) {
    let found: Vec<String> = inspect(&mut after(lines), key, 100).iter().map(written).collect();
    assert_eq!(found, expected);
}

const SPACE: &str = "space 00000001 (1, at first that of db 0)";
const IN_2100: &str = "000003bb2cc3d800 (4102444800000 = 2100-01-01T00:00:00.000Z)";

#[test]
fn a_string_is_one_record_and_its_expiry_another() {
    assert_records(
        &["SET s \"v\\n\""],
        "s",
        &[&format!("meta: {SPACE}, user key 73 (\"s\") -> kind 01 (1 = string), flags 00 (none), value 760a (\"v\\n\")")],
    );
    assert_records(
        &["SET s '' PXAT 4102444800000"],
        "s",
        &[
            &format!(
                "meta: {SPACE}, user key 73 (\"s\") -> kind 01 (1 = string), flags 01 (expires), expire_at_ms {IN_2100}, value  (\"\")"
            ),
            &format!("expiry: expire_at_ms {IN_2100}, {SPACE}, user key 73 (\"s\") -> "),
        ],
    );
}

#[test]
fn a_hash_shows_its_fields_and_when_they_expire() {
    let commands = ["HSET h a 1 b 2", "HPEXPIREAT h 4102444800000 FIELDS 1 a"];
    let version = "version 0000000000000001 (1)";
    assert_records(
        &commands,
        "h",
        &[
            &format!(
                "meta: {SPACE}, user key 68 (\"h\") -> kind 02 (2 = hash), flags 02 (fields expire), next_ms {IN_2100}, \
             expiring 0000000000000001 (1), {version}, count 0000000000000002 (2)"
            ),
            &format!("data: {version}, field 61 (\"a\") -> flags 01 (expires), expire_at_ms {IN_2100}, value 31 (\"1\")"),
            &format!("data: {version}, field 62 (\"b\") -> flags 00 (none), value 32 (\"2\")"),
            &format!("field-expiry: kind of record 01 (1 = field that expires), {version}, expire_at_ms {IN_2100}, field 61 (\"a\") -> "),
            &format!(
                "field-expiry: kind of record 02 (2 = hash with such fields), next_ms {IN_2100}, {version} -> {SPACE}, user key 68 (\"h\")"
            ),
        ],
    );
}

#[test]
fn a_list_shows_its_bounds_and_the_indexes_within() {
    let version = "version 0000000000000001 (1)";
    assert_records(
        &["RPUSH l a", "LPUSH l b"],
        "l",
        &[
            &format!(
                "meta: {SPACE}, user key 6c (\"l\") -> kind 03 (3 = list), flags 00 (none), {version}, head 7fffffffffffffff (2^63 - 1), \
             tail 8000000000000001 (2^63 + 1)"
            ),
            &format!("data: {version}, index 7fffffffffffffff (2^63 - 1) -> element 62 (\"b\")"),
            &format!("data: {version}, index 8000000000000000 (2^63) -> element 61 (\"a\")"),
        ],
    );
}

#[test]
fn a_packed_collection_is_one_record_that_shows_all_of_its_records() {
    const PACKED: &str = "flags 08 (packed), version 0000000000000001 (1)";
    const ONE: &str = "count 0000000000000001 (1), key length 01 (1)";
    for (command, expected) in [
        (
            "HSET k f v",
            format!("kind 02 (2 = hash), {PACKED}, {ONE}, field 66 (\"f\"), value length 02 (2), flags 00 (none), value 76 (\"v\")"),
        ),
        ("SADD k m", format!("kind 04 (4 = set), {PACKED}, {ONE}, member 6d (\"m\"), value length 00 (0)")),
        (
            "ZADD k 1.5 m",
            format!("kind 05 (5 = zset), {PACKED}, {ONE}, member 6d (\"m\"), value length 08 (8), score 3ff8000000000000 (1.5)"),
        ),
        (
            "RPUSH k a",
            format!(
                "kind 03 (3 = list), {PACKED}, head 8000000000000000 (2^63), tail 8000000000000001 (2^63 + 1), key length 08 (8), \
                 index 8000000000000000 (2^63), value length 01 (1), element 61 (\"a\")"
            ),
        ),
    ] {
        let found = inspect(&mut after_on(Keeper::packing(400), 400, &[command]), "k", 100);
        let expected = [format!("meta: {SPACE}, user key 6b (\"k\") -> {expected}")];
        assert_eq!(found.iter().map(written).collect::<Vec<_>>(), expected);
    }
    let found = inspect(&mut after_on(Keeper::packing(400), 400, &[&format!("SADD k {}", "x".repeat(300))]), "k", 100);
    let shown = written(&found[0]);
    assert!(shown.contains("key length 812c (300), member 7878") && !shown.contains(UNREADABLE), "{shown}");
}

#[test]
fn sets_and_sorted_sets_show_their_members() {
    let version = "version 0000000000000001 (1)";
    let meta =
        |kind: &str, count: &str| format!("meta: {SPACE}, user key 6b (\"k\") -> kind {kind}, flags 00 (none), {version}, count {count}");
    assert_records(
        &["SADD k m"],
        "k",
        &[&meta("04 (4 = set)", "0000000000000001 (1)"), &format!("data: {version}, member 6d (\"m\") -> ")],
    );
    assert_records(
        &["ZADD k -1.5 m -0 n"],
        "k",
        &[
            &meta("05 (5 = zset)", "0000000000000002 (2)"),
            &format!("data: {version}, member 6d (\"m\") -> score bff8000000000000 (-1.5)"),
            &format!("data: {version}, member 6e (\"n\") -> score 8000000000000000 (-0)"),
            &format!("score: {version}, ordered score 4007ffffffffffff (-1.5), member 6d (\"m\") -> "),
            &format!("score: {version}, ordered score 8000000000000000 (0), member 6e (\"n\") -> zero 01 (the score is -0)"),
        ],
    );
}

#[test]
fn a_large_sorted_set_shows_the_tree_that_tells_its_ranks() {
    let version = "version 0000000000000001 (1)";
    let members: String = (0..513).map(|number| format!(" {number} m{number:03}")).collect();
    let mut keeper = after(&[&format!("ZADD k{members}")]);
    let found: Vec<String> = inspect(&mut keeper, "k", 100).iter().map(written).collect();
    assert_eq!(found.len(), 1 + 2 * 513 + 4);
    let of_the_tree: Vec<&String> = found.iter().filter(|line| line.starts_with("meta") || line.starts_with("rank")).collect();
    let node = |place: &str, count: &str| format!("rank: {version}, level 01 (1){place} -> count {count}");
    let expected = [
        format!(
            "meta: {SPACE}, user key 6b (\"k\") -> kind 05 (5 = zset), flags 04 (ranked), levels 01 (1), {version}, count 0000000000000201 (513)"
        ),
        node("", "0000000000000080 (128)"),
        node(", ordered score c060000000000000 (128), member 6d313238 (\"m128\")", "0000000000000080 (128)"),
        node(", ordered score c070000000000000 (256), member 6d323536 (\"m256\")", "0000000000000080 (128)"),
        node(", ordered score c078000000000000 (384), member 6d333834 (\"m384\")", "0000000000000081 (129)"),
    ];
    assert_eq!(of_the_tree, expected.iter().collect::<Vec<_>>());
}

#[test]
fn the_records_of_the_engine_itself_are_described() {
    let keeper = after(&["SADD k m", "DEL k", "FLUSHDB", "SET x y", "FLUSHDB"]);
    let mut described: Vec<String> = Vec::new();
    for (name, records) in keeper.store.contents() {
        described.extend(records.iter().map(|(key, value)| written(&keeper.engine.describe(&name, key, value))));
    }
    let expected = [
        "system: name 6462 (\"db\"), db 00000000 (0) -> space 00010000 (65536)",
        "system: name 666f726d6174 (\"format\") -> marker 6f7262776561766572 (\"orbweaver\"), format version 00000001 (1)",
        "system: name 6e6578742d7370616365 (\"next-space\") -> next space 00010001 (65537)",
        "system: name 6e6578742d76657273696f6e (\"next-version\") -> next version 0000000000001001 (4097)",
        "garbage: kind of garbage 01 (1 = removed collection), version 0000000000000001 (1) -> kind 04 (4 = set), count 0000000000000001 (1)",
        "garbage: kind of garbage 02 (2 = emptied space), space 00000001 (1, at first that of db 0) -> ",
    ];
    for line in expected {
        assert!(described.iter().any(|own| own == line), "{line} is not in {described:#?}");
    }
}

#[test]
fn without_its_collection_a_sub_record_is_guessed() {
    let keeper = Keeper::new();
    let guessed = |name: &str, value: &[u8]| {
        let anatomy = keeper.engine.describe(keyspace::DATA, &[b"\0\0\0\0\0\0\0\x07", name.as_bytes()].concat(), value);
        assert!(anatomy.note.contains("guess"), "{}", anatomy.note);
        anatomy.key_runs[1].field.to_string()
    };
    assert_eq!(guessed("f", b"\0v"), "field");
    assert_eq!(guessed("f", b"\x01\0\0\0\0\0\0\0\x01"), "field");
    assert_eq!(guessed("m", b""), "member");
    assert_eq!(guessed("m", b"\x3f\xf8\0\0\0\0\0\0"), "member");
    assert_eq!(guessed("m", b"\0\0\0\0\0\0\0\0"), "member");
    assert_eq!(guessed("m", b"\x02"), "field, member or index");
    let element = keeper.engine.describe(keyspace::DATA, b"\0\0\0\0\0\0\0\x07\x80\0\0\0\0\0\0\x01", b"");
    assert_eq!(element.key_runs[1].field, "index");
}

#[test]
fn every_record_of_a_store_is_found_by_its_key() {
    let commands = [
        "SET s v PXAT 4102444800000",
        "HSET h a 1 b 2",
        "HPEXPIREAT h 4102444800000 FIELDS 1 a",
        "RPUSH l a b c",
        "SADD m x y",
        "ZADD z 1 x -0 y",
    ];
    for budget in [1, 2, 100] {
        let mut keeper = after(&commands);
        let found: Vec<Anatomy> = ["s", "h", "l", "m", "z"].iter().flat_map(|key| inspect(&mut keeper, key, budget)).collect();
        let keys: BTreeSet<(String, Bytes, Bytes)> =
            found.iter().map(|one| (one.keyspace.clone(), one.key.clone(), one.value.clone())).collect();
        assert_eq!(keys.len(), found.len(), "no record comes twice");
        let contents = keeper.store.contents().into_iter().filter(|(name, _)| name != keyspace::SYSTEM);
        let stored: BTreeSet<_> =
            contents.flat_map(|(name, records)| records.into_iter().map(move |(key, value)| (name.clone(), key, value))).collect();
        assert_eq!(keys, stored);
    }
}

#[test]
fn expired_and_damaged_keys_are_shown_and_absent_ones_have_no_records() {
    let mut keeper = after(&["SET s v PX 1"]);
    keeper.now_ms.set(NOW_MS + HOUR_MS);
    assert_eq!(inspect(&mut keeper, "s", 10).len(), 2);
    assert_eq!(inspect(&mut keeper, "absent", 10), []);
    let key = Bytes::from_static(b"\0\0\0\x01broken");
    keeper.damage(&[(keyspace::META, key, Some(Bytes::from_static(b"\x02\x00\x00")))]);
    let found = inspect(&mut keeper, "broken", 10);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].value_runs[2].field, UNREADABLE);
    assert_eq!(found[0].value_runs[2].shown, "version: cut short, 1 of 8 bytes");
}

#[test]
fn a_key_that_is_replaced_between_two_steps_is_shown_as_it_is_then() {
    let mut keeper = after(&["SADD k a b c"]);
    let mut cursor = Vec::new();
    assert_eq!(keeper.engine.inspect(0, b"k", &mut cursor, 2).unwrap().len(), 2);
    let mut client = Client::on(&keeper.store);
    client.run("DEL k");
    client.run("RPUSH k x y");
    let found = keeper.engine.inspect(0, b"k", &mut cursor, 10).unwrap();
    assert_eq!(found.iter().map(|record| record.key_runs[1].field.as_ref()).collect::<Vec<_>>(), ["index", "index"]);
}

#[test]
fn an_unknown_db_or_cursor_is_refused() {
    let mut keeper = Keeper::new();
    assert_eq!(keeper.engine.inspect(16, b"k", &mut Vec::new(), 1).unwrap_err().to_string(), "ERR DB index is out of range");
    assert_eq!(keeper.engine.inspect(0, b"k", &mut b"x".to_vec(), 1).unwrap_err().to_string(), "ERR invalid cursor");
}

/// Bytes of which many are numbers that the format knows.
fn record_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => 0_u8..=6, 1 => Just(0x80), 1 => any::<u8>()];
    let name = prop_oneof![Just(b"format".to_vec()), Just(b"db".to_vec()), Just(b"next-space".to_vec()), Just(b"next-version".to_vec())];
    (prop_oneof![8 => Just(Vec::new()), 1 => name], proptest::collection::vec(byte, 0..40)).prop_map(|(name, rest)| [name, rest].concat())
}

fn assert_covered(bytes: &[u8], runs: &[Run]) {
    let mut next = 0;
    for run in runs {
        assert_eq!(run.range.start, next, "{runs:?}");
        assert!(run.range.end >= next, "{runs:?}");
        next = run.range.end;
    }
    assert_eq!(next, bytes.len(), "{runs:?}");
}

proptest! {
    #[test]
    fn runs_cover_every_byte_of_any_record_once(key in record_bytes(), value in record_bytes()) {
        let layout = Orbweaver::open(&mut MemoryStore::new()).unwrap();
        let kinds = [None, Some(Kind::String), Some(Kind::Hash), Some(Kind::List), Some(Kind::Set), Some(Kind::SortedSet)];
        for name in keyspace::ALL.into_iter().chain(["another"]) {
            for kind in kinds {
                let anatomy = layout.describe(name, &key, &value, kind);
                prop_assert_eq!((&anatomy.key[..], &anatomy.value[..]), (&key[..], &value[..]));
                assert_covered(&key, &anatomy.key_runs);
                assert_covered(&value, &anatomy.value_runs);
                prop_assert!(!anatomy.note.is_empty());
            }
        }
    }
}

#[test]
fn bytes_of_another_keyspace_are_unknown() {
    let anatomy = Keeper::new().engine.describe("another", b"k", b"v");
    assert_eq!((anatomy.key_runs[0].field.as_ref(), anatomy.value_runs[0].field.as_ref()), (UNKNOWN, UNKNOWN));
}

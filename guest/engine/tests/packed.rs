//! Packed collections: the same replies, the same contents and no worse records than without, whatever the limit is, and also where it changes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod common;
mod keeper;
mod measured;

use bytes::Bytes;
use common::Client;
use keeper::{Damage, Keeper, NOTHING, hex, random_life};
use measured::Measured;
use orbweaver_engine::layout::orbweaver::records::{FORMAT_VERSION, PACKED_FORMAT_VERSION, marker};
use orbweaver_engine::settings::{MAX_PACKED_BYTES, Settings, USUAL_PACKED_BYTES};
use orbweaver_engine::store::{Limits, MemoryStore};
use proptest::prelude::*;

/// Commands on a key, `@`, and another one, `#`; `%` is a long text.
const COMMANDS: [&str; 98] = [
    "SET @ text",
    "SET @ 7 EX 100",
    "GET @",
    "GETDEL @",
    "INCR @",
    "HSET @ f v",
    "HSET @ f w g x",
    "HSET @ % v",
    "HSET @ f %",
    "HSETNX @ f y",
    "HINCRBY @ f 1",
    "HGET @ f",
    "HMGET @ f g nothing",
    "HDEL @ f",
    "HDEL @ f g %",
    "HLEN @",
    "HGETALL @",
    "HKEYS @",
    "HSCAN @ 0",
    "HRANDFIELD @ 2",
    "HEXPIRE @ 100 FIELDS 1 f",
    "HPERSIST @ FIELDS 1 f",
    "HEXPIRE @ 0 FIELDS 1 g",
    "LPUSH @ a",
    "RPUSH @ b c",
    "RPUSH @ %",
    "LPUSHX @ d",
    "LPOP @",
    "RPOP @ 2",
    "LSET @ 0 z",
    "LSET @ -1 %",
    "LINSERT @ BEFORE b y",
    "LINSERT @ AFTER c y",
    "LREM @ 0 b",
    "LTRIM @ 1 2",
    "LTRIM @ 0 0",
    "LINDEX @ 1",
    "LPOS @ c",
    "LLEN @",
    "LMOVE @ # LEFT RIGHT",
    "LRANGE @ 0 -1",
    "SADD @ m",
    "SADD @ m n o",
    "SADD @ %",
    "SREM @ m",
    "SREM @ n % o",
    "SMOVE @ # m",
    "SISMEMBER @ m",
    "SMISMEMBER @ m x %",
    "SMEMBERS @",
    "SCARD @",
    "SPOP @",
    "SRANDMEMBER @ -3",
    "SSCAN @ 0",
    "SUNIONSTORE # @ #",
    "SINTERSTORE @ @ #",
    "ZADD @ 1 m",
    "ZADD @ 2 m 3 n",
    "ZADD @ -0 m 0 n",
    "ZADD @ 5 %",
    "ZADD @ GT CH 4 m 1 n",
    "ZINCRBY @ inf m",
    "ZINCRBY @ -inf m",
    "ZREM @ m",
    "ZSCORE @ m",
    "ZRANGE @ 0 -1 WITHSCORES",
    "ZREVRANGE @ 0 1",
    "ZRANGEBYSCORE @ 1 3",
    "ZREVRANGEBYSCORE @ +inf (1 LIMIT 1 1",
    "ZRANGEBYLEX @ - +",
    "ZRANK @ n",
    "ZCOUNT @ 0 3",
    "ZPOPMIN @",
    "ZREMRANGEBYRANK @ 0 0",
    "ZREMRANGEBYSCORE @ 2 5",
    "ZUNIONSTORE # 2 @ #",
    "SORT @ ALPHA STORE #",
    "EXPIRE @ 100",
    "EXPIRE @ -1",
    "PERSIST @",
    "TYPE @",
    "DEL @",
    "RENAME @ #",
    "COPY @ # REPLACE",
    "MOVE @ 1",
    "ZRANGESTORE # @ 0 1",
    "GEOADD @ 1 2 m 3 4 n",
    "GEOSEARCH @ FROMMEMBER m BYRADIUS 1000 km",
    "SORT @ BY # GET other ALPHA",
    "LMPOP 2 @ # LEFT COUNT 2",
    "ZMPOP 2 @ # MAX",
    "HGETDEL @ FIELDS 1 f",
    "HEXPIRE @ 0 FIELDS 2 f g",
    "FLUSHDB",
    "SWAPDB 0 1",
    "MEMORY USAGE nothing",
    "OBJECT ENCODING nothing",
    "RENAME @ @",
];

const LONG: &str = "a-text-that-is-longer-than-what-some-of-the-limits-leave-room-for-in-a-head";

/// Mostly the first of them.
const KEYS: [&str; 4] = ["key", "other", "third", "a"];

/// The commands one by one, or all in transactions of several.
fn requests(steps: &[(&str, usize)], in_transactions: bool) -> Vec<String> {
    let with_keys = |&(command, chosen): &(&str, usize)| {
        let (own, other) = (KEYS[chosen], KEYS[(chosen + 1) % KEYS.len()]);
        command.replace('@', own).replace('#', other).replace('%', LONG)
    };
    let commands: Vec<String> = steps.iter().map(with_keys).collect();
    if !in_transactions {
        return commands;
    }
    commands.chunks(4).flat_map(|part| [&["MULTI".to_owned()], part, &["EXEC".to_owned()]].concat()).collect()
}

/// What is wrong with the records of a client's store.
fn findings(client: &mut Client, budget: usize) -> Vec<String> {
    keeper::check(client.engine(), budget)
}

fn on(store: &MemoryStore, max_packed_bytes: impl Into<Option<usize>>) -> Client {
    Client::on_any_packing(Box::new(store.clone()), max_packed_bytes)
}

fn records_of(store: &MemoryStore, keyspace: &str) -> Vec<(Bytes, Bytes)> {
    store.contents().into_iter().find(|(name, _)| name == keyspace).unwrap().1
}

proptest! {
    #[test]
    fn packed_collections_answer_as_others_do_and_hold_the_same(
        steps in prop::collection::vec((prop::sample::select(COMMANDS.as_slice()), prop_oneof![5 => Just(0_usize), 2 => 1..KEYS.len()]), 1..120),
        limits in prop::collection::vec(prop::sample::select([0_usize, 1, 12, 40, 120, MAX_PACKED_BYTES].as_slice()), 1..4),
        width in prop::sample::select([1_usize, 7, 400].as_slice()),
        in_transactions in any::<bool>(),
        (max_batch_ops, max_batch_bytes, max_value_bytes) in
            prop::sample::select([(100, u64::MAX, u64::MAX), (u64::MAX, 10_000, u64::MAX), (u64::MAX, u64::MAX, 150), (u64::MAX, u64::MAX, u64::MAX)].as_slice()),
        budget in prop::sample::select([1_usize, 5, 1000].as_slice()),
    ) {
        let limited = || MemoryStore::with_limits(Limits { max_batch_ops, max_batch_bytes, max_value_bytes, ..Limits::NONE });
        let (plain_store, packed_store) = (limited(), limited());
        let requests = requests(&steps, in_transactions);
        // Another program goes on with the same store: with the same limit, or with another one.
        for (part, &limit) in requests.chunks(requests.len().div_ceil(limits.len())).zip(&limits) {
            let mut plain = [on(&plain_store, 0), on(&plain_store, 0)];
            let mut packed = [on(&packed_store, limit), on(&packed_store, limits[0])];
            for (turn, pipeline) in part.chunks(width).enumerate() {
                let pipeline = pipeline.join("\r\n");
                // Two programs have the store open, and may have other limits. A connection's transaction is with one of them.
                let turn = if in_transactions { 0 } else { turn % 2 };
                let (expected, found) = (plain[turn].run_bytes(&pipeline), packed[turn].run_bytes(&pipeline));
                prop_assert_eq!(String::from_utf8_lossy(&expected), String::from_utf8_lossy(&found), "{}", pipeline);
            }
            prop_assert_eq!(keeper::dump(plain[0].engine(), 1 << 16), keeper::dump(packed[0].engine(), 1 << 16));
            prop_assert_eq!(findings(&mut packed[0], budget), Vec::<String>::new());
        }
        // Nothing is left behind that nobody would remove.
        let mut packed = on(&packed_store, limits[0]);
        for command in ["DEL key other third a", "SELECT 1", "DEL key other third a"] {
            packed.run(command);
        }
        while packed.engine().sweep(1000).unwrap().more {}
        for keyspace in ["meta", "data", "score", "expiry", "garbage", "field-expiry", "rank"] {
            prop_assert_eq!(records_of(&packed_store, keyspace), vec![], "{}", keyspace);
        }
    }
}

#[test]
fn a_collection_is_packed_until_it_is_too_large_and_then_never_again() {
    let store = MemoryStore::new();
    let mut client = on(&store, 10);
    client.run("SADD s aaa bbb");
    assert_eq!(records_of(&store, "meta")[0].1, hex("04 08 0000000000000001 0000000000000002 03 616161 00 03 626262 00"));
    assert_eq!(records_of(&store, "data"), vec![]);
    client.run("SADD s c");
    assert_eq!(records_of(&store, "meta")[0].1, hex("04 00 0000000000000001 0000000000000003"));
    assert_eq!(records_of(&store, "data").len(), 3);
    client.run("SREM s c bbb");
    assert_eq!((records_of(&store, "data").len(), client.run("SMEMBERS s").as_str()), (1, "*1 $3 aaa"));
}

#[test]
fn what_is_packed_stays_readable_without_packing_and_is_spread_when_it_changes() {
    let store = MemoryStore::new();
    assert_eq!(on(&store, 0).run("SADD before a"), ":1");
    assert_eq!(records_of(&store, "system")[0].1, marker(FORMAT_VERSION));
    on(&store, 100).run("ZADD z 1 a 2 b");
    assert_eq!(records_of(&store, "system")[0].1, marker(PACKED_FORMAT_VERSION));
    let mut client = on(&store, 0);
    assert_eq!((client.run("ZRANK z b"), client.run("SCARD before")), (":1".to_owned(), ":1".to_owned()));
    assert_eq!(records_of(&store, "score"), vec![]);
    client.run("ZADD z 3 a");
    assert_eq!((records_of(&store, "score").len(), client.run("ZRANGE z 0 -1").as_str()), (2, "*2 $1 b $1 a"));
    assert_eq!(findings(&mut client, 10), Vec::<String>::new());
    // The marker stays: there may be packed collections still.
    assert_eq!(records_of(&store, "system")[0].1, marker(PACKED_FORMAT_VERSION));
}

#[test]
fn where_no_limit_is_asked_for_what_is_new_is_packed_and_what_others_may_read_is_not() {
    let (old, new) = (MemoryStore::new(), MemoryStore::new());
    on(&old, 0).run("SADD before a");
    let member = |length: usize| "m".repeat(length);
    // With its lengths, the second one is a byte too long.
    let fill = format!("SADD fits {}\r\nSADD long {}", member(USUAL_PACKED_BYTES - 3), member(USUAL_PACKED_BYTES - 2));
    for store in [&old, &new] {
        on(store, None).run(&fill);
    }
    assert_eq!((records_of(&old, "data").len(), &records_of(&old, "system")[0].1), (3, &marker(FORMAT_VERSION)));
    assert_eq!((records_of(&new, "data").len(), &records_of(&new, "system")[0].1), (1, &marker(PACKED_FORMAT_VERSION)));
    // It is new no more, but may have packed collections.
    on(&new, None).run("SADD again a");
    assert_eq!(records_of(&new, "data").len(), 1);
}

#[test]
fn what_is_packed_leaves_no_garbage_when_it_goes() {
    let mut keeper = Keeper::packing(100);
    let mut client = Client::on_any_packing(Box::new(keeper.store.clone()), 100);
    client.run_bytes("SADD s a b\r\nHSET h f v\r\nRPUSH l a\r\nZADD z 1 a\r\nEXPIRE z 10");
    assert_eq!(keeper.sizes(), "meta 4, data 0, score 0, expiry 1, garbage 0, field-expiry 0, rank 0");
    client.run_bytes("DEL s\r\nSET h string\r\nLPOP l");
    keeper.now_ms.set(keeper.now_ms.get() + 11_000);
    assert_eq!(keeper.sweep(100).expired_keys, 1);
    assert_eq!(keeper.sizes(), "meta 1, data 0, score 0, expiry 0, garbage 0, field-expiry 0, rank 0");
}

#[test]
fn a_transaction_that_is_taken_back_leaves_a_packed_collection_as_it_was() {
    let store = MemoryStore::new();
    let mut client = on(&store, 100);
    client.run("ZADD z 1 a 2 b");
    let before = store.contents();
    assert!(client.run("ZADD z 5 a 6 c x d").starts_with("-ERR"));
    assert!(client.run("ZADD z INCR nan a").starts_with("-ERR"));
    assert!(client.run("LPUSH z a").starts_with("-WRONGTYPE"));
    assert_eq!(store.contents(), before);
}

#[test]
fn packed_collections_are_read_and_written_with_fewer_calls() {
    // Calls, records read, records put and deleted: without packing, and with it.
    for (command, plain, packed) in [
        ("HGET h f", (4, 2, 0), (3, 1, 0)),
        ("HGETALL h", (4, 3, 0), (3, 1, 0)),
        ("HSET h f w", (4, 2, 1), (3, 1, 1)),
        ("SISMEMBER s a", (4, 2, 0), (3, 1, 0)),
        ("SMEMBERS s", (4, 3, 0), (3, 1, 0)),
        ("SADD s c", (4, 2, 2), (3, 1, 1)),
        ("SREM s c", (4, 2, 2), (3, 1, 1)),
        ("ZADD z 9 a", (4, 2, 3), (3, 1, 1)),
        ("ZRANGE z 0 -1", (4, 3, 0), (3, 1, 0)),
        ("ZRANK z a", (5, 4, 0), (3, 1, 0)),
        ("LRANGE l 0 -1", (4, 3, 0), (3, 1, 0)),
        ("RPUSH l c", (3, 1, 2), (3, 1, 1)),
        ("LPOP l", (4, 2, 2), (3, 1, 1)),
        ("DEL h", (3, 1, 2), (3, 1, 1)),
    ] {
        let cost = |mut measured: Measured| {
            measured.client.run_bytes("HSET h f v g w\r\nSADD s a b\r\nZADD z 1 a 2 b\r\nRPUSH l a b\r\nSADD s c\r\nSREM s c");
            if command == "SREM s c" {
                measured.client.run("SADD s c");
            }
            let (cost, reply) = measured.cost_of(command);
            ((cost.calls, cost.records_read, cost.puts + cost.deletes), reply)
        };
        let ((plain_cost, expected), (packed_cost, found)) =
            (cost(Measured::on(MemoryStore::new())), cost(Measured::packing(MemoryStore::new(), 100)));
        assert_eq!((plain_cost, packed_cost, found), (plain, packed, expected), "{command}");
    }
}

#[test]
fn every_kind_of_damage_of_a_packed_head_is_named_and_refused() {
    const KEY: &str = "00000001 6b";
    for (head, what) in [
        ("04 08 0000000000000001 0000000000000001", "a packed record is cut short at offset 18"),
        ("04 08 0000000000000001 0000000000000001 01 61", "a packed record is cut short at offset 18"),
        ("04 08 0000000000000001 0000000000000002 01 61 00 01", "a packed record is cut short at offset 21"),
        ("04 08 0000000000000001 0000000000000002 01 62 00 01 61 00", "packed records are not in the order of their keys at offset 21"),
        ("04 08 0000000000000001 0000000000000001 8001 61 00", "a length takes more bytes than it needs at offset 18"),
        ("02 08 0000000000000001 0000000000000001 01 66 01 01", "a packed field has flags at offset 18"),
        ("02 08 0000000000000001 0000000000000001 01 66 00", "a packed field has flags at offset 18"),
        ("03 08 0000000000000001 8000000000000000 8000000000000001 01 61 00", "a packed element has no index at offset 26"),
        ("04 08 0000000000000001 0000000000000001 01 61 01 00", "a packed member has a value at offset 18"),
        ("05 08 0000000000000001 0000000000000001 01 6d 01 00", "a packed member has no score at offset 18"),
        ("05 08 0000000000000001 0000000000000001 01 6d 08 7ff8000000000000", "a packed member has no score at offset 18"),
        ("02 0a 0000000000000009 0000000000000001 0000000000000001 0000000000000001 01 61 01 00", "unknown flags at offset 1"),
        ("05 0c 01 0000000000000001 0000000000000001 01 61 08 3ff0000000000000", "unknown flags at offset 1"),
        ("01 08 61", "unknown flags at offset 1"),
        ("04 08 0000000000000001 0000000000000003 01 61 00", "the set counts 3 but has 1 data records"),
        ("04 00 0000000000000001 0000000000000001", "the set counts 1 but has 0 data records"),
        (
            "03 08 0000000000000001 8000000000000001 8000000000000002 08 8000000000000000 01 61",
            "element 9223372036854775808 is outside of its list's head and tail",
        ),
    ] {
        let mut keeper = Keeper::packing(100);
        keeper.load(&keeper::line(0, "k", None, &keeper::set(1)));
        keeper.damage(&[("meta", hex(KEY), Some(hex(head)))]);
        for budget in [1, 1000] {
            let found = keeper.check(budget);
            assert!(found.len() == 1 && found[0].ends_with(what), "{head}: {found:?}");
        }
        let mut client = Client::on_any_packing(Box::new(keeper.store.clone()), 100);
        let before = keeper.store.contents();
        for command in ["SMEMBERS k", "HGETALL k", "ZRANGE k 0 -1", "SADD k x"] {
            let reply = client.run(command);
            assert!(!what.contains("offset") || reply.starts_with("-ERR"), "{head} {command}: {reply}");
        }
        assert!(!what.contains("offset") || keeper.store.contents() == before);
    }
}

#[test]
fn records_beside_a_packed_head_are_named() {
    let mut keeper = Keeper::packing(100);
    keeper.load(&keeper::line(0, "z", None, &keeper::sorted_set(&[1.0])));
    let stray: [Damage; 2] = [
        ("data", hex("0000000000000001 6d30"), Some(hex("3ff0000000000000"))),
        ("score", hex("0000000000000001 bff0000000000000 6e"), Some(Bytes::new())),
    ];
    keeper.damage(&stray);
    let expected = ["data", "score"].map(|keyspace| {
        let key = &stray.iter().find(|(name, ..)| *name == keyspace).unwrap().1;
        format!("{keyspace} {}: version 1 belongs to no key and is not garbage", key.escape_ascii())
    });
    for budget in [1, 1000] {
        assert_eq!(keeper.check(budget), expected);
    }
}

#[test]
fn a_packed_sorted_set_that_gets_a_tree_of_ranks_and_goes_leaves_nothing_behind() {
    let members: String = (0..600).map(|number| format!(" {number} m{number:03}")).collect();
    for last in ["ZRANGESTORE z z 0 -1", "ZRANGESTORE z z 5 1", "DEL z", "ZUNIONSTORE z 1 z", "ZREMRANGEBYRANK z 0 -1", "RENAME other z"] {
        let store = MemoryStore::new();
        let mut client = on(&store, 100);
        client.run_bytes("ZADD z 1 a\r\nZADD other 1 a");
        client.run_bytes(&format!("ZADD z{members}\r\nZRANK z m599\r\n{last}"));
        assert_eq!(findings(&mut client, 1000), Vec::<String>::new(), "{last}");
        client.run("DEL z");
        while client.engine().sweep(10_000).unwrap().more {}
        let left = ["data", "score", "rank", "garbage"].map(|keyspace| records_of(&store, keyspace).len());
        assert_eq!(left, [0; 4], "{last}");
    }
}

#[test]
fn long_packed_lists_are_trimmed_as_others_are() {
    let elements: String = (0..150).map(|number| format!(" {number}")).collect();
    let run = |max_packed_bytes| {
        let store = MemoryStore::new();
        let mut client = on(&store, max_packed_bytes);
        client.run(&format!("RPUSH l{elements}"));
        let steps =
            "LTRIM l 140 -1\r\nRPUSH l x\r\nLRANGE l 0 -1\r\nMULTI\r\nLTRIM l 0 1\r\nLSET l 7 y\r\nRPUSH l z\r\nEXEC\r\nLRANGE l 0 -1";
        let replies = client.run_bytes(steps);
        assert_eq!(findings(&mut client, 1000), Vec::<String>::new());
        (String::from_utf8(replies).unwrap(), records_of(&store, "data").len())
    };
    let ((plain, in_data), (packed, beside)) = (run(0), run(MAX_PACKED_BYTES));
    assert_eq!((plain, in_data, beside), (packed, 3, 0));
}

#[test]
fn the_life_of_a_database_with_packed_collections_leaves_no_bad_records() {
    for seed in 0..20 {
        let mut keeper = Keeper::packing([30, 300, MAX_PACKED_BYTES][usize::try_from(seed % 3).unwrap()]);
        for _ in 0..5 {
            random_life(&mut keeper, seed, 40);
            assert_eq!(keeper.check(7), Vec::<String>::new(), "{seed}");
        }
        for db in 0..3 {
            keeper.flush(db);
        }
        keeper.sweep(1000);
        assert_eq!(keeper.sizes(), NOTHING, "{seed}");
    }
}

#[test]
fn a_packed_collection_takes_the_memory_of_its_record() {
    let (plain, packed) = (MemoryStore::new(), MemoryStore::new());
    let usage = |store: &MemoryStore, max_packed_bytes| {
        let mut client = on(store, max_packed_bytes);
        client.run("ZADD z 1 member-one 2 member-two");
        client.run("MEMORY USAGE z")[1..].parse::<usize>().unwrap()
    };
    let bytes =
        |store: &MemoryStore, keyspace| records_of(store, keyspace).iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    assert_eq!(usage(&packed, 100), bytes(&packed, "meta"));
    assert_eq!(usage(&plain, 0), ["meta", "data", "score"].map(|keyspace| bytes(&plain, keyspace)).iter().sum::<usize>());
}

#[test]
fn the_limit_is_a_number_of_bytes_within_bounds() {
    let packed = |value: &str| Settings::from_pairs([("packed-bytes", value)]).map(|settings| settings.max_packed_bytes);
    assert_eq!((packed("0"), packed("4096"), packed("auto")), (Ok(Some(0)), Ok(Some(MAX_PACKED_BYTES)), Ok(None)));
    for wrong in ["4097", "-1", "", "many", "1k"] {
        assert_eq!(packed(wrong), Err(format!("setting packed-bytes: a number of bytes up to 4096, or auto, expected, not '{wrong}'")));
    }
}

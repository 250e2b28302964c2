//! The commands on keys of any type and on whole dbs. The replies are those of a real Redis, except where a test says otherwise.
#![allow(clippy::unwrap_used)]

mod common;

use bytes::Bytes;
use common::Client;
use orbweaver_engine::command::table;
use orbweaver_engine::db::{Db, Named, Versions};
use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::events::Events;
use orbweaver_engine::last_found::LastFound;
use orbweaver_engine::layout::orbweaver::Orbweaver;
use orbweaver_engine::layout::{KeyAt, Kind, Layout, Meta, Names};
use orbweaver_engine::store::{Limits, MemoryStore, Scope};
use orbweaver_engine::transaction::Transaction;
use orbweaver_engine::types::keys::ExpireOnly;
use orbweaver_engine::types::lists::End;
use orbweaver_engine::types::sorted_sets::ranges::{self, Range, Selection};
use orbweaver_engine::types::{encoding, hashes, keys, lists, sets, sorted_sets};
use std::collections::{BTreeMap, BTreeSet};

/// Where the clock of a client, and of [`with_db`], stands.
const START_MS: u64 = 1_700_000_000_000;

/// Runs commands one after the other and compares each reply, with spaces for its line ends.
#[track_caller]
fn check(client: &mut Client, cases: &[(&str, &str)]) {
    for (command, expected) in cases {
        assert_eq!(client.run(command), *expected, "{command}");
    }
}

#[test]
fn keys_given_twice_are_removed_once_and_counted_twice() {
    check(
        &mut Client::new(),
        &[
            ("SET a 1", "+OK"),
            ("SET b 1", "+OK"),
            ("EXISTS a a b missing", ":3"),
            ("TOUCH a a b missing", ":3"),
            ("DEL a a missing", ":1"),
            ("UNLINK a b b", ":1"),
            ("EXISTS a b", ":0"),
            ("TYPE a", "+none"),
            ("SET a 1", "+OK"),
            ("TYPE a", "+string"),
        ],
    );
}

#[test]
fn a_key_is_there_at_its_time_and_gone_past_it() {
    let mut client = Client::new();
    check(&mut client, &[("SET k v", "+OK"), ("PEXPIRE k 1000", ":1"), ("SET other v", "+OK")]);
    client.wait_ms(1000);
    check(&mut client, &[("EXISTS k", ":1"), ("PTTL k", ":0"), ("KEYS *", "*2 $1 k $5 other"), ("DBSIZE", ":2")]);
    client.wait_ms(1);
    check(&mut client, &[("KEYS *", "*1 $5 other"), ("KEYS k", "*0"), ("DBSIZE", ":1"), ("EXISTS k", ":0"), ("TYPE k", "+none")]);
    check(
        &mut client,
        &[("TTL k", ":-2"), ("PERSIST k", ":0"), ("EXPIRE k 10", ":0"), ("DEL k", ":0"), ("RENAME k x", "-ERR no such key")],
    );
    for _ in 0..50 {
        check(&mut client, &[("RANDOMKEY", "$5 other")]);
    }
}

#[test]
fn times_to_live_are_told_in_every_unit() {
    let at = START_MS + 1500;
    check(
        &mut Client::new(),
        &[
            ("SET k v", "+OK"),
            ("TTL k", ":-1"),
            ("PTTL k", ":-1"),
            ("EXPIRETIME k", ":-1"),
            ("PEXPIRETIME k", ":-1"),
            (&format!("PEXPIREAT k {at}"), ":1"),
            ("TTL k", ":2"),
            ("PTTL k", ":1500"),
            ("PEXPIRETIME k", &format!(":{at}")),
            ("EXPIRETIME k", &format!(":{}", at / 1000 + 1)),
            ("PERSIST k", ":1"),
            ("PERSIST k", ":0"),
            ("TTL k", ":-1"),
            ("EXPIRE k 100", ":1"),
            ("PTTL k", ":100000"),
            ("EXPIREAT k 1700000007", ":1"),
            ("PTTL k", ":7000"),
            ("PEXPIREAT k 9223372036854775807", ":1"),
            ("EXPIRETIME k", ":9223372036854776"),
            ("TTL missing", ":-2"),
            ("PEXPIRETIME missing", ":-2"),
        ],
    );
}

#[test]
fn a_time_that_is_not_ahead_removes_the_key() {
    let mut client = Client::new();
    for expire in ["EXPIRE k 0", "EXPIRE k -1", "PEXPIRE k -9223372036854775808", "EXPIREAT k 1", "PEXPIREAT k -1"] {
        check(&mut client, &[("SET k v", "+OK"), (expire, ":1"), ("EXISTS k", ":0")]);
    }
}

#[test]
fn conditions_of_expire_take_no_expiry_for_the_latest_time() {
    check(
        &mut Client::new(),
        &[
            ("SET k v", "+OK"),
            ("EXPIRE k 10 XX", ":0"),
            ("EXPIRE k 10 GT", ":0"),
            ("EXPIRE k 10 XX LT", ":0"),
            ("EXPIRE k 10 LT", ":1"),
            ("EXPIRE k 10 NX", ":0"),
            ("EXPIRE k 10 GT", ":0"),
            ("EXPIRE k 10 LT", ":0"),
            ("EXPIRE k 11 gt xx", ":1"),
            ("EXPIRE k 9 lt", ":1"),
            ("EXPIRE k 20 XX", ":1"),
            ("PTTL k", ":20000"),
            ("EXPIRE k -1 GT", ":0"),
            ("EXPIRE k -1 LT", ":1"),
            ("EXISTS k", ":0"),
            ("SET k v", "+OK"),
            ("EXPIRE k 10 nx", ":1"),
            ("EXPIRE missing 10 NX", ":0"),
        ],
    );
}

#[test]
fn arguments_of_expire_are_checked_before_the_key_and_options_before_the_number() {
    check(
        &mut Client::new(),
        &[
            ("EXPIRE k x foo", "-ERR Unsupported option foo"),
            ("EXPIRE k x NX XX", "-ERR NX and XX, GT or LT options at the same time are not compatible"),
            ("EXPIRE k x GT LT", "-ERR GT and LT options at the same time are not compatible"),
            ("EXPIRE k 1.5", "-ERR value is not an integer or out of range"),
            ("EXPIRE k 9223372036854775807", "-ERR invalid expire time in 'expire' command"),
            ("EXPIRE k -9223372036854776", "-ERR invalid expire time in 'expire' command"),
            ("PEXPIRE k 9223372036854775807", "-ERR invalid expire time in 'pexpire' command"),
            ("EXPIREAT k 9223372036854776", "-ERR invalid expire time in 'expireat' command"),
            ("PEXPIREAT k 9223372036854775808", "-ERR value is not an integer or out of range"),
            ("EXPIRE k", "-ERR wrong number of arguments for 'expire' command"),
        ],
    );
}

#[test]
fn renaming_takes_the_expiry_along_and_replaces_what_was_there() {
    check(
        &mut Client::new(),
        &[
            ("SET a 1", "+OK"),
            ("EXPIRE a 10", ":1"),
            ("SET b 2", "+OK"),
            ("EXPIRE b 99", ":1"),
            ("RENAMENX a b", ":0"),
            ("RENAME a b", "+OK"),
            ("EXISTS a", ":0"),
            ("GET b", "$1 1"),
            ("TTL b", ":10"),
            ("RENAME b b", "+OK"),
            ("RENAMENX b b", ":0"),
            ("RENAMENX b c", ":1"),
            ("TTL c", ":10"),
            ("DBSIZE", ":1"),
            ("RENAME missing missing", "-ERR no such key"),
            ("RENAMENX missing c", "-ERR no such key"),
        ],
    );
}

#[test]
fn an_expired_key_is_no_obstacle_to_renaming_moving_and_copying() {
    let mut client = Client::new();
    check(&mut client, &[("SET old v", "+OK"), ("PEXPIRE old 5", ":1"), ("COPY old old DB 1", ":1"), ("SET new w", "+OK")]);
    client.wait_ms(6);
    check(&mut client, &[("RENAMENX new old", ":1"), ("TTL old", ":-1"), ("MOVE old 1", ":1"), ("COPY old x", ":0")]);
    check(&mut client, &[("SWAPDB 0 1", "+OK"), ("GET old", "$1 w"), ("TTL old", ":-1")]);
}

#[test]
fn copying_keeps_the_source_and_asks_before_it_replaces() {
    check(
        &mut Client::new(),
        &[
            ("SET a 1", "+OK"),
            ("EXPIRE a 10", ":1"),
            ("COPY a b", ":1"),
            ("TTL b", ":10"),
            ("SET a 2", "+OK"),
            ("COPY a b", ":0"),
            ("GET b", "$1 1"),
            ("COPY a b replace", ":1"),
            ("GET b", "$1 2"),
            ("TTL b", ":-1"),
            ("COPY a a DB 3", ":1"),
            ("COPY a a DB 3", ":0"),
            ("COPY a a REPLACE DB 3", ":1"),
            ("COPY missing b REPLACE", ":0"),
            ("GET b", "$1 2"),
            ("COPY a a", "-ERR source and destination objects are the same"),
            ("COPY a a DB 0", "-ERR source and destination objects are the same"),
            ("COPY a b DB", "-ERR syntax error"),
            ("COPY a b foo", "-ERR syntax error"),
            ("COPY a b DB x", "-ERR value is not an integer or out of range"),
            ("COPY a b DB 16", "-ERR DB index is out of range"),
            ("COPY a b DB -1", "-ERR DB index is out of range"),
            ("COPY a b DB 2147483648", "-ERR value is out of range, value must between -2147483648 and 2147483647"),
        ],
    );
}

#[test]
fn moving_is_refused_onto_an_existing_key() {
    check(
        &mut Client::new(),
        &[
            ("SET a 1", "+OK"),
            ("EXPIRE a 10", ":1"),
            ("MOVE a 1", ":1"),
            ("EXISTS a", ":0"),
            ("MOVE a 1", ":0"),
            ("SET a 2", "+OK"),
            ("MOVE a 1", ":0"),
            ("GET a", "$1 2"),
            ("SWAPDB 1 0", "+OK"),
            ("GET a", "$1 1"),
            ("TTL a", ":10"),
            ("MOVE a 0", "-ERR source and destination objects are the same"),
            ("MOVE a 16", "-ERR DB index is out of range"),
            ("MOVE a x", "-ERR value is not an integer or out of range"),
        ],
    );
}

#[test]
fn dbs_are_emptied_and_exchanged() {
    let mut client = Client::new();
    check(&mut client, &[("SET a 0", "+OK"), ("COPY a a DB 1", ":1"), ("FLUSHDB", "+OK"), ("DBSIZE", ":0"), ("SWAPDB 0 1", "+OK")]);
    check(&mut client, &[("KEYS *", "*1 $1 a"), ("SWAPDB 0 0", "+OK"), ("GET a", "$1 0")]);
    check(&mut client, &[("COPY a b DB 5", ":1"), ("FLUSHALL ASYNC", "+OK"), ("DBSIZE", ":0"), ("SWAPDB 0 5", "+OK"), ("DBSIZE", ":0")]);
    check(&mut client, &[("SET a 1", "+OK"), ("FLUSHDB sync", "+OK"), ("EXISTS a", ":0"), ("SET a 2", "+OK"), ("GET a", "$1 2")]);
    check(
        &mut client,
        &[
            ("FLUSHDB x", "-ERR syntax error"),
            ("FLUSHALL SYNC ASYNC", "-ERR syntax error"),
            ("SWAPDB x 1", "-ERR invalid first DB index"),
            ("SWAPDB 1 99999999999", "-ERR invalid second DB index"),
            ("SWAPDB 1 16", "-ERR DB index is out of range"),
            ("GET a", "$1 2"),
        ],
    );
}

#[test]
fn commands_of_one_delivery_see_each_other_across_flushes_and_swaps() {
    let mut client = Client::new();
    let replies = client.run("SET a 1\nFLUSHALL\nSET b 2\nSWAPDB 0 1\nDBSIZE\nSET c 3\nSWAPDB 0 1\nKEYS *\nMOVE b 1\nSWAPDB 0 1\nKEYS *");
    assert_eq!(replies, "+OK +OK +OK +OK :0 +OK +OK *1 $1 b :1 +OK *2 $1 b $1 c");
}

#[test]
fn what_was_flushed_or_swapped_stays_so_for_the_next_engine() {
    let store = MemoryStore::new();
    let mut client = Client::on(&store);
    check(&mut client, &[("SET a 1", "+OK"), ("SWAPDB 0 1", "+OK"), ("SET gone 1", "+OK"), ("FLUSHDB", "+OK"), ("SET b 1", "+OK")]);
    let mut next = Client::on(&store);
    check(&mut next, &[("KEYS *", "*1 $1 b"), ("SWAPDB 0 1", "+OK"), ("KEYS *", "*1 $1 a")]);
}

#[test]
fn patterns_select_keys_and_a_star_also_the_empty_key() {
    let mut client = Client::new();
    check(
        &mut client,
        &[("SET user:1 v", "+OK"), ("SET user:2 v", "+OK"), ("SET use v", "+OK"), ("SET \"\" v", "+OK"), ("SET a*b v", "+OK")],
    );
    check(
        &mut client,
        &[
            ("KEYS user:?", "*2 $6 user:1 $6 user:2"),
            ("KEYS user:[^1]", "*1 $6 user:2"),
            ("KEYS user:1", "*1 $6 user:1"),
            ("KEYS us*", "*3 $3 use $6 user:1 $6 user:2"),
            ("KEYS a\\*b", "*1 $3 a*b"),
            ("KEYS *e", "*1 $3 use"),
            ("KEYS \"\"", "*1 $0"),
            ("KEYS missing", "*0"),
            ("KEYS x*", "*0"),
            ("DBSIZE", ":5"),
        ],
    );
    assert!(client.run("KEYS *").starts_with("*5 $0  "));
    assert!(client.run("KEYS **").starts_with("*4 "));
}

#[test]
fn a_random_key_may_be_any_key_and_no_branch_of_many_starves() {
    let mut client = Client::new();
    check(&mut client, &[("RANDOMKEY", "$-1"), ("SET only v", "+OK"), ("RANDOMKEY", "$4 only")]);
    check(&mut client, &[("SET a v", "+OK"), ("SET ab v", "+OK"), ("SET \"\" v", "+OK")]);
    let few: BTreeSet<String> = (0..200).map(|_| client.run("RANDOMKEY")).collect();
    assert_eq!(few.len(), 4);

    check(&mut client, &[("FLUSHDB", "+OK")]);
    for number in 0..1000 {
        client.run(&format!("SET user:{number} v"));
    }
    let mut drawn: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..5000 {
        *drawn.entry(client.run("RANDOMKEY")).or_default() += 1;
    }
    assert!(drawn.len() > 900, "{} of 1000 keys were drawn", drawn.len());
    assert!(drawn.values().all(|&times| times < 100), "{drawn:?}");
}

#[test]
fn a_random_key_is_found_among_many_expired_ones() {
    let mut client = Client::new();
    for number in 0..100 {
        client.run(&format!("SET user:{number} v\nPEXPIRE user:{number} 1"));
    }
    check(&mut client, &[("SET a v", "+OK")]);
    client.wait_ms(2);
    for _ in 0..20 {
        check(&mut client, &[("RANDOMKEY", "$1 a")]);
    }
    check(&mut client, &[("DEL a", ":1"), ("RANDOMKEY", "$-1"), ("DBSIZE", ":0")]);
}

#[test]
fn strings_have_the_encodings_of_redis() {
    let mut client = Client::new();
    let (short, long) = ("x".repeat(44), "x".repeat(45));
    let cases = [
        ("9223372036854775807", "int"),
        ("-1", "int"),
        ("9223372036854775808", "embstr"),
        ("01", "embstr"),
        (short.as_str(), "embstr"),
        (long.as_str(), "raw"),
    ];
    for (value, encoding) in cases {
        let expected = format!("+OK ${} {encoding}", encoding.len());
        assert_eq!(client.run(&format!("SET k {value}\nOBJECT ENCODING k")), expected, "{value}");
    }
}

#[test]
fn object_tells_of_existing_keys_only() {
    let mut client = Client::new();
    let lfu = "-ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between \
               policies at runtime LRU and LFU data will take some time to adjust.";
    check(
        &mut client,
        &[
            ("OBJECT ENCODING k", "$-1"),
            ("OBJECT FREQ k", "$-1"),
            ("OBJECT IDLETIME k", "$-1"),
            ("OBJECT REFCOUNT k", "$-1"),
            ("SET k 9999", "+OK"),
            ("OBJECT REFCOUNT k", ":2147483647"),
            ("SET k 10000", "+OK"),
            ("OBJECT REFCOUNT k", ":1"),
            ("OBJECT IDLETIME k", ":0"),
            ("OBJECT FREQ k", lfu),
            ("OBJECT", "-ERR wrong number of arguments for 'object' command"),
            ("OBJECT foo k", "-ERR unknown subcommand 'foo'. Try OBJECT HELP."),
            ("OBJECT ENCODING", "-ERR wrong number of arguments for 'object|encoding' command"),
            ("OBJECT HELP x", "-ERR wrong number of arguments for 'object|help' command"),
        ],
    );
    assert!(client.run("OBJECT HELP").starts_with("*11 +OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are: "));
}

#[test]
fn a_read_only_store_refuses_what_changes_keys() {
    let mut client = Client::on(&MemoryStore::with_limits(Limits { read_only: true, ..Limits::NONE }));
    check(&mut client, &[("KEYS *", "*0"), ("EXISTS a b", ":0"), ("RANDOMKEY", "$-1"), ("DBSIZE", ":0")]);
    for command in ["DEL a", "EXPIRE a 1", "RENAME a c", "COPY a c", "MOVE a 1", "FLUSHALL", "SWAPDB 0 1"] {
        assert!(client.run(command).starts_with("-ERR storage: "), "{command}");
    }
}

#[test]
fn the_rows_have_the_arities_and_keys_of_redis() {
    let rows = [
        ("copy", -3, (1, 2, 1)),
        ("del", -2, (1, -1, 1)),
        ("dbsize", 1, (0, 0, 0)),
        ("expire", -3, (1, 1, 1)),
        ("flushall", -1, (0, 0, 0)),
        ("keys", 2, (0, 0, 0)),
        ("move", 3, (1, 1, 1)),
        ("object", -2, (0, 0, 0)),
        ("pexpiretime", 2, (1, 1, 1)),
        ("renamenx", 3, (1, 2, 1)),
        ("swapdb", 3, (0, 0, 0)),
    ];
    for (name, arity, bounds) in rows {
        let row = table::find(name.as_bytes()).unwrap();
        assert_eq!((row.name, row.arity, row.keys.bounds()), (name, arity, bounds));
    }
    let encoding = table::find_subcommand(table::find(b"object").unwrap(), b"ENCODING").unwrap();
    assert_eq!((encoding.arity, encoding.keys.bounds()), (3, (2, 2, 1)));
}

/// Runs `work` on db 0 of a new store, in a transaction that may change anything.
fn with_db<T>(work: impl FnOnce(&mut Db) -> T) -> T {
    let mut store = MemoryStore::new();
    let layout = Orbweaver::open(&mut store).unwrap();
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    let mut catalog = layout.load_catalog(&mut transaction, 16).unwrap();
    work(&mut Db {
        transaction: &mut transaction,
        layout: &layout,
        environment: &mut HeldEnvironment::new(START_MS, 1),
        catalog: &mut catalog,
        versions: &mut Versions { next: 1, end: 100 },
        events: &mut Events::default(),
        max_string_bytes: 1 << 20,
        now_ms: START_MS,
        clock_ms: START_MS,
        index: 0,
        named: &Named::default(),
        last_found: &mut LastFound::default(),
        key_count: &mut None,
        appeared: None,
    })
}

/// Stores a hash of `count` fields whose values are `value`.
fn put_hash(db: &mut Db, at: &KeyAt, count: u64, value: &str) -> Meta {
    let pairs: Vec<_> = (0..count).map(|number| (format!("f{number}").into(), value.to_owned().into())).collect();
    assert_eq!(hashes::set(db, at, pairs.iter().map(|(field, value)| (field, value))), Ok(count));
    db.find(at).unwrap().unwrap()
}

fn fields(db: &mut Db, at: &KeyAt) -> Vec<String> {
    let mut fields = Vec::new();
    let show = |field: &[u8], value: &[u8]| format!("{}={}", String::from_utf8_lossy(field), String::from_utf8_lossy(value));
    hashes::each(db, at, |field, value| fields.push(show(field, value))).unwrap();
    fields
}

#[test]
fn a_copied_hash_has_records_of_its_own() {
    with_db(|db| {
        let (from, to) = (db.at(&"from".into()).unwrap(), db.at_db(1, &"to".into()).unwrap());
        let meta = put_hash(db, &from, 3, "v");
        assert_eq!(keys::copy(db, &from, &to, false), Ok(true));
        let copy = db.find(&to).unwrap().unwrap();
        assert_ne!(copy.collection().unwrap().version, meta.collection().unwrap().version);
        assert_eq!(copy.collection().unwrap().count, 3);
        db.remove(&from).unwrap();
        let (keyspace, range) = db.layout.fields(&from, &meta.collection().unwrap(), &Names::ALL).range();
        db.transaction.delete_range(keyspace, range).unwrap();
        assert_eq!(fields(db, &to), ["f0=v", "f1=v", "f2=v"]);
    });
}

#[test]
fn a_copy_of_any_kind_holds_what_its_source_holds() {
    with_db(|db| {
        let (from, to) = (db.at(&"from".into()).unwrap(), db.at(&"to".into()).unwrap());
        let names: Vec<Bytes> = ["b", "a", "b"].map(Bytes::from).to_vec();
        for kind in [Kind::List, Kind::Set, Kind::SortedSet] {
            db.remove(&from).unwrap();
            match kind {
                Kind::List => assert_eq!(lists::push(db, &from, End::Tail, &names), Ok(3)),
                Kind::Set => assert_eq!(sets::add(db, &from, &names), Ok(2)),
                _ => assert_eq!(sorted_sets::replace(db, &from, &[("b".into(), -0.5), ("a".into(), 7.0)], "zadd"), Ok(())),
            }
            assert_eq!(keys::expire(db, &from, START_MS + 1, ExpireOnly::default()), Ok(1));
            assert_eq!(keys::copy(db, &from, &to, true), Ok(true));
            let copied = db.find(&to).unwrap().unwrap();
            assert_eq!((copied.expire_at_ms, copied.kind()), (Some(START_MS + 1), kind));
            let mut contents: Vec<String> = Vec::new();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            match kind {
                Kind::List => {
                    lists::each(db, &to, 0, -1, |elements| contents.extend(elements.rows().iter().map(|element| text(element)))).unwrap()
                }
                Kind::Set => sets::each(db, &to, &mut |members| contents.extend(members.rows().iter().map(|member| text(member)))).unwrap(),
                _ => {
                    let all = Selection::all_of(Range::Ranks(0, -1));
                    ranges::each(db, &to, &all, |members| {
                        contents.extend(members.rows().iter().map(|(member, score)| format!("{}{score}", text(member))));
                    })
                    .unwrap();
                }
            }
            let expected = match kind {
                Kind::List => vec!["b", "a", "b"],
                Kind::Set => vec!["a", "b"],
                _ => vec!["b-0.5", "a7"],
            };
            assert_eq!(contents, expected);
        }
    });
}

#[test]
fn a_hash_is_a_listpack_up_to_512_fields_of_64_bytes() {
    with_db(|db| {
        let cases = [(512, 64, "listpack"), (513, 64, "hashtable"), (1, 65, "hashtable")];
        for (count, length, expected) in cases {
            let at = db.at(&format!("{count}:{length}").into()).unwrap();
            let meta = put_hash(db, &at, count, &"x".repeat(length));
            assert_eq!(encoding::encoding(db, &at, &meta), Ok(expected), "{count} fields of {length} bytes");
        }
    });
}

#[test]
fn info_tells_of_many_keys_what_it_found_lately_and_dbsize_what_there_is() {
    for layout in ["orbweaver", "blackwidow"] {
        info_tells_of_many_keys(&mut Client::on_layout(&MemoryStore::new(), layout));
    }
}

fn info_tells_of_many_keys(client: &mut Client) {
    let add = |client: &mut Client, keys: std::ops::Range<usize>| {
        let pairs: Vec<String> = keys.map(|n| format!("key:{n} value")).collect();
        assert_eq!(client.run(&format!("MSET {}", pairs.join(" "))), "+OK");
    };
    let told = |client: &mut Client| {
        let info = client.run("INFO keyspace");
        let count = info.split_once("keys=").and_then(|(_, rest)| rest.split(',').next()).unwrap_or("0").to_owned();
        (count, client.run("DBSIZE"))
    };
    let is = |info: &str, size: &str| (info.to_owned(), size.to_owned());
    add(client, 0..9_999);
    assert_eq!(told(client), is("9999", ":9999"));
    add(client, 9_999..10_000);
    assert_eq!(told(client), is("10000", ":10000"));
    add(client, 10_000..10_001);
    assert_eq!(told(client), is("10000", ":10001"));
    client.wait_ms(1000);
    assert_eq!(told(client), is("10001", ":10001"));
    // A layout may have a db in the same space as before.
    let flushed = client.run("MULTI\r\nFLUSHALL\r\nINFO keyspace\r\nSET key value\r\nINFO keyspace\r\nEXEC");
    assert_eq!(flushed.matches("keys=").count(), 1, "{flushed}");
    assert!(flushed.contains("keys=1,"), "{flushed}");
    client.run("FLUSHALL");
    assert_eq!(told(client), is("0", ":0"));
}

//! Pages that the component has already are not copied into it again, and what it replies is as without them, whoever changes what they are of.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use fastrand::Rng;
use orbweaver::runtime::{Component, Delivery, Orbweaver};
use orbweaver::stores::rocksdb::{RocksOptions, RocksStore};
use orbweaver_engine::store::MemoryStore;
use std::path::Path;

fn open(component: &Component, store: &RocksStore) -> Orbweaver {
    let mut orbweaver = Orbweaver::builder().open(component, Box::new(store.handle())).unwrap();
    orbweaver.connect(1, "test").unwrap();
    orbweaver
}

fn ask(orbweaver: &mut Orbweaver, requests: &str) -> Vec<u8> {
    let mut replies = Vec::new();
    let mut input = requests.as_bytes();
    while !input.is_empty() {
        let outcome = orbweaver.exchange(&[Delivery { connection: 1, input }]).unwrap();
        replies.extend_from_slice(&outcome.output);
        let consumed = usize::try_from(outcome.answers[0].consumed).unwrap();
        assert!(consumed > 0);
        input = &input[consumed..];
    }
    replies
}

fn store(path: &Path, record_cache_bytes: usize) -> RocksStore {
    RocksStore::open(path, RocksOptions { record_cache_bytes, ..RocksOptions::default() }).unwrap()
}

#[test]
fn a_page_crosses_until_it_is_given_a_second_time_and_again_once_something_has_changed() {
    let dir = tempfile::tempdir().unwrap();
    let mut orbweaver = open(&Component::load().unwrap(), &store(dir.path(), 16 << 20));
    ask(&mut orbweaver, "HSET h a 1 b 2\r\nSADD s a b\r\nRPUSH l a b\r\nZADD z 1 a 2 b\r\n");
    for (show, change) in [
        ("HGETALL h\r\n", "HSET h a 2\r\n"),
        ("SMEMBERS s\r\n", "SADD s c\r\n"),
        ("LRANGE l 0 -1\r\n", "RPUSH l c\r\n"),
        ("ZRANGEBYSCORE z 1 2\r\n", "ZADD z 1.5 c\r\n"),
    ] {
        let mut spared = |requests: &str| {
            let before = orbweaver.spared_pages();
            let replies = ask(&mut orbweaver, requests);
            (orbweaver.spared_pages() - before, replies)
        };
        let (first, reply) = spared(show);
        let again: Vec<(u64, Vec<u8>)> = (0..6).map(|_| spared(show)).collect();
        assert!(again.iter().all(|(_, again)| *again == reply), "{show}");
        assert_eq!((first, again[5].0, again[4].0), (0, 1, 1), "{show}: {again:?}");
        spared(change);
        let (changed, reply) = spared(show);
        assert!(changed == 0 && again[0].1 != reply, "{show}");
    }
}

#[test]
fn a_component_with_little_memory_keeps_no_pages() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path(), 16 << 20);
    for (memory_bytes, keeps) in [(16 << 20, false), (256 << 20, true)] {
        let builder = Orbweaver::builder().memory_limit(memory_bytes);
        let mut orbweaver = builder.open(&Component::load().unwrap(), Box::new(store.handle())).unwrap();
        orbweaver.connect(1, "test").unwrap();
        ask(&mut orbweaver, "SADD s a b\r\n");
        (0..9).for_each(|_| assert_eq!(ask(&mut orbweaver, "SMEMBERS s\r\n"), b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"));
        assert_eq!(orbweaver.spared_pages() > 0, keeps);
    }
}

#[test]
fn a_page_that_another_scan_was_given_is_not_taken_for_the_answer() {
    let dir = tempfile::tempdir().unwrap();
    let mut orbweaver = open(&Component::load().unwrap(), &store(dir.path(), 16 << 20));
    // A group that writes asks for the same page by a scan that does not look for known ones; then the page is another one, which has no number yet.
    let hash = |value: &str| format!("*4\r\n$1\r\na\r\n$3\r\n{value}\r\n$1\r\nb\r\n$1\r\n1\r\n").into_bytes();
    ask(&mut orbweaver, "HSET h a old b 1\r\n");
    (0..9).for_each(|_| assert_eq!(ask(&mut orbweaver, "HGETALL h\r\n"), hash("old")));
    assert!(orbweaver.spared_pages() > 0);
    assert_eq!(ask(&mut orbweaver, "SET x 1\r\nHGETALL h\r\n"), [b"+OK\r\n".to_vec(), hash("old")].concat());
    ask(&mut orbweaver, "HSET h a new\r\n");
    assert_eq!(ask(&mut orbweaver, "HGETALL h\r\n"), hash("new"));
    // The same by a command that does not go straight.
    let set = |members: &[&str]| {
        let members: String = members.iter().map(|member| format!("$1\r\n{member}\r\n")).collect();
        format!("*2\r\n{members}").into_bytes()
    };
    ask(&mut orbweaver, "SADD t a b\r\n");
    (0..9).for_each(|_| assert_eq!(ask(&mut orbweaver, "SMEMBERS t\r\n"), set(&["a", "b"])));
    ask(&mut orbweaver, "SUNION s t\r\n");
    ask(&mut orbweaver, "SREM t a\r\n");
    ask(&mut orbweaver, "SADD t z\r\n");
    assert_eq!(ask(&mut orbweaver, "SMEMBERS t\r\n"), set(&["b", "z"]));
}

/// A command that changes a collection, or all of it.
fn change(random: &mut Rng) -> String {
    let (key, member, score) = (random.u8(0..3), random.u8(0..60), random.i8(-5..5));
    match random.u8(0..12) {
        0 | 1 => format!("HSET h{key} f{member} {score}\r\n"),
        2 => format!("HDEL h{key} f{member}\r\n"),
        3 | 4 => format!("SADD s{key} m{member}\r\n"),
        5 => format!("SREM s{key} m{member}\r\n"),
        6 => format!("RPUSH l{key} e{member}\r\n"),
        7 => format!("LPOP l{key}\r\n"),
        8 | 9 => format!("ZADD z{key} {score} m{member}\r\n"),
        10 => format!("ZREM z{key} m{member}\r\n"),
        _ => format!("DEL {}{key}\r\n", ["h", "s", "l", "z"][random.usize(0..4)]),
    }
}

/// Commands that show collections, each of them more than once, and by ways that do not go straight.
fn shows(random: &mut Rng) -> String {
    let all: Vec<String> = (0..3)
        .flat_map(|key| {
            [
                format!("HGETALL h{key}\r\n"),
                format!("SMEMBERS s{key}\r\n"),
                format!("LRANGE l{key} 0 -1\r\n"),
                format!("LRANGE l{key} 2 9\r\n"),
                format!("ZRANGEBYSCORE z{key} -2 2\r\n"),
                format!("ZREVRANGEBYSCORE z{key} 2 -2\r\n"),
                format!("ZRANGE z{key} 0 5\r\n"),
                format!("ZREVRANGE z{key} 0 5\r\n"),
                format!("ZRANK z{key} m1\r\n"),
            ]
        })
        .collect();
    let mut shown: String = (0..random.usize(1..40)).map(|_| all[random.usize(..all.len())].as_str()).collect();
    let key = random.u8(0..3);
    match random.u8(0..8) {
        0 => shown += &change(random),
        1 => shown = change(random) + &shown,
        2 => shown += &format!("SUNION s{key} s0\r\n"),
        3 => shown += &format!("SORT l{key} BY nosort\r\n"),
        4 => shown = format!("MULTI\r\n{}{shown}EXEC\r\n", change(random)),
        _ => {}
    }
    shown
}

#[test]
fn what_is_shown_is_what_a_model_shows_whichever_of_two_instances_changes_it() {
    let component = Component::load().unwrap();
    for (seed, record_cache_bytes) in [(1, 16 << 20), (2, 16 << 20), (3, 64 << 10)] {
        let (mut random, dir) = (Rng::with_seed(seed), tempfile::tempdir().unwrap());
        let store = store(dir.path(), record_cache_bytes);
        let mut instances = [open(&component, &store), open(&component, &store)];
        let mut model = Orbweaver::builder().open(&component, Box::new(MemoryStore::new())).unwrap();
        model.connect(1, "test").unwrap();
        // A sorted set with a tree of ranks, too, parts of which take several pages.
        let members: String = (0..3000).map(|member| format!(" {} tree:{member}", member % 5)).collect();
        let first = format!("ZADD z0{members}\r\n");
        assert_eq!(ask(&mut instances[0], &first), ask(&mut model, &first));
        for _ in 0..1500 {
            let requests = if random.u8(0..10) == 0 { change(&mut random) } else { shows(&mut random) };
            let replies = ask(&mut instances[random.usize(0..2)], &requests);
            let expected = ask(&mut model, &requests);
            assert_eq!(replies.escape_ascii().to_string(), expected.escape_ascii().to_string(), "{seed}: {requests}");
        }
        // It is not only that nothing is known.
        let spared = instances.each_ref().map(Orbweaver::spared_pages);
        assert!(record_cache_bytes < 1 << 20 || spared.iter().all(|spared| *spared > 100), "{seed}: {spared:?}");
        assert_eq!(model.spared_pages(), 0);
    }
}

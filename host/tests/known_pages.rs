//! Pages that the component has already are not copied into it again, nor asked for as long as nothing changes, and what it replies is as without them, whoever
//! changes what they are of.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use fastrand::Rng;
use orbweaver::runtime::{Component, Delivery, Orbweaver};
use orbweaver::stores::rocksdb::{RocksOptions, RocksStore};
use orbweaver_engine::store::MemoryStore;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// With less memory a component keeps no pages.
const LEAST_MEMORY: usize = 256 << 20;

fn open_with(memory_bytes: usize, component: &Component, store: &RocksStore) -> Orbweaver {
    let mut orbweaver = Orbweaver::builder().memory_limit(memory_bytes).open(component, Box::new(store.handle())).unwrap();
    orbweaver.connect(1, "test").unwrap();
    orbweaver
}

fn open(component: &Component, store: &RocksStore) -> Orbweaver {
    open_with(LEAST_MEMORY, component, store)
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
fn a_page_is_asked_for_until_it_is_given_a_second_time_and_again_once_its_collection_has_changed() {
    let dir = tempfile::tempdir().unwrap();
    let mut orbweaver = open(&Component::load().unwrap(), &store(dir.path(), 16 << 20));
    ask(&mut orbweaver, "SADD other a b\r\n");
    (0..9).for_each(|_| _ = ask(&mut orbweaver, "SMEMBERS other\r\n"));
    // When the first page had been given, everything might have changed: this one was asked for, and known.
    assert_eq!(orbweaver.spared_pages(), 1);
    ask(&mut orbweaver, "HSET h a 1 b 2\r\nSADD s a b\r\nRPUSH l a b\r\nZADD z 1 a 2 b\r\n");
    for (show, change, back) in [
        ("HGETALL h\r\n", "HSET h a 2\r\n", "HSET h a 1\r\n"),
        ("SMEMBERS s\r\n", "SADD s c\r\n", "SREM s c\r\n"),
        ("LRANGE l 0 -1\r\n", "RPUSH l c\r\n", "RPOP l\r\n"),
        ("ZRANGEBYSCORE z 1 2\r\n", "ZADD z 1.5 c\r\n", "ZREM z c\r\n"),
    ] {
        // Each in a call that reads behind another one that has read.
        let shown = |orbweaver: &mut Orbweaver| {
            ask(orbweaver, "GET string\r\n");
            let before = orbweaver.crossings();
            let replies = ask(orbweaver, show);
            (orbweaver.crossings() - before, replies)
        };
        let (first, reply) = shown(&mut orbweaver);
        let again: Vec<(u64, Vec<u8>)> = (0..6).map(|_| shown(&mut orbweaver)).collect();
        assert!(again.iter().all(|(_, again)| *again == reply), "{show}");
        assert_eq!((first, again[5].0, again[4].0), (3, 2, 2), "{show}: {again:?}");
        // Of others nothing is told at this place.
        ask(&mut orbweaver, "SADD other c\r\nSREM other c\r\nSET string 1\r\n");
        assert_eq!(shown(&mut orbweaver), (2, reply.clone()), "{show}");
        // Nor is it asked for beside what changes another key: the call, the beginning, the heads and the commit.
        let before = orbweaver.crossings();
        assert_eq!(ask(&mut orbweaver, &format!("INCR number\r\n{show}")).split_off(4), reply);
        assert_eq!(orbweaver.crossings() - before, 4, "{show}");
        ask(&mut orbweaver, change);
        let (changed, other) = shown(&mut orbweaver);
        assert!(changed == 3 && other != reply, "{show}");
        // A small one that is changed and shown in turn is in memory whole: when it is shown the second time since, the page has a number.
        for (changed, expected) in [(back, &reply), (change, &other), (back, &reply), (change, &other)] {
            ask(&mut orbweaver, changed);
            let again: Vec<(u64, Vec<u8>)> = (0..4).map(|_| shown(&mut orbweaver)).collect();
            assert!(again.iter().all(|(_, again)| again == expected), "{show}");
            assert_eq!(again[3].0, 2, "{show}: {again:?}");
        }
    }
}

#[test]
fn a_component_with_little_memory_keeps_no_pages() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path(), 16 << 20);
    for (memory_bytes, keeps) in [(16 << 20, false), (LEAST_MEMORY - 1, false), (LEAST_MEMORY, true)] {
        let mut orbweaver = open_with(memory_bytes, &Component::load().unwrap(), &store);
        ask(&mut orbweaver, "SADD s a b\r\n");
        (0..9).for_each(|_| assert_eq!(ask(&mut orbweaver, "SMEMBERS s\r\n"), b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"));
        assert_eq!(orbweaver.spared_pages() > 0, keeps);
    }
}

#[test]
fn a_page_that_another_scan_was_given_is_not_taken_for_the_answer() {
    let dir = tempfile::tempdir().unwrap();
    let mut orbweaver = open(&Component::load().unwrap(), &store(dir.path(), 16 << 20));
    // A group that does not go straight asks for the same page by a scan that does not look for known ones; then the page is another one, which has no
    // number yet.
    let hash = |value: &str| format!("*4\r\n$1\r\na\r\n$3\r\n{value}\r\n$1\r\nb\r\n$1\r\n1\r\n").into_bytes();
    ask(&mut orbweaver, "HSET h a old b 1\r\n");
    (0..9).for_each(|_| assert_eq!(ask(&mut orbweaver, "HGETALL h\r\n"), hash("old")));
    assert!(orbweaver.spared_pages() > 0);
    assert_eq!(ask(&mut orbweaver, "SET x 1 EX 100\r\nHGETALL h\r\n"), [b"+OK\r\n".to_vec(), hash("old")].concat());
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
    let (key, member, score) = (random.u8(0..3), random.u8(0..100), random.i8(-5..5));
    // Seldom, as it takes a while until a collection is large again.
    if random.u8(0..100) == 0 {
        return format!("DEL {}{key}\r\n", ["h", "s", "l", "z"][random.usize(0..4)]);
    }
    match random.u8(0..11) {
        0 | 1 => format!("HSET h{key} f{member} {score}\r\n"),
        2 => format!("HDEL h{key} f{member}\r\n"),
        3 | 4 => format!("SADD s{key} m{member}\r\n"),
        5 => format!("SREM s{key} m{member}\r\n"),
        6 => format!("RPUSH l{key} e{member}\r\n"),
        7 => format!("LPOP l{key}\r\n"),
        8 | 9 => format!("ZADD z{key} {score} m{member}\r\n"),
        _ => format!("ZREM z{key} m{member}\r\n"),
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
    match random.u8(0..20) {
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
        let (mut random, dir, other_dir) = (Rng::with_seed(seed), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (keeping, others) = (store(dir.path(), record_cache_bytes), store(other_dir.path(), record_cache_bytes));
        let mut instances = [open(&component, &keeping), open(&component, &keeping)];
        // The same without kept pages: so many crossings more.
        let mut without = [0, 1].map(|_| open_with(LEAST_MEMORY - 1, &component, &others));
        let mut model = Orbweaver::builder().open(&component, Box::new(MemoryStore::new())).unwrap();
        model.connect(1, "test").unwrap();
        // Small ones and others. And a sorted set with a tree of ranks, parts of which take several pages.
        let every = |one: &dyn Fn(u32) -> String, count: u32| (0..count).map(one).collect::<String>();
        let first = [3000, 100, 5].into_iter().zip(0..3).map(|(count, key)| {
            let fields = every(&|field| format!(" f{field} 0"), count.min(100));
            let members = every(&|member| format!(" m{member}"), count.min(100));
            let scored = every(&|member| format!(" {} t{member}", member % 5), count);
            format!("HSET h{key}{fields}\r\nSADD s{key}{members}\r\nRPUSH l{key}{members}\r\nZADD z{key}{scored}\r\n")
        });
        let first: String = first.collect();
        let expected = ask(&mut model, &first);
        assert_eq!([ask(&mut instances[0], &first), ask(&mut without[0], &first)], [expected.clone(), expected]);
        for _ in 0..1500 {
            let requests = if random.u8(0..10) == 0 { change(&mut random) } else { shows(&mut random) };
            let instance = random.usize(0..2);
            let replies = ask(&mut instances[instance], &requests);
            let expected = ask(&mut model, &requests);
            assert_eq!(ask(&mut without[instance], &requests), expected);
            assert_eq!(replies.escape_ascii().to_string(), expected.escape_ascii().to_string(), "{seed}: {requests}");
        }
        // It is not only that nothing is known.
        let [crossings, all] = [&instances, &without].map(|instances| instances.iter().map(Orbweaver::crossings).sum::<u64>());
        assert!(record_cache_bytes < 1 << 20 || crossings < all * 9 / 10, "{seed}: {crossings} of {all}");
        assert_eq!(model.spared_pages(), 0);
    }
}

/// The numbers that a reply has as values of fields, or members.
fn numbers(reply: &[u8]) -> Vec<u64> {
    let text = String::from_utf8(reply.to_vec()).unwrap();
    text.split("\r\n").filter_map(|line| line.strip_prefix("n:")?.parse().ok()).collect()
}

#[test]
fn what_was_replied_to_have_been_written_is_shown_by_all_others_whole_and_never_taken_back() {
    const ROUNDS: u64 = 3000;
    let component = Component::load().unwrap();
    for handles in [2, 3] {
        let dir = tempfile::tempdir().unwrap();
        let (store, written) = (store(dir.path(), 16 << 20), AtomicU64::new(0));
        let mut instances: Vec<Orbweaver> = (0..handles).map(|_| open(&component, &store)).collect();
        // Large enough not to be in memory whole.
        let others: String = (0..40).map(|field| format!(" field{field} other")).collect();
        ask(&mut instances[0], &format!("HSET h{others}\r\nHSET i{others}\r\n"));
        std::thread::scope(|scope| {
            let mut instances = instances.into_iter();
            let mut writer = instances.next().unwrap();
            for (reader, mut orbweaver) in instances.enumerate() {
                let written = &written;
                scope.spawn(move || {
                    let (mut last, mut random, mut without) = (0, Rng::with_seed(7), orbweaver.crossings());
                    while written.load(Ordering::SeqCst) < ROUNDS {
                        let before = written.load(Ordering::SeqCst);
                        let both = random.bool();
                        // The call, the beginning, the heads, and each scan.
                        without += if both { 5 } else { 4 };
                        let reply = ask(&mut orbweaver, if both { "HGETALL h\r\nHGETALL i\r\n" } else { "HGETALL h\r\n" });
                        let shown = numbers(&reply);
                        // A group reads one state, which is none before what had been written.
                        assert!(shown.len() == if both { 4 } else { 2 } || before == 0 && shown.is_empty(), "{reader}: {shown:?}");
                        assert!(shown.iter().all(|number| number == &shown[0]), "{reader}: {shown:?}");
                        let now = shown.first().copied().unwrap_or(0);
                        assert!(now >= before && now >= last, "{reader}: {now} behind {before} and {last}");
                        last = now;
                    }
                    let crossings = orbweaver.crossings();
                    assert!(crossings + 100 < without, "{reader}: {crossings} of {without}");
                });
            }
            for round in 1..=ROUNDS {
                ask(&mut writer, &format!("MULTI\r\nHSET h a n:{round} b n:{round}\r\nHSET i a n:{round} b n:{round}\r\nEXEC\r\n"));
                written.store(round, Ordering::SeqCst);
                // Now and then long enough that the pages are known.
                if round % 64 == 0 {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
            }
        });
    }
}

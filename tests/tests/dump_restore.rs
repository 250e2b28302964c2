//! Keys of every type and encoding move from Redis to Orbweaver and back by DUMP and RESTORE, and stay what they are.

use crc::{CRC_64_REDIS, Crc};
use fastrand::Rng;
use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Args, args};
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::target::{SocketTarget, Target};

/// Options of Redis that decide on encodings.
const PACKED: &[&str] = &[
    "--hash-max-listpack-entries",
    "100000",
    "--hash-max-listpack-value",
    "100000",
    "--zset-max-listpack-entries",
    "100000",
    "--zset-max-listpack-value",
    "100000",
    "--set-max-intset-entries",
    "100000",
    "--list-max-listpack-size",
    "-5",
];
const UNPACKED: &[&str] = &[
    "--hash-max-listpack-entries",
    "0",
    "--zset-max-listpack-entries",
    "0",
    "--set-max-intset-entries",
    "0",
    "--list-max-listpack-size",
    "1",
    "--rdbcompression",
    "no",
];

fn call(target: &mut dyn Target, command: &Args) -> Value {
    target.execute(0, &[command]).expect("the target lives").remove(0)
}

fn command(words: &[&[u8]]) -> Args {
    words.iter().map(|word| word.to_vec()).collect()
}

/// The payload of a key.
fn dump(target: &mut dyn Target, key: &str) -> Vec<u8> {
    match call(target, &args(["DUMP", key])) {
        Value::Bulk(payload) => payload.to_vec(),
        other => panic!("no payload of {key}: {other:?}"),
    }
}

fn restore(target: &mut dyn Target, key: &str, payload: &[u8]) -> Value {
    call(target, &command(&[b"RESTORE", key.as_bytes(), b"0", payload, b"REPLACE"]))
}

/// Everything under a key, in an order that does not depend on the server.
fn read(target: &mut dyn Target, key: &str) -> Vec<Value> {
    let kind = match call(target, &args(["TYPE", key])) {
        Value::Simple(kind) => String::from_utf8_lossy(&kind).into_owned(),
        other => panic!("not a type: {other:?}"),
    };
    let reply = match kind.as_str() {
        "string" => call(target, &args(["GET", key])),
        "list" => call(target, &args(["LRANGE", key, "0", "-1"])),
        "set" => call(target, &args(["SMEMBERS", key])),
        "zset" => call(target, &args(["ZRANGE", key, "0", "-1", "WITHSCORES"])),
        "hash" => call(target, &args(["HGETALL", key])),
        other => panic!("{key} is of type {other}"),
    };
    let (Value::Array(mut items) | Value::Set(mut items)) = reply else { return vec![reply] };
    if kind == "zset" {
        items.iter_mut().skip(1).step_by(2).for_each(normalize);
    }
    // Redis keeps a packed sorted set in the order of its payload, also where that is not the order of its scores.
    let together = match kind.as_str() {
        "set" => 1,
        "hash" | "zset" => 2,
        _ => return items,
    };
    let mut groups: Vec<&[Value]> = items.chunks(together).collect();
    groups.sort_by_key(|group| format!("{group:?}"));
    groups.concat()
}

/// Redis 7.0 writes scores with other digits than 7.2, and which of 0 and -0 a score is depends on its encodings.
fn normalize(score: &mut Value) {
    let Value::Bulk(text) = &score else { panic!("not a score: {score:?}") };
    let number: f64 = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).expect("a number");
    *score = Value::Bulk((number + 0.0).to_string().into());
}

/// A word: a number of any width, a few bytes, or many that may be compressed.
fn word(rng: &mut Rng) -> Vec<u8> {
    match rng.u8(..10) {
        0..4 => (rng.i64(..) >> rng.u8(..64)).to_string().into_bytes(),
        4..8 => (0..rng.usize(..20)).map(|_| rng.u8(..)).collect(),
        8 => (0..rng.usize(..500)).map(|_| rng.u8(..)).collect(),
        _ => b"abcdefgh".iter().copied().cycle().take(rng.usize(..6_000)).collect(),
    }
}

/// A score, with digits of all kinds.
fn score(rng: &mut Rng) -> Vec<u8> {
    match rng.u8(..6) {
        0 => b"inf".to_vec(),
        1 => b"-inf".to_vec(),
        2 => rng.i64(-1_000..1_000).to_string().into_bytes(),
        _ => ((rng.f64() - 0.5) * 10_f64.powi(rng.i32(-20..20))).to_string().into_bytes(),
    }
}

/// A command that makes a key of up to `most` elements. Sets are of integers alone, half of the time.
fn creation(rng: &mut Rng, key: &str, most: usize) -> Args {
    let count = rng.usize(1..=most);
    let (name, integers) = (rng.usize(..5), rng.bool());
    let mut command = command(&[["SET", "RPUSH", "SADD", "ZADD", "HSET"][name].as_bytes(), key.as_bytes()]);
    for _ in 0..if name == 0 { 1 } else { count } {
        if name == 3 {
            command.push(score(rng));
        }
        let number = (rng.i64(..) >> rng.u8(..64)).to_string().into_bytes();
        command.push(if name == 2 && integers { number } else { word(rng) });
        if name == 4 {
            command.push(word(rng));
        }
    }
    command
}

/// Makes keys on `redis`, moves them to the engine and back, and compares what is there.
fn assert_keys_move_both_ways(options: &[&str], prepare: &[Args]) {
    let server = RedisServer::start(&[options, &["--enable-debug-command", "yes"]].concat());
    let (mut redis, mut engine) = (SocketTarget::new(server.address()), EngineTarget::default());
    redis.reset().expect("Redis lives");
    engine.reset().expect("the engine opens");
    for command in prepare {
        assert_eq!(call(&mut redis, command), Value::Simple("OK".into()));
    }
    let mut rng = Rng::with_seed(11);
    for number in 0..150 {
        let key = format!("key{number}");
        let most = if number % 75 == 0 { 2_000 } else { 30 };
        let reply = call(&mut redis, &creation(&mut rng, &key, most));
        assert!(!matches!(reply, Value::Error(_)), "{reply:?}");
        let expected = read(&mut redis, &key);

        assert_eq!(restore(&mut engine, &key, &dump(&mut redis, &key)), Value::Simple("OK".into()), "{key}: {expected:?}");
        assert_eq!(read(&mut engine, &key), expected, "{key} in Orbweaver");

        assert_eq!(restore(&mut redis, "back", &dump(&mut engine, &key)), Value::Simple("OK".into()), "{key}: {expected:?}");
        assert_eq!(read(&mut redis, "back"), expected, "{key} back in Redis");
    }
}

#[test]
fn keys_of_the_usual_encodings_move_both_ways() {
    assert_keys_move_both_ways(&[], &[]);
}

#[test]
fn keys_of_packed_encodings_move_both_ways() {
    assert_keys_move_both_ways(PACKED, &[]);
}

#[test]
fn keys_of_large_encodings_move_both_ways() {
    assert_keys_move_both_ways(UNPACKED, &[]);
}

#[test]
fn lists_of_plain_nodes_move_both_ways() {
    assert_keys_move_both_ways(&[], &[args(["DEBUG", "QUICKLIST-PACKED-THRESHOLD", "100B"])]);
}

#[test]
fn a_hyperloglog_of_redis_counts_the_same() {
    let server = RedisServer::start(&[]);
    let (mut redis, mut engine) = (SocketTarget::new(server.address()), EngineTarget::default());
    redis.reset().expect("Redis lives");
    engine.reset().expect("the engine opens");
    let elements = (0..5_000).map(|number: u32| number.to_string().into_bytes());
    call(&mut redis, &command(&[b"PFADD", b"visitors"]).into_iter().chain(elements).collect());
    restore(&mut engine, "visitors", &dump(&mut redis, "visitors"));
    let count = args(["PFCOUNT", "visitors"]);
    assert_eq!(call(&mut engine, &count), call(&mut redis, &count));
}

/// A value with a footer that says RDB version 9.
fn seal(mut value: Vec<u8>) -> Vec<u8> {
    value.extend_from_slice(&[9, 0]);
    let checksum = Crc::<u64>::new(&CRC_64_REDIS).checksum(&value);
    value.extend_from_slice(&checksum.to_le_bytes());
    value
}

/// Replaces, removes or adds a few bytes of a payload, and seals it again.
fn damage(rng: &mut Rng, payload: &[u8]) -> Vec<u8> {
    let mut value = payload[..payload.len() - 10].to_vec();
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..value.len());
        match rng.u8(..6) {
            0 => drop(value.drain(at..(at + rng.usize(1..4)).min(value.len()))),
            1 => value.insert(at, rng.u8(..)),
            2 => value[at] = value[rng.usize(..value.len())],
            _ => value[at] = value[at].wrapping_add(rng.u8(1..)),
        }
        if value.is_empty() {
            value.push(rng.u8(..));
        }
    }
    seal(value)
}

/// Redis is more lenient (it passes over bytes behind the value, and reads on into the footer), never less.
#[test]
fn what_is_restored_from_a_damaged_payload_is_what_redis_restores() {
    let (mut accepted, mut refused) = (0, 0);
    for options in [&[][..], PACKED, UNPACKED] {
        let server = RedisServer::start(&[options, &["--sanitize-dump-payload", "yes"]].concat());
        let (mut redis, mut engine) = (SocketTarget::new(server.address()), EngineTarget::default());
        redis.reset().expect("Redis lives");
        engine.reset().expect("the engine opens");
        let mut rng = Rng::with_seed(12);
        for _ in 0..100 {
            call(&mut redis, &creation(&mut rng, "whole", 6));
            let whole = dump(&mut redis, "whole");
            call(&mut redis, &args(["DEL", "whole"]));
            for _ in 0..10 {
                let payload = damage(&mut rng, &whole);
                let reply = restore(&mut engine, "k", &payload);
                if let Value::Error(text) = &reply {
                    assert_eq!(text, "ERR Bad data format", "{payload:?}");
                    refused += 1;
                    continue;
                }
                accepted += 1;
                assert_eq!(restore(&mut redis, "k", &payload), reply, "{payload:?}");
                assert_eq!(read(&mut engine, "k"), read(&mut redis, "k"), "{payload:?}");
            }
        }
    }
    assert!(accepted > 300 && refused > 300, "{accepted} accepted, {refused} refused: one of both is hardly tried");
}

/// A length as ziplists have it: in one byte, or in four behind a mark.
fn short_or_long(length: usize) -> Vec<u8> {
    match u8::try_from(length) {
        Ok(short @ ..254) => vec![short],
        _ => [&[254], u32_le(length).as_slice()].concat(),
    }
}

fn u32_le(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("a small collection").to_le_bytes()
}

/// An entry of a ziplist without the length of the one before: the smallest that takes the element.
fn entry(element: &[u8]) -> Vec<u8> {
    let number = std::str::from_utf8(element).ok().and_then(|text| text.parse::<i64>().ok());
    if let Some(number) = number.filter(|number| number.to_string().as_bytes() == element) {
        let bytes = number.to_le_bytes();
        return match number {
            0..=12 => vec![0xf1 + bytes[0]],
            -128..=127 => vec![0xfe, bytes[0]],
            -32_768..=32_767 => [&[0xc0], &bytes[..2]].concat(),
            -8_388_608..=8_388_607 => [&[0xf0], &bytes[..3]].concat(),
            -2_147_483_648..=2_147_483_647 => [&[0xd0], &bytes[..4]].concat(),
            _ => [&[0xe0], &bytes[..]].concat(),
        };
    }
    let length = u32::try_from(element.len()).expect("a small element").to_be_bytes();
    match element.len() {
        0..64 => [&length[3..], element].concat(),
        64..16_384 => [&[0x40 | length[2], length[3]], element].concat(),
        _ => [&[0x80], length.as_slice(), element].concat(),
    }
}

/// What Redis wrote until 6.2.
fn ziplist(elements: &[Vec<u8>]) -> Vec<u8> {
    let (mut entries, mut last, mut length) = (Vec::new(), 0, 0);
    for element in elements {
        let entry = [short_or_long(length), entry(element)].concat();
        (last, length) = (entries.len(), entry.len());
        entries.extend(entry);
    }
    let count = u16::try_from(elements.len()).expect("a small collection");
    [&u32_le(entries.len() + 11), &u32_le(last + 10), count.to_le_bytes().as_slice(), &entries, &[0xff]].concat()
}

/// What Redis wrote before 2.6: names and values, one after the other.
fn zipmap(pairs: &[Vec<u8>]) -> Vec<u8> {
    let mut zipmap = vec![u8::try_from(pairs.len() / 2).expect("a small hash")];
    for pair in pairs.chunks(2) {
        zipmap.extend([short_or_long(pair[0].len()), pair[0].clone(), short_or_long(pair[1].len()), vec![0], pair[1].clone()].concat());
    }
    zipmap.push(0xff);
    zipmap
}

/// A string of RDB, with its length in four bytes.
fn string(bytes: &[u8]) -> Vec<u8> {
    [&[0x80], u32::try_from(bytes.len()).expect("a small string").to_be_bytes().as_slice(), bytes].concat()
}

#[test]
fn what_older_versions_wrote_is_read_as_redis_reads_it() {
    let server = RedisServer::start(&["--sanitize-dump-payload", "yes"]);
    let (mut redis, mut engine) = (SocketTarget::new(server.address()), EngineTarget::default());
    redis.reset().expect("Redis lives");
    engine.reset().expect("the engine opens");
    let mut rng = Rng::with_seed(13);
    for round in 0..60 {
        // Names that come once, each with a value and a score.
        let mut names: Vec<Vec<u8>> = (0..rng.usize(1..20)).map(|_| word(&mut rng)).collect();
        names.push(vec![b'x'; [63, 64, 253, 254, 16_383, 16_384][round % 6]]);
        names.sort();
        names.dedup();
        let pairs: Vec<Vec<u8>> = names.iter().flat_map(|name| [name.clone(), word(&mut rng)]).collect();
        let scored: Vec<Vec<u8>> = names.iter().flat_map(|name| [name.clone(), score(&mut rng)]).collect();
        let count = u8::try_from(names.len()).expect("at most 21");
        let texts = scored.chunks(2).map(|pair| {
            let text: Vec<u8> = match pair[1].as_slice() {
                b"inf" => vec![254],
                b"-inf" => vec![255],
                text => [&[u8::try_from(text.len()).expect("a short text")], text].concat(),
            };
            [string(&pair[0]), text].concat()
        });
        let payloads = [
            [vec![10], string(&ziplist(&names))].concat(),
            [vec![14, 2], string(&ziplist(&pairs)), string(&ziplist(&names))].concat(),
            [vec![13], string(&ziplist(&pairs))].concat(),
            [vec![12], string(&ziplist(&scored))].concat(),
            [vec![9], string(&zipmap(&pairs))].concat(),
            [vec![3, count], texts.collect::<Vec<_>>().concat()].concat(),
        ];
        for payload in payloads.map(seal) {
            assert_eq!(restore(&mut engine, "k", &payload), Value::Simple("OK".into()), "{payload:?}");
            assert_eq!(restore(&mut redis, "k", &payload), Value::Simple("OK".into()), "{payload:?}");
            assert_eq!(read(&mut engine, "k"), read(&mut redis, "k"), "{payload:?}");
        }
    }
}

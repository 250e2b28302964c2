//! DUMP and RESTORE, from bytes in to bytes out. The expected replies are those of redis-server; what a real one makes of our payloads,
//! and we of its own, is in the tests crate.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;

const BAD_FORMAT: &str = "-ERR Bad data format";
const WRONG_FOOTER: &str = "-ERR DUMP payload version or checksum are wrong";
const SYNTAX: &str = "-ERR syntax error";
/// What Redis 7.0 dumps after `SET greeting hello`.
const HELLO: &str = r#""\x00\x05hello\n\x00cr\xdfve4 \n""#;

/// A key's payload as a word of an inline command.
fn payload(client: &mut Client, key: &str) -> String {
    let reply = client.run_bytes(&format!("DUMP {key}"));
    let start = reply.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    reply[start..reply.len() - 2].iter().map(|byte| format!("\\x{byte:02x}")).collect()
}

fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

/// A key of every type, and how it is read.
const KEYS: [(&str, &str); 5] = [
    ("SET string value", "GET string"),
    ("RPUSH list a b c a", "LRANGE list 0 -1"),
    ("SADD set 1 2 x", "SMEMBERS set"),
    ("ZADD zset 1 a -inf b 2.5 c", "ZRANGE zset 0 -1 WITHSCORES"),
    ("HSET hash f 1 g 2", "HGETALL hash"),
];

#[test]
fn a_key_of_any_type_comes_back() {
    let mut client = Client::new();
    for (create, read) in KEYS {
        client.run(create);
        let before = client.run(read);
        let key = create.split(' ').nth(1).unwrap();
        let payload = payload(&mut client, key);
        client.run(&format!("DEL {key}"));
        assert_eq!(client.run(&format!("RESTORE {key} 0 \"{payload}\"")), "+OK");
        assert_eq!(client.run(read), before);
        assert_eq!(client.run(&format!("TTL {key}")), ":-1");
    }
}

#[test]
fn a_payload_of_redis_is_restored() {
    check(
        &mut Client::new(),
        &[
            ("DUMP missing", "$-1"),
            (&format!("RESTORE k 0 {HELLO}"), "+OK"),
            ("GET k", "$5 hello"),
            (&format!("RESTORE k 0 {HELLO}"), "-BUSYKEY Target key name already exists."),
            ("SADD set x", ":1"),
            (&format!("RESTORE set 0 {HELLO} REPLACE"), "+OK"),
            ("GET set", "$5 hello"),
        ],
    );
}

#[test]
fn expiries_are_relative_or_absolute() {
    // The clock of the client is at 1,700,000,000,000.
    check(
        &mut Client::new(),
        &[
            (&format!("RESTORE a 5000 {HELLO}"), "+OK"),
            ("PEXPIRETIME a", ":1700000005000"),
            (&format!("RESTORE b 1700000000001 {HELLO} ABSTTL"), "+OK"),
            ("PTTL b", ":1"),
            (&format!("RESTORE c 1700000000000 {HELLO} ABSTTL"), "+OK"),
            ("EXISTS c", ":0"),
            (&format!("RESTORE a 1 {HELLO} ABSTTL"), "-BUSYKEY Target key name already exists."),
            (&format!("RESTORE a 1 {HELLO} ABSTTL REPLACE"), "+OK"),
            ("EXISTS a", ":0"),
            (&format!("RESTORE b 0 {HELLO} REPLACE ABSTTL"), "+OK"),
            ("TTL b", ":-1"),
            (&format!("RESTORE d 9223372036854775807 {HELLO}"), "+OK"),
            ("EXISTS d", ":0"),
            (&format!("RESTORE d 9223372036854775807 {HELLO} ABSTTL"), "+OK"),
            ("PEXPIRETIME d", ":9223372036854775807"),
            ("DEL d", ":1"),
            (&format!("RESTORE d -1 {HELLO}"), "-ERR Invalid TTL value, must be >= 0"),
            (&format!("RESTORE d x {HELLO}"), "-ERR value is not an integer or out of range"),
            ("EXISTS d", ":0"),
        ],
    );
}

#[test]
fn fields_keep_their_expiries_and_those_that_are_past_are_left_out() {
    let mut client = Client::new();
    client.run("HSET h a 1 b 2 c 3");
    client.run("HPEXPIRE h 100 FIELDS 1 a");
    client.run("HPEXPIRE h 200 FIELDS 1 b");
    let whole = payload(&mut client, "h");
    client.wait_ms(101);
    let without_a = payload(&mut client, "h");
    check(
        &mut client,
        &[
            (&format!("RESTORE copy 0 \"{without_a}\""), "+OK"),
            (&format!("RESTORE later 0 \"{whole}\""), "+OK"),
            ("HGETALL copy", "*4 $1 b $1 2 $1 c $1 3"),
            ("HGETALL later", "*4 $1 b $1 2 $1 c $1 3"),
            ("HPTTL copy FIELDS 2 b c", "*2 :99 :-1"),
            ("HLEN later", ":2"),
            ("HDEL h c", ":1"),
        ],
    );
    let mortal = payload(&mut client, "h");
    client.wait_ms(100);
    check(&mut client, &[(&format!("RESTORE gone 0 \"{mortal}\""), "+OK"), ("EXISTS gone", ":0")]);
}

#[test]
fn an_expired_key_is_not_busy() {
    let mut client = Client::new();
    client.run("SET k v PX 10");
    client.wait_ms(11);
    assert_eq!(client.run(&format!("RESTORE k 0 {HELLO}")), "+OK");
    assert_eq!(client.run("PTTL k"), ":-1");
}

#[test]
fn options_are_checked_first() {
    check(
        &mut Client::new(),
        &[
            (&format!("RESTORE a 0 {HELLO} IDLETIME 10 REPLACE ABSTTL"), "+OK"),
            ("OBJECT IDLETIME a", ":0"),
            (&format!("RESTORE b 0 {HELLO} FREQ 255"), "+OK"),
            ("RESTORE c x junk FREQ 256", "-ERR Invalid FREQ value, must be >= 0 and <= 255"),
            ("RESTORE c x junk FREQ -1", "-ERR Invalid FREQ value, must be >= 0 and <= 255"),
            ("RESTORE c x junk IDLETIME -1", "-ERR Invalid IDLETIME value, must be >= 0"),
            ("RESTORE c x junk IDLETIME x", "-ERR value is not an integer or out of range"),
            ("RESTORE c x junk IDLETIME", SYNTAX),
            ("RESTORE c x junk FREQ 1 IDLETIME 1", SYNTAX),
            ("RESTORE c x junk IDLETIME 1 FREQ 1", SYNTAX),
            ("RESTORE c x junk NX", SYNTAX),
            ("RESTORE a x junk", "-BUSYKEY Target key name already exists."),
            ("RESTORE c x junk", "-ERR value is not an integer or out of range"),
            ("RESTORE c 0 junk", WRONG_FOOTER),
            ("RESTORE c 0", "-ERR wrong number of arguments for 'restore' command"),
        ],
    );
}

#[test]
fn a_bad_payload_changes_nothing() {
    let mut client = Client::new();
    client.run("SET k old");
    // The right footer of nothing at all.
    let nothing = r#""\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00""#;
    check(
        &mut client,
        &[
            (&format!("RESTORE k 0 {nothing} REPLACE"), BAD_FORMAT),
            (&format!("RESTORE k 0 {} REPLACE", HELLO.replace("hello", "jello")), WRONG_FOOTER),
            ("GET k", "$3 old"),
        ],
    );
}

#[test]
fn a_payload_above_the_longest_string_is_not_made() {
    let mut client = Client::new();
    client.run("CONFIG SET proto-max-bulk-len 1048576");
    let element = "x".repeat(10_000);
    for _ in 0..105 {
        client.run(&format!("RPUSH list {element}"));
    }
    assert_eq!(client.run("DUMP list"), "-ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    client.run("LPOP list");
    assert!(client.run_bytes("DUMP list").starts_with(b"$10"));
}

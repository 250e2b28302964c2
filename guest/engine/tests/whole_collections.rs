//! Commands that answer with whole collections: strings of any length, records of any form beside each other, changes that are not
//! committed yet. What they have in common is the loop that frames records where they lie in a page.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;
use orbweaver_engine::layout::lock_key;
use orbweaver_engine::resp::encode_request;
use orbweaver_engine::store::{Batch, Keyspace, MemoryStore, Order, Scope, Store};

/// Lengths on either side of each at which strings are framed in another way.
const LENGTHS: [usize; 28] =
    [0, 1, 2, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 63, 64, 65, 99, 100, 127, 128, 129, 200, 255, 256, 257, 999, 1000, 40_000];

fn string(head: &str, length: usize) -> String {
    head.bytes().chain((b'a'..=b'z').cycle()).take(length.max(head.len())).map(char::from).collect()
}

/// So many names, in their order.
fn names(count: usize) -> Vec<String> {
    let name = |place: usize| match place {
        0..3 => "!".repeat(place),
        _ => string(&format!("{place:04}"), LENGTHS[place * 5 % LENGTHS.len()].min(1000)),
    };
    (0..count).map(name).collect()
}

/// So many values.
fn values(count: usize, shift: usize) -> Vec<String> {
    (0..count).map(|place| string("", LENGTHS[(place * 5 + shift) % LENGTHS.len()])).collect()
}

fn send<S: AsRef<str>>(client: &mut Client, words: impl IntoIterator<Item = S>) -> Vec<u8> {
    let words: Vec<Vec<u8>> = words.into_iter().map(|word| word.as_ref().as_bytes().to_vec()).collect();
    client.exchange(encode_request(&words).into())
}

/// An array of bulk strings.
fn array<'s>(strings: impl IntoIterator<Item = &'s String>) -> Vec<u8> {
    let (mut bytes, mut count) = (Vec::new(), 0);
    for string in strings {
        bytes.extend_from_slice(format!("${}\r\n{string}\r\n", string.len()).as_bytes());
        count += 1;
    }
    [format!("*{count}\r\n").into_bytes(), bytes].concat()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A hash, a list, a set and a sorted set.
fn client_with_collections(names: &[String], values: &[String]) -> Client {
    let mut client = Client::new();
    for (place, (name, value)) in names.iter().zip(values).enumerate() {
        assert_eq!(send(&mut client, ["HSET", "hash", name, value]), b":1\r\n");
        assert_eq!(text(&send(&mut client, ["RPUSH", "list", value])), format!(":{}\r\n", place + 1));
        assert_eq!(send(&mut client, ["SADD", "set", name]), b":1\r\n");
        let score = if place % 50 == 7 { "-0".to_owned() } else { (place / 60).to_string() };
        assert_eq!(send(&mut client, ["ZADD", "sorted", score.as_str(), name]), b":1\r\n");
    }
    client
}

/// Members in the order of their scores: those of -0 stand with those of 0.
fn sorted(names: &[String]) -> Vec<String> {
    let score = |place: usize| if place % 50 == 7 { 0 } else { place / 60 };
    let mut members: Vec<(usize, String)> = names.iter().enumerate().map(|(place, name)| (score(place), name.clone())).collect();
    members.sort();
    members.into_iter().map(|(_, name)| name).collect()
}

fn check(client: &mut Client, names: &[String], values: &[String]) {
    let pairs: Vec<String> = names.iter().zip(values).flat_map(|(name, value)| [name.clone(), value.clone()]).collect();
    let sorted = sorted(names);
    let last = sorted.len() - 1;
    let expected = [
        ("HGETALL hash", array(&pairs)),
        ("HKEYS hash", array(names)),
        ("HVALS hash", array(values)),
        ("LRANGE list 0 -1", array(values)),
        ("LRANGE list 1 -2", array(values.get(1..last).unwrap_or_default())),
        ("SMEMBERS set", array(names)),
        ("ZRANGE sorted 0 -1", array(&sorted)),
        ("ZRANGE sorted 5 300", array(sorted.iter().skip(5).take(296))),
        ("ZRANGEBYSCORE sorted -inf +inf LIMIT 2 150", array(sorted.iter().skip(2).take(150))),
        ("ZREVRANGE sorted 0 -1", array(sorted.iter().rev())),
    ];
    for (command, reply) in expected {
        assert!(client.run_bytes(command) == reply, "{command} of {}", names.len());
    }
}

#[test]
fn strings_of_any_length_come_back_as_they_were_put() {
    let last_ones = (1..=LENGTHS.len()).map(|count| (count, count * 3));
    for (count, shift) in last_ones.chain([(128, 3), (129, 4), (257, 5), (1500, 6)]) {
        let (names, values) = (names(count), values(count, shift));
        check(&mut client_with_collections(&names, &values), &names, &values);
    }
}

#[test]
fn changes_of_the_same_transaction_stand_among_the_stored_records() {
    let (names, values) = (names(300), values(300, 9));
    let pick =
        |all: &[String]| -> Vec<String> { all.iter().enumerate().filter(|(place, _)| place % 3 != 1).map(|(_, it)| it.clone()).collect() };
    let (old_names, old_values) = (pick(&names), pick(&values));
    let mut client = client_with_collections(&old_names, &old_values);
    let mut sent = vec![vec!["MULTI".to_owned()]];
    for (name, value) in names.iter().zip(&values).skip(1).step_by(3) {
        for words in
            [["HSET", "hash", name, value].as_slice(), &["SADD", "set", name], &["ZADD", "sorted", "9999", name], &["RPUSH", "list", value]]
        {
            sent.push(words.iter().map(|&word| word.to_owned()).collect());
        }
    }
    let reads = ["HGETALL hash", "HVALS hash", "SMEMBERS set", "ZRANGE sorted 0 -1", "LRANGE list 0 -1", "EXEC"];
    sent.extend(reads.map(|line| line.split(' ').map(str::to_owned).collect()));
    let replies: Vec<u8> = sent.iter().flat_map(|words| send(&mut client, words)).collect();
    let pairs: Vec<String> = names.iter().zip(&values).flat_map(|(name, value)| [name.clone(), value.clone()]).collect();
    let new_names: Vec<String> = names.iter().skip(1).step_by(3).cloned().collect();
    let new_values: Vec<String> = values.iter().skip(1).step_by(3).cloned().collect();
    let members = [sorted(&old_names), new_names].concat();
    let end = [array(&pairs), array(&values), array(&names), array(&members), array(&[old_values, new_values].concat())].concat();
    assert!(replies.ends_with(&end));
}

#[test]
fn fields_that_expire_stand_among_others_until_their_time_is_past() {
    let names = names(200);
    let mut client = client_with_collections(&names, &names);
    for name in names.iter().skip(3).step_by(7) {
        assert_eq!(text(&send(&mut client, ["HPEXPIRE", "hash", "1000", "FIELDS", "1", name])), "*1\r\n:1\r\n");
    }
    assert!(client.run_bytes("HKEYS hash") == array(&names));
    assert!(client.run_bytes("HVALS hash") == array(&names));
    client.wait_ms(1001);
    let left: Vec<String> = names.iter().enumerate().filter(|(place, _)| place % 7 != 3).map(|(_, name)| name.clone()).collect();
    assert!(client.run_bytes("HVALS hash") == array(&left));
    let pairs: Vec<String> = left.iter().flat_map(|name| [name.clone(), name.clone()]).collect();
    assert!(client.run_bytes("HGETALL hash") == array(&pairs));
}

/// A client of a store on which 20 times `make` has been run with a number, and then `damage` been done to the record of a key.
fn client_of_damage(make: &str, keyspace: &str, key: &[u8], damage: impl FnOnce(&mut Batch, Keyspace)) -> Client {
    let store = MemoryStore::new();
    let mut client = Client::on(&store);
    (0..20).for_each(|number| assert!(client.run(&make.replace("NN", &format!("{number:02}"))).starts_with(':')));
    let mut damaged = store.clone();
    let keyspace = damaged.open_keyspace(keyspace, Order::Bytes).unwrap();
    damaged.begin(&Scope::Keys(vec![lock_key(1, b"k")])).unwrap();
    assert!(damaged.get(keyspace, key).unwrap().is_some());
    let mut batch = Batch::new();
    damage(&mut batch, keyspace);
    damaged.commit(&batch, &[0]).unwrap();
    Client::on(&store)
}

/// The first version, and what follows it in a key.
fn key(behind: &[u8]) -> Vec<u8> {
    [&1_u64.to_be_bytes(), behind].concat()
}

#[test]
fn an_element_that_is_not_there_or_not_where_it_should_be_is_an_error_wherever_it_stands() {
    let eleventh = key(&((1_u64 << 63) + 10).to_be_bytes());
    let make = "RPUSH k element:NN";
    let mut missing = client_of_damage(make, "data", &eleventh, |batch, data| batch.delete(data, &eleventh).unwrap());
    let mut strange = client_of_damage(make, "data", &eleventh, |batch, data| {
        batch.delete(data, &eleventh).unwrap();
        batch.put(data, &[&eleventh[..], b"x"].concat(), b"element:10").unwrap();
    });
    for client in [&mut missing, &mut strange] {
        for range in ["0 -1", "10 10", "0 10", "10 -1", "5 12"] {
            let reply = client.run(&format!("LRANGE k {range}"));
            let names_it = reply.contains(r"\x80\x00\x00\x00\x00\x00\x00\n");
            assert!(reply.starts_with("-ERR corrupt record") && names_it, "{range}: {reply}");
        }
        assert_eq!(client.run("LRANGE k 8 9"), "*2 $10 element:08 $10 element:09");
        assert_eq!(client.run("LRANGE k 11 12"), "*2 $10 element:11 $10 element:12");
    }
}

#[test]
fn a_field_or_a_score_that_is_none_is_an_error_in_the_middle_of_a_reply() {
    let field = key(b"field:10");
    for value in [b"".as_slice(), b"\x02value:10", b"\x01short"] {
        let mut client =
            client_of_damage("HSET k field:NN value:NN", "data", &field, |batch, data| batch.put(data, &field, value).unwrap());
        for command in ["HGETALL k", "HVALS k", "HKEYS k"] {
            let reply = client.run(command);
            assert!(reply.starts_with("-ERR") && reply.contains("corrupt"), "{command}: {reply}");
        }
    }
    let score = |number: u64| key(&[&number.to_be_bytes()[..], b"member:10"].concat());
    let ten = score(10_f64.to_bits() | 1 << 63);
    for (scored, value) in [(ten.clone(), b"\x01".as_slice()), (ten.clone(), b"more"), (score(u64::MAX), b""), (score((1 << 63) - 1), b"")]
    {
        let mut client = client_of_damage("ZADD k NN member:NN", "score", &ten, |batch, keyspace| {
            batch.delete(keyspace, &ten).unwrap();
            batch.put(keyspace, &scored, value).unwrap();
        });
        let reply = client.run("ZRANGEBYSCORE k -inf +inf");
        let is_left_out = scored != ten;
        assert!(is_left_out || reply.starts_with("-ERR") && reply.contains("corrupt"), "{value:?}: {reply}");
        let reply = client.run("ZRANGE k 0 -1");
        assert!(reply.starts_with("-ERR") && reply.contains("corrupt"), "{value:?}: {reply}");
    }
}

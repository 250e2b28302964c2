//! Commands that answer with whole collections: strings of any length, records of any form beside each other, changes that are not
//! committed yet. What they have in common is the loop that frames records where they lie in a page.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;
use orbweaver_engine::layout::lock_key;
use orbweaver_engine::resp::encode_request;
use orbweaver_engine::store::{Batch, MemoryStore, Order, Scope, Store};

/// Lengths on either side of each at which strings are framed in another way, the last of a page among them.
const LENGTHS: [usize; 27] =
    [1, 2, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 63, 64, 65, 99, 100, 127, 128, 129, 200, 255, 256, 257, 999, 1000, 70_000];

/// A string of a length, which begins with its place: in that order they are sorted.
fn string(place: usize, length: usize) -> String {
    let name = format!("{place:04}");
    name.bytes().chain((b'a'..=b'z').cycle()).take(length.max(name.len())).map(char::from).collect()
}

fn strings(shift: usize) -> Vec<String> {
    (0..400)
        .map(|place| string(place, LENGTHS[(place * 5 + shift) % LENGTHS.len()] % if place % 40 == 0 { 100_000 } else { 300 }))
        .collect()
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

/// A hash, a list, a set and a sorted set of the first `count` strings.
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
        ("LRANGE list 3 -2", array(&values[3..last])),
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
    for (count, shift) in [(4, 0), (5, 1), (27, 2), (128, 3), (129, 4), (257, 5), (400, 6)] {
        let (names, values) = (strings(0), strings(shift));
        let mut client = client_with_collections(&names[..count], &values[..count]);
        check(&mut client, &names[..count], &values[..count]);
    }
}

#[test]
fn changes_of_the_same_transaction_stand_among_the_stored_records() {
    let (names, values) = (strings(0), strings(9));
    let without: Vec<usize> = (0..300).filter(|place| place % 3 != 1).collect();
    let pick = |all: &[String]| -> Vec<String> { without.iter().map(|&place| all[place].clone()).collect() };
    let mut client = client_with_collections(&pick(&names), &pick(&values));
    let (some, new) = (&names[..300], &values[..300]);
    let mut sent = vec![vec!["MULTI".to_owned()]];
    for (name, value) in some.iter().zip(new).skip(1).step_by(3) {
        sent.push(["HSET", "hash", name, value].map(str::to_owned).into());
        sent.push(["SADD", "set", name].map(str::to_owned).into());
    }
    sent.extend(["HGETALL hash", "HVALS hash", "SMEMBERS set", "EXEC"].map(|line| line.split(' ').map(str::to_owned).collect()));
    let replies: Vec<u8> = sent.iter().flat_map(|words| send(&mut client, words)).collect();
    let pairs: Vec<String> = some.iter().zip(new).flat_map(|(name, value)| [name.clone(), value.clone()]).collect();
    let end = [array(&pairs), array(new), array(some)].concat();
    assert!(replies.ends_with(&end));
}

#[test]
fn fields_that_expire_stand_among_others_until_their_time_is_past() {
    let names = strings(0);
    let mut client = client_with_collections(&names[..200], &names[..200]);
    for name in names[..200].iter().skip(3).step_by(7) {
        assert_eq!(text(&send(&mut client, ["HPEXPIRE", "hash", "1000", "FIELDS", "1", name])), "*1\r\n:1\r\n");
    }
    assert!(client.run_bytes("HKEYS hash") == array(&names[..200]));
    assert!(client.run_bytes("HVALS hash") == array(&names[..200]));
    client.wait_ms(1001);
    let left: Vec<String> = names[..200].iter().enumerate().filter(|(place, _)| place % 7 != 3).map(|(_, name)| name.clone()).collect();
    assert!(client.run_bytes("HVALS hash") == array(&left));
    let pairs: Vec<String> = left.iter().flat_map(|name| [name.clone(), name.clone()]).collect();
    assert!(client.run_bytes("HGETALL hash") == array(&pairs));
}

/// A client of a store with a list `l` of 20 elements, on which `damage` has been done to the record of the eleventh.
fn client_of_a_damaged_list(damage: impl FnOnce(&mut Batch, orbweaver_engine::store::Keyspace, &[u8])) -> Client {
    let store = MemoryStore::new();
    let mut client = Client::on(&store);
    (0..20).for_each(|number| drop(client.run(&format!("RPUSH l element:{number}"))));
    let mut damaged = store.clone();
    let data = damaged.open_keyspace("data", Order::Bytes).unwrap();
    damaged.begin(&Scope::Keys(vec![lock_key(1, b"l")])).unwrap();
    let key = [1_u64.to_be_bytes(), ((1_u64 << 63) + 10).to_be_bytes()].concat();
    assert!(damaged.get(data, &key).unwrap().is_some());
    let mut batch = Batch::new();
    damage(&mut batch, data, &key);
    damaged.commit(&batch, &[0]).unwrap();
    Client::on(&store)
}

#[test]
fn an_element_that_is_not_there_or_not_where_it_should_be_is_an_error_wherever_it_stands() {
    let mut missing = client_of_a_damaged_list(|batch, data, key| batch.delete(data, key).unwrap());
    let mut strange = client_of_a_damaged_list(|batch, data, key| {
        batch.delete(data, key).unwrap();
        batch.put(data, &[key, b"x"].concat(), b"element:10").unwrap();
    });
    for client in [&mut missing, &mut strange] {
        for range in ["0 -1", "10 10", "0 10", "10 -1", "5 12"] {
            let reply = client.run(&format!("LRANGE l {range}"));
            assert!(reply.starts_with("-ERR") && reply.contains("corrupt"), "{range}: {reply}");
        }
        assert_eq!(client.run("LRANGE l 8 9"), "*2 $9 element:8 $9 element:9");
        assert_eq!(client.run("LRANGE l 11 12"), "*2 $10 element:11 $10 element:12");
    }
}

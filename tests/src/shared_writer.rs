//! Clients that write to servers of one store while things fail, and the proof that nothing is lost and nothing comes twice.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use orbweaver_engine::resp::Value;

use crate::client::{Args, Client, args};

/// What becomes of a write, as its client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is written.
    Acknowledged,
    /// The server says that it may be written or not, or the server has gone without a word.
    Unknown,
    /// The server says that it is not written.
    Refused,
}

/// What a reply to a write says.
///
/// # Panics
/// When it is none that a write may have.
#[must_use]
pub fn told(reply: &std::io::Result<Value>) -> Told {
    match reply {
        Ok(Value::Integer(_)) => Told::Acknowledged,
        Ok(Value::Error(text)) if text.starts_with(b"ERR storage: unknown outcome") => Told::Unknown,
        Ok(Value::Error(text)) if text.starts_with(b"ERR storage: ") => Told::Refused,
        // The component or its server was lost in the middle.
        Ok(Value::Error(text)) if text.starts_with(b"ERR internal: ") => Told::Unknown,
        Err(_) => Told::Unknown,
        Ok(other) => panic!("no reply to a write: {other:?}"),
    }
}

/// Where the servers are; changes when one is started again.
pub type Addresses = Mutex<Vec<SocketAddr>>;

/// Names of the keys: a few that all clients write, and many that few do.
const HOT_KEYS: usize = 3;
const COLD_KEYS: usize = 300;

/// What clients have been told of their writes: key and member (a counter has none).
#[derive(Debug, Default)]
pub struct Ledger {
    acknowledged: Vec<(String, Option<String>)>,
    unknown: Vec<(String, Option<String>)>,
    /// Refused with a reason.
    pub refused: usize,
}

impl Ledger {
    /// How many writes were acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    /// Of how many writes the outcome is unknown.
    #[must_use]
    pub fn unknown(&self) -> usize {
        self.unknown.len()
    }

    fn note(&mut self, told: Told, entry: (String, Option<String>)) {
        match told {
            Told::Acknowledged => self.acknowledged.push(entry),
            Told::Unknown => self.unknown.push(entry),
            Told::Refused => self.refused += 1,
        }
    }

    /// Both together.
    pub fn merge(&mut self, mut other: Self) {
        self.acknowledged.append(&mut other.acknowledged);
        self.unknown.append(&mut other.unknown);
        self.refused += other.refused;
    }

    /// Every acknowledged write is there, once, and nothing else but what may be there.
    ///
    /// # Panics
    /// When something is lost, or there twice, or from nowhere.
    pub fn assert_kept(&self, client: &mut Client) {
        let keys: BTreeSet<&str> = self.acknowledged.iter().chain(&self.unknown).map(|(key, _)| key.as_str()).collect();
        for key in keys {
            let of = |entries: &'_ [(String, Option<String>)]| -> Vec<String> {
                entries.iter().filter(|(other, _)| other == key).map(|(_, member)| member.clone().unwrap_or_default()).collect()
            };
            let (acknowledged, unknown) = (of(&self.acknowledged), of(&self.unknown));
            if key.starts_with("counter") {
                let value = counter(client, key);
                let (least, most) = (acknowledged.len(), acknowledged.len() + unknown.len());
                assert!((least..=most).contains(&value), "{key} is {value}: {least} were acknowledged, {} are unknown", unknown.len());
                continue;
            }
            let found = members(client, key);
            let distinct: BTreeSet<&String> = found.iter().collect();
            assert_eq!(distinct.len(), found.len(), "{key}: something is there twice");
            for member in &acknowledged {
                assert!(distinct.contains(member), "{key}: {member} was acknowledged and is lost");
            }
            let known: BTreeSet<&String> = acknowledged.iter().chain(&unknown).collect();
            assert!(distinct.is_subset(&known), "{key}: there is more than was written");
            assert_eq!(found.len(), length(client, key), "{key}: its length is another one");
        }
    }
}

fn counter(client: &mut Client, key: &str) -> usize {
    match client.call(&args(["GET", key])).expect("the server answers") {
        Value::Bulk(text) => std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).expect("a number"),
        Value::Null => 0,
        other => panic!("not a string: {other:?}"),
    }
}

fn members(client: &mut Client, key: &str) -> Vec<String> {
    let command = if key.starts_with("list") { "LRANGE" } else { "ZRANGE" };
    match client.call(&args([command, key, "0", "-1"])).expect("the server answers") {
        Value::Array(members) => members
            .into_iter()
            .map(|member| match member {
                Value::Bulk(text) => String::from_utf8(text.to_vec()).expect("text"),
                other => panic!("not a member: {other:?}"),
            })
            .collect(),
        other => panic!("not a list: {other:?}"),
    }
}

fn length(client: &mut Client, key: &str) -> usize {
    let command = if key.starts_with("list") { "LLEN" } else { "ZCARD" };
    match client.call(&args([command, key])).expect("the server answers") {
        Value::Integer(length) => usize::try_from(length).expect("a length"),
        other => panic!("not a number: {other:?}"),
    }
}

/// Writes until it is stopped: counters, lists and sorted sets, each on keys that all write and on keys that few do. Where a server
/// has gone it takes another one.
pub fn write_until_stopped(number: usize, addresses: &Addresses, stop: &AtomicBool) -> Ledger {
    let mut rng = fastrand::Rng::with_seed(u64::try_from(number).unwrap_or_default());
    let mut ledger = Ledger::default();
    let mut client: Option<Client> = None;
    let mut sequence = 0;
    while !stop.load(Ordering::Relaxed) {
        let Some(connected) = client.as_mut() else {
            let all = addresses.lock().unwrap_or_else(PoisonError::into_inner).clone();
            client = rng.choice(all).and_then(|address| Client::connect(address).ok());
            if client.is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
            continue;
        };
        sequence += 1;
        let (entry, command) = write(&mut rng, number, sequence);
        let reply = connected.call(&command);
        ledger.note(told(&reply), entry);
        if reply.is_err() {
            client = None;
        }
    }
    ledger
}

fn write(rng: &mut fastrand::Rng, number: usize, sequence: usize) -> ((String, Option<String>), Args) {
    let place = if rng.u8(..4) == 0 { format!("hot:{}", rng.usize(..HOT_KEYS)) } else { format!("cold:{}", rng.usize(..COLD_KEYS)) };
    let member = format!("{number}-{sequence}");
    match rng.u8(..3) {
        0 => {
            let key = format!("counter:{place}");
            let command = args(["INCR", &key]);
            ((key, None), command)
        }
        1 => {
            let key = format!("list:{place}");
            let command = args(["RPUSH", &key, &member]);
            ((key, Some(member)), command)
        }
        _ => {
            let key = format!("zset:{place}");
            let command = args(["ZADD", &key, &rng.u32(..1000).to_string(), &member]);
            ((key, Some(member)), command)
        }
    }
}

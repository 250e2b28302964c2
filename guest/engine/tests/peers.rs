//! Several instances on one store: clients of one see what those of the others do, as if there were one.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use bytes::Bytes;
use common::Clock;
use orbweaver_engine::session::{BLOCKED, Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

const INSTANCES: u32 = 3;

/// A host of several instances. The client with the number n is connected to the instance n modulo their number.
struct Host {
    store: MemoryStore,
    now_ms: Rc<Cell<u64>>,
    engines: Vec<Engine>,
    /// What each instance has not heard yet.
    unheard: Vec<VecDeque<Bytes>>,
    inputs: BTreeMap<u64, Vec<u8>>,
    /// Those whose request waits for something.
    blocked: BTreeSet<u64>,
    outputs: BTreeMap<u64, String>,
    states: BTreeMap<u64, Vec<u8>>,
    closed: Vec<u64>,
}

fn engine(store: &MemoryStore, now_ms: &Rc<Cell<u64>>, instance: u32) -> Engine {
    let settings = Settings { instance, instances: INSTANCES, ..Settings::default() };
    Engine::open(Box::new(store.clone()), Box::new(Clock::at(now_ms)), settings).unwrap()
}

fn place(client: u64) -> usize {
    usize::try_from(client % u64::from(INSTANCES)).unwrap()
}

impl Host {
    fn new() -> Self {
        let (store, now_ms) = (MemoryStore::new(), Rc::new(Cell::new(1_700_000_000_000)));
        let engines = (0..INSTANCES).map(|instance| engine(&store, &now_ms, instance)).collect();
        let unheard = (0..INSTANCES).map(|_| VecDeque::new()).collect();
        let (inputs, outputs, states) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (blocked, closed) = (BTreeSet::new(), Vec::new());
        let mut host = Self { store, now_ms, engines, unheard, inputs, blocked, outputs, states, closed };
        for client in 1..=6 {
            host.engines[place(client)].connect(client, &format!("127.0.0.1:{client}"), None);
        }
        (0..host.engines.len()).for_each(|instance| host.exchange(instance, &[]));
        host.settle();
        host
    }

    /// One call of an instance: it hears what has come, and runs what these clients have sent.
    fn exchange(&mut self, instance: usize, clients: &[u64]) {
        let engine = &mut self.engines[instance];
        self.unheard[instance].drain(..).for_each(|messages| engine.hear(messages));
        let delivery = |&connection: &u64| Delivery { connection, input: self.inputs[&connection].clone().into() };
        let outcome = engine.exchange(&clients.iter().map(delivery).collect::<Vec<_>>());
        if !outcome.for_peers.is_empty() {
            let others = (0..self.unheard.len()).filter(|other| *other != instance);
            others.for_each(|other| self.unheard[other].push_back(outcome.for_peers.clone().into()));
        }
        for answer in outcome.answers {
            if answer.needed == BLOCKED {
                self.blocked.insert(answer.connection);
            } else if answer.consumed > 0 {
                self.blocked.remove(&answer.connection);
            }
            self.inputs.entry(answer.connection).or_default().drain(..answer.consumed);
            self.outputs.entry(answer.connection).or_default().push_str(&String::from_utf8(answer.output).unwrap());
            self.states.extend(answer.state.map(|state| (answer.connection, state)));
            if answer.close {
                self.closed.push(answer.connection);
                self.inputs.remove(&answer.connection);
                self.engines[instance].disconnect(answer.connection);
            }
        }
    }

    /// Lets all hear what there is to hear and run what clients have sent, until nobody has anything to say.
    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 1000, "instances go on talking for ever");
            let due = self.inputs.iter().find(|(client, input)| !input.is_empty() && !self.blocked.contains(client));
            if let Some(client) = due.map(|(client, _)| *client) {
                self.exchange(place(client), &[client]);
            } else if let Some(instance) = self.unheard.iter().position(|unheard| !unheard.is_empty()) {
                self.exchange(instance, &[]);
            } else {
                break;
            }
        }
    }

    /// Sends requests, separated by semicolons, and returns what the client has got when everything has come to rest.
    fn send(&mut self, client: u64, requests: &str) -> String {
        self.write(client, requests);
        self.settle();
        self.received(client)
    }

    /// As [`Host::send`], without waiting for the others.
    fn write(&mut self, client: u64, requests: &str) {
        let lines = requests.split(';').flat_map(|line| [line.as_bytes(), b"\r\n"].concat());
        self.inputs.entry(client).or_default().extend(lines);
        self.exchange(place(client), &[client]);
    }

    /// What a client has got since it was last asked, in one line.
    fn received(&mut self, client: u64) -> String {
        self.outputs.remove(&client).unwrap_or_default().trim_end().replace("\r\n", " ")
    }

    /// Puts a new instance in the place of one, as a host does after a trap.
    fn lose(&mut self, instance: usize) {
        self.engines[instance] = engine(&self.store, &self.now_ms, u32::try_from(instance).unwrap());
        for client in (1..=6).filter(|client| place(*client) == instance) {
            self.engines[instance].connect(client, &format!("127.0.0.1:{client}"), self.states.get(&client).map(Vec::as_slice));
        }
        self.exchange(instance, &[]);
    }
}

#[test]
fn a_message_reaches_subscribers_on_every_instance_and_all_are_counted() {
    let mut host = Host::new();
    assert_eq!(host.send(1, "SUBSCRIBE news"), "*3 $9 subscribe $4 news :1");
    host.send(2, "SUBSCRIBE news");
    host.send(2, "PSUBSCRIBE n*");
    host.send(5, "SSUBSCRIBE news");
    assert_eq!(host.send(3, "PUBLISH news hello;SPUBLISH news shard;PUBLISH other x"), ":3 :1 :0");
    assert_eq!(host.received(1), "*3 $7 message $4 news $5 hello");
    assert_eq!(host.received(2), "*3 $7 message $4 news $5 hello *4 $8 pmessage $2 n* $4 news $5 hello");
    assert_eq!(host.received(5), "*3 $8 smessage $4 news $5 shard");
    assert_eq!(
        host.send(3, "PUBSUB CHANNELS;PUBSUB NUMSUB news none;PUBSUB NUMPAT;PUBSUB SHARDCHANNELS"),
        "*1 $4 news *4 $4 news :2 $4 none :0 :1 *1 $4 news"
    );
    host.send(1, "UNSUBSCRIBE");
    assert_eq!(host.send(3, "PUBLISH news bye;PUBSUB NUMSUB news"), ":2 *2 $4 news :1");
    assert_eq!(host.send(4, "PUBLISH news bye"), ":2");
}

#[test]
fn a_subscription_counts_at_once_for_whoever_has_seen_its_reply() {
    let mut host = Host::new();
    host.write(1, "SUBSCRIBE news");
    assert_eq!(host.received(1), "*3 $9 subscribe $4 news :1");
    // Nothing but the one call: it hears before it runs.
    host.write(3, "PUBLISH news hello");
    assert_eq!(host.received(3), ":1");
    host.exchange(place(1), &[]);
    assert_eq!(host.received(1), "*3 $7 message $4 news $5 hello");
}

#[test]
fn events_reach_other_instances_and_config_set_holds_for_all() {
    let mut host = Host::new();
    assert_eq!(host.send(1, "CONFIG SET notify-keyspace-events KEA proto-max-bulk-len 2mb"), "+OK");
    assert_eq!(
        host.send(2, "CONFIG GET notify-keyspace-events proto-max-bulk-len"),
        "*4 $22 notify-keyspace-events $3 AKE $18 proto-max-bulk-len $7 2097152"
    );
    host.send(2, "PSUBSCRIBE __key*:*");
    host.send(3, "SET k v");
    let events = "*4 $8 pmessage $8 __key*:* $16 __keyspace@0__:k $3 set *4 $8 pmessage $8 __key*:* $18 __keyevent@0__:set $1 k";
    assert_eq!(host.received(2), events);
    assert_eq!(host.send(3, "MULTI;SET k w;PUBLISH none x;EXEC"), "+OK +QUEUED +QUEUED *2 +OK :0");
    assert_eq!(host.received(2), events);
}

#[test]
fn a_push_wakes_who_waits_on_another_instance() {
    let mut host = Host::new();
    assert_eq!(host.send(1, "BLPOP l 0;PING"), "");
    assert_eq!(host.send(2, "BZPOPMIN z 0"), "");
    assert_eq!(host.send(3, "RPUSH l a b;ZADD z 1 m;LLEN l"), ":2 :1 :2");
    assert_eq!(host.received(1), "*2 $1 l $1 a +PONG");
    assert_eq!(host.received(2), "*3 $1 z $1 m $1 1");
    assert_eq!(host.send(3, "LRANGE l 0 -1;EXISTS z"), "*1 $1 b :0");
}

#[test]
fn a_push_that_crosses_with_the_news_of_a_wait_is_not_missed() {
    let mut host = Host::new();
    host.write(1, "BLPOP l 0");
    // The other instance has not heard of the wait when it commits, and only then it does.
    let unheard = std::mem::take(&mut host.unheard[place(2)]);
    host.write(2, "RPUSH l a");
    assert_eq!(host.received(2), ":1");
    host.unheard[place(2)] = unheard;
    host.settle();
    assert_eq!(host.received(1), "*2 $1 l $1 a");
}

#[test]
fn waits_move_elements_from_instance_to_instance() {
    let mut host = Host::new();
    host.send(1, "BLMOVE a b LEFT RIGHT 0");
    host.send(2, "BLMOVE b c LEFT RIGHT 0");
    host.send(3, "BLPOP c 0");
    assert_eq!(host.send(4, "RPUSH a x"), ":1");
    assert_eq!([host.received(1), host.received(2), host.received(3)], ["$1 x", "$1 x", "*2 $1 c $1 x"]);
    assert_eq!(host.send(4, "EXISTS a b c"), ":0");
}

#[test]
fn a_swap_of_dbs_wakes_who_waits_on_another_instance() {
    let mut host = Host::new();
    host.send(1, "BLPOP l 0");
    host.send(2, "SELECT 1;RPUSH l x");
    assert_eq!(host.received(1), "");
    assert_eq!(host.send(2, "SWAPDB 0 1"), "+OK");
    assert_eq!(host.received(1), "*2 $1 l $1 x");
}

#[test]
fn each_element_is_given_to_one_of_those_who_wait() {
    let mut host = Host::new();
    (1..=5).for_each(|client| drop(host.send(client, "BLPOP l 0")));
    assert_eq!(host.send(6, "RPUSH l a b c"), ":3");
    assert_eq!((1..=5).filter(|client| host.outputs.contains_key(client)).count(), 3);
    assert_eq!(host.send(6, "EXISTS l;RPUSH l d e"), ":0 :2");
    let elements: BTreeSet<String> = (1..=5).map(|client| host.received(client)).collect();
    assert_eq!(elements.into_iter().collect::<Vec<_>>(), ["a", "b", "c", "d", "e"].map(|element| format!("*2 $1 l $1 {element}")));
    assert_eq!(host.send(6, "EXISTS l"), ":0");
}

#[test]
fn a_wait_that_timed_out_is_forgotten_everywhere() {
    let mut host = Host::new();
    host.send(1, "BLPOP l 0.05");
    host.now_ms.set(host.now_ms.get() + 100);
    host.exchange(place(1), &[]);
    assert_eq!(host.received(1), "*-1");
    host.settle();
    host.write(2, "RPUSH l a");
    assert!(host.unheard.iter().all(VecDeque::is_empty), "nobody waits");
}

#[test]
fn client_list_and_kill_reach_all_connections() {
    let mut host = Host::new();
    host.send(2, "CLIENT SETNAME two");
    host.send(5, "SUBSCRIBE c");
    let ids = |list: &str| -> Vec<String> { list.split(' ').filter_map(|word| word.strip_prefix("id=")).map(str::to_owned).collect() };
    let list = host.send(1, "CLIENT LIST;PING");
    assert_eq!(ids(&list.replace('\n', " ")), ["1", "2", "3", "4", "5", "6"]);
    assert!(list.contains("name=two") && list.ends_with("+PONG"), "{list}");
    assert_eq!(ids(&host.send(1, "CLIENT LIST ID 5 1 2").replace('\n', " ")), ["5", "1", "2"]);
    assert_eq!(ids(&host.send(1, "CLIENT LIST TYPE pubsub").replace('\n', " ")), ["5"]);
    assert_eq!(
        host.send(1, "CLIENT KILL ID 5;CLIENT KILL 127.0.0.1:2;CLIENT KILL 127.0.0.1:2;CLIENT KILL TYPE none"),
        ":1 +OK -ERR No such client -ERR Unknown client type 'none'"
    );
    assert_eq!(host.closed, [5, 2]);
    assert_eq!(host.send(1, "PUBSUB NUMSUB c;CLIENT KILL SKIPME yes ID 6 ADDR 127.0.0.1:3"), "*2 $1 c :0 :0");
}

#[test]
fn client_unblock_reaches_a_wait_on_another_instance() {
    let mut host = Host::new();
    host.send(1, "BLPOP l 0");
    host.send(2, "BLPOP l 0");
    assert_eq!(
        host.send(3, "CLIENT UNBLOCK 1;CLIENT UNBLOCK 2 ERROR;CLIENT UNBLOCK 4;CLIENT UNBLOCK x"),
        ":1 :1 :0 -ERR value is not an integer or out of range"
    );
    assert_eq!([host.received(1), host.received(2)], ["*-1", "-UNBLOCKED client unblocked via CLIENT UNBLOCK"]);
}

#[test]
fn info_counts_for_all_instances() {
    let mut host = Host::new();
    host.send(1, "BLPOP l 0");
    host.send(2, "PING;NOSUCH");
    let info = host.send(3, "INFO clients stats errorstats");
    for line in
        ["connected_clients:6", "blocked_clients:1", "total_connections_received:6", "total_commands_processed:4", "errorstat_ERR:count=1"]
    {
        assert!(info.contains(line), "{line} is missing in {info}");
    }
    host.engines[place(1)].disconnect(1);
    assert!(host.send(3, "INFO clients").contains("connected_clients:5 cluster_connections:0 blocked_clients:0"));
    assert_eq!(host.send(3, "CONFIG RESETSTAT"), "+OK");
    assert!(host.send(2, "INFO stats").contains("total_commands_processed:1 "));
}

#[test]
fn a_question_is_given_up_after_a_while() {
    let mut host = Host::new();
    host.write(1, "INFO clients;PING");
    host.unheard.iter_mut().for_each(VecDeque::clear);
    assert_eq!(host.received(1), "");
    host.now_ms.set(host.now_ms.get() + 1001);
    host.exchange(place(1), &[]);
    host.exchange(place(1), &[1]);
    let info = host.received(1);
    assert!(info.contains("connected_clients:2") && info.ends_with("+PONG"), "{info}");
}

#[test]
fn a_new_instance_learns_what_it_must_know_and_the_others_forget_the_old_one() {
    let mut host = Host::new();
    host.send(1, "CONFIG SET notify-keyspace-events Kl;SUBSCRIBE a");
    host.send(2, "SUBSCRIBE b");
    host.send(3, "BLPOP l 0");
    host.send(5, "BLPOP m 0");
    host.lose(place(2));
    host.settle();
    assert_eq!(host.send(6, "PUBLISH b x;PUBLISH a x"), ":1 :1");
    assert_eq!(
        host.send(2, "UNSUBSCRIBE;PUBLISH a y;CONFIG GET notify-keyspace-events;RPUSH l v"),
        "*3 $7 message $1 b $1 x *3 $11 unsubscribe $1 b :0 :1 *2 $22 notify-keyspace-events $2 lK :1"
    );
    assert_eq!(host.received(3), "*2 $1 l $1 v");
    // The wait of client 5 was lost with its instance: its host delivers the request again.
    host.blocked.remove(&5);
    host.settle();
    host.send(6, "RPUSH m w");
    assert_eq!(host.received(5), "*2 $1 m $1 w");
}

#[test]
fn one_instance_alone_has_nothing_to_say() {
    let store = MemoryStore::new();
    let mut engine = Engine::open(Box::new(store), Box::new(Clock::new().0), Settings::default()).unwrap();
    engine.connect(1, "127.0.0.1:1", None);
    for input in
        ["SUBSCRIBE a\r\nRESET\r\n", "BLPOP k 0.001\r\n", "CONFIG SET notify-keyspace-events KEA\r\nINFO\r\nCLIENT LIST\r\nSWAPDB 0 1\r\n"]
    {
        let outcome = engine.exchange(&[Delivery { connection: 1, input: Bytes::from_static(input.as_bytes()) }]);
        assert_eq!(outcome.for_peers, b"");
    }
}

#[test]
fn what_no_instance_has_written_is_passed_over() {
    let mut host = Host::new();
    for nonsense in [&b"nonsense"[..], b"", b"\0\0\0\x01\x08\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\xff\xff\xff\xff"] {
        host.engines[0].hear(Bytes::from_static(nonsense));
    }
    assert_eq!(host.send(3, "PING"), "+PONG");
}

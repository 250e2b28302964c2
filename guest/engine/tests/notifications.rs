//! Keyspace notifications: when they are sent, and to whom. Which events each command tells is compared with a real Redis in the tests
//! of the workspace; what that cannot show (drawn elements, expired keys) is here.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use orbweaver_engine::environment::{Environment, HeldEnvironment};
use orbweaver_engine::session::{Delivery, Engine, Outcome};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;
use std::cell::Cell;
use std::rc::Rc;

const LISTENER: u64 = 1;
const CLIENT: u64 = 2;

struct Clock {
    now_ms: Rc<Cell<u64>>,
    random: HeldEnvironment,
}

impl Environment for Clock {
    fn now_us(&self) -> u64 {
        self.now_ms.get() * 1000
    }

    fn random(&mut self) -> u64 {
        self.random.random()
    }
}

/// An engine with a client, and one that listens to all events.
struct Server {
    engine: Engine,
    now_ms: Rc<Cell<u64>>,
}

impl Server {
    fn new(classes: &str) -> Self {
        let now_ms = Rc::new(Cell::new(1000));
        let clock = Clock { now_ms: Rc::clone(&now_ms), random: HeldEnvironment::new(0, 1) };
        let settings = Settings::from_pairs([("notify-keyspace-events", classes)]).unwrap();
        let mut engine = Engine::open(Box::new(MemoryStore::new()), Box::new(clock), settings).unwrap();
        engine.connect(LISTENER, "127.0.0.1:5", None);
        engine.connect(CLIENT, "127.0.0.1:6", None);
        let mut server = Self { engine, now_ms };
        server.exchange(LISTENER, &["PSUBSCRIBE __key*"]);
        server
    }

    fn exchange(&mut self, connection: u64, lines: &[&str]) -> Outcome {
        self.engine.exchange(&[Delivery { connection, input: format!("{}\r\n", lines.join("\r\n")).into() }])
    }

    /// What the listener hears of lines that come in one delivery: `channel message`, by commas.
    fn events(&mut self, lines: &[&str]) -> String {
        let outcome = self.exchange(CLIENT, lines);
        heard(&outcome)
    }
}

fn heard(outcome: &Outcome) -> String {
    let output = outcome.answers.iter().filter(|answer| answer.connection == LISTENER).flat_map(|answer| answer.output.clone());
    let text = String::from_utf8(output.collect()).unwrap();
    let words: Vec<&str> = text.split("\r\n").collect();
    // `*4 $8 pmessage $6 __key* $n channel $n message`
    let messages = words.chunks_exact(9).map(|message| format!("{} {}", message[6], message[8]));
    messages.collect::<Vec<_>>().join(", ")
}

#[test]
fn an_event_is_told_by_key_and_by_event() {
    let mut server = Server::new("KEA");
    assert_eq!(server.events(&["SET k v"]), "__keyspace@0__:k set, __keyevent@0__:set k");
    assert_eq!(server.events(&["SELECT 3", "DEL k", "LPUSH l a"]), "__keyspace@3__:l lpush, __keyevent@3__:lpush l");
}

#[test]
fn only_the_wanted_classes_are_told() {
    let mut server = Server::new("E$x");
    assert_eq!(
        server.events(&["SET k v", "DEL k", "LPUSH l a", "APPEND k w", "GET none"]),
        "__keyevent@0__:set k, __keyevent@0__:append k"
    );
    let mut server = Server::new("gA");
    assert_eq!(server.events(&["SET k v"]), "");
}

#[test]
fn config_set_changes_what_is_told_and_config_get_shows_it_as_redis_does() {
    let mut server = Server::new("");
    assert_eq!(server.events(&["SET k v", "CONFIG SET notify-keyspace-events EA", "SET k v"]), "__keyevent@0__:set k");
    let get = |server: &mut Server| {
        let output = server.exchange(CLIENT, &["CONFIG GET notify-keyspace-events"]).answers[0].output.clone();
        String::from_utf8(output).unwrap().replace("\r\n", " ")
    };
    assert_eq!(get(&mut server), "*2 $22 notify-keyspace-events $2 AE ");
    let refused = server.exchange(CLIENT, &["CONFIG SET notify-keyspace-events Kq"]).answers[0].output.clone();
    let expected = "-ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - \
         Invalid event class character. Use 'Ag$lshzxeKEtmdn'.\r\n";
    assert_eq!(String::from_utf8(refused).unwrap(), expected);
    assert_eq!(get(&mut server), "*2 $22 notify-keyspace-events $2 AE ");
}

#[test]
fn events_and_published_messages_keep_the_order_of_the_commands() {
    let mut server = Server::new("EA");
    server.exchange(LISTENER, &["PSUBSCRIBE *"]);
    let outcome = server.exchange(CLIENT, &["MULTI", "SET a 1", "PUBLISH __key_x hi", "SET b 1", "EXEC"]);
    let text = String::from_utf8(outcome.answers[1].output.clone()).unwrap();
    let order: Vec<&str> = text.split("\r\n").filter(|word| ["a", "hi", "b"].contains(word)).collect();
    // Once for each of the two patterns.
    assert_eq!(order, ["a", "a", "hi", "hi", "b", "b"]);
}

#[test]
fn a_command_that_fails_tells_nothing_but_what_it_has_missed() {
    let mut server = Server::new("EAm");
    assert_eq!(server.events(&["RPUSH l a", "LSET l 5 x"]), "__keyevent@0__:rpush l");
    assert_eq!(server.events(&["SUNIONSTORE t none l"]), "__keyevent@0__:keymiss none");
}

#[test]
fn members_that_are_drawn_take_the_key_with_them() {
    let mut server = Server::new("EAn");
    assert_eq!(server.events(&["SADD s a b c"]), "__keyevent@0__:new s, __keyevent@0__:sadd s");
    assert_eq!(server.events(&["SPOP s"]), "__keyevent@0__:spop s");
    assert_eq!(server.events(&["SPOP s 0"]), "");
    assert_eq!(server.events(&["SPOP s 5"]), "__keyevent@0__:spop s, __keyevent@0__:del s");
    let many: Vec<String> = (0..2000).map(|member| member.to_string()).collect();
    server.events(&[&format!("SADD s {}", many.join(" "))]);
    assert_eq!(server.events(&["SPOP s 2000"]), "__keyevent@0__:spop s, __keyevent@0__:del s");
}

/// Where a command reads only, as here GET, Redis removes the key as well, and tells it then.
#[test]
fn a_key_has_expired_when_it_is_removed() {
    let mut server = Server::new("EAmn");
    server.events(&["SET k v PX 10", "SET other v PX 10"]);
    server.now_ms.set(2000);
    assert_eq!(server.events(&["GET k"]), "__keyevent@0__:keymiss k");
    let expected = "__keyevent@0__:expired k, __keyevent@0__:new k, __keyevent@0__:append k";
    assert_eq!(server.events(&["APPEND k v"]), expected);
    assert_eq!(server.engine.sweep(100).unwrap().expired_keys, 1);
    assert_eq!(heard(&server.engine.exchange(&[])), "__keyevent@0__:expired other");
    assert_eq!(heard(&server.engine.exchange(&[])), "");
}

#[test]
fn events_go_to_those_who_have_subscribed_before() {
    let mut server = Server::new("EA");
    let outcome = server.exchange(CLIENT, &["HELLO 3", "SET a 1", "SUBSCRIBE __keyevent@0__:set", "SET b 1", "UNSUBSCRIBE", "SET c 1"]);
    let text = String::from_utf8(outcome.answers[0].output.clone()).unwrap().replace("\r\n", " ");
    let (_, behind) = text.split_once(" +OK ").unwrap();
    let expected = ">3 $9 subscribe $18 __keyevent@0__:set :1 +OK >3 $7 message $18 __keyevent@0__:set $1 b \
         >3 $11 unsubscribe $18 __keyevent@0__:set :0 +OK ";
    assert_eq!(behind, expected);
}

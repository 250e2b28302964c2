//! The engine from bytes in to bytes out, over the memory store.
#![allow(clippy::unwrap_used)]

use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;

fn run(engine: &mut Engine, connection: u64, input: &'static str) -> String {
    let outcome = engine.exchange(&[Delivery { connection, input: input.into() }]);
    String::from_utf8(outcome.answers.into_iter().flat_map(|answer| answer.output).collect()).unwrap()
}

#[test]
fn a_connection_that_nobody_announced_is_closed_and_what_it_sent_is_dropped() {
    let mut engine = Engine::open(Box::new(MemoryStore::new()), Box::new(HeldEnvironment::new(0, 1)), Settings::default()).unwrap();
    let outcome = engine.exchange(&[Delivery { connection: 7, input: "SET k v\r\n".into() }]);
    let answer = outcome.answers.first().unwrap();
    assert_eq!((answer.consumed, answer.close, answer.output.len()), (9, true, 0));
}

#[test]
fn what_is_set_is_got_back_and_a_new_engine_on_the_store_finds_it() {
    let store = MemoryStore::new();
    let open = || Engine::open(Box::new(store.clone()), Box::new(HeldEnvironment::new(0, 1)), Settings::default()).unwrap();
    let mut engine = open();
    let connection = 1;
    engine.connect(connection, "127.0.0.1:1", None);
    let replies = run(&mut engine, connection, "SET k v\r\nGET k\r\nGET missing\r\nNO such\r\n");
    assert_eq!(replies, "+OK\r\n$1\r\nv\r\n$-1\r\n-ERR unknown command 'NO', with args beginning with: 'such' \r\n");
    let mut again = open();
    again.connect(connection, "127.0.0.1:2", None);
    assert_eq!(run(&mut again, connection, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), "$1\r\nv\r\n");
}

//! Publish and subscribe through the engine, byte for byte. Replies that no comment explains are those of a real Redis.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::session::{Delivery, Engine, Outcome};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;

const FIRST: u64 = 1;
const SECOND: u64 = 2;
const THIRD: u64 = 3;

const HELD_TO_MESSAGES: &str = "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context";

fn engine_with(settings: &[(&str, &str)]) -> Engine {
    let settings = Settings::from_pairs(settings.iter().copied()).unwrap();
    let mut engine = Engine::open(Box::new(MemoryStore::new()), Box::new(HeldEnvironment::new(1000, 1)), settings).unwrap();
    for connection in [FIRST, SECOND, THIRD] {
        engine.connect(connection, "127.0.0.1:5", None);
    }
    engine
}

fn engine() -> Engine {
    engine_with(&[])
}

fn delivery(connection: u64, lines: &[&str]) -> Delivery {
    Delivery { connection, input: format!("{}\r\n", lines.join("\r\n")).into() }
}

/// What a connection gets in an outcome; ends of lines are shown as spaces.
fn output_to(outcome: &Outcome, connection: u64) -> String {
    let output = outcome.answers.iter().filter(|answer| answer.connection == connection).flat_map(|answer| answer.output.clone());
    String::from_utf8(output.collect()).unwrap().trim_end().replace("\r\n", " ")
}

/// What the connection gets for lines that come in one delivery.
fn run(engine: &mut Engine, connection: u64, lines: &[&str]) -> String {
    output_to(&engine.exchange(&[delivery(connection, lines)]), connection)
}

#[test]
fn subscriptions_are_acknowledged_one_by_one_with_their_number() {
    let mut engine = engine();
    let lines = ["SUBSCRIBE a a", "PSUBSCRIBE a* b*", "SSUBSCRIBE s", "UNSUBSCRIBE x", "PUNSUBSCRIBE a*", "SUNSUBSCRIBE"];
    let expected = "*3 $9 subscribe $1 a :1 *3 $9 subscribe $1 a :1 \
         *3 $10 psubscribe $2 a* :2 *3 $10 psubscribe $2 b* :3 \
         *3 $10 ssubscribe $1 s :1 \
         *3 $11 unsubscribe $1 x :3 \
         *3 $12 punsubscribe $2 a* :2 \
         *3 $12 sunsubscribe $1 s :0";
    assert_eq!(run(&mut engine, FIRST, &lines), expected);
    assert_eq!(run(&mut engine, FIRST, &["UNSUBSCRIBE", "PUNSUBSCRIBE"]), "*3 $11 unsubscribe $1 a :1 *3 $12 punsubscribe $2 b* :0");
    assert_eq!(run(&mut engine, SECOND, &["HELLO 3", "SUBSCRIBE a"]).split_once(" >3 ").unwrap().1, "$9 subscribe $1 a :1");
}

#[test]
fn who_has_no_subscription_can_end_all_of_them() {
    let mut engine = engine();
    let expected = "*3 $11 unsubscribe $-1 :0 *3 $12 punsubscribe $-1 :0 *3 $12 sunsubscribe $-1 :0";
    assert_eq!(run(&mut engine, FIRST, &["UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"]), expected);
    run(&mut engine, SECOND, &["HELLO 3"]);
    assert_eq!(run(&mut engine, SECOND, &["UNSUBSCRIBE"]), ">3 $11 unsubscribe _ :0");
}

#[test]
fn a_message_goes_to_channels_and_patterns_in_the_protocol_of_each_client() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["SUBSCRIBE news.a"]);
    run(&mut engine, SECOND, &["HELLO 3", "SUBSCRIBE news.a", "PSUBSCRIBE news.*", "SSUBSCRIBE news.a"]);
    let outcome = engine.exchange(&[delivery(THIRD, &["PUBLISH news.a hi", "PUBLISH news.b x", "SPUBLISH news.a s", "PUBLISH old y"])]);
    assert_eq!(output_to(&outcome, THIRD), ":3 :1 :1 :0");
    assert_eq!(output_to(&outcome, FIRST), "*3 $7 message $6 news.a $2 hi");
    let expected = ">3 $7 message $6 news.a $2 hi >4 $8 pmessage $6 news.* $6 news.a $2 hi \
         >4 $8 pmessage $6 news.* $6 news.b $1 x >3 $8 smessage $6 news.a $1 s";
    assert_eq!(output_to(&outcome, SECOND), expected);
    // Answers to who has not delivered anything come behind, and take nothing.
    assert_eq!(outcome.answers[0].connection, THIRD);
    assert!(outcome.answers[1..].iter().all(|answer| answer.consumed == 0 && !answer.close));
}

/// Redis 7.2 sends messages of a client to itself behind the reply; Redis 7.0 sent them before it, and into replies of EXEC.
#[test]
fn what_a_client_sends_to_itself_comes_behind_the_reply() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["HELLO 3", "SUBSCRIBE x"]);
    let replies = run(&mut engine, FIRST, &["PUBLISH x 1", "PING", "MULTI", "PUBLISH x 2", "PING", "EXEC", "PING"]);
    assert_eq!(replies, ":1 >3 $7 message $1 x $1 1 +PONG +OK +QUEUED +QUEUED *2 :1 +PONG >3 $7 message $1 x $1 2 +PONG");
}

#[test]
fn messages_and_replies_keep_their_order_where_both_come_in_one_call() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["HELLO 3", "SUBSCRIBE x"]);
    let outcome = engine.exchange(&[
        delivery(FIRST, &["PUBLISH x first", "SET k v"]),
        delivery(SECOND, &["SET k w", "PUBLISH x second", "SUBSCRIBE x"]),
        delivery(THIRD, &["PUBLISH x third"]),
    ]);
    let expected = ":1 >3 $7 message $1 x $5 first +OK >3 $7 message $1 x $6 second >3 $7 message $1 x $5 third";
    assert_eq!(output_to(&outcome, FIRST), expected);
    assert_eq!(output_to(&outcome, SECOND), "+OK :1 *3 $9 subscribe $1 x :1 *3 $7 message $1 x $5 third");
}

#[test]
fn a_subscribed_client_may_hardly_say_anything_in_resp2() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["SUBSCRIBE x"]);
    let refused = |name: &str| format!("-ERR Can't execute '{name}': {HELD_TO_MESSAGES}");
    assert_eq!(run(&mut engine, FIRST, &["GET k"]), refused("get"));
    assert_eq!(run(&mut engine, FIRST, &["CONFIG GET port"]), refused("config|get"));
    assert_eq!(run(&mut engine, FIRST, &["HELLO 3"]), refused("hello"));
    assert_eq!(run(&mut engine, FIRST, &["MULTI"]), refused("multi"));
    let aborted = format!("-EXECABORT Transaction discarded because of: Can't execute 'exec': {HELD_TO_MESSAGES}");
    assert_eq!(run(&mut engine, FIRST, &["EXEC"]), aborted);
    assert_eq!(run(&mut engine, FIRST, &["PING", "PING a"]), "*2 $4 pong $0  *2 $4 pong $1 a");
    assert_eq!(run(&mut engine, FIRST, &["PING a b"]), "-ERR wrong number of arguments for 'ping' command");
    assert_eq!(run(&mut engine, FIRST, &["SUBSCRIBE"]), "-ERR wrong number of arguments for 'subscribe' command");
    assert_eq!(run(&mut engine, FIRST, &["UNSUBSCRIBE", "GET k", "PING"]), "*3 $11 unsubscribe $1 x :0 $-1 +PONG");
    assert_eq!(run(&mut engine, SECOND, &["SSUBSCRIBE s", "GET k"]), format!("*3 $10 ssubscribe $1 s :1 {}", refused("get")));
}

#[test]
fn a_subscribed_client_may_say_everything_in_resp3() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["HELLO 3", "SUBSCRIBE x"]);
    assert_eq!(run(&mut engine, FIRST, &["SET k v", "PING", "PING a"]), "+OK +PONG $1 a");
    run(&mut engine, FIRST, &["HELLO 2"]);
    assert_eq!(run(&mut engine, FIRST, &["GET k"]), format!("-ERR Can't execute 'get': {HELD_TO_MESSAGES}"));
}

#[test]
fn reset_and_the_end_of_a_connection_end_its_subscriptions() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["SUBSCRIBE x", "PSUBSCRIBE *", "SSUBSCRIBE s"]);
    run(&mut engine, SECOND, &["SUBSCRIBE x"]);
    assert_eq!(run(&mut engine, THIRD, &["PUBLISH x 1"]), ":3");
    assert_eq!(run(&mut engine, FIRST, &["RESET", "PING"]), "+RESET +PONG");
    engine.disconnect(SECOND);
    assert_eq!(run(&mut engine, THIRD, &["PUBLISH x 1", "PUBSUB CHANNELS", "PUBSUB NUMPAT", "PUBSUB SHARDCHANNELS"]), ":0 *0 :0 *0");
}

#[test]
fn transactions_subscribe_but_not_to_channels_of_shards() {
    let mut engine = engine();
    let lines = ["MULTI", "SUBSCRIBE x y", "PUBLISH x 1", "SSUBSCRIBE s", "UNSUBSCRIBE x", "PING", "EXEC", "GET k"];
    let expected = format!(
        "+OK +QUEUED +QUEUED +QUEUED +QUEUED +QUEUED *5 *3 $9 subscribe $1 x :1 *3 $9 subscribe $1 y :2 :1 \
         -ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client *3 $11 unsubscribe $1 x :1 *2 $4 pong $0  \
         *3 $7 message $1 x $1 1 -ERR Can't execute 'get': {HELD_TO_MESSAGES}"
    );
    assert_eq!(run(&mut engine, FIRST, &lines), expected);
}

#[test]
fn a_transaction_publishes_when_it_has_run_and_not_when_it_is_refused() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["SUBSCRIBE x"]);
    let outcome = engine.exchange(&[delivery(SECOND, &["MULTI", "SET k v", "PUBLISH x 1", "NOSUCH", "EXEC"])]);
    assert_eq!(output_to(&outcome, FIRST), "");
    run(&mut engine, SECOND, &["WATCH k"]);
    run(&mut engine, THIRD, &["SET k other"]);
    let outcome = engine.exchange(&[delivery(SECOND, &["MULTI", "PUBLISH x 1", "EXEC"])]);
    assert_eq!((output_to(&outcome, SECOND), output_to(&outcome, FIRST)), ("+OK +QUEUED *-1".into(), String::new()));
    let outcome = engine.exchange(&[delivery(SECOND, &["MULTI", "SET k v", "PUBLISH x 1", "EXEC"])]);
    assert_eq!(output_to(&outcome, FIRST), "*3 $7 message $1 x $1 1");
}

#[test]
fn messages_reach_clients_that_want_no_replies() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["HELLO 3"]);
    let lines = ["CLIENT REPLY OFF", "SUBSCRIBE x", "PUBLISH x hi", "PING", "CLIENT REPLY ON"];
    assert_eq!(run(&mut engine, FIRST, &lines), ">3 $9 subscribe $1 x :1 >3 $7 message $1 x $2 hi +OK");
}

#[test]
fn pubsub_tells_of_channels_and_their_subscribers() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["SUBSCRIBE a b", "PSUBSCRIBE a* z*", "SSUBSCRIBE s"]);
    run(&mut engine, SECOND, &["SUBSCRIBE a", "PSUBSCRIBE a*"]);
    let cases = [
        ("PUBSUB CHANNELS", "*2 $1 a $1 b"),
        ("PUBSUB CHANNELS [b-z]", "*1 $1 b"),
        ("PUBSUB NUMSUB", "*0"),
        ("PUBSUB NUMSUB a b c", "*6 $1 a :2 $1 b :1 $1 c :0"),
        ("PUBSUB NUMPAT", ":2"),
        ("PUBSUB SHARDCHANNELS", "*1 $1 s"),
        ("PUBSUB SHARDNUMSUB s a", "*4 $1 s :1 $1 a :0"),
        ("PUBSUB CHANNELS a b", "-ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP."),
        ("PUBSUB NUMPAT a", "-ERR wrong number of arguments for 'pubsub|numpat' command"),
        ("PUBSUB FOO", "-ERR unknown subcommand 'FOO'. Try PUBSUB HELP."),
        ("PUBSUB", "-ERR wrong number of arguments for 'pubsub' command"),
    ];
    for (line, reply) in cases {
        assert_eq!(run(&mut engine, THIRD, &[line]), reply, "{line}");
    }
    let stats = run(&mut engine, THIRD, &["INFO stats"]);
    assert!(stats.contains("pubsub_channels:2 pubsub_patterns:2 pubsubshard_channels:1"), "{stats}");
}

#[test]
fn client_list_shows_subscriptions_and_client_kill_finds_them() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["HELLO 3", "SUBSCRIBE x", "PSUBSCRIBE y z", "SSUBSCRIBE q"]);
    let line = run(&mut engine, FIRST, &["CLIENT INFO"]);
    assert!(line.contains(" flags=P db=0 sub=1 psub=2 ssub=1 multi=-1 "), "{line}");
    let listed = |engine: &mut Engine, kind: &str| run(engine, SECOND, &[&format!("CLIENT LIST TYPE {kind}")]).matches("id=").count();
    assert_eq!((listed(&mut engine, "pubsub"), listed(&mut engine, "normal")), (1, 2));
    let outcome = engine.exchange(&[delivery(SECOND, &["CLIENT KILL TYPE pubsub"])]);
    assert_eq!(output_to(&outcome, SECOND), ":1");
    assert!(outcome.answers.iter().any(|answer| answer.connection == FIRST && answer.close));
}

#[test]
fn subscriptions_go_with_the_state_into_another_instance() {
    let mut engine = engine();
    let state = |engine: &mut Engine, lines: &[&str]| engine.exchange(&[delivery(FIRST, lines)]).answers[0].state.clone();
    let subscribed = state(&mut engine, &["HELLO 3", "SUBSCRIBE x", "PSUBSCRIBE n*", "SSUBSCRIBE s"]).unwrap();
    // Only what has changed is told.
    assert_eq!(state(&mut engine, &["PING", "SET k v", "SUBSCRIBE x"]), None);
    let mut next = engine_with(&[]);
    next.connect(FIRST, "127.0.0.1:5", Some(&subscribed));
    let outcome = next.exchange(&[delivery(SECOND, &["PUBLISH x 1", "PUBLISH new 2", "SPUBLISH s 3"])]);
    assert_eq!(output_to(&outcome, SECOND), ":1 :1 :1");
    let expected = ">3 $7 message $1 x $1 1 >4 $8 pmessage $2 n* $3 new $1 2 >3 $8 smessage $1 s $1 3";
    assert_eq!(output_to(&outcome, FIRST), expected);
    assert!(state(&mut next, &["UNSUBSCRIBE"]).is_some_and(|state| state.len() < subscribed.len()));
}

#[test]
fn a_call_ends_behind_messages_that_are_many_bytes_together() {
    let mut engine = engine();
    for connection in [FIRST, SECOND] {
        run(&mut engine, connection, &["SUBSCRIBE x"]);
    }
    let large = format!("*3\r\n$7\r\nPUBLISH\r\n$1\r\nx\r\n$600000\r\n{}\r\n", "m".repeat(600_000));
    let input = large.repeat(3);
    let outcome = engine.exchange_once(&[Delivery { connection: THIRD, input: input.into() }]);
    assert_eq!((output_to(&outcome, THIRD), outcome.answers[0].consumed), (":2".into(), large.len()));
    assert_eq!(outcome.answers[0].needed, 0);
}

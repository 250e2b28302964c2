//! Clients that wait for lists and sorted sets: who is served with what, in which order, and what ends a wait.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Clock;
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::fault::{FaultPlan, FaultStore};
use orbweaver_engine::store::{MemoryStore, Store, StoreError};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A host: it keeps what is not consumed, delivers it when it should, and collects what each client is sent.
struct Host {
    engine: Engine,
    now_ms: Rc<Cell<u64>>,
    inputs: BTreeMap<u64, Vec<u8>>,
    blocked: BTreeMap<u64, bool>,
    outputs: BTreeMap<u64, String>,
    closed: Vec<u64>,
    wake_after_ms: Option<u64>,
}

impl Host {
    /// With clients 1 to 5.
    fn new() -> Self {
        Self::on(Box::new(MemoryStore::new()))
    }

    fn on(store: Box<dyn Store>) -> Self {
        let (clock, now_ms) = Clock::new();
        let mut engine = Engine::open(store, Box::new(clock), Settings::default()).unwrap();
        for id in 1..=5 {
            engine.connect(id, &format!("127.0.0.1:{id}"), None);
        }
        let (inputs, blocked, outputs) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { engine, now_ms, inputs, blocked, outputs, closed: Vec::new(), wake_after_ms: None }
    }

    /// Delivers what several clients send, in one call. Lines are separated by semicolons.
    fn send_together(&mut self, requests: &[(u64, &str)]) {
        for (id, lines) in requests {
            let bytes = lines.split(';').flat_map(|line| [line.as_bytes(), b"\r\n"].concat());
            self.inputs.entry(*id).or_default().extend(bytes);
        }
        let mut due: Vec<u64> = requests.iter().map(|(id, _)| *id).collect();
        loop {
            due.retain(|id| !self.blocked.get(id).copied().unwrap_or_default());
            self.deliver(&due);
            let mut waiting = self.inputs.iter().filter(|(id, input)| !input.is_empty() && self.blocked.get(id) == Some(&false));
            due = waiting.by_ref().map(|(id, _)| *id).collect();
            if due.is_empty() {
                return;
            }
        }
    }

    fn deliver(&mut self, due: &[u64]) {
        let deliveries: Vec<Delivery> = due.iter().map(|id| Delivery { connection: *id, input: self.inputs[id].clone().into() }).collect();
        let outcome = self.engine.exchange_once(&deliveries);
        self.wake_after_ms = outcome.wake_after_ms;
        for answer in outcome.answers {
            let id = answer.connection;
            self.inputs.entry(id).or_default().drain(..answer.consumed);
            self.blocked.insert(id, answer.needed == usize::MAX);
            self.outputs.entry(id).or_default().push_str(&String::from_utf8(answer.output).unwrap());
            if answer.close {
                self.engine.disconnect(id);
                self.inputs.remove(&id);
                self.closed.push(id);
            }
        }
    }

    fn send(&mut self, id: u64, lines: &str) {
        self.send_together(&[(id, lines)]);
    }

    /// What a client has been sent since it was last asked, line ends shown as spaces.
    fn received(&mut self, id: u64) -> String {
        self.outputs.remove(&id).unwrap_or_default().trim_end().replace("\r\n", " ")
    }

    /// The reply to a request of a client that does not wait.
    fn ask(&mut self, id: u64, lines: &str) -> String {
        assert_eq!(self.received(id), "", "{id} has unread replies");
        self.send(id, lines);
        self.received(id)
    }

    /// Moves the clock, and calls the engine if it has asked for that.
    fn wait_ms(&mut self, ms: u64) {
        self.now_ms.set(self.now_ms.get() + ms);
        if self.wake_after_ms.is_some_and(|after| after <= ms) {
            self.send_together(&[]);
        } else {
            self.wake_after_ms = self.wake_after_ms.map(|after| after - ms);
        }
    }

    fn is_blocked(&self, id: u64) -> bool {
        self.blocked[&id]
    }
}

#[test]
fn those_who_wait_are_served_between_equal_requests_of_a_pipeline() {
    let mut host = Host::new();
    host.send(1, "BLPOP list 0");
    host.send(2, "BLPOP list 0");
    // Each of the first two finds the list empty again.
    assert_eq!(host.ask(3, "LPUSH list a;LPUSH list a;LPUSH list a;LPUSH list a"), ":1 :1 :1 :2");
    assert_eq!((host.received(1), host.received(2)), ("*2 $4 list $1 a".into(), "*2 $4 list $1 a".into()));
}

#[test]
fn what_is_there_is_taken_at_once() {
    let mut host = Host::new();
    host.ask(1, "RPUSH a 1 2 3 4 5 6;ZADD z 1 one 2 two 3 three 4 four");
    let _ = host.received(1);
    for (request, reply) in [
        ("BLPOP x a 0", "*2 $1 a $1 1"),
        ("BRPOP x a 0", "*2 $1 a $1 6"),
        ("BLMOVE a b LEFT RIGHT 0", "$1 2"),
        ("BRPOPLPUSH a b 0", "$1 5"),
        ("BLMPOP 0 2 x b LEFT COUNT 9", "*2 $1 b *2 $1 5 $1 2"),
        ("BZPOPMIN x z 0", "*3 $1 z $3 one $1 1"),
        ("BZPOPMAX z 0", "*3 $1 z $4 four $1 4"),
        ("BZMPOP 0 1 z MAX COUNT 2", "*2 $1 z *2 *2 $5 three $1 3 *2 $3 two $1 2"),
        ("LRANGE a 0 -1", "*2 $1 3 $1 4"),
        ("EXISTS z b", ":0"),
    ] {
        assert_eq!(host.ask(1, request), reply, "{request}");
    }
    assert!(host.ask(1, "HELLO 3;DEL z;ZADD z 1.5 m;BZPOPMIN z 0").ends_with(":1 *3 $1 z $1 m ,1.5"));
}

#[test]
fn mistakes_are_told_before_anybody_waits() {
    let mut host = Host::new();
    let (float, negative, range) =
        ("-ERR timeout is not a float or out of range", "-ERR timeout is negative", "-ERR timeout is out of range");
    for (request, reply) in [
        ("BLPOP a x", float),
        ("BLPOP a nan", float),
        ("BLPOP a 1e5000", float),
        ("BRPOP a -1", negative),
        ("BZPOPMIN a -inf", negative),
        ("BZPOPMAX a inf", range),
        ("BLPOP a 9223372036854775", range),
        ("BLMPOP x 0 a LEFT", "-ERR numkeys should be greater than 0"),
        ("BLMPOP x 1 a LEFT", float),
        ("BLMPOP x 1 a UP", "-ERR syntax error"),
        ("BLMPOP 0 1 a LEFT COUNT 0", "-ERR count should be greater than 0"),
        ("BZMPOP x 1 a MIN", float),
        ("BZMPOP -1 1 a MIN", negative),
        ("BLMOVE a b UP RIGHT x", "-ERR syntax error"),
        ("BLMOVE a b LEFT RIGHT x", float),
        ("BRPOPLPUSH a b x", float),
        ("BLPOP a", "-ERR wrong number of arguments for 'blpop' command"),
    ] {
        assert_eq!(host.ask(1, request), reply, "{request}");
    }
    host.ask(1, "SET s 1");
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    for request in ["BLPOP x s 0", "BLMOVE s x LEFT LEFT 0", "BZPOPMIN x s 0", "BLMPOP 0 1 s LEFT", "BZMPOP 0 2 x s MIN"] {
        assert_eq!(host.ask(1, request), wrong, "{request}");
    }
}

#[test]
fn who_came_first_is_served_first() {
    let mut host = Host::new();
    host.send(1, "BLPOP k 0");
    host.send(2, "BRPOP other k 0");
    host.send(3, "BLPOP k 0");
    assert_eq!(host.ask(4, "RPUSH k a b"), ":2");
    assert_eq!((host.received(1), host.received(2), host.received(3)), ("*2 $1 k $1 a".into(), "*2 $1 k $1 b".into(), "".into()));
    assert!(host.is_blocked(3));
    assert_eq!(host.ask(4, "EXISTS k;RPUSH k c;LLEN k"), ":0 :1 :0");
    assert_eq!(host.received(3), "*2 $1 k $1 c");
}

#[test]
fn two_who_wait_share_one_element_not() {
    let mut host = Host::new();
    host.send_together(&[(1, "BLPOP k 0"), (2, "BLPOP k 0")]);
    host.send(3, "LPUSH k only");
    assert_eq!((host.received(1).as_str(), host.received(2).as_str()), ("*2 $1 k $4 only", ""));
}

#[test]
fn keys_are_looked_at_in_the_order_of_the_arguments() {
    let mut host = Host::new();
    host.send(1, "BLPOP first second 0");
    host.send(2, "MULTI;RPUSH second s;RPUSH first f;EXEC");
    assert_eq!(host.received(1), "*2 $5 first $1 f");
    assert_eq!(host.ask(3, "LRANGE second 0 -1"), "*1 $1 s");
}

#[test]
fn a_transaction_is_seen_as_a_whole() {
    let mut host = Host::new();
    host.send(1, "BLPOP k 0");
    assert_eq!(host.ask(2, "MULTI;RPUSH k a;DEL k;EXEC"), "+OK +QUEUED +QUEUED *2 :1 :1");
    assert!(host.is_blocked(1));
    assert_eq!(host.ask(2, "MULTI;RPUSH k a;LPUSH k b;LLEN k;EXEC").rsplit(' ').next(), Some(":2"));
    assert_eq!(host.received(1), "*2 $1 k $1 b");
    host.send(1, "BLPOP k2 0");
    assert_eq!(host.ask(2, "MULTI;RPUSH k2 a;DEL k2;SET k2 s;EXEC;GET k2").rsplit(' ').next(), Some("s"));
    assert!(host.is_blocked(1), "a key of another type is nothing to take");
}

#[test]
fn commands_of_the_same_group_see_that_somebody_was_served() {
    let mut host = Host::new();
    host.send_together(&[(1, "BLPOP k 0"), (2, "RPUSH k a;EXISTS k"), (3, "LLEN k;RPUSH k b c;LRANGE k 0 -1")]);
    assert_eq!(host.received(1), "*2 $1 k $1 a");
    assert_eq!(host.received(2), ":1 :0");
    assert_eq!(host.received(3), ":0 :2 *2 $1 b $1 c");
}

#[test]
fn within_exec_nobody_waits() {
    let mut host = Host::new();
    let nothing =
        host.ask(1, "MULTI;BLPOP k 0;BLMOVE k l LEFT LEFT 0;BRPOPLPUSH k l 0;BLMPOP 0 1 k LEFT;BZPOPMIN z 0;BZMPOP 0 1 z MIN;EXEC");
    assert!(nothing.ends_with("*6 *-1 $-1 $-1 *-1 *-1 *-1"), "{nothing}");
    assert_eq!(host.wake_after_ms, None);
}

#[test]
fn an_element_may_pass_through_a_chain_of_moves() {
    let mut host = Host::new();
    host.send(1, "BLMOVE c d LEFT RIGHT 0");
    host.send(2, "BLMOVE b c LEFT RIGHT 0");
    host.send(3, "BRPOPLPUSH a b 0");
    host.send(4, "BLPOP d 0");
    assert_eq!(host.ask(5, "RPUSH a x;EXISTS a b c d"), ":1 :0");
    for (client, reply) in [(1, "$1 x"), (2, "$1 x"), (3, "$1 x"), (4, "*2 $1 d $1 x")] {
        assert_eq!(host.received(client), reply, "client {client}");
    }
}

#[test]
fn a_move_in_a_circle_ends() {
    let mut host = Host::new();
    host.send(1, "BLMOVE a b LEFT RIGHT 0");
    host.send(2, "BLMOVE b a LEFT RIGHT 0");
    assert_eq!(host.ask(3, "RPUSH a x;LRANGE a 0 -1;EXISTS b"), ":1 *1 $1 x :0");
    assert_eq!((host.received(1).as_str(), host.received(2).as_str()), ("$1 x", "$1 x"));
}

#[test]
fn a_mistake_that_shows_when_a_waiter_is_served_is_its_answer() {
    let mut host = Host::new();
    host.send(1, "BLMOVE from to LEFT RIGHT 0");
    host.send(2, "BLPOP from 0");
    host.send(3, "BLPOP wrong right 0");
    assert_eq!(host.ask(4, "SET to string;RPUSH from x"), "+OK :1");
    assert!(host.received(1).starts_with("-WRONGTYPE "));
    assert_eq!(host.received(2), "*2 $4 from $1 x");
    assert_eq!(host.ask(4, "SET wrong string;RPUSH right x;LLEN right"), "+OK :1 :1");
    assert!(host.received(3).starts_with("-WRONGTYPE "));
}

#[test]
fn sorted_sets_wake_only_those_who_wait_for_one() {
    let mut host = Host::new();
    host.send(1, "BLPOP k 0");
    host.send(2, "BZPOPMAX k 0");
    host.send(3, "HELLO 3;BZMPOP 0 2 x k MIN COUNT 2");
    assert_eq!(host.ask(4, "ZADD k 1 a 2 b 3 c;EXISTS k"), ":3 :0");
    assert_eq!(host.received(2), "*3 $1 k $1 c $1 3");
    assert!(host.received(3).ends_with("*2 $1 k *2 *2 $1 a ,1 *2 $1 b ,2"));
    assert!(host.is_blocked(1));
    assert_eq!(host.ask(4, "RPUSH k x"), ":1");
    assert_eq!(host.received(1), "*2 $1 k $1 x");
}

#[test]
fn every_way_to_make_a_list_wakes() {
    for (made_by, served) in [
        ("LPUSH k x", true),
        ("RPUSHX k x", false),
        ("RPUSH other x;RENAME other k", true),
        ("RPUSH other x;RENAMENX other k", true),
        ("RPUSH other x;COPY other k", true),
        ("RPUSH other x;SET k string;COPY other k REPLACE", true),
        ("RPUSH other x;LMOVE other k LEFT LEFT", true),
        ("RPUSH other x;RPOPLPUSH other k", true),
        ("RPUSH other x;SORT other ALPHA STORE k", true),
        ("RPUSH other x;SET k string;SORT other ALPHA BY nosort STORE k", false),
        ("SELECT 1;RPUSH k x", false),
        ("SELECT 1;RPUSH k x;MOVE k 0", true),
        ("SELECT 1;RPUSH k x;COPY k k DB 0", true),
        ("SELECT 1;RPUSH k x;SWAPDB 0 1", true),
        ("SELECT 1;RPUSH k x;SWAPDB 1 2", false),
        ("SELECT 1;RPUSH k x;SWAPDB 1 2;SWAPDB 0 2", true),
        ("FLUSHALL;FLUSHDB;RPUSH k x", true),
        ("ZADD k 1 x", false),
        ("SET k x", false),
    ] {
        let mut host = Host::new();
        host.send(1, "BLPOP k 0");
        host.send(2, made_by);
        let expected = if served { "*2 $1 k $1 x" } else { "" };
        assert_eq!(host.received(1), expected, "{made_by}");
    }
}

#[test]
fn every_way_to_make_a_sorted_set_wakes() {
    for made_by in [
        "ZADD k 1 x",
        "ZINCRBY k 1 x",
        "ZADD other 1 x;ZUNIONSTORE k 1 other",
        "ZADD other 1 x;ZRANGESTORE k other 0 -1",
        "ZADD other 1 x;ZINTERSTORE k 1 other",
        "ZADD other 1 x;ZDIFFSTORE k 1 other",
        "ZADD other 1 x;RENAME other k",
    ] {
        let mut host = Host::new();
        host.send(1, "BZPOPMIN k 0");
        host.send(2, made_by);
        assert_eq!(host.received(1), "*3 $1 k $1 x $1 1", "{made_by}");
    }
}

#[test]
fn a_command_that_fails_wakes_nobody() {
    let mut host = Host::new();
    host.send(1, "BLPOP k 0");
    assert!(host.ask(2, "SET s 1;MULTI;LMOVE s k LEFT LEFT;RPUSH s x;EXEC").contains("-WRONGTYPE"));
    assert!(host.is_blocked(1));
}

#[test]
fn a_wait_ends_with_its_time() {
    let mut host = Host::new();
    host.send(1, "BLPOP k 0.5");
    assert_eq!(host.wake_after_ms, Some(501));
    host.send(2, "BLMOVE k l LEFT LEFT 0.2");
    host.send(3, "HELLO 3;BZPOPMIN k 0.2001");
    host.send(4, "BRPOP k 0");
    assert_eq!(host.wake_after_ms, Some(201));
    let _ = host.received(3);
    host.wait_ms(200);
    assert_eq!((host.received(2).as_str(), host.received(3).as_str()), ("", ""));
    host.wait_ms(1);
    assert_eq!((host.received(2).as_str(), host.received(3).as_str()), ("*-1", ""));
    host.wait_ms(1);
    assert_eq!(host.received(3), "_");
    host.wait_ms(1000);
    assert_eq!((host.received(1).as_str(), host.received(4).as_str()), ("*-1", ""));
    assert_eq!(host.wake_after_ms, None);
    assert_eq!(host.ask(1, "RPUSH k x"), ":1");
    assert_eq!(host.received(4), "*2 $1 k $1 x");
}

#[test]
fn requests_behind_a_wait_are_run_after_it() {
    let mut host = Host::new();
    host.send(1, "SET before 1;BLPOP k 0;GET before;SELECT 3;BLPOP k 0.1;ECHO last");
    assert_eq!(host.received(1), "+OK");
    host.send(1, "ECHO later");
    assert_eq!(host.received(1), "");
    host.send(2, "SET before 2;RPUSH k x");
    assert_eq!(host.received(1), "*2 $1 k $1 x $1 2 +OK");
    host.wait_ms(101);
    assert_eq!(host.received(1), "*-1 $4 last $5 later");
}

#[test]
fn a_pipeline_of_waits_takes_what_is_there() {
    let mut host = Host::new();
    host.ask(2, "RPUSH k 1 2 3");
    host.send(1, "BLPOP k 0;BLPOP k 0;PING;BLPOP k 0;BLPOP k 0;PING");
    assert_eq!(host.received(1), "*2 $1 k $1 1 *2 $1 k $1 2 +PONG *2 $1 k $1 3");
    assert!(host.is_blocked(1));
}

#[test]
fn a_delivery_of_who_waits_is_kept_as_it_is() {
    let mut host = Host::new();
    host.send(1, "BLPOP k 0;PING");
    host.deliver(&[1]);
    assert!(host.is_blocked(1));
    assert_eq!(host.received(1), "");
    host.deliver(&[1]);
    assert_eq!(host.ask(2, "RPUSH k x"), ":1");
    assert_eq!(host.received(1), "*2 $1 k $1 x +PONG");
}

#[test]
fn client_unblock_ends_a_wait() {
    let mut host = Host::new();
    assert_eq!(host.ask(2, "CLIENT UNBLOCK 1"), ":0");
    for (unblock, reply) in [
        ("CLIENT UNBLOCK 1", "*-1 +PONG"),
        ("CLIENT UNBLOCK 1 TIMEOUT", "*-1 +PONG"),
        ("CLIENT UNBLOCK 1 error", "-UNBLOCKED client unblocked via CLIENT UNBLOCK +PONG"),
    ] {
        host.send(1, "BLPOP k 0;PING");
        assert_eq!(host.ask(2, unblock), ":1", "{unblock}");
        assert_eq!(host.received(1), reply, "{unblock}");
        assert_eq!(host.ask(2, unblock), ":0", "{unblock}");
    }
    assert_eq!(host.ask(2, "CLIENT UNBLOCK 1 now"), "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    assert_eq!(host.ask(2, "CLIENT UNBLOCK 99;CLIENT UNBLOCK -1;RPUSH k x;LLEN k"), ":0 :0 :1 :1");
}

#[test]
fn client_unblock_comes_after_what_was_sent_before_it() {
    let mut host = Host::new();
    host.send_together(&[(1, "BLPOP k 0"), (2, "RPUSH k x;CLIENT UNBLOCK 1"), (3, "BLPOP k 0"), (4, "CLIENT UNBLOCK 3")]);
    assert_eq!((host.received(1).as_str(), host.received(2).as_str()), ("*2 $1 k $1 x", ":1 :0"));
    assert_eq!((host.received(3).as_str(), host.received(4).as_str()), ("*-1", ":1"));
    host.send(1, "BLPOP k 0");
    let replies = host.ask(2, "RPUSH k y;MULTI;CLIENT UNBLOCK 1;EXEC");
    assert!(replies.ends_with("*1 :0"), "{replies}");
}

#[test]
fn who_is_killed_or_gone_is_not_served() {
    let mut host = Host::new();
    host.send(1, "BLPOP k 0");
    host.send(2, "BLPOP k 0.1");
    host.send(3, "BLPOP k 0");
    assert_eq!(host.ask(4, "CLIENT KILL ID 1"), ":1");
    assert_eq!(host.closed, [1]);
    host.engine.disconnect(2);
    assert_eq!(host.ask(4, "RPUSH k x"), ":1");
    assert_eq!((host.received(1).as_str(), host.received(2).as_str()), ("", ""));
    assert_eq!(host.received(3), "*2 $1 k $1 x");
    assert_eq!(host.wake_after_ms, None);
}

#[test]
fn who_waits_is_shown() {
    let mut host = Host::new();
    host.send(1, "BLPOP k 0");
    host.send(2, "BZPOPMIN k 0");
    let info = host.ask(3, "INFO clients");
    assert!(info.contains("blocked_clients:2"), "{info}");
    let list = host.ask(3, "CLIENT LIST ID 1 3");
    assert!(list.contains("flags=b ") && list.contains("cmd=blpop ") && list.contains("flags=N "), "{list}");
    host.send_together(&[(4, "ZADD k 1 m"), (3, "INFO clients")]);
    assert!(host.received(3).contains("blocked_clients:1"));
}

#[test]
fn who_wants_no_replies_gets_none() {
    let mut host = Host::new();
    host.send(1, "CLIENT REPLY OFF;BLPOP k 0;CLIENT REPLY ON");
    host.send(2, "CLIENT REPLY SKIP;BLPOP k 0;PING");
    host.send(3, "RPUSH k a b c;LLEN k");
    assert_eq!((host.received(1), host.received(2), host.received(3)), ("+OK".into(), "+PONG".into(), ":3 :1".into()));
}

#[test]
fn an_expired_key_is_no_list() {
    let mut host = Host::new();
    host.ask(2, "RPUSH k old;PEXPIRE k 10");
    host.wait_ms(11);
    host.send(1, "BLPOP k 0");
    assert!(host.is_blocked(1));
    assert_eq!(host.ask(2, "RPUSH k new"), ":1");
    assert_eq!(host.received(1), "*2 $1 k $3 new");
}

/// What the clients get when a store's call fails in the course of it.
fn replies_on(plan: &FaultPlan, failing_call: u64, error: StoreError) -> (Vec<String>, u64) {
    let mut host = Host::on(Box::new(FaultStore::new(MemoryStore::new(), plan.clone(), error)));
    host.send(1, "BLMOVE a b LEFT LEFT 0");
    plan.fail_at(failing_call);
    host.send_together(&[(2, "BLPOP b 0"), (3, "BLPOP b c 0"), (4, "RPUSH a x;RPUSH c y;EXISTS a b c;LPUSH b z;EXISTS b")]);
    let calls = plan.calls();
    plan.fail_at(0);
    ((1..=4).map(|id| host.received(id)).collect(), calls)
}

#[test]
fn after_a_conflict_everything_is_decided_anew() {
    let plan = FaultPlan::default();
    let (expected, calls) = replies_on(&plan, 0, StoreError::Conflict);
    assert_eq!(expected, ["$1 x", "*2 $1 b $1 x", "*2 $1 c $1 y", ":1 :1 :0 :1 :1"]);
    assert!(calls >= 3, "only {calls} calls");
    for call in 1..=calls {
        assert_eq!(replies_on(&plan, call, StoreError::Conflict).0, expected, "a conflict at call {call}");
    }
}

#[test]
fn who_waits_goes_on_waiting_when_a_push_fails() {
    let plan = FaultPlan::default();
    let mut host = Host::on(Box::new(FaultStore::new(MemoryStore::new(), plan.clone(), StoreError::Io("a test".into()))));
    host.send(1, "BLPOP k 0");
    host.send(2, "PING");
    plan.fail_at(1);
    host.send(2, "RPUSH k lost");
    plan.fail_at(0);
    assert!(host.received(2).contains("-ERR storage: "));
    assert!(host.is_blocked(1));
    host.send(2, "RPUSH k kept");
    assert_eq!(host.received(1), "*2 $1 k $4 kept");
}

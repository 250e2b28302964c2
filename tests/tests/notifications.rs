//! Keyspace notifications: the same events, in the same order, as Debian's redis-server has after every command.

use orbweaver_engine::events::Classes;
use orbweaver_engine::resp::Value;
use orbweaver_engine::settings::Settings;
use orbweaver_tests::client::{Args, Client, args};
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::generator;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::sequence::Step;
use orbweaver_tests::target::{SocketTarget, Target};
use std::collections::{BTreeMap, BTreeSet};

/// Every class, also those that `A` does not stand for.
const EVERYTHING: &str = "KEAmn";
const EVENTS: &str = "__keyevent@*";

const ROUNDS: u64 = 60;
const COMMANDS: usize = 120;

/// Redis, and a client of it that hears all events.
struct Redis {
    target: SocketTarget,
    listener: Client,
    _server: RedisServer,
}

impl Redis {
    fn start() -> Self {
        let server = RedisServer::start(&["--notify-keyspace-events", EVERYTHING, "--enable-debug-command", "yes"]);
        let mut listener = Client::connect(server.address()).expect("Redis takes connections");
        // Its own sweep would come in between at any time.
        listener.call(&args(["DEBUG", "SET-ACTIVE-EXPIRE", "0"])).expect("Redis answers");
        listener.call(&args(["PSUBSCRIBE", EVENTS])).expect("Redis answers");
        Self { target: SocketTarget::new(server.address()), listener, _server: server }
    }

    /// The events since the last call. PING's reply comes behind them.
    fn events(&mut self) -> Vec<String> {
        self.listener.send_raw(b"PING\r\n").expect("Redis listens");
        let mut messages = Vec::new();
        loop {
            let message = self.listener.read_reply().expect("Redis answers");
            if matches!(&message, Value::Array(parts) if parts.first() == Some(&Value::Bulk("pong".into()))) {
                return shown(&messages);
            }
            messages.push(message);
        }
    }
}

/// Events as texts. Those of expired keys are left out: Redis removes such a key also when it is read.
fn shown(messages: &[Value]) -> Vec<String> {
    let text = |message: &Value| match message {
        Value::Array(parts) => match parts.as_slice() {
            [_, _, Value::Bulk(channel), Value::Bulk(key)] => format!("{} {}", channel.escape_ascii(), key.escape_ascii()),
            _ => panic!("no message: {message:?}"),
        },
        _ => panic!("no message: {message:?}"),
    };
    messages.iter().map(text).filter(|event| !event.contains(":expired ")).collect()
}

/// Whether both servers are in the same state afterwards, and keep telling: nothing is drawn, nothing is configured.
fn is_comparable(step: &Step) -> bool {
    let name = step.command[0].to_ascii_uppercase();
    let left_out = ["SPOP", "WATCH", "CONFIG", "CLIENT", "DEBUG", "QUIT", "RESET", "HELLO", "AUTH", "SHUTDOWN"];
    !step.to_the_end && left_out.iter().all(|other| other.as_bytes() != name)
}

#[test]
fn every_command_tells_the_events_of_redis_in_its_order() {
    let mut redis = Redis::start();
    let settings = Settings { notify_keyspace_events: Classes::parse(EVERYTHING).expect("known classes"), ..Settings::default() };
    let mut ours = EngineTarget::new(settings);
    let (mut told, mut names, mut different) = (0, BTreeSet::new(), BTreeMap::new());
    let only = std::env::var("ORBWEAVER_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in only.map_or(0..ROUNDS, |seed: u64| seed..seed + 1) {
        redis.target.reset().expect("Redis lives");
        ours.reset().expect("the engine opens");
        ours.subscribe(EVENTS);
        redis.events();
        let steps: Vec<Step> = generator::sequence(seed, COMMANDS).into_iter().flatten().filter(is_comparable).collect();
        for (position, Step { connection, command, .. }) in steps.iter().enumerate() {
            let commands: [&Args; 1] = [command];
            let theirs_reply = redis.target.execute(*connection, &commands).expect("Redis answers");
            let ours_reply = ours.execute(*connection, &commands).expect("the engine answers");
            let (mut theirs, mut mine) = (redis.events(), shown(&ours.take_messages()));
            if command[0].to_ascii_uppercase().starts_with(b"SORT") {
                // Redis reads the members of a set, and so misses what they lead to, in the order of a hash table.
                theirs.sort_unstable();
                mine.sort_unstable();
            }
            if theirs != mine {
                let name = command[0].to_ascii_uppercase();
                different.entry(name).or_insert_with(|| format!(
                    "seed {seed}, step {position}: {}\n  Redis tells   {theirs:?} ({theirs_reply:?})\n  the engine    {mine:?} ({ours_reply:?})\n",
                    steps[position],
                ));
            }
            told += theirs.len();
            names.extend(theirs.iter().filter_map(|event| Some(event.split_once(':')?.1.split(' ').next()?.to_owned())));
        }
    }
    assert!(different.is_empty(), "{}", different.into_values().collect::<String>());
    assert!(only.is_some() || told > 2000, "{told} events");
    println!("{told} events: {names:?}");
}

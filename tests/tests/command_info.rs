//! What COMMAND INFO tells of every command, subcommands too: as Redis tells it.

use std::collections::BTreeSet;

use orbweaver_engine::resp::{Value, render_human};
use orbweaver_tests::client::{Args, args};
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::target::{SocketTarget, Target};

/// Flags of Redis 7.0 that Redis 7.2 does not have on that command, or the other way round: (command, flag, reason).
const KNOWN_FLAG_DIFFERENCES: &[(&str, &str, &str)] = &[
    ("blmove", "noscript", IN_SCRIPTS),
    ("blpop", "noscript", IN_SCRIPTS),
    ("brpop", "noscript", IN_SCRIPTS),
    ("brpoplpush", "noscript", IN_SCRIPTS),
    ("bzpopmax", "noscript", IN_SCRIPTS),
    ("bzpopmin", "noscript", IN_SCRIPTS),
];
const IN_SCRIPTS: &str = "scripts may call them since Redis 7.2: they do not wait there";

/// Arities of Redis 7.2 that are others than in Redis 7.0: (command, arity). ZRANK and ZREVRANK have the option WITHSCORE; the keys of
/// a command without arguments can be asked for.
const NEW_ARITIES: &[(&str, &str)] = &[
    ("command|getkeys", "(integer) -3"),
    ("command|getkeysandflags", "(integer) -3"),
    ("zrank", "(integer) -3"),
    ("zrevrank", "(integer) -3"),
];

/// Commands that came with Redis 7.2, and the expiries of hash fields, which came with 7.4.
const NEW_COMMANDS: &[&str] = &[
    "client|no-touch",
    "client|setinfo",
    "hexpire",
    "hexpireat",
    "hexpiretime",
    "hpersist",
    "hpexpire",
    "hpexpireat",
    "hpexpiretime",
    "hpttl",
    "httl",
];

/// Commands that Redis has not: Pika's.
const NOT_IN_REDIS: &[&str] =
    &["delvx", "pkhrscanrange", "pkhscanrange", "pkpatternmatchdel", "pkrscanrange", "pkscanrange", "pksetexat", "setvx"];

/// Every command of the engine's table, as its own COMMAND lists them.
fn names(target: &mut dyn Target) -> Vec<String> {
    let reply = target.execute(0, &[&args(["COMMAND", "LIST"])]).expect("the target lives").remove(0);
    match reply {
        Value::Array(names) => names.iter().map(|name| render_human(name).trim().trim_matches('"').to_owned()).collect(),
        other => panic!("not a list: {other:?}"),
    }
}

/// Name, arity, first key, last key, step, categories, key specifications; and the flags.
fn info(target: &mut dyn Target, name: &str) -> Option<(Vec<String>, BTreeSet<String>)> {
    let command: Args = args(["COMMAND", "INFO", name]);
    let reply = target.execute(0, &[&command]).expect("the target lives").remove(0);
    let Value::Array(rows) = reply else { panic!("not a list: {reply:?}") };
    let Value::Array(row) = rows.first()? else { return None };
    let flags = match &row[2] {
        Value::Array(flags) | Value::Set(flags) => flags.iter().map(|flag| render_human(flag).trim().to_owned()).collect(),
        other => panic!("not flags: {other:?}"),
    };
    let plain = [&row[0], &row[1], &row[3], &row[4], &row[5]].map(|item| render_human(item).trim().to_owned());
    Some(([plain.to_vec(), vec![render_human(&row[6])], key_specifications(&row[8])].concat(), flags))
}

/// The key specifications, each as one text. The notes of Redis are in its own words.
fn key_specifications(specifications: &Value) -> Vec<String> {
    let (Value::Array(specifications) | Value::Set(specifications)) = specifications else { panic!("not specifications") };
    let without_notes = |specification: &Value| {
        let Value::Array(items) = specification else { panic!("not a specification: {specification:?}") };
        let pairs = items.chunks(2).filter(|pair| pair[0] != Value::Bulk("notes".into()));
        format!("{:?}", pairs.collect::<Vec<_>>())
    };
    specifications.iter().map(without_notes).collect()
}

#[test]
fn command_info_is_that_of_redis() {
    let redis = RedisServer::start(&[]);
    let mut redis = SocketTarget::new(redis.address());
    let mut engine = EngineTarget::default();
    redis.reset().expect("Redis lives");
    engine.reset().expect("the engine opens");
    let mut names = names(&mut engine);
    names.retain(|name| !NEW_COMMANDS.contains(&name.as_str()));
    assert!(names.len() > 80, "only {} commands: {names:?}", names.len());
    let mut report = String::new();
    for name in names.into_iter().filter(|name| !NOT_IN_REDIS.contains(&name.as_str())) {
        let (Some((mut expected, expected_flags)), Some((got, flags))) = (info(&mut redis, &name), info(&mut engine, &name)) else {
            report.push_str(&format!("{name}: one of both does not know it\n"));
            continue;
        };
        if let Some((_, arity)) = NEW_ARITIES.iter().find(|(command, _)| *command == name) {
            expected[1] = (*arity).to_owned();
        }
        let unexplained: Vec<&String> = flags
            .symmetric_difference(&expected_flags)
            .filter(|flag| !KNOWN_FLAG_DIFFERENCES.iter().any(|(command, known, _)| *command == name && known == flag))
            .collect();
        if got != expected || !unexplained.is_empty() {
            report.push_str(&format!("{name}: expected {expected:?} {expected_flags:?}, got {got:?} {flags:?}\n"));
        }
    }
    assert!(report.is_empty(), "{report}");
}

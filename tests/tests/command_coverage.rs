//! Every command of Redis is in our table, or is named in docs/commands.md with the reason why it is not here.

use std::collections::BTreeSet;

use orbweaver_engine::command::reference::{ABSENT_COMMANDS, ABSENT_GROUPS};
use orbweaver_engine::resp::Value;
use orbweaver_tests::client::args;
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::target::{SocketTarget, Target};

/// Groups whose every command must be here, but for those that only Redis itself uses, and what tells of its waiting and saving.
const DATA_GROUPS: [&str; 11] =
    ["bitmap", "connection", "generic", "geo", "hash", "hyperloglog", "list", "pubsub", "set", "sorted-set", "string"];
/// What is absent from them.
const ABSENT_DATA_COMMANDS: [&str; 5] = ["migrate", "pfdebug", "pfselftest", "wait", "waitaof"];
/// Came with Redis 7.2, the reference at hand may not have it.
const NEW_COMMANDS: [&str; 1] = ["waitaof"];

/// A command's full name and its group.
type Row = (String, String);

/// Every command, subcommands too, as COMMAND DOCS has them.
fn commands(target: &mut dyn Target) -> Vec<Row> {
    target.reset().expect("the target lives");
    let replies = target.execute(0, &[&args(["HELLO", "3"]), &args(["COMMAND", "DOCS"])]).expect("the target lives");
    rows(&replies[1])
}

fn rows(docs: &Value) -> Vec<Row> {
    let pairs = |value: &Value| match value {
        Value::Map(pairs) => pairs.clone(),
        other => panic!("not a map: {other:?}"),
    };
    let mut rows = Vec::new();
    for (name, doc) in pairs(docs) {
        for (key, value) in pairs(&doc) {
            match text(&key).as_str() {
                "group" => rows.push((text(&name), text(&value))),
                "subcommands" => rows.extend(self::rows(&value)),
                _ => {}
            }
        }
    }
    rows
}

fn text(value: &Value) -> String {
    match value {
        Value::Bulk(text) | Value::Simple(text) => String::from_utf8_lossy(text).into_owned(),
        other => panic!("not a text: {other:?}"),
    }
}

#[test]
fn every_command_of_redis_is_here_or_its_absence_has_a_reason() {
    let redis = RedisServer::start(&[]);
    let theirs = commands(&mut SocketTarget::new(redis.address()));
    let ours: BTreeSet<String> = commands(&mut EngineTarget::default()).into_iter().map(|(name, _)| name).collect();
    assert!(theirs.len() > 350 && ours.len() > 200, "{} and {} commands", theirs.len(), ours.len());
    let missing: Vec<&Row> = theirs.iter().filter(|(name, _)| !ours.contains(name)).collect();
    let is_meant = |absent: &str, name: &str| name.strip_prefix(absent).is_some_and(|rest| rest.is_empty() || rest.starts_with('|'));
    let absent: Vec<&str> = ABSENT_COMMANDS.iter().flat_map(|(names, _)| *names).copied().collect();

    let unexplained: Vec<&&Row> = missing
        .iter()
        .filter(|(name, group)| {
            let has_reason = absent.iter().any(|absent| is_meant(absent, name));
            !has_reason && !ABSENT_GROUPS.iter().any(|(absent, _)| absent == group)
        })
        .collect();
    assert!(unexplained.is_empty(), "neither here nor among the absent: {unexplained:?}");

    let data: Vec<&&Row> = missing
        .iter()
        .filter(|(name, group)| DATA_GROUPS.contains(&group.as_str()) && !ABSENT_DATA_COMMANDS.contains(&name.as_str()))
        .collect();
    assert!(data.is_empty(), "data commands of Redis that are not here: {data:?}");

    let unknown: Vec<&&str> =
        absent.iter().filter(|absent| !NEW_COMMANDS.contains(absent) && !missing.iter().any(|(name, _)| is_meant(absent, name))).collect();
    assert!(unknown.is_empty(), "absent, but not commands of Redis: {unknown:?}");
}

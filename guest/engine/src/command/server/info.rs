//! INFO. What the engine knows it says; what only the host knows (memory, processor, sockets) comes from [`Server::facts`].

use crate::command::Context;
use crate::command::connection::REDIS_VERSION;
use crate::error::Result;
use crate::key_count::KeyStatistics;
use crate::layout::{KeyAt, Names};
use crate::resp::reply::Reply;
use crate::session::{Server, Session, Topic, Totals};
use crate::store::Direction;
use bytes::Bytes;

/// Sections with their titles, in Redis' order.
const SECTIONS: [(&str, &str); 13] = [
    ("server", "Server"),
    ("clients", "Clients"),
    ("memory", "Memory"),
    ("persistence", "Persistence"),
    ("stats", "Stats"),
    ("replication", "Replication"),
    ("cpu", "CPU"),
    ("modules", "Modules"),
    ("commandstats", "Commandstats"),
    ("errorstats", "Errorstats"),
    ("latencystats", "Latencystats"),
    ("cluster", "Cluster"),
    ("keyspace", "Keyspace"),
];
/// Not shown without being asked for.
const BEYOND_DEFAULT: [&str; 2] = ["commandstats", "latencystats"];
/// How many keys of a db the section `keyspace` counts: there is no counter, the keys are walked.
const MAX_COUNTED_KEYS: u64 = 100_000;

/// `INFO [section ...]`. The cost is that of a walk over up to 100,000 keys a db where `keyspace` is among the sections.
pub fn info(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let names = context.args.get(1..).unwrap_or_default().to_vec();
    let mut text = String::new();
    for (section, title) in SECTIONS.into_iter().filter(|(section, _)| is_wanted(section, &names)) {
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        text.push_str(&format!("# {title}\r\n"));
        let own = own_lines(context, section)?;
        write_lines(context.server, section, &own, &mut text);
    }
    reply.verbatim("txt", &text);
    Ok(())
}

fn is_wanted(section: &str, names: &[Bytes]) -> bool {
    let in_all = section != "modules";
    let in_default = !BEYOND_DEFAULT.contains(&section);
    let wants = |name: &Bytes| match name.to_ascii_lowercase().as_slice() {
        b"everything" => true,
        b"all" => in_all,
        b"default" => in_default,
        name => name == section.as_bytes(),
    };
    if names.is_empty() { in_default } else { names.iter().any(wants) }
}

/// A fact takes the place of a line of its name; the others follow.
fn write_lines(server: &Server, section: &str, own: &[(String, String)], text: &mut String) {
    let prefix = format!("{section}.");
    for (name, value) in own {
        let value = server.facts.get(&format!("{prefix}{name}")).unwrap_or(value);
        text.push_str(&format!("{name}:{value}\r\n"));
    }
    let facts = server.facts.iter().filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)));
    for (name, value) in facts.filter(|(name, _)| own.iter().all(|(own, _)| own != name)) {
        text.push_str(&format!("{name}:{value}\r\n"));
    }
}

/// What this instance counts, for INFO on another one.
pub fn totals_here(session: &mut Session, _: &[Bytes]) -> Vec<u8> {
    // Who has gone since the last command waits no more.
    session.server.blocked_clients = session.waiters.len();
    session.server.own_totals().encode()
}

/// What the engine has to say in a section.
fn own_lines(context: &mut Context, section: &str) -> Result<Vec<(String, String)>> {
    let now_ms = context.db.clock_ms;
    let server = &*context.server;
    let Totals { connected_clients, blocked_clients, stats } = server.totals();
    let lines: Vec<(&str, String)> = match section {
        "server" => {
            let uptime_seconds = now_ms.saturating_sub(server.started_ms) / 1000;
            vec![
                ("redis_version", REDIS_VERSION.to_owned()),
                ("redis_mode", "standalone".to_owned()),
                ("orbweaver_version", env!("CARGO_PKG_VERSION").to_owned()),
                ("orbweaver_layout", context.db.layout.name().to_owned()),
                ("arch_bits", usize::BITS.to_string()),
                ("server_time_usec", now_ms.saturating_mul(1000).to_string()),
                ("uptime_in_seconds", uptime_seconds.to_string()),
                ("uptime_in_days", (uptime_seconds / 86_400).to_string()),
            ]
        }
        "clients" => vec![
            ("connected_clients", connected_clients.to_string()),
            ("cluster_connections", "0".to_owned()),
            ("blocked_clients", blocked_clients.to_string()),
            ("tracking_clients", "0".to_owned()),
        ],
        "memory" => vec![("maxmemory", "0".to_owned()), ("maxmemory_policy", "noeviction".to_owned())],
        "persistence" => vec![("loading", "0".to_owned()), ("async_loading", "0".to_owned())],
        "stats" => vec![
            ("total_connections_received", stats.connections_received.to_string()),
            ("total_commands_processed", stats.commands_processed.to_string()),
            ("expired_keys", stats.expired_keys.to_string()),
            ("evicted_keys", "0".to_owned()),
            ("pubsub_channels", server.subscribed_names(Topic::Channel).len().to_string()),
            ("pubsub_patterns", server.subscribed_names(Topic::Pattern).len().to_string()),
            ("pubsubshard_channels", server.subscribed_names(Topic::ShardChannel).len().to_string()),
            ("total_error_replies", stats.errors.values().sum::<u64>().to_string()),
        ],
        "replication" => vec![("role", "master".to_owned()), ("connected_slaves", "0".to_owned())],
        "cluster" => vec![("cluster_enabled", "0".to_owned())],
        "errorstats" => {
            let line = |(class, count): (&String, &u64)| (format!("errorstat_{class}"), format!("count={count}"));
            return Ok(stats.errors.iter().map(line).collect());
        }
        "keyspace" => return keyspace_lines(context),
        _ => Vec::new(),
    };
    Ok(lines.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A line for each db that is not empty. `more=1` behind it says that the db holds more keys than were counted.
fn keyspace_lines(context: &mut Context) -> Result<Vec<(String, String)>> {
    let mut lines = Vec::new();
    let (epoch, now_ms) = (context.db.transaction.epoch(), context.db.clock_ms);
    // What this transaction has changed is in none of them, and in no other one before it is committed.
    let is_of_all = context.db.transaction.is_unchanged();
    for (db, space) in context.db.catalog.spaces.clone().into_iter().enumerate() {
        let statistics = match context.server.keys.get(space, epoch, now_ms).filter(|_| is_of_all) {
            Some(recent) => recent,
            None => {
                let found = count_keys(context, space)?;
                if is_of_all {
                    context.server.keys.keep(space, epoch, now_ms, found);
                }
                found
            }
        };
        let KeyStatistics { keys, expiring, ttl_sum_ms, more } = statistics;
        if keys > 0 {
            let average_ttl_ms = ttl_sum_ms.checked_div(expiring).unwrap_or(0);
            let more = if more { ",more=1" } else { "" };
            lines.push((format!("db{db}"), format!("keys={keys},expires={expiring},avg_ttl={average_ttl_ms}{more}")));
        }
    }
    Ok(lines)
}

fn count_keys(context: &mut Context, space: u32) -> Result<KeyStatistics> {
    let db = &mut context.db;
    let mut walk = db.layout.keys(space, None, &Names::ALL).walk(Direction::Forward, 64);
    let mut counts = KeyStatistics::default();
    while let Some(record) = walk.next(db.transaction)? {
        let (key, meta) = db.layout.decode_key(&record)?;
        if db.is_gone(&KeyAt::new(space, key), &meta)? {
            continue;
        }
        if counts.keys == MAX_COUNTED_KEYS {
            counts.more = true;
            break;
        }
        counts.keys += 1;
        if let Some(at) = meta.expire_at_ms {
            counts.expiring += 1;
            counts.ttl_sum_ms = counts.ttl_sum_ms.saturating_add(at.saturating_sub(db.now_ms));
        }
    }
    Ok(counts)
}

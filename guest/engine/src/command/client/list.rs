//! CLIENT LIST and CLIENT INFO.

use crate::codec::{Flaw, Reader};
use crate::command::options::is_word;
use crate::error::{Error, Result, repeated, texts};
use crate::number::parse_i64;
use crate::resp::reply::{Protocol, Reply};
use crate::session::{Connection, Server, Session, Topic, put_bytes};
use bytes::{BufMut, Bytes};
use std::collections::BTreeMap;

/// Which clients are meant. There are no replicas and no masters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientType {
    /// A client without subscriptions.
    Normal,
    /// A client with subscriptions.
    PubSub,
    /// Any other type: none.
    Other,
}

impl ClientType {
    /// The type of that name, in any case.
    ///
    /// # Errors
    /// Redis' error for unknown types.
    pub fn parse(name: &Bytes) -> Result<Self> {
        if is_word(name, "normal") {
            return Ok(Self::Normal);
        }
        if is_word(name, "pubsub") {
            return Ok(Self::PubSub);
        }
        if ["master", "slave", "replica"].iter().any(|other| is_word(name, other)) {
            return Ok(Self::Other);
        }
        Err(Error::Client(format!("ERR Unknown client type '{}'", repeated(name, name.len())).into()))
    }

    /// The type of a client.
    pub fn of(connection: &Connection) -> Self {
        if connection.subscriptions.is_empty() { Self::Normal } else { Self::PubSub }
    }
}

/// The server's end of every connection, as far as the host tells it.
pub fn local_address(server: &Server) -> &str {
    server.facts.get("server.listen_address").map_or("", String::as_str)
}

/// `CLIENT LIST [TYPE type] [ID id ...]`.
pub fn list(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let mut rows = rows(session);
    let others = session.server.peers.answers.iter().filter_map(|answer| decode_rows(answer).ok());
    rows.extend(others.flatten());
    let mut lines = String::new();
    match args.get(2..).unwrap_or_default() {
        [] => lines.extend(rows.into_values().map(|row| row.line)),
        [option, name] if is_word(option, "type") => {
            let wanted = ClientType::parse(name)?;
            lines.extend(rows.into_values().filter(|row| row.client_type == wanted).map(|row| row.line));
        }
        [option, ids @ ..] if is_word(option, "id") && !ids.is_empty() => {
            for id in ids {
                let id = parse_i64(id).ok_or(Error::client("ERR Invalid client ID"))?;
                let row = u64::try_from(id).ok().and_then(|id| rows.get(&id));
                lines.extend(row.map(|row| row.line.as_str()));
            }
        }
        _ => return Err(texts::SYNTAX),
    }
    reply.verbatim("txt", &lines);
    Ok(())
}

/// A connection in CLIENT LIST.
struct Row {
    client_type: ClientType,
    line: String,
}

/// The connections of this instance by their numbers.
fn rows(session: &mut Session) -> BTreeMap<u64, Row> {
    let (now_ms, local_address) = (session.now_ms, local_address(session.server).to_owned());
    let waiters = &*session.waiters;
    let row = |connection: &mut Connection| {
        let line = line(connection, waiters.is_waiting(connection.id), &local_address, now_ms);
        (connection.id, Row { client_type: ClientType::of(connection), line })
    };
    session.connections.iter().map(row).collect()
}

/// The connections of this instance, for CLIENT LIST on another one: `(id u64 | has subscriptions u8 | length u32 | line)*`.
pub fn list_here(session: &mut Session, _: &[Bytes]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (id, Row { client_type, line }) in rows(session) {
        bytes.put_u64(id);
        bytes.put_u8(u8::from(client_type == ClientType::PubSub));
        put_bytes(&mut bytes, line.as_bytes());
    }
    bytes
}

fn decode_rows(bytes: &Bytes) -> std::result::Result<Vec<(u64, Row)>, Flaw> {
    let (mut reader, mut rows) = (Reader::new(bytes), Vec::new());
    while reader.offset() < bytes.len() {
        let id = reader.u64("a number is missing")?;
        let client_type = if reader.u8("a type is missing")? == 1 { ClientType::PubSub } else { ClientType::Normal };
        rows.push((id, Row { client_type, line: reader.text("a line is missing")? }));
    }
    Ok(rows)
}

/// `CLIENT INFO`.
pub fn info(session: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    let (now_ms, local_address) = (session.now_ms, local_address(session.server).to_owned());
    // Who waits asks for nothing.
    reply.verbatim("txt", &line(session.connection()?, false, &local_address, now_ms));
    Ok(())
}

/// One client as the [CLIENT LIST](https://redis.io/docs/latest/commands/client-list/) page has it. Sockets and buffers are the
/// host's: what concerns them is 0, and the socket -1.
fn line(connection: &Connection, is_blocked: bool, local_address: &str, now_ms: u64) -> String {
    let seconds_since = |ms: u64| now_ms.saturating_sub(ms) / 1000;
    let Connection { id, address, name, db, last_command, library_name, library_version, .. } = connection;
    let (age, idle) = (seconds_since(connection.connected_ms), seconds_since(connection.active_ms));
    let flags = [
        (!connection.subscriptions.is_empty(), 'P'),
        (connection.queue.is_some(), 'x'),
        (is_blocked, 'b'),
        (connection.closing, 'c'),
        (connection.no_evict, 'e'),
        (connection.no_touch, 'T'),
    ];
    let mut flags: String = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter).collect();
    if flags.is_empty() {
        flags.push('N');
    }
    let multi = connection.queue.as_ref().map_or_else(|| "-1".to_owned(), |queue| queue.len().to_string());
    let [sub, psub, ssub] = [Topic::Channel, Topic::Pattern, Topic::ShardChannel].map(|topic| connection.subscriptions.count(topic));
    let resp = if connection.protocol == Protocol::Resp3 { 3 } else { 2 };
    format!(
        "id={id} addr={address} laddr={local_address} fd=-1 name={name} age={age} idle={idle} flags={flags} db={db} sub={sub} psub={psub} \
         ssub={ssub} multi={multi} qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd={last_command} \
         user=default redir=-1 resp={resp} lib-name={library_name} lib-ver={library_version}\n"
    )
}

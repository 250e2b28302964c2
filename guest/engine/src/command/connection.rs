//! Connection commands: who a client is, which protocol it speaks, which db it has selected.

use super::client::connection_name;
use super::flags::Flags;
use super::options::{db_number, is_word};
use super::{Command, Group, Run};
use crate::error::{Error, Result, repeated, texts};
use crate::number::parse_i64;
use crate::resp::reply::{Protocol, Reply};
use crate::session::{Server, Session, wrong_arity};
use bytes::Bytes;
use subtle::ConstantTimeEq;

/// The Redis version whose replies the engine gives, as HELLO and INFO tell it.
pub const REDIS_VERSION: &str = "7.2.4";

const ALWAYS: Flags = Flags::LOADING.and(Flags::STALE).and(Flags::FAST);
const BEFORE_AUTH: Flags = ALWAYS.and(Flags::NOSCRIPT).and(Flags::NO_AUTH).and(Flags::ALLOW_BUSY);

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    row("auth", -2, BEFORE_AUTH, "1.0.0", "Authenticates the connection.", auth),
    row("echo", 2, ALWAYS, "1.0.0", "Returns the given string.", echo),
    row("hello", -1, BEFORE_AUTH, "6.0.0", "Agrees on a protocol, and may authenticate and name the connection.", hello),
    row("ping", -1, Flags::FAST, "1.0.0", "Answers PONG, or the given string.", ping),
    row("quit", -1, BEFORE_AUTH, "1.0.0", "Closes the connection.", quit),
    row("reset", 1, BEFORE_AUTH, "6.2.0", "Makes the connection as it was when it was new.", reset),
    row("select", 2, ALWAYS, "1.0.0", "Changes the selected db.", select),
];

type Handler = fn(&mut Session, &[Bytes], &mut Reply) -> Result<()>;

const fn row(name: &'static str, arity: i32, flags: Flags, since: &'static str, summary: &'static str, run: Handler) -> Command {
    Command::without_keys(Group::Connection, name, arity, flags, since, summary, Run::Session(run))
}

const WRONG_PASSWORD: Error = Error::client("WRONGPASS invalid username-password pair or user is disabled.");
const NO_PASSWORD_SET: Error = Error::client(
    "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
);
const HELLO_NEEDS_AUTH: Error = Error::client(
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
);

/// `AUTH [username] password`. There is one user, `default`.
fn auth(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    match args {
        [_, password] => {
            if session.server.settings.password.is_none() {
                return Err(NO_PASSWORD_SET);
            }
            check_password(session.server, b"default", password)?;
        }
        [_, user, password] => check_password(session.server, user, password)?,
        _ => return Err(texts::SYNTAX),
    }
    session.connection()?.authenticated = true;
    reply.ok();
    Ok(())
}

/// A user without a password takes any, as Redis' `nopass` users do. Compared in constant time.
fn check_password(server: &Server, user: &[u8], password: &[u8]) -> Result<()> {
    let is_right = server.settings.password.as_ref().is_none_or(|own| own.as_bytes().ct_eq(password).into());
    if user == b"default" && is_right { Ok(()) } else { Err(WRONG_PASSWORD) }
}

fn echo(_: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.bulk(args.get(1).map(Bytes::as_ref).unwrap_or_default());
    Ok(())
}

fn ping(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let awaits_messages = session.connection()?.awaits_only_messages();
    match args {
        [_, ..] if awaits_messages && args.len() <= 2 => {
            // In the form of a message: clients expect nothing else.
            reply.array(2);
            reply.text("pong");
            reply.bulk(args.get(1).map(Bytes::as_ref).unwrap_or_default());
        }
        [_] => reply.simple("PONG"),
        [_, message] => reply.bulk(message),
        _ => return Err(wrong_arity("ping")),
    }
    Ok(())
}

fn quit(session: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    session.connections.close(session.id);
    reply.ok();
    Ok(())
}

fn reset(session: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    let authenticated = session.server.settings.password.is_none();
    session.unsubscribe_all();
    session.connection()?.reset(authenticated);
    reply.set_protocol(Protocol::Resp2);
    reply.simple("RESET");
    Ok(())
}

fn select(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let number = args.get(1).map(Bytes::as_ref).unwrap_or_default();
    session.connection()?.db = db_number(number, session.server.settings.databases)?;
    reply.ok();
    Ok(())
}

/// What HELLO asks for.
#[derive(Default)]
struct Hello<'a> {
    protocol: Option<Protocol>,
    credentials: Option<(&'a Bytes, &'a Bytes)>,
    name: Option<String>,
}

impl<'a> Hello<'a> {
    fn parse(args: &'a [Bytes]) -> Result<Self> {
        let mut hello = Self::default();
        let Some((version, mut options)) = args.get(1..).and_then(<[Bytes]>::split_first) else { return Ok(hello) };
        hello.protocol = Some(match parse_i64(version) {
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err(Error::client("NOPROTO unsupported protocol version")),
            None => return Err(Error::client("ERR Protocol version is not an integer or out of range")),
        });
        loop {
            options = match options {
                [] => return Ok(hello),
                [option, user, password, rest @ ..] if is_word(option, "auth") => {
                    hello.credentials = Some((user, password));
                    rest
                }
                [option, name, rest @ ..] if is_word(option, "setname") => {
                    hello.name = Some(connection_name(name)?);
                    rest
                }
                [option, ..] => {
                    let option = repeated(option, option.len());
                    return Err(Error::Client(format!("ERR Syntax error in HELLO option '{option}'").into()));
                }
            }
        }
    }
}

/// `HELLO [version [AUTH username password] [SETNAME name]]`.
fn hello(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let hello = Hello::parse(args)?;
    if let Some((user, password)) = hello.credentials {
        check_password(session.server, user, password)?;
        session.connection()?.authenticated = true;
    }
    let connection = session.connection()?;
    if !connection.authenticated {
        return Err(HELLO_NEEDS_AUTH);
    }
    if let Some(name) = hello.name {
        connection.name = name;
    }
    if let Some(protocol) = hello.protocol {
        connection.protocol = protocol;
    }
    reply.set_protocol(connection.protocol);
    reply.map(7);
    reply.text("server");
    reply.text("redis");
    reply.text("version");
    reply.text(REDIS_VERSION);
    reply.text("proto");
    reply.integer(if connection.protocol == Protocol::Resp3 { 3 } else { 2 });
    reply.text("id");
    reply.integer(i64::try_from(connection.id).unwrap_or(i64::MAX));
    reply.text("mode");
    reply.text("standalone");
    reply.text("role");
    reply.text("master");
    reply.text("modules");
    reply.array(0);
    Ok(())
}

//! CLIENT KILL: marks connections, the host closes them.

use super::arg;
use super::list::{ClientType, local_address};
use crate::command::options::{is_word, length};
use crate::command::peers::{count_answer, sum_of_answers};
use crate::error::{Error, Result, repeated, texts};
use crate::number::parse_i64;
use crate::resp::reply::Reply;
use crate::session::{Connection, Session};
use bytes::Bytes;

/// How many arguments CLIENT KILL with an address alone has.
const OLD_FORM: usize = 3;

/// Which connections to close: those that fit every filter.
struct Filter<'a> {
    id: Option<u64>,
    client_type: Option<ClientType>,
    address: Option<&'a Bytes>,
    local_address: Option<&'a Bytes>,
    skip_me: bool,
}

impl<'a> Filter<'a> {
    /// What the arguments of CLIENT KILL say.
    fn of(args: &'a [Bytes]) -> Result<Self> {
        if args.len() == OLD_FORM {
            return Ok(Self { id: None, client_type: None, address: Some(arg(args, 2)), local_address: None, skip_me: false });
        }
        Self::parse(args.get(2..).unwrap_or_default())
    }

    fn parse(options: &'a [Bytes]) -> Result<Self> {
        let mut filter = Self { id: None, client_type: None, address: None, local_address: None, skip_me: true };
        for option in options.chunks(2) {
            let [name, value] = option else { return Err(texts::SYNTAX) };
            if is_word(name, "id") {
                let id = parse_i64(value).and_then(|id| u64::try_from(id).ok()).filter(|&id| id > 0);
                filter.id = Some(id.ok_or(Error::client("ERR client-id should be greater than 0"))?);
            } else if is_word(name, "type") {
                filter.client_type = Some(ClientType::parse(value)?);
            } else if is_word(name, "addr") {
                filter.address = Some(value);
            } else if is_word(name, "laddr") {
                filter.local_address = Some(value);
            } else if is_word(name, "user") {
                if value.as_ref() != b"default" {
                    let user = repeated(value, value.len());
                    return Err(Error::Client(format!("ERR No such user '{user}'").into()));
                }
            } else if is_word(name, "skipme") && (is_word(value, "yes") || is_word(value, "no")) {
                filter.skip_me = is_word(value, "yes");
            } else {
                return Err(texts::SYNTAX);
            }
        }
        Ok(filter)
    }

    fn fits(&self, connection: &Connection, local_address: &str, own_id: u64) -> bool {
        self.id.is_none_or(|id| id == connection.id)
            && self.client_type.is_none_or(|client_type| client_type == ClientType::of(connection))
            && self.address.is_none_or(|address| address == connection.address.as_bytes())
            && self.local_address.is_none_or(|address| address == local_address.as_bytes())
            && !(self.skip_me && connection.id == own_id)
    }
}

/// `CLIENT KILL addr`, or `CLIENT KILL filter value [filter value ...]`.
pub fn kill(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let here = close_fitting(session, &Filter::of(args)?);
    let count = here + sum_of_answers(session.server);
    match (args.len() == OLD_FORM, count) {
        (true, 0) => return Err(Error::client("ERR No such client")),
        (true, _) => reply.ok(),
        (false, count) => reply.integer(length(count)),
    }
    Ok(())
}

/// This instance's part of CLIENT KILL on another one.
pub fn kill_here(session: &mut Session, args: &[Bytes]) -> Vec<u8> {
    count_answer(Filter::of(args).map_or(0, |filter| close_fitting(session, &filter)))
}

/// Marks the connections that fit and returns how many they are.
fn close_fitting(session: &mut Session, filter: &Filter) -> usize {
    let (own_id, local_address) = (session.id, local_address(session.server).to_owned());
    let open = session.connections.iter().filter(|connection| !connection.closing);
    let fitting = open.filter(|connection| filter.fits(connection, &local_address, own_id));
    let killed: Vec<u64> = fitting.map(|connection| connection.id).collect();
    for &connection in &killed {
        session.connections.close(connection);
        session.waiters.forget(connection);
    }
    killed.len()
}

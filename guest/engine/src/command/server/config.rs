//! CONFIG GET, SET, RESETSTAT and REWRITE.

use super::parameters::{OnSet, PARAMETERS, Parameter, parse_bytes, value_of};
use crate::error::{Error, Result, repeated, texts};
use crate::events::Classes;
use crate::glob;
use crate::resp::reply::Reply;
use crate::session::{PeerMessage, Server, Session, Stats};
use bytes::Bytes;

/// Redis' lower bound of `proto-max-bulk-len`, in bytes.
const MIN_STRING_BYTES: usize = 1 << 20;

/// `CONFIG GET pattern ...`: each parameter once. One that is named in full is shown as the client spells it.
pub fn get(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let patterns = args.get(2..).unwrap_or_default();
    let fits = |parameter: &Parameter, pattern: &Bytes| match is_glob(pattern) {
        true => glob::matches(pattern, parameter.name.as_bytes(), true),
        false => pattern.eq_ignore_ascii_case(parameter.name.as_bytes()),
    };
    let first_pattern = |parameter| patterns.iter().find(|pattern| fits(parameter, pattern)).map(|pattern| (parameter, pattern));
    let parameters: Vec<(&Parameter, &Bytes)> = PARAMETERS.iter().filter_map(first_pattern).collect();
    reply.map(parameters.len());
    for (parameter, pattern) in parameters {
        reply.bulk(if is_glob(pattern) { parameter.name.as_bytes() } else { pattern });
        reply.text(&value_of(parameter, session.server));
    }
    Ok(())
}

fn is_glob(pattern: &[u8]) -> bool {
    pattern.iter().any(|byte| b"[*?".contains(byte))
}

/// `CONFIG SET name value ...`: all or nothing. What is set holds as long as this instance of the engine.
pub fn set(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let pairs = args.get(2..).unwrap_or_default();
    if pairs.len() % 2 == 1 {
        return Err(texts::SYNTAX);
    }
    let mut changes: Vec<(&Parameter, &Bytes)> = Vec::with_capacity(pairs.len() / 2);
    for pair in pairs.chunks_exact(2) {
        let [name, value] = pair else { continue };
        let parameter = find(name)?;
        if matches!(parameter.on_set, OnSet::Immutable) {
            return Err(failure(parameter, "can't set immutable config"));
        }
        if changes.iter().any(|(earlier, _)| earlier.name == parameter.name) {
            return Err(failure(parameter, "duplicate parameter"));
        }
        changes.push((parameter, value));
    }
    let before = session.server.settings.clone();
    for (parameter, value) in changes {
        if let Err(error) = apply(parameter, value, session.server) {
            session.server.settings = before;
            return Err(error);
        }
    }
    session.server.peers.renew_settings();
    session.server.tell_settings();
    reply.ok();
    Ok(())
}

fn find(name: &Bytes) -> Result<&'static Parameter> {
    let unknown = || {
        let name = repeated(name, name.len());
        Error::Client(format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'").into())
    };
    PARAMETERS.iter().find(|parameter| name.eq_ignore_ascii_case(parameter.name.as_bytes())).ok_or_else(unknown)
}

fn failure(parameter: &Parameter, why: &str) -> Error {
    Error::Client(format!("ERR CONFIG SET failed (possibly related to argument '{}') - {why}", parameter.name).into())
}

fn apply(parameter: &Parameter, value: &Bytes, server: &mut Server) -> Result<()> {
    match parameter.on_set {
        OnSet::MaxStringBytes => {
            let bytes = parse_bytes(value).ok_or_else(|| failure(parameter, "argument must be a memory value"))?;
            let (least, most) = (MIN_STRING_BYTES, server.max_string_bytes_limit);
            let in_range = usize::try_from(bytes).ok().filter(|bytes| (least..=most).contains(bytes));
            let error = || failure(parameter, &format!("argument must be between {least} and {most} inclusive"));
            server.settings.max_string_bytes = in_range.ok_or_else(error)?;
            Ok(())
        }
        OnSet::KeyspaceEvents => {
            let classes = std::str::from_utf8(value).ok().and_then(Classes::parse);
            let error = || failure(parameter, "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
            server.settings.notify_keyspace_events = classes.ok_or_else(error)?;
            Ok(())
        }
        OnSet::Immutable => Err(failure(parameter, "can't set immutable config")),
        OnSet::Fixed(_) if value.eq_ignore_ascii_case(value_of(parameter, server).as_bytes()) => Ok(()),
        OnSet::Fixed(reason) => Err(failure(parameter, reason)),
    }
}

/// `CONFIG RESETSTAT`.
pub fn reset_statistics(session: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    session.server.stats = Stats::default();
    session.server.peers.tell(&PeerMessage::StatisticsReset);
    reply.ok();
    Ok(())
}

/// `CONFIG REWRITE`: there is no file.
pub fn rewrite(_: &mut Session, _: &[Bytes], _: &mut Reply) -> Result<()> {
    Err(Error::client("ERR The server is running without a config file"))
}

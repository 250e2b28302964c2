//! DEBUG, as far as it makes sense here.

use crate::command::options::is_word;
use crate::command::{Context, help};
use crate::error::{Error, Result, texts};
use crate::resp::reply::Reply;
use crate::types::encoding;

const SUBCOMMANDS: [(&str, &str); 6] = [
    ("error", "Replies the error that is given, for tests of clients."),
    ("object", "Returns the encoding of a key and the size of its first record."),
    ("panic", "Ends the instance of the engine, where the host allows it."),
    ("set-active-expire", "Accepted without effect: expired keys are absent, and the host decides when they are swept."),
    ("sleep", "Refused: the engine has nothing to wait on."),
    ("help", "Lists the subcommands."),
];

/// `DEBUG subcommand [arg ...]`.
pub fn debug(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let subcommand = context.arg(1).clone();
    match context.args.len() {
        2 if is_word(&subcommand, "help") => help::write("debug", SUBCOMMANDS.into_iter(), reply),
        2 if is_word(&subcommand, "panic") => return panic(context),
        3 if is_word(&subcommand, "error") => reply.error(&String::from_utf8_lossy(context.arg(2))),
        3 if is_word(&subcommand, "object") => return object(context, reply),
        3 if is_word(&subcommand, "set-active-expire") => reply.ok(),
        3 if is_word(&subcommand, "sleep") => return Err(Error::client("ERR DEBUG SLEEP is not supported")),
        _ => return Err(help::wrong_subcommand(context.args)),
    }
    Ok(())
}

/// Ends the instance: tests of hosts see what a trap costs.
#[allow(clippy::panic, reason = "the panic is what the command is for, and only where the host allows it")]
fn panic(context: &Context) -> Result<()> {
    if context.server.settings.allow_debug_panic {
        panic!("DEBUG PANIC");
    }
    Err(Error::client("ERR DEBUG PANIC is not allowed by the host"))
}

/// Redis' line. There is no address, and uses are not counted: those are 0.
fn object(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(2))?;
    let meta = context.db.look_at(&at)?.ok_or(texts::NO_SUCH_KEY)?;
    let length = context.db.meta_bytes(&at, meta.kind())?;
    let references = encoding::reference_count(&meta);
    let encoding = encoding::encoding(&mut context.db, &at, &meta)?;
    reply.simple(&format!("Value at:0x0 refcount:{references} encoding:{encoding} serializedlength:{length} lru:0 lru_seconds_idle:0"));
    Ok(())
}

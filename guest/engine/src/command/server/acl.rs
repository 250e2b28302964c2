//! ACL, as far as clients ask: there is one user, `default`, who may do everything.

use crate::command::help::wrong_subcommand;
use crate::command::{categories, table};
use crate::error::{Error, Result, repeated};
use crate::resp::reply::Reply;
use crate::session::Session;
use bytes::Bytes;

pub fn who_am_i(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.text("default");
    Ok(())
}

pub fn users(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.array(1);
    reply.text("default");
    Ok(())
}

/// `ACL CAT [category]`.
pub fn cat(_: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let names: Vec<&str> = match args {
        [_, _] => categories::ALL.to_vec(),
        [_, _, category] => {
            let known = categories::ALL.into_iter().find(|known| category.eq_ignore_ascii_case(known.as_bytes()));
            let error = || Error::Client(format!("ERR Unknown category '{}'", repeated(category, category.len())).into());
            commands_in(known.ok_or_else(error)?)
        }
        _ => return Err(wrong_subcommand(args)),
    };
    reply.array(names.len());
    names.into_iter().for_each(|name| reply.text(name));
    Ok(())
}

fn commands_in(category: &str) -> Vec<&'static str> {
    let all = table::all().iter().flat_map(|&command| std::iter::once(command).chain(command.subcommands));
    all.filter(|command| categories::is_in(command, category)).map(|command| command.name).collect()
}

//! GET, GETDEL and GETEX.

use super::reply_value;
use crate::command::Context;
use crate::command::expiry::ExpiryOption;
use crate::error::Result;
use crate::resp::reply::Reply;
use crate::types::keys::{self, ExpireOnly};
use crate::types::strings;

pub(super) fn get(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    reply_value(reply, strings::get(&mut context.db, &at)?.as_deref());
    Ok(())
}

pub(super) fn getdel(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    reply_value(reply, strings::take(&mut context.db, &at)?.as_deref());
    Ok(())
}

pub(super) fn getex(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let mut option = ExpiryOption::None;
    let mut words = context.args.iter().skip(2);
    while let Some(word) = words.next() {
        option.read("persist", word, &mut words)?;
    }
    let at = context.db.at(context.arg(1))?;
    let Some(value) = strings::get(&mut context.db, &at)? else {
        reply.null();
        return Ok(());
    };
    // Redis looks at the time only where there is something to expire.
    match option {
        ExpiryOption::None => {}
        ExpiryOption::Word => {
            keys::persist(&mut context.db, &at)?;
        }
        ExpiryOption::Time(time, number) => {
            let at_ms = time.positive_at_ms(number, context.db.expiry_base_ms(), "getex")?;
            keys::expire(&mut context.db, &at, at_ms, ExpireOnly::default())?;
        }
    }
    reply.bulk(&value);
    Ok(())
}

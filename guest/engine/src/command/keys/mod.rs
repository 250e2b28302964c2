//! Commands on keys of any type, and on whole dbs.

pub mod dbs;
pub mod existence;
pub mod expiry;
pub mod listing;
pub mod moving;
pub mod object;

use super::Context;
use super::options::integer;
use crate::error::{Error, Result, texts};

/// The db number of an argument.
///
/// # Errors
/// Redis' errors for what is no 32-bit integer, and for what is no db.
fn db_number(context: &Context, argument: &[u8]) -> Result<usize> {
    let number = i32::try_from(integer(argument)?)
        .map_err(|_| Error::client("ERR value is out of range, value must between -2147483648 and 2147483647"))?;
    known_db(context, number)
}

fn known_db(context: &Context, number: i32) -> Result<usize> {
    let databases = context.db.catalog.spaces.len();
    usize::try_from(number).ok().filter(|&number| number < databases).ok_or(texts::DB_OUT_OF_RANGE)
}

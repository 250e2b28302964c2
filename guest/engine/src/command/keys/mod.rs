//! Commands on keys of any type, and on whole dbs.

pub mod dbs;
pub mod existence;
pub mod expiry;
pub mod listing;
pub mod moving;
pub mod object;
pub mod payloads;

use super::{Context, options};
use crate::error::Result;

/// The db number of an argument, see [`options::db_number`].
fn db_number(context: &Context, argument: &[u8]) -> Result<usize> {
    options::db_number(argument, context.db.catalog.spaces.len())
}

/// The number of a db that there is, see [`options::known_db`].
fn known_db(context: &Context, number: i32) -> Result<usize> {
    options::known_db(number, context.db.catalog.spaces.len())
}

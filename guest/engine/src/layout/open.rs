//! Which layouts there are, by their names.

use super::Layout;
use super::blackwidow::Blackwidow;
use super::orbweaver::Orbweaver;
use crate::error::{Error, Result};
use crate::store::Store;

/// The names of all layouts; the first is the default.
pub const NAMES: [&str; 2] = ["orbweaver", "blackwidow"];

/// Opens the layout of that name on a store.
///
/// # Errors
/// A client's mistake for an unknown name; what opening the layout's keyspaces returns.
pub fn open(name: &str, store: &mut dyn Store) -> Result<Box<dyn Layout>> {
    Ok(match name {
        "orbweaver" => Box::new(Orbweaver::open(store)?),
        "blackwidow" => Box::new(Blackwidow::open(store)?),
        _ => return Err(Error::Client(format!("ERR unknown layout {name}: there are {}", NAMES.join(", ")).into())),
    })
}

//! Which layouts there are, by their names.

use super::Layout;
use super::ardb::Ardb;
use super::blackwidow::Blackwidow;
use super::camellia::Camellia;
use super::nemo::Nemo;
use super::orbweaver::Orbweaver;
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::store::Store;

/// The names of all layouts; the first is the default.
pub const NAMES: [&str; 5] = ["orbweaver", "blackwidow", "nemo", "ardb", "camellia"];

/// Opens the layout of the settings on a store.
///
/// # Errors
/// A client's mistake for an unknown name; what opening the layout's keyspaces returns.
pub fn open(settings: &Settings, store: &mut dyn Store) -> Result<Box<dyn Layout>> {
    Ok(match settings.layout.as_str() {
        "orbweaver" => Box::new(Orbweaver::open_packing(store, settings.max_packed_bytes)?),
        "blackwidow" => Box::new(Blackwidow::open(store)?),
        "nemo" => Box::new(Nemo::open(store)?),
        "ardb" => Box::new(Ardb::open(store, settings.databases)?),
        "camellia" => Box::new(Camellia::open(store, &settings.camellia)?),
        name => return Err(Error::Client(format!("ERR unknown layout {name}: there are {}", NAMES.join(", ")).into())),
    })
}

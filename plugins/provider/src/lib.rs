//! Exports any [`Store`] as the interface `orbweaver:kv/store`, with the end of its life.
//!
//! A component names its store, and is done:
//! ```ignore
//! struct Memory;
//!
//! impl Provider for Memory {
//!     fn open() -> Result<Box<dyn Store>, StoreError> {
//!         Ok(Box::new(MemoryStore::new()))
//!     }
//! }
//!
//! orbweaver_provider::export!(Memory);
//! ```

mod adapter;
mod convert;

pub use adapter::Adapter;
use orbweaver_engine::store::{Store, StoreError};

/// Generated from the WIT packages.
#[allow(missing_docs, clippy::missing_safety_doc)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "orbweaver:plugins/provider",
        path: ["../../wit/deps/clocks", "../../wit/deps/random", "../../wit/kv", "../../wit/engine", "../wit"],
        pub_export_macro: true,
    });
}

/// A store that a component provides.
pub trait Provider: 'static {
    /// Opens the store: at the first call that needs it, and again with the next one where that fails.
    ///
    /// # Errors
    /// What the caller gets to see.
    fn open() -> Result<Box<dyn Store>, StoreError>;
}

/// Makes a [`Provider`] the component's exports.
#[macro_export]
macro_rules! export {
    ($provider:ty) => {
        type Exported = $crate::Adapter<$provider>;
        $crate::bindings::export!(Exported with_types_in $crate::bindings);
    };
}

//! What the adapters of both drafts of `wasi:keyvalue` have in common: buckets, over the engine's `strings` and `keys`.
//!
//! # Buckets
//! The bucket `""` is db 0. Every other bucket is the part of db 0 whose keys begin with its identifier and a colon: the key `ada`
//! of the bucket `users` is the key `users:ada` of Orbweaver, and of its Redis clients. So `""` sees the keys of all buckets. An
//! identifier with a colon would be part of another bucket: there is no such store.
//!
//! # Values
//! A value is a string of the engine: any bytes. A key that holds another type exists and is listed, but has no value: to read it is
//! an error, where many are read at once it counts as absent, and to set it puts a string in its place. Keys that are not
//! UTF-8 exist for other clients only.

mod adapt;
mod bucket;
mod error;
mod listing;

pub use bucket::Bucket;
pub use error::{Error, Result};

/// Generated from the WIT packages.
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package orbweaver:keyvalue;

            world engine {
                import orbweaver:engine/control@0.1.0;
                import orbweaver:engine/strings@0.1.0;
                import orbweaver:engine/keys@0.1.0;
            }
        ",
        path: ["../../wit/deps/clocks", "../../wit/deps/random", "../../wit/kv", "../../wit/engine"],
        generate_all,
    });
}

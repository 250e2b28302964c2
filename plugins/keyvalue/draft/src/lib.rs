//! `wasi:keyvalue@0.2.0-draft` on top of the engine.

/// Generated from the WIT package.
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package orbweaver:keyvalue-draft;

            world adapter {
                export wasi:keyvalue/store@0.2.0-draft;
                export wasi:keyvalue/atomics@0.2.0-draft;
                export wasi:keyvalue/batch@0.2.0-draft;
            }
        ",
        path: "../wit/keyvalue-0.2.0-draft",
        generate_all,
    });
}

use bindings::exports::wasi::keyvalue::{atomics, batch, store};
use orbweaver_keyvalue::Bucket;

/// A key with its value; none for an absent key.
type Found = Option<(String, Vec<u8>)>;

fn as_found((key, value): (String, Option<Vec<u8>>)) -> Found {
    value.map(|value| (key, value))
}

orbweaver_keyvalue::adapt!(scan, u64);

impl atomics::Guest for Adapter {
    fn increment(bucket: store::BucketBorrow<'_>, key: String, delta: u64) -> Result<u64, store::Error> {
        Ok(bucket.get::<Bucket>().increment_unsigned(&key, delta)?)
    }
}

//! `wasi:keyvalue@0.2.0-draft2` on top of the engine.

mod cas;

/// Generated from the WIT package.
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package orbweaver:keyvalue-draft2;

            world adapter {
                export wasi:keyvalue/store@0.2.0-draft2;
                export wasi:keyvalue/atomics@0.2.0-draft2;
                export wasi:keyvalue/batch@0.2.0-draft2;
            }
        ",
        path: "../wit/keyvalue-0.2.0-draft2",
        generate_all,
    });
}

use bindings::exports::wasi::keyvalue::{atomics, batch, store};
use cas::Cas;
use orbweaver_keyvalue::Bucket;

/// A key, and its value; none for an absent key.
type Found = (String, Option<Vec<u8>>);

fn as_found(found: Found) -> Found {
    found
}

orbweaver_keyvalue::adapt!(list_after, String);

impl atomics::Guest for Adapter {
    type Cas = Cas;

    fn increment(bucket: store::BucketBorrow<'_>, key: String, delta: i64) -> Result<i64, store::Error> {
        Ok(bucket.get::<Bucket>().increment(&key, delta)?)
    }

    fn swap(cas: atomics::Cas, value: Vec<u8>) -> Result<(), atomics::CasError> {
        cas.into_inner::<Cas>().swap(&value)
    }
}

//! Compare-and-swap.

use crate::bindings::exports::wasi::keyvalue::{atomics, store};
use orbweaver_keyvalue::{Bucket, Result};

/// A key, and the value that it had when the handle was made. A swap takes place where the key has this value (again): who
/// compares bytes cannot tell whether it had others in between.
pub struct Cas {
    bucket: Bucket,
    key: String,
    current: Option<Vec<u8>>,
}

impl Cas {
    fn read(bucket: Bucket, key: String) -> Result<Self> {
        let current = bucket.get(&key)?;
        Ok(Self { bucket, key, current })
    }

    /// Stores the value; where another one has come between, gives a handle that knows it.
    pub fn swap(self, value: &[u8]) -> std::result::Result<(), atomics::CasError> {
        if self.bucket.replace(&self.key, self.current.as_deref(), value)? {
            return Ok(());
        }
        Err(atomics::CasError::CasFailed(atomics::Cas::new(Self::read(self.bucket, self.key)?)))
    }
}

impl From<orbweaver_keyvalue::Error> for atomics::CasError {
    fn from(error: orbweaver_keyvalue::Error) -> Self {
        Self::StoreError(error.into())
    }
}

impl atomics::GuestCas for Cas {
    fn new(bucket: store::BucketBorrow<'_>, key: String) -> std::result::Result<atomics::Cas, store::Error> {
        Ok(atomics::Cas::new(Self::read(bucket.get::<Bucket>().clone(), key)?))
    }

    fn current(&self) -> std::result::Result<Option<Vec<u8>>, store::Error> {
        Ok(self.current.clone())
    }
}

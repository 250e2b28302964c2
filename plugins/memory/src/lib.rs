//! A store in the component's own memory, gone with its instance.

use orbweaver_engine::store::{MemoryStore, Store, StoreError};
use orbweaver_provider::Provider;

struct Memory;

impl Provider for Memory {
    fn open() -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(MemoryStore::new()))
    }
}

orbweaver_provider::export!(Memory);

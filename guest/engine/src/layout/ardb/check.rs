use super::Ardb;
use crate::error::Result;
use crate::layout::Finding;
use crate::transaction::Transaction;
impl Ardb {
    pub(super) fn check_step(&self, _t: &mut Transaction<'_>, _c: &mut Vec<u8>, _b: usize) -> Result<Vec<Finding>> { Ok(Vec::new()) }
}

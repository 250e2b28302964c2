//! stub
use crate::error::Result;
use crate::layout::{Finding, Swept};
use crate::session::Engine;
#[allow(missing_docs)]
pub struct LoadReport {
    pub keys: u64,
    pub expired: u64,
}
#[allow(missing_docs, clippy::missing_errors_doc)]
impl Engine {
    pub fn sweep(&mut self, _b: usize) -> Result<Swept> {
        Ok(Swept::default())
    }
    pub fn check(&mut self, _c: &mut Vec<u8>, _b: usize) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }
    pub fn dump(&mut self, _c: &mut Vec<u8>, _b: usize) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
    pub fn load(&mut self, _l: &[u8]) -> Result<LoadReport> {
        Ok(LoadReport { keys: 0, expired: 0 })
    }
}

//! The system's clock, which tests can make wrong.

use orbweaver_engine::environment::{Environment, SystemEnvironment};
use std::path::PathBuf;

/// The system's clock and randomness.
#[derive(Debug)]
pub struct Clock {
    system: SystemEnvironment,
    /// Says by how many milliseconds the clock is wrong.
    error_file: Option<PathBuf>,
}

impl Clock {
    /// A clock that is wrong by what the file says, where one is given.
    pub fn new(error_file: Option<PathBuf>) -> Self {
        Self { system: SystemEnvironment::default(), error_file }
    }

    fn error_ms(&self) -> i64 {
        let text = self.error_file.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or_default()
    }
}

impl Environment for Clock {
    fn now_us(&self) -> u64 {
        self.system.now_us().saturating_add_signed(self.error_ms().saturating_mul(1000))
    }

    fn random(&mut self) -> u64 {
        self.system.random()
    }
}

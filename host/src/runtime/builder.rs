//! How an [`Orbweaver`] is set up.

use super::component::Component;
use super::instance::{CallError, Options};
use super::server::Orbweaver;
use orbweaver_engine::environment::{Environment, SystemEnvironment};
use orbweaver_engine::store::Store;
use std::time::Duration;

/// Sets up an [`Orbweaver`], see [`Orbweaver::builder`].
#[derive(Default)]
pub struct Builder {
    options: Options,
    environment: Option<Box<dyn Environment + Send>>,
}

impl Builder {
    /// Most memory of the component, in bytes, at most 4 GiB. Default: 2 GiB. A call that needs more ends in a trap.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.options.memory_bytes = bytes;
        self
    }

    /// How long one call may take before it ends in a trap. Default: 30 seconds.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = deadline;
        self
    }

    /// A setting of the engine, see `control.open` in `wit/engine`: `databases`, `password`, `max-string-bytes` and so on.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.options.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A clock and randomness of the caller's. Default: the system's. Hold them still, and the same commands leave the same bytes.
    #[must_use]
    pub fn environment(mut self, environment: Box<dyn Environment + Send>) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Opens the component on a store.
    ///
    /// # Errors
    /// [`CallError::Refused`] for an unknown setting, or where the store is of another layout or a newer format, or cannot be read.
    pub fn open(self, component: &Component, store: Box<dyn Store + Send>) -> Result<Orbweaver, CallError> {
        let environment = self.environment.unwrap_or_else(|| Box::new(SystemEnvironment::default()));
        Orbweaver::open(component, store, environment, self.options)
    }
}

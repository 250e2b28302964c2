//! A store with the flaw that `ORBWEAVER_FLAW` names (a case of the engine's `conformance::flaws::Flaw`; `None` for a right one): what
//! the test-suite, as a component, has to find.

use orbweaver_engine::store::conformance::{broken::Broken, flaws::Flaw};
use orbweaver_engine::store::{Store, StoreError};
use orbweaver_provider::Provider;
use std::env;

struct Flawed;

impl Provider for Flawed {
    fn open() -> Result<Box<dyn Store>, StoreError> {
        let name = env::var("ORBWEAVER_FLAW").unwrap_or_default();
        let flaw = Flaw::named(&name).ok_or_else(|| StoreError::Io(format!("ORBWEAVER_FLAW: there is no flaw {name:?}")))?;
        Ok(Box::new(Broken::new(flaw)))
    }
}

orbweaver_provider::export!(Flawed);

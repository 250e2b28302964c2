//! What a migration asks of an instance of the component.

use super::super::refused::Refused;

/// Bytes that are asked of an engine at a time.
const STEP_BYTES: u32 = 1 << 20;

/// An engine that writes and reads dumps.
pub trait Instance {
    /// What TYPE says of a key: the first type that it has, in layouts in which there may be several. `None` where there is no such key.
    fn first_type(&mut self, db: u32, key: &[u8]) -> anyhow::Result<Option<&'static str>>;

    /// A piece of a dump, and where to go on: see `maintenance.dump` in `wit/engine`.
    fn dump(&mut self, start: Option<&[u8]>, max_bytes: u32) -> anyhow::Result<(Vec<u8>, Option<Vec<u8>>)>;

    /// Loads whole lines; those before one that is refused are written.
    fn load(&mut self, lines: &[u8]) -> anyhow::Result<Result<(), Refused>>;
}

/// The dump of a small database.
pub fn whole_dump(instance: &mut impl Instance) -> anyhow::Result<Vec<u8>> {
    let mut whole = Vec::new();
    let mut cursor: Option<Vec<u8>> = None;
    loop {
        let (mut piece, next) = instance.dump(cursor.as_deref(), STEP_BYTES)?;
        whole.append(&mut piece);
        cursor = next;
        if cursor.is_none() {
            return Ok(whole);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod tests {
    use super::*;
    use anyhow::anyhow;
    use orbweaver_engine::environment::HeldEnvironment;
    use orbweaver_engine::layout::Kind;
    use orbweaver_engine::session::Engine;
    use orbweaver_engine::settings::Settings;
    use orbweaver_engine::store::{Limits, MemoryStore};
    use orbweaver_engine::typed::keys::Operation;

    /// The engine without the component around it.
    pub struct Native(Engine);

    impl Native {
        pub fn new() -> Self {
            Self::of("orbweaver", Limits::NONE)
        }

        /// With a layout, on an empty store.
        pub fn of(layout: &str, limits: Limits) -> Self {
            let settings = Settings { layout: layout.into(), ..Settings::default() };
            let environment = HeldEnvironment::new(1_700_000_000_000, 1);
            Self(Engine::open(Box::new(MemoryStore::with_limits(limits)), Box::new(environment), settings).unwrap())
        }
    }

    impl Instance for Native {
        fn first_type(&mut self, db: u32, key: &[u8]) -> anyhow::Result<Option<&'static str>> {
            let outcome = self.0.perform_one(usize::try_from(db)?, Operation::Kind(key.to_vec().into())).unwrap();
            let kind: Option<Kind> = outcome.try_into().unwrap();
            Ok(kind.map(Kind::name))
        }

        fn dump(&mut self, start: Option<&[u8]>, max_bytes: u32) -> anyhow::Result<(Vec<u8>, Option<Vec<u8>>)> {
            let mut cursor = start.unwrap_or_default().to_vec();
            let piece = self.0.dump(&mut cursor, usize::try_from(max_bytes)?)?;
            Ok((piece, (!cursor.is_empty()).then_some(cursor)))
        }

        fn load(&mut self, lines: &[u8]) -> anyhow::Result<Result<(), Refused>> {
            match self.0.load(lines).map_err(|error| error.to_string()) {
                Ok(_) => Ok(Ok(())),
                Err(text) => Refused::parse(&text).map(Err).ok_or_else(|| anyhow!(text)),
            }
        }
    }
}

//! Records taken apart by the component, for people to look at.

use super::bindings::exports::orbweaver::engine::maintenance;
use super::canonical::size;
use super::instance::CallError;
use super::server::Orbweaver;
use orbweaver_engine::layout::anatomy::{Anatomy, Run};

impl Orbweaver {
    /// The records of a key in a db, about `budget` of them from `cursor` on, and where to go on. See `maintenance.inspect` in `wit/engine`.
    ///
    /// # Errors
    /// What the component says, or a trap.
    pub fn inspect(
        &mut self,
        db: u32,
        key: &[u8],
        cursor: Option<&[u8]>,
        budget: u32,
    ) -> Result<(Vec<Anatomy>, Option<Vec<u8>>), CallError> {
        let inspection = self.maintain(|instance| instance.inspect(db, key, cursor, budget))?;
        Ok((inspection.records.into_iter().map(anatomy).collect(), inspection.next))
    }

    /// Takes one record apart, wherever it came from. See `maintenance.describe` in `wit/engine`.
    ///
    /// # Errors
    /// A trap.
    pub fn describe(&mut self, keyspace: &str, key: &[u8], value: &[u8]) -> Result<Anatomy, CallError> {
        self.maintain(|instance| instance.describe(keyspace, key, value)).map(anatomy)
    }
}

fn anatomy(inspected: maintenance::Inspected) -> Anatomy {
    let maintenance::Inspected { keyspace, key, key_runs, value, value_runs, note } = inspected;
    Anatomy { keyspace, key: key.into(), key_runs: runs(key_runs), value: value.into(), value_runs: runs(value_runs), note }
}

fn runs(runs: Vec<maintenance::Run>) -> Vec<Run> {
    let run = |maintenance::Run { offset, length, field, shown }| {
        let start = size(offset);
        Run { range: start..start.saturating_add(size(length)), field: field.into(), shown }
    };
    runs.into_iter().map(run).collect()
}

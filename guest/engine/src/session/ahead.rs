//! Reading ahead: what the commands of a group name is read in two calls to the store, before any of them runs. First the meta records
//! of their keys, then the fields, members and elements that these lead to. What a command before another one changes is in the
//! transaction then; a record that has been read for nothing costs time only.

use super::plan::{Call, Job, Work};
use super::run::Runner;
use crate::command::parts::Parts;
use crate::db::Db;
use crate::error::Result;
use crate::layout::lists::End;
use crate::layout::{Collection, KeyAt, Kind, RecordKey};
use bytes::Bytes;
use std::collections::BTreeMap;

/// Most fields, members and elements that are read ahead.
const MAX_PARTS: usize = 4096;

/// How many elements earlier commands of the group have taken from an end of a list.
type Taken = BTreeMap<(Bytes, bool), u64>;

impl Runner<'_, '_> {
    /// Reads the meta records `metas`, and what the jobs, which come behind the call `last`, name beside them.
    pub(super) fn read_ahead<'j>(&mut self, mut last: Option<&'j Call>, jobs: &'j [Job], metas: Vec<RecordKey>) -> Result<()> {
        self.transaction.read_ahead(metas)?;
        if jobs.len() < 2 && !matches!(jobs, [Job { work: Work::Transaction { .. }, .. }]) {
            return Ok(());
        }
        let (mut parts, mut taken) = (Vec::with_capacity(jobs.len()), Taken::new());
        if let [Job { work: Work::Again(_), .. }, ..] = jobs {
            last.into_iter().for_each(|call| self.add_parts(call, &mut parts, &mut taken));
        }
        for job in jobs {
            match &job.work {
                Work::Call(call) => {
                    last = Some(call);
                    self.add_parts(call, &mut parts, &mut taken);
                }
                Work::Again(_) => {
                    // The same names have been added; but each one takes another element.
                    let from_end = last.filter(|call| matches!(call.command.parts, Parts::End(_)));
                    if let Some(call) = from_end {
                        self.named.step_back();
                        self.add_parts(call, &mut parts, &mut taken);
                    }
                }
                Work::Transaction { parts: works, .. } => {
                    let calls = works.iter().filter_map(|work| if let Work::Call(call) = work { Some(call) } else { None });
                    calls.for_each(|call| self.add_parts(call, &mut parts, &mut taken));
                }
                _ => {}
            }
        }
        // Each command asks for its meta record and then for these.
        self.named.rewind();
        self.transaction.rewind();
        Ok(self.transaction.read_ahead(parts)?)
    }

    /// Adds the records of the parts that a call names. What fails here fails again when the call runs, and is told then.
    fn add_parts(&mut self, call: &Call, records: &mut Vec<RecordKey>, taken: &mut Taken) {
        if matches!(call.command.parts, Parts::None) || records.len() >= MAX_PARTS {
            return;
        }
        let (Some(kind), Some(key)) = (call.command.group.kind(), call.args.get(1)) else { return };
        let layout = self.layout;
        let mut db = self.db(call.db).0;
        let Ok(at) = db.at(key) else { return };
        let Some(collection) = collection(&mut db, &at, kind) else { return };
        match call.command.parts {
            Parts::None => {}
            Parts::Names { .. } => {
                let names = call.command.parts.names(call.args.len()).filter_map(|position| call.args.get(position));
                records.extend(names.take(MAX_PARTS).map(|name| match kind {
                    Kind::Hash => layout.field(&at, &collection, name),
                    _ => layout.member(&at, &collection, name),
                }));
            }
            Parts::End(_) if call.args.len() > 2 => {}
            Parts::End(end) => {
                let before = taken.entry((at.lock_key().clone(), end == End::Head)).or_default();
                let from_end = *before;
                *before += 1;
                let Some(to_other_end) = collection.count.checked_sub(from_end + 1) else { return };
                let rank = if end == End::Head { from_end } else { to_other_end };
                records.extend(layout.lists().record(&at, &collection, rank));
            }
        }
    }
}

/// The collection of that kind that was under a key when the group began.
fn collection(db: &mut Db, at: &KeyAt, kind: Kind) -> Option<Collection> {
    db.search(at, kind).ok()??.collection().filter(|collection| collection.kind == kind)
}

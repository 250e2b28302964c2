//! The exported interfaces: calls of the engine.

use crate::bindings::exports::orbweaver::engine::{control, maintenance, resp};
use crate::bindings::orbweaver::engine::log;
use crate::environment::{self, Wasi};
use crate::store::{self, HostStore};
use bytes::Bytes;
use orbweaver_engine::layout::anatomy::{Anatomy, Run};
use orbweaver_engine::session::{Answer, BLOCKED, Delivery, Engine, Outcome};
use orbweaver_engine::settings::Settings;
use std::cell::RefCell;

/// What the component exports.
pub struct Orbweaver;

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

const NOT_OPEN: &str = "the engine is not open: call control.open first";

/// Works with the engine, if it is open.
pub fn with_engine<T>(work: impl FnOnce(&mut Engine) -> T) -> Result<T, String> {
    ENGINE.with_borrow_mut(|engine| engine.as_mut().map(work).ok_or_else(|| NOT_OPEN.to_owned()))
}

impl control::Guest for Orbweaver {
    fn open(settings: Vec<control::Setting>) -> Result<(), String> {
        std::panic::set_hook(Box::new(|panic| log::panicked(&panic.to_string())));
        let settings = Settings::from_pairs(settings.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        ENGINE.with_borrow_mut(|engine| {
            if engine.is_some() {
                return Err("the engine is open already".to_owned());
            }
            let opened = Engine::open(Box::new(HostStore::new()), Box::new(Wasi), settings);
            *engine = Some(opened.map_err(|error| error.to_string())?);
            Ok(())
        })
    }

    fn tell(facts: Vec<control::Setting>) {
        // Without an engine there is nobody to tell.
        let _ = with_engine(|engine| engine.server().facts = facts.into_iter().collect());
    }
}

impl resp::Guest for Orbweaver {
    fn connect(connection: resp::Connection, address: String, state: Option<Vec<u8>>) {
        // Without an engine nobody will exchange anything on it.
        let _ = with_engine(|engine| engine.connect(connection, &address, state.as_deref()));
    }

    fn exchange(input: Vec<u8>, deliveries: Vec<resp::Delivery>) -> resp::Outcome {
        exchange(&several(input, &deliveries))
    }

    fn exchange_at(now_us: u64, begun: Option<u64>, input: Vec<u8>, deliveries: resp::Deliveries) -> resp::Outcome {
        environment::at(now_us, || {
            store::between_ends_of_the_host(begun, || match deliveries {
                resp::Deliveries::One(connection) => exchange(&[Delivery { connection, input: input.into() }]),
                resp::Deliveries::Several(deliveries) => exchange(&several(input, &deliveries)),
            })
        })
    }

    fn hear(messages: Vec<u8>) {
        // An engine that is not open has no connections to which it would matter.
        let _ = with_engine(|engine| engine.hear(messages.into()));
    }

    fn disconnect(connection: resp::Connection) {
        // A connection of no engine is forgotten already.
        let _ = with_engine(|engine| engine.disconnect(connection));
    }
}

/// The input, cut into what is each connection's.
fn several(input: Vec<u8>, deliveries: &[resp::Delivery]) -> Vec<Delivery> {
    let input = Bytes::from(input);
    let mut start = 0;
    let cut = |delivery: &resp::Delivery| {
        let end = usize::try_from(delivery.end).unwrap_or(usize::MAX).clamp(start, input.len());
        let piece = input.slice(start..end);
        start = end;
        Delivery { connection: delivery.connection, input: piece }
    };
    deliveries.iter().map(cut).collect()
}

fn exchange(deliveries: &[Delivery]) -> resp::Outcome {
    let mut outcome = with_engine(|engine| engine.exchange_once(deliveries)).unwrap_or_default();
    // Of a single answer it is taken as it is.
    let several = outcome.answers.get(1..).unwrap_or_default().iter().map(|answer| answer.output.len()).sum::<usize>();
    let mut output = Vec::new();
    if several > 0 {
        output.reserve_exact(several + outcome.answers.first().map_or(0, |first| first.output.len()));
    }
    let answers = std::mem::take(&mut outcome.answers).into_iter().map(|answer| flatten(answer, &mut output)).collect();
    let Outcome { wake_after_ms, shutdown, for_peers, .. } = outcome;
    resp::Outcome { answers, output, wake_after_ms, shutdown, for_peers }
}

fn flatten(answer: Answer, output: &mut Vec<u8>) -> resp::Answer {
    let Answer { connection, consumed, needed, output: bytes, close, state } = answer;
    if output.capacity() == 0 {
        *output = bytes;
    } else {
        output.extend_from_slice(&bytes);
    }
    // Input and output are shorter than the component's memory, which is 4 GiB at most.
    let (consumed, end) = (u32::try_from(consumed).unwrap_or(u32::MAX), u32::try_from(output.len()).unwrap_or(u32::MAX));
    let needed = u64::try_from(needed).ok().filter(|_| needed != BLOCKED).unwrap_or(u64::MAX);
    resp::Answer { connection, consumed, needed, end, close, state }
}

/// The engine's cursor from where a call starts, and back: an empty cursor is none.
fn next(cursor: Vec<u8>) -> Option<Vec<u8>> {
    (!cursor.is_empty()).then_some(cursor)
}

fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn inspected(anatomy: Anatomy) -> maintenance::Inspected {
    let Anatomy { keyspace, key, key_runs, value, value_runs, note } = anatomy;
    // Keys and values are shorter than the component's memory, which is 4 GiB at most.
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let run = |run: Run| maintenance::Run {
        offset: number(run.range.start),
        length: number(run.range.len()),
        field: run.field.into_owned(),
        shown: run.shown,
    };
    let runs = |runs: Vec<Run>| runs.into_iter().map(run).collect();
    maintenance::Inspected { keyspace, key: key.into(), key_runs: runs(key_runs), value: value.into(), value_runs: runs(value_runs), note }
}

impl maintenance::Guest for Orbweaver {
    fn sweep(budget: u32) -> Result<maintenance::Swept, String> {
        let swept = with_engine(|engine| engine.sweep(size(budget)))?.map_err(|error| error.to_string())?;
        Ok(maintenance::Swept { expired_keys: swept.expired_keys, records: swept.records, ranges: swept.ranges, more: swept.more })
    }

    fn check(start: Option<Vec<u8>>, budget: u32) -> Result<maintenance::Findings, String> {
        let mut cursor = start.unwrap_or_default();
        let found = with_engine(|engine| engine.check(&mut cursor, size(budget)))?.map_err(|error| error.to_string())?;
        let finding = |finding: orbweaver_engine::layout::Finding| maintenance::Finding {
            keyspace: finding.keyspace.to_owned(),
            key: finding.key.to_vec(),
            what: finding.what,
        };
        Ok(maintenance::Findings { found: found.into_iter().map(finding).collect(), next: next(cursor) })
    }

    fn dump(start: Option<Vec<u8>>, max_bytes: u32) -> Result<maintenance::Chunk, String> {
        let mut cursor = start.unwrap_or_default();
        let lines = with_engine(|engine| engine.dump(&mut cursor, size(max_bytes)))?.map_err(|error| error.to_string())?;
        Ok(maintenance::Chunk { lines, next: next(cursor) })
    }

    fn load(lines: Vec<u8>) -> Result<maintenance::Loaded, String> {
        let loaded = with_engine(|engine| engine.load(&lines))?.map_err(|error| error.to_string())?;
        Ok(maintenance::Loaded { keys: loaded.keys, expired: loaded.expired })
    }

    fn inspect(db: u32, key: Vec<u8>, cursor: Option<Vec<u8>>, budget: u32) -> Result<maintenance::Inspection, String> {
        let mut cursor = cursor.unwrap_or_default();
        let found = with_engine(|engine| engine.inspect(size(db), &key, &mut cursor, size(budget)))?.map_err(|error| error.to_string())?;
        Ok(maintenance::Inspection { records: found.into_iter().map(inspected).collect(), next: next(cursor) })
    }

    fn describe(keyspace: String, key: Vec<u8>, value: Vec<u8>) -> Result<maintenance::Inspected, String> {
        #[cfg(orbweaver_profile)]
        let value = if keyspace == "profile" { crate::profile::raw() } else { value };
        with_engine(|engine| inspected(engine.describe(&keyspace, &key, &value)))
    }
}

//! What the fuzz targets share: an engine with its clock and randomness held still, and what must hold of its store afterwards.

use bytes::Bytes;
use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;

/// The clock of all targets: Unix time in milliseconds.
pub const NOW_MS: u64 = 1_700_000_000_000;
/// The connection of all targets.
const CONNECTION: u64 = 1;
/// Longest string: a fuzzer that asks for half a gigabyte finds nothing but the limit of its memory.
const MAX_STRING_BYTES: usize = 64 << 10;
/// A step of a check or of a dump never leads nowhere.
const MAX_STEPS: usize = 100_000;

/// An engine on a handle of `store`.
pub fn open(store: &MemoryStore) -> Engine {
    let settings = Settings { max_string_bytes: MAX_STRING_BYTES, max_args: 1 << 10, ..Settings::default() };
    Engine::open(Box::new(store.clone()), Box::new(HeldEnvironment::new(NOW_MS, 1)), settings).unwrap()
}

/// An engine on an empty store.
pub fn fresh() -> Engine {
    open(&MemoryStore::new())
}

/// Hands over what a socket delivered, in parts of at most `part` bytes, and returns what was answered until the connection closed.
pub fn deliver(engine: &mut Engine, input: &[u8], part: usize) -> Vec<u8> {
    engine.connect(CONNECTION, "fuzz", None);
    let (mut waiting, mut output) = (Vec::new(), Vec::new());
    for part in input.chunks(part.max(1)) {
        waiting.extend_from_slice(part);
        let delivery = Delivery { connection: CONNECTION, input: Bytes::copy_from_slice(&waiting) };
        let Some(answer) = engine.exchange(&[delivery]).answers.into_iter().find(|answer| answer.connection == CONNECTION) else { break };
        assert!(answer.consumed <= waiting.len());
        output.extend_from_slice(&answer.output);
        waiting.drain(..answer.consumed);
        if answer.close {
            break;
        }
    }
    engine.disconnect(CONNECTION);
    output
}

/// A command of a new connection, and its reply.
pub fn run(engine: &mut Engine, command: &[&[u8]]) -> Vec<u8> {
    let mut input = format!("*{}\r\n", command.len()).into_bytes();
    for word in command {
        input.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        input.extend_from_slice(word);
        input.extend_from_slice(b"\r\n");
    }
    deliver(engine, &input, input.len())
}

/// What a check says of the whole store, in steps of `budget` records.
pub fn check(engine: &mut Engine, budget: usize) -> Vec<String> {
    let (mut cursor, mut found) = (Vec::new(), Vec::new());
    for _ in 0..MAX_STEPS {
        let findings = engine.check(&mut cursor, budget).unwrap();
        found.extend(findings.iter().map(|finding| format!("{} {}: {}", finding.keyspace, finding.key.escape_ascii(), finding.what)));
        if cursor.is_empty() {
            return found;
        }
    }
    panic!("the check does not end");
}

/// The whole dump, in pieces of about `max_bytes`; the error where a record cannot be read.
pub fn dump(engine: &mut Engine, max_bytes: usize) -> Result<Vec<u8>, String> {
    let (mut cursor, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..MAX_STEPS {
        whole.extend(engine.dump(&mut cursor, max_bytes).map_err(|error| error.to_string())?);
        if cursor.is_empty() {
            return Ok(whole);
        }
    }
    panic!("the dump does not end");
}

/// Sweeps until nothing is left to do.
pub fn sweep(engine: &mut Engine) {
    for _ in 0..MAX_STEPS {
        if !engine.sweep(100).unwrap().more {
            return;
        }
    }
    panic!("the sweep does not end");
}

/// Asserts that the store is sound, before and after a sweep, which leaves what clients see as it was.
pub fn assert_sound(engine: &mut Engine) {
    assert_eq!(check(engine, 1000), Vec::<String>::new());
    let before = dump(engine, 1 << 20).unwrap();
    sweep(engine);
    assert_eq!(check(engine, 7), Vec::<String>::new());
    assert_eq!(dump(engine, 100).unwrap(), before);
}

//! What the fuzz targets share: an engine with its clock and randomness held still, and what must hold of its store afterwards.

use bytes::Bytes;
use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::layout;
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::{Batch, Keyspace, MemoryStore, Scope, Store};

/// The clock of all targets: Unix time in milliseconds.
pub const NOW_MS: u64 = 1_700_000_000_000;
/// The connection of all targets.
const CONNECTION: u64 = 1;
/// Longest string: a fuzzer that asks for half a gigabyte finds nothing but the limit of its memory.
const MAX_STRING_BYTES: usize = 64 << 10;
/// Commands on a key of the first db; what inputs of records write is found under it.
const COMMANDS: &str = "GET k\r\nSTRLEN k\r\nAPPEND k x\r\nPFCOUNT k\r\nHGETALL k\r\nHSET k f v\r\nHDEL k f\r\nHINCRBY k n 1\r\nHRANDFIELD k 2\r\n\
    LRANGE k 0 -1\r\nLINDEX k 0\r\nLINDEX k -1\r\nLPUSH k x\r\nRPUSH k x\r\nLINSERT k BEFORE x y\r\nLREM k 0 x\r\nLTRIM k 1 -2\r\nLPOP k\r\n\
    LSET k 0 y\r\nLPOS k x\r\nSMEMBERS k\r\nSADD k x\r\nSRANDMEMBER k -3\r\nSPOP k 2\r\nZRANGE k 0 -1 WITHSCORES\r\nZADD k 1 x\r\nZRANK k x\r\n\
    ZINCRBY k 1 x\r\nZCOUNT k 0 1\r\nZPOPMIN k\r\nZREMRANGEBYRANK k 0 1\r\nTTL k\r\nEXPIRE k 100\r\nTYPE k\r\nOBJECT ENCODING k\r\n\
    MEMORY USAGE k\r\nCOPY k l\r\nRENAME k m\r\nSORT m\r\nSCAN 0\r\nHSCAN m 0\r\nSSCAN m 0\r\nZSCAN m 0\r\nKEYS *\r\nRANDOMKEY\r\nDBSIZE\r\n\
    DEL m\r\nSWAPDB 0 1\r\nFLUSHDB\r\nFLUSHALL\r\n";
/// A step of a check or of a dump never leads nowhere.
const MAX_STEPS: usize = 100_000;

/// An engine on a handle of `store`.
pub fn open(store: &MemoryStore) -> Engine {
    open_layout(store, layout::NAMES[0])
}

/// As [`open`], with the layout of that name.
pub fn open_layout(store: &MemoryStore, layout: &str) -> Engine {
    let settings = Settings { layout: layout.to_owned(), max_string_bytes: MAX_STRING_BYTES, max_args: 1 << 10, ..Settings::default() };
    Engine::open(Box::new(store.clone()), Box::new(HeldEnvironment::new(NOW_MS, 1)), settings).unwrap()
}

/// Writes the records of an input to the keyspaces of an open store: as often as there is more, a byte that chooses the keyspace, the key
/// and the value, each behind a byte with its length. `is_left_out` says of a key and a value that they are not written.
pub fn write_records(store: &mut MemoryStore, mut rest: &[u8], is_left_out: fn(&[u8], &[u8]) -> bool) {
    let mut batch = Batch::new();
    let keyspaces = store.contents().len();
    while let [keyspace, key_length, behind @ ..] = rest {
        let (key, behind) = behind.split_at(behind.len().min(usize::from(*key_length)));
        let Some((value_length, behind)) = behind.split_first() else { break };
        let (value, behind) = behind.split_at(behind.len().min(usize::from(*value_length)));
        rest = behind;
        if !is_left_out(key, value) {
            // A memory store numbers its keyspaces in the order in which they were opened.
            let number = usize::from(*keyspace) % keyspaces;
            batch.put(Keyspace(u32::try_from(number).unwrap()), key, value).unwrap();
        }
    }
    store.begin(&Scope::Exclusive).unwrap();
    store.commit(&batch, &[]).unwrap();
}

/// Runs every command on damaged records, and maintenance before and after: nothing panics, and all of it ends.
pub fn survive(engine: &mut Engine) {
    check(engine, 3);
    let _ = dump(engine, 50);
    deliver(engine, COMMANDS.as_bytes(), COMMANDS.len());
    sweep(engine);
    check(engine, 1000);
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

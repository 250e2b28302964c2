//! A store with damaged records: every command answers or names the record, maintenance ends, nothing panics. Input, as often as there
//! is more: a byte that chooses the keyspace, the key and the value, each behind a byte with its length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orbweaver_engine::layout::orbweaver::keyspace;
use orbweaver_engine::store::{Batch, MemoryStore, Order, Scope, Store};
use orbweaver_fuzz::{check, deliver, dump, open, sweep};

/// The key of the first db that commands use; what the input writes is found under it.
const COMMANDS: &str = "GET k\r\nSTRLEN k\r\nAPPEND k x\r\nPFCOUNT k\r\nHGETALL k\r\nHSET k f v\r\nHDEL k f\r\nHINCRBY k n 1\r\nHRANDFIELD k 2\r\n\
    LRANGE k 0 -1\r\nLINDEX k 0\r\nLINDEX k -1\r\nLPUSH k x\r\nRPUSH k x\r\nLINSERT k BEFORE x y\r\nLREM k 0 x\r\nLTRIM k 1 -2\r\nLPOP k\r\n\
    LSET k 0 y\r\nLPOS k x\r\nSMEMBERS k\r\nSADD k x\r\nSRANDMEMBER k -3\r\nSPOP k 2\r\nZRANGE k 0 -1 WITHSCORES\r\nZADD k 1 x\r\nZRANK k x\r\n\
    ZINCRBY k 1 x\r\nZCOUNT k 0 1\r\nZPOPMIN k\r\nZREMRANGEBYRANK k 0 1\r\nTTL k\r\nEXPIRE k 100\r\nTYPE k\r\nOBJECT ENCODING k\r\n\
    MEMORY USAGE k\r\nCOPY k l\r\nRENAME k m\r\nSORT m\r\nSCAN 0\r\nHSCAN m 0\r\nSSCAN m 0\r\nZSCAN m 0\r\nKEYS *\r\nRANDOMKEY\r\nDBSIZE\r\n\
    DEL m\r\nSWAPDB 0 1\r\nFLUSHDB\r\nFLUSHALL\r\n";

fuzz_target!(|data: &[u8]| {
    let mut store = MemoryStore::new();
    drop(open(&store));
    write(&mut store, data);
    let mut engine = open(&store);
    check(&mut engine, 3);
    let _ = dump(&mut engine, 50);
    deliver(&mut engine, COMMANDS.as_bytes(), COMMANDS.len());
    sweep(&mut engine);
    check(&mut engine, 1000);
});

fn write(store: &mut MemoryStore, mut rest: &[u8]) {
    let mut batch = Batch::new();
    while let [keyspace, key_length, behind @ ..] = rest {
        let name = keyspace::ALL[usize::from(*keyspace) % keyspace::ALL.len()];
        let (key, behind) = behind.split_at(behind.len().min(usize::from(*key_length)));
        let Some((value_length, behind)) = behind.split_first() else { break };
        let (value, behind) = behind.split_at(behind.len().min(usize::from(*value_length)));
        rest = behind;
        // The marker of the format is what lets the store be opened at all.
        if !key.is_empty() && key != b"format" {
            let keyspace = store.open_keyspace(name, Order::Bytes).unwrap();
            batch.put(keyspace, key, value).unwrap();
        }
    }
    store.begin(&Scope::Exclusive).unwrap();
    store.commit(&batch, &[]).unwrap();
}

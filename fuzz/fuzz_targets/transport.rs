//! What crosses between the engine and a store: batches, which a host reads, and pages, which the component reads. Input: a batch; or
//! a zero byte, a byte with the number of ends, the ends as two bytes each, and the page's bytes.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use orbweaver_engine::store::{Batch, BatchOp, KeyRange, Page};

fuzz_target!(|data: &[u8]| {
    if let [0, count, rest @ ..] = data {
        return read_page(*count, rest);
    }
    let Ok(batch) = Batch::from_bytes(data.to_vec()) else { return };
    let mut again = Batch::new();
    for op in batch.ops() {
        match op.unwrap() {
            BatchOp::Put { keyspace, key, value } => again.put(keyspace, key, value).unwrap(),
            BatchOp::Delete { keyspace, key } => again.delete(keyspace, key).unwrap(),
            BatchOp::DeleteRange { keyspace, start, end } => {
                // No end is the end of the keyspace, not the empty key.
                let end = (!end.is_empty()).then(|| end.to_vec());
                again.delete_range(keyspace, &KeyRange { start: start.to_vec(), after_start: false, end }).unwrap();
            }
        }
    }
    assert!(again.ops().eq(batch.ops()));
});

fn read_page(count: u8, rest: &[u8]) {
    let (ends, bytes) = rest.split_at(rest.len().min(usize::from(count) * 2));
    let ends = ends.chunks_exact(2).map(|end| u32::from(u16::from_be_bytes([end[0], end[1]]))).collect();
    let page = Page { bytes: Bytes::copy_from_slice(bytes), ends, more: false };
    let read: usize = page.records().map(|(key, value)| key.len() + value.len()).sum();
    assert!(read <= page.bytes.len());
    assert!(page.record(page.len()).is_none());
}

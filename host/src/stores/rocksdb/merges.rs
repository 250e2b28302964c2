//! Ardb's merge records, resolved as Ardb does.
//!
//! Ardb writes some changes as *operands* beside a value (section 7 of its format), which RocksDB folds together by an operator of the
//! name `ardb.merger`, in reads and in compactions, whose results it stores. What an operand means is the layout's knowledge; the engine that
//! is compiled into this host answers. What it cannot read is kept as it is, in the framing that the layout documents
//! (`layout/ardb/merge.rs`):
//!
//! ```text
//! 1e ff | length of the value (u32; ffffffff: there is none) | value | operand ...
//! operand = length (u32) | bytes
//! ```
//! Integers are little-endian, operands in the order in which they were written. No value and no operand begins with these two bytes:
//! `1e` begins operands, whose second byte is the low byte of one of Ardb's operations, and none of these is `ff`.

use bytes::Bytes;
use orbweaver_engine::layout::ardb::{merge, records};
use rocksdb::{MergeOperands, Options};

/// The name that Ardb's databases are opened with.
const NAME: &str = "ardb.merger";

const FRAME: [u8; 2] = [0x1e, 0xff];

/// Registers the operator.
pub fn set(options: &mut Options) {
    let keep = |_: &[u8], _: Option<&[u8]>, _: &MergeOperands| None;
    options.set_merge_operator(
        NAME,
        |key: &[u8], value: Option<&[u8]>, operands: &MergeOperands| resolve(key, value, operands.iter()),
        keep,
    );
}

/// What a record comes to.
fn resolve<'a>(key: &[u8], value: Option<&[u8]>, operands: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let gathered = Bytes::from(gather(value, operands)?);
    let folded = records::decode_prefix(&Bytes::copy_from_slice(key)).and_then(|(_, kind)| merge::folded(kind, &gathered));
    Some(folded.unwrap_or(gathered).into())
}

/// A value and its operands as one byte string. A value that has been gathered before gets the further operands.
fn gather<'a>(value: Option<&[u8]>, operands: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let mut gathered = match value {
        Some(gathered) if gathered.starts_with(&FRAME) => gathered.to_vec(),
        Some(value) => {
            let mut frame = FRAME.to_vec();
            push(&mut frame, value)?;
            frame
        }
        None => [FRAME.as_slice(), &u32::MAX.to_le_bytes()].concat(),
    };
    for operand in operands {
        push(&mut gathered, operand)?;
    }
    Some(gathered)
}

fn push(gathered: &mut Vec<u8>, piece: &[u8]) -> Option<()> {
    gathered.extend_from_slice(&u32::try_from(piece.len()).ok()?.to_le_bytes());
    gathered.extend_from_slice(piece);
    Some(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_value_and_its_operands_are_the_documented_bytes() {
        let operands: [&[u8]; 2] = [b"\x1e\x70\0", b"\x1e\x64\0\x01"];
        let expected = b"\x1e\xff\x02\0\0\0\x02v\x03\0\0\0\x1e\x70\0\x04\0\0\0\x1e\x64\0\x01";
        assert_eq!(gather(Some(b"\x02v"), operands.into_iter()).unwrap(), expected);
        let alone = b"\x1e\xff\xff\xff\xff\xff\x03\0\0\0\x1e\x70\0";
        assert_eq!(gather(None, operands.into_iter().take(1)).unwrap(), alone);
    }

    #[test]
    fn a_record_comes_to_the_value_that_ardb_would_store() {
        // SET k 1, APPEND k 2: the value is the text 12, as results of APPEND are.
        let (key, value) = (b"\x01k\x01\0", b"\x02\0\0\x01\x01\x02");
        let append = b"\x1e\x64\0\x01\x01\x04";
        assert_eq!(resolve(key, Some(value), [append.as_slice()].into_iter()).unwrap(), b"\x02\0\0\x01\x04\x0212");
    }

    #[test]
    fn operands_that_cannot_be_read_are_kept() {
        let (key, operand) = (b"\x01k\x01\0", b"\x1e\x01\x7f\0".as_slice());
        let kept = resolve(key, None, [operand].into_iter()).unwrap();
        assert_eq!(kept, [FRAME.as_slice(), &u32::MAX.to_le_bytes(), &4_u32.to_le_bytes(), operand].concat());
    }

    #[test]
    fn what_a_compaction_has_gathered_takes_further_operands() {
        let once = gather(Some(b"value"), [b"\x1e\x64".as_slice(), b"\x1e\x70"].into_iter());
        let first = gather(Some(b"value"), [b"\x1e\x64".as_slice()].into_iter()).unwrap();
        assert_eq!(gather(Some(&first), [b"\x1e\x70".as_slice()].into_iter()), once);
    }
}

//! Merge operations: what Ardb writes instead of a value where it does not look at the old one, and RocksDB applies when the record
//! is read (section 7 of the format document).
//!
//! The merge operator of the host's RocksDB stores what [`folded`] makes of the value and the operations. A record that it has not come to
//! reaches us in one of two forms: put together,
//! ```text
//! folded    = 1e ff | base length (u32) | base | operation ...    base length ffffffff: there is no base
//! operation = length (u32) | 1e | op (u16) | count | item ...
//! ```
//! or it is a single operation as Ardb wrote it, without the length. Integers are little-endian.
//!
//! An operation that does not fit the value (INCRBY on a text, SETXX on nothing) leaves it as it is: that is what Ardb does.

use super::data::{Item, take_items};
use super::records::{self, Contents, Head, Meta, record};
use crate::codec::{Flaw, Reader};
use crate::layout::Kind;
use crate::types::hyperloglog;
use bytes::{Bytes, BytesMut};
use std::mem;

/// The first byte of an operation, and of folded ones.
pub const MERGE: u8 = 30;
/// The second byte of folded operations. No operation has a number that begins with it.
pub const FOLDED: u8 = 0xff;
/// The length of a base that is not there.
pub const NO_BASE: u32 = u32::MAX;

/// Strings do not grow beyond this (SETRANGE, SETBIT).
const MAX_STRING_BYTES: usize = 512 << 20;

/// Numbers of operations: those of Ardb's commands. From 1001 on are those of its commands that always merge.
mod op {
    pub const PEXPIREAT: u16 = 55;
    pub const APPEND: [u16; 2] = [100, 1001];
    pub const SET: [u16; 3] = [102, 117, 1008];
    pub const DECR: [u16; 2] = [106, 1005];
    pub const DECRBY: [u16; 2] = [107, 1006];
    pub const INCR: [u16; 2] = [111, 1004];
    pub const INCRBY: [u16; 2] = [112, 1002];
    pub const INCRBYFLOAT: [u16; 2] = [113, 1003];
    pub const SETBIT: [u16; 2] = [118, 1028];
    pub const SETNX: [u16; 2] = [120, 1007];
    pub const SETRANGE: [u16; 2] = [121, 1009];
    pub const PFADD: [u16; 2] = [123, 1029];
    pub const SETXX: u16 = 126;
    pub const HINCR: [u16; 4] = [154, 155, 1013, 1014];
    pub const HSET: [u16; 2] = [160, 1010];
    pub const HSETNX: [u16; 2] = [161, 1011];
}

/// Numbers of the operations that write at an offset which they name: a few bytes may stand for half a gigabyte.
pub const WRITING_AT_AN_OFFSET: [[u16; 2]; 2] = [op::SETBIT, op::SETRANGE];

/// A value on the way through operations.
enum Value {
    Nothing,
    /// Of a meta record.
    Head(Head),
    /// Of a hash field.
    Field(Item),
}

/// The value of a record of this type without operations: the same where there are none, empty where they come to nothing.
///
/// # Errors
/// A flaw where the bytes are no operations, or there is an unknown one.
pub fn folded(kind: u8, value: &Bytes) -> Result<Bytes, Flaw> {
    let is_merged = value.first() == Some(&MERGE) && matches!(kind, record::META | record::FIELD);
    if !is_merged {
        return Ok(value.clone());
    }
    let mut reader = Reader::new(value);
    if value.get(1) != Some(&FOLDED) {
        let mut state = Value::Nothing;
        apply(&mut state, kind, &mut reader)?;
        reader.end()?;
        return Ok(encode(&state));
    }
    reader.take::<2>("operations are cut short")?;
    let base = match take_u32(&mut reader)? {
        NO_BASE => Bytes::new(),
        length => slice(&mut reader, length)?,
    };
    let mut state = decode(kind, &base)?;
    while reader.offset() < value.len() {
        let length = take_u32(&mut reader)?;
        let operation = slice(&mut reader, length)?;
        let mut operation = Reader::new(&operation);
        apply(&mut state, kind, &mut operation)?;
        operation.end()?;
    }
    Ok(encode(&state))
}

fn take_u32(reader: &mut Reader<'_>) -> Result<u32, Flaw> {
    reader.take("a length is cut short").map(u32::from_le_bytes)
}

fn slice(reader: &mut Reader<'_>, length: u32) -> Result<Bytes, Flaw> {
    reader.slice(usize::try_from(length).unwrap_or(usize::MAX), "operations are cut short")
}

/// The base of operations, which may be an operation in turn.
fn decode(kind: u8, base: &Bytes) -> Result<Value, Flaw> {
    if base.first() == Some(&MERGE) {
        let mut state = Value::Nothing;
        let mut reader = Reader::new(base);
        apply(&mut state, kind, &mut reader)?;
        reader.end()?;
        return Ok(state);
    }
    if base.is_empty() {
        return Ok(Value::Nothing);
    }
    if kind == record::FIELD {
        return records::decode_plain_value(record::FIELD, base).map(|[value]| Value::Field(value));
    }
    match records::decode_plain_meta(base)? {
        Meta::Head(head) => Ok(Value::Head(head)),
        Meta::Nothing => Ok(Value::Nothing),
        Meta::Stream => Err(Flaw { offset: 0, what: "operations on a stream" }),
    }
}

fn encode(state: &Value) -> Bytes {
    match state {
        Value::Nothing => Bytes::new(),
        Value::Head(head) => records::encode_meta(head),
        Value::Field(value) => records::encode_value(record::FIELD, [value]),
    }
}

/// Reads an operation and applies it.
fn apply(state: &mut Value, kind: u8, reader: &mut Reader<'_>) -> Result<(), Flaw> {
    let no_operation = reader.flaw("no merge operation");
    if reader.u8("an operation is missing")? != MERGE {
        return Err(no_operation);
    }
    let unknown = reader.flaw("an unknown merge operation");
    let op = u16::from_le_bytes(reader.take("an operation is cut short")?);
    let too_few = reader.flaw("a merge operation with too few items");
    let items = take_items(reader)?;
    let first = items.first();
    if op::INCR.contains(&op) || op::DECR.contains(&op) {
        let step = if op::INCR.contains(&op) { 1 } else { -1 };
        update_text(state, |text| added(text.as_deref(), &Item::Integer(step)));
        return Ok(());
    }
    let first = first.ok_or(too_few)?;
    match op {
        op::PEXPIREAT => expire(state, first),
        op::SETXX => set(state, first, |is_there| is_there),
        op if op::SET.contains(&op) => set(state, first, |_| true),
        op if op::SETNX.contains(&op) => set(state, first, |is_there| !is_there),
        op if op::APPEND.contains(&op) => update_text(state, |text| Some(appended(text, first))),
        op if op::INCRBY.contains(&op) => update_text(state, |text| added(text.as_deref(), first)),
        op if op::DECRBY.contains(&op) => update_text(state, |text| added(text.as_deref(), &negated(first)?)),
        op if op::INCRBYFLOAT.contains(&op) => update_text(state, |text| added_float(text.as_deref(), first)),
        op if op::SETBIT.contains(&op) => {
            let bit = items.get(1).ok_or(too_few)?;
            update_text(state, |text| with_bit(text, first, bit));
        }
        op if op::SETRANGE.contains(&op) => {
            let patch = items.get(1).ok_or(too_few)?;
            update_text(state, |text| patched(text, first, patch));
        }
        op if op::PFADD.contains(&op) => update_text(state, |text| sketched(text.as_deref(), &items)),
        op if op::HSET.contains(&op) => set_field(state, kind, first, false),
        op if op::HSETNX.contains(&op) => set_field(state, kind, first, true),
        op if op::HINCR.contains(&op) => add_to_field(state, first),
        _ => return Err(unknown),
    }
    Ok(())
}

/// Changes the text of a string, `None` where there is none yet. `change` returns `None` where it does not fit, and leaves the text as it
/// is; otherwise it may take the text apart, so that many operations on a long one do not copy it each.
fn update_text(state: &mut Value, change: impl FnOnce(Option<&mut Item>) -> Option<Item>) {
    match state {
        Value::Nothing => {
            if let Some(text) = change(None) {
                *state = Value::Head(Head { expire_at_ms: None, contents: Contents::Text(text) });
            }
        }
        Value::Head(Head { contents: Contents::Text(text), .. }) => {
            if let Some(changed) = change(Some(text)) {
                *text = changed;
            }
        }
        Value::Head(_) | Value::Field(_) => {}
    }
}

/// SET and its conditions. The expiry stays, also with PSETEX: Ardb leaves that of the operation aside.
fn set(state: &mut Value, text: &Item, condition: impl FnOnce(bool) -> bool) {
    update_text(state, |old| condition(old.is_some()).then(|| text.clone()));
}

fn expire(state: &mut Value, at_ms: &Item) {
    if let (Value::Head(head), Item::Integer(at_ms)) = (state, at_ms) {
        head.expire_at_ms = u64::try_from(*at_ms).ok().filter(|at_ms| *at_ms != 0);
    }
}

/// The text's bytes, in the place where they are if nobody else has them.
fn take_bytes(text: Option<&mut Item>) -> BytesMut {
    BytesMut::from(text.map_or(Item::Nil, |text| mem::replace(text, Item::Nil)).into_bytes())
}

fn appended(text: Option<&mut Item>, tail: &Item) -> Item {
    let mut bytes = take_bytes(text);
    bytes.extend_from_slice(&tail.clone().into_bytes());
    Item::Text(bytes.freeze())
}

/// An overflow wraps around, as in Ardb.
fn added(number: Option<&Item>, step: &Item) -> Option<Item> {
    match (number.unwrap_or(&Item::Integer(0)), step) {
        (Item::Integer(number), Item::Integer(step)) => Some(Item::Integer(number.wrapping_add(*step))),
        _ => None,
    }
}

fn added_float(number: Option<&Item>, step: &Item) -> Option<Item> {
    let number = number.map_or(Some(0.0), Item::number)?;
    Some(Item::Float(number + step.number()?))
}

fn negated(step: &Item) -> Option<Item> {
    match step {
        Item::Integer(step) => Some(Item::Integer(step.wrapping_neg())),
        _ => None,
    }
}

fn position(item: &Item) -> Option<usize> {
    match item {
        Item::Integer(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}

fn with_bit(text: Option<&mut Item>, offset: &Item, bit: &Item) -> Option<Item> {
    let (offset, bit) = (position(offset).filter(|offset| offset / 8 < MAX_STRING_BYTES)?, position(bit)?);
    let mut bytes = take_bytes(text);
    if bytes.len() <= offset / 8 {
        bytes.resize(offset / 8 + 1, 0);
    }
    let byte = bytes.get_mut(offset / 8)?;
    let mask = 0x80 >> (offset % 8);
    *byte = if bit == 0 { *byte & !mask } else { *byte | mask };
    Some(Item::Text(bytes.freeze()))
}

fn patched(text: Option<&mut Item>, offset: &Item, patch: &Item) -> Option<Item> {
    let (start, patch) = (position(offset)?, patch.clone().into_bytes());
    let end = start.checked_add(patch.len()).filter(|end| *end <= MAX_STRING_BYTES)?;
    let mut bytes = take_bytes(text);
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes.get_mut(start..end)?.copy_from_slice(&patch);
    Some(Item::Text(bytes.freeze()))
}

fn sketched(text: Option<&Item>, elements: &[Item]) -> Option<Item> {
    let sketch = text.map(|text| text.clone().into_bytes());
    let elements: Vec<Bytes> = elements.iter().map(|element| element.clone().into_bytes()).collect();
    hyperloglog::with_elements(sketch.as_ref(), &elements).ok().flatten().map(Item::Text)
}

/// HSET and HSETNX go to the field with its value, HSETNX also to the meta record, with 1 for a new hash.
fn set_field(state: &mut Value, kind: u8, item: &Item, only_if_new: bool) {
    match state {
        Value::Nothing if kind == record::META => {
            let size = if let Item::Integer(size) = item { u64::try_from(*size).ok() } else { None };
            let contents = Contents::Collection { kind: Kind::Hash, size, is_sequential: false, bounds: None };
            *state = Value::Head(Head { expire_at_ms: None, contents });
        }
        Value::Nothing => *state = Value::Field(item.clone()),
        Value::Head(Head { contents: Contents::Collection { kind: Kind::Hash, size, .. }, .. }) => *size = None,
        Value::Field(value) if !only_if_new => *value = item.clone(),
        Value::Head(_) | Value::Field(_) => {}
    }
}

fn add_to_field(state: &mut Value, step: &Item) {
    let sum = match (&*state, step) {
        (Value::Nothing, step) => step.number().map(|_| step.clone()),
        (Value::Field(value), Item::Integer(_)) => added(Some(value), step),
        (Value::Field(value), step) => added_float(Some(value), step),
        (Value::Head(_), _) => None,
    };
    if let Some(sum) = sum {
        *state = Value::Field(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::ardb::data::{put_items, put_signed};
    use bytes::BufMut;

    fn operation(op: u16, items: &[Item]) -> Bytes {
        let mut bytes = BytesMut::new();
        bytes.put_u8(MERGE);
        bytes.put_u16_le(op);
        put_items(&mut bytes, items.iter());
        bytes.freeze()
    }

    fn fold(base: Option<&Bytes>, operations: &[Bytes]) -> Bytes {
        let mut bytes = BytesMut::from(&[MERGE, FOLDED][..]);
        bytes.put_u32_le(base.map_or(NO_BASE, |base| u32::try_from(base.len()).unwrap()));
        bytes.put_slice(base.map_or(b"", |base| base));
        for operation in operations {
            bytes.put_u32_le(u32::try_from(operation.len()).unwrap());
            bytes.put_slice(operation);
        }
        bytes.freeze()
    }

    fn text(text: &[u8]) -> Item {
        Item::text(text)
    }

    /// What a string is after an operation; empty where it is not there.
    fn string_after(base: Option<Item>, op: u16, items: &[Item]) -> Option<Item> {
        let base = base.map(|text| records::encode_meta(&Head { expire_at_ms: Some(7), contents: Contents::Text(text) }));
        let folded = folded(record::META, &fold(base.as_ref(), &[operation(op, items)])).unwrap();
        match records::decode_plain_meta(&folded).unwrap() {
            Meta::Head(Head { expire_at_ms, contents: Contents::Text(text) }) => {
                assert_eq!(expire_at_ms, base.map(|_| 7));
                Some(text)
            }
            Meta::Nothing => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn operations_on_strings_do_what_their_commands_do() {
        let int = Item::Integer;
        /// What was there, the operation, its arguments, and what is there then.
        type Case<'a> = (Option<Item>, u16, &'a [Item], Option<Item>);
        let cases: [Case<'_>; 25] = [
            (None, 102, &[text(b"a")], Some(text(b"a"))),
            (Some(text(b"old")), 1008, &[int(5)], Some(int(5))),
            (Some(text(b"old")), 117, &[text(b"a"), int(99)], Some(text(b"a"))),
            (None, 120, &[text(b"a")], Some(text(b"a"))),
            (Some(text(b"old")), 1007, &[text(b"a")], Some(text(b"old"))),
            (None, 126, &[text(b"a")], None),
            (Some(int(1)), 126, &[text(b"a")], Some(text(b"a"))),
            (Some(int(12)), 100, &[text(b"x")], Some(text(b"12x"))),
            (None, 1001, &[text(b"x")], Some(text(b"x"))),
            (None, 112, &[int(-3)], Some(int(-3))),
            (Some(int(4)), 1002, &[int(5)], Some(int(9))),
            (Some(int(i64::MAX)), 112, &[int(1)], Some(int(i64::MIN))),
            (Some(text(b"x")), 112, &[int(5)], Some(text(b"x"))),
            (Some(int(4)), 111, &[int(1)], Some(int(5))),
            (Some(int(4)), 106, &[], Some(int(3))),
            (Some(int(4)), 1006, &[int(10)], Some(int(-6))),
            (Some(int(4)), 113, &[Item::Float(0.5)], Some(Item::Float(4.5))),
            (None, 1003, &[Item::Float(0.5)], Some(Item::Float(0.5))),
            (Some(text(b"abc")), 121, &[int(2), text(b"XY")], Some(text(b"abXY"))),
            (None, 1009, &[int(1), text(b"X")], Some(text(b"\0X"))),
            (Some(text(b"abc")), 121, &[int(-1), text(b"X")], Some(text(b"abc"))),
            (None, 118, &[int(9), int(1)], Some(text(b"\0\x40"))),
            (Some(text(b"\xff")), 1028, &[int(0), int(0)], Some(text(b"\x7f"))),
            (Some(text(b"\xff")), 118, &[int(1 << 33), int(1)], Some(text(b"\xff"))),
            (Some(text(b"no sketch")), 123, &[text(b"a")], Some(text(b"no sketch"))),
        ];
        for (base, op, items, expected) in cases {
            assert_eq!(string_after(base.clone(), op, items), expected, "{base:?} {op} {items:?}");
        }
    }

    #[test]
    fn operations_on_a_long_text_change_it_where_it_is() {
        let long = Bytes::from(vec![b'a'; 1 << 20]);
        let (place, mut state) = (long.as_ptr(), Value::Head(Head { expire_at_ms: None, contents: Contents::Text(Item::Text(long)) }));
        let int = Item::Integer;
        for (op, items) in [(121, [int(2), text(b"XY")]), (118, [int(1), int(0)]), (121, [int(-1), text(b"X")]), (112, [int(1), int(1)])] {
            apply(&mut state, record::META, &mut Reader::new(&operation(op, &items))).unwrap();
        }
        let Value::Head(Head { contents: Contents::Text(Item::Text(changed)), .. }) = state else { panic!("no text") };
        assert_eq!((changed.as_ptr(), changed.len(), &changed[..5]), (place, 1 << 20, &b"!aXYa"[..]));
    }

    #[test]
    fn elements_are_added_to_a_sketch_as_pfadd_does() {
        let elements = [text(b"a"), Item::Integer(7)];
        let once = string_after(None, 123, &elements).unwrap();
        let again = string_after(Some(once.clone()), 1029, &elements).unwrap();
        assert!(once.clone().into_bytes().starts_with(b"HYLL"));
        assert_eq!(again, once);
    }

    #[test]
    fn operations_on_meta_records_keep_what_they_do_not_change() {
        let hash = |expire_at_ms, size| {
            let contents = Contents::Collection { kind: Kind::Hash, size, is_sequential: false, bounds: None };
            records::encode_meta(&Head { expire_at_ms, contents })
        };
        let base = hash(None, Some(3));
        let after = |base: Option<&Bytes>, operations: &[Bytes]| folded(record::META, &fold(base, operations)).unwrap();
        assert_eq!(after(Some(&base), &[operation(55, &[Item::Integer(99)])]), hash(Some(99), Some(3)));
        assert_eq!(after(Some(&base), &[operation(102, &[text(b"a")])]), base, "no string takes its place");
        assert_eq!(after(Some(&base), &[operation(161, &[Item::Integer(1)])]), hash(None, None));
        let new = [operation(161, &[Item::Integer(1)]), operation(55, &[Item::Integer(99)])];
        assert_eq!(after(None, &new), hash(Some(99), Some(1)));
        assert_eq!(after(None, &[operation(55, &[Item::Integer(99)])]), Bytes::new(), "nothing expires");
    }

    #[test]
    fn operations_on_fields_do_what_their_commands_do() {
        let int = Item::Integer;
        let cases = [
            (None, 160, text(b"a"), Some(text(b"a"))),
            (Some(int(1)), 1010, text(b"a"), Some(text(b"a"))),
            (Some(int(1)), 1011, text(b"a"), Some(int(1))),
            (None, 161, int(8), Some(int(8))),
            (None, 154, int(8), Some(int(8))),
            (Some(int(1)), 1013, int(8), Some(int(9))),
            (Some(text(b"x")), 154, int(8), Some(text(b"x"))),
            (Some(int(1)), 155, Item::Float(0.5), Some(Item::Float(1.5))),
            (None, 1014, Item::Float(0.5), Some(Item::Float(0.5))),
        ];
        for (base, op, item, expected) in cases {
            let bytes = base.as_ref().map(|value| records::encode_value(record::FIELD, [value]));
            let folded = folded(record::FIELD, &fold(bytes.as_ref(), &[operation(op, std::slice::from_ref(&item))])).unwrap();
            let after = records::decode_plain_value(record::FIELD, &folded).ok().map(|[value]: [Item; 1]| value);
            assert_eq!(after, expected, "{base:?} {op} {item:?}");
        }
    }

    #[test]
    fn operations_apply_in_their_order_also_one_alone_and_as_the_base() {
        let int = Item::Integer;
        let [set, add, append] = [operation(102, &[int(5)]), operation(112, &[int(2)]), operation(100, &[text(b"!")])];
        let expected = |text: Item| records::encode_meta(&Head { expire_at_ms: None, contents: Contents::Text(text) });
        assert_eq!(folded(record::META, &set), Ok(expected(int(5))));
        assert_eq!(folded(record::META, &fold(None, &[set.clone(), add.clone(), append.clone()])), Ok(expected(text(b"7!"))));
        assert_eq!(folded(record::META, &fold(Some(&set), &[add, append])), Ok(expected(text(b"7!"))));
        // The bytes of the document: op 112 is 70 00.
        let mut golden = BytesMut::from(&[0x1e, 0x70, 0x00, 0x01, 0x01][..]);
        put_signed(&mut golden, 2);
        assert_eq!(folded(record::META, &golden.freeze()), Ok(expected(int(2))));
    }

    #[test]
    fn what_is_no_operation_is_refused() {
        let whole = fold(Some(&records::encode_value(record::FIELD, [&Item::Nil])), &[operation(160, &[text(b"a")])]);
        for cut in 1..whole.len() {
            let is_whole = cut == 9;
            assert_eq!(folded(record::FIELD, &whole.slice(..cut)).is_ok(), is_whole, "{cut}");
        }
        let wrong = [operation(9, &[text(b"a")]), operation(102, &[]), operation(121, &[Item::Integer(1)])];
        for operation in wrong {
            assert!(folded(record::META, &operation).is_err(), "{operation:02x?}");
            assert!(folded(record::META, &fold(None, &[operation])).is_err());
        }
        let stream = Bytes::from_static(&[12, 0, 0]);
        assert!(folded(record::META, &fold(Some(&stream), &[operation(55, &[Item::Integer(1)])])).is_err());
        // Other records have none.
        assert_eq!(folded(record::SCORE, &whole), Ok(whole));
    }
}

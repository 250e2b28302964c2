//! Strings.

use orbweaver_engine::resp::Value;

use super::{Model, NOT_AN_INTEGER, Reply, Word, bulk, bulk_or_null, integer, number, ok, positions, stored_integer};

pub fn apply(model: &mut Model, words: &[&[u8]]) -> Option<Reply> {
    Some(match words {
        [b"SET", key, value, b"PXAT", at] => set(model, key, value, Some(number(at))),
        [b"SET", key, value] => set(model, key, value, None),
        [b"GET", key] => model.find::<Word>(key).and_then(bulk_or_null),
        [b"GETDEL", key] => get_del(model, key),
        [b"STRLEN", key] => model.read::<Word>(key).and_then(|value| integer(value.len())),
        [b"APPEND", key, tail] => append(model, key, tail),
        [b"GETRANGE", key, start, stop] => model.read::<Word>(key).map(|value| bulk(value[range(start, stop, value.len())].to_vec())),
        [b"SETRANGE", key, offset, piece] => set_range(model, key, number(offset), piece),
        [b"INCRBY", key, by] => increment(model, key, number(by)),
        [b"SETBIT", key, offset, bit] => set_bit(model, key, number(offset), *bit == b"1"),
        [b"BITCOUNT", key] => {
            model.read::<Word>(key).map(|value| Value::Integer(value.iter().map(|byte| i64::from(byte.count_ones())).sum()))
        }
        _ => return None,
    })
}

fn set(model: &mut Model, key: &[u8], value: &[u8], expire_at_ms: Option<u64>) -> Reply {
    model.put(key, value.to_vec(), expire_at_ms);
    if expire_at_ms.is_some_and(|at| at < model.now_ms) {
        model.keys.remove(key);
    }
    ok()
}

fn get_del(model: &mut Model, key: &[u8]) -> Reply {
    let value = model.find::<Word>(key)?;
    model.keys.remove(key);
    bulk_or_null(value)
}

fn append(model: &mut Model, key: &[u8], tail: &[u8]) -> Reply {
    let value = [model.read::<Word>(key)?.as_slice(), tail].concat();
    let length = value.len();
    model.update(key, value);
    integer(length)
}

/// Here a stop before the start of the value is its first byte, unless it is before the start of the range, too.
fn range(start: &[u8], stop: &[u8], length: usize) -> std::ops::Range<usize> {
    let (first, last): (i64, i64) = (number(start), number(stop));
    if first < 0 && last < first {
        return 0..0;
    }
    let reach = i64::try_from(length).expect("a size");
    positions(start, last.max(-reach).to_string().as_bytes(), length)
}

fn set_range(model: &mut Model, key: &[u8], offset: usize, piece: &[u8]) -> Reply {
    let mut value = model.read::<Word>(key)?;
    if !piece.is_empty() {
        let end = offset + piece.len();
        value.resize(value.len().max(end), 0);
        value[offset..end].copy_from_slice(piece);
        model.update(key, value.clone());
    }
    integer(value.len())
}

fn increment(model: &mut Model, key: &[u8], by: i64) -> Reply {
    let old = model.find::<Word>(key)?.map_or(Ok(0), |value| stored_integer(&value)).map_err(|_| NOT_AN_INTEGER)?;
    let new = old.checked_add(by).ok_or("ERR increment or decrement would overflow")?;
    model.update(key, new.to_string().into_bytes());
    Ok(Value::Integer(new))
}

fn set_bit(model: &mut Model, key: &[u8], offset: usize, bit: bool) -> Reply {
    let mut value = model.read::<Word>(key)?;
    value.resize(value.len().max(offset / 8 + 1), 0);
    let mask = 0x80 >> (offset % 8);
    let before = value[offset / 8] & mask != 0;
    value[offset / 8] = if bit { value[offset / 8] | mask } else { value[offset / 8] & !mask };
    model.update(key, value);
    integer(usize::from(before))
}

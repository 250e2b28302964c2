//! Lists.

use orbweaver_engine::resp::Value;

use super::{List, Model, Reply, Word, bulk, bulk_or_null, bulks, integer, number, ok, positions};

pub fn apply(model: &mut Model, words: &[&[u8]]) -> Option<Reply> {
    Some(match words {
        [b"LPUSH", key, elements @ ..] => push(model, key, elements, true),
        [b"RPUSH", key, elements @ ..] => push(model, key, elements, false),
        [b"LPOP", key, count] => pop(model, key, number(count), true),
        [b"RPOP", key, count] => pop(model, key, number(count), false),
        [b"LLEN", key] => model.read::<List>(key).and_then(|list| integer(list.len())),
        [b"LINDEX", key, position] => model.read::<List>(key).and_then(|list| {
            let at = positions(position, position, list.len());
            bulk_or_null(list.range(at).next().cloned())
        }),
        [b"LSET", key, position, element] => set(model, key, position, element),
        [b"LRANGE", key, start, stop] => {
            model.read::<List>(key).and_then(|list| bulks(list.range(positions(start, stop, list.len())).cloned()))
        }
        [b"LTRIM", key, start, stop] => model.read::<List>(key).and_then(|list| {
            let kept: List = list.range(positions(start, stop, list.len())).cloned().collect();
            model.update(key, kept);
            ok()
        }),
        [b"LINSERT", key, place, pivot, element] => insert(model, key, *place == b"BEFORE", pivot, element),
        [b"LREM", key, count, element] => remove(model, key, number(count), element),
        [b"LMOVE", from, to, b"LEFT", b"RIGHT"] => move_element(model, from, to, true),
        [b"LMOVE", from, to, b"RIGHT", b"LEFT"] => move_element(model, from, to, false),
        _ => return None,
    })
}

fn push(model: &mut Model, key: &[u8], elements: &[&[u8]], head: bool) -> Reply {
    let mut list = model.read::<List>(key)?;
    for element in elements {
        if head { list.push_front(element.to_vec()) } else { list.push_back(element.to_vec()) }
    }
    let length = list.len();
    model.update(key, list);
    integer(length)
}

fn pop(model: &mut Model, key: &[u8], count: usize, head: bool) -> Reply {
    let Some(mut list) = model.find::<List>(key)? else { return Ok(Value::NullArray) };
    let popped: Vec<Word> = (0..count).map_while(|_| if head { list.pop_front() } else { list.pop_back() }).collect();
    model.update(key, list);
    bulks(popped)
}

fn set(model: &mut Model, key: &[u8], position: &[u8], element: &[u8]) -> Reply {
    let mut list = model.find::<List>(key)?.ok_or("ERR no such key")?;
    let at = positions(position, position, list.len());
    let place = list.range_mut(at).next().ok_or("ERR index out of range")?;
    *place = element.to_vec();
    model.update(key, list);
    ok()
}

fn insert(model: &mut Model, key: &[u8], before: bool, pivot: &[u8], element: &[u8]) -> Reply {
    let Some(mut list) = model.find::<List>(key)? else { return integer(0) };
    let Some(found) = list.iter().position(|own| own == pivot) else { return Ok(Value::Integer(-1)) };
    list.insert(if before { found } else { found + 1 }, element.to_vec());
    let length = list.len();
    model.update(key, list);
    integer(length)
}

fn remove(model: &mut Model, key: &[u8], count: i64, element: &[u8]) -> Reply {
    let list = model.read::<List>(key)?;
    let length = list.len();
    let mut left = if count == 0 { u64::MAX } else { count.unsigned_abs() };
    let mut stays = |own: &Word| {
        let goes = own == element && left > 0;
        left -= u64::from(goes);
        !goes
    };
    let kept: List = if count < 0 {
        let kept: List = list.into_iter().rev().filter(|own| stays(own)).collect();
        kept.into_iter().rev().collect()
    } else {
        list.into_iter().filter(|own| stays(own)).collect()
    };
    let removed = length - kept.len();
    model.update(key, kept);
    integer(removed)
}

/// From the head of one to the tail of the other, or the other way round.
fn move_element(model: &mut Model, from: &[u8], to: &[u8], from_head: bool) -> Reply {
    let Some(mut list) = model.find::<List>(from)? else { return Ok(Value::Null) };
    model.read::<List>(to)?;
    let element = if from_head { list.pop_front() } else { list.pop_back() }.expect("no list is empty");
    if from == to {
        if from_head {
            list.push_back(element.clone())
        } else {
            list.push_front(element.clone())
        }
        model.update(from, list);
    } else {
        model.update(from, list);
        push(model, to, &[&element], !from_head)?;
    }
    Ok(bulk(element))
}

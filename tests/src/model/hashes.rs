//! Hashes.

use orbweaver_engine::resp::Value;

use super::{Hash, Model, Reply, bulk_or_null, bulks, integer, number, stored_integer, truth};

pub fn apply(model: &mut Model, words: &[&[u8]]) -> Option<Reply> {
    Some(match words {
        [b"HSET", key, pairs @ ..] => set(model, key, pairs),
        [b"HSETNX", key, field, value] => set_new(model, key, field, value),
        [b"HGET", key, field] => model.read::<Hash>(key).and_then(|hash| bulk_or_null(hash.get(*field).cloned())),
        [b"HEXISTS", key, field] => model.read::<Hash>(key).and_then(|hash| truth(hash.contains_key(*field))),
        [b"HLEN", key] => model.read::<Hash>(key).and_then(|hash| integer(hash.len())),
        [b"HDEL", key, fields @ ..] => delete(model, key, fields),
        [b"HINCRBY", key, field, by] => increment(model, key, field, number(by)),
        [b"HGETALL", key] => model.read::<Hash>(key).and_then(|hash| bulks(hash.into_iter().flat_map(|(field, value)| [field, value]))),
        _ => return None,
    })
}

fn set(model: &mut Model, key: &[u8], pairs: &[&[u8]]) -> Reply {
    let mut hash = model.read::<Hash>(key)?;
    let pairs = pairs.chunks(2);
    let added = pairs.filter(|pair| hash.insert(pair[0].to_vec(), pair[1].to_vec()).is_none()).count();
    model.update(key, hash);
    integer(added)
}

fn set_new(model: &mut Model, key: &[u8], field: &[u8], value: &[u8]) -> Reply {
    let mut hash = model.read::<Hash>(key)?;
    let is_new = !hash.contains_key(field);
    if is_new {
        hash.insert(field.to_vec(), value.to_vec());
        model.update(key, hash);
    }
    truth(is_new)
}

fn delete(model: &mut Model, key: &[u8], fields: &[&[u8]]) -> Reply {
    let mut hash = model.read::<Hash>(key)?;
    let removed = fields.iter().filter(|field| hash.remove(**field).is_some()).count();
    model.update(key, hash);
    integer(removed)
}

fn increment(model: &mut Model, key: &[u8], field: &[u8], by: i64) -> Reply {
    let mut hash = model.read::<Hash>(key)?;
    let old = hash.get(field).map_or(Ok(0), |value| stored_integer(value)).map_err(|_| "ERR hash value is not an integer")?;
    let new = old.checked_add(by).ok_or("ERR increment or decrement would overflow")?;
    hash.insert(field.to_vec(), new.to_string().into_bytes());
    model.update(key, hash);
    Ok(Value::Integer(new))
}

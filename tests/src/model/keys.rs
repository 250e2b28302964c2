//! Keys of any type.

use orbweaver_engine::resp::Value;

use super::{Held, Model, Reply, bulks, integer, number, ok, truth};

pub fn apply(model: &mut Model, words: &[&[u8]]) -> Option<Reply> {
    Some(match words {
        [b"DEL", keys @ ..] => integer(keys.iter().filter(|key| model.keys.remove(**key).is_some()).count()),
        [b"EXISTS", keys @ ..] => integer(keys.iter().filter(|key| model.keys.contains_key(**key)).count()),
        [b"DBSIZE"] => integer(model.keys.len()),
        [b"KEYS", b"*"] => bulks(model.keys.keys().cloned()),
        [b"TYPE", key] => Ok(Value::Simple(model.keys.get(*key).map_or("none", |entry| name(&entry.held)).into())),
        [b"FLUSHDB"] => {
            model.keys.clear();
            ok()
        }
        [b"RENAME", from, to] => rename(model, from, to),
        [b"COPY", from, to, b"REPLACE"] => truth(copy(model, from, to)),
        [b"COPY", from, to] => truth(!model.keys.contains_key(*to) && copy(model, from, to)),
        [b"PEXPIREAT", key, at] => truth(expire_at(model, key, number(at))),
        [b"PERSIST", key] => truth(model.keys.get_mut(*key).is_some_and(|entry| entry.expire_at_ms.take().is_some())),
        [b"PEXPIRETIME", key] => Ok(Value::Integer(match model.keys.get(*key) {
            None => -2,
            Some(entry) => entry.expire_at_ms.map_or(-1, |at| i64::try_from(at).expect("a time")),
        })),
        _ => return None,
    })
}

const fn name(held: &Held) -> &'static str {
    match held {
        Held::String(_) => "string",
        Held::Hash(_) => "hash",
        Held::List(_) => "list",
        Held::Set(_) => "set",
        Held::SortedSet(_) => "zset",
    }
}

fn rename(model: &mut Model, from: &[u8], to: &[u8]) -> Reply {
    let entry = model.keys.remove(from).ok_or("ERR no such key")?;
    model.keys.insert(to.to_vec(), entry);
    ok()
}

fn copy(model: &mut Model, from: &[u8], to: &[u8]) -> bool {
    let entry = model.keys.get(from).cloned();
    entry.map(|entry| model.keys.insert(to.to_vec(), entry)).is_some()
}

fn expire_at(model: &mut Model, key: &[u8], at_ms: u64) -> bool {
    let Some(entry) = model.keys.get_mut(key) else { return false };
    entry.expire_at_ms = Some(at_ms);
    if at_ms <= model.rules.base_ms(model.now_ms) {
        model.keys.remove(key);
    }
    true
}

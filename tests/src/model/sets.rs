//! Sets.

use super::{Model, Reply, Set, bulks, integer, truth};

pub fn apply(model: &mut Model, words: &[&[u8]]) -> Option<Reply> {
    Some(match words {
        [b"SADD", key, members @ ..] => change(model, key, |set| members.iter().filter(|member| set.insert(member.to_vec())).count()),
        [b"SREM", key, members @ ..] => change(model, key, |set| members.iter().filter(|member| set.remove(**member)).count()),
        [b"SCARD", key] => model.read::<Set>(key).and_then(|set| integer(set.len())),
        [b"SISMEMBER", key, member] => model.read::<Set>(key).and_then(|set| truth(set.contains(*member))),
        [b"SMEMBERS", key] => model.read::<Set>(key).and_then(bulks),
        [b"SMOVE", from, to, member] => move_member(model, from, to, member),
        [b"SINTERSTORE", target, one, two] => store(model, target, [one, two], |one, two| one & two),
        [b"SUNIONSTORE", target, one, two] => store(model, target, [one, two], |one, two| one | two),
        [b"SDIFFSTORE", target, one, two] => store(model, target, [one, two], |one, two| one - two),
        _ => return None,
    })
}

fn change(model: &mut Model, key: &[u8], work: impl FnOnce(&mut Set) -> usize) -> Reply {
    let mut set = model.read::<Set>(key)?;
    let changed = work(&mut set);
    model.update(key, set);
    integer(changed)
}

fn move_member(model: &mut Model, from: &[u8], to: &[u8], member: &[u8]) -> Reply {
    let Some(mut source) = model.find::<Set>(from)? else { return truth(false) };
    let mut target = model.read::<Set>(to)?;
    let is_there = source.contains(member);
    if is_there && from != to {
        source.remove(member);
        target.insert(member.to_vec());
        model.update(from, source);
        model.update(to, target);
    }
    truth(is_there)
}

fn store(model: &mut Model, target: &[u8], keys: [&[u8]; 2], combine: impl FnOnce(&Set, &Set) -> Set) -> Reply {
    let combined = combine(&model.read(keys[0])?, &model.read(keys[1])?);
    let size = combined.len();
    model.put(target, combined, None);
    integer(size)
}

//! Sorted sets.

use orbweaver_engine::number::{format_double, parse_double};
use orbweaver_engine::resp::Value;

use super::{Held, Model, Reply, Score, SortedSet, WRONG_TYPE, Word, bulk, bulk_or_null, bulks, integer, number, positions};

pub fn apply(model: &mut Model, words: &[&[u8]]) -> Option<Reply> {
    Some(match words {
        [b"ZADD", key, pairs @ ..] => add(model, key, pairs),
        [b"ZINCRBY", key, by, member] => increment(model, key, score(by), member),
        [b"ZREM", key, members @ ..] => model.read::<SortedSet>(key).and_then(|mut set| {
            let removed = members.iter().filter(|member| set.remove(**member).is_some()).count();
            model.update(key, set);
            integer(removed)
        }),
        [b"ZCARD", key] => model.read::<SortedSet>(key).and_then(|set| integer(set.len())),
        [b"ZSCORE", key, member] => model.read::<SortedSet>(key).and_then(|set| bulk_or_null(set.get(*member).map(|score| text(*score)))),
        [b"ZRANK", key, member] => model.read::<SortedSet>(key).map(|set| {
            let rank = ordered(&set).iter().position(|(own, _)| own == member);
            rank.map_or(Value::Null, |rank| Value::Integer(i64::try_from(rank).expect("a size")))
        }),
        [b"ZRANGE", key, start, stop, b"WITHSCORES"] => {
            model.read::<SortedSet>(key).and_then(|set| with_scores(&ordered(&set)[positions(start, stop, set.len())]))
        }
        [b"ZRANGEBYSCORE", key, low, high, b"WITHSCORES"] => {
            model.read::<SortedSet>(key).and_then(|set| with_scores(&between(&set, score(low), score(high))))
        }
        [b"ZREMRANGEBYSCORE", key, low, high] => {
            model.read::<SortedSet>(key).and_then(|set| take(model, key, &between(&set, score(low), score(high))))
        }
        [b"ZREMRANGEBYRANK", key, start, stop] => {
            model.read::<SortedSet>(key).and_then(|set| take(model, key, &ordered(&set)[positions(start, stop, set.len())]))
        }
        [b"ZPOPMIN", key, count] => pop(model, key, number(count), |_| {}),
        [b"ZPOPMAX", key, count] => pop(model, key, number(count), |members| members.reverse()),
        [b"ZUNIONSTORE", target, b"2", one, two] => union(model, target, one, two),
        _ => return None,
    })
}

fn score(word: &[u8]) -> f64 {
    parse_double(word).expect("a score of the generator's")
}

fn text(Score(score): Score) -> Word {
    format_double(score).into_bytes()
}

/// The members by score and name. Both zeros are the same score.
fn ordered(set: &SortedSet) -> Vec<(Word, Score)> {
    let mut members: Vec<(Word, Score)> = set.iter().map(|(member, score)| (member.clone(), *score)).collect();
    members.sort_by(|(_, one), (_, two)| one.0.partial_cmp(&two.0).expect("no score is NaN"));
    members
}

fn between(set: &SortedSet, low: f64, high: f64) -> Vec<(Word, Score)> {
    ordered(set).into_iter().filter(|(_, Score(own))| low <= *own && *own <= high).collect()
}

fn with_scores(members: &[(Word, Score)]) -> Reply {
    bulks(members.iter().flat_map(|(member, score)| [member.clone(), text(*score)]))
}

/// Gives a member a score, and tells whether it is new. A score that is equal stays as it is: 0 does not become -0.
fn put(set: &mut SortedSet, member: &[u8], score: f64) -> bool {
    let old = set.get(member).copied();
    if old.is_none_or(|Score(old)| old != score) {
        set.insert(member.to_vec(), Score(score));
    }
    old.is_none()
}

fn add(model: &mut Model, key: &[u8], pairs: &[&[u8]]) -> Reply {
    let mut set = model.read::<SortedSet>(key)?;
    let added = pairs.chunks(2).filter(|pair| put(&mut set, pair[1], score(pair[0]))).count();
    model.update(key, set);
    integer(added)
}

fn increment(model: &mut Model, key: &[u8], by: f64, member: &[u8]) -> Reply {
    let mut set = model.read::<SortedSet>(key)?;
    let sum = set.get(member).map_or(by, |Score(old)| old + by);
    if sum.is_nan() {
        return Err("ERR resulting score is not a number (NaN)");
    }
    put(&mut set, member, sum);
    model.update(key, set);
    Ok(bulk(text(Score(sum))))
}

fn take(model: &mut Model, key: &[u8], members: &[(Word, Score)]) -> Reply {
    let mut set = model.read::<SortedSet>(key)?;
    set.retain(|own, _| members.iter().all(|(member, _)| member != own));
    model.update(key, set);
    integer(members.len())
}

fn pop(model: &mut Model, key: &[u8], count: usize, order: impl FnOnce(&mut Vec<(Word, Score)>)) -> Reply {
    let mut members = ordered(&model.read::<SortedSet>(key)?);
    order(&mut members);
    members.truncate(count);
    take(model, key, &members)?;
    with_scores(&members)
}

/// The sums of scores; members of sets count 1.
fn union(model: &mut Model, target: &[u8], one: &[u8], two: &[u8]) -> Reply {
    let mut sums = scored(model, one)?;
    for (member, Score(score)) in scored(model, two)? {
        let sum = sums.entry(member).and_modify(|Score(sum)| *sum += score).or_insert(Score(score));
        // Infinities of both signs make 0.
        sum.0 = if sum.0.is_nan() { 0.0 } else { sum.0 };
    }
    let size = sums.len();
    model.put(target, sums, None);
    integer(size)
}

fn scored(model: &Model, key: &[u8]) -> Result<SortedSet, &'static str> {
    match model.keys.get(key).map(|entry| &entry.held) {
        None => Ok(SortedSet::new()),
        Some(Held::SortedSet(set)) => Ok(set.clone()),
        Some(Held::Set(set)) => Ok(set.iter().map(|member| (member.clone(), Score(1.0))).collect()),
        Some(_) => Err(WRONG_TYPE),
    }
}

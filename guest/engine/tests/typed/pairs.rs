//! Operations at random, each with the command that does the same.

use bytes::Bytes;
use orbweaver_engine::environment::Environment;
use orbweaver_engine::layout::Kind;
use orbweaver_engine::scan::Filter;
use orbweaver_engine::store::Direction;
use orbweaver_engine::typed::Operation;
use orbweaver_engine::typed::hashes::{self, Action as Hash};
use orbweaver_engine::typed::keys::Operation as Keys;
use orbweaver_engine::typed::lists::{self, Action as List};
use orbweaver_engine::typed::sets::{Action as Set, Operation as Sets};
use orbweaver_engine::typed::sorted_sets::{Action as Sorted, Combination, Operation as SortedSets};
use orbweaver_engine::typed::strings::{Action as Text, Operation as Strings};
use orbweaver_engine::types::draw::Draw;
use orbweaver_engine::types::keys::ExpireOnly;
use orbweaver_engine::types::lists::{End, Search, Side};
use orbweaver_engine::types::set_algebra::Operation as Algebra;
use orbweaver_engine::types::sorted_sets::algebra::Aggregate;
use orbweaver_engine::types::sorted_sets::ranges::{MemberBound, Range, Selection};
use orbweaver_engine::types::sorted_sets::{Condition as Update, Members, Scores};
use orbweaver_engine::types::strings::{Condition, Expiry};
use std::ops::Bound;

/// Every command that a pair may have, in alphabetical order.
pub const COMMANDS: &[&str] = &[
    "APPEND",
    "COPY",
    "DBSIZE",
    "DEL",
    "EXISTS",
    "FLUSHDB",
    "GET",
    "GETDEL",
    "GETRANGE",
    "HDEL",
    "HEXISTS",
    "HGET",
    "HGETALL",
    "HINCRBY",
    "HINCRBYFLOAT",
    "HKEYS",
    "HLEN",
    "HMGET",
    "HRANDFIELD",
    "HSCAN",
    "HSET",
    "HSETNX",
    "HVALS",
    "INCRBY",
    "INCRBYFLOAT",
    "LINDEX",
    "LINSERT",
    "LLEN",
    "LMOVE",
    "LPOP",
    "LPOS",
    "LPUSH",
    "LPUSHX",
    "LRANGE",
    "LREM",
    "LSET",
    "LTRIM",
    "MGET",
    "MSET",
    "MSETNX",
    "PERSIST",
    "PEXPIREAT",
    "PEXPIRETIME",
    "RANDOMKEY",
    "RENAME",
    "RENAMENX",
    "RPOP",
    "RPUSH",
    "RPUSHX",
    "SADD",
    "SCAN",
    "SCARD",
    "SDIFF",
    "SDIFFSTORE",
    "SET",
    "SETRANGE",
    "SINTER",
    "SINTERCARD",
    "SINTERSTORE",
    "SISMEMBER",
    "SMEMBERS",
    "SMISMEMBER",
    "SMOVE",
    "SPOP",
    "SRANDMEMBER",
    "SREM",
    "SSCAN",
    "STRLEN",
    "SUNION",
    "SUNIONSTORE",
    "TYPE",
    "ZADD",
    "ZCARD",
    "ZCOUNT",
    "ZDIFF",
    "ZDIFFSTORE",
    "ZINCRBY",
    "ZINTER",
    "ZINTERCARD",
    "ZINTERSTORE",
    "ZLEXCOUNT",
    "ZMSCORE",
    "ZPOPMAX",
    "ZPOPMIN",
    "ZRANDMEMBER",
    "ZRANGE",
    "ZRANGESTORE",
    "ZRANK",
    "ZREM",
    "ZREMRANGEBYLEX",
    "ZREMRANGEBYRANK",
    "ZREMRANGEBYSCORE",
    "ZREVRANK",
    "ZSCAN",
    "ZSCORE",
    "ZUNION",
    "ZUNIONSTORE",
];

/// An operation and the words of the command.
pub type Pair = (Operation, Vec<String>);

/// Draws words and numbers.
struct Draws<'r>(&'r mut dyn Environment);

impl Draws<'_> {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.random() % limit
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }

    /// A key: mostly one of the family's own, so that most commands find their type.
    fn key(&mut self, family: &str) -> String {
        let family = if self.below(12) == 0 { self.one(&["str", "hash", "list", "set", "zset"]) } else { family };
        format!("{family}{}", self.below(3))
    }

    fn keys(&mut self, family: &str) -> Vec<String> {
        (0..=self.below(3)).map(|_| self.key(family)).collect()
    }

    /// A field, an element or a member.
    fn name(&mut self) -> String {
        self.one(&["a", "b", "c", "d", "e", "10", "2.5", "name"]).to_owned()
    }

    fn names(&mut self) -> Vec<String> {
        (0..=self.below(4)).map(|_| self.name()).collect()
    }

    fn position(&mut self) -> i64 {
        i64::try_from(self.below(13)).unwrap() - 6
    }

    fn score(&mut self) -> f64 {
        self.one(&[-3.0, -0.5, 0.0, 1.0, 2.5, 1e20, f64::INFINITY, f64::NEG_INFINITY])
    }

    fn draw(&mut self) -> (Draw, String) {
        let count = self.below(5) + 1;
        if self.chance() { (Draw::Distinct(count), count.to_string()) } else { (Draw::Repeated(count), format!("-{count}")) }
    }

    fn filter(&mut self) -> (Filter, Vec<String>) {
        let count = self.below(4) + 1;
        let mut words = vec!["COUNT".to_owned(), count.to_string()];
        let pattern = self.chance().then_some("[a-cn]*");
        words.extend(pattern.into_iter().flat_map(|pattern| ["MATCH".to_owned(), pattern.to_owned()]));
        (Filter { pattern: pattern.map(Bytes::from), count: usize::try_from(count).unwrap() }, words)
    }

    fn end(&mut self) -> (End, &'static str) {
        self.one(&[(End::Head, "LEFT"), (End::Tail, "RIGHT")])
    }

    fn algebra(&mut self) -> (Algebra, &'static str) {
        self.one(&[(Algebra::Union, "UNION"), (Algebra::Intersection, "INTER"), (Algebra::Difference, "DIFF")])
    }

    fn score_bound(&mut self) -> (Bound<f64>, String) {
        let score = self.score();
        if self.chance() { (Bound::Included(score), score.to_string()) } else { (Bound::Excluded(score), format!("({score}")) }
    }

    fn member_bound(&mut self) -> (MemberBound, String) {
        let name = self.name();
        match self.below(4) {
            0 => (MemberBound::Lowest, "-".to_owned()),
            1 => (MemberBound::Highest, "+".to_owned()),
            2 => (MemberBound::Included(name.clone().into()), format!("[{name}")),
            _ => (MemberBound::Excluded(name.clone().into()), format!("({name}")),
        }
    }

    /// A range, its bounds as words, and what ZRANGE calls it.
    fn range(&mut self) -> (Range, [String; 2], &'static str) {
        match self.below(3) {
            0 => {
                let (first, last) = (self.position(), self.position());
                (Range::Ranks(first, last), [first.to_string(), last.to_string()], "")
            }
            1 => {
                let ((min, a), (max, b)) = (self.score_bound(), self.score_bound());
                (Range::Scores(min, max), [a, b], "BYSCORE")
            }
            _ => {
                let ((min, a), (max, b)) = (self.member_bound(), self.member_bound());
                (Range::Members(min, max), [a, b], "BYLEX")
            }
        }
    }

    /// A selection, and its words behind the key.
    fn selection(&mut self) -> (Selection, Vec<String>) {
        let (range, bounds, by) = self.range();
        let mut selection = Selection::all_of(range);
        let [first, last] = bounds;
        let is_reverse = self.chance();
        let mut words = if is_reverse && !by.is_empty() { vec![last, first] } else { vec![first, last] };
        if is_reverse {
            selection.direction = Direction::Reverse;
            words.push("REV".to_owned());
        }
        if !by.is_empty() {
            (selection.offset, selection.limit) = (self.below(3), self.below(4));
            let limit = [by.to_owned(), "LIMIT".to_owned(), selection.offset.to_string(), selection.limit.to_string()];
            words.extend(limit);
        }
        (selection, words)
    }

    /// A combination of sorted sets, its name, and its words behind it.
    fn combination(&mut self) -> (Combination, &'static str, Vec<String>) {
        let (operation, name) = self.algebra();
        let family = self.one(&["zset", "zset", "zset", "set"]);
        let keys = self.keys(family);
        let mut words = vec![keys.len().to_string()];
        words.extend(keys.iter().cloned());
        let mut sources: Vec<(Bytes, f64)> = keys.into_iter().map(|key| (key.into(), 1.0)).collect();
        let mut aggregate = Aggregate::Sum;
        if operation != Algebra::Difference {
            sources.iter_mut().for_each(|(_, weight)| *weight = self.one(&[1.0, -2.0, 0.5]));
            words.push("WEIGHTS".to_owned());
            words.extend(sources.iter().map(|(_, weight)| weight.to_string()));
            let word;
            (aggregate, word) = self.one(&[(Aggregate::Sum, "SUM"), (Aggregate::Min, "MIN"), (Aggregate::Max, "MAX")]);
            words.extend(["AGGREGATE".to_owned(), word.to_owned()]);
        }
        (Combination { operation, sources, aggregate }, name, words)
    }
}

fn bytes(words: &[String]) -> Vec<Bytes> {
    words.iter().map(|word| Bytes::copy_from_slice(word.as_bytes())).collect()
}

fn b(word: &str) -> Bytes {
    Bytes::copy_from_slice(word.as_bytes())
}

/// A command: its words one behind the other.
macro_rules! say {
    ($($word:expr),*) => {
        vec![$($word.to_string()),*]
    };
    ($($word:expr),*; $more:expr) => {
        [&[$($word.to_string()),*][..], &$more[..]].concat()
    };
}

/// A random operation with its command.
pub fn random_pair(random: &mut dyn Environment) -> Pair {
    let draws = &mut Draws(random);
    match draws.below(6) {
        0 => string(draws),
        1 => hash(draws),
        2 => list(draws),
        3 => set(draws),
        4 => sorted_set(draws),
        _ => key(draws),
    }
}

fn string(draws: &mut Draws<'_>) -> Pair {
    let (key, value) = (draws.key("str"), draws.name());
    let (action, words) = match draws.below(13) {
        0 => (Text::Get, say!["GET", key]),
        1 | 2 => {
            let (condition, word) = draws.one(&[(Condition::Always, ""), (Condition::IfAbsent, "NX"), (Condition::IfPresent, "XX")]);
            let (expiry, expires) = draws.one(&[
                (Expiry::Never, None),
                (Expiry::Keep, Some(("KEEPTTL", None))),
                (Expiry::At(super::NOW_MS + 500), Some(("PXAT", Some(super::NOW_MS + 500)))),
                (Expiry::At(1), Some(("PXAT", Some(1)))),
            ]);
            let mut words = say!["SET", key, value];
            words.extend((!word.is_empty()).then(|| word.to_owned()));
            if let Some((word, at)) = expires {
                words.push(word.to_owned());
                words.extend(at.map(|at| at.to_string()));
            }
            let value = b(&value);
            if draws.chance() {
                words.push("GET".to_owned());
                (Text::GetAndSet(value, condition, expiry), words)
            } else {
                (Text::Set(value, condition, expiry), words)
            }
        }
        3 => (Text::Take, say!["GETDEL", key]),
        4 => (Text::Append(b(&value)), say!["APPEND", key, value]),
        5 => (Text::Length, say!["STRLEN", key]),
        6 => {
            let (start, end) = (draws.position(), draws.position());
            (Text::Range(start, end), say!["GETRANGE", key, start, end])
        }
        7 => {
            let offset = draws.below(6);
            (Text::SetRange(offset, b(&value)), say!["SETRANGE", key, offset, value])
        }
        8 => {
            let by = draws.one(&[1, -7, i64::MAX]);
            (Text::Increment(by), say!["INCRBY", key, by])
        }
        9 => {
            let by = draws.one(&[0.25, -1.0, 1e30]);
            (Text::IncrementFloat(by), say!["INCRBYFLOAT", key, by])
        }
        10 => {
            let keys = draws.keys("str");
            return (Strings::GetMany(bytes(&keys)).into(), say!["MGET"; keys]);
        }
        _ => {
            let pairs: Vec<[String; 2]> = (0..=draws.below(2)).map(|_| [draws.key("str"), draws.name()]).collect();
            let own = pairs.iter().map(|[key, value]| (b(key), b(value))).collect();
            let (condition, name) = draws.one(&[(Condition::Always, "MSET"), (Condition::IfAbsent, "MSETNX")]);
            return (Strings::SetMany(own, condition).into(), say![name; pairs.concat()]);
        }
    };
    (Strings::One(key.into(), action).into(), words)
}

fn hash(draws: &mut Draws<'_>) -> Pair {
    let (key, field, value) = (draws.key("hash"), draws.name(), draws.name());
    let fields = draws.names();
    let (action, words) = match draws.below(15) {
        0 => (Hash::Get(b(&field)), say!["HGET", key, field]),
        1 => (Hash::GetMany(bytes(&fields)), say!["HMGET", key; fields]),
        2 => (Hash::GetAll, say!["HGETALL", key]),
        3 => (Hash::Fields, say!["HKEYS", key]),
        4 => (Hash::Values, say!["HVALS", key]),
        5 => (Hash::Length, say!["HLEN", key]),
        6 => (Hash::Exists(b(&field)), say!["HEXISTS", key, field]),
        7 => (Hash::SetIfAbsent(b(&field), b(&value)), say!["HSETNX", key, field, value]),
        8 => (Hash::Remove(bytes(&fields)), say!["HDEL", key; fields]),
        9 => {
            let by = draws.one(&[1, -7, i64::MIN]);
            (Hash::Increment(b(&field), by), say!["HINCRBY", key, field, by])
        }
        10 => {
            let by = draws.one(&[0.25, -1.0, 1e30]);
            (Hash::IncrementFloat(b(&field), by), say!["HINCRBYFLOAT", key, field, by])
        }
        11 => {
            let (draw, count) = draws.draw();
            (Hash::Random(draw), say!["HRANDFIELD", key, count, "WITHVALUES"])
        }
        12 => {
            let (filter, words) = draws.filter();
            (Hash::Scan(0, filter), say!["HSCAN", key, 0; words])
        }
        _ => {
            let pairs: Vec<[String; 2]> = fields.into_iter().map(|field| [field, draws.name()]).collect();
            let own = pairs.iter().map(|[field, value]| (b(field), b(value))).collect();
            (Hash::Set(own), say!["HSET", key; pairs.concat()])
        }
    };
    (hashes::Operation { key: key.into(), action }.into(), words)
}

fn list(draws: &mut Draws<'_>) -> Pair {
    let (key, element) = (draws.key("list"), draws.name());
    let (start, stop) = (draws.position(), draws.position());
    let (end, side) = draws.end();
    let letter = &side[..1];
    let (action, words) = match draws.below(14) {
        0 | 1 => {
            let elements = draws.names();
            (List::Push(end, bytes(&elements)), say![format!("{letter}PUSH"), key; elements])
        }
        2 => {
            let elements = draws.names();
            (List::PushToExisting(end, bytes(&elements)), say![format!("{letter}PUSHX"), key; elements])
        }
        3 => {
            let count = draws.below(4);
            (List::Pop(end, count), say![format!("{letter}POP"), key, count])
        }
        4 => (List::Length, say!["LLEN", key]),
        5 => (List::Get(start), say!["LINDEX", key, start]),
        6 => (List::Range(start, stop), say!["LRANGE", key, start, stop]),
        7 => (List::Set(start, b(&element)), say!["LSET", key, start, element]),
        8 => {
            let (side, word) = draws.one(&[(Side::Before, "BEFORE"), (Side::After, "AFTER")]);
            let pivot = draws.name();
            (List::Insert { side, pivot: b(&pivot), element: b(&element) }, say!["LINSERT", key, word, pivot, element])
        }
        9 => {
            let most = draws.below(3) + 1;
            let count = if end == End::Tail { format!("-{most}") } else { most.to_string() };
            (List::Remove { element: b(&element), from: end, most }, say!["LREM", key, count, element])
        }
        10 => (List::Trim(start, stop), say!["LTRIM", key, start, stop]),
        11 | 12 => {
            let (skipped, most, compared) = (draws.below(2), draws.below(3) + 1, draws.below(8) + 1);
            let rank = if end == End::Tail { format!("-{}", skipped + 1) } else { (skipped + 1).to_string() };
            let search = Search { from: end, skipped, max_matches: most, max_compared: compared };
            (List::Find(b(&element), search), say!["LPOS", key, element, "RANK", rank, "COUNT", most, "MAXLEN", compared])
        }
        _ => {
            let (to, (to_end, word)) = (draws.key("list"), draws.end());
            (List::Move { from_end: end, to: b(&to), to_end }, say!["LMOVE", key, to, side, word])
        }
    };
    (lists::Operation { key: key.into(), action }.into(), words)
}

fn set(draws: &mut Draws<'_>) -> Pair {
    let (key, member, members) = (draws.key("set"), draws.name(), draws.names());
    let (action, words) = match draws.below(14) {
        0 | 1 => (Set::Add(bytes(&members)), say!["SADD", key; members]),
        2 => (Set::Remove(bytes(&members)), say!["SREM", key; members]),
        3 => (Set::Contains(b(&member)), say!["SISMEMBER", key, member]),
        4 => (Set::ContainsMany(bytes(&members)), say!["SMISMEMBER", key; members]),
        5 => (Set::Members, say!["SMEMBERS", key]),
        6 => (Set::Count, say!["SCARD", key]),
        7 => {
            let count = draws.below(4);
            (Set::Pop(count), say!["SPOP", key, count])
        }
        8 => {
            let (draw, count) = draws.draw();
            (Set::Random(draw), say!["SRANDMEMBER", key, count])
        }
        9 => {
            let (filter, words) = draws.filter();
            (Set::Scan(0, filter), say!["SSCAN", key, 0; words])
        }
        10 => {
            let to = draws.key("set");
            (Set::Move(b(&to), b(&member)), say!["SMOVE", key, to, member])
        }
        11 => {
            let ((algebra, name), keys) = (draws.algebra(), draws.keys("set"));
            (Set::Store(algebra, bytes(&keys)), say![format!("S{name}STORE"), key; keys])
        }
        12 => {
            let ((algebra, name), keys) = (draws.algebra(), draws.keys("set"));
            return (Sets::Combine(algebra, bytes(&keys)).into(), say![format!("S{name}"); keys]);
        }
        _ => {
            let (limit, keys) = (draws.below(3) + 1, draws.keys("set"));
            let mut words = say!["SINTERCARD", keys.len(); keys];
            words.extend(["LIMIT".to_owned(), limit.to_string()]);
            return (Sets::CountCommon(bytes(&keys), limit).into(), words);
        }
    };
    (Sets::One(key.into(), action).into(), words)
}

fn sorted_set(draws: &mut Draws<'_>) -> Pair {
    let (key, member, members) = (draws.key("zset"), draws.name(), draws.names());
    let (direction, low) = draws.one(&[(Direction::Forward, true), (Direction::Reverse, false)]);
    let (action, words) = match draws.below(20) {
        0..=2 => {
            let (which, nx) = draws.one(&[(Members::Any, ""), (Members::New, "NX"), (Members::Existing, "XX")]);
            let (scores, gt) = draws.one(&[(Scores::Any, ""), (Scores::Greater, "GT"), (Scores::Less, "LT")]);
            let scores = if which == Members::New { Scores::Any } else { scores };
            let gt = if which == Members::New { "" } else { gt };
            let pairs: Vec<(f64, String)> = members.into_iter().map(|member| (draws.score(), member)).collect();
            let mut words = say!["ZADD", key, "CH"];
            words.extend([nx, gt].into_iter().filter(|word| !word.is_empty()).map(str::to_owned));
            words.extend(pairs.iter().flat_map(|(score, member)| [score.to_string(), member.clone()]));
            let own = pairs.iter().map(|(score, member)| (*score, b(member))).collect();
            (Sorted::Add(own, Update { members: which, scores }), words)
        }
        3 => {
            let by = draws.score();
            (Sorted::Increment(b(&member), by, Update::default()), say!["ZINCRBY", key, by, member])
        }
        4 => (Sorted::Score(b(&member)), say!["ZSCORE", key, member]),
        5 => (Sorted::Scores(bytes(&members)), say!["ZMSCORE", key; members]),
        6 => (Sorted::Rank(b(&member), direction), say![if low { "ZRANK" } else { "ZREVRANK" }, key, member]),
        7 => (Sorted::Count, say!["ZCARD", key]),
        8 => match draws.range() {
            (range @ Range::Scores(..), [min, max], _) => (Sorted::CountRange(range), say!["ZCOUNT", key, min, max]),
            (range @ Range::Members(..), [min, max], _) => (Sorted::CountRange(range), say!["ZLEXCOUNT", key, min, max]),
            (Range::Ranks(..), ..) => (Sorted::Count, say!["ZCARD", key]),
        },
        9 | 10 => {
            // Without scores: BYLEX does not show them.
            let (selection, words) = draws.selection();
            let words = say!["ZRANGE", key; words];
            let by_lex = matches!(selection.range, Range::Members(..));
            let words =
                if by_lex { say!["ZCARD", key] } else { say![words[0], words[1]; [&words[2..], &["WITHSCORES".to_owned()]].concat()] };
            (if by_lex { Sorted::Count } else { Sorted::Range(selection) }, words)
        }
        11 => {
            let ((selection, words), source) = (draws.selection(), draws.key("zset"));
            (Sorted::StoreRange(b(&source), selection), say!["ZRANGESTORE", key, source; words])
        }
        12 => (Sorted::Remove(bytes(&members)), say!["ZREM", key; members]),
        13 => {
            let (range, [min, max], _) = draws.range();
            let by = match range {
                Range::Ranks(..) => "RANK",
                Range::Scores(..) => "SCORE",
                Range::Members(..) => "LEX",
            };
            (Sorted::RemoveRange(range), say![format!("ZREMRANGEBY{by}"), key, min, max])
        }
        14 => {
            let count = draws.below(3);
            (Sorted::Pop(direction, count), say![if low { "ZPOPMIN" } else { "ZPOPMAX" }, key, count])
        }
        15 => {
            let (draw, count) = draws.draw();
            (Sorted::Random(draw), say!["ZRANDMEMBER", key, count, "WITHSCORES"])
        }
        16 => {
            let (filter, words) = draws.filter();
            (Sorted::Scan(0, filter), say!["ZSCAN", key, 0; words])
        }
        17 => {
            let (combination, name, words) = draws.combination();
            (Sorted::Store(combination), say![format!("Z{name}STORE"), key; words])
        }
        18 => {
            let (combination, name, mut words) = draws.combination();
            words.push("WITHSCORES".to_owned());
            return (SortedSets::Combine(combination).into(), say![format!("Z{name}"); words]);
        }
        _ => {
            let (limit, keys) = (draws.below(3) + 1, draws.keys("zset"));
            let mut words = say!["ZINTERCARD", keys.len(); keys];
            words.extend(["LIMIT".to_owned(), limit.to_string()]);
            return (SortedSets::CountCommon(bytes(&keys), limit).into(), words);
        }
    };
    (SortedSets::One(key.into(), action).into(), words)
}

fn key(draws: &mut Draws<'_>) -> Pair {
    let family = draws.one(&["str", "hash", "list", "set", "zset"]);
    let (key, keys, to) = (draws.key(family), draws.keys(family), draws.key(family));
    let (operation, words) = match draws.below(40) {
        0..=2 => (Keys::Exist(bytes(&keys)), say!["EXISTS"; keys]),
        3..=5 => (Keys::Remove(bytes(&keys)), say!["DEL"; keys]),
        6..=8 => (Keys::Kind(b(&key)), say!["TYPE", key]),
        9..=11 => (Keys::Expiry(b(&key)), say!["PEXPIRETIME", key]),
        12..=16 => {
            let (only, words) = draws.one(&[
                (ExpireOnly::default(), ""),
                (ExpireOnly { nx: true, ..ExpireOnly::default() }, "NX"),
                (ExpireOnly { xx: true, ..ExpireOnly::default() }, "XX"),
                (ExpireOnly { gt: true, ..ExpireOnly::default() }, "GT"),
                (ExpireOnly { lt: true, ..ExpireOnly::default() }, "LT"),
            ]);
            let at_ms = draws.one(&[0, super::NOW_MS - 1, super::NOW_MS + 100, super::NOW_MS + 1000]);
            let mut said = say!["PEXPIREAT", key, at_ms];
            said.extend((!words.is_empty()).then(|| words.to_owned()));
            (Keys::ExpireAt(b(&key), at_ms, only), said)
        }
        17..=19 => (Keys::Persist(b(&key)), say!["PERSIST", key]),
        20..=22 => (Keys::Rename { from: b(&key), to: b(&to), keep: false }, say!["RENAME", key, to]),
        23..=25 => (Keys::Rename { from: b(&key), to: b(&to), keep: true }, say!["RENAMENX", key, to]),
        26..=28 => (Keys::Copy { from: b(&key), to: b(&to), replace: false }, say!["COPY", key, to]),
        29..=31 => (Keys::Copy { from: b(&key), to: b(&to), replace: true }, say!["COPY", key, to, "REPLACE"]),
        32..=34 => {
            let (filter, mut words) = draws.filter();
            let kind = draws.one(&[None, Some(Kind::Hash), Some(Kind::SortedSet)]);
            words.extend(kind.into_iter().flat_map(|kind| ["TYPE".to_owned(), kind.name().to_owned()]));
            (Keys::Scan(0, filter, kind), say!["SCAN", 0; words])
        }
        35 | 36 => (Keys::Count, say!["DBSIZE"]),
        37 | 38 => (Keys::Random, say!["RANDOMKEY"]),
        _ => (Keys::Flush, say!["FLUSHDB"]),
    };
    (operation.into(), words)
}

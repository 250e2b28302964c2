//! Random commands that the model knows: all types over few keys, so that they meet and are now and then the wrong type.

use fastrand::Rng;

use super::Word;
use crate::client::Args;

const KEYS: [&[u8]; 8] = [b"k", b"k0", b"k\0", b"k1", b"", b"l", b"m", b"\xff"];
/// Fields, members and elements: prefixes of each other, zeros and highest bytes.
const NAMES: [&[u8]; 12] = [b"", b"a", b"a\0", b"a\0\0", b"a\x01", b"aa", b"b", b"10", b"-7", b"\0", b"\xff", b"\xff\xff"];
const SCORES: [&str; 14] =
    ["0", "-0", "1", "-1", "2.5", "-2.5", "inf", "-inf", "1e300", "-1e300", "5e-324", "-5e-324", "0.1", "0.30000000000000004"];
/// Of so many pushes and additions, one is of many elements: more than a page of a scan.
const LARGE_ONE_IN: usize = 60;
const LARGE: std::ops::Range<usize> = 300..700;

pub struct Generator {
    random: Rng,
    /// Of expiries, all but a few are multiples of this.
    unit_ms: u64,
}

impl Generator {
    pub fn new(seed: u64, unit_ms: u64) -> Self {
        Self { random: Rng::with_seed(seed), unit_ms }
    }

    pub fn number(&mut self) -> u64 {
        self.random.u64(..)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.random.usize(..limit)
    }

    /// A command at a time, in milliseconds.
    pub fn command(&mut self, now_ms: u64) -> Args {
        match self.below(12) {
            0 => self.on_keys(now_ms),
            1 => self.on_strings(now_ms),
            2 | 3 => self.on_hashes(),
            4..7 => self.on_lists(),
            7 | 8 => self.on_sets(),
            _ => self.on_sorted_sets(),
        }
    }

    fn key(&mut self) -> Word {
        KEYS[self.below(KEYS.len())].to_vec()
    }

    fn name(&mut self) -> Word {
        NAMES[self.below(NAMES.len())].to_vec()
    }

    fn score(&mut self) -> Word {
        SCORES[self.below(SCORES.len())].into()
    }

    /// A position in a list or a rank, also behind the ends.
    fn position(&mut self) -> Word {
        let reach = if self.below(5) == 0 { 800 } else { 8 };
        self.random.i64(-reach..reach).to_string().into_bytes()
    }

    fn count(&mut self) -> Word {
        let most = if self.below(10) == 0 { 800 } else { 6 };
        self.below(most).max(1).to_string().into_bytes()
    }

    fn by(&mut self) -> Word {
        let edges = [i64::MAX, i64::MIN, 1, -1];
        if self.below(10) == 0 { edges[self.below(4)].to_string().into() } else { self.random.i64(-20..20).to_string().into() }
    }

    /// Some names; now and then many that are told apart by a number.
    fn names(&mut self) -> Vec<Word> {
        if self.below(LARGE_ONE_IN) == 0 {
            let first = self.below(1000);
            return (0..self.random.usize(LARGE)).map(|number| format!("n{}", first + number).into_bytes()).collect();
        }
        (0..=self.below(4)).map(|_| self.name()).collect()
    }

    fn on_keys(&mut self, now_ms: u64) -> Args {
        let (one, two) = (self.key(), self.key());
        match self.below(16) {
            0 | 1 => words("DEL", [one, two]),
            2 => words("EXISTS", [one, two]),
            3 => words("TYPE", [one]),
            4 => words("RENAME", [one, two]),
            5 if one != two => words("COPY", [one, two]),
            6 if one != two => words("COPY", [one, two, b"REPLACE".to_vec()]),
            7..11 => words("PEXPIREAT", [one, self.time(now_ms)]),
            11 => words("PERSIST", [one]),
            12 => words("DBSIZE", []),
            13 => words("KEYS", [b"*".to_vec()]),
            14 if self.below(12) == 0 => words("FLUSHDB", []),
            _ => words("PEXPIRETIME", [one]),
        }
    }

    /// A time that is past, or will be soon.
    fn time(&mut self, now_ms: u64) -> Word {
        let at_ms = now_ms - 500 + self.random.u64(..5000);
        self.rounded(at_ms)
    }

    /// The next time that a layout has room for, or, now and then, one that it may not have.
    fn rounded(&mut self, at_ms: u64) -> Word {
        let is_fit = self.unit_ms == 1 || self.below(10) > 0;
        (if is_fit { at_ms.next_multiple_of(self.unit_ms) } else { at_ms }).to_string().into_bytes()
    }

    fn on_strings(&mut self, now_ms: u64) -> Args {
        let (key, name) = (self.key(), self.name());
        match self.below(12) {
            0 | 1 => words("SET", [key, name]),
            2 => {
                let at_ms = now_ms + self.random.u64(1..5000);
                words("SET", [key, name, b"PXAT".to_vec(), self.rounded(at_ms)])
            }
            3 => words("GET", [key]),
            4 => words("GETDEL", [key]),
            5 => words("STRLEN", [key]),
            6 => words("APPEND", [key, name]),
            7 => words("GETRANGE", [key, self.position(), self.position()]),
            8 => words("SETRANGE", [key, self.below(40).to_string().into(), name]),
            9 => words("SETBIT", [key, self.below(200).to_string().into(), self.below(2).to_string().into()]),
            10 => words("BITCOUNT", [key]),
            _ => words("INCRBY", [key, self.by()]),
        }
    }

    fn on_hashes(&mut self) -> Args {
        let (key, name) = (self.key(), self.name());
        match self.below(8) {
            0..3 => {
                let fields = self.names();
                let pairs = fields.into_iter().flat_map(|field| [field, self.name()]);
                words("HSET", std::iter::once(key).chain(pairs.collect::<Vec<Word>>()))
            }
            3 => words("HSETNX", [key, name, self.name()]),
            4 => words(["HGET", "HEXISTS"][self.below(2)], [key, name]),
            5 => words("HDEL", std::iter::once(key).chain(self.names())),
            6 => words("HINCRBY", [key, name, self.by()]),
            _ => words(["HGETALL", "HLEN"][self.below(2)], [key]),
        }
    }

    fn on_lists(&mut self) -> Args {
        let (key, name) = (self.key(), self.name());
        match self.below(14) {
            0..4 => words(["LPUSH", "RPUSH"][self.below(2)], std::iter::once(key).chain(self.names())),
            4 | 5 => words(["LPOP", "RPOP"][self.below(2)], [key, self.count()]),
            6 => words("LSET", [key, self.position(), name]),
            7 => words("LINSERT", [key, ["BEFORE", "AFTER"][self.below(2)].into(), name, self.name()]),
            8 => words("LREM", [key, self.random.i64(-3..4).to_string().into(), name]),
            9 if self.below(3) == 0 => words("LTRIM", [key, self.position(), self.position()]),
            10 => words("LRANGE", [key, self.position(), self.position()]),
            11 | 12 => {
                let ends = [["LEFT", "RIGHT"], ["RIGHT", "LEFT"]][self.below(2)];
                words("LMOVE", [key, self.key(), ends[0].into(), ends[1].into()])
            }
            13 => words("LLEN", [key]),
            _ => words("LINDEX", [key, self.position()]),
        }
    }

    fn on_sets(&mut self) -> Args {
        let (key, name) = (self.key(), self.name());
        match self.below(10) {
            0..3 => words("SADD", std::iter::once(key).chain(self.names())),
            3 => words("SREM", std::iter::once(key).chain(self.names())),
            4 => words("SISMEMBER", [key, name]),
            5 | 6 => words("SMOVE", [key, self.key(), name]),
            7 => words(["SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE"][self.below(3)], [key, self.key(), self.key()]),
            _ => words(["SMEMBERS", "SCARD"][self.below(2)], [key]),
        }
    }

    fn on_sorted_sets(&mut self) -> Args {
        let (key, name) = (self.key(), self.name());
        match self.below(14) {
            0..4 => {
                let members = self.names();
                let pairs = members.into_iter().flat_map(|member| [self.score(), member]);
                words("ZADD", std::iter::once(key).chain(pairs.collect::<Vec<Word>>()))
            }
            4 => words("ZINCRBY", [key, self.score(), name]),
            5 => words("ZREM", std::iter::once(key).chain(self.names())),
            6 => words(["ZSCORE", "ZRANK"][self.below(2)], [key, name]),
            7 | 8 => words("ZRANGE", [key, self.position(), self.position(), b"WITHSCORES".to_vec()]),
            9 => words("ZRANGEBYSCORE", [key, self.score(), self.score(), b"WITHSCORES".to_vec()]),
            10 => words("ZREMRANGEBYSCORE", [key, self.score(), self.score()]),
            11 => words("ZREMRANGEBYRANK", [key, self.position(), self.position()]),
            12 => words(["ZPOPMIN", "ZPOPMAX"][self.below(2)], [key, self.count()]),
            13 if self.below(2) == 0 => words("ZUNIONSTORE", [key, b"2".to_vec(), self.key(), self.key()]),
            _ => words("ZCARD", [key]),
        }
    }
}

fn words(name: &str, arguments: impl IntoIterator<Item = Word>) -> Args {
    std::iter::once(Word::from(name)).chain(arguments).collect()
}

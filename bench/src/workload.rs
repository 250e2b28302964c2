//! What is measured: the operations that Blackwidow was measured with, in its sizes.

use crate::template::{Numbers, expand, filling, request};
use std::ops::Range;

/// Keys of the operations on small things.
const KEYS: usize = 100_000;
/// Most elements that one request of a preparation brings.
const ELEMENTS_PER_REQUEST: usize = 1000;

/// An operation: a row of [`OPERATIONS`].
#[derive(Debug)]
pub struct Operation {
    pub name: &'static str,
    /// The request, a template.
    pub request: &'static str,
    /// How many keys it goes to, in a scattered order.
    pub keys: usize,
    /// How many elements each collection holds, where it matters.
    pub elements: usize,
    /// What is there before it is measured.
    pub fill: Fill,
    /// The calls of RocksDB that it cannot do without.
    pub raw: &'static [Call],
    /// It runs once where a plain operation runs so many times.
    pub share: usize,
    /// Microseconds that Blackwidow took: in process, one thread, WAL on, no sync, on an idle machine of two cores (the figures of
    /// issue 6, RocksDB 7.8 with assertions on).
    pub blackwidow_us: f64,
    /// It is measured over sockets, too.
    pub socket: bool,
}

/// What an operation finds.
#[derive(Clone, Copy, Debug)]
pub enum Fill {
    /// Nothing but, in process, what its own first, uncounted round leaves.
    Nothing,
    /// A collection under each key: a command, and what it takes for each element.
    Keys(&'static str, &'static str),
    /// The same for every run, which takes it away.
    Runs(&'static str, &'static str),
}

/// A call of RocksDB: keys and values are templates.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Get(&'static str),
    Put(&'static str, &'static str),
    Delete(&'static str),
    /// So many records that begin with a prefix.
    Scan(&'static str, usize),
}

use Call::{Delete, Get, Put, Scan};

/// A row with what most of them have in common.
const PLAIN: Operation = Operation {
    name: "",
    request: "",
    keys: KEYS,
    elements: 1,
    fill: Fill::Nothing,
    raw: &[],
    share: 1,
    blackwidow_us: f64::NAN,
    socket: false,
};

/// Collections of a hundred elements.
const HUNDREDS: Operation = Operation { keys: 1000, elements: 100, share: 10, ..PLAIN };

/// Collections of a thousand elements.
const THOUSANDS: Operation =
    Operation { keys: 100, elements: 1000, share: 10, fill: Fill::Keys("ZADD thousand:zset:#", "% member:%"), ..PLAIN };

/// All operations, in the order in which they are measured.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "SET",
        request: "SET string:# $",
        fill: Fill::Keys("SET string:# $", ""),
        raw: &[Put("string:#", "$")],
        blackwidow_us: 6.6,
        socket: true,
        ..PLAIN
    },
    Operation {
        name: "GET",
        request: "GET string:#",
        fill: Fill::Keys("SET string:# $", ""),
        raw: &[Get("string:#")],
        blackwidow_us: 2.9,
        socket: true,
        ..PLAIN
    },
    Operation {
        name: "INCR",
        request: "INCR counter:#",
        fill: Fill::Keys("SET counter:# 1", ""),
        raw: &[Get("counter:#"), Put("counter:#", "@")],
        blackwidow_us: 7.5,
        socket: true,
        ..PLAIN
    },
    Operation {
        name: "HSET",
        request: "HSET hash:# field $",
        fill: Fill::Keys("HSET hash:# field $", ""),
        // The reply says whether the field is new.
        raw: &[Get("hash:#/field"), Put("hash:#/field", "$")],
        blackwidow_us: 14.5,
        socket: true,
        ..PLAIN
    },
    Operation {
        name: "HGET",
        request: "HGET hash:# field",
        fill: Fill::Keys("HSET hash:# field $", ""),
        raw: &[Get("hash:#/field")],
        blackwidow_us: 6.0,
        socket: true,
        ..PLAIN
    },
    Operation {
        name: "HMSET of 10",
        request: "HMSET ten:hash:# f0 $ f1 $ f2 $ f3 $ f4 $ f5 $ f6 $ f7 $ f8 $ f9 $",
        raw: &[
            Put("ten:hash:#/f0", "$"),
            Put("ten:hash:#/f1", "$"),
            Put("ten:hash:#/f2", "$"),
            Put("ten:hash:#/f3", "$"),
            Put("ten:hash:#/f4", "$"),
            Put("ten:hash:#/f5", "$"),
            Put("ten:hash:#/f6", "$"),
            Put("ten:hash:#/f7", "$"),
            Put("ten:hash:#/f8", "$"),
            Put("ten:hash:#/f9", "$"),
        ],
        keys: KEYS / 10,
        share: 10,
        blackwidow_us: 40.0,
        ..PLAIN
    },
    Operation {
        name: "HGETALL of 100",
        request: "HGETALL hundred:hash:#",
        fill: Fill::Keys("HSET hundred:hash:#", "field:% $"),
        raw: &[Scan("hundred:hash:#/", 100)],
        blackwidow_us: 34.0,
        socket: true,
        ..HUNDREDS
    },
    Operation {
        name: "LPUSH",
        request: "LPUSH list:# $",
        raw: &[Get("list:#"), Put("list:#/@", "$"), Put("list:#", "@")],
        blackwidow_us: 14.0,
        socket: true,
        ..PLAIN
    },
    Operation {
        name: "LRANGE of 100",
        request: "LRANGE hundred:list:# 0 -1",
        fill: Fill::Keys("RPUSH hundred:list:#", "$"),
        raw: &[Scan("hundred:list:#/", 100)],
        blackwidow_us: 37.0,
        socket: true,
        ..HUNDREDS
    },
    Operation {
        name: "LPOP",
        request: "LPOP queue:#",
        fill: Fill::Runs("RPUSH queue:#", "$"),
        raw: &[Get("queue:#"), Get("queue:#/@"), Delete("queue:#/@"), Put("queue:#", "@")],
        blackwidow_us: 23.0,
        socket: true,
        ..PLAIN
    },
    Operation {
        name: "SADD",
        request: "SADD set:# member:@",
        raw: &[Get("set:#/member:@"), Put("set:#/member:@", "")],
        blackwidow_us: 12.9,
        socket: true,
        ..PLAIN
    },
    Operation {
        name: "SISMEMBER",
        request: "SISMEMBER one:set:# member",
        fill: Fill::Keys("SADD one:set:# member", ""),
        raw: &[Get("one:set:#/member")],
        blackwidow_us: 5.5,
        ..PLAIN
    },
    Operation {
        name: "SMEMBERS of 100",
        request: "SMEMBERS hundred:set:#",
        fill: Fill::Keys("SADD hundred:set:#", "member:%"),
        raw: &[Scan("hundred:set:#/", 100)],
        blackwidow_us: 23.0,
        ..HUNDREDS
    },
    Operation {
        name: "ZADD",
        request: "ZADD zset:# @ member:@",
        raw: &[Get("zset:#/member:@"), Put("zset:#/member:@", "@"), Put("zset:#/@/member:@", "")],
        blackwidow_us: 19.5,
        socket: true,
        ..PLAIN
    },
    Operation {
        name: "ZSCORE",
        request: "ZSCORE one:zset:# member",
        fill: Fill::Keys("ZADD one:zset:# 1 member", ""),
        raw: &[Get("one:zset:#/member")],
        blackwidow_us: 6.2,
        ..PLAIN
    },
    Operation {
        name: "ZINCRBY",
        request: "ZINCRBY one:zset:# 1 member",
        fill: Fill::Keys("ZADD one:zset:# 1 member", ""),
        raw: &[Get("one:zset:#/member"), Put("one:zset:#/member", "@"), Delete("one:zset:#/1/member"), Put("one:zset:#/@/member", "")],
        blackwidow_us: 22.0,
        ..PLAIN
    },
    Operation {
        name: "ZRANGEBYSCORE 100 of 1000",
        request: "ZRANGEBYSCORE thousand:zset:# 400 499",
        raw: &[Scan("thousand:zset:#/", 100)],
        blackwidow_us: 25.0,
        ..THOUSANDS
    },
    Operation {
        name: "ZRANK in 1000",
        request: "ZRANK thousand:zset:# member:%",
        // The member's score, and one record that tells how many are below.
        raw: &[Get("thousand:zset:#/member"), Get("thousand:zset:#/count")],
        blackwidow_us: 75.0,
        ..THOUSANDS
    },
    Operation {
        name: "DEL of a hash of 100,000",
        request: "DEL huge:hash:@",
        elements: 100_000,
        fill: Fill::Runs("HSET huge:hash:@", "field:% $"),
        raw: &[Get("huge:hash:@"), Delete("huge:hash:@")],
        share: 6_000,
        blackwidow_us: 38.0,
        ..PLAIN
    },
];

impl Operation {
    /// How often it runs where a plain operation runs `operations` times.
    pub fn runs(&self, operations: usize) -> usize {
        (operations / self.share).max(1)
    }

    /// What the signs of its templates become in the `run`th run: neighbours go to keys far apart, and every key has its turn.
    pub fn numbers(&self, run: usize) -> Numbers {
        const STRIDE: usize = 7919;
        Numbers { key: run.wrapping_mul(STRIDE) % self.keys, run, element: run.wrapping_mul(STRIDE) % self.elements, size: self.elements }
    }

    /// The requests of some runs, one behind the other.
    pub fn requests(&self, runs: Range<usize>) -> Vec<u8> {
        runs.flat_map(|run| request(self.request, self.numbers(run))).collect()
    }

    /// The requests that make what these runs find, one behind the other in pieces of some ten thousand bytes.
    pub fn preparation(&self, runs: Range<usize>) -> impl Iterator<Item = Piece> + '_ {
        let (Fill::Keys(command, element) | Fill::Runs(command, element)) = self.fill else {
            return Box::new(std::iter::empty()) as Box<dyn Iterator<Item = Piece>>;
        };
        let elements = if element.is_empty() { 1 } else { self.elements };
        let mut requests = runs.flat_map(move |run| {
            let parts = (0..elements).step_by(ELEMENTS_PER_REQUEST);
            parts.map(move |from| filling(command, element, self.numbers(run), from..(from + ELEMENTS_PER_REQUEST).min(elements)))
        });
        Box::new(std::iter::from_fn(move || Piece::of(&mut requests)))
    }

    /// What RocksDB itself is asked in a run.
    pub fn calls(&self, run: usize) -> Vec<RawCall> {
        let numbers = self.numbers(run);
        let expanded = |call: &Call| match *call {
            Get(key) => RawCall::Get(expand(key, numbers)),
            Put(key, value) => RawCall::Put(expand(key, numbers), expand(value, numbers)),
            Delete(key) => RawCall::Delete(expand(key, numbers)),
            Scan(prefix, records) => RawCall::Scan(expand(prefix, numbers), records),
        };
        self.raw.iter().map(expanded).collect()
    }
}

/// A call of RocksDB.
#[derive(Debug)]
pub enum RawCall {
    Get(Vec<u8>),
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Scan(Vec<u8>, usize),
}

/// Some requests, one behind the other.
#[derive(Debug, Default)]
pub struct Piece {
    pub bytes: Vec<u8>,
    pub requests: usize,
}

impl Piece {
    const BYTES: usize = 32 << 10;

    /// The next requests of an iterator; none at its end.
    pub fn of(requests: &mut impl Iterator<Item = Vec<u8>>) -> Option<Self> {
        let mut piece = Self::default();
        while piece.bytes.len() < Self::BYTES {
            let Some(request) = requests.next() else { break };
            piece.bytes.extend_from_slice(&request);
            piece.requests += 1;
        }
        (piece.requests > 0).then_some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_has_its_turn() {
        for operation in OPERATIONS {
            let keys: BTreeSet<usize> = (0..operation.keys).map(|run| operation.numbers(run).key).collect();
            assert_eq!(keys.len(), operation.keys, "{}", operation.name);
        }
    }

    #[test]
    fn a_preparation_makes_every_element_of_a_large_collection_in_pieces() {
        let hash = OPERATIONS.last().expect("there are operations");
        let pieces: Vec<Piece> = hash.preparation(0..1).collect();
        assert_eq!(pieces.iter().map(|piece| piece.requests).sum::<usize>(), 100);
        let text: String = pieces.iter().map(|piece| String::from_utf8_lossy(&piece.bytes).into_owned()).collect();
        assert_eq!(text.matches("field:").count(), 100_000);
    }
}

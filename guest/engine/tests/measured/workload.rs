//! The main commands, with the sizes that Blackwidow was measured with.

use bytes::Bytes;

/// Bytes of a value.
const VALUE_BYTES: usize = 100;
/// Elements of what is read as a whole, and of what single elements are read from.
pub const ELEMENTS: usize = 100;
/// How many keys there are.
const KEYS: usize = 1000;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Set,
    Get,
    Incr,
    HSet,
    HGet,
    LPush,
    LPop,
    SAdd,
    ZAdd,
    ZScore,
    HGetAll,
    LRange,
    ZRange,
}

impl Operation {
    pub const ALL: [Self; 13] = [
        Self::Set,
        Self::Get,
        Self::Incr,
        Self::HSet,
        Self::HGet,
        Self::LPush,
        Self::LPop,
        Self::SAdd,
        Self::ZAdd,
        Self::ZScore,
        Self::HGetAll,
        Self::LRange,
        Self::ZRange,
    ];

    /// The command's arguments when it runs for the `n`th time. Strings, counters and hashes of one field are many; there is one big
    /// hash, list, set and sorted set.
    fn arguments(self, n: usize) -> String {
        let (number, value) = (n % KEYS, "x".repeat(VALUE_BYTES));
        match self {
            Self::Set => format!("SET string:{number:08} {value}"),
            Self::Get => format!("GET string:{number:08}"),
            Self::Incr => format!("INCR counter:{number:08}"),
            Self::HSet => format!("HSET hash:{number:08} field {value}"),
            Self::HGet => format!("HGET hash:{number:08} field"),
            Self::LPush => format!("LPUSH list {value}"),
            Self::LPop => "LPOP list".to_owned(),
            Self::SAdd => format!("SADD set member:{n:08}"),
            Self::ZAdd => format!("ZADD zset {n} member:{n:08}"),
            Self::ZScore => format!("ZSCORE big:zset element:{:04}", n % ELEMENTS),
            Self::HGetAll => "HGETALL big:hash".to_owned(),
            Self::LRange => "LRANGE big:list 0 -1".to_owned(),
            Self::ZRange => "ZRANGE big:zset 0 -1".to_owned(),
        }
    }

    /// Requests of a client, one behind the other: the `first`th run and those after it.
    pub fn requests(self, first: usize, count: usize) -> Bytes {
        (first..first + count).map(|n| request(&self.arguments(n))).collect::<String>().into()
    }

    /// What must be there before the operation runs up to `count` times.
    pub fn preparation(self, count: usize) -> Bytes {
        let value = "x".repeat(VALUE_BYTES);
        let elements = |element: &dyn Fn(usize) -> String| (0..ELEMENTS).map(|n| format!(" {}", element(n))).collect::<String>();
        let command = match self {
            Self::Get => return Self::Set.requests(0, KEYS),
            Self::HGet => return Self::HSet.requests(0, KEYS),
            // The first of a hash is another thing: it makes the hash.
            Self::Incr | Self::HSet => return self.requests(0, KEYS),
            Self::LPop => return Self::LPush.requests(0, count + 1),
            Self::Set | Self::LPush | Self::SAdd | Self::ZAdd => return self.requests(count, 1),
            Self::ZScore | Self::ZRange => format!("ZADD big:zset{}", elements(&|n| format!("{n} element:{n:04}"))),
            Self::HGetAll => format!("HSET big:hash{}", elements(&|n| format!("field:{n:04} {value}"))),
            Self::LRange => format!("RPUSH big:list{}", elements(&|_| value.clone())),
        };
        request(&command).into()
    }
}

fn request(command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    let arguments: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    format!("*{}\r\n{arguments}", words.len())
}

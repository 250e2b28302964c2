//! The main commands, with the sizes that Blackwidow was measured with.

use bytes::Bytes;

/// Bytes of a value.
const VALUE_BYTES: usize = 100;
/// Elements of what is read as a whole, and of what single elements are read from.
pub const ELEMENTS: usize = 100;
/// How many keys there are, and members of the large sorted set.
const KEYS: usize = 1000;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Set,
    Get,
    Incr,
    HSet,
    HGet,
    HMSet,
    HGetAll,
    LPush,
    LRange,
    LPop,
    SAdd,
    SIsMember,
    SMembers,
    ZAdd,
    ZScore,
    ZIncrBy,
    ZRange,
    ZRangeByScore,
    Del,
}

impl Operation {
    pub const ALL: [Self; 19] = [
        Self::Set,
        Self::Get,
        Self::Incr,
        Self::HSet,
        Self::HGet,
        Self::HMSet,
        Self::HGetAll,
        Self::LPush,
        Self::LRange,
        Self::LPop,
        Self::SAdd,
        Self::SIsMember,
        Self::SMembers,
        Self::ZAdd,
        Self::ZScore,
        Self::ZIncrBy,
        Self::ZRange,
        Self::ZRangeByScore,
        Self::Del,
    ];

    /// The command's arguments when it runs for the `n`th time. Strings, counters and hashes of one field are many; there is one big
    /// hash, list, set and sorted set.
    fn arguments(self, n: usize) -> String {
        // No two values are equal: what is as it was is not put.
        let (number, element, value) = (n % KEYS, n % ELEMENTS, format!("{n:0VALUE_BYTES$}"));
        match self {
            Self::Set => format!("SET string:{number:08} {value}"),
            Self::Get => format!("GET string:{number:08}"),
            Self::Incr => format!("INCR counter:{number:08}"),
            Self::HSet => format!("HSET hash:{number:08} field {value}"),
            Self::HGet => format!("HGET hash:{number:08} field"),
            Self::HMSet => format!("HMSET hash:{number:08}{}", several(10, |n| format!("field:{n} {value}"))),
            Self::HGetAll => "HGETALL big:hash".to_owned(),
            Self::LPush => format!("LPUSH list {}", "x".repeat(VALUE_BYTES)),
            Self::LRange => "LRANGE big:list 0 -1".to_owned(),
            Self::LPop => "LPOP list".to_owned(),
            Self::SAdd => format!("SADD set member:{n:08}"),
            Self::SIsMember => format!("SISMEMBER big:set member:{element:04}"),
            Self::SMembers => "SMEMBERS big:set".to_owned(),
            Self::ZAdd => format!("ZADD zset {n} member:{n:08}"),
            Self::ZScore => format!("ZSCORE big:zset element:{element:04}"),
            Self::ZIncrBy => format!("ZINCRBY big:zset 1 element:{element:04}"),
            Self::ZRange => "ZRANGE big:zset 0 -1".to_owned(),
            Self::ZRangeByScore => "ZRANGEBYSCORE large:zset 450 549".to_owned(),
            Self::Del => format!("DEL hash:{number:08}"),
        }
    }

    /// Requests of a client, one behind the other: the `first`th run and those after it.
    pub fn requests(self, first: usize, count: usize) -> Bytes {
        (first..first + count).map(|n| request(&self.arguments(n))).collect::<String>().into()
    }

    /// What must be there before the operation runs up to `count` times.
    pub fn preparation(self, count: usize) -> Bytes {
        let value = "x".repeat(VALUE_BYTES);
        let command = match self {
            Self::Get => return Self::Set.requests(0, KEYS),
            Self::HGet | Self::Del => return Self::HSet.requests(0, KEYS),
            // The first of a hash is another thing: it makes the hash.
            Self::Incr | Self::HSet | Self::HMSet => return self.requests(KEYS, KEYS),
            Self::LPop => return Self::LPush.requests(0, count + 1),
            Self::Set | Self::LPush | Self::SAdd | Self::ZAdd => return self.requests(count, 1),
            Self::HGetAll => format!("HSET big:hash{}", several(ELEMENTS, |n| format!("field:{n:04} {value}"))),
            Self::LRange => format!("RPUSH big:list{}", several(ELEMENTS, |_| value.clone())),
            Self::SIsMember | Self::SMembers => format!("SADD big:set{}", several(ELEMENTS, |n| format!("member:{n:04}"))),
            Self::ZScore | Self::ZIncrBy | Self::ZRange => format!("ZADD big:zset{}", several(ELEMENTS, |n| format!("{n} element:{n:04}"))),
            Self::ZRangeByScore => format!("ZADD large:zset{}", several(KEYS, |n| format!("{n} element:{n:04}"))),
        };
        request(&command).into()
    }
}

/// What `element` makes of each number below `count`, in words.
fn several(count: usize, element: impl Fn(usize) -> String) -> String {
    (0..count).map(|n| format!(" {}", element(n))).collect()
}

pub fn request(command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    let arguments: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    format!("*{}\r\n{arguments}", words.len())
}

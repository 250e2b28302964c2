//! What is measured: the operations, with the sizes that Blackwidow was measured with.

/// How many keys there are.
pub const KEYS: usize = 100_000;
/// Bytes of a value.
pub const VALUE_BYTES: usize = 100;
/// Fields of the hashes that HGETALL reads.
pub const FIELDS: usize = 100;
/// How many of them there are.
pub const BIG_HASHES: usize = 100;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Set,
    Get,
    Incr,
    HSet,
    HGet,
    HGetAll,
}

impl Operation {
    /// In the order in which they run: each finds what the ones before it have left.
    pub const ALL: [Self; 6] = [Self::Set, Self::Get, Self::Incr, Self::HSet, Self::HGet, Self::HGetAll];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Set => "SET",
            Self::Get => "GET",
            Self::Incr => "INCR",
            Self::HSet => "HSET",
            Self::HGet => "HGET",
            Self::HGetAll => "HGETALL of 100",
        }
    }

    /// How often it runs, where a plain operation runs `operations` times.
    pub const fn repetitions(self, operations: usize) -> usize {
        match self {
            Self::HGetAll => operations / 10,
            _ => operations,
        }
    }

    /// The arguments of the operation's `n`th run; keys come in a scattered order.
    pub fn arguments(self, n: usize) -> Vec<Vec<u8>> {
        let scattered = n.wrapping_mul(7919) % KEYS;
        let key = |kind: &str| format!("{kind}:{scattered:08}").into_bytes();
        match self {
            Self::Set => vec![b"SET".into(), key("string"), value()],
            Self::Get => vec![b"GET".into(), key("string")],
            Self::Incr => vec![b"INCR".into(), key("counter")],
            Self::HSet => vec![b"HSET".into(), key("hash"), b"field".into(), value()],
            Self::HGet => vec![b"HGET".into(), key("hash"), b"field".into()],
            Self::HGetAll => vec![b"HGETALL".into(), big_hash(n)],
        }
    }
}

/// The key of a hash of [`FIELDS`] fields.
pub fn big_hash(n: usize) -> Vec<u8> {
    format!("big:{:04}", n % BIG_HASHES).into_bytes()
}

/// A field of such a hash.
pub fn field(n: usize) -> Vec<u8> {
    format!("field:{n:04}").into_bytes()
}

pub fn value() -> Vec<u8> {
    vec![b'x'; VALUE_BYTES]
}

/// The commands that make the hashes which HGETALL reads.
pub fn preparation() -> Vec<Vec<Vec<u8>>> {
    (0..BIG_HASHES)
        .map(|n| {
            let mut command = vec![b"HSET".to_vec(), big_hash(n)];
            command.extend((0..FIELDS).flat_map(|field_number| [field(field_number), value()]));
            command
        })
        .collect()
}

/// A request as a client sends it.
pub fn encode(arguments: &[Vec<u8>]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        request.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        request.extend_from_slice(argument);
        request.extend_from_slice(b"\r\n");
    }
    request
}

//! The words that commands are made of, and the random choices between them.

use crate::client::Args;

const STRING_KEYS: &[&[u8]] = &[b"s1", b"s2", b"s3", b"counter", b"", b"with space \"'\\\r\n\x00\xff"];
const HASH_KEYS: &[&[u8]] = &[b"h1", b"h2", b"h3", b"\x00", b"h1\x00"];
const LIST_KEYS: &[&[u8]] = &[b"l1", b"l2", b"l3", b"l1\x00"];
const SET_KEYS: &[&[u8]] = &[b"t1", b"t2", b"t3", b"t1*"];
const SORTED_SET_KEYS: &[&[u8]] = &[b"z1", b"z2", b"z3", b"z1\x00"];
const GEO_KEYS: &[&[u8]] = &[b"g1", b"g2", b"g3"];
/// Keys that SORT is tried on: lists, a set, a sorted set of elements that are mostly numbers.
const SORT_KEYS: &[&[u8]] = &[b"n1", b"n2", b"n3", b"n4"];
/// The lists among them.
pub const SORTED_LIST_KEYS: &[&[u8]] = &[b"n1", b"n2"];
const SKETCH_KEYS: &[&[u8]] = &[b"p1", b"p2", b"p3"];
/// One long key, past every small length field.
const LONG_KEY_LENGTH: usize = 300;

const FIELDS: &[&[u8]] = &[b"f1", b"f2", b"f3", b"f4", b"n", b"n2", b"", b"\x00", b"f1\x00", b"\xff\xfe", b"a*b", b"FIELD"];
/// Few, so that a list holds some of them several times.
const ELEMENTS: &[&[u8]] = &[b"a", b"b", b"c", b"1", b"2", b"-1", b"01", b"", b"\x00"];
const MEMBERS: &[&[u8]] =
    &[b"1", b"2", b"3", b"10", b"-1", b"9223372036854775807", b"", b"a", b"b", b"ab", b"a\x00", b"\xff", b"+1", b"01", b"member"];
const TEXTS: &[&[u8]] =
    &[b"", b"a", b"abc", b"hello world", b"\x00\x01\xff", b"ohmytext", b"mynewtext", b" 1", b"1 ", b"+1", b"01", b"-0", b"\r\n", b"h1"];
const SMALL_INTEGERS: &[&str] = &["0", "1", "-1", "2", "3", "5", "7", "10", "100", "-5", "-10", "1000", "-1000", "12345"];
const EDGE_INTEGERS: &[&str] = &[
    "9223372036854775807",
    "9223372036854775806",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775807",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "4611686018427387904",
    "9223372036854776",
    "4294967296",
    "2147483648",
    "-2147483649",
    "100000000000000000000000",
];
const NOT_INTEGERS: &[&str] = &["", "abc", "1.0", "1e3", " 1", "1 ", "+1", "01", "-", "-0", "0x10", "1\0", "--1", "null"];
const FLOATS: &[&str] = &[
    "0",
    "1",
    "-1",
    "0.1",
    "-0.1",
    "3.14",
    "0.5",
    "2.5e3",
    "1e3",
    "1E-3",
    "5.0e2",
    "-1.5",
    "100.25",
    "0.000001",
    "1e17",
    "123456789.123456789",
    "10.50",
    ".5",
    "5.",
    "+3",
    "-0",
    "007",
];
const NOT_FLOATS: &[&str] = &["", "abc", "nan", "inf", "-inf", "infinity", " 1", "1 ", "1.2.3", "1e", "0x", "1,5", "1e99999", "--1", "1\0"];
const PATTERNS: &[&[u8]] = &[
    b"*",
    b"h*",
    b"*1",
    b"h?",
    b"[hs]1",
    b"[^h]*",
    b"[a-h]*",
    b"\\h1",
    b"",
    b"?",
    b"h[",
    b"*\x00*",
    b"**",
    b"nothing*",
    b"f[1-2]",
    b"[z-a]1",
    b"h1\\",
    b"s*[0-9]",
];

/// The dbs that sequences use, the last one seldom.
pub const DBS: &[&str] = &["0", "1", "2", "15"];

/// Seconds between two relative expiries of a sequence, more than the comparison of TTLs tolerates.
const EXPIRY_GRID_S: u64 = 100;

/// A source of random words.
pub struct Words {
    rng: fastrand::Rng,
    /// How many relative expiries were handed out.
    expiries: u64,
}

impl Words {
    pub fn new(seed: u64) -> Self {
        Self { rng: fastrand::Rng::with_seed(seed), expiries: 0 }
    }

    /// Less than `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.rng.usize(..bound)
    }

    pub fn percent(&mut self, share: u32) -> bool {
        self.rng.u32(..100) < share
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub fn weighted<T: Copy>(&mut self, of: &[(u32, T)]) -> T {
        let total: u32 = of.iter().map(|(weight, _)| *weight).sum();
        let mut at = self.rng.u32(..total);
        for (weight, item) in of {
            if at < *weight {
                return *item;
            }
            at -= weight;
        }
        unreachable!("the weights add up to the bound");
    }

    /// `command` with one to `max` further groups of words.
    pub fn repeated(&mut self, mut command: Args, max: usize, mut group: impl FnMut(&mut Self) -> Args) -> Args {
        for _ in 0..=self.below(max) {
            command.extend(group(self));
        }
        command
    }

    /// `command` with up to `max` options.
    pub fn optional(&mut self, command: Args, max: usize, option: impl FnMut(&mut Self) -> Args) -> Args {
        if self.percent(50) { command } else { self.repeated(command, max, option) }
    }

    /// A key that mostly holds a string.
    pub fn string_key(&mut self) -> Vec<u8> {
        if self.percent(12) { self.plain_key() } else { self.one(STRING_KEYS).to_vec() }
    }

    /// A key that mostly holds a `HyperLogLog`.
    pub fn sketch_key(&mut self) -> Vec<u8> {
        if self.percent(8) { self.plain_key() } else { self.one(SKETCH_KEYS).to_vec() }
    }

    /// A key that mostly holds a hash.
    pub fn hash_key(&mut self) -> Vec<u8> {
        if self.percent(12) { self.plain_key() } else { self.one(HASH_KEYS).to_vec() }
    }

    /// A key that mostly holds a list.
    pub fn list_key(&mut self) -> Vec<u8> {
        if self.percent(12) { self.plain_key() } else { self.one(LIST_KEYS).to_vec() }
    }

    /// A key that mostly holds a set.
    pub fn set_key(&mut self) -> Vec<u8> {
        if self.percent(12) { self.plain_key() } else { self.one(SET_KEYS).to_vec() }
    }

    /// A key that holds a sorted set, if anything.
    pub fn sorted_set_only(&mut self) -> Vec<u8> {
        if self.percent(3) { b"missing".to_vec() } else { self.one(SORTED_SET_KEYS).to_vec() }
    }

    /// A key that mostly holds a sorted set.
    pub fn sorted_set_key(&mut self) -> Vec<u8> {
        if self.percent(12) { self.plain_key() } else { self.one(SORTED_SET_KEYS).to_vec() }
    }

    /// A key that mostly holds places.
    pub fn geo_key(&mut self) -> Vec<u8> {
        if self.percent(6) { self.plain_key() } else { self.one(GEO_KEYS).to_vec() }
    }

    /// Another key for SORT. In Redis it changes the encoding of sorted sets, and leaves the order open of members of sets that are
    /// equal up to a NUL: it keeps away from both.
    pub fn other_sort_key(&mut self) -> Vec<u8> {
        let keys = self.one(&[STRING_KEYS, HASH_KEYS, LIST_KEYS]);
        self.one(keys).to_vec()
    }

    /// A key of what SORT is tried on.
    pub fn sort_key(&mut self) -> Vec<u8> {
        self.one(SORT_KEYS).to_vec()
    }

    /// A key of a list of what SORT is tried on.
    pub fn sorted_list_key(&mut self) -> Vec<u8> {
        self.one(SORTED_LIST_KEYS).to_vec()
    }

    pub fn key(&mut self) -> Vec<u8> {
        if self.percent(5) { self.one(SKETCH_KEYS).to_vec() } else { self.plain_key() }
    }

    /// Any key but those of sketches, which commands on strings would damage.
    fn plain_key(&mut self) -> Vec<u8> {
        match self.below(25) {
            0 => vec![b'k'; LONG_KEY_LENGTH],
            1 => b"missing".to_vec(),
            _ => {
                let keys = self.one(&[STRING_KEYS, HASH_KEYS, LIST_KEYS, SET_KEYS, SORTED_SET_KEYS]);
                self.one(keys).to_vec()
            }
        }
    }

    pub fn field(&mut self) -> Vec<u8> {
        if self.percent(2) { vec![b'F'; 70] } else { self.one(FIELDS).to_vec() }
    }

    /// An element of a list.
    pub fn element(&mut self) -> Vec<u8> {
        if self.percent(15) { self.value() } else { self.one(ELEMENTS).to_vec() }
    }

    /// A position in a short list, or far outside of it.
    pub fn position(&mut self) -> Vec<u8> {
        if self.percent(15) { self.integer() } else { (self.rng.i64(-6..=6)).to_string().into() }
    }

    pub fn member(&mut self) -> Vec<u8> {
        match self.below(40) {
            0 => vec![b'M'; 70],
            1 => self.value(),
            2..=9 => self.below(300).to_string().into(),
            _ => self.one(MEMBERS).to_vec(),
        }
    }

    pub fn value(&mut self) -> Vec<u8> {
        match self.below(20) {
            0..=6 => self.one(SMALL_INTEGERS).into(),
            7 => self.one(EDGE_INTEGERS).into(),
            8..=9 => self.one(FLOATS).into(),
            10 => self.one(NOT_FLOATS).into(),
            11 => vec![b'v'; 45],
            12 => {
                let length = 60 + self.below(10);
                (0..length).map(|_| self.rng.u8(..)).collect()
            }
            13 if self.percent(20) => b"0123456789abcdef".repeat(1250),
            _ => self.one(TEXTS).to_vec(),
        }
    }

    pub fn integer(&mut self) -> Vec<u8> {
        match self.below(20) {
            0..=14 => self.one(SMALL_INTEGERS).into(),
            15..=17 => self.one(EDGE_INTEGERS).into(),
            _ => self.one(NOT_INTEGERS).into(),
        }
    }

    pub fn float(&mut self) -> Vec<u8> {
        match self.below(20) {
            0..=13 => self.one(FLOATS).into(),
            14..=16 => self.one(SMALL_INTEGERS).into(),
            17 => self.one(EDGE_INTEGERS).into(),
            _ => self.one(NOT_FLOATS).into(),
        }
    }

    pub fn junk(&mut self) -> Vec<u8> {
        match self.below(5) {
            0 => self.one(EDGE_INTEGERS).into(),
            1 => self.one(NOT_INTEGERS).into(),
            2 => self.one(NOT_FLOATS).into(),
            3 => self.one(TEXTS).to_vec(),
            _ => self
                .one(&["NX", "XX", "GT", "LT", "EX", "PX", "KEEPTTL", "GET", "COUNT", "MATCH", "WITHVALUES", "REPLACE", "DB", "LEN"])
                .into(),
        }
    }

    pub fn pattern(&mut self) -> Vec<u8> {
        self.one(PATTERNS).to_vec()
    }

    /// A db number: mostly one of three.
    pub fn db(&mut self) -> Vec<u8> {
        match self.below(20) {
            0 => self.one(DBS).into(),
            1 => self.one(&["16", "-1", "abc", "", "9223372036854775808", "2147483648", "0.0"]).into(),
            _ => self.one(&DBS[..3]).into(),
        }
    }

    /// A time to live in seconds.
    pub fn seconds(&mut self) -> Vec<u8> {
        if self.percent(75) { self.distant_s().to_string().into() } else { self.no_ttl() }
    }

    /// A time to live in milliseconds.
    pub fn milliseconds(&mut self) -> Vec<u8> {
        if self.percent(75) { (self.distant_s() * 1000).to_string().into() } else { self.no_ttl() }
    }

    /// A moment in seconds since 1970.
    pub fn at_s(&mut self) -> Vec<u8> {
        if self.percent(75) { self.moment_s().to_string().into() } else { self.no_ttl() }
    }

    /// A moment in milliseconds since 1970.
    pub fn at_ms(&mut self) -> Vec<u8> {
        if self.percent(75) { (self.moment_s() * 1000).to_string().into() } else { self.no_ttl() }
    }

    /// A time to live that no other of this sequence is near to, so that GT and LT decide alike on two servers.
    fn distant_s(&mut self) -> u64 {
        self.expiries += 1;
        1000 + EXPIRY_GRID_S * (self.expiries * 7919 % 10007)
    }

    /// A moment in the past or in the next century; these may well be equal.
    fn moment_s(&mut self) -> u64 {
        self.one(&[1, 1_000_000_000, 4_102_444_800, 4_102_444_801, 5_000_000_000, 9_999_999_999])
    }

    /// What is at once over, out of range, or no number.
    fn no_ttl(&mut self) -> Vec<u8> {
        match self.below(4) {
            0 => self.one(&["0", "-1", "-1000"]).into(),
            1 => self.one(NOT_INTEGERS).into(),
            _ => self.one(EDGE_INTEGERS).into(),
        }
    }
}

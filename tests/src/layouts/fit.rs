//! Makes of generated sequences such that Redis and a layout answer alike.
//!
//! In a layout with a namespace for each kind of value, a key that holds a hash may hold a string beside it. So that no key ever holds two
//! kinds, its name says which kind it may hold: strings have the names that the generator gave them, the other kinds a letter before
//! it. What kind a command works on is taken from its row in the command table.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use orbweaver_engine::command::{Group, table};
use orbweaver_engine::layout::{Kind, Layout, SketchFormat};
use orbweaver_engine::number::parse_double;

use crate::client::Args;
use crate::sequence::Block;

/// Keys with a prefix: those of one kind of value.
type Prefix = &'static [u8];

const STRINGS: Prefix = b"";
const SKETCHES: Prefix = b"p:";
const HASHES: Prefix = b"h:";
const LISTS: Prefix = b"l:";
const SETS: Prefix = b"t:";
const SORTED_SETS: Prefix = b"z:";
const ALL: [Prefix; 6] = [STRINGS, SKETCHES, HASHES, LISTS, SETS, SORTED_SETS];

/// The generator's moments behind 2038, and others in their order that 31 bits have room for.
const MOMENTS_S: [(u64, u64); 4] =
    [(4_102_444_800, 2_100_000_000), (4_102_444_801, 2_100_000_001), (5_000_000_000, 2_120_000_000), (9_999_999_999, 2_147_483_647)];
/// Of so many sequences, all but one have only expiries that the layout can hold.
const ANY_EXPIRY_ONE_IN: u64 = 2;
/// Of 100 commands on keys of any kind, this many are on one of the kind that its name makes likely.
const LIKELY_PERCENT: u64 = 70;

/// What must be changed for a layout.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fit {
    /// A key may exist once in each kind.
    has_namespaces: bool,
    /// Sketches are not what Redis has under their keys.
    has_own_sketches: bool,
    /// Expiries end in 2038.
    has_short_expiries: bool,
    /// Sorted sets are in the order of so many decimals.
    decimals: Option<usize>,
}

impl Fit {
    /// What must be changed for this layout.
    #[must_use]
    pub fn of(layout: &dyn Layout) -> Self {
        Self {
            has_namespaces: !layout.namespaces().is_empty(),
            has_own_sketches: layout.sketches() == SketchFormat::Bytes,
            has_short_expiries: layout.expiry_rules().latest_ms < MOMENTS_S[0].0 * 1000,
            decimals: (!layout.score_index_is_exact()).then_some(5),
        }
    }

    /// Changes the sequence that a seed has made.
    pub fn apply(&self, seed: u64, blocks: &mut [Block]) {
        for (number, block) in blocks.iter_mut().enumerate() {
            let settled: Vec<(Vec<u8>, Prefix)> = block.iter().flat_map(|step| settled(&step.command)).collect();
            for step in block {
                if self.has_namespaces {
                    let known = |key: &[u8]| settled.iter().find(|(own, _)| own == key).map(|(_, prefix)| *prefix);
                    name_kinds(&mut step.command, &|key| known(key).unwrap_or_else(|| any(key, random((seed, number), key))));
                } else if self.has_own_sketches {
                    set_sketches_apart(&mut step.command);
                }
                if self.has_short_expiries && !seed.is_multiple_of(ANY_EXPIRY_ONE_IN) {
                    step.command.iter_mut().for_each(shorten);
                }
                if let Some(decimals) = self.decimals {
                    round_scores(&mut step.command, &|score| format!("{score:.decimals$}"));
                }
            }
        }
    }

    /// Changes a command of the model's generator, with the numbers that a seed makes.
    pub fn apply_to_one(&self, seed: u64, command: &mut Args) {
        if self.has_namespaces {
            let kinds = [STRINGS, HASHES, LISTS, SETS, SORTED_SETS];
            name_kinds(command, &|key| kinds[usize::try_from(random((seed, 0), key) % 5).expect("a small number")]);
        }
        if self.decimals.is_some() {
            // Such that sums are exact.
            round_scores(command, &|score| format!("{}", (score * 4.0).round() / 4.0));
        }
    }
}

/// The same number for the same key in the same block.
fn random(block: (u64, usize), key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (block, key).hash(&mut hasher);
    hasher.finish()
}

/// The group of a command, and where its keys are; those that it lacks are left out.
fn keys_of(command: &Args) -> Option<(Group, Vec<usize>)> {
    let request: Vec<Bytes> = command.iter().cloned().map(Bytes::from).collect();
    let row = table::resolve(&request)?;
    Some((row.group, row.keys.positions(&request).filter(|position| *position < request.len()).collect()))
}

fn set_sketches_apart(command: &mut Args) {
    if let Some((Group::HyperLogLog, positions)) = keys_of(command) {
        positions.into_iter().for_each(|position| prefix(command, position, SKETCHES));
    }
}

/// The keys of a command that works on one kind, with that: commands of the same block on keys of any kind mean the same keys.
fn settled(command: &Args) -> Vec<(Vec<u8>, Prefix)> {
    let Some((group, positions)) = keys_of(command) else { return Vec::new() };
    let prefix = if group == Group::HyperLogLog { Some(SKETCHES) } else { group.kind().map(of_kind) };
    positions.into_iter().filter_map(|position| Some((command[position].clone(), prefix?))).collect()
}

/// `any` tells the prefix of a key of any kind.
fn name_kinds(command: &mut Args, any: &dyn Fn(&[u8]) -> Prefix) {
    let Some((group, positions)) = keys_of(command) else { return };
    let is = |name: &[u8]| command[0].eq_ignore_ascii_case(name);
    if is(b"SORT") || is(b"SORT_RO") {
        sort(command, &positions);
        return;
    }
    // What is moved keeps its kind.
    let first = positions.first().map(|position| command[*position].clone()).unwrap_or_default();
    let is_one_kind = [&b"COPY"[..], b"RENAME", b"RENAMENX"].iter().any(|name| is(name));
    let restored = if is(b"RESTORE") { command.get(3).and_then(|payload| payload.first().copied()) } else { None };
    for position in positions {
        let key = if is_one_kind { &first } else { &command[position] };
        let of_key = match (group, restored) {
            (Group::HyperLogLog, _) => SKETCHES,
            (_, Some(tag)) => of_payload(tag),
            _ => group.kind().map_or_else(|| any(key), of_kind),
        };
        prefix(command, position, of_key);
    }
}

fn prefix(command: &mut Args, position: usize, prefix: Prefix) {
    command[position] = [prefix, &command[position]].concat();
}

const fn of_kind(kind: Kind) -> Prefix {
    match kind {
        Kind::String => STRINGS,
        Kind::Hash => HASHES,
        Kind::List => LISTS,
        Kind::Set => SETS,
        Kind::SortedSet => SORTED_SETS,
    }
}

/// What a payload of DUMP that begins with this byte restores.
const fn of_payload(tag: u8) -> Prefix {
    match tag {
        0x12 => LISTS,
        0x02 | 0x0b => SETS,
        0x11 => SORTED_SETS,
        0x10 => HASHES,
        _ => STRINGS,
    }
}

/// A kind for a key of any kind.
fn any(key: &[u8], random: u64) -> Prefix {
    if random % 100 < LIKELY_PERCENT { likely(key) } else { ALL[usize::try_from(random / 100 % 6).expect("a small number")] }
}

/// What the generator mostly puts under a key.
fn likely(key: &[u8]) -> Prefix {
    match (key.first(), key) {
        (_, b"n3") | (Some(b't'), _) => SETS,
        (_, b"n4") | (Some(b'z' | b'g'), _) => SORTED_SETS,
        (Some(b'l' | b'n'), _) => LISTS,
        (Some(b'h' | b'o' | 0), _) => HASHES,
        (Some(b'p'), _) => SKETCHES,
        _ => STRINGS,
    }
}

/// SORT reads what its key likely is, or a list, weights and values from strings and hashes, and stores a list.
fn sort(command: &mut Args, positions: &[usize]) {
    for position in positions {
        let of_key = match likely(&command[*position]) {
            kind @ (SETS | SORTED_SETS) if *position == 1 => kind,
            _ => LISTS,
        };
        prefix(command, *position, of_key);
    }
    for position in 3..command.len() {
        let is_pattern = [&b"BY"[..], b"GET"].iter().any(|option| command[position - 1].eq_ignore_ascii_case(option));
        if is_pattern && command[position].windows(2).any(|pair| pair == b"->") {
            prefix(command, position, HASHES);
        }
    }
}

/// A moment behind 2038 becomes one before.
fn shorten(word: &mut Vec<u8>) {
    for (moment_s, other_s) in MOMENTS_S {
        if *word == moment_s.to_string().into_bytes() {
            *word = other_s.to_string().into();
        } else if *word == (moment_s * 1000).to_string().into_bytes() {
            *word = (other_s * 1000).to_string().into();
        }
    }
}

/// Numbers in commands on sorted sets become what `round` makes of them, where that is another number.
fn round_scores(command: &mut Args, round: &dyn Fn(f64) -> String) {
    let Some((Group::SortedSet, positions)) = keys_of(command) else { return };
    for (_, word) in command.iter_mut().enumerate().skip(1).filter(|(position, _)| !positions.contains(position)) {
        let (bracket, digits) = word.split_at(usize::from(word.starts_with(b"(")));
        let Some(number) = parse_double(digits).filter(|number| number.is_finite()) else { continue };
        let rounded = round(number);
        if parse_double(rounded.as_bytes()) != Some(number) {
            *word = [bracket, rounded.as_bytes()].concat();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &str) -> Args {
        words.split(' ').map(Vec::from).collect()
    }

    fn named(words: &str) -> String {
        let mut command = args(words);
        name_kinds(&mut command, &likely);
        command.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keys_are_named_for_what_their_command_works_on() {
        for (command, expected) in [
            ("GET s1", "GET s1"),
            ("hset h1 f v", "hset h:h1 f v"),
            ("ZUNIONSTORE z1 2 t1 z2 WEIGHTS 1 2", "ZUNIONSTORE z:z1 2 z:t1 z:z2 WEIGHTS 1 2"),
            ("SMOVE t1 t2 m", "SMOVE t:t1 t:t2 m"),
            ("PFMERGE p1 s1", "PFMERGE p:p1 p:s1"),
            ("MSET a b c d", "MSET a b c d"),
            ("GEORADIUS g1 1 1 1 m STORE s1", "GEORADIUS z:g1 1 1 1 m STORE z:s1"),
            ("RENAME h1 s1", "RENAME h:h1 h:s1"),
            ("DEL h1 s1 l1", "DEL h:h1 s1 l:l1"),
            ("SORT n3 BY w_* GET o_*->f GET # STORE n1", "SORT t:n3 BY w_* GET h:o_*->f GET # STORE l:n1"),
            ("OBJECT ENCODING l1", "OBJECT ENCODING l:l1"),
            ("COMMAND GETKEYS HGET h1 f", "COMMAND GETKEYS HGET h1 f"),
            ("NOTHING h1", "NOTHING h1"),
        ] {
            assert_eq!(named(command), expected);
        }
    }

    #[test]
    fn numbers_become_such_that_fit() {
        let mut word = b"4102444801000".to_vec();
        shorten(&mut word);
        assert_eq!(word, b"2100000001000");
        let mut command = args("ZADD 0.1234567 0.1234567 m (1.0000049 1e-320 1e300 0.25");
        round_scores(&mut command, &|score| format!("{score:.5}"));
        assert_eq!(command, args("ZADD 0.1234567 0.12346 m (1.00000 0.00000 1e300 0.25"));
    }
}

//! Gaps: ranges of a structure, or of a keyspace that is taken from its front, that are known to hold nothing. What a queue has delivered
//! stays in RocksDB as tombstones until they are compacted, and every scan that meets them walks over all of them; it leaves a gap behind,
//! which the next one passes in one step.

use super::marks::{Flags, Mark};
use super::options::PREFIX_BYTES;
use orbweaver_engine::store::KeyRange;
use parking_lot::Mutex;
use std::collections::HashMap;

/// So many structures have gaps at a time; then all are forgotten, and found again.
const MAX_STRUCTURES: usize = 1024;
/// So many gaps has a structure; the one that was found first makes room.
const MAX_GAPS: usize = 8;

/// Between longer keys no gap is kept.
const MAX_KEY_BYTES: usize = 1 << 10;

/// A structure: its keyspace, and the first bytes of its keys; [`WHOLE`] where all of the keyspace is one.
pub type Structure = (u32, [u8; PREFIX_BYTES]);

/// The name of all records of a keyspace.
pub const WHOLE: [u8; PREFIX_BYTES] = [0; PREFIX_BYTES];

/// The gaps of one store.
pub struct Gaps {
    /// Those of a structure touch each other nowhere.
    known: Mutex<HashMap<Structure, Vec<Gap>>>,
    /// By the hashes of structures: whether some of them may have gaps.
    may_have: Flags,
}

/// No record has a key from `start` up to `end`, in the state behind the commit `since` and in every later one: what is put there cuts it.
#[derive(Clone, Debug)]
struct Gap {
    start: Vec<u8>,
    end: Vec<u8>,
    since: u64,
}

impl Gap {
    fn holds(&self, key: &[u8]) -> bool {
        self.start.as_slice() <= key && key < self.end.as_slice()
    }

    fn touches(&self, start: &[u8], end: &[u8]) -> bool {
        self.start.as_slice() <= end && start <= self.end.as_slice()
    }
}

impl Gaps {
    pub fn new() -> Self {
        Self { known: Mutex::default(), may_have: Flags::new() }
    }

    /// What is left of a range within a structure without its gaps in the state behind the commit `last`: ranges in ascending order.
    pub fn around(&self, structure: &Structure, hash: u64, mut range: KeyRange, last: u64) -> Vec<KeyRange> {
        if !self.may_have.is_raised(hash) {
            return vec![range];
        }
        let mut gaps: Vec<Gap> = {
            let known = self.known.lock();
            let gaps = known.get(structure).into_iter().flatten();
            gaps.filter(|gap| gap.since <= last && gap.end > range.start && range.end.as_ref().is_none_or(|end| gap.start < *end))
                .cloned()
                .collect()
        };
        gaps.sort_unstable_by(|one, other| one.start.cmp(&other.start));
        let mut pieces = Vec::with_capacity(gaps.len() + 1);
        for gap in gaps {
            if gap.start > range.start {
                pieces.push(KeyRange { end: Some(gap.start), ..range });
            }
            range = KeyRange { start: gap.end, after_start: false, end: range.end };
        }
        if range.end.as_ref().is_none_or(|end| range.start < *end) {
            pieces.push(range);
        }
        pieces
    }

    /// In the state behind the commit `last` there is no record from `start` up to `end`. Forgotten where the structure, whose mark is
    /// given, has been changed since.
    pub fn add(&self, structure: Structure, hash: u64, mark: &Mark, start: Vec<u8>, end: Vec<u8>, last: u64) {
        if start >= end || start.len().max(end.len()) > MAX_KEY_BYTES {
            return;
        }
        let mut known = self.known.lock();
        if known.len() >= MAX_STRUCTURES && !known.contains_key(&structure) {
            known.clear();
            self.may_have.lower_all();
        }
        // Whoever changes the structure from here on waits for the lock, and cuts what is added now.
        self.may_have.raise(hash);
        if !mark.is_unchanged_since(last) {
            return;
        }
        let gaps = known.entry(structure).or_default();
        // Together they are true of the latest of their states only.
        let mut whole = Gap { start, end, since: last };
        gaps.retain(|gap| {
            let touches = gap.touches(&whole.start, &whole.end);
            if touches {
                whole.start = whole.start.as_slice().min(&gap.start).to_vec();
                whole.end = whole.end.as_slice().max(&gap.end).to_vec();
                whole.since = whole.since.max(gap.since);
            }
            !touches
        });
        if gaps.len() >= MAX_GAPS {
            gaps.remove(0);
        }
        gaps.push(whole);
    }

    /// A record is about to be put under a key. To be called behind [`Mark::begin`] of the structure.
    pub fn put(&self, structure: &Structure, hash: u64, key: &[u8]) {
        if !self.may_have.is_raised(hash) {
            return;
        }
        let mut known = self.known.lock();
        let Some(gaps) = known.get_mut(structure) else { return };
        let Some(at) = gaps.iter().position(|gap| gap.holds(key)) else { return };
        let Gap { start, end, since } = gaps.remove(at);
        if key.len() >= MAX_KEY_BYTES {
            return;
        }
        let pieces = [(start, key.to_vec()), ([key, &[0]].concat(), end)];
        let pieces = pieces.into_iter().filter(|(start, end)| start < end).map(|(start, end)| Gap { start, end, since });
        gaps.extend(pieces);
        gaps.drain(..gaps.len().saturating_sub(MAX_GAPS));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const QUEUE: Structure = (3, *b"queue_1:");

    fn key(key: &str) -> Vec<u8> {
        format!("queue_1{key}").into_bytes()
    }

    fn add(gaps: &Gaps, start: &str, end: &str, last: u64) {
        gaps.add(QUEUE, 7, &Mark::default(), key(start), key(end), last);
    }

    fn around(gaps: &Gaps, start: &str, end: &str, last: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
        let pieces = gaps.around(&QUEUE, 7, KeyRange::between(&key(start), &key(end)), last);
        pieces.into_iter().map(|piece| (piece.start, piece.end.unwrap())).collect()
    }

    #[test]
    fn scans_go_around_the_gaps_of_their_state() {
        let gaps = Gaps::new();
        add(&gaps, ":", ":40", 5);
        add(&gaps, ":60", ":70", 6);
        assert_eq!(around(&gaps, ":", ";", 4), [(key(":"), key(";"))], "an older state");
        assert_eq!(around(&gaps, ":", ";", 5), [(key(":40"), key(";"))]);
        assert_eq!(around(&gaps, ":", ";", 6), [(key(":40"), key(":60")), (key(":70"), key(";"))]);
        assert_eq!(around(&gaps, ":39", ":61", 6), [(key(":40"), key(":60"))]);
        assert_eq!(around(&gaps, ":41", ":60", 6), [(key(":41"), key(":60"))]);
        assert_eq!(around(&gaps, ":61", ":69", 6), []);
        let behind = KeyRange { start: key(":1"), after_start: true, end: None };
        let pieces = gaps.around(&QUEUE, 7, behind, 5);
        assert_eq!(pieces, [KeyRange { start: key(":40"), after_start: false, end: None }]);
        let behind = KeyRange { start: key(":5"), after_start: true, end: None };
        assert_eq!(gaps.around(&QUEUE, 7, behind.clone(), 5), [behind]);
    }

    #[test]
    fn gaps_that_touch_become_one() {
        let gaps = Gaps::new();
        add(&gaps, ":1", ":3", 1);
        add(&gaps, ":5", ":7", 2);
        assert_eq!(around(&gaps, ":1", ":8", 2), [(key(":3"), key(":5")), (key(":7"), key(":8"))]);
        add(&gaps, ":3", ":5", 3);
        assert_eq!(around(&gaps, ":1", ":8", 3), [(key(":7"), key(":8"))]);
        assert_eq!(around(&gaps, ":1", ":8", 2), [(key(":1"), key(":8"))], "parts of it are of a later state");
    }

    #[test]
    fn a_structure_that_is_changed_meanwhile_gets_no_gap() {
        let (gaps, mark) = (Gaps::new(), Mark::default());
        let add = |last| gaps.add(QUEUE, 7, &mark, key(":"), key(":40"), last);
        mark.begin();
        add(5);
        mark.finish(6);
        add(5);
        assert_eq!(around(&gaps, ":", ";", 9), [(key(":"), key(";"))]);
        add(6);
        assert_eq!(around(&gaps, ":", ";", 9), [(key(":40"), key(";"))]);
    }

    #[test]
    fn no_record_is_ever_within_a_gap() {
        let (gaps, mut records) = (Gaps::new(), BTreeSet::new());
        let mut noise = 88_172_645_463_325_252_u64;
        let mut random = |below: u64| {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            noise % below
        };
        let key = |number: u64| [QUEUE.1.as_slice(), &[u8::try_from(number).unwrap()]].concat();
        let mut narrower = 0;
        for last in 0..20_000 {
            let (one, other) = (random(200), random(200));
            match random(4) {
                0 => {
                    gaps.put(&QUEUE, 7, &key(one));
                    records.insert(key(one));
                }
                1 => drop(records.pop_first()),
                2 => drop(records.remove(&key(one))),
                _ => {
                    // What a scan from there finds.
                    let range = key(one.min(other))..key(one.max(other));
                    let first = records.range(range.clone()).next().unwrap_or(&range.end).clone();
                    gaps.add(QUEUE, 7, &Mark::default(), range.start, first, last);
                }
            }
            let whole = KeyRange::between(&key(one.min(other)), &key(one.max(other)));
            let pieces = gaps.around(&QUEUE, 7, whole.clone(), last);
            narrower += usize::from(pieces != [whole.clone()]);
            let within = |range: &KeyRange| -> Vec<Vec<u8>> {
                records.iter().filter(|key| **key >= range.start && Some(*key) < range.end.as_ref()).cloned().collect()
            };
            assert_eq!(pieces.iter().flat_map(within).collect::<Vec<_>>(), within(&whole));
        }
        assert!(narrower > 1000, "{narrower}");
    }

    #[test]
    fn the_memory_for_gaps_is_bounded() {
        let gaps = Gaps::new();
        for number in 0..5 * u64::try_from(MAX_STRUCTURES).unwrap() {
            gaps.add((0, number.to_be_bytes()), number << 24, &Mark::default(), vec![9; 9], vec![9; 10], 0);
        }
        (10..99).step_by(2).for_each(|number| add(&gaps, &format!(":{number}"), &format!(":{}", number + 1), 0));
        let known = gaps.known.lock();
        assert!(known.len() <= MAX_STRUCTURES && known.values().all(|gaps| gaps.len() <= MAX_GAPS));
    }
}

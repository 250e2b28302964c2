//! Between which keys heads wait: who searches, or deletes, elsewhere need not wait for them.

use orbweaver_engine::store::KeyRange;

/// The least and the greatest of some keys, by their first eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    least: u64,
    greatest: u64,
}

impl Default for Bounds {
    /// Of no keys.
    fn default() -> Self {
        Self { least: u64::MAX, greatest: 0 }
    }
}

impl Bounds {
    pub fn add(&mut self, key: &[u8]) {
        let start = start_of(key);
        (self.least, self.greatest) = (self.least.min(start), self.greatest.max(start));
    }

    /// False: it is none of the keys.
    pub fn may_hold(&self, key: &[u8]) -> bool {
        (self.least..=self.greatest).contains(&start_of(key))
    }

    /// False: none of the keys is within the range.
    pub fn may_meet(&self, range: &KeyRange) -> bool {
        let is_behind = start_of(&range.start) > self.greatest;
        let is_before = range.end.as_ref().is_some_and(|end| start_of(end) < self.least);
        self.least <= self.greatest && !is_behind && !is_before
    }
}

/// The first bytes as a number, which has their order.
fn start_of(key: &[u8]) -> u64 {
    let mut start = [0; size_of::<u64>()];
    start.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    fn key(random: &mut Rng) -> Vec<u8> {
        let length = random.usize(0..12);
        (0..length).map(|_| random.u8(0..4) * 85).collect()
    }

    #[test]
    fn no_key_is_out_of_the_bounds_that_hold_it_nor_a_range_that_it_is_in() {
        let mut random = Rng::with_seed(3);
        let (mut outside, mut apart) = (0, 0);
        for _ in 0..20_000 {
            let keys: Vec<_> = (0..random.usize(0..4)).map(|_| key(&mut random)).collect();
            let mut bounds = Bounds::default();
            keys.iter().for_each(|key| bounds.add(key));
            assert!(keys.iter().all(|key| bounds.may_hold(key)), "{keys:?}");
            outside += usize::from(!bounds.may_hold(&key(&mut random)));
            let (start, end) = (key(&mut random), random.bool().then(|| key(&mut random)));
            let range = KeyRange { start, end, after_start: random.bool() };
            let is_within = |key: &Vec<u8>| *key >= range.start && range.end.as_ref().is_none_or(|end| key < end);
            assert!(bounds.may_meet(&range) || !keys.iter().any(is_within), "{keys:?} {range:?}");
            apart += usize::from(!bounds.may_meet(&range));
        }
        assert!(outside > 5000 && apart > 5000, "{outside} keys and {apart} ranges are known to be elsewhere");
    }

    #[test]
    fn what_has_another_space_is_elsewhere() {
        let mut bounds = Bounds::default();
        [&b"\0\0\0\x02key"[..], b"\0\0\0\x02another"].iter().for_each(|key| bounds.add(key));
        assert!(!bounds.may_hold(b"\0\0\0\x01key") && bounds.may_hold(b"\0\0\0\x02between"));
        let space = |number| KeyRange::prefix(&u32::to_be_bytes(number));
        assert_eq!([1, 2, 3].map(|number| bounds.may_meet(&space(number))), [false, true, false]);
        assert!(bounds.may_meet(&KeyRange::all()) && !Bounds::default().may_meet(&KeyRange::all()));
    }
}

//! The values of several keys: how they cross the boundary, flat.

use super::{Keyspace, StoreError};
use bytes::Bytes;
use std::ops::Range;

/// Bytes of a value for which there is room at once.
const SHORT: usize = 128;
/// Most bytes for which there is.
const MOST_AT_ONCE: usize = 1 << 20;

/// What [`Store::get_many`](super::Store::get_many) answers: the values in one buffer, in the order of the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// The values, one behind the other.
    pub bytes: Vec<u8>,
    /// For each key the end of its value within `bytes`; where there is no record, the end of the value before it.
    pub ends: Vec<u32>,
    /// The positions of the keys that have no record, ascending.
    pub absent: Vec<u32>,
}

impl Values {
    /// None, with room for those of so many keys, if they are short.
    #[must_use]
    pub fn with_capacity(keys: usize) -> Self {
        let bytes = keys.saturating_mul(SHORT).min(MOST_AT_ONCE);
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(keys), absent: Vec::new() }
    }

    /// Those of all keys, each `None` where there is no record.
    ///
    /// # Errors
    /// As [`Values::push`].
    pub fn from_each(values: &[Option<impl AsRef<[u8]>>]) -> Result<Self, StoreError> {
        let length = values.iter().flatten().map(|value| value.as_ref().len()).sum();
        let mut all = Self { bytes: Vec::with_capacity(length), ends: Vec::with_capacity(values.len()), absent: Vec::new() };
        values.iter().try_for_each(|value| all.push(value.as_ref().map(AsRef::as_ref)))?;
        Ok(all)
    }

    /// Adds the value of the next key, `None` where there is no record.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where all of them would be 4 GiB or more.
    #[inline]
    pub fn push(&mut self, value: Option<&[u8]>) -> Result<(), StoreError> {
        let too_large = |_| StoreError::TooLarge { what: "the values of a get-many".into(), limit: u32::MAX.into() };
        match value {
            Some(value) => self.bytes.extend_from_slice(value),
            None => self.absent.push(u32::try_from(self.ends.len()).map_err(too_large)?),
        }
        self.ends.push(u32::try_from(self.bytes.len()).map_err(too_large)?);
        Ok(())
    }

    /// The value of each key, slices of the one buffer; `None` where there is no record.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where this is not one value for each of `keys` keys, where the ends contradict the bytes, or where what is absent
    /// is not in order.
    pub fn of_each(self, keys: usize) -> Result<impl ExactSizeIterator<Item = Option<Bytes>>, StoreError> {
        self.check(keys)?;
        let Self { bytes, ends, absent } = self;
        let bytes = Bytes::from(bytes);
        Ok(places(ends.into_iter(), absent.into_iter()).map(move |place| place.map(|place| bytes.slice(place))))
    }

    /// As [`Values::of_each`], lent.
    ///
    /// # Errors
    /// As [`Values::of_each`].
    pub fn each(&self, keys: usize) -> Result<impl ExactSizeIterator<Item = Option<&[u8]>>, StoreError> {
        self.check(keys)?;
        let each = places(self.ends.iter().copied(), self.absent.iter().copied());
        Ok(each.map(|place| place.map(|place| self.bytes.get(place).unwrap_or_default())))
    }

    fn check(&self, keys: usize) -> Result<(), StoreError> {
        let Self { bytes, ends, absent } = self;
        let is_within = |last: Option<&u32>, most: usize| last.is_none_or(|&last| usize::try_from(last).is_ok_and(|last| last <= most));
        let are_whole = ends.len() == keys && ends.is_sorted() && is_within(ends.last(), bytes.len());
        if !are_whole || !absent.is_sorted_by(|one, next| one < next) || !is_within(absent.last(), keys.saturating_sub(1)) {
            return Err(StoreError::Corrupt("the answer of get-many is not one value for each key".into()));
        }
        Ok(())
    }
}

/// Where the values with these ends lie, `None` for those that are absent.
fn places(
    ends: impl ExactSizeIterator<Item = u32>,
    absent: impl Iterator<Item = u32>,
) -> impl ExactSizeIterator<Item = Option<Range<usize>>> {
    let (mut absent, mut start) = (absent.peekable(), 0);
    let mut position = 0;
    ends.map(move |end| {
        let end = usize::try_from(end).unwrap_or(usize::MAX);
        let is_there = absent.next_if_eq(&position).is_none();
        position += 1;
        let start = std::mem::replace(&mut start, end);
        is_there.then_some(start..end)
    })
}

/// Keys as [`Store::get_many`](super::Store::get_many) takes them, of those that somebody has.
#[must_use]
pub fn lent(keys: &[(Keyspace, Bytes)]) -> Vec<(Keyspace, &[u8])> {
    keys.iter().map(|(keyspace, key)| (*keyspace, key.as_ref())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn absent_values_are_told_from_empty_ones() {
        let each = [Some(&b"a"[..]), None, Some(b""), None, Some(b"bc")];
        let values = Values::from_each(&each).unwrap();
        assert_eq!(values, Values { bytes: b"abc".to_vec(), ends: vec![1, 1, 1, 1, 3], absent: vec![1, 3] });
        assert_eq!(values.each(5).unwrap().collect::<Vec<_>>(), each);
        assert_eq!(values.of_each(5).unwrap().collect::<Vec<_>>(), each.map(|value| value.map(Bytes::from_static)));
        assert_eq!(Values::default().of_each(0).unwrap().len(), 0);
    }

    #[test]
    fn what_is_not_one_value_for_each_key_is_corrupt() {
        let values = |ends: &[u32]| Values { bytes: b"abc".to_vec(), ends: ends.to_vec(), absent: Vec::new() };
        for (ends, keys) in [(&[1, 3][..], 1), (&[1, 3], 3), (&[2, 1], 2), (&[1, 4], 2)] {
            assert!(matches!(values(ends).each(keys).map(|_| ()), Err(StoreError::Corrupt(_))), "{ends:?} of {keys}");
            assert!(matches!(values(ends).of_each(keys).map(|_| ()), Err(StoreError::Corrupt(_))), "{ends:?} of {keys}");
        }
        assert!(values(&[1, 3]).of_each(2).is_ok());
        for absent in [&[1, 0][..], &[0, 0], &[2]] {
            let values = Values { absent: absent.to_vec(), ..values(&[1, 3]) };
            assert!(matches!(values.of_each(2).map(|_| ()), Err(StoreError::Corrupt(_))), "{absent:?} of two are absent");
        }
    }
}

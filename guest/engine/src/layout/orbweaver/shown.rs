//! What is shown of collections in this layout, of all of one or of a range: what is handed over of their records, to whoever walks over them; and how
//! what [goes straight](crate::command::straight) reads them, page by page.

use super::records::{decode_element_key, encode_element_key, split_field_value, split_scored, split_sub_key};
use super::straight::{PREFIX_BYTES, index, prefix};
use super::{MISSING, corrupt, keyspace, put_score_key};
use crate::error::Result;
use crate::layout::lists::Elements;
use crate::layout::lots::{Form, Lot, lend_lots};
use crate::layout::records::{LentRecord, LentRecords};
use crate::layout::straight::{Head, Keyspaces};
use crate::layout::{Cut, LentField, LentScored};
use crate::store::{Direction, KeyRange, Keyspace};
use crate::transaction::Transaction;
use std::ops::{ControlFlow, Range};

/// Hands over the fields that have not expired.
#[inline(never)]
pub fn lend_fields(
    records: &mut LentRecords<'_>,
    left: &mut u64,
    now_ms: u64,
    visit: &mut dyn FnMut(Lot<'_, '_, LentField<'_>>),
) -> Result<ControlFlow<()>> {
    let lend = |record| field_of(record).map(|field| Some(field).filter(|field| !field.is_expired(now_ms)));
    lend_lots(
        records,
        left,
        || Some(Form::Field),
        lend,
        |fields| {
            visit(fields);
            ControlFlow::Continue(())
        },
    )
}

/// Hands over the members of a set.
#[inline(never)]
pub fn lend_members(records: &mut LentRecords<'_>, left: &mut u64, visit: &mut dyn FnMut(Lot<'_, '_, &[u8]>)) -> Result<ControlFlow<()>> {
    lend_lots(
        records,
        left,
        || Some(Form::Member),
        |record| member_of(record).map(Some),
        |members| {
            visit(members);
            ControlFlow::Continue(())
        },
    )
}

/// Hands over the members of a sorted set with their scores, until `visit` breaks off.
#[inline(never)]
pub fn lend_scored(
    records: &mut LentRecords<'_>,
    left: &mut u64,
    visit: &mut dyn FnMut(Lot<'_, '_, LentScored<'_>>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    lend_lots(records, left, || Some(Form::ScoredMember), |record| scored_of(record).map(Some), visit)
}

fn field_of(LentRecord { key, value, .. }: LentRecord<'_>) -> Result<LentField<'_>> {
    let split = || {
        let (_, name) = split_sub_key(key)?;
        let (expire_at_ms, value) = split_field_value(value)?;
        Ok(LentField { name, expire_at_ms, value })
    };
    split().map_err(|flaw| corrupt(keyspace::DATA, key, flaw))
}

fn member_of(record: LentRecord<'_>) -> Result<&[u8]> {
    let member = split_sub_key(record.key).map(|(_, member)| member);
    member.map_err(|flaw| corrupt(keyspace::DATA, record.key, flaw))
}

fn scored_of(record: LentRecord<'_>) -> Result<LentScored<'_>> {
    let scored = split_scored(record.key, record.value).map(|(_, score, member)| (member, score));
    scored.map_err(|flaw| corrupt(keyspace::SCORE, record.key, flaw))
}

/// Reads collections in a transaction that has changed nothing. All functions fail with store errors and corrupt records.
pub struct CollectionReader<'t, 's> {
    /// The transaction.
    pub transaction: &'t mut Transaction<'s>,
    /// Where the records are.
    pub keyspaces: Keyspaces,
    /// The time by which fields expire.
    pub now_ms: u64,
    /// What was asked for last: its memory is used again.
    pub range: &'t mut KeyRange,
}

impl CollectionReader<'_, '_> {
    /// The fields of a hash that have not expired.
    ///
    /// # Errors
    /// See the type.
    pub fn fields(&mut self, hash: &Head, visit: &mut dyn FnMut(Lot<'_, '_, LentField<'_>>)) -> Result<()> {
        let (mut left, now_ms) = (u64::MAX, self.now_ms);
        self.range.refill(&prefix(hash.version));
        self.each_page(self.keyspaces.parts, Direction::Forward, hash.count, |records| lend_fields(records, &mut left, now_ms, visit))
    }

    /// The members of a set.
    ///
    /// # Errors
    /// See the type.
    pub fn members(&mut self, set: &Head, visit: &mut dyn FnMut(Lot<'_, '_, &[u8]>)) -> Result<()> {
        let mut left = u64::MAX;
        self.range.refill(&prefix(set.version));
        self.each_page(self.keyspaces.parts, Direction::Forward, set.count, |records| lend_members(records, &mut left, visit))
    }

    /// The elements of a list at some ranks, which it has.
    ///
    /// # Errors
    /// See the type.
    pub fn elements(&mut self, list: &Head, ranks: Range<u64>, visit: &mut dyn FnMut(Lot<'_, '_, &[u8]>)) -> Result<()> {
        let indexes = list.first.saturating_add(ranks.start)..list.first.saturating_add(ranks.end);
        put_elements_at(list.version, &indexes, self.range);
        let expected = ranks.end.saturating_sub(ranks.start);
        let mut elements = Elements::at(indexes);
        let decode = |key: &[u8]| decode_element_key(key).map(|(_, at)| at).map_err(|flaw| corrupt(keyspace::DATA, key, flaw));
        let missing = |at| corrupt(keyspace::DATA, &encode_element_key(list.version, at), MISSING);
        self.each_page(self.keyspaces.parts, Direction::Forward, expected, |records| {
            elements.lend(records, |at| Some(Form::Element(at)), decode, missing, visit)
        })?;
        elements.check_complete(missing)
    }

    /// The members of a sorted set between two cuts with their scores, behind the first `offset` of them, `limit` at most.
    ///
    /// # Errors
    /// See the type.
    pub fn scored(
        &mut self,
        set: &Head,
        (from, to): (&Cut, &Cut),
        direction: Direction,
        (mut offset, mut limit): (u64, u64),
        visit: &mut dyn FnMut(Lot<'_, '_, LentScored<'_>>),
    ) -> Result<()> {
        if limit == 0 {
            return Ok(());
        }
        let mut visit = |members: Lot<'_, '_, LentScored<'_>>| {
            visit(members);
            ControlFlow::Continue(())
        };
        self.range.refill(&prefix(set.version));
        Cut::narrow(from, to, self.range, |cut, key| put_score_key(set.version, cut, key));
        self.each_page(self.keyspaces.scores, direction, offset.saturating_add(limit), |records| {
            while offset > 0 && records.next().is_some() {
                offset -= 1;
            }
            lend_scored(records, &mut limit, &mut visit)
        })
    }

    /// Hands over what is within [the range](CollectionReader::range).
    fn each_page(
        &mut self,
        keyspace: Keyspace,
        direction: Direction,
        expected: u64,
        mut visit: impl FnMut(&mut LentRecords<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        self.transaction.each_page(keyspace, self.range, direction, expected, |run| visit(&mut LentRecords::of(keyspace, run)))
    }
}

/// Where the elements of a list are that are at these indexes.
pub fn elements_at(version: u64, indexes: &Range<u64>) -> KeyRange {
    let mut range = KeyRange::all();
    put_elements_at(version, indexes, &mut range);
    range
}

fn put_elements_at(version: u64, indexes: &Range<u64>, range: &mut KeyRange) {
    range.after_start = false;
    for (key, at) in [(&mut range.start, indexes.start), (range.end.get_or_insert_default(), indexes.end)] {
        key.clear();
        key.reserve(2 * PREFIX_BYTES);
        key.extend_from_slice(&prefix(version));
        key.extend_from_slice(&index(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// What a range is made of: bytes and scores in their ordered form.
    fn key(version: u8, rest: &[&[u8]]) -> Vec<u8> {
        [&[0, 0, 0, 0, 0, 0, 0, version], rest.concat().as_slice()].concat()
    }

    #[test]
    fn ranges_between_cuts_are_made_in_memory_that_had_another_one() {
        const ONE: &[u8] = b"\xbf\xf0\0\0\0\0\0\0";
        const BEHIND_TWO: &[u8] = b"\xc0\0\0\0\0\0\0\x01";
        let (a, b) = (Bytes::from_static(b"a"), Bytes::from_static(b"b"));
        let table = [
            (Cut::Edge, Cut::Edge, key(7, &[]), key(8, &[])),
            (Cut::Before(1.0), Cut::Behind(2.0), key(7, &[ONE]), key(7, &[BEHIND_TWO])),
            (Cut::Edge, Cut::Before(1.0), key(7, &[]), key(7, &[ONE])),
            (Cut::Before(1.0), Cut::Edge, key(7, &[ONE]), key(8, &[])),
            // Behind all scores there is nothing, and up to there is all.
            (Cut::Behind(f64::INFINITY), Cut::Edge, key(8, &[]), key(8, &[])),
            (Cut::Edge, Cut::Behind(f64::INFINITY), key(7, &[]), key(8, &[])),
            (Cut::BeforeMember(1.0, a.clone()), Cut::BehindMember(1.0, b), key(7, &[ONE, b"a"]), key(7, &[ONE, b"b\0"])),
            (Cut::BehindMember(1.0, a), Cut::Edge, key(7, &[ONE, b"a\0"]), key(8, &[])),
        ];
        let mut range = KeyRange { start: vec![1; 40], after_start: true, end: None };
        for (from, to, start, end) in table {
            range.refill(&prefix(7));
            Cut::narrow(&from, &to, &mut range, |cut, key| put_score_key(7, cut, key));
            let expected = KeyRange { start, after_start: false, end: Some(end) };
            assert_eq!(range, expected, "{from:?} {to:?}");
            let anew = Cut::range(&from, &to, KeyRange::prefix(&prefix(7)), |cut| {
                let mut key = Vec::new();
                put_score_key(7, cut, &mut key).then_some(key)
            });
            assert_eq!(anew, expected, "{from:?} {to:?}");
            range.after_start = true;
        }
    }

    #[test]
    fn behind_the_last_version_there_is_no_end_but_where_a_cut_is_one() {
        let mut range = KeyRange::prefix(b"other");
        for (to, end) in [(Cut::Edge, None), (Cut::Before(0.0), Some([[0xff; 8], [0x80, 0, 0, 0, 0, 0, 0, 0]].concat())), (Cut::Edge, None)]
        {
            range.refill(&prefix(u64::MAX));
            Cut::narrow(&Cut::Edge, &to, &mut range, |cut, key| put_score_key(u64::MAX, cut, key));
            assert_eq!(range, KeyRange { start: vec![0xff; 8], after_start: false, end });
        }
        // An end that is the beginning of all keys stays one.
        let mut nothing = KeyRange { end: Some(Vec::new()), ..KeyRange::all() };
        Cut::narrow(&Cut::Edge, &Cut::Edge, &mut nothing, |_, _| false);
        assert_eq!(nothing.end, Some(Vec::new()));
    }

    #[test]
    fn the_end_of_a_prefix_is_the_next_one_of_its_length_or_less() {
        for (prefix, end) in [
            (&b"ab"[..], Some(&b"ac"[..])),
            (b"a\xff", Some(b"b")),
            (b"a\xff\xff\0", Some(b"a\xff\xff\x01")),
            (b"\xff\xff", None),
            (b"", None),
        ] {
            let mut range = KeyRange { start: vec![9; 3], after_start: true, end: Some(vec![9; 30]) };
            range.refill(prefix);
            assert_eq!((range.start.as_slice(), range.after_start, range.end.as_deref()), (prefix, false, end));
            assert_eq!(range, KeyRange::prefix(prefix));
        }
    }
}

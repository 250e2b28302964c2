//! Walks over sorted sets in the order of the scores, which is not that of the rows: those of encode version 0 have negative scores
//! behind the others, from the smallest magnitude to the greatest, and version 1 has members with equal scores in the order of their
//! indexes.

use super::members::{Scored, SortedSet};
use super::records::Tag;
use super::redis;
use crate::error::Result;
use crate::layout::records::{OwnOrder, OwnWalk, Record};
use crate::layout::{Cut, RecordKey, RecordRange};
use crate::store::{Direction, KeyRange, Keyspace, prefix_end};
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;
use std::collections::VecDeque;
use std::rc::Rc;

/// Rows that are read and compared with those of their members together.
const MAX_CHUNK: usize = 64;
/// The bits of -0, with which the rows of negative scores begin.
const NEGATIVE: u64 = 1 << 63;

/// The members of a sorted set between two cuts. Records are score rows as encode version 0 has them.
#[derive(Clone, Debug)]
pub(super) struct ByScore {
    pub set: SortedSet,
    pub from: Cut,
    pub to: Cut,
}

/// Rows in the order of the scores, or in the opposite one.
struct Segment {
    keyspace: Keyspace,
    range: KeyRange,
    is_reversed: bool,
}

impl ByScore {
    /// The rows from the lowest score to the highest one. At both ends there may be too many.
    fn segments(&self) -> Vec<Segment> {
        if self.set.is_in_redis {
            return vec![Segment { keyspace: self.set.redis, range: self.in_redis(), is_reversed: false }];
        }
        let negative = Segment { keyspace: self.set.kv, range: self.negative(), is_reversed: true };
        let positive = Segment { keyspace: self.set.kv, range: self.positive(), is_reversed: false };
        vec![negative, positive]
    }

    fn in_redis(&self) -> KeyRange {
        let all = self.set.redis_scores();
        let at = |ordered: u64| [all.start.as_slice(), &ordered.to_be_bytes()].concat();
        let first_of = |score: f64| redis::ordered(if score == 0.0 { -0.0 } else { score });
        let behind = |score: f64| redis::ordered(if score == 0.0 { 0.0 } else { score }).saturating_add(1);
        let start = match &self.from {
            Cut::Edge => all.start.clone(),
            Cut::Behind(score) => at(behind(*score)),
            Cut::Before(score) | Cut::BeforeMember(score, _) | Cut::BehindMember(score, _) => at(first_of(*score)),
        };
        let end = match &self.to {
            Cut::Edge => all.end.clone(),
            Cut::Before(score) => Some(at(first_of(*score))),
            Cut::Behind(score) | Cut::BeforeMember(score, _) | Cut::BehindMember(score, _) => Some(at(behind(*score))),
        };
        KeyRange { start, after_start: false, end }
    }

    /// What the keys of the score rows begin with, and the bits of a score.
    fn at(&self, bits: u64, member: &[u8]) -> Vec<u8> {
        [&self.set.sub_key(Tag::Score, &bits.to_be_bytes()), member].concat()
    }

    /// The rows of scores from 0 on.
    fn positive(&self) -> KeyRange {
        let place = |cut: &Cut| match cut {
            Cut::Edge => None,
            Cut::Before(score) if *score >= 0.0 => Some(self.at(score.abs().to_bits(), b"")),
            Cut::Behind(score) if *score >= 0.0 => Some(self.at(score.abs().to_bits() + 1, b"")),
            Cut::BeforeMember(score, member) if *score >= 0.0 => Some(self.at(score.abs().to_bits(), member)),
            // In byte order nothing is between a member and itself with a zero byte.
            Cut::BehindMember(score, member) if *score >= 0.0 => Some(self.at(score.abs().to_bits(), &[member.as_ref(), &[0]].concat())),
            _ => Some(self.at(0, b"")),
        };
        let start = place(&self.from).unwrap_or_else(|| self.at(0, b""));
        let end = place(&self.to).unwrap_or_else(|| self.at(NEGATIVE, b""));
        KeyRange { start, after_start: false, end: Some(end) }
    }

    /// The rows of -0 and the scores below it, from the highest score to the lowest one.
    fn negative(&self) -> KeyRange {
        let bits = |score: f64| (-score.abs()).to_bits();
        let lowest = match &self.from {
            Cut::Edge => prefix_end(&self.set.sub_key(Tag::Score, b"")),
            Cut::Behind(score) if *score <= 0.0 => Some(self.at(bits(*score), b"")),
            Cut::Before(score) | Cut::BeforeMember(score, _) | Cut::BehindMember(score, _) if *score <= 0.0 => {
                Some(self.at(bits(*score) + 1, b""))
            }
            _ => Some(self.at(NEGATIVE, b"")),
        };
        let highest = match &self.to {
            Cut::Before(score) if *score <= 0.0 => self.at(bits(*score) + 1, b""),
            Cut::Behind(score) | Cut::BeforeMember(score, _) | Cut::BehindMember(score, _) if *score <= 0.0 => self.at(bits(*score), b""),
            _ => self.at(NEGATIVE, b""),
        };
        KeyRange { start: highest, after_start: false, end: lowest }
    }

    fn has(&self, scored: &Scored) -> bool {
        let is_from = matches!(self.from, Cut::Edge) || is_behind(scored, &self.from);
        is_from && (matches!(self.to, Cut::Edge) || !is_behind(scored, &self.to))
    }
}

/// Whether a member comes behind a cut that is no edge.
fn is_behind(scored: &Scored, cut: &Cut) -> bool {
    match cut {
        Cut::Edge => false,
        Cut::Before(score) => scored.score >= *score,
        Cut::Behind(score) => scored.score > *score,
        Cut::BeforeMember(score, member) => scored.score > *score || scored.score == *score && scored.member >= *member,
        Cut::BehindMember(score, member) => scored.score > *score || scored.score == *score && scored.member > *member,
    }
}

impl OwnOrder for ByScore {
    fn walk(&self, direction: Direction, expected: usize) -> Box<dyn OwnWalk> {
        let chunk = expected.clamp(1, MAX_CHUNK);
        let scan = |Segment { keyspace, range, is_reversed }: Segment| {
            let way = if is_reversed { opposite(direction) } else { direction };
            Scan::new(keyspace, range, way, chunk)
        };
        let mut scans: VecDeque<Scan> = self.segments().into_iter().map(scan).collect();
        if direction == Direction::Reverse {
            scans.make_contiguous().reverse();
        }
        Box::new(ScoreWalk { order: self.clone(), direction, chunk, scans, read: VecDeque::new(), sorted: VecDeque::new() })
    }

    fn range(&self) -> RecordRange {
        (self.set.kv, KeyRange::prefix(&self.set.sub_key(Tag::Score, b"")))
    }

    fn behind(&self, (_, key): &RecordKey) -> Rc<dyn OwnOrder> {
        let from = match self.set.decode_scored(key) {
            Ok(Scored { score, member }) => Cut::BehindMember(score, member),
            // No walk has come to it.
            Err(_) => self.to.clone(),
        };
        Rc::new(Self { from, ..self.clone() })
    }
}

const fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Forward => Direction::Reverse,
        Direction::Reverse => Direction::Forward,
    }
}

#[derive(Debug)]
struct ScoreWalk {
    order: ByScore,
    direction: Direction,
    chunk: usize,
    /// The one under way, and those to come.
    scans: VecDeque<Scan>,
    /// Members in the order of their rows.
    read: VecDeque<Scored>,
    /// Members in the order of the walk, before all that were read.
    sorted: VecDeque<Scored>,
}

impl ScoreWalk {
    /// Reads on where nothing is read. False: there is nothing more.
    fn fill(&mut self, transaction: &mut Transaction<'_>) -> Result<bool> {
        while self.read.is_empty() {
            let Some(scan) = self.scans.front_mut() else { return Ok(false) };
            let mut rows = Vec::new();
            while rows.len() < self.chunk
                && let Some((row, _)) = transaction.next(scan)?
            {
                rows.push(row);
            }
            if rows.len() < self.chunk {
                self.scans.pop_front();
            }
            self.read.extend(self.order.set.read_scores(transaction, rows)?);
        }
        Ok(true)
    }

    /// Moves on the members of the next score: all where their rows are not in order, or else the first one.
    fn sort(&mut self, transaction: &mut Transaction<'_>) -> Result<bool> {
        if !self.fill(transaction)? {
            return Ok(false);
        }
        let Some(first) = self.read.pop_front() else { return Ok(false) };
        let score = first.score;
        self.sorted.push_back(first);
        if self.is_in_order(transaction, score)? {
            return Ok(true);
        }
        while self.fill(transaction)?
            && let Some(next) = self.read.pop_front_if(|next| next.score == score)
        {
            self.sorted.push_back(next);
        }
        let sorted = self.sorted.make_contiguous();
        sorted.sort_unstable_by(|a, b| a.member.cmp(&b.member));
        if self.direction == Direction::Reverse {
            sorted.reverse();
        }
        Ok(true)
    }

    /// Whether the rows of a score are in the order of their members, and on the way. Both zeros are one score: where a walk forward
    /// comes to a 0 first, there is no -0.
    fn is_in_order(&self, transaction: &mut Transaction<'_>, score: f64) -> Result<bool> {
        if self.order.set.is_in_redis || score.is_sign_negative() {
            return Ok(false);
        }
        if score > 0.0 || self.direction == Direction::Forward {
            return Ok(true);
        }
        let (keyspace, range) = (self.order.set.kv, KeyRange::prefix(&self.order.at(NEGATIVE, b"")));
        Ok(transaction.first(keyspace, range, Direction::Forward)?.is_none())
    }
}

impl OwnWalk for ScoreWalk {
    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<Record>> {
        loop {
            while let Some(scored) = self.sorted.pop_front() {
                if self.order.has(&scored) {
                    let key = self.order.set.score_key(scored.score, &scored.member);
                    return Ok(Some(Record { keyspace: self.order.set.kv, key, value: Bytes::new() }));
                }
            }
            if !self.sort(transaction)? {
                return Ok(None);
            }
        }
    }
}

/// The members of a sorted set of encode version 1, in the order of their indexes. Records are as
/// [`SortedSet::read_members`] has them.
#[derive(Clone, Debug)]
pub(super) struct ByIndex {
    pub set: SortedSet,
    pub behind: Option<Bytes>,
}

impl OwnOrder for ByIndex {
    fn walk(&self, direction: Direction, expected: usize) -> Box<dyn OwnWalk> {
        let chunk = expected.clamp(1, MAX_CHUNK);
        let (keyspace, range) = self.set.redis_members(self.behind.as_ref());
        Box::new(IndexWalk { set: self.set.clone(), chunk, scan: Scan::new(keyspace, range, direction, chunk), read: VecDeque::new() })
    }

    fn range(&self) -> RecordRange {
        (self.set.kv, KeyRange::prefix(&self.set.sub_key(Tag::Sub, b"")))
    }

    fn behind(&self, (_, key): &RecordKey) -> Rc<dyn OwnOrder> {
        let member = self.set.rows.decode(key).ok().flatten().map(|row| row.rest);
        Rc::new(Self { behind: member, ..self.clone() })
    }
}

#[derive(Debug)]
struct IndexWalk {
    set: SortedSet,
    chunk: usize,
    scan: Scan,
    read: VecDeque<Record>,
}

impl OwnWalk for IndexWalk {
    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<Record>> {
        if self.read.is_empty() {
            let mut rows = Vec::new();
            while rows.len() < self.chunk
                && let Some(row) = transaction.next(&mut self.scan)?
            {
                rows.push(row);
            }
            self.read.extend(self.set.read_members(transaction, rows)?);
        }
        Ok(self.read.pop_front())
    }
}

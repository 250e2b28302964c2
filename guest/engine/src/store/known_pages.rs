//! Pages that a store gives again, kept by the one into whose memory they would be copied again: the component (docs/boundary.md).

use super::{Changes, Direction, KeyRange, Keyspace, Page, PageLimit};
use crate::distinct::place;

/// So many pages at most, a power of two: several times as many as there is room for in general, for each has one place.
const SLOTS: usize = 8192;
/// With so many bytes at most, all together: beside these places and what the allocator adds, some 19 MiB in all.
const MOST_BYTES: usize = 16 << 20;
/// And each: larger ones are not kept by the host's cache either.
const MOST_PAGE_BYTES: usize = 64 << 10;

/// So many places are looked at for what may go, where there is no room.
const STEPS: usize = 4;

/// What a scan asks for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'r> {
    /// Of which records.
    pub keyspace: Keyspace,
    /// Of which of them.
    pub range: &'r KeyRange,
    /// From which end on.
    pub direction: Direction,
    /// How many.
    pub limit: PageLimit,
}

impl Question<'_> {
    /// Where its answer is. Others may have the same place.
    #[must_use]
    pub fn slot(&self) -> usize {
        let Self { keyspace, range, direction, limit } = self;
        let start = place(keyspace.0 ^ limit.max_items.rotate_left(16), &range.start) ^ usize::from(*direction == Direction::Reverse);
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        place(start, range.end.as_deref().unwrap_or_default()) & (SLOTS - 1)
    }

    /// The start of the range, and the end.
    fn keys(&self) -> [&[u8]; 2] {
        [&self.range.start, self.range.end.as_deref().unwrap_or_default()]
    }

    /// The rest of it.
    const fn rest(&self) -> (Keyspace, bool, bool, Direction, PageLimit) {
        (self.keyspace, self.range.after_start, self.range.end.is_some(), self.direction, self.limit)
    }
}

/// A page, and what it is the answer to.
#[derive(Debug, Default)]
struct Kept {
    page: Page,
    /// The start of the range, and behind it the end.
    keys: Box<[u8]>,
    start_bytes: usize,
    rest: Option<(Keyspace, bool, bool, Direction, PageLimit)>,
    /// When the store has given it, or said that it is the one: how often there were changes before.
    given_at: u64,
}

impl Kept {
    fn new(question: &Question<'_>, page: Page, given_at: u64) -> Self {
        let keys = question.keys().concat().into_boxed_slice();
        Self { page, keys, start_bytes: question.range.start.len(), rest: Some(question.rest()), given_at }
    }

    fn is_answer_to(&self, question: &Question<'_>) -> bool {
        let [start, end] = question.keys();
        self.rest == Some(question.rest()) && self.keys.split_at_checked(self.start_bytes) == Some((start, end))
    }
}

/// Pages with numbers, see [`Numbered`](super::Numbered). What is asked for stays: where many pages are asked for in turn, some of them are here, and not each
/// of them until the next one takes its place.
#[derive(Debug, Default)]
pub struct KnownPages {
    /// Twice the number of the page at each place, and one more where it has been asked for, or is new, since something else wanted its room. Apart from the
    /// pages, so that many of them lie together. None before the first page is kept.
    marks: Vec<u64>,
    kept: Vec<Kept>,
    /// How often there were changes.
    now: u64,
    /// When the last one was, for each place of [`Changes`].
    changed_at: Vec<u64>,
    /// Where the search for what may go is.
    hand: usize,
    bytes: usize,
}

impl KnownPages {
    /// What the store tells of changes, see [`Store::take_changes`](super::Store::take_changes).
    pub fn follow(&mut self, changes: &Changes) {
        self.now += 1;
        for place in changes.places() {
            if let Some(changed_at) = self.changed_at.get_mut(place) {
                *changed_at = self.now;
            }
        }
    }

    /// The answer to a question, if it is there, and nothing has changed since the store said so. Otherwise the store is to be asked.
    #[must_use]
    pub fn unchanged(&mut self, slot: usize, question: &Question<'_>) -> Option<&Page> {
        let mark = self.marks.get_mut(slot).filter(|mark| **mark > 0)?;
        let (kept, changed_at) = (self.kept.get(slot)?, self.changed_at.get(Changes::place(&question.range.start))?);
        if kept.given_at < *changed_at || !kept.is_answer_to(question) {
            return None;
        }
        *mark |= 1;
        Some(&kept.page)
    }

    /// The number of the page that is there; 0: none.
    #[must_use]
    pub fn number(&self, slot: usize) -> u64 {
        self.marks.get(slot).map_or(0, |mark| mark >> 1)
    }

    /// The page with that number, if it is there: the store has said that it is the answer to the question.
    #[must_use]
    pub fn page(&mut self, slot: usize, number: u64, question: &Question<'_>) -> Option<&Page> {
        let mark = self.marks.get_mut(slot).filter(|mark| number > 0 && **mark >> 1 == number)?;
        *mark |= 1;
        let kept = self.kept.get_mut(slot)?;
        if kept.is_answer_to(question) {
            kept.given_at = self.now;
        }
        Some(&kept.page)
    }

    /// Keeps the answer to a question, where there is room, or something that has not been asked for. Not one that
    /// [will not be known again](super::Numbered::number), nor a large one.
    pub fn keep(&mut self, slot: usize, number: u64, question: &Question<'_>, page: Page) {
        // Half of all numbers have room in a mark. Hosts count from 1.
        let bytes = page_bytes(&page) + question.keys().map(<[u8]>::len).iter().sum::<usize>();
        if number == 0 || number > u64::MAX >> 1 || bytes > MOST_PAGE_BYTES {
            return;
        }
        if self.marks.is_empty() {
            self.marks.resize(SLOTS, 0);
            self.kept.resize_with(SLOTS, Kept::default);
            self.changed_at.resize(Changes::PLACES, 0);
        }
        if let (Some(mark), Some(kept)) = (self.marks.get_mut(slot), self.kept.get(slot))
            && kept.is_answer_to(question)
        {
            // It was the answer.
            *mark &= !1;
        }
        self.try_to_free(slot);
        if self.bytes + bytes > MOST_BYTES {
            for _ in 0..STEPS {
                self.hand = (self.hand + 1) % SLOTS;
                self.try_to_free(self.hand);
            }
        }
        if let (Some(mark @ 0), Some(place)) = (self.marks.get_mut(slot), self.kept.get_mut(slot))
            && self.bytes + bytes <= MOST_BYTES
        {
            (*mark, *place) = (number << 1 | 1, Kept::new(question, page, self.now));
            self.bytes += bytes;
        }
    }

    /// Drops the page that is there; of one that has been asked for only the mark that says so.
    fn try_to_free(&mut self, slot: usize) {
        let Some(mark) = self.marks.get_mut(slot).filter(|mark| **mark > 0) else { return };
        if *mark & 1 == 1 {
            *mark -= 1;
        } else if let Some(place) = self.kept.get_mut(slot) {
            *mark = 0;
            let Kept { page, keys, .. } = std::mem::take(place);
            self.bytes -= page_bytes(&page) + keys.len();
        }
    }
}

fn page_bytes(page: &Page) -> usize {
    page.bytes.len() + size_of_val(page.ends.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Environment, HeldEnvironment, random_below};
    use std::collections::HashMap;

    fn page(bytes: usize) -> Page {
        let end = u32::try_from(bytes).unwrap_or(u32::MAX);
        Page { bytes: vec![7; bytes].into(), ends: vec![end, end], more: false }
    }

    /// What asks for all of a structure.
    fn question(range: &KeyRange) -> Question<'_> {
        Question { keyspace: Keyspace(1), range, direction: Direction::Forward, limit: PageLimit::items(100) }
    }

    fn structure(version: u64) -> KeyRange {
        KeyRange::prefix(&version.to_be_bytes())
    }

    /// Keeps a page as the answer to a question that no other one at the place has.
    fn keep(pages: &mut KnownPages, slot: usize, number: u64, page: Page) {
        pages.keep(slot, number, &question(&structure(number)), page);
    }

    fn page_of(pages: &mut KnownPages, slot: usize, number: u64) -> Option<&Page> {
        pages.page(slot, number, &question(&structure(number)))
    }

    #[test]
    fn a_page_is_known_by_its_number_until_another_one_takes_its_place() {
        let mut pages = KnownPages::default();
        assert_eq!((pages.number(5), page_of(&mut pages, 5, 0)), (0, None));
        keep(&mut pages, 5, 1, page(10));
        assert_eq!((pages.number(5), pages.number(6), page_of(&mut pages, 5, 2)), (1, 0, None));
        // What is new, or has been asked for, stays once.
        keep(&mut pages, 5, 2, page(20));
        assert_eq!(page_of(&mut pages, 5, 1), Some(&page(10)));
        keep(&mut pages, 5, 2, page(20));
        keep(&mut pages, 5, 2, page(20));
        assert_eq!((pages.number(5), page_of(&mut pages, 5, 1)), (2, None));
        keep(&mut pages, 5, 3, page(30));
        assert_eq!(pages.number(5), 2);
        // What has no number, or one that has no room, and what is large, leaves what is there.
        keep(&mut pages, 5, 0, page(30));
        keep(&mut pages, 5, 1 << 63 | 2, page(30));
        keep(&mut pages, 5, 3, page(MOST_PAGE_BYTES));
        assert_eq!(pages.number(5), 2);
        keep(&mut pages, 5, 3, page(30));
        assert_eq!((pages.number(5), page_of(&mut pages, 5, 3)), (3, Some(&page(30))));
    }

    #[test]
    fn the_answer_to_a_question_is_known_without_the_store_until_its_structure_may_have_changed() {
        let (seven, other) = (structure(7), structure(8));
        let of_seven = |places: &[usize]| {
            let mut changes = Changes::NONE;
            places.iter().for_each(|place| changes.add(*place));
            changes
        };
        let (place, elsewhere) = (Changes::place(&seven.start), Changes::place(&other.start));
        let (mut pages, asked) = (KnownPages::default(), question(&seven));
        let slot = asked.slot();
        pages.follow(&Changes::ALL);
        assert_eq!(pages.unchanged(slot, &asked), None);
        pages.keep(slot, 1, &asked, page(10));
        assert_eq!(pages.unchanged(slot, &asked), Some(&page(10)));
        pages.follow(&of_seven(&[elsewhere]));
        assert_eq!(pages.unchanged(slot, &asked), Some(&page(10)));
        for changes in [of_seven(&[place]), Changes::ALL] {
            pages.follow(&changes);
            assert_eq!(pages.unchanged(slot, &asked), None);
            pages.follow(&Changes::NONE);
            assert_eq!(pages.unchanged(slot, &asked), None);
            // Until the store says that it is the one.
            assert_eq!(pages.page(slot, 2, &asked), None);
            assert_eq!(pages.unchanged(slot, &asked), None);
            assert!(pages.page(slot, 1, &asked).is_some() && pages.unchanged(slot, &asked).is_some());
        }
        // Or gives another one, which takes its place at once.
        pages.follow(&Changes::ALL);
        pages.keep(slot, 2, &asked, page(20));
        assert_eq!((pages.number(slot), pages.unchanged(slot, &asked)), (2, Some(&page(20))));
        // What is said of another question is not said of this one.
        pages.follow(&Changes::ALL);
        assert!(pages.page(slot, 2, &question(&other)).is_some() && pages.unchanged(slot, &asked).is_none());
    }

    #[test]
    fn questions_at_one_place_are_not_taken_for_each_other() {
        let range = KeyRange { start: b"structurefield".to_vec(), after_start: false, end: Some(b"structures".to_vec()) };
        let behind = KeyRange { after_start: true, ..range.clone() };
        let all = KeyRange { end: None, ..range.clone() };
        let shorter = KeyRange { end: Some(b"structureg".to_vec()), ..range.clone() };
        // The same bytes in one row, cut elsewhere.
        let cut = KeyRange { start: b"structurefieldst".to_vec(), after_start: false, end: Some(b"ructures".to_vec()) };
        let asked = question(&range);
        let others = [
            question(&behind),
            question(&all),
            question(&shorter),
            question(&cut),
            Question { keyspace: Keyspace(2), ..asked },
            Question { direction: Direction::Reverse, ..asked },
            Question { limit: PageLimit::items(101), ..asked },
            Question { limit: PageLimit { max_bytes: 1, ..asked.limit }, ..asked },
        ];
        let mut pages = KnownPages::default();
        pages.keep(3, 1, &asked, page(10));
        assert!(pages.unchanged(3, &asked).is_some());
        assert!(others.iter().all(|other| pages.unchanged(3, other).is_none()));
    }

    #[test]
    fn they_never_have_more_bytes_than_there_is_room_for() {
        let mut random = HeldEnvironment::new(0, 5);
        let mut below = |limit: u64| usize::try_from(random_below(&mut random as &mut dyn Environment, limit)).unwrap_or_default();
        let (mut pages, mut given) = (KnownPages::default(), HashMap::new());
        for number in 1..5000 {
            let (slot, page) = (below(SLOTS as u64), page(below(40 << 10)));
            keep(&mut pages, slot, number, page.clone());
            given.insert(number, page);
            let (slot, known) = (below(SLOTS as u64), pages.number(slot));
            assert!(page_of(&mut pages, slot, known).is_none_or(|page| given.get(&known) == Some(page)));
            assert!(pages.bytes <= MOST_BYTES);
        }
        let there: usize = pages.kept.iter().map(|kept| page_bytes(&kept.page) + kept.keys.len()).sum();
        assert!(pages.bytes == there && there > MOST_BYTES / 2, "{there}");
    }

    #[test]
    fn of_more_pages_than_there_is_room_for_in_turn_some_stay() {
        let mut pages = KnownPages::default();
        let mut found = 0;
        for turn in 0..10 {
            for slot in (0..2000).map(|number: usize| number * 4) {
                let number = slot as u64 + 1;
                if page_of(&mut pages, slot, number).is_some() {
                    found += usize::from(turn == 9);
                } else {
                    keep(&mut pages, slot, number, page(16 << 10));
                }
            }
        }
        assert!((900..=1024).contains(&found), "{found}");
        // And what nobody asks for any more goes, soon.
        let mut found = 0;
        for turn in 0..5 {
            for slot in (0..1000).map(|number: usize| number * 8 + 1) {
                let number = slot as u64 + 10_000;
                if page_of(&mut pages, slot, number).is_some() {
                    found += usize::from(turn == 4);
                } else {
                    keep(&mut pages, slot, number, page(16 << 10));
                }
            }
        }
        assert!(found > 500, "{found}");
    }

    #[test]
    fn questions_that_differ_in_anything_are_mostly_at_different_places() {
        let slot = |keyspace, range: &KeyRange, direction, items| {
            Question { keyspace: Keyspace(keyspace), range, direction, limit: PageLimit::items(items) }.slot()
        };
        let all = KeyRange::prefix(&7_u64.to_be_bytes());
        let other = KeyRange { start: [7_u64.to_be_bytes(), [0; 8]].concat(), ..all.clone() };
        let shorter = KeyRange { end: Some(other.start.clone()), ..all.clone() };
        let slots = [
            slot(1, &all, Direction::Forward, 100),
            slot(2, &all, Direction::Forward, 100),
            slot(1, &other, Direction::Forward, 100),
            slot(1, &shorter, Direction::Forward, 100),
            slot(1, &all, Direction::Reverse, 100),
            slot(1, &all, Direction::Forward, 101),
        ];
        assert!(slots.iter().enumerate().all(|(position, slot)| slots.iter().skip(position + 1).all(|other| other != slot)), "{slots:?}");
        let versions = (0..100_u64).map(|version| slot(1, &KeyRange::prefix(&version.to_be_bytes()), Direction::Forward, 100));
        let mut versions: Vec<usize> = versions.collect();
        versions.sort_unstable();
        versions.dedup();
        assert!(versions.len() > 90 && versions.iter().all(|slot| *slot < SLOTS), "{}", versions.len());
    }
}

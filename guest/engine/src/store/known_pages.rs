//! Pages that a store gives again, kept by the one into whose memory they would be copied again: the component (docs/boundary.md).

use super::{Direction, KeyRange, Keyspace, Page, PageLimit};
use crate::distinct::place;

/// So many pages at most, a power of two: several times as many as there is room for in general, for each has one place.
const SLOTS: usize = 8192;
/// With so many bytes at most, all together: beside these places and what the allocator adds, some 19 MiB in all.
const MOST_BYTES: usize = 16 << 20;
/// And each: larger ones are not kept by the host's cache either.
const MOST_PAGE_BYTES: usize = 64 << 10;

/// So many places are looked at for what may go, where there is no room.
const STEPS: usize = 4;

/// Pages with numbers, see [`Numbered`](super::Numbered). What is asked for stays: where many pages are asked for in turn, some of them are here, and not each
/// of them until the next one takes its place.
#[derive(Debug, Default)]
pub struct KnownPages {
    /// Twice the number of the page at each place, and one more where it has been asked for, or is new, since something else wanted its room. Apart from the
    /// pages, so that many of them lie together. None before the first page is kept.
    marks: Vec<u64>,
    pages: Vec<Page>,
    /// Where the search for what may go is.
    hand: usize,
    bytes: usize,
}

impl KnownPages {
    /// Where the answer to such a question is. Others may have the same place: which page is there, its number says.
    #[must_use]
    pub fn slot(keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> usize {
        let start = place(keyspace.0 ^ limit.max_items.rotate_left(16), &range.start) ^ usize::from(direction == Direction::Reverse);
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        place(start, range.end.as_deref().unwrap_or_default()) & (SLOTS - 1)
    }

    /// The number of the page that is there; 0: none.
    #[must_use]
    pub fn number(&self, slot: usize) -> u64 {
        self.marks.get(slot).map_or(0, |mark| mark >> 1)
    }

    /// The page with that number, if it is there.
    #[must_use]
    pub fn page(&mut self, slot: usize, number: u64) -> Option<&Page> {
        let mark = self.marks.get_mut(slot).filter(|mark| number > 0 && **mark >> 1 == number)?;
        *mark |= 1;
        self.pages.get(slot)
    }

    /// Keeps a page, where there is room, or something that has not been asked for. Not one that
    /// [will not be known again](super::Numbered::number), nor a large one.
    pub fn keep(&mut self, slot: usize, number: u64, page: Page) {
        let bytes = bytes_of(&page);
        // Half of all numbers have room in a mark. Hosts count from 1.
        if number == 0 || number > u64::MAX >> 1 || bytes > MOST_PAGE_BYTES {
            return;
        }
        if self.marks.is_empty() {
            self.marks.resize(SLOTS, 0);
            self.pages.resize_with(SLOTS, Page::default);
        }
        self.try_to_free(slot);
        if self.bytes + bytes > MOST_BYTES {
            for _ in 0..STEPS {
                self.hand = (self.hand + 1) % SLOTS;
                self.try_to_free(self.hand);
            }
        }
        if let (Some(mark @ 0), Some(place)) = (self.marks.get_mut(slot), self.pages.get_mut(slot))
            && self.bytes + bytes <= MOST_BYTES
        {
            (*mark, *place) = (number << 1 | 1, page);
            self.bytes += bytes;
        }
    }

    /// Drops the page that is there; of one that has been asked for only the mark that says so.
    fn try_to_free(&mut self, slot: usize) {
        let Some(mark) = self.marks.get_mut(slot).filter(|mark| **mark > 0) else { return };
        if *mark & 1 == 1 {
            *mark -= 1;
        } else if let Some(place) = self.pages.get_mut(slot) {
            *mark = 0;
            self.bytes -= bytes_of(&std::mem::take(place));
        }
    }
}

fn bytes_of(page: &Page) -> usize {
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

    #[test]
    fn a_page_is_known_by_its_number_until_another_one_takes_its_place() {
        let mut pages = KnownPages::default();
        assert_eq!((pages.number(5), pages.page(5, 0)), (0, None));
        pages.keep(5, 1, page(10));
        assert_eq!((pages.number(5), pages.number(6), pages.page(5, 2)), (1, 0, None));
        // What is new, or has been asked for, stays once.
        pages.keep(5, 2, page(20));
        assert_eq!(pages.page(5, 1), Some(&page(10)));
        pages.keep(5, 2, page(20));
        pages.keep(5, 2, page(20));
        assert_eq!((pages.number(5), pages.page(5, 1)), (2, None));
        pages.keep(5, 3, page(30));
        assert_eq!(pages.number(5), 2);
        // What has no number, or one that has no room, and what is large, leaves what is there.
        pages.keep(5, 0, page(30));
        pages.keep(5, 1 << 63 | 2, page(30));
        pages.keep(5, 3, page(MOST_PAGE_BYTES));
        assert_eq!(pages.number(5), 2);
        pages.keep(5, 3, page(30));
        assert_eq!((pages.number(5), pages.page(5, 3)), (3, Some(&page(30))));
    }

    #[test]
    fn they_never_have_more_bytes_than_there_is_room_for() {
        let mut random = HeldEnvironment::new(0, 5);
        let mut below = |limit: u64| usize::try_from(random_below(&mut random as &mut dyn Environment, limit)).unwrap_or_default();
        let (mut pages, mut given) = (KnownPages::default(), HashMap::new());
        for number in 1..5000 {
            let (slot, page) = (below(SLOTS as u64), page(below(40 << 10)));
            pages.keep(slot, number, page.clone());
            given.insert(number, page);
            let (slot, known) = (below(SLOTS as u64), pages.number(slot));
            assert!(pages.page(slot, known).is_none_or(|page| given.get(&known) == Some(page)));
            assert!(pages.bytes <= MOST_BYTES);
        }
        let there: usize = pages.pages.iter().map(bytes_of).sum();
        assert!(pages.bytes == there && there > MOST_BYTES / 2, "{there}");
    }

    #[test]
    fn of_more_pages_than_there_is_room_for_in_turn_some_stay() {
        let mut pages = KnownPages::default();
        let mut found = 0;
        for turn in 0..10 {
            for slot in (0..2000).map(|number: usize| number * 4) {
                let number = slot as u64 + 1;
                if pages.page(slot, number).is_some() {
                    found += usize::from(turn == 9);
                } else {
                    pages.keep(slot, number, page(16 << 10));
                }
            }
        }
        assert!((900..=1024).contains(&found), "{found}");
        // And what nobody asks for any more goes, soon.
        let mut found = 0;
        for turn in 0..5 {
            for slot in (0..1000).map(|number: usize| number * 8 + 1) {
                let number = slot as u64 + 10_000;
                if pages.page(slot, number).is_some() {
                    found += usize::from(turn == 4);
                } else {
                    pages.keep(slot, number, page(16 << 10));
                }
            }
        }
        assert!(found > 500, "{found}");
    }

    #[test]
    fn questions_that_differ_in_anything_are_mostly_at_different_places() {
        let slot =
            |keyspace, range: &KeyRange, direction, items| KnownPages::slot(Keyspace(keyspace), range, direction, PageLimit::items(items));
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

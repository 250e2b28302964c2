//! What will be asked for one after the other, so that it need not be searched for.

use std::cell::Cell;

/// How many of those to come are looked at.
const MAX_AHEAD: usize = 3;

/// The numbers of things in the order in which they will be asked for.
#[derive(Debug, Default)]
pub struct Expected {
    /// One that is named several times is here as often.
    numbers: Vec<usize>,
    /// The one that was asked for last.
    next: Cell<usize>,
}

impl Expected {
    /// None of them has been asked for.
    pub fn new(numbers: Vec<usize>) -> Self {
        Self { numbers, next: Cell::new(0) }
    }

    /// The number of the one that will be asked for at that place.
    pub fn number(&self, place: usize) -> Option<usize> {
        self.numbers.get(place).copied()
    }

    /// Begins with the first one again.
    pub fn rewind(&self) {
        self.next.set(0);
    }

    /// The number among the next ones that is the one.
    #[inline]
    pub fn find(&self, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let next = self.next.get();
        for (passed, &number) in self.numbers.get(next..)?.iter().take(MAX_AHEAD).enumerate() {
            if is_it(number) {
                // Whoever names a thing may ask for it twice.
                self.next.set(next + passed);
                return Some(number);
            }
        }
        None
    }
}

/// Things in order and each once, and the number among them of each that was given.
// Large, and called once a group.
#[inline(never)]
pub fn sort<T: Ord>(given: Vec<T>) -> (Vec<T>, Vec<usize>) {
    let mut by_name: Vec<(T, usize)> = given.into_iter().zip(0..).collect();
    by_name.sort_unstable();
    let (mut things, mut numbers) = (Vec::with_capacity(by_name.len()), vec![0; by_name.len()]);
    for (thing, position) in by_name {
        if things.last() != Some(&thing) {
            things.push(thing);
        }
        if let Some(number) = numbers.get_mut(position) {
            *number = things.len() - 1;
        }
    }
    (things, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_sorted_and_known_in_the_order_in_which_they_were_given() {
        let given = vec!["b", "a", "b", "c", "a"];
        let (things, numbers) = sort(given.clone());
        assert_eq!(things, ["a", "b", "c"]);
        let expected = Expected::new(numbers);
        let find = |name: &str| expected.find(|number| things.get(number).is_some_and(|thing| *thing == name));
        for name in &given {
            let number = things.iter().position(|thing| thing == name);
            assert_eq!((find(name), find(name)), (number, number));
        }
        assert_eq!(find("d"), None);
        expected.rewind();
        assert_eq!(find("b"), Some(1));
    }
}

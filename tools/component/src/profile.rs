//! What is kept of counts, for another build: a file with what has run of each function, by what the function does.

use std::collections::BTreeMap;
use std::error::Error;

use crate::anatomy::{Anatomy, anatomies, targets};
use crate::calls::{Target, VOTE_WORDS, Vote};

/// What has been counted of all functions that do the same: those that mean different functions vote against each other.
struct Counted<'a> {
    segments: Vec<u64>,
    votes: Vec<Vote>,
    /// The segments of the calls that these are of.
    calls: &'a [usize],
}

impl<'a> Counted<'a> {
    fn nothing(anatomy: &'a Anatomy) -> Self {
        Self { segments: vec![0; anatomy.segments], votes: vec![Vote::default(); anatomy.calls.len()], calls: &anatomy.calls }
    }

    /// Which calls, by their numbers, mean mostly one function.
    fn winners(&self) -> Vec<(u32, Target)> {
        let winner = |(vote, segment): (&Vote, &usize)| vote.winner(self.segments.get(*segment).copied()?);
        (0..).zip(self.votes.iter().zip(self.calls).map(winner)).filter_map(|(call, target)| Some((call, target?))).collect()
    }
}

/// What is kept of the counts of a module's instances, which are in the order of its segments, and of its calls behind them: those of each function
/// that has run, by what it does.
///
/// # Errors
/// For people: this is no core module, or these are counts of another one.
pub fn profile(module: &[u8], instances: &[Vec<u64>]) -> Result<Vec<u8>, Box<dyn Error>> {
    let anatomies = anatomies(module)?;
    let targets = targets(module, &anatomies)?.into_iter().map(|(direct, target)| (direct.place.into(), target));
    let targets: BTreeMap<u64, Target> = targets.collect();
    let segments: usize = anatomies.iter().map(|(_, anatomy)| anatomy.segments).sum();
    let mut functions: BTreeMap<u64, Counted<'_>> = BTreeMap::new();
    let (mut start, mut votes_start) = (0, segments);
    for (_, anatomy) in &anatomies {
        let (end, votes_end) = (start + anatomy.segments, votes_start + anatomy.calls.len() * VOTE_WORDS);
        let sums = functions.entry(anatomy.hash).or_insert_with(|| Counted::nothing(anatomy));
        for counts in instances {
            let own = counts.get(start..end).zip(counts.get(votes_start..votes_end));
            let (own, votes) = own.ok_or("fewer counts than segments and calls")?;
            sums.segments.iter_mut().zip(own).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
            let (votes, _) = votes.as_chunks::<VOTE_WORDS>();
            let votes = votes.iter().map(|[place, lead]| Vote::of(targets.get(place).copied(), *lead));
            sums.votes.iter_mut().zip(votes).for_each(|(sum, vote)| sum.add(vote));
        }
        (start, votes_start) = (end, votes_end);
    }
    functions.retain(|_, counted| counted.segments.iter().any(|&count| count > 0));
    let mut file = u32::try_from(functions.len())?.to_le_bytes().to_vec();
    for (hash, counted) in functions {
        file.extend_from_slice(&hash.to_le_bytes());
        file.extend_from_slice(&u32::try_from(counted.segments.len())?.to_le_bytes());
        // Powers of two are enough; there are 64 of them.
        file.extend(counted.segments.iter().map(|count| u8::try_from(u64::BITS - count.leading_zeros()).unwrap_or(u8::MAX)));
        let winners = counted.winners();
        file.extend_from_slice(&u32::try_from(winners.len())?.to_le_bytes());
        for (call, Target { hash, number }) in winners {
            file.extend_from_slice(&call.to_le_bytes());
            file.extend_from_slice(&hash.to_le_bytes());
            file.extend_from_slice(&number.to_le_bytes());
        }
    }
    Ok(file)
}

/// What a profile has of a function.
pub struct Known {
    /// How often each of its segments runs, as powers of two.
    pub counts: Vec<u64>,
    /// What some of its calls by a table mean, by their numbers.
    pub calls: BTreeMap<u32, Target>,
}

/// What a [`profile`] has, by what the functions do; `None` where it is cut, or of another version.
pub fn read_profile(mut file: &[u8]) -> Option<BTreeMap<u64, Known>> {
    let file = &mut file;
    let mut functions = BTreeMap::new();
    for _ in 0..u32::from_le_bytes(take(file)?) {
        let hash = u64::from_le_bytes(take(file)?);
        let length = u32::from_le_bytes(take(file)?);
        let powers = file.split_off(..usize::try_from(length).ok()?)?;
        let count = |&power: &u8| if power == 0 { 0 } else { 1_u64.checked_shl(u32::from(power) - 1).unwrap_or(u64::MAX) };
        let mut calls = BTreeMap::new();
        for _ in 0..u32::from_le_bytes(take(file)?) {
            let call = u32::from_le_bytes(take(file)?);
            calls.insert(call, Target { hash: u64::from_le_bytes(take(file)?), number: u32::from_le_bytes(take(file)?) });
        }
        functions.insert(hash, Known { counts: powers.iter().map(count).collect(), calls });
    }
    file.is_empty().then_some(functions)
}

/// The next bytes of a file.
fn take<const N: usize>(file: &mut &[u8]) -> Option<[u8; N]> {
    file.split_off(..N)?.try_into().ok()
}

//! Whether random draws are uniform.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

/// Ninety-nine degrees of freedom: one fair draw in a thousand is above this.
pub const LIMIT_OF_100: f64 = 148.2;

/// The members within a reply: those that begin with an m.
pub fn drawn(reply: &str) -> Vec<String> {
    reply.split_whitespace().filter(|word| word.starts_with('m')).map(str::to_owned).collect()
}

/// Pearson's statistic of pairs of how often something was met and how often it was to be expected.
pub fn pearson(pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    pairs.into_iter().map(|(met, expected)| (met - expected).powi(2) / expected).sum()
}

/// Pearson's statistic of draws from these members, in a hundred groups of neighbours.
pub fn statistic_of_neighbours(members: &BTreeSet<String>, draws: &[String]) -> f64 {
    let members: Vec<&String> = members.iter().collect();
    let group = |place: usize| place * 100 / members.len();
    let (mut met, mut sizes) = ([0.0_f64; 100], [0.0_f64; 100]);
    (0..members.len()).for_each(|place| sizes[group(place)] += 1.0);
    draws.iter().for_each(|member| met[group(members.binary_search(&member).unwrap())] += 1.0);
    let share = met.iter().sum::<f64>() / sizes.iter().sum::<f64>();
    pearson(met.into_iter().zip(sizes.map(|size| size * share)))
}

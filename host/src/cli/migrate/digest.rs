//! A digest of dumps that is the same in whatever order their lines come, in bounded memory: layouts have orders of their own. Lines are
//! hashed into buckets, whose sums are compared; where one differs, a second look at its lines finds the keys.

use super::line::Line;
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};

/// How many buckets there are: a second look holds the lines of one.
const BUCKETS: u64 = 1 << 14;

/// The hash functions of a comparison, drawn at random: nobody can prepare two dumps that they do not tell apart.
#[derive(Clone, Default)]
pub struct Hashes {
    of_keys: RandomState,
    of_lines: RandomState,
}

impl Hashes {
    fn bucket(&self, line: &Line<'_>) -> u64 {
        self.of_keys.hash_one((line.db, line.key)) % BUCKETS
    }

    fn line(&self, line: Line<'_>) -> anyhow::Result<u64> {
        Ok(self.of_lines.hash_one(line.in_order().write()?))
    }
}

/// The digest of a dump.
pub struct Digest {
    hashes: Hashes,
    /// The sum of the hashes of each bucket's lines, and how many there are.
    buckets: BTreeMap<u64, (u64, u64)>,
    lines: u64,
}

impl Digest {
    /// The digest of no lines. Those that are made with the same hashes can be compared.
    pub const fn new(hashes: Hashes) -> Self {
        Self { hashes, buckets: BTreeMap::new(), lines: 0 }
    }

    /// How many lines there are.
    pub const fn lines(&self) -> u64 {
        self.lines
    }

    /// Adds whole lines.
    pub fn add(&mut self, lines: &[u8]) -> anyhow::Result<()> {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let line = Line::parse(line)?;
            let (sum, count) = self.buckets.entry(self.hashes.bucket(&line)).or_default();
            (*sum, *count) = (sum.wrapping_add(self.hashes.line(line)?), *count + 1);
            self.lines += 1;
        }
        Ok(())
    }

    /// What tells the lines of the first bucket that differs; `None` where all are equal.
    pub fn difference(&self, other: &Self) -> Option<Bucket> {
        let differs = |number: &&u64| self.buckets.get(number) != other.buckets.get(number);
        let number = self.buckets.keys().chain(other.buckets.keys()).find(differs)?;
        Some(Bucket { hashes: self.hashes.clone(), number: *number, lines: BTreeMap::new() })
    }
}

/// The lines of a bucket whose sums differ.
pub struct Bucket {
    hashes: Hashes,
    number: u64,
    /// How much more often lines are in the first dump than in the second, by the names of their keys and their hashes.
    lines: BTreeMap<(String, u64), i64>,
}

impl Bucket {
    /// Adds whole lines of the first dump, and of the second one.
    pub fn add(&mut self, lines: &[u8], is_first: bool) -> anyhow::Result<()> {
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let line = Line::parse(line)?;
            if self.hashes.bucket(&line) == self.number {
                let count = self.lines.entry((line.name()?, self.hashes.line(line)?)).or_default();
                *count += if is_first { 1 } else { -1 };
            }
        }
        Ok(())
    }

    /// The names of keys that differ.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.lines.iter().filter(|(_, count)| **count != 0).map(|((name, _), _)| name.clone()).collect();
        names.dedup();
        names
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn line(key: &str, value: &str) -> String {
        format!("{{\"db\":0,\"key\":\"{key}\",\"type\":\"string\",\"expire_at_ms\":null,\"value\":\"{value}\"}}\n")
    }

    /// The keys that differ.
    fn differences(first: &[String], second: &[String]) -> Vec<String> {
        let hashes = Hashes::default();
        let digest = |lines: &[String]| {
            let mut digest = Digest::new(hashes.clone());
            lines.iter().for_each(|line| digest.add(line.as_bytes()).unwrap());
            assert_eq!(digest.lines(), u64::try_from(lines.len()).unwrap());
            digest
        };
        let Some(mut bucket) = digest(first).difference(&digest(second)) else { return Vec::new() };
        bucket.add(first.concat().as_bytes(), true).unwrap();
        bucket.add(second.concat().as_bytes(), false).unwrap();
        bucket.names()
    }

    #[test]
    fn dumps_are_equal_in_any_order() {
        let lines: Vec<String> = (0..100).map(|number| line(&format!("{number:04}"), "dg==")).collect();
        let turned: Vec<String> = lines.iter().rev().cloned().collect();
        assert_eq!(differences(&lines, &turned), Vec::<String>::new());
        assert_eq!(differences(&[], &[]), Vec::<String>::new());
    }

    #[test]
    fn a_key_that_differs_is_named() {
        let [a, b, other] = [line("YQ==", "MQ=="), line("Yg==", "MQ=="), line("Yg==", "Mg==")];
        let name = vec!["\"b\" in db 0".to_owned()];
        assert_eq!(differences(&[a.clone(), b.clone()], std::slice::from_ref(&a)), name);
        assert_eq!(differences(std::slice::from_ref(&a), &[a.clone(), b.clone()]), name);
        assert_eq!(differences(&[a.clone(), b.clone()], &[a.clone(), other]), name);
        assert_eq!(differences(&[a.clone(), b.clone()], &[a, b.clone(), b]), name);
    }
}

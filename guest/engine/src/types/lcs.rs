//! Longest common subsequences of two strings, as LCS finds them.
//!
//! Of several longest ones Redis' choice matters, because clients see it. The table of Redis has four bytes for every pair of
//! bytes; here a bit says which way leads back, and the lengths of one row are enough.

use crate::error::{Error, Result};
use std::ops::Range;

const TOO_LONG: Error = Error::client("ERR String too long for LCS");
const TABLE_TOO_LARGE: Error = Error::client("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
const OUT_OF_MEMORY: Error = Error::client("ERR Insufficient memory, failed allocating transient memory for LCS");

/// Strings of this many bytes and more are refused.
const MAX_BYTES: usize = 0xffff_fffe;
/// Bytes of a cell of Redis' table: what its limit counts.
const CELL_BYTES: u64 = 4;

/// Bytes that two strings have in common, without a gap in either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Where they are in the first string.
    pub a: Range<usize>,
    /// Where they are in the second string; as long as `a`.
    pub b: Range<usize>,
}

/// The length of the longest common subsequence of `a` and `b`.
///
/// # Errors
/// Redis' errors where its table of `4 * (a + 1) * (b + 1)` bytes would be larger than `max_table_bytes` (`proto-max-bulk-len`), or
/// where there is no memory.
pub fn length(a: &[u8], b: &[u8], max_table_bytes: usize) -> Result<u32> {
    check_size(a, b, max_table_bytes)?;
    fill(a, b, None)
}

/// The longest common subsequence of `a` and `b`, from its last match to its first.
///
/// # Errors
/// As [`length`].
pub fn matches(a: &[u8], b: &[u8], max_table_bytes: usize) -> Result<Vec<Match>> {
    check_size(a, b, max_table_bytes)?;
    let row_bytes = b.len().div_ceil(8);
    let mut ways = with_capacity(a.len().saturating_mul(row_bytes))?;
    fill(a, b, Some(&mut ways))?;
    let leads_up = |x: usize, y: usize| ways.get(x * row_bytes + y / 8).is_some_and(|byte| byte >> (y % 8) & 1 == 1);

    let mut matches: Vec<Match> = Vec::new();
    let (mut a_end, mut b_end) = (a.len(), b.len());
    while let (Some(x), Some(y)) = (a_end.checked_sub(1), b_end.checked_sub(1)) {
        if a.get(x) == b.get(y) {
            match matches.last_mut().filter(|last| last.a.start == a_end && last.b.start == b_end) {
                Some(last) => (last.a.start, last.b.start) = (x, y),
                None => matches.push(Match { a: x..a_end, b: y..b_end }),
            }
            (a_end, b_end) = (x, y);
        } else if leads_up(x, y) {
            a_end = x;
        } else {
            b_end = y;
        }
    }
    Ok(matches)
}

fn check_size(a: &[u8], b: &[u8], max_table_bytes: usize) -> Result<()> {
    if a.len() >= MAX_BYTES || b.len() >= MAX_BYTES {
        return Err(TOO_LONG);
    }
    let cells = |text: &[u8]| u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(1);
    let table_bytes = cells(a).saturating_mul(cells(b)).saturating_mul(CELL_BYTES);
    let fits = usize::try_from(table_bytes).is_ok_and(|bytes| bytes <= max_table_bytes);
    if fits { Ok(()) } else { Err(TABLE_TOO_LARGE) }
}

/// Goes through the table row by row and returns its last cell, the length. `ways` gets a bit for each cell, in rows of whole
/// bytes: whether the cell above is larger than the one on the left.
fn fill(a: &[u8], b: &[u8], mut ways: Option<&mut Vec<u8>>) -> Result<u32> {
    let mut row: Vec<u32> = with_capacity(b.len())?;
    row.resize(b.len(), 0);
    for of_a in a {
        let (mut diagonal, mut left) = (0, 0);
        for (bytes, cells) in b.chunks(8).zip(row.chunks_mut(8)) {
            let mut way = 0;
            for (bit, (of_b, cell)) in bytes.iter().zip(cells).enumerate() {
                let above = *cell;
                *cell = if of_a == of_b { diagonal + 1 } else { above.max(left) };
                way |= u8::from(above > left) << bit;
                (diagonal, left) = (above, *cell);
            }
            if let Some(ways) = &mut ways {
                ways.push(way);
            }
        }
    }
    Ok(row.last().copied().unwrap_or(0))
}

fn with_capacity<T>(capacity: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(capacity).map_err(|_| OUT_OF_MEMORY)?;
    Ok(vec)
}

#[cfg(test)]
mod tests {
    use super::{Match, TABLE_TOO_LARGE, length, matches};

    const NO_LIMIT: usize = usize::MAX;

    #[test]
    fn the_example_of_the_command_page_has_its_two_matches() {
        let (a, b) = (b"ohmytext", b"mynewtext");
        let expected = [Match { a: 4..8, b: 5..9 }, Match { a: 2..4, b: 0..2 }];
        assert_eq!(matches(a, b, NO_LIMIT).unwrap(), expected);
        assert_eq!(length(a, b, NO_LIMIT), Ok(6));
    }

    #[test]
    fn nothing_in_common_has_no_match() {
        for (a, b) in [("", ""), ("", "abc"), ("abc", ""), ("abc", "xyz")] {
            assert_eq!(matches(a.as_bytes(), b.as_bytes(), NO_LIMIT), Ok(Vec::new()));
            assert_eq!(length(a.as_bytes(), b.as_bytes(), NO_LIMIT), Ok(0));
        }
    }

    #[test]
    fn matches_are_as_long_together_as_the_length_says_in_tables_of_any_width() {
        let text: Vec<u8> = (0..40_u32).map(|i| b'a' + u8::try_from(i * i % 7 % 4).unwrap()).collect();
        for from in 0..text.len() {
            for to in from..text.len() {
                let (a, b) = (&text[from..to], &text[to..]);
                let matches = matches(a, b, NO_LIMIT).unwrap();
                assert!(matches.iter().all(|found| a[found.a.clone()] == b[found.b.clone()]));
                assert!(matches.is_sorted_by(|later, earlier| earlier.a.end <= later.a.start && earlier.b.end <= later.b.start));
                let together: usize = matches.iter().map(|found| found.a.len()).sum();
                assert_eq!(length(a, b, NO_LIMIT), Ok(u32::try_from(together).unwrap()));
            }
        }
    }

    #[test]
    fn the_limit_counts_the_bytes_of_the_table_of_redis() {
        assert_eq!(length(b"abc", b"abcd", 4 * 4 * 5), Ok(3));
        assert_eq!(length(b"abc", b"abcd", 4 * 4 * 5 - 1), Err(TABLE_TOO_LARGE));
        assert_eq!(matches(b"abc", b"abcd", 4 * 4 * 5 - 1), Err(TABLE_TOO_LARGE));
    }
}

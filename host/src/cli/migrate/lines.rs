//! A dump as whole lines, with the positions to go on from.

use super::instance::Instance;
use anyhow::bail;
use serde::{Deserialize, Serialize};

/// A place in a dump between two lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// The cursor of the dump that the piece before or at the place was asked with; empty at the beginning.
    #[serde(with = "hex::serde")]
    cursor: Vec<u8>,
    /// Bytes from where that piece begins.
    skip: usize,
}

/// The lines of a dump. Holds a piece of it, and what has been read of a line that is longer.
pub struct Lines {
    /// The cursor of the next piece; `None` behind the last one.
    next: Option<Vec<u8>>,
    /// Bytes of the next piece that come before the place to go on from.
    skip: usize,
    /// The beginning of a line.
    begun: Vec<u8>,
    position: Position,
}

impl Lines {
    /// The lines from a position on.
    pub fn from(position: Position) -> Self {
        Self { next: Some(position.cursor.clone()), skip: position.skip, begun: Vec::new(), position }
    }

    /// Where the lines begin that have not been returned.
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// The next whole lines: those that end in a piece of about `max_bytes`. `None` at the end of the dump.
    pub fn next(&mut self, instance: &mut impl Instance, max_bytes: u32) -> anyhow::Result<Option<Vec<u8>>> {
        while let Some(cursor) = self.next.take() {
            let (mut piece, next) = instance.dump(Some(cursor.as_slice()).filter(|cursor| !cursor.is_empty()), max_bytes)?;
            self.next = next;
            let skipped = self.skip.min(piece.len());
            self.skip -= skipped;
            let lines_end = piece.iter().rposition(|byte| *byte == b'\n').map_or(0, |position| position + 1);
            if lines_end <= skipped {
                self.begun.extend(piece.drain(skipped..));
                continue;
            }
            self.position = Position { cursor, skip: lines_end };
            let begun = piece.split_off(lines_end);
            piece.drain(..skipped);
            let mut lines = std::mem::replace(&mut self.begun, begun);
            lines.append(&mut piece);
            return Ok(Some(lines));
        }
        if !self.begun.is_empty() {
            bail!("the dump ends within a line");
        }
        Ok(None)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::super::instance::tests::Native;
    use super::*;
    use std::fmt::Write as _;

    fn filled() -> Native {
        let mut native = Native::new();
        let mut lines = String::new();
        for key in ["YQ==", "Yg==", "Yw=="] {
            writeln!(lines, r#"{{"db":0,"key":"{key}","type":"list","expire_at_ms":null,"items":["{}"]}}"#, ["eA=="; 9].join("\",\""))
                .unwrap();
        }
        native.load(lines.as_bytes()).unwrap().unwrap();
        native
    }

    fn rest(lines: &mut Lines, native: &mut Native, max_bytes: u32) -> Vec<u8> {
        std::iter::from_fn(|| lines.next(native, max_bytes).unwrap()).flatten().collect()
    }

    #[test]
    fn lines_are_whole_however_small_the_pieces_are() {
        let mut native = filled();
        let whole = rest(&mut Lines::from(Position::default()), &mut native, 1 << 20);
        assert_eq!(whole.iter().filter(|byte| **byte == b'\n').count(), 3);
        for max_bytes in [1, 7, 60, 150, 300] {
            let mut lines = Lines::from(Position::default());
            let mut all = Vec::new();
            while let Some(some) = lines.next(&mut native, max_bytes).unwrap() {
                assert_eq!(some.last(), Some(&b'\n'));
                all.extend(some);
            }
            assert_eq!(all, whole);
        }
    }

    #[test]
    fn a_position_leads_to_the_lines_behind_it_in_pieces_of_any_size() {
        let mut native = filled();
        let whole = rest(&mut Lines::from(Position::default()), &mut native, 1 << 20);
        for max_bytes in [1, 7, 60, 150, 300] {
            let mut lines = Lines::from(Position::default());
            let mut done = 0;
            loop {
                let position = serde_json::from_str(&serde_json::to_string(lines.position()).unwrap()).unwrap();
                for other in [1, 100, 1 << 20] {
                    let behind: Position = Clone::clone(&position);
                    assert_eq!(rest(&mut Lines::from(behind), &mut native, other), whole[done..], "{position:?}");
                }
                let Some(some) = lines.next(&mut native, max_bytes).unwrap() else { break };
                done += some.len();
            }
            assert_eq!(done, whole.len());
        }
    }
}

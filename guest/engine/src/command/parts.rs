//! Which parts of a collection a command names: what a group of commands reads ahead together.

use crate::layout::lists::End;

/// The parts of the collection under a command's first key that the command reads whatever else it finds. To name too many or too few
/// of them costs time and nothing else.
#[derive(Clone, Copy, Debug)]
pub enum Parts {
    /// None, or they are not known before the collection is read.
    None,
    /// Fields or members: every so many arguments up to the last one, but none before `first`. A negative `last` counts from the end
    /// (-1 is the last argument).
    Names {
        /// The first argument that may be one.
        first: usize,
        /// The last one.
        last: i32,
        /// From one to the next.
        step: usize,
    },
    /// The element at an end of a list, where the command has no argument behind the key.
    End(End),
}

impl Parts {
    /// The argument behind the key.
    pub const SECOND: Self = Self::Names { first: 2, last: 2, step: 1 };
    /// Every argument behind the key.
    pub const REST: Self = Self::Names { first: 2, last: -1, step: 1 };

    /// The positions of the names among `count` arguments.
    pub fn names(self, count: usize) -> impl Iterator<Item = usize> {
        let (first, last, step) = match self {
            Self::Names { first, last, step } => (first, last, step),
            Self::None | Self::End(_) => (1, 0, 1),
        };
        let end = match usize::try_from(last) {
            Ok(last) => last.saturating_add(1).min(count),
            Err(_) => count.saturating_add(1).saturating_sub(usize::try_from(last.unsigned_abs()).unwrap_or(usize::MAX)),
        };
        let step = step.max(1);
        let over = end.saturating_sub(first).saturating_sub(1) % step;
        (first.saturating_add(over)..end).step_by(step)
    }
}

#[cfg(test)]
mod tests {
    use super::Parts;
    use crate::command::table;

    #[test]
    fn the_rows_name_what_their_commands_read() {
        let table: &[(&str, &[usize])] = &[
            ("GET k", &[]),
            ("HGET k f", &[2]),
            ("HMGET k f g", &[2, 3]),
            ("HSET k f v g w", &[2, 4]),
            ("HINCRBY k f 1", &[2]),
            ("SADD k a b", &[2, 3]),
            ("ZADD k 1 a 2 b", &[3, 5]),
            ("ZADD k NX 1 a", &[4]),
            ("ZINCRBY k 1 a", &[3]),
            ("ZSCORE k a", &[2]),
            ("LPOP k", &[]),
        ];
        for (line, positions) in table {
            let words: Vec<&str> = line.split(' ').collect();
            let command = table::find(words[0].as_bytes()).unwrap();
            assert_eq!(command.parts.names(words.len()).collect::<Vec<_>>(), *positions, "{line}");
        }
        assert!(matches!(table::find(b"lpop").unwrap().parts, Parts::End(_)));
    }
}

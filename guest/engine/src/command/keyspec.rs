//! Which arguments of a command are keys.

use bytes::Bytes;

/// Where a command's keys are among its arguments (the name is argument 0).
#[derive(Clone, Copy, Debug)]
pub enum KeySpec {
    /// It has none.
    None,
    /// From `first` to `last` in steps; a negative `last` counts from the end (-1 is the last argument).
    Range {
        /// First key.
        first: usize,
        /// Last key.
        last: i32,
        /// From one key to the next.
        step: usize,
    },
    /// The argument at `count_at` says how many keys follow it; `also` is one more key before it (0: none).
    Counted {
        /// Position of the count.
        count_at: usize,
        /// Position of a further key, 0 for none.
        also: usize,
    },
}

impl KeySpec {
    /// A single key in the first place.
    pub const FIRST: Self = Self::Range { first: 1, last: 1, step: 1 };
    /// Every argument is a key.
    pub const ALL: Self = Self::Range { first: 1, last: -1, step: 1 };

    /// The first key, last key and step that `COMMAND` shows.
    #[must_use]
    pub fn bounds(self) -> (i64, i64, i64) {
        let number = |position: usize| i64::try_from(position).unwrap_or(0);
        match self {
            Self::None | Self::Counted { also: 0, .. } => (0, 0, 0),
            Self::Counted { also, .. } => (number(also), number(also), 1),
            Self::Range { first, last, step } => (number(first), i64::from(last), number(step)),
        }
    }

    /// The positions of the keys among `args`. What the arguments contradict is left out: the handler refuses it.
    #[must_use]
    pub fn positions(self, args: &[Bytes]) -> Vec<usize> {
        match self {
            Self::None => Vec::new(),
            Self::Range { first, last, step } => {
                let end = match usize::try_from(last) {
                    Ok(last) => last.saturating_add(1),
                    Err(_) => args.len().saturating_add(1).saturating_sub(usize::try_from(last.unsigned_abs()).unwrap_or(usize::MAX)),
                };
                (first..end.min(args.len())).step_by(step.max(1)).collect()
            }
            Self::Counted { count_at, also } => {
                let text = args.get(count_at).and_then(|count| std::str::from_utf8(count).ok());
                let count: usize = text.and_then(|text| text.parse().ok()).unwrap_or(0);
                let end = count_at.saturating_add(1).saturating_add(count);
                if end > args.len() {
                    return Vec::new();
                }
                let own = (also > 0).then_some(also);
                own.into_iter().chain(count_at + 1..end).collect()
            }
        }
    }
}

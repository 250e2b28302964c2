//! Which arguments of a command are keys.

use super::options::is_word;
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
    /// The first argument, and a key to store the result in where an option names one.
    Stored {
        /// Position of the first option.
        from: usize,
        /// The options that name the key of the result. The last one counts.
        words: &'static [&'static str],
        /// The other options that take arguments, with how many: patterns of keys to read, and LIMIT.
        others: &'static [(&'static str, usize)],
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
            Self::Stored { .. } => (1, 1, 1),
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
                if count == 0 || end > args.len() {
                    return Vec::new();
                }
                let own = (also > 0).then_some(also);
                own.into_iter().chain(count_at + 1..end).collect()
            }
            Self::Stored { .. } => std::iter::once(1).chain(self.options(args).destination).collect(),
        }
    }

    /// Whether a call of a command that may store its result does so.
    #[must_use]
    pub fn is_stored(self, args: &[Bytes]) -> bool {
        !matches!(self, Self::Stored { .. }) || self.options(args).destination.is_some()
    }

    /// Whether what a call stores comes from keys whose names only the data tells (SORT with patterns): they cannot be declared.
    #[must_use]
    pub fn is_stored_from_patterns(self, args: &[Bytes]) -> bool {
        let options = self.options(args);
        options.destination.is_some() && options.has_patterns
    }

    /// What the options of [`KeySpec::Stored`] say.
    fn options(self, args: &[Bytes]) -> Options {
        let mut options = Options::default();
        let Self::Stored { from, words, others } = self else { return options };
        let mut at = from;
        while let Some(word) = args.get(at) {
            at += 1;
            if words.iter().any(|own| is_word(word, own)) {
                options.destination = (at < args.len()).then_some(at).or(options.destination);
                at += 1;
            } else if let Some((_, count)) = others.iter().find(|(own, _)| is_word(word, own)) {
                let arguments = args.iter().skip(at).take(*count);
                options.has_patterns |= arguments.into_iter().any(|argument| argument.contains(&b'*'));
                at += count;
            }
        }
        options
    }
}

/// See [`KeySpec::options`].
#[derive(Default)]
struct Options {
    /// Position of the key to store the result in.
    destination: Option<usize>,
    /// Names of further keys to read follow from the data.
    has_patterns: bool,
}

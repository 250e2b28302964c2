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

    /// The position of the only key, where there is always one.
    #[must_use]
    pub fn only(self) -> Option<usize> {
        match self {
            Self::Range { first, last, .. } if usize::try_from(last) == Ok(first) => Some(first),
            _ => None,
        }
    }

    /// The positions of the keys among `args`. What the arguments contradict is left out: the handler refuses it.
    pub fn positions(self, args: &[Bytes]) -> impl Iterator<Item = usize> + use<> {
        let (first, range, step, last) = match self {
            Self::None => (None, 0..0, 1, None),
            Self::Range { first, last, step } => {
                let end = match usize::try_from(last) {
                    Ok(last) => last.saturating_add(1),
                    Err(_) => args.len().saturating_add(1).saturating_sub(usize::try_from(last.unsigned_abs()).unwrap_or(usize::MAX)),
                };
                (None, first..end.min(args.len()), step.max(1), None)
            }
            Self::Counted { count_at, also } => {
                let text = args.get(count_at).and_then(|count| std::str::from_utf8(count).ok());
                let count: usize = text.and_then(|text| text.parse().ok()).unwrap_or(0);
                let end = count_at.saturating_add(1).saturating_add(count);
                if count == 0 || end > args.len() {
                    (None, 0..0, 1, None)
                } else {
                    ((also > 0).then_some(also), count_at + 1..end, 1, None)
                }
            }
            Self::Stored { .. } => (Some(1), 0..0, 1, self.options(args).destination),
        };
        first.into_iter().chain(range.step_by(step)).chain(last)
    }

    /// Whether a call of a command that may store its result does so.
    #[must_use]
    pub fn is_stored(self, args: &[Bytes]) -> bool {
        !matches!(self, Self::Stored { .. }) || self.options(args).destination.is_some()
    }

    /// Whether what a call stores comes from keys whose names only the data tells (SORT with patterns): they cannot be declared.
    #[must_use]
    pub fn is_stored_from_patterns(self, args: &[Bytes]) -> bool {
        if !matches!(self, Self::Stored { .. }) {
            return false;
        }
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

#[cfg(test)]
mod tests {
    use super::KeySpec;
    use bytes::Bytes;

    const SORT: KeySpec = KeySpec::Stored { from: 2, words: &["store"], others: &[("limit", 2), ("by", 1), ("get", 1)] };

    fn args(line: &str) -> Vec<Bytes> {
        line.split(' ').map(|word| Bytes::copy_from_slice(word.as_bytes())).collect()
    }

    #[test]
    fn the_last_option_names_the_key_of_the_result() {
        let table: &[(&str, &[usize])] = &[
            ("SORT k", &[1]),
            ("SORT k STORE d", &[1, 3]),
            ("SORT k store d LIMIT 0 STORE DESC Store e", &[1, 9]),
            ("SORT k GET store STORE d", &[1, 5]),
            ("SORT k STORE d STORE", &[1, 3]),
            ("SORT k STORE", &[1]),
            ("SORT k LIMIT 1", &[1]),
        ];
        for (line, positions) in table {
            assert_eq!(SORT.positions(&args(line)).collect::<Vec<_>>(), *positions, "{line}");
            assert_eq!(SORT.is_stored(&args(line)), positions.len() > 1, "{line}");
        }
    }

    #[test]
    fn only_what_is_stored_from_patterns_cannot_be_declared() {
        for line in ["SORT k STORE d BY w_*", "SORT k GET # GET v_*->f STORE d"] {
            assert!(SORT.is_stored_from_patterns(&args(line)), "{line}");
        }
        for line in ["SORT k BY w_* GET v_*", "SORT k STORE d BY nosort GET #", "SORT * STORE d*"] {
            assert!(!SORT.is_stored_from_patterns(&args(line)), "{line}");
        }
        assert!(!KeySpec::ALL.is_stored_from_patterns(&args("DEL *")));
    }

    #[test]
    fn a_count_of_no_keys_is_refused() {
        let counted = KeySpec::Counted { count_at: 2, also: 1 };
        assert!(counted.positions(&args("ZINTERSTORE d 2 a b WEIGHTS 1 2")).eq([1, 3, 4]));
        for line in ["ZINTERSTORE d 0 a", "ZINTERSTORE d -1 a", "ZINTERSTORE d x a", "ZINTERSTORE d 2 a"] {
            assert!(counted.positions(&args(line)).next().is_none(), "{line}");
        }
    }
}

//! What a migration may lose, by name, and how much of it there is.

use super::line::Repair;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// Keys that are named for each loss.
const EXAMPLES: usize = 3;

/// Something that the target's layout cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Expiries are rounded up to whole seconds
    Milliseconds,
    /// Keys whose expiry cannot be held stay for ever
    Expiries,
    /// Fields that expire stay for ever
    FieldExpiries,
    /// Of a key in several types the first one is kept
    SeveralTypes,
    /// Lists are left out
    Lists,
    /// Keys of dbs that are not there are left out
    Dbs,
    /// Keys with names that are too long are left out
    LongKeys,
    /// Keys with a value, field, member or element that is too long are left out
    LongValues,
}

impl Loss {
    /// The loss that goes with a repair.
    pub const fn of(repair: Repair) -> Self {
        match repair {
            Repair::WholeSeconds => Self::Milliseconds,
            Repair::FieldsStay => Self::FieldExpiries,
            Repair::KeyStays => Self::Expiries,
        }
    }
}

impl fmt::Display for Loss {
    /// The name on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}

/// A loss of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub loss: Loss,
    /// The key, for people.
    pub key: String,
    /// What the engine says; empty where there is nothing to add.
    pub reason: String,
}

/// All losses of a migration.
#[derive(Debug, Default)]
pub struct Survey {
    losses: BTreeMap<Loss, Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    keys: u64,
    examples: Vec<String>,
}

impl Survey {
    pub fn add(&mut self, lost: Lost) {
        let Lost { loss, key, reason } = lost;
        let counted = self.losses.entry(loss).or_default();
        counted.keys += 1;
        if counted.examples.len() < EXAMPLES {
            counted.examples.push(if reason.is_empty() { key } else { format!("{key}: {reason}") });
        }
    }

    /// The losses that are not allowed.
    pub fn beyond(&self, allowed: &[Loss]) -> Vec<Loss> {
        self.losses.keys().copied().filter(|loss| !allowed.contains(loss)).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.losses.is_empty()
    }
}

impl fmt::Display for Survey {
    /// A line for each loss, and its examples below.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (loss, Counted { keys, examples }) in &self.losses {
            let what = loss.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default();
            writeln!(text, "  {loss}: {keys} {}. {what}.", if *keys == 1 { "key" } else { "keys" })?;
            examples.iter().try_for_each(|example| writeln!(text, "    {example}"))?;
        }
        f.write_str(text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: Loss, key: &str, reason: &str) -> Lost {
        Lost { loss, key: key.into(), reason: reason.into() }
    }

    #[test]
    fn losses_are_counted_with_examples() {
        let mut survey = Survey::default();
        assert!(survey.is_empty());
        survey.add(lost(Loss::Lists, "\"l\" in db 0", "no lists"));
        for key in ["a", "b", "c", "d"] {
            survey.add(lost(Loss::Milliseconds, key, ""));
        }
        let expected = "  milliseconds: 4 keys. Expiries are rounded up to whole seconds.\n    a\n    b\n    c\n  \
                        lists: 1 key. Lists are left out.\n    \"l\" in db 0: no lists";
        assert_eq!(survey.to_string(), expected);
        assert_eq!(survey.beyond(&[Loss::Lists]), [Loss::Milliseconds]);
        assert_eq!(survey.beyond(&[Loss::Lists, Loss::Milliseconds]), []);
    }

    #[test]
    fn losses_have_the_same_names_in_files_and_on_the_command_line() {
        for loss in Loss::value_variants() {
            assert_eq!(serde_json::to_string(loss).ok(), Some(format!("\"{loss}\"")));
        }
    }
}

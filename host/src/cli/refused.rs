//! Lines that the engine refuses to load.

/// A line that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its number within the call, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

impl Refused {
    /// What the text of an error says; `None` where it is not about a line.
    pub fn parse(text: &str) -> Option<Self> {
        let (line, reason) = text.strip_prefix("ERR line ")?.split_once(": ")?;
        Some(Self { line: line.parse().ok()?, reason: reason.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_other_errors() {
        let refused = Refused { line: 12, reason: "a key: too long".into() };
        assert_eq!(Refused::parse("ERR line 12: a key: too long"), Some(refused));
        for other in ["ERR storage: full", "ERR line twelve: x", "line 1: x", ""] {
            assert_eq!(Refused::parse(other), None, "{other}");
        }
    }
}

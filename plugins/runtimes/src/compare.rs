//! Where two runtimes do not agree.

use crate::runtime::Outcome;
use crate::script::Script;
use orbweaver_engine::resp::{decode_replies, render_human};
use std::fmt::Debug;

/// What differs, for the table, and the first place of it, for whoever repairs it.
pub struct Difference {
    /// `replies`, `dump` or `records`.
    pub what: &'static str,
    /// Both sides.
    pub detail: String,
}

/// The differences of `other` from `reference`.
pub fn differences(script: &Script, reference: &Outcome, other: &Outcome) -> Vec<Difference> {
    let replies = (reference.replies != other.replies).then(|| {
        let (wanted, got) = (replies(&reference.replies), replies(&other.replies));
        let at = wanted.iter().zip(&got).take_while(|(wanted, got)| wanted == got).count();
        let command = script.commands.get(at).map(|words| words.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>());
        first("replies", &wanted, &got) + &format!(", around the command {command:?}")
    });
    let of = |what, wanted: &[String], got: &[String]| (wanted != got).then(|| first(what, wanted, got));
    let found = [
        ("replies", replies),
        ("dump", of("dump", &reference.dump, &other.dump)),
        ("records", of("records", &reference.records, &other.records)),
    ];
    found.into_iter().filter_map(|(what, detail)| Some(Difference { what, detail: detail? })).collect()
}

/// Replies for people; the bytes themselves where they are none.
fn replies(bytes: &[u8]) -> Vec<String> {
    match decode_replies(bytes.to_vec()) {
        Ok(replies) => replies.iter().map(render_human).collect(),
        Err(_) => vec![bytes.escape_ascii().to_string()],
    }
}

/// The first place where two lists differ.
fn first<T: Debug + PartialEq>(what: &str, wanted: &[T], got: &[T]) -> String {
    let at = wanted.iter().zip(got).take_while(|(wanted, got)| wanted == got).count();
    format!("{what}, number {}: {:?} instead of {:?}", at + 1, got.get(at), wanted.get(at))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn outcome(replies: &[u8], records: &[&str]) -> Outcome {
        Outcome { replies: replies.to_vec(), dump: Vec::new(), records: records.iter().map(|&line| line.to_owned()).collect() }
    }

    #[test]
    fn the_first_difference_names_the_command() {
        let script = Script { name: String::new(), commands: vec![vec![b"PING".to_vec()], vec![b"GET".to_vec(), b"k".to_vec()]] };
        let found = differences(&script, &outcome(b"+PONG\r\n$-1\r\n", &[]), &outcome(b"+PONG\r\n$1\r\nv\r\n", &[]));
        assert_eq!(found.len(), 1);
        let expected = r#"replies, number 2: Some("\"v\"\n") instead of Some("(nil)\n"), around the command Some(["GET", "k"])"#;
        assert_eq!(found.first().unwrap().detail, expected);
    }

    #[test]
    fn a_record_too_few_is_a_difference() {
        let script = Script { name: String::new(), commands: Vec::new() };
        let found = differences(&script, &outcome(b"", &["a", "b"]), &outcome(b"", &["a"]));
        assert_eq!(found.iter().map(|difference| difference.what).collect::<Vec<_>>(), ["records"]);
        assert!(differences(&script, &outcome(b"", &["a"]), &outcome(b"", &["a"])).is_empty());
    }
}

//! Records as lines of JSON: `docs/inspect.md` describes them.

use orbweaver_engine::layout::anatomy::{Anatomy, Run};
use serde::Serialize;

/// One record.
#[derive(Serialize)]
pub struct Line<'a> {
    db: u32,
    #[serde(with = "hex::serde")]
    user_key: &'a [u8],
    keyspace: &'a str,
    key: Side<'a>,
    value: Side<'a>,
    note: &'a str,
}

/// The key or the value of a record.
#[derive(Serialize)]
struct Side<'a> {
    #[serde(with = "hex::serde")]
    hex: &'a [u8],
    fields: Vec<Field<'a>>,
}

/// A field.
#[derive(Serialize)]
struct Field<'a> {
    field: &'a str,
    offset: usize,
    length: usize,
    shown: &'a str,
}

impl<'a> Line<'a> {
    /// A record of a user key.
    pub fn new(db: u32, user_key: &'a [u8], anatomy: &'a Anatomy) -> Self {
        let Anatomy { keyspace, key, key_runs, value, value_runs, note } = anatomy;
        Self { db, user_key, keyspace, key: Side::new(key, key_runs), value: Side::new(value, value_runs), note }
    }
}

impl<'a> Side<'a> {
    fn new(hex: &'a [u8], runs: &'a [Run]) -> Self {
        let field = |run: &'a Run| Field { field: &run.field, offset: run.range.start, length: run.range.len(), shown: &run.shown };
        Self { hex, fields: runs.iter().map(field).collect() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use orbweaver_engine::layout::anatomy::{Walk, shown};

    #[test]
    fn a_record_is_the_documented_line() {
        let (mut key, mut value) = (Walk::new(b"\0\0\0\x01k"), Walk::new(b""));
        key.u32("space", shown::number);
        key.rest("user key", shown::text);
        value.u8("kind", shown::number);
        let anatomy = Anatomy::new("meta", key, value, "A note.");
        let line = concat!(
            r#"{"db":2,"user_key":"6b","keyspace":"meta","#,
            r#""key":{"hex":"000000016b","fields":[{"field":"space","offset":0,"length":4,"shown":"1"},"#,
            r#"{"field":"user key","offset":4,"length":1,"shown":"\"k\""}]},"#,
            r#""value":{"hex":"","fields":[{"field":"unreadable","offset":0,"length":0,"shown":"kind: missing"}]},"note":"A note."}"#
        );
        assert_eq!(serde_json::to_string(&Line::new(2, b"k", &anatomy)).unwrap(), line);
    }
}

//! Lines of a dump, as far as a migration looks into them. `docs/dump.md` describes them.

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// A line. Byte strings are left in base64.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Line<'a> {
    pub db: u32,
    pub key: &'a str,
    /// As TYPE answers.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// Unix time in milliseconds.
    pub expire_at_ms: Option<u64>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<Field<'a>>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    items: Option<Vec<&'a str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    members: Option<Vec<Member<'a>>>,
}

/// A field of a hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(untagged)]
enum Field<'a> {
    Stays(&'a str, &'a str),
    Expires(&'a str, &'a str, u64),
}

/// A member of a set, or of a sorted set with its score.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(untagged)]
enum Member<'a> {
    Plain(&'a str),
    Scored(&'a str, &'a str, &'a str),
}

/// Something that a line may lose so that a layout can hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The expiry is rounded up to whole seconds.
    WholeSeconds,
    /// The fields stay for ever.
    FieldsStay,
    /// The key stays for ever.
    KeyStays,
}

impl<'a> Line<'a> {
    /// Reads a line.
    ///
    /// # Errors
    /// Where it is no line of a dump.
    pub fn parse(line: &'a [u8]) -> anyhow::Result<Self> {
        serde_json::from_slice(line).context("a line of the dump cannot be read")
    }

    /// The line in one form, whatever order a layout has: fields and members are sorted.
    pub fn in_order(mut self) -> Self {
        self.fields.iter_mut().for_each(|fields| fields.sort_unstable());
        self.members.iter_mut().for_each(|members| members.sort_unstable());
        self
    }

    /// The line as a dump has it.
    pub fn write(&self) -> anyhow::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// The key's bytes.
    ///
    /// # Errors
    /// Where they are not in base64.
    pub fn key_bytes(&self) -> anyhow::Result<Vec<u8>> {
        STANDARD.decode(self.key).context("a key in the dump is not in base64")
    }

    /// The key, for people: in quotes, and its db.
    ///
    /// # Errors
    /// As [`Line::key_bytes`].
    pub fn name(&self) -> anyhow::Result<String> {
        Ok(format!("\"{}\" in db {}", self.key_bytes()?.escape_ascii(), self.db))
    }

    /// The line without what the repairs take away; `None` where one of them has nothing to take away.
    pub fn repaired(&self, repairs: &[Repair]) -> Option<Self> {
        let mut line = self.clone();
        repairs.iter().all(|repair| line.repair(*repair)).then_some(line)
    }

    fn repair(&mut self, repair: Repair) -> bool {
        match repair {
            Repair::KeyStays => self.expire_at_ms.take().is_some(),
            Repair::WholeSeconds => {
                let whole = self.expire_at_ms.and_then(|at_ms| at_ms.checked_next_multiple_of(1000));
                let changes = whole.is_some() && whole != self.expire_at_ms;
                self.expire_at_ms = whole.or(self.expire_at_ms);
                changes
            }
            Repair::FieldsStay => {
                let mut changes = false;
                for field in self.fields.iter_mut().flatten() {
                    if let Field::Expires(name, value, _) = *field {
                        *field = Field::Stays(name, value);
                        changes = true;
                    }
                }
                changes
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LINES: [&str; 5] = [
        r#"{"db":0,"key":"","type":"string","expire_at_ms":null,"value":"dg=="}"#,
        r#"{"db":3,"key":"aP8=","type":"hash","expire_at_ms":4102444800001,"fields":[["YQ==","MQ==",4102444800000],["Yg==","Mg=="]]}"#,
        r#"{"db":0,"key":"bA==","type":"list","expire_at_ms":null,"items":["Yg==","YQ=="]}"#,
        r#"{"db":0,"key":"cw==","type":"set","expire_at_ms":null,"members":["YQ==","Yg=="]}"#,
        r#"{"db":0,"key":"eg==","type":"zset","expire_at_ms":null,"members":[["YQ==","-0","8000000000000000"],["Yg==","1.5","3ff8000000000000"]]}"#,
    ];

    fn parsed(position: usize) -> Line<'static> {
        Line::parse(LINES.get(position).unwrap().as_bytes()).unwrap()
    }

    #[test]
    fn lines_are_written_as_they_were_read() {
        for text in LINES {
            assert_eq!(Line::parse(text.as_bytes()).unwrap().write().unwrap(), format!("{text}\n").into_bytes());
        }
        for wrong in ["{}", r#"{"db":0,"key":"","type":"string","expire_at_ms":null,"value":"","more":1}"#, "text"] {
            assert!(Line::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_line_tells_whose_it_is() {
        assert_eq!(parsed(1).name().unwrap(), r#""h\xff" in db 3"#);
        assert_eq!(parsed(0).name().unwrap(), r#""" in db 0"#);
    }

    #[test]
    fn fields_and_members_are_equal_in_any_order_and_items_in_one() {
        let in_order = |kind: &str, name: &str, items: &str| {
            let line = format!(r#"{{"db":0,"key":"","type":"{kind}","expire_at_ms":null,"{name}":[{items}]}}"#);
            Line::parse(line.as_bytes()).unwrap().in_order().write().unwrap()
        };
        let cases = [
            ("hash", "fields", [r#"["YQ==","MQ==",1]"#, r#"["Yg==","Mg=="]"#], true),
            ("list", "items", [r#""YQ==""#, r#""Yg==""#], false),
            ("set", "members", [r#""YQ==""#, r#""Yg==""#], true),
            ("zset", "members", [r#"["YQ==","0","0000000000000000"]"#, r#"["Yg==","-0","8000000000000000"]"#], true),
        ];
        for (kind, name, [a, b], are_equal) in cases {
            let (one, other) = (in_order(kind, name, &format!("{a},{b}")), in_order(kind, name, &format!("{b},{a}")));
            assert_eq!(one == other, are_equal, "{kind}");
            assert_ne!(one, in_order(kind, name, a), "{kind}");
        }
    }

    #[test]
    fn repairs_take_away_what_they_name() {
        let hash = parsed(1);
        let repaired = |repairs: &[Repair]| String::from_utf8(hash.repaired(repairs).unwrap().write().unwrap()).unwrap();
        let text = format!("{}\n", LINES[1]);
        let (whole, staying) = (text.replace("4102444800001", "4102444801000"), text.replace(",4102444800000]", "]"));
        assert_eq!(repaired(&[Repair::WholeSeconds]), whole);
        assert_eq!(repaired(&[Repair::FieldsStay]), staying);
        assert_eq!(repaired(&[Repair::FieldsStay, Repair::KeyStays]), staying.replace("4102444800001", "null"));
    }

    #[test]
    fn there_may_be_nothing_to_repair() {
        for repair in [Repair::WholeSeconds, Repair::FieldsStay, Repair::KeyStays] {
            assert_eq!(parsed(0).repaired(&[repair]), None, "{repair:?}");
        }
        let whole = Line { expire_at_ms: Some(4_102_444_800_000), ..parsed(0) };
        assert_eq!(whole.repaired(&[Repair::WholeSeconds]), None);
        assert!(whole.repaired(&[Repair::KeyStays]).is_some());
    }
}

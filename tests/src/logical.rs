//! What a database holds, whatever its layout: one plain type for what readers find, dumps say and fixtures expect.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// A key and what is under it. A key of a layout with a namespace for each type may be there once for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The db's number or the namespace, as text.
    pub db: String,
    /// The user key.
    pub key: Bytes,
    /// Unix time in milliseconds; of layouts with seconds the second times 1000. May be negative in layouts with signed times.
    pub expire_at_ms: Option<i64>,
    /// What is stored.
    pub value: Value,
}

/// A value of one of the five types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Bytes.
    String(Bytes),
    /// Fields and their values.
    Hash(BTreeMap<Bytes, Bytes>),
    /// Items from head to tail.
    List(Vec<Bytes>),
    /// Members.
    Set(BTreeSet<Bytes>),
    /// Members and the 64 bits of their scores, in the order of ZRANGE.
    SortedSet(Vec<(Bytes, u64)>),
}

impl Value {
    /// The type's name, as TYPE answers.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::Hash(_) => "hash",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::SortedSet(_) => "zset",
        }
    }

    /// A sorted set of these members in the order of their scores, then of their bytes. -0 and 0 are equal.
    #[must_use]
    pub fn sorted_set(members: impl IntoIterator<Item = (Bytes, u64)>) -> Self {
        let mut members: Vec<(Bytes, u64)> = members.into_iter().collect();
        // Adding 0 makes -0 into 0.
        let score = |bits: u64| f64::from_bits(bits) + 0.0;
        members.sort_by(|left, right| score(left.1).total_cmp(&score(right.1)).then_with(|| left.0.cmp(&right.0)));
        Self::SortedSet(members)
    }
}

/// Sorts entries by db, key and type, so that two lists of them can be compared.
pub fn sort(entries: &mut [Entry]) {
    entries.sort_by(|left, right| (&left.db, &left.key, left.value.kind()).cmp(&(&right.db, &right.key, right.value.kind())));
}

/// Reads what `orbweaver dump` writes (`docs/dump.md`), sorted as by [`sort`].
///
/// # Errors
/// Names the line that is none of a dump. Hash fields that expire are refused: none of the layouts compared here can hold them.
pub fn from_dump<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for (index, line) in lines.into_iter().enumerate() {
        let json = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 1))?;
        entries.push(entry_from_dump(&json).ok_or_else(|| format!("line {}: {line}", index + 1))?);
    }
    sort(&mut entries);
    Ok(entries)
}

fn entry_from_dump(json: &serde_json::Value) -> Option<Entry> {
    let expire_at_ms = match json.get("expire_at_ms")? {
        serde_json::Value::Null => None,
        time => Some(time.as_i64()?),
    };
    let value = match json.get("type")?.as_str()? {
        "zset" => Value::SortedSet(json.get("members")?.as_array()?.iter().map(scored_member).collect::<Option<_>>()?),
        _ => plain_value(json)?,
    };
    Some(Entry { db: json.get("db")?.as_u64()?.to_string(), key: base64(json.get("key")?)?, expire_at_ms, value })
}

/// A value of the types that dumps and all fixtures write alike.
pub(crate) fn plain_value(json: &serde_json::Value) -> Option<Value> {
    Some(match json.get("type")?.as_str()? {
        "string" => Value::String(base64(json.get("value")?)?),
        "hash" => Value::Hash(json.get("fields")?.as_array()?.iter().map(field).collect::<Option<_>>()?),
        "list" => Value::List(json.get("items")?.as_array()?.iter().map(base64).collect::<Option<_>>()?),
        "set" => Value::Set(json.get("members")?.as_array()?.iter().map(base64).collect::<Option<_>>()?),
        _ => return None,
    })
}

fn field(json: &serde_json::Value) -> Option<(Bytes, Bytes)> {
    let [field, value] = json.as_array()?.as_slice() else { return None };
    Some((base64(field)?, base64(value)?))
}

/// `[member, digits, bits]`: the bits count.
pub(crate) fn scored_member(json: &serde_json::Value) -> Option<(Bytes, u64)> {
    let [member, _digits, bits] = json.as_array()?.as_slice() else { return None };
    Some((base64(member)?, u64::from_str_radix(bits.as_str()?, 16).ok()?))
}

pub(crate) fn base64(json: &serde_json::Value) -> Option<Bytes> {
    STANDARD.decode(json.as_str()?).ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &'static str, expire_at_ms: Option<i64>, value: Value) -> Entry {
        Entry { db: "0".into(), key: key.into(), expire_at_ms, value }
    }

    #[test]
    fn the_documented_example_of_a_dump_is_read() {
        let page = include_str!("../../docs/dump.md");
        let lines = page.lines().filter(|line| line.starts_with('{') && !line.contains("\"aQ==\""));
        let [a, b]: [Bytes; 2] = ["a".into(), "b".into()];
        let expected = vec![
            entry("a", None, Value::String("v".into())),
            entry("h", Some(4_102_444_800_000), Value::Hash([("f".into(), "v".into())].into())),
            entry("l", None, Value::List(vec![a.clone(), b.clone()])),
            entry("m", None, Value::Set([a.clone(), b.clone()].into())),
            entry("z", None, Value::SortedSet(vec![(a, (-0.0_f64).to_bits()), (b, 1.5_f64.to_bits())])),
        ];
        assert_eq!(from_dump(lines), Ok(expected));
    }

    #[test]
    fn a_dump_is_sorted_by_db_key_and_type() {
        let line = |db: u8, key: &str, kind: &str, rest: &str| {
            format!(r#"{{"db":{db},"key":"{key}","type":"{kind}","expire_at_ms":null,{rest}}}"#)
        };
        let lines = [
            line(1, "YQ==", "string", r#""value":"""#),
            line(0, "Yg==", "string", r#""value":"""#),
            line(0, "Yg==", "list", r#""items":[""]"#),
            line(0, "YQ==", "set", r#""members":[""]"#),
        ];
        let entries = from_dump(lines.iter().map(String::as_str)).expect("sound lines");
        let order: Vec<_> = entries.iter().map(|entry| (entry.db.as_str(), &entry.key[..], entry.value.kind())).collect();
        assert_eq!(order, [("0", &b"a"[..], "set"), ("0", b"b", "list"), ("0", b"b", "string"), ("1", b"a", "string")]);
    }

    #[test]
    fn a_line_that_is_none_of_a_dump_is_named() {
        let fine = r#"{"db":0,"key":"YQ==","type":"string","expire_at_ms":null,"value":""}"#;
        let wrong = [
            "",
            "{}",
            r#"{"db":0,"key":"YQ==","type":"string","value":""}"#,
            r#"{"db":0,"key":"?","type":"string","expire_at_ms":null,"value":""}"#,
            r#"{"db":0,"key":"YQ==","type":"stream","expire_at_ms":null,"value":""}"#,
            r#"{"db":0,"key":"YQ==","type":"hash","expire_at_ms":null,"fields":[["YQ==","YQ==",1]]}"#,
            r#"{"db":0,"key":"YQ==","type":"zset","expire_at_ms":null,"members":[["YQ==","1"]]}"#,
        ];
        for line in wrong {
            let error = from_dump([fine, line]).expect_err(line);
            assert!(error.starts_with("line 2: "), "{error}");
        }
    }

    #[test]
    fn a_sorted_set_is_in_the_order_of_its_scores() {
        let members = [("c", 1.0), ("b", 0.0), ("a", -0.0), ("d", f64::NEG_INFINITY), ("e", 0.5)];
        let Value::SortedSet(sorted) = Value::sorted_set(members.map(|(member, score): (&str, f64)| (member.into(), score.to_bits())))
        else {
            panic!("a sorted set");
        };
        assert_eq!(sorted.iter().map(|(member, _)| &member[..]).collect::<Vec<_>>(), [b"d", b"a", b"b", b"e", b"c"]);
    }
}

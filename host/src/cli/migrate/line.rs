//! Lines of a dump, as far as a migration looks into them. `docs/dump.md` describes them.

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

/// What a line begins with.
#[derive(Deserialize)]
pub struct Head<'a> {
    /// The db's number.
    pub db: u32,
    /// The key, in base64.
    pub key: &'a str,
    /// The type, as TYPE answers.
    #[serde(rename = "type")]
    pub kind: &'a str,
}

/// Reads the head of a line.
///
/// # Errors
/// Where it is no line of a dump.
pub fn head(line: &[u8]) -> anyhow::Result<Head<'_>> {
    serde_json::from_slice(line).context("a line of the dump cannot be read")
}

/// The key that a line is of, for people: its db and its name in quotes.
pub fn name(line: &[u8]) -> anyhow::Result<String> {
    let Head { db, key, .. } = head(line)?;
    let key = STANDARD.decode(key).context("a key in the dump is not base64")?;
    Ok(format!("\"{}\" in db {db}", key.escape_ascii()))
}

/// The bytes of a line that say whose it is: those before its type, which are the same in all lines of a key.
pub fn owner(line: &[u8]) -> &[u8] {
    const TYPE: &[u8] = b",\"type\":";
    let end = line.windows(TYPE.len()).position(|window| window == TYPE);
    end.and_then(|end| line.get(..end)).unwrap_or(line)
}

/// Whether two lines say the same. The fields of hashes and the members of sets and sorted sets may be in any order.
pub fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let read = |line: &[u8]| serde_json::from_slice::<Value>(line).ok().map(sorted);
    a == b || read(a).zip(read(b)).is_some_and(|(a, b)| a == b)
}

fn sorted(mut line: Value) -> Value {
    for name in ["fields", "members"] {
        if let Some(Value::Array(items)) = line.get_mut(name) {
            items.sort_by_cached_key(Value::to_string);
        }
    }
    line
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

/// The line with what the repairs take away; `None` where one of them has nothing to take away.
pub fn repaired(line: &[u8], repairs: &[Repair]) -> anyhow::Result<Option<Vec<u8>>> {
    let mut value: Value = serde_json::from_slice(line).context("a line of the dump cannot be read")?;
    for repair in repairs {
        let changed = match repair {
            Repair::WholeSeconds => round_expiry(&mut value),
            Repair::FieldsStay => take_field_expiries(&mut value),
            Repair::KeyStays => value.get_mut("expire_at_ms").is_some_and(|expiry| !expiry.take().is_null()),
        };
        if !changed {
            return Ok(None);
        }
    }
    let mut line = serde_json::to_vec(&value)?;
    line.push(b'\n');
    Ok(Some(line))
}

fn round_expiry(line: &mut Value) -> bool {
    let Some(expiry) = line.get_mut("expire_at_ms") else { return false };
    let rounded = expiry.as_u64().and_then(|at_ms| at_ms.checked_next_multiple_of(1000).filter(|whole| *whole != at_ms));
    rounded.is_some_and(|whole| {
        *expiry = whole.into();
        true
    })
}

fn take_field_expiries(line: &mut Value) -> bool {
    let Some(Value::Array(fields)) = line.get_mut("fields") else { return false };
    let mut changed = false;
    for field in fields.iter_mut().filter_map(Value::as_array_mut) {
        changed |= field.len() > 2;
        field.truncate(2);
    }
    changed
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HASH: &str =
        r#"{"db":3,"key":"aP8=","type":"hash","expire_at_ms":4102444800001,"fields":[["YQ==","MQ==",4102444800000],["Yg==","Mg=="]]}"#;

    #[test]
    fn a_line_tells_whose_it_is() {
        assert_eq!(name(HASH.as_bytes()).unwrap(), r#""h\xff" in db 3"#);
        assert_eq!(owner(HASH.as_bytes()), br#"{"db":3,"key":"aP8=""#);
        assert!(name(b"{}").is_err());
    }

    #[test]
    fn collections_are_equal_in_any_order_and_lists_in_one() {
        let set = |members: &str| format!(r#"{{"db":0,"key":"","type":"set","expire_at_ms":null,"members":[{members}]}}"#).into_bytes();
        let list = |items: &str| format!(r#"{{"db":0,"key":"","type":"list","expire_at_ms":null,"items":[{items}]}}"#).into_bytes();
        assert!(are_equal(&set(r#""YQ==","Yg==""#), &set(r#""Yg==","YQ==""#)));
        assert!(!are_equal(&set(r#""YQ==","Yg==""#), &set(r#""YQ==""#)));
        assert!(!are_equal(&list(r#""YQ==","Yg==""#), &list(r#""Yg==","YQ==""#)));
        assert!(!are_equal(b"no line", b"neither"));
    }

    #[test]
    fn repairs_take_away_what_they_name() {
        let repair = |repairs: &[Repair]| {
            let line = repaired(HASH.as_bytes(), repairs).unwrap()?;
            Some(serde_json::from_slice::<Value>(&line).unwrap())
        };
        let with = |expiry: Value, field: Value| {
            let fields = serde_json::json!([field, ["Yg==", "Mg=="]]);
            Some(serde_json::json!({ "db": 3, "key": "aP8=", "type": "hash", "expire_at_ms": expiry, "fields": fields }))
        };
        let (expiring, staying) = (serde_json::json!(["YQ==", "MQ==", 4_102_444_800_000_u64]), serde_json::json!(["YQ==", "MQ=="]));
        assert_eq!(repair(&[Repair::WholeSeconds]), with(4_102_444_801_000_u64.into(), expiring.clone()));
        assert_eq!(repair(&[Repair::KeyStays]), with(Value::Null, expiring));
        assert_eq!(repair(&[Repair::FieldsStay, Repair::KeyStays]), with(Value::Null, staying));
    }

    #[test]
    fn there_may_be_nothing_to_repair() {
        for line in [
            r#"{"db":0,"key":"","type":"string","expire_at_ms":null,"value":""}"#,
            r#"{"db":0,"key":"","type":"hash","expire_at_ms":null,"fields":[["YQ==","MQ=="]]}"#,
        ] {
            for repair in [Repair::WholeSeconds, Repair::FieldsStay, Repair::KeyStays] {
                assert_eq!(repaired(line.as_bytes(), &[repair]).unwrap(), None, "{line} {repair:?}");
            }
        }
        let whole = r#"{"db":0,"key":"","type":"string","expire_at_ms":4102444800000,"value":""}"#;
        assert_eq!(repaired(whole.as_bytes(), &[Repair::WholeSeconds]).unwrap(), None);
    }
}

//! Lines of a dump, read and validated.

use crate::layout::FieldValue;
use crate::layout::field_expiry::FieldExpiries;
use crate::number::parse_double;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value as Json};

/// A key of a dump.
#[derive(Debug, PartialEq)]
pub struct Entry {
    pub db: usize,
    pub key: Bytes,
    /// Unix time in milliseconds.
    pub expire_at_ms: Option<u64>,
    pub value: Value,
}

/// The value of a key; collections have at least one record, and no field or member twice.
#[derive(Debug, PartialEq)]
pub enum Value {
    String(Bytes),
    Hash(Vec<(Bytes, FieldValue)>),
    List(Vec<Bytes>),
    Set(Vec<Bytes>),
    SortedSet(Vec<(Bytes, f64)>),
}

/// Why a line is refused.
type Reason = String;

impl Entry {
    /// Reads a line.
    ///
    /// # Errors
    /// The reason for which the line is refused.
    pub fn parse(line: &[u8]) -> Result<Self, Reason> {
        let mut members: Map<String, Json> = serde_json::from_slice(line).map_err(|error| format!("not a JSON object: {error}"))?;
        let db = take(&mut members, "db")?.as_u64().and_then(|db| usize::try_from(db).ok()).ok_or("db is not a number")?;
        let key = bytes("key", &take(&mut members, "key")?)?;
        let expire_at_ms = match take(&mut members, "expire_at_ms")? {
            Json::Null => None,
            at => Some(at.as_u64().ok_or("expire_at_ms is neither null nor a number of milliseconds")?),
        };
        let kind = take(&mut members, "type")?;
        let value = match kind.as_str().unwrap_or_default() {
            "string" => Value::String(bytes("value", &take(&mut members, "value")?)?),
            "hash" => Value::Hash(list(&mut members, "fields", field)?),
            "list" => Value::List(list(&mut members, "items", |item| bytes("an item", item))?),
            "set" => Value::Set(list(&mut members, "members", |member| bytes("a member", member))?),
            "zset" => Value::SortedSet(list(&mut members, "members", scored)?),
            _ => return Err(format!("unknown type {kind}")),
        };
        if let Some(name) = members.keys().next() {
            return Err(format!("unknown name {name:?}"));
        }
        value.check_unique()?;
        Ok(Self { db, key, expire_at_ms, value })
    }
}

impl Value {
    /// Leaves out fields that are past their time. True where there are such and nothing is left.
    pub fn leave_out_expired(&mut self, now_ms: u64) -> bool {
        let Self::Hash(fields) = self else { return false };
        fields.retain(|(_, value)| !value.is_expired(now_ms));
        fields.is_empty()
    }

    /// The fields that expire.
    pub fn expiries(&self) -> Option<FieldExpiries> {
        let Self::Hash(fields) = self else { return None };
        let times = || fields.iter().filter_map(|(_, value)| value.expire_at_ms);
        let count = u64::try_from(times().count()).unwrap_or(u64::MAX);
        times().min().map(|next_ms| FieldExpiries { count, next_ms })
    }

    fn check_unique(&self) -> Result<(), Reason> {
        let mut names: Vec<&Bytes> = match self {
            Self::String(_) | Self::List(_) => return Ok(()),
            Self::Hash(fields) => fields.iter().map(|(field, _)| field).collect(),
            Self::Set(members) => members.iter().collect(),
            Self::SortedSet(members) => members.iter().map(|(member, _)| member).collect(),
        };
        names.sort_unstable();
        match names.windows(2).find(|pair| pair.first() == pair.last()).and_then(<[_]>::first) {
            Some(twice) => Err(format!("\"{}\" is there twice", twice.escape_ascii())),
            None => Ok(()),
        }
    }
}

fn take(members: &mut Map<String, Json>, name: &str) -> Result<Json, Reason> {
    members.remove(name).ok_or_else(|| format!("{name} is missing"))
}

fn bytes(what: &str, json: &Json) -> Result<Bytes, Reason> {
    let text = json.as_str().ok_or_else(|| format!("{what} is not a text"))?;
    STANDARD.decode(text).map(Bytes::from).map_err(|error| format!("{what} is not base64: {error}"))
}

fn list<T>(members: &mut Map<String, Json>, name: &str, read: impl Fn(&Json) -> Result<T, Reason>) -> Result<Vec<T>, Reason> {
    let Json::Array(items) = take(members, name)? else { return Err(format!("{name} is not an array")) };
    if items.is_empty() {
        return Err(format!("{name} is empty"));
    }
    items.iter().map(read).collect()
}

fn field(json: &Json) -> Result<(Bytes, FieldValue), Reason> {
    let (field, value, expire_at_ms) = match json.as_array().map(Vec::as_slice) {
        Some([field, value]) => (field, value, None),
        Some([field, value, at]) => (field, value, Some(at.as_u64().ok_or("a field's expiry is not a number of milliseconds")?)),
        _ => return Err("a field is not an array of two texts and, where it expires, a number".to_owned()),
    };
    Ok((bytes("a field", field)?, FieldValue { expire_at_ms, value: bytes("a field's value", value)? }))
}

/// The digits are for people, the bits are the score: they must not contradict each other.
fn scored(json: &Json) -> Result<(Bytes, f64), Reason> {
    let Some([member, digits, bits]) = json.as_array().map(Vec::as_slice) else {
        return Err("a member is not an array of three texts".to_owned());
    };
    let bits = bits.as_str().filter(|bits| bits.len() == 16).and_then(|bits| u64::from_str_radix(bits, 16).ok());
    let score = bits.map(f64::from_bits).filter(|score| !score.is_nan()).ok_or("a score's bits are not 16 hex digits of a number")?;
    let said = digits.as_str().and_then(|digits| parse_double(digits.as_bytes())).ok_or("a score is not a number")?;
    if said.to_bits() != score.to_bits() {
        return Err(format!("a score of {said} has the bits of {score}"));
    }
    Ok((bytes("a member", member)?, score))
}

//! Ardb 0.10: one database, a keyspace for each namespace, under an order of its own.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use bytes::{Buf as _, Bytes};

use super::{Contents, Record, end, expect, take};
use crate::logical::Value;

const META: u8 = 1;
const HASH_FIELD: u8 = 4;
const LIST_ELEMENT: u8 = 6;
const SET_MEMBER: u8 = 8;
const SORTED_SET_SORT: u8 = 10;
const SORTED_SET_SCORE: u8 = 11;
const MERGE_OPERAND: u8 = 30;

/// Reads the records as they are at `now_ms`. The db is the namespace. Merge operands are a flaw: there is nothing they apply to.
#[must_use]
pub fn read(records: &[Record], now_ms: i64) -> Contents {
    let mut contents = Contents::default();
    let mut keys: BTreeMap<(&str, Bytes), Vec<KeyRecord>> = BTreeMap::new();
    for Record { keyspace, key, value } in records {
        match parse_key(key.clone()) {
            Some((user_key, kind, elements)) => {
                keys.entry((keyspace, user_key)).or_default().push(KeyRecord { kind, elements, value: value.clone() });
            }
            None => contents.flaw(keyspace, key, "not a key, a type, a count and so many elements"),
        }
    }
    for ((namespace, key), records) in keys {
        let mut reader = KeyReader { namespace, key, now_ms, contents: &mut contents };
        if reader.read(records).is_none() {
            reader.flaw("a value that cannot be read");
        }
    }
    contents.sorted()
}

/// An item of a key or a value. Whole numbers and floats compare as numbers.
#[derive(Clone, Debug)]
enum Data {
    Nil,
    Int(i64),
    Float(f64),
    Text(Bytes),
}

impl Data {
    /// What a client gets.
    fn text(&self) -> Bytes {
        match self {
            Self::Nil => Bytes::new(),
            Self::Int(number) => number.to_string().into(),
            Self::Float(number) => format_float(*number).into(),
            Self::Text(text) => text.clone(),
        }
    }

    /// The score that this is.
    fn bits(&self) -> Option<u64> {
        match self {
            Self::Int(number) => Some((*number as f64).to_bits()),
            Self::Float(number) => Some(number.to_bits()),
            Self::Nil | Self::Text(_) => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Nil => 0,
            Self::Int(_) | Self::Float(_) => 1,
            Self::Text(_) => 2,
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let as_floats = |one: f64, other: f64| one.partial_cmp(&other).unwrap_or_else(|| one.total_cmp(&other));
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => one.cmp(other),
            (Self::Int(one), Self::Float(other)) => as_floats(*one as f64, *other),
            (Self::Float(one), Self::Int(other)) => as_floats(*one, *other as f64),
            (Self::Float(one), Self::Float(other)) => as_floats(*one, *other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// A record of a user key.
struct KeyRecord {
    kind: u8,
    elements: Vec<Data>,
    value: Bytes,
}

struct Meta {
    kind: u8,
    ttl: i64,
    /// Absent of strings.
    size: i64,
    is_sequential: bool,
    items: Vec<Data>,
}

struct KeyReader<'c> {
    namespace: &'c str,
    key: Bytes,
    now_ms: i64,
    contents: &'c mut Contents,
}

impl KeyReader<'_> {
    fn flaw(&mut self, what: impl Into<String>) {
        self.contents.flaw(self.namespace, &self.key, what);
    }

    /// `None` where a value cannot be read.
    fn read(&mut self, mut records: Vec<KeyRecord>) -> Option<()> {
        records.sort_by(|one, other| one.kind.cmp(&other.kind).then_with(|| compare_all(&one.elements, &other.elements)));
        for pair in records.windows(2) {
            if pair[0].kind == pair[1].kind && compare_all(&pair[0].elements, &pair[1].elements).is_eq() {
                self.flaw("two records that are one in the order");
            }
        }
        let Some(at) = records.iter().position(|record| record.kind == META) else {
            self.flaw("no meta record");
            return Some(());
        };
        let meta = records.remove(at);
        if meta.value.first() == Some(&MERGE_OPERAND) {
            self.flaw("a merge operand");
            return Some(());
        }
        let meta = parse_meta(meta.value)?;
        let value = match meta.kind {
            2 => {
                self.check(&meta, &records, &[], 0);
                let [text] = meta.items.as_slice() else { return None };
                Value::String(text.text())
            }
            3 => self.hash(&meta, &records)?,
            5 => self.list(&meta, &records)?,
            7 => self.set(&meta, &records)?,
            9 => self.sorted_set(&meta, &records)?,
            _ => return None,
        };
        let has_something = matches!(value, Value::String(_)) || !records.is_empty();
        if has_something {
            let is_expired = meta.ttl > 0 && meta.ttl < self.now_ms;
            self.contents.add(is_expired, self.namespace, &self.key, (meta.ttl != 0).then_some(meta.ttl), value);
        }
        Some(())
    }

    fn hash(&mut self, meta: &Meta, records: &[KeyRecord]) -> Option<Value> {
        self.check(meta, records, &[HASH_FIELD], records.len());
        let mut fields = BTreeMap::new();
        for record in records.iter().filter(|record| record.kind == HASH_FIELD) {
            let [value] = parse_value(record)?;
            fields.insert(record.elements.first()?.text(), value.text());
        }
        Some(Value::Hash(fields))
    }

    fn list(&mut self, meta: &Meta, records: &[KeyRecord]) -> Option<Value> {
        self.check(meta, records, &[LIST_ELEMENT], records.len());
        self.check_bounds(meta, records);
        if meta.is_sequential {
            let first = meta.items.first().map_or(Data::Nil, Data::clone);
            let is_in_place = |(place, record): (usize, &KeyRecord)| match (&first, record.elements.as_slice()) {
                (Data::Int(first), [Data::Int(index)]) => i128::from(*index) - i128::from(*first) == place as i128,
                _ => false,
            };
            if !records.iter().enumerate().all(is_in_place) {
                self.flaw("a sequential list with a gap");
            }
        }
        let items = records.iter().filter(|record| record.kind == LIST_ELEMENT).map(|record| parse_value(record).map(|[item]| item.text()));
        Some(Value::List(items.collect::<Option<_>>()?))
    }

    fn set(&mut self, meta: &Meta, records: &[KeyRecord]) -> Option<Value> {
        self.check(meta, records, &[SET_MEMBER], records.len());
        self.check_bounds(meta, records);
        let mut members = BTreeSet::new();
        for record in records.iter().filter(|record| record.kind == SET_MEMBER) {
            let [] = parse_value(record)?;
            members.insert(record.elements.first()?.text());
        }
        Some(Value::Set(members))
    }

    fn sorted_set(&mut self, meta: &Meta, records: &[KeyRecord]) -> Option<Value> {
        let mut index = Vec::new();
        let mut scores = BTreeMap::new();
        for record in records {
            match (record.kind, record.elements.as_slice()) {
                (SORTED_SET_SORT, [score, member]) => {
                    let [] = parse_value(record)?;
                    index.push((member.text(), score.bits()?));
                }
                (SORTED_SET_SCORE, [member]) => {
                    let [score] = parse_value(record)?;
                    scores.insert(member.text(), score.bits()?);
                }
                _ => return None,
            }
        }
        self.check(meta, records, &[SORTED_SET_SORT, SORTED_SET_SCORE], scores.len());
        self.check_bounds(meta, &records[index.len()..]);
        self.contents.check_scores(self.namespace, &self.key, &scores, &index);
        Some(Value::SortedSet(index))
    }

    fn check(&mut self, meta: &Meta, records: &[KeyRecord], kinds: &[u8], found: usize) {
        if records.iter().any(|record| !kinds.contains(&record.kind)) {
            self.flaw("a record of another type");
        }
        let is_unknown = meta.size == -1;
        if !is_unknown && i64::try_from(found) != Ok(meta.size) {
            self.flaw(format!("the size is {}, there are {found}", meta.size));
        }
    }

    /// Lowest and highest of the records' only elements; may be wider, and absent where the size is unknown.
    fn check_bounds(&mut self, meta: &Meta, records: &[KeyRecord]) {
        match meta.items.as_slice() {
            [] if meta.size == -1 => {}
            [min, max] => {
                let is_outside = |data: &Data| data.compare(min).is_lt() || data.compare(max).is_gt();
                if records.iter().flat_map(|record| &record.elements).any(is_outside) {
                    self.flaw("an element outside of the bounds");
                }
            }
            _ => self.flaw("not two bounds"),
        }
    }
}

fn compare_all(one: &[Data], other: &[Data]) -> Ordering {
    let lengths = one.len().cmp(&other.len());
    lengths
        .then_with(|| one.iter().zip(other).map(|(one, other)| one.compare(other)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
}

/// `UVarint(len) userkey type n element*n`.
fn parse_key(mut key: Bytes) -> Option<(Bytes, u8, Vec<Data>)> {
    let len = take_varint(&mut key)?;
    let user_key = take(&mut key, usize::try_from(len).ok()?)?;
    let kind = key.try_get_u8().ok()?;
    Some((user_key, kind, parse_items(key)?))
}

/// `T format ttl [size] [extra] n item*n`.
fn parse_meta(mut value: Bytes) -> Option<Meta> {
    let kind = value.try_get_u8().ok()?;
    expect(&mut value, 0)?;
    let ttl = unzigzag(take_varint(&mut value)?);
    let size = if kind == 2 { 0 } else { unzigzag(take_varint(&mut value)?) };
    let is_sequential = kind == 5 && value.try_get_u8().ok()? == 1;
    Some(Meta { kind, ttl, size, is_sequential, items: parse_items(value)? })
}

/// The value of an element record repeats the record's type; then come so many items.
fn parse_value<const N: usize>(record: &KeyRecord) -> Option<[Data; N]> {
    let mut value = record.value.clone();
    expect(&mut value, record.kind)?;
    parse_items(value)?.try_into().ok()
}

/// `n item*n` and nothing else.
fn parse_items(mut bytes: Bytes) -> Option<Vec<Data>> {
    let count = bytes.try_get_u8().ok()?;
    let items = (0..count).map(|_| take_data(&mut bytes)).collect::<Option<_>>()?;
    end(&bytes)?;
    Some(items)
}

fn take_data(bytes: &mut Bytes) -> Option<Data> {
    Some(match bytes.try_get_u8().ok()? {
        0 => Data::Nil,
        1 => Data::Int(unzigzag(take_varint(bytes)?)),
        2 => Data::Float(f64::from_bits(unzigzag(take_varint(bytes)?).cast_unsigned())),
        3 | 4 => {
            let len = usize::try_from(take_varint(bytes)?).ok()?;
            Data::Text(take(bytes, len)?)
        }
        _ => return None,
    })
}

/// Seven bits a byte, the lowest first; a set high bit says that more follow.
fn take_varint(bytes: &mut Bytes) -> Option<u64> {
    let mut number = 0;
    for place in 0..10 {
        let byte = bytes.try_get_u8().ok()?;
        let bits = u64::from(byte & 0x7f);
        number |= bits.checked_shl(place * 7).filter(|shifted| shifted >> (place * 7) == bits)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// As C's `%lld` where the number is whole and below 2^52, else as `%.17g`.
fn format_float(number: f64) -> String {
    if number.abs() < (1_u64 << 52) as f64 && number.fract() == 0.0 {
        return format!("{}", number as i64);
    }
    if !number.is_finite() {
        return if number.is_nan() {
            "nan".into()
        } else if number > 0.0 {
            "inf".into()
        } else {
            "-inf".into()
        };
    }
    let scientific = format!("{number:.16e}");
    let (digits, exponent) = scientific.split_once('e').expect("the form has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    if !(-4..17).contains(&exponent) {
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let decimals = usize::try_from(16 - exponent).expect("the exponent is below 17");
    let fixed = format!("{number:.decimals$}");
    if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.').into() } else { fixed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_c_writes_them() {
        let cases = [
            (10.5, "10.5"),
            (-0.0, "0"),
            (3.0, "3"),
            (0.1, "0.10000000000000001"),
            (1e-5, "1.0000000000000001e-05"),
            (1.5e300, "1.5000000000000001e+300"),
            (4_503_599_627_370_496.0, "4503599627370496"),
            (1e17, "1e+17"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (number, text) in cases {
            assert_eq!(format_float(number), text);
        }
    }

    #[test]
    fn varints_end_within_ten_bytes_and_sixty_four_bits() {
        let cases: [(&'static [u8], Option<u64>); 6] = [
            (&[0x00], Some(0)),
            (&[0xac, 0x02], Some(300)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Some(u64::MAX)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], None),
            (&[0x80; 10], None),
            (&[0x80], None),
        ];
        for (bytes, number) in cases {
            assert_eq!(take_varint(&mut Bytes::from_static(bytes)), number, "{bytes:x?}");
        }
    }

    #[test]
    fn numbers_sort_as_numbers_and_before_texts() {
        let order = [
            Data::Nil,
            Data::Float(-1.5),
            Data::Int(-1),
            Data::Int(9),
            Data::Float(9.5),
            Data::Int(10),
            Data::Text("".into()),
            Data::Text("10".into()),
        ];
        for pair in order.windows(2) {
            assert_eq!(pair[0].compare(&pair[1]), Ordering::Less, "{pair:?}");
        }
        assert_eq!(Data::Int(5).compare(&Data::Float(5.0)), Ordering::Equal);
    }
}

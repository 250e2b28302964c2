//! From a payload to its value.

use super::strings::{binary_score, length, string, text_score, time_ms};
use super::{Budget, Field, Refusal, Value, footer, intset, kind, listpack, ziplist, zipmap};
use crate::codec::Reader;
use crate::number::{parse_double, parse_i64};
use bytes::Bytes;
use std::collections::BTreeSet;

/// A node of a quicklist that is one element by itself.
const PLAIN_NODE: u64 = 1;
/// A node of a quicklist that is a listpack.
const PACKED_NODE: u64 = 2;

/// How a small collection is packed into one string.
type Unpack = fn(&Bytes, &mut Budget) -> Result<Vec<Bytes>, Refusal>;

/// The value of a payload. What it unpacks to may take `max_bytes`, about 64 bytes for each element included.
///
/// # Errors
/// [`Refusal::Footer`] before anything else is looked at. [`Refusal::Format`] for streams and modules, what is cut off, has bytes
/// behind it or contradicts itself, for empty collections, members that come twice, and scores that are NaN.
/// [`Refusal::TooLarge`].
pub fn decode(payload: &Bytes, max_bytes: usize) -> Result<Value, Refusal> {
    let bytes = footer::verify(payload)?;
    let mut reader = Reader::new(&bytes);
    let kind = reader.u8("a type")?;
    let mut decoder = Decoder { reader, budget: Budget { left: max_bytes } };
    let value = decoder.value(kind)?;
    decoder.reader.end()?;
    Ok(value)
}

struct Decoder<'b> {
    reader: Reader<'b>,
    budget: Budget,
}

impl Decoder<'_> {
    fn value(&mut self, kind: u8) -> Result<Value, Refusal> {
        match kind {
            kind::STRING => self.string().map(Value::String),
            kind::LIST => self.strings(1).and_then(|elements| self.list(elements)),
            kind::LIST_ZIPLIST => self.packed(ziplist::elements).and_then(|elements| self.list(elements)),
            kind::LIST_QUICKLIST => self.quicklist(false),
            kind::LIST_QUICKLIST_2 => self.quicklist(true),
            kind::SET => self.strings(1).and_then(|members| self.set(members)),
            kind::SET_INTSET => self.packed(intset::elements).and_then(|members| self.set(members)),
            kind::SET_LISTPACK => self.packed(listpack::elements).and_then(|members| self.set(members)),
            kind::SORTED_SET => self.scored_strings(text_score),
            kind::SORTED_SET_2 => self.scored_strings(binary_score),
            kind::SORTED_SET_ZIPLIST => self.packed_sorted_set(ziplist::elements),
            kind::SORTED_SET_LISTPACK => self.packed_sorted_set(listpack::elements),
            kind::HASH => self.strings(2).and_then(|pairs| self.pairs(&pairs)),
            kind::HASH_ZIPMAP => self.packed(zipmap::elements).and_then(|pairs| self.pairs(&pairs)),
            kind::HASH_ZIPLIST => self.packed(ziplist::elements).and_then(|pairs| self.pairs(&pairs)),
            kind::HASH_LISTPACK => self.packed(listpack::elements).and_then(|pairs| self.pairs(&pairs)),
            kind::HASH_METADATA => self.expiring_hash(),
            kind::HASH_LISTPACK_EX => self.packed_expiring_hash(),
            _ => Err(self.flaw("the type of a string, list, set, sorted set or hash")),
        }
    }

    fn flaw(&self, what: &'static str) -> Refusal {
        self.reader.flaw(what).into()
    }

    fn string(&mut self) -> Result<Bytes, Refusal> {
        string(&mut self.reader, &mut self.budget)
    }

    fn length(&mut self) -> Result<u64, Refusal> {
        Ok(length(&mut self.reader)?)
    }

    /// As many strings as the length before them says, times `each`.
    fn strings(&mut self, each: u64) -> Result<Vec<Bytes>, Refusal> {
        // Every string is a byte at least, so a length that is a lie ends with the bytes.
        let count = self.length()?.saturating_mul(each);
        let mut strings = Vec::new();
        for _ in 0..count {
            let string = self.string()?;
            self.budget.keep(&mut strings, string)?;
        }
        Ok(strings)
    }

    /// The elements of a string that is a small collection.
    fn packed(&mut self, unpack: Unpack) -> Result<Vec<Bytes>, Refusal> {
        let blob = self.string()?;
        unpack(&blob, &mut self.budget)
    }

    fn quicklist(&mut self, has_containers: bool) -> Result<Value, Refusal> {
        let mut elements = Vec::new();
        for _ in 0..self.length()? {
            let container = if has_containers { Some(self.length()?) } else { None };
            match container {
                None => elements.append(&mut self.packed(ziplist::elements)?),
                Some(PACKED_NODE) => elements.append(&mut self.packed(listpack::elements)?),
                Some(PLAIN_NODE) => {
                    let element = self.string()?;
                    self.budget.keep(&mut elements, element)?;
                }
                Some(_) => return Err(self.flaw("a known kind of node")),
            }
        }
        self.list(elements)
    }

    fn scored_strings(&mut self, score: fn(&mut Reader) -> Result<f64, crate::codec::Flaw>) -> Result<Value, Refusal> {
        let mut members = Vec::new();
        for _ in 0..self.length()? {
            let member = self.string()?;
            self.budget.charge(member.len().saturating_add(super::ELEMENT_BYTES))?;
            members.push((member, score(&mut self.reader)?));
        }
        self.sorted_set(members)
    }

    fn packed_sorted_set(&mut self, unpack: Unpack) -> Result<Value, Refusal> {
        let elements = self.packed(unpack)?;
        let mut members = Vec::new();
        for pair in elements.chunks(2) {
            let [member, score] = pair else { return Err(self.flaw("a score for each member")) };
            members.push((member.clone(), parse_double(score).ok_or_else(|| self.flaw("a number"))?));
        }
        self.sorted_set(members)
    }

    /// Each field has a time before it: 0 for none, else counted from the least of all times, which is 1.
    fn expiring_hash(&mut self) -> Result<Value, Refusal> {
        let least = time_ms(&mut self.reader)?;
        let mut fields = Vec::new();
        for _ in 0..self.length()? {
            let time = self.length()?;
            let (name, value) = (self.string()?, self.string()?);
            self.budget.charge(name.len().saturating_add(value.len()).saturating_add(2 * super::ELEMENT_BYTES))?;
            let expire_at_ms = match time.checked_sub(1) {
                None => None,
                Some(behind) => Some(least.checked_add(behind).ok_or_else(|| self.flaw("a time"))?),
            };
            fields.push(Field { name, value, expire_at_ms });
        }
        self.hash(fields)
    }

    /// Each field is a name, a value and a time, 0 for none. The least of all times comes first, and is not needed.
    fn packed_expiring_hash(&mut self) -> Result<Value, Refusal> {
        time_ms(&mut self.reader)?;
        let elements = self.packed(listpack::elements)?;
        let mut fields = Vec::new();
        for field in elements.chunks(3) {
            let [name, value, time] = field else { return Err(self.flaw("a time for each field")) };
            let time = parse_i64(time).and_then(|time| u64::try_from(time).ok()).ok_or_else(|| self.flaw("a time"))?;
            fields.push(Field { name: name.clone(), value: value.clone(), expire_at_ms: (time > 0).then_some(time) });
        }
        self.hash(fields)
    }

    fn pairs(&self, elements: &[Bytes]) -> Result<Value, Refusal> {
        let mut fields = Vec::new();
        for pair in elements.chunks(2) {
            let [name, value] = pair else { return Err(self.flaw("a value for each field")) };
            fields.push(Field { name: name.clone(), value: value.clone(), expire_at_ms: None });
        }
        self.hash(fields)
    }

    fn list(&self, elements: Vec<Bytes>) -> Result<Value, Refusal> {
        if elements.is_empty() { Err(self.flaw("elements")) } else { Ok(Value::List(elements)) }
    }

    fn set(&self, members: Vec<Bytes>) -> Result<Value, Refusal> {
        self.check_names(members.iter())?;
        Ok(Value::Set(members))
    }

    fn sorted_set(&self, members: Vec<(Bytes, f64)>) -> Result<Value, Refusal> {
        self.check_names(members.iter().map(|(member, _)| member))?;
        if members.iter().any(|(_, score)| score.is_nan()) {
            return Err(self.flaw("a number"));
        }
        Ok(Value::SortedSet(members))
    }

    fn hash(&self, fields: Vec<Field>) -> Result<Value, Refusal> {
        self.check_names(fields.iter().map(|field| &field.name))?;
        Ok(Value::Hash(fields))
    }

    /// There must be names, and none twice.
    fn check_names<'n>(&self, names: impl ExactSizeIterator<Item = &'n Bytes>) -> Result<(), Refusal> {
        let count = names.len();
        let distinct: BTreeSet<&Bytes> = names.collect();
        if count == 0 || distinct.len() < count { Err(self.flaw("members or fields, each once")) } else { Ok(()) }
    }
}

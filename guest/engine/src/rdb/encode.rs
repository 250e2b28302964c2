//! From a value to its payload, written piece by piece.

use super::{Refusal, footer, kind};
use crate::layout::Kind;

/// Appends a payload to a buffer.
///
/// It writes the types that are no packed encodings, without compression: lists, sets and hashes as strings one after the other, sorted
/// sets with binary scores. Redis 5.0 to 7.4 take all of them and choose their own encodings when they load them; packed ones would
/// have to be ziplists for some of these versions and listpacks for others, and could not be written without knowing all elements.
/// Only a hash with fields that expire is for Redis 7.4 alone.
#[derive(Debug)]
pub struct Encoder<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    version: u16,
    max_bytes: usize,
    is_full: bool,
}

impl<'o> Encoder<'o> {
    /// Begins a payload of at most `max_bytes`. What follows: of a string [`Encoder::string`]; of a collection [`Encoder::length`], then
    /// [`Encoder::string`] for each element or member, with [`Encoder::score`] in a sorted set, and twice for each field of a hash.
    pub fn new(out: &'o mut Vec<u8>, max_bytes: usize, kind: Kind) -> Self {
        let kind = match kind {
            Kind::String => kind::STRING,
            Kind::List => kind::LIST,
            Kind::Set => kind::SET,
            Kind::SortedSet => kind::SORTED_SET_2,
            Kind::Hash => kind::HASH,
        };
        Self::of_type(out, max_bytes, kind, footer::WRITTEN)
    }

    /// As [`Encoder::new`], for a hash with fields that expire: [`Encoder::length`], then for each field [`Encoder::expiry`] and twice
    /// [`Encoder::string`].
    pub fn expiring_hash(out: &'o mut Vec<u8>, max_bytes: usize) -> Self {
        let mut encoder = Self::of_type(out, max_bytes, kind::HASH_METADATA, footer::NEWEST);
        // Times are counted from this one.
        encoder.put(&0_u64.to_le_bytes());
        encoder
    }

    fn of_type(out: &'o mut Vec<u8>, max_bytes: usize, kind: u8, version: u16) -> Self {
        let start = out.len();
        let mut encoder = Self { out, start, version, max_bytes, is_full: false };
        encoder.put(&[kind]);
        encoder
    }

    /// The expiry of the field that follows: Unix time in milliseconds.
    pub fn expiry(&mut self, expire_at_ms: Option<u64>) {
        self.length(expire_at_ms.map_or(0, |at| at.saturating_add(1)));
    }

    /// A string, element, member, name or value.
    pub fn string(&mut self, string: &[u8]) {
        self.length(u64::try_from(string.len()).unwrap_or(u64::MAX));
        self.put(string);
    }

    /// The score of the member before it.
    pub fn score(&mut self, score: f64) {
        self.put(&score.to_le_bytes());
    }

    /// Ends the payload with its footer.
    ///
    /// # Errors
    /// [`Refusal::TooLarge`]: no more than `max_bytes` have been appended then, and they are no payload.
    pub fn finish(mut self) -> Result<(), Refusal> {
        let footer = footer::of(self.out.get(self.start..).unwrap_or_default(), self.version);
        self.put(&footer);
        if self.is_full { Err(Refusal::TooLarge) } else { Ok(()) }
    }

    /// How many elements, members or fields follow. In one, two, five or nine bytes, big-endian; the highest bits tell which
    /// (`rdbSaveLen`).
    pub fn length(&mut self, length: u64) {
        match (u8::try_from(length), u16::try_from(length), u32::try_from(length)) {
            (Ok(length @ ..0x40), ..) => self.put(&[length]),
            (_, Ok(length @ ..0x4000), _) => self.put(&(length | 0x4000).to_be_bytes()),
            (.., Ok(length)) => {
                self.put(&[0x80]);
                self.put(&length.to_be_bytes());
            }
            _ => {
                self.put(&[0x81]);
                self.put(&length.to_be_bytes());
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        let used = self.out.len().saturating_sub(self.start);
        self.is_full |= bytes.len() > self.max_bytes.saturating_sub(used);
        if !self.is_full {
            self.out.extend_from_slice(bytes);
        }
    }
}

//! Packed collections of the layout: what their heads look like. `docs/format.md`, section "Packed collections".

use super::Orbweaver;
use super::records::{self, FIELDS_EXPIRE, PACKED, RANKED};
use crate::error::Result;
use crate::layout::{Collection, Kind, Meta};
use crate::transaction::{HeadForm, PackedHead, Packing, Transaction};
use bytes::Bytes;

/// Heads as [`records::encode_meta`] makes them.
#[derive(Debug)]
struct MetaRecords;

const FORM: &dyn HeadForm = &MetaRecords;

impl HeadForm for MetaRecords {
    fn version_of(&self, head: &[u8]) -> Option<u64> {
        records::version_of_head(head)
    }

    fn most_bytes(&self, head: &[u8], most: usize) -> usize {
        match head {
            [kind, flags, ..] if flags & (FIELDS_EXPIRE | RANKED) == 0 => {
                records::kind_of(*kind).map_or(0, |kind| records::most_packed_bytes(kind, most))
            }
            _ => 0,
        }
    }

    fn with_records(&self, head: &[u8], records: &[u8]) -> Bytes {
        match head {
            [kind, flags, rest @ ..] => crate::arena::join([&[*kind, flags | PACKED], rest, records]),
            _ => Bytes::copy_from_slice(head),
        }
    }

    fn without_records(&self, head: &[u8], records_at: usize) -> Bytes {
        match head.get(..records_at) {
            Some([kind, flags, rest @ ..]) => crate::arena::join([&[*kind, flags & !PACKED], rest]),
            _ => Bytes::copy_from_slice(head),
        }
    }

    fn second_of(&self, version: u64, key: &[u8], value: &[u8]) -> (Bytes, Bytes) {
        // What is no score is not packed: `decode_meta` refuses such a head.
        records::encode_scored(version, records::decode_score(value).unwrap_or_default(), key)
    }
}

impl Orbweaver {
    pub(super) fn packing(&self) -> Packing {
        Packing { form: FORM, heads: self.meta, records: self.data, seconds: self.score, max_bytes: self.max_packed_bytes }
    }

    /// Lets the records that are in a head, which was just read, be seen where they would lie otherwise.
    #[inline(never)]
    pub(super) fn show_packed(&self, transaction: &mut Transaction<'_>, key: &Bytes, meta: &Meta) -> Result<()> {
        if let (Some(Collection { version, kind, .. }), Some(value)) = (meta.collection(), transaction.get(self.meta, key)?) {
            let (records_at, has_seconds) = (records::meta_bytes(meta), kind == Kind::SortedSet);
            transaction.show_packed(self.packing(), version, || PackedHead { key: key.clone(), value, records_at, has_seconds });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Body;
    use crate::layout::field_expiry::FieldExpiries;
    use crate::layout::lists::ListHead;

    #[test]
    fn a_head_tells_its_version_and_gets_its_records_back_out() {
        let records: [(Kind, &[u8]); 4] = [
            (Kind::Hash, b"\x01f\x02\0v"),
            (Kind::List, b"\x08\x80\0\0\0\0\0\0\0\x01e"),
            (Kind::Set, b"\x01m\0"),
            (Kind::SortedSet, b"\x01m\x08\0\0\0\0\0\0\0\0"),
        ];
        for (kind, record) in records {
            for expire_at_ms in [None, Some(7)] {
                let list = if kind == Kind::List { ListHead::Array { head: records::FIRST_INDEX } } else { ListHead::None };
                let plain = Collection { count: 1, list, ..Collection::empty(kind, 0x0102_0304_0506_0708) };
                let indexed = match kind {
                    Kind::Hash => Collection { expiries: Some(FieldExpiries { next_ms: 9, count: 1 }), ..plain },
                    Kind::SortedSet => Collection { rank_levels: 2, ..plain },
                    _ => plain,
                };
                for collection in [plain, indexed] {
                    let meta = Meta { expire_at_ms, body: Body::Collection(collection) };
                    let head = records::encode_meta(&meta);
                    assert_eq!(FORM.version_of(&head), Some(plain.version));
                    let most = if kind == Kind::List { 50 } else { 100 };
                    assert_eq!(FORM.most_bytes(&head, 100), if collection.has_index() { 0 } else { most });
                    let packed = FORM.with_records(&head, record);
                    assert_eq!(FORM.without_records(&packed, head.len()), head);
                    let packed_meta = Meta { body: Body::Collection(Collection { is_packed: true, ..collection }), ..meta };
                    assert_eq!(records::decode_meta(&packed).ok(), (!collection.has_index()).then_some(packed_meta));
                }
            }
        }
        let string = records::encode_meta(&Meta { expire_at_ms: None, body: Body::String(Bytes::from_static(b"a string of some length")) });
        assert_eq!((FORM.version_of(&string), FORM.version_of(b""), FORM.version_of(b"\x04\x00\x01")), (None, None, None));
    }
}

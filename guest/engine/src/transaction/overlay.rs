//! The changes of a transaction: point changes and cleared ranges, by keyspace, each step of which can be taken back.

use crate::store::{Batch, KeyRange, Keyspace, StoreError};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Key -> its new value, or `None` where it is deleted.
type Points = BTreeMap<Bytes, Option<Bytes>>;

#[derive(Default)]
struct Layer {
    points: Points,
    /// Ranges deleted before the points that now lie in them were set, in the order of deletion.
    cleared: Vec<KeyRange>,
}

impl Layer {
    fn is_cleared(&self, key: &[u8]) -> bool {
        self.cleared.iter().any(|range| contains(range, key))
    }
}

/// Changes by keyspace.
#[derive(Default)]
pub struct Overlay {
    layers: BTreeMap<Keyspace, Layer>,
    bytes: usize,
}

/// How to take one change back.
pub enum Step {
    /// What a key's entry was before.
    Point(Keyspace, Bytes, Option<Option<Bytes>>),
    /// A range was cleared; these entries lay in it.
    Cleared(Keyspace, Points),
}

fn contains(range: &KeyRange, key: &[u8]) -> bool {
    key >= range.start.as_slice() && range.end.as_deref().is_none_or(|end| key < end)
}

fn value_bytes(value: Option<&Option<Bytes>>) -> usize {
    value.and_then(Option::as_ref).map_or(0, Bytes::len)
}

impl Overlay {
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// `Some(value)` where the overlay decides: set, deleted (`None` inside) or cleared (likewise).
    pub fn get(&self, keyspace: Keyspace, key: &[u8]) -> Option<Option<Bytes>> {
        let layer = self.layers.get(&keyspace)?;
        layer.points.get(key).cloned().or_else(|| layer.is_cleared(key).then_some(None))
    }

    /// Whether the overlay decides what `key` holds.
    pub fn decides(&self, keyspace: Keyspace, key: &[u8]) -> bool {
        self.layers.get(&keyspace).is_some_and(|layer| layer.points.contains_key(key) || layer.is_cleared(key))
    }

    pub fn set(&mut self, keyspace: Keyspace, key: Bytes, value: Option<Bytes>) -> Step {
        let layer = self.layers.entry(keyspace).or_default();
        self.bytes += key.len() + value_bytes(Some(&value));
        let before = layer.points.insert(key.clone(), value);
        self.bytes = self.bytes.saturating_sub(value_bytes(before.as_ref()));
        Step::Point(keyspace, key, before)
    }

    pub fn clear(&mut self, keyspace: Keyspace, range: KeyRange) -> Step {
        let layer = self.layers.entry(keyspace).or_default();
        let mut inside = layer.points.split_off(range.start.as_slice());
        if let Some(end) = &range.end {
            let mut behind = inside.split_off(end.as_slice());
            layer.points.append(&mut behind);
        }
        layer.cleared.push(range);
        Step::Cleared(keyspace, inside)
    }

    pub fn undo(&mut self, step: Step) {
        match step {
            Step::Point(keyspace, key, before) => {
                let Some(layer) = self.layers.get_mut(&keyspace) else { return };
                match before {
                    Some(value) => layer.points.insert(key, value),
                    None => layer.points.remove(&key),
                };
                self.forget_if_empty(keyspace);
            }
            Step::Cleared(keyspace, mut inside) => {
                let Some(layer) = self.layers.get_mut(&keyspace) else { return };
                layer.cleared.pop();
                layer.points.append(&mut inside);
                self.forget_if_empty(keyspace);
            }
        }
    }

    fn forget_if_empty(&mut self, keyspace: Keyspace) {
        let empty = |layer: &Layer| layer.points.is_empty() && layer.cleared.is_empty();
        if self.layers.get(&keyspace).is_some_and(empty) {
            self.layers.remove(&keyspace);
        }
    }

    /// The first (or, `reverse`, last) key set within the bounds, with its value. Deleted keys are passed over.
    pub fn next_set(&self, keyspace: Keyspace, bounds: (Bound<&[u8]>, Bound<&[u8]>), reverse: bool) -> Option<(&Bytes, &Bytes)> {
        let points = self.layers.get(&keyspace)?.points.range::<[u8], _>(bounds);
        let mut set = points.filter_map(|(key, value)| value.as_ref().map(|value| (key, value)));
        if reverse { set.next_back() } else { set.next() }
    }

    /// Appends the changes to a batch: cleared ranges first, then each key once.
    pub fn write_to(&self, batch: &mut Batch) -> Result<(), StoreError> {
        for (&keyspace, layer) in &self.layers {
            for range in &layer.cleared {
                batch.delete_range(keyspace, range)?;
            }
        }
        for (&keyspace, layer) in &self.layers {
            for (key, value) in &layer.points {
                match value {
                    Some(value) => batch.put(keyspace, key, value)?,
                    // What a range delete of this batch removes anyhow needs no second word.
                    None if layer.is_cleared(key) => {}
                    None => batch.delete(keyspace, key)?,
                }
            }
        }
        Ok(())
    }
}

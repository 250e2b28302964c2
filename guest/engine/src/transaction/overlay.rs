//! The changes of a transaction: point changes and cleared ranges, by keyspace, each step of which can be taken back.
//!
//! Within a keyspace changes are sorted by the sort keys of its order, which in byte order are the keys themselves.

use crate::store::{Batch, KeyRange, Keyspace, Order, StoreError};
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

/// A change of one record.
pub struct Point {
    key: Bytes,
    /// `None` where it is deleted.
    value: Option<Bytes>,
}

/// Sort key -> what has become of the record.
type Points = BTreeMap<Bytes, Point>;

/// The two ends of a range, as sort keys.
type Bounds<'r> = (Bound<Cow<'r, [u8]>>, Bound<Cow<'r, [u8]>>);

struct Layer {
    order: Order,
    points: Points,
    /// Ranges deleted before the points that now lie in them were set, in the order of deletion.
    cleared: Vec<KeyRange>,
}

impl Layer {
    fn is_cleared(&self, key: &[u8]) -> bool {
        self.cleared.iter().any(|range| range.contains(self.order, key))
    }

    fn point(&self, key: &[u8]) -> Option<&Point> {
        self.points.get(self.order.sort_key(key).as_ref())
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
    /// What the entry of a sort key was before.
    Point(Keyspace, Bytes, Option<Point>),
    /// A range was cleared; these entries lay in it.
    Cleared(Keyspace, Points),
}

/// The ends of a range as sort keys; `None` where it is empty.
fn bounds(order: Order, range: &KeyRange) -> Option<Bounds<'_>> {
    let start = match (range.start.as_slice(), range.after_start) {
        ([], false) => Bound::Unbounded,
        (start, true) => Bound::Excluded(order.sort_key(start)),
        (start, false) => Bound::Included(order.sort_key(start)),
    };
    let end = range.end.as_deref().map_or(Bound::Unbounded, |end| Bound::Excluded(order.sort_key(end)));
    match (&start, &end) {
        (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to)) if from >= to => None,
        _ => Some((start, end)),
    }
}

fn value_bytes(point: &Point) -> usize {
    point.value.as_ref().map_or(0, Bytes::len)
}

impl Overlay {
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Whether anything is changed in the keyspace.
    pub fn touches(&self, keyspace: Keyspace) -> bool {
        self.layers.contains_key(&keyspace)
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Most operations that a batch of the changes has.
    pub fn ops(&self) -> usize {
        self.layers.values().map(|layer| layer.points.len() + layer.cleared.len()).sum()
    }

    /// `Some(value)` where the overlay decides: set, deleted (`None` inside) or cleared (likewise).
    pub fn get(&self, keyspace: Keyspace, key: &[u8]) -> Option<Option<Bytes>> {
        let layer = self.layers.get(&keyspace)?;
        layer.point(key).map(|point| point.value.clone()).or_else(|| layer.is_cleared(key).then_some(None))
    }

    /// Whether the overlay decides what `key` holds.
    pub fn decides(&self, keyspace: Keyspace, key: &[u8]) -> bool {
        self.layers.get(&keyspace).is_some_and(|layer| layer.point(key).is_some() || layer.is_cleared(key))
    }

    /// The keyspace's layer; `order` is that of the keyspace.
    fn layer(&mut self, keyspace: Keyspace, order: Order) -> &mut Layer {
        self.layers.entry(keyspace).or_insert_with(|| Layer { order, points: Points::new(), cleared: Vec::new() })
    }

    pub fn set(&mut self, keyspace: Keyspace, order: Order, key: Bytes, value: Option<Bytes>) -> Step {
        let sort_key = match order.sort_key(&key) {
            Cow::Borrowed(_) => key.clone(),
            Cow::Owned(sort_key) => sort_key.into(),
        };
        let point = Point { key, value };
        let bytes = point.key.len() + value_bytes(&point);
        let before = self.layer(keyspace, order).points.insert(sort_key.clone(), point);
        self.bytes = (self.bytes + bytes).saturating_sub(before.as_ref().map_or(0, value_bytes));
        Step::Point(keyspace, sort_key, before)
    }

    pub fn clear(&mut self, keyspace: Keyspace, order: Order, range: KeyRange) -> Step {
        let layer = self.layer(keyspace, order);
        let mut inside = layer.points.split_off(order.sort_key(&range.start).as_ref());
        if let Some(end) = &range.end {
            let mut behind = inside.split_off(order.sort_key(end).as_ref());
            layer.points.append(&mut behind);
        }
        layer.cleared.push(range);
        Step::Cleared(keyspace, inside)
    }

    pub fn undo(&mut self, step: Step) {
        match step {
            Step::Point(keyspace, sort_key, before) => {
                let Some(layer) = self.layers.get_mut(&keyspace) else { return };
                match before {
                    Some(point) => layer.points.insert(sort_key, point),
                    None => layer.points.remove(&sort_key),
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

    /// The first (or, `reverse`, last) key set within the range, with its value. Deleted keys are passed over.
    pub fn next_set(&self, keyspace: Keyspace, range: &KeyRange, reverse: bool) -> Option<(&Bytes, &Bytes)> {
        let layer = self.layers.get(&keyspace)?;
        let (start, end) = bounds(layer.order, range)?;
        let points = layer.points.range::<[u8], _>((start.as_ref().map(AsRef::as_ref), end.as_ref().map(AsRef::as_ref)));
        let mut set = points.filter_map(|(_, point)| point.value.as_ref().map(|value| (&point.key, value)));
        if reverse { set.next_back() } else { set.next() }
    }

    /// The changes as a batch: cleared ranges first, then each key once.
    pub fn batch(&self) -> Result<Batch, StoreError> {
        let points = self.layers.values().map(|layer| layer.points.len()).sum();
        let mut batch = Batch::with_room(points, self.bytes);
        for (&keyspace, layer) in &self.layers {
            for range in &layer.cleared {
                batch.delete_range(keyspace, range)?;
            }
        }
        for (&keyspace, layer) in &self.layers {
            for Point { key, value } in layer.points.values() {
                match value {
                    Some(value) => batch.put(keyspace, key, value)?,
                    // What a range delete of this batch removes anyhow needs no second word.
                    None if layer.is_cleared(key) => {}
                    None => batch.delete(keyspace, key)?,
                }
            }
        }
        Ok(batch)
    }
}

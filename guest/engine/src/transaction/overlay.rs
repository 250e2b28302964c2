//! The changes of a transaction: point changes and cleared ranges, each of which can be taken back.
//!
//! They are in a log, in the order in which they came. Each keyspace has a list of those that count, sorted by the sort keys of its
//! order, which in byte order are the keys themselves.

use super::sorted::{Place, Sorted};
use crate::store::{Batch, KeyRange, Keyspace, Order, StoreError};
use bytes::Bytes;
use std::borrow::Cow;
use std::ops::Range;

/// A step of the log.
#[derive(Debug)]
enum Change {
    Point(Point),
    /// A range was deleted; these points lay in it.
    Cleared(Keyspace, Vec<usize>),
}

/// A change of one record.
#[derive(Debug)]
struct Point {
    keyspace: Keyspace,
    key: Bytes,
    /// Where it is not the key.
    sort_key: Option<Bytes>,
    /// `None` where it is deleted.
    value: Option<Bytes>,
    /// The point that counted before.
    before: Option<usize>,
}

impl Point {
    fn sort_key(&self) -> &[u8] {
        self.sort_key.as_ref().unwrap_or(&self.key)
    }
}

/// The changes of a keyspace.
#[derive(Debug)]
struct Layer {
    keyspace: Keyspace,
    order: Order,
    points: Sorted,
    /// Ranges deleted before the points that now lie in them were set, in the order of deletion.
    cleared: Vec<KeyRange>,
    /// Counts every step, also those that take others back.
    generation: u64,
}

impl Layer {
    fn is_cleared(&self, key: &[u8]) -> bool {
        self.cleared.iter().any(|range| range.contains(self.order, key))
    }

    fn is_empty(&self) -> bool {
        self.points.is_empty() && self.cleared.is_empty()
    }
}

/// Changes by keyspace.
#[derive(Debug, Default)]
pub struct Overlay {
    log: Vec<Change>,
    /// By keyspace. Some may be empty.
    layers: Vec<Layer>,
    bytes: usize,
}

fn point(log: &[Change], number: usize) -> Option<&Point> {
    match log.get(number) {
        Some(Change::Point(point)) => Some(point),
        _ => None,
    }
}

/// The place of a sort key among points.
fn place(log: &[Change], points: &Sorted, sort_key: &[u8]) -> Place {
    points.place(|number| point(log, number).is_some_and(|point| point.sort_key() < sort_key))
}

/// The point with that sort key, with its place.
fn find<'o>(log: &'o [Change], points: &Sorted, sort_key: &[u8]) -> (Place, Option<(usize, &'o Point)>) {
    let place = place(log, points, sort_key);
    let found = points.get(place).and_then(|number| Some((number, point(log, number)?)));
    (place, found.filter(|(_, point)| point.sort_key() == sort_key))
}

/// The places of the points within a range: from its start, or from behind it, to its end.
fn places(log: &[Change], layer: &Layer, range: &KeyRange, after_start: bool) -> Range<Place> {
    let sort_key = |key| layer.order.sort_key(key);
    let start = sort_key(&range.start);
    let comes_before = |point: &Point| if after_start { point.sort_key() <= start.as_ref() } else { point.sort_key() < start.as_ref() };
    let from = layer.points.place(|number| point(log, number).is_some_and(comes_before));
    let to = match &range.end {
        Some(end) => place(log, &layer.points, &sort_key(end)),
        None => layer.points.place(|_| true),
    };
    from..to.max(from)
}

impl Overlay {
    /// How many steps the log has.
    pub fn steps(&self) -> usize {
        self.log.len()
    }

    /// As long as it is the same, nothing has been changed or taken back: in a keyspace, or in none of them.
    pub fn generation(&self, keyspace: Option<Keyspace>) -> u64 {
        self.layers.iter().filter(|layer| keyspace.is_none_or(|own| layer.keyspace == own)).map(|layer| layer.generation).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.layers.iter().all(Layer::is_empty)
    }

    /// Whether anything is changed in the keyspace.
    pub fn touches(&self, keyspace: Keyspace) -> bool {
        self.layer(keyspace).is_some()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Most operations that a batch of the changes has.
    pub fn ops(&self) -> usize {
        self.layers.iter().map(|layer| layer.points.len() + layer.cleared.len()).sum()
    }

    /// The keyspace's layer, where anything is in it.
    fn layer(&self, keyspace: Keyspace) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.keyspace == keyspace).filter(|layer| !layer.is_empty())
    }

    /// The keyspace's layer in `layers`; `order` tells that of the keyspace.
    fn layer_mut(layers: &mut Vec<Layer>, keyspace: Keyspace, order: impl FnOnce() -> Order) -> Option<&mut Layer> {
        let at = layers.partition_point(|layer| layer.keyspace < keyspace);
        if layers.get(at).is_none_or(|layer| layer.keyspace != keyspace) {
            layers.insert(at, Layer { keyspace, order: order(), points: Sorted::default(), cleared: Vec::new(), generation: 0 });
        }
        layers.get_mut(at)
    }

    /// `Some(value)` where the overlay decides: set, deleted (`None` inside) or cleared (likewise).
    pub fn get(&self, keyspace: Keyspace, key: &[u8]) -> Option<Option<&Bytes>> {
        let layer = self.layer(keyspace)?;
        match find(&self.log, &layer.points, &layer.order.sort_key(key)) {
            (_, Some((_, point))) => Some(point.value.as_ref()),
            _ => layer.is_cleared(key).then_some(None),
        }
    }

    /// Whether the overlay decides what `key` holds.
    pub fn decides(&self, keyspace: Keyspace, key: &[u8]) -> bool {
        self.layer(keyspace)
            .is_some_and(|layer| find(&self.log, &layer.points, &layer.order.sort_key(key)).1.is_some() || layer.is_cleared(key))
    }

    pub fn set(&mut self, keyspace: Keyspace, order: impl FnOnce() -> Order, key: Bytes, value: Option<Bytes>) {
        let Self { log, layers, bytes } = self;
        let Some(layer) = Self::layer_mut(layers, keyspace, order) else { return };
        layer.generation += 1;
        let sort_key = match layer.order.sort_key(&key) {
            Cow::Borrowed(_) => None,
            Cow::Owned(sort_key) => Some(Bytes::from(sort_key)),
        };
        let (place, found) = find(log, &layer.points, sort_key.as_ref().unwrap_or(&key));
        let before = found.map(|(number, _)| number);
        let freed = found.and_then(|(_, point)| point.value.as_ref()).map_or(0, Bytes::len);
        *bytes = (*bytes + key.len() + value.as_ref().map_or(0, Bytes::len)).saturating_sub(freed);
        match before {
            Some(_) => layer.points.replace(place, log.len()),
            None => layer.points.insert(place, log.len()),
        }
        log.push(Change::Point(Point { keyspace, key, sort_key, value, before }));
    }

    pub fn clear_range(&mut self, keyspace: Keyspace, order: impl FnOnce() -> Order, range: KeyRange) {
        let Self { log, layers, .. } = self;
        let Some(layer) = Self::layer_mut(layers, keyspace, order) else { return };
        layer.generation += 1;
        // The start of a range is always part of it here, as in a batch.
        let places = places(log, layer, &range, false);
        let inside: Vec<usize> = layer.points.range(places).collect();
        for removed in inside.iter().filter_map(|&number| point(log, number)) {
            layer.points.remove(place(log, &layer.points, removed.sort_key()));
        }
        layer.cleared.push(range);
        log.push(Change::Cleared(keyspace, inside));
    }

    /// Takes the last steps back, until the log has no more than `steps`.
    pub fn undo_to(&mut self, steps: usize) {
        let Self { log, layers, .. } = self;
        while log.len() > steps {
            let Some(change) = log.pop() else { return };
            let (Change::Point(Point { keyspace, .. }) | Change::Cleared(keyspace, _)) = change;
            let Some(layer) = layers.iter_mut().find(|layer| layer.keyspace == keyspace) else { return };
            layer.generation += 1;
            match change {
                Change::Point(undone) => {
                    // The log does not have the point any more: it is the one that is not found there.
                    let comes_before = |number| point(log, number).is_some_and(|point| point.sort_key() < undone.sort_key());
                    let place = layer.points.place(comes_before);
                    match undone.before {
                        Some(before) => layer.points.replace(place, before),
                        None => layer.points.remove(place),
                    }
                }
                Change::Cleared(_, inside) => {
                    layer.cleared.pop();
                    for number in inside {
                        if let Some(restored) = point(log, number) {
                            layer.points.insert(place(log, &layer.points, restored.sort_key()), number);
                        }
                    }
                }
            }
        }
    }

    /// The first (or, `reverse`, last) key set within the range, with its value. Deleted keys are passed over.
    pub fn next_set(&self, keyspace: Keyspace, range: &KeyRange, reverse: bool) -> Option<(&Bytes, &Bytes)> {
        let layer = self.layer(keyspace)?;
        let numbers = layer.points.range(places(&self.log, layer, range, range.after_start));
        let mut set = numbers.filter_map(|number| {
            let point = point(&self.log, number)?;
            Some((&point.key, point.value.as_ref()?))
        });
        if reverse { set.next_back() } else { set.next() }
    }

    /// Adds the changes to a batch: cleared ranges first, then each key once.
    pub fn fill(&self, batch: &mut Batch) -> Result<(), StoreError> {
        batch.reserve(self.layers.iter().map(|layer| layer.points.len()).sum(), self.bytes);
        for layer in &self.layers {
            for range in &layer.cleared {
                batch.delete_range(layer.keyspace, range)?;
            }
        }
        for layer in &self.layers {
            for Point { key, value, .. } in layer.points.iter().filter_map(|number| point(&self.log, number)) {
                match value {
                    Some(value) => batch.put(layer.keyspace, key, value)?,
                    // What a range delete of this batch removes anyhow needs no second word.
                    None if layer.is_cleared(key) => {}
                    None => batch.delete(layer.keyspace, key)?,
                }
            }
        }
        Ok(())
    }

    /// Forgets all changes, and keeps the room.
    pub fn clear(&mut self) {
        self.log.clear();
        self.bytes = 0;
        for layer in &mut self.layers {
            layer.generation += 1;
            layer.points.clear();
            layer.cleared.clear();
        }
    }

    /// For how many changes there is room.
    pub fn room(&self) -> usize {
        self.log.capacity()
    }
}

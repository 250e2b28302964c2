//! Short lists: most requests name one field, member or element.

use smallvec::SmallVec;

/// A list that needs no memory of its own for one item.
pub type Few<T> = SmallVec<[T; 1]>;

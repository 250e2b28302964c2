//! A record that is put again and again, as the head of a key is by the commands of a pipeline: its values are only copied, until somebody
//! asks for one.

/// Longest value that is kept like this: the longest head of a collection has 42 bytes.
pub const MAX_BYTES: usize = 56;

/// A value that was put over another one, and is not among the changes of its keyspace yet.
#[derive(Clone, Copy, Debug)]
pub struct InHand {
    /// The number of the record, whose change counts.
    pub number: usize,
    bytes: [u8; MAX_BYTES],
    length: usize,
}

impl InHand {
    /// Nothing yet of a record.
    pub const fn of(number: usize) -> Self {
        Self { number, bytes: [0; MAX_BYTES], length: 0 }
    }

    /// Room for another value, of `length` bytes, which are no more than [`MAX_BYTES`].
    #[inline]
    pub fn room(&mut self, length: usize) -> &mut [u8] {
        self.length = length;
        self.bytes.get_mut(..length).unwrap_or_default()
    }

    /// The value.
    pub fn value(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

//! Byte strings out of one buffer: the keys and values of records are made by the dozen, and forgotten together when their
//! transaction ends. Each of them is a count of references instead of an allocation, and so is each copy.

use bytes::{Bytes, BytesMut};
use std::cell::RefCell;

/// Room that is made at a time. What is made of it is kept or freed as one.
const CHUNK_BYTES: usize = 16 << 10;
/// What is longer gets memory of its own: the copy costs more than that.
const MAX_SHARED_BYTES: usize = 1 << 10;

thread_local! {
    static BUFFER: RefCell<BytesMut> = RefCell::default();
}

/// The bytes that `write` appends, about `length` of them.
#[inline]
pub fn bytes(length: usize, write: impl FnOnce(&mut BytesMut)) -> Bytes {
    BUFFER.with(|buffer| match buffer.try_borrow_mut() {
        Ok(mut buffer) if length <= MAX_SHARED_BYTES => {
            if buffer.capacity() < length {
                // The same memory again, where nothing that was made of it is left.
                buffer.reserve(CHUNK_BYTES);
            }
            write(&mut buffer);
            buffer.split().freeze()
        }
        // It is too long, or another one is being written.
        _ => {
            let mut own = BytesMut::with_capacity(length);
            write(&mut own);
            own.freeze()
        }
    })
}

/// Pieces one behind the other.
#[inline]
pub fn join<const N: usize>(pieces: [&[u8]; N]) -> Bytes {
    bytes(pieces.iter().map(|piece| piece.len()).sum(), |buffer| pieces.into_iter().for_each(|piece| buffer.extend_from_slice(piece)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_strings_of_any_length_are_what_was_written() {
        let mut made = Vec::new();
        for length in (0..3 * MAX_SHARED_BYTES).step_by(7) {
            let content: Vec<u8> = (0..=u8::MAX).cycle().skip(length).take(length).collect();
            let (start, end) = content.split_at(length / 3);
            made.push((join([start, end]), content));
        }
        assert!(made.iter().all(|(bytes, content)| bytes == content));
    }

    #[test]
    fn memory_is_used_again_once_nothing_of_it_is_left() {
        let place = || join([&[0; MAX_SHARED_BYTES]]).as_ptr();
        let first = place();
        assert!((0..2 * CHUNK_BYTES / MAX_SHARED_BYTES).any(|_| place() == first));
    }

    #[test]
    fn one_is_made_while_another_is_written() {
        let mut inner = Bytes::new();
        let outer = bytes(2, |buffer| {
            buffer.extend_from_slice(b"a");
            inner = join([b"x", b"y"]);
            buffer.extend_from_slice(b"b");
        });
        assert_eq!((outer.as_ref(), inner.as_ref()), (b"ab".as_slice(), b"xy".as_slice()));
    }
}

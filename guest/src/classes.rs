//! Sizes of blocks, as the component's allocator keeps them, and as its host takes and gives them. Where they change, the export that tells of
//! the blocks has another number (`free_blocks` in `allocator.rs`): a host works on other builds, too.

/// Sizes of small blocks are multiples of this.
pub const STEP: usize = 16;
/// The largest of them.
pub const SMALL: usize = 512;
/// From there on each power of two has so many sizes.
pub const SIZES: usize = 4;
/// Larger blocks, and those of a larger alignment, are the target's allocator's.
pub const LARGEST: usize = 16 << 10;
pub const ALIGN: usize = 8;
pub const LISTS: usize = SMALL / STEP + (LARGEST / SMALL).ilog2() as usize * SIZES;
/// Bytes that one size keeps at most, so that all of them keep no more than 4 MiB.
pub const KEPT_BYTES: usize = 64 << 10;

/// Which list the blocks for so many bytes are in, and their size; a list that is not there for none and for too many.
#[inline]
pub const fn class(bytes: usize) -> (usize, usize) {
    let last = bytes.wrapping_sub(1);
    if last < SMALL {
        let number = last / STEP;
        return (number, (number + 1) * STEP);
    }
    if last >= LARGEST {
        return (usize::MAX, 0);
    }
    let power = last.ilog2() - SMALL.ilog2();
    let step = (SMALL / SIZES) << power;
    let part = last / step;
    (SMALL / STEP + power as usize * SIZES + part - SIZES, (part + 1) * step)
}

const _: () = {
    // Every size has room for what it is for, and is that of one list.
    let (mut bytes, mut before) = (1, (0, STEP));
    while bytes <= LARGEST {
        let (number, size) = class(bytes);
        assert!(size >= bytes && number < LISTS);
        assert!(if number == before.0 { size == before.1 } else { number == before.0 + 1 && before.1 == bytes - 1 });
        before = (number, size);
        bytes += 1;
    }
    assert!(before.0 == LISTS - 1 && class(0).0 >= LISTS && class(LARGEST + 1).0 >= LISTS);
};

//! The component's free blocks, taken and given back by the host itself.
//!
//! What crosses lies in blocks of the component's allocator, and a call of it for each of them was a twentieth of a lone GET
//! (docs/boundary.md). The component keeps free blocks in lists, one for each size, and tells where (`guest/src/allocator.rs`). While it waits
//! for the host nobody else is at them. A component without this export allocates by `cabi_realloc` alone, and so do all where there is
//! no block, or where the lists cannot be read.

use super::canonical::size;

/// What the component and its host have in common.
#[path = "../../../guest/src/classes.rs"]
mod classes;

use classes::{ALIGN, KEPT_BYTES, LISTS, class};

/// Where the lists are.
#[derive(Clone, Copy, Debug)]
pub struct Shelves(u32);

/// A list: the address of its first block, which begins with that of the next, and how many bytes it keeps.
type List = [u32; 2];

const LIST_BYTES: usize = 8;

impl Shelves {
    /// The function of the core module that tells where they are; with the number of what [`classes`] says.
    pub const EXPORT: &str = "orbweaver:host/free-blocks@1";

    /// Those at an address.
    pub const fn at(address: u32) -> Self {
        Self(address)
    }

    /// Where the list of the blocks for so many bytes is, and their size; there is none for none, and none for very many.
    #[inline]
    fn of(self, bytes: usize) -> Option<(usize, u32)> {
        let (number, block_bytes) = class(bytes);
        (number < LISTS).then(|| Some((size(self.0) + number * LIST_BYTES, u32::try_from(block_bytes).ok()?)))?
    }

    /// A block for so many bytes, if there is one.
    #[inline]
    pub fn take(self, memory: &mut [u8], bytes: usize, align: usize) -> Option<usize> {
        let (list, block_bytes) = self.of(bytes).filter(|_| align <= ALIGN)?;
        let [first, kept] = read(memory, list)?;
        let block = Some(size(first)).filter(|&block| block > 0 && block.is_multiple_of(ALIGN))?;
        let [next, _] = read(memory, block)?;
        write(memory, list, [next, kept.wrapping_sub(block_bytes)])?;
        Some(block)
    }

    /// Gives two blocks back that were made for so many bytes: both, or neither where one is very large or enough are kept.
    #[inline]
    pub fn keep(self, memory: &mut [u8], blocks: [(u32, usize); 2]) -> bool {
        let [Some(one), Some(other)] = blocks.map(|(_, bytes)| self.of(bytes)) else { return false };
        // Both, for they may be of one size.
        let most = KEPT_BYTES.saturating_sub(size(one.1 + other.1));
        let has_room = |(list, _)| read(memory, list).is_some_and(|[_, kept]| size(kept) <= most);
        let is_there = |(block, _): &(u32, usize)| read(memory, size(*block)).is_some();
        if !has_room(one) || !has_room(other) || !blocks.iter().all(is_there) {
            return false;
        }
        for ((list, block_bytes), (block, _)) in [one, other].into_iter().zip(blocks) {
            let Some([first, kept]) = read(memory, list) else { continue };
            write(memory, size(block), [first, 0]);
            write(memory, list, [block, kept + block_bytes]);
        }
        true
    }
}

/// Two words of the memory, if they are there.
#[inline]
fn read(memory: &[u8], at: usize) -> Option<List> {
    let (words, _) = memory.get(at..)?.first_chunk::<8>()?.as_chunks();
    let [one, other] = words else { return None };
    Some([u32::from_le_bytes(*one), u32::from_le_bytes(*other)])
}

#[inline]
fn write(memory: &mut [u8], at: usize, [one, other]: List) -> Option<()> {
    let words: &mut [u8; 8] = memory.get_mut(at..)?.first_chunk_mut()?;
    *words = (u64::from(one) | (u64::from(other) << 32)).to_le_bytes();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHELVES: Shelves = Shelves::at(16);

    fn list(bytes: usize) -> usize {
        SHELVES.of(bytes).map(|(list, _)| list).unwrap_or_default()
    }

    #[test]
    fn blocks_that_are_given_back_are_taken_again_the_last_one_first() {
        let mut memory = vec![0; 64 << 10];
        assert_eq!(SHELVES.take(&mut memory, 16, 1), None);
        assert!(SHELVES.keep(&mut memory, [(1024, 16), (1040, 1)]) && SHELVES.keep(&mut memory, [(2048, 513), (1056, 10)]));
        // The smallest size is the first list; between 512 and 1024 bytes there are four.
        assert_eq!(
            (list(16), list(513), read(&memory, 16), read(&memory, 16 + 32 * 8)),
            (16, 16 + 32 * 8, Some([1056, 48]), Some([2048, 640]))
        );
        assert_eq!([9, 16, 1, 2].map(|bytes| SHELVES.take(&mut memory, bytes, 8)), [Some(1056), Some(1040), Some(1024), None]);
        assert_eq!([640, 640].map(|bytes| SHELVES.take(&mut memory, bytes, 1)), [Some(2048), None]);
        assert_eq!((read(&memory, list(16)), read(&memory, list(640))), (Some([0, 0]), Some([0, 0])));
    }

    #[test]
    fn what_the_lists_are_not_for_is_left_to_the_component() {
        let mut memory = vec![0; 64 << 10];
        assert!(SHELVES.keep(&mut memory, [(1024, 16), (1040, 16)]));
        let before = memory.clone();
        // Nothing, too much, what lies at multiples of 16; and both blocks or neither: one empty, one too large, two outside.
        let asked = [(0, 1), ((16 << 10) + 1, 1), (usize::MAX, 1), (16, 16)];
        assert_eq!(asked.map(|(bytes, align)| SHELVES.take(&mut memory, bytes, align)), [None; 4]);
        let blocks =
            [[(96, 16), (112, 0)], [(1056, 16), (2048, usize::MAX)], [(1056, 16), ((64 << 10) - 4, 16)], [(u32::MAX, 1), (1056, 1)]];
        assert_eq!(blocks.map(|blocks| SHELVES.keep(&mut memory, blocks)), [false; 4]);
        // Together they are more than one list keeps.
        write(&mut memory, list(16), [1040, 65_536 - 16]);
        assert!(!SHELVES.keep(&mut memory, [(1056, 16), (1072, 16)]));
        write(&mut memory, list(16), [1040, 32]);
        assert_eq!(memory, before);
    }

    #[test]
    fn lists_that_cannot_be_are_not_believed() {
        let mut memory = vec![0; 4096];
        for (first, why) in [(1025, "no block lies there"), (8192, "outside"), (4096, "behind the end"), (u32::MAX - 7, "far outside")] {
            write(&mut memory, list(16), [first, 16]);
            assert_eq!(SHELVES.take(&mut memory, 16, 1), None, "{why}");
        }
        let outside = Shelves::at(u32::MAX);
        assert_eq!((outside.take(&mut memory, 16, 1), outside.keep(&mut memory, [(1024, 16), (1040, 16)])), (None, false));
    }
}

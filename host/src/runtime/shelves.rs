//! The component's free blocks of small sizes, taken and given back by the host itself.
//!
//! What crosses lies in blocks of the component's allocator, and a call of it for each of them was a tenth of a lone GET
//! (docs/boundary.md). The component keeps free blocks in lists, one for each size (`guest/src/allocator.rs`), and tells where. While it waits
//! for the host nobody else is at them. A component without this export allocates by `cabi_realloc` alone, and so do all where there is
//! no block, or where the lists cannot be read.

use super::canonical::{Lift as _, size};
use wasmtime::{Result, bail};

/// Where the lists are.
#[derive(Clone, Copy, Debug)]
pub struct Shelves {
    /// Sizes of blocks are multiples of two to the power of this.
    step: u32,
    /// How many sizes there are.
    count: u32,
    /// Bytes that one list keeps at most.
    kept_bytes: u32,
    /// The list of the smallest size; the others follow in their order.
    lists: u32,
}

/// A list: the address of its first block, which begins with that of the next, and how many bytes it keeps.
type List = [u32; 2];

const LIST_BYTES: u32 = 8;

/// Blocks lie at multiples of this, and are no smaller.
const ALIGN: usize = 8;

impl Shelves {
    /// The function of the core module that tells where they are.
    pub const EXPORT: &str = "orbweaver:host/shelves";

    /// Those that the component tells of at an address.
    pub fn read(memory: &[u8], at: usize) -> Result<Self> {
        let (step, count) = <(u32, u32)>::lift(memory, at)?;
        let (kept_bytes, lists) = <(u32, u32)>::lift(memory, at.saturating_add(8))?;
        let end = count.checked_mul(LIST_BYTES).and_then(|bytes| bytes.checked_add(lists));
        if size(step) < ALIGN || !step.is_power_of_two() || end.is_none() || kept_bytes > u32::MAX / 4 {
            bail!("the component tells of {count} lists of free blocks at {lists}, of multiples of {step} bytes, which cannot be");
        }
        Ok(Self { step: step.ilog2(), count, kept_bytes, lists })
    }

    /// Where the list of the blocks for so many bytes is, and their size; for none there is none.
    #[inline]
    fn of(self, bytes: usize) -> Option<(usize, u32)> {
        let number = u32::try_from(bytes.wrapping_sub(1) >> self.step).ok().filter(|&number| number < self.count)?;
        Some((size(self.lists + number * LIST_BYTES), (number + 1) << self.step))
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

    /// Gives two blocks back that were made for so many bytes: both, or neither where one is of another size or enough are kept.
    #[inline]
    pub fn keep(self, memory: &mut [u8], blocks: [(u32, usize); 2]) -> bool {
        let [Some(one), Some(other)] = blocks.map(|(_, bytes)| self.of(bytes)) else { return false };
        // Both, for they may be of one size.
        let most = self.kept_bytes.saturating_sub(one.1 + other.1);
        let has_room = |(list, _)| read(memory, list).is_some_and(|[_, kept]| kept <= most);
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

    /// A memory whose shelves, at 16, are of blocks of 16 and of 32 bytes, each list with so many bytes at most, at 32 and 40.
    fn memory(kept_bytes: u32) -> Vec<u8> {
        let mut memory = vec![0; 256];
        for (place, word) in memory[16..32].chunks_exact_mut(4).zip([16, 2, kept_bytes, 32]) {
            place.copy_from_slice(&u32::to_le_bytes(word));
        }
        memory
    }

    #[test]
    fn blocks_that_are_given_back_are_taken_again_the_last_one_first() -> Result<()> {
        let mut memory = memory(128);
        let shelves = Shelves::read(&memory, 16)?;
        assert_eq!(shelves.take(&mut memory, 16, 1), None);
        assert!(shelves.keep(&mut memory, [(64, 16), (80, 1)]) && shelves.keep(&mut memory, [(96, 17), (128, 10)]));
        assert_eq!((read(&memory, 32), read(&memory, 40)), (Some([128, 48]), Some([96, 32])));
        assert_eq!([9, 16, 1, 2].map(|bytes| shelves.take(&mut memory, bytes, 8)), [Some(128), Some(80), Some(64), None]);
        assert_eq!([32, 32].map(|bytes| shelves.take(&mut memory, bytes, 1)), [Some(96), None]);
        assert_eq!((read(&memory, 32), read(&memory, 40)), (Some([0, 0]), Some([0, 0])));
        Ok(())
    }

    #[test]
    fn what_the_lists_are_not_for_is_left_to_the_component() -> Result<()> {
        let mut memory = memory(64);
        let shelves = Shelves::read(&memory, 16)?;
        assert!(shelves.keep(&mut memory, [(64, 16), (80, 16)]));
        let before = memory.clone();
        // Nothing, too much, what lies at multiples of 16; and both blocks or neither: one too large, more than is kept.
        assert_eq!([(0, 1), (33, 1), (usize::MAX, 1), (16, 16)].map(|(bytes, align)| shelves.take(&mut memory, bytes, align)), [None; 4]);
        let blocks = [[(96, 16), (112, 33)], [(112, 0), (96, 16)], [(96, 16), (128, 32)], [(96, 16), (250, 16)], [(u32::MAX, 1), (96, 1)]];
        assert_eq!(blocks.map(|blocks| shelves.keep(&mut memory, blocks)), [false, false, false, false, false]);
        assert_eq!(memory, before);
        Ok(())
    }

    #[test]
    fn lists_that_cannot_be_are_not_believed() -> Result<()> {
        let mut memory = memory(64);
        let shelves = Shelves::read(&memory, 16)?;
        for (first, why) in [(73, "no block lies there"), (4096, "outside"), (256, "behind the end"), (u32::MAX - 7, "far outside")] {
            write(&mut memory, 32, [first, 16]);
            assert_eq!(shelves.take(&mut memory, 16, 1), None, "{why}");
        }
        assert!(Shelves::read(&memory, 250).is_err());
        for (step, count, lists) in [(0, 2, 32), (12, 2, 32), (4, 2, 32), (16, u32::MAX, 32), (16, 2, u32::MAX)] {
            write(&mut memory, 16, [step, count]);
            write(&mut memory, 24, [64, lists]);
            assert!(Shelves::read(&memory, 16).is_err(), "{step} {count} {lists}");
        }
        Ok(())
    }
}

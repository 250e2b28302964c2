//! Small blocks that were freed, kept for the next ones of their size. The allocator that comes with the target merges what is freed
//! with its neighbours, and looks for room anew each time: a seventh of the component's time in small commands (docs/boundary.md).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// Sizes are multiples of this.
const STEP: usize = 16;
/// Larger blocks, and those of a larger alignment, are the target's allocator's.
const LARGEST: usize = 512;
const ALIGN: usize = 8;
/// Bytes that one size keeps at most, so that all of them keep no more than 2 MiB.
const KEPT_BYTES: usize = 64 << 10;

/// The free blocks of one size; each one begins with the address of the next.
struct Free {
    first: Cell<*mut u8>,
    bytes: Cell<usize>,
}

struct Allocator([Free; LARGEST / STEP]);

// SAFETY: there are no threads in a component.
unsafe impl Sync for Allocator {}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator([const { Free { first: Cell::new(ptr::null_mut()), bytes: Cell::new(0) } }; LARGEST / STEP]);

impl Allocator {
    /// The free blocks of a layout's size, and the layout that all of them have. Not for large blocks, nor for empty ones.
    #[inline]
    fn of(&self, layout: Layout) -> Option<(&Free, Layout)> {
        let number = layout.size().wrapping_sub(1) / STEP;
        let free = self.0.get(number).filter(|_| layout.align() <= ALIGN)?;
        Some((free, Layout::from_size_align((number + 1) * STEP, ALIGN).ok()?))
    }
}

/// The target's allocator, apart from what calls it: within it, it would take registers from the ways that do not need it.
///
/// # Safety
/// As [`GlobalAlloc::alloc`].
#[inline(never)]
unsafe fn target_alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the same contract.
    unsafe { System.alloc(layout) }
}

/// As [`target_alloc`].
///
/// # Safety
/// As [`GlobalAlloc::dealloc`].
#[inline(never)]
unsafe fn target_dealloc(block: *mut u8, layout: Layout) {
    // SAFETY: the same contract.
    unsafe { System.dealloc(block, layout) }
}

// SAFETY: a block is either in use or in the list of its size, and of that size's layout wherever it came from.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract; a block in a list has the address of the next one, or null, at its head.
        unsafe {
            let Some((free, layout)) = self.of(layout) else { return target_alloc(layout) };
            let first = free.first.get();
            if first.is_null() {
                return target_alloc(layout);
            }
            free.first.set(first.cast::<*mut u8>().read());
            free.bytes.set(free.bytes.get() - layout.size());
            first
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract; the block is of its size's layout, which has room for an address.
        unsafe {
            let Some((free, layout)) = self.of(layout) else { return target_dealloc(block, layout) };
            let bytes = free.bytes.get() + layout.size();
            if bytes > KEPT_BYTES {
                return target_dealloc(block, layout);
            }
            block.cast::<*mut u8>().write(free.first.get());
            free.first.set(block);
            free.bytes.set(bytes);
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's contract: the new size is one that a layout of this alignment may have.
        unsafe {
            let new = Layout::from_size_align_unchecked(size, layout.align());
            match (self.of(layout), self.of(new)) {
                (None, None) => return System.realloc(block, layout, size),
                (Some((from, _)), Some((to, _))) if ptr::eq(from, to) => return block,
                _ => {}
            }
            let moved = self.alloc(new);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

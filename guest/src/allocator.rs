//! Blocks that were freed, kept for the next ones of their size: small ones, and such as a page of records takes. The allocator that
//! comes with the target merges what is freed with its neighbours, and looks for room anew each time: a seventh of the component's time
//! in small commands (docs/boundary.md).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// Sizes of small blocks are multiples of this.
const STEP: usize = 16;
/// The largest of them.
const SMALL: usize = 512;
/// From there on each power of two has so many sizes.
const SIZES: usize = 4;
/// Larger blocks, and those of a larger alignment, are the target's allocator's.
const LARGEST: usize = 16 << 10;
const ALIGN: usize = 8;
const LISTS: usize = SMALL / STEP + (LARGEST / SMALL).ilog2() as usize * SIZES;
/// Bytes that one size keeps at most, so that all of them keep no more than 4 MiB.
const KEPT_BYTES: usize = 64 << 10;

/// The free blocks of one size; each one begins with the address of the next.
#[repr(C)]
struct Free {
    first: Cell<*mut u8>,
    bytes: Cell<usize>,
}

struct Allocator([Free; LISTS]);

// SAFETY: there are no threads in a component.
unsafe impl Sync for Allocator {}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator([const { Free { first: Cell::new(ptr::null_mut()), bytes: Cell::new(0) } }; LISTS]);

/// Which list the blocks for so many bytes are in, and their size; a list that is not there for none and for too many.
#[inline]
const fn class(bytes: usize) -> (usize, usize) {
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

/// Where the host finds the free blocks of small sizes, so that it can take one, and keep one, without a call: of this component it
/// calls the core module (docs/boundary.md). Words of 32 bits; the lists stand in the order of their sizes, from the smallest on.
#[repr(C)]
struct Shelves {
    /// The sizes of the lists are multiples of this.
    step: usize,
    /// How many lists there are.
    count: usize,
    /// Bytes that one of them keeps at most.
    kept_bytes: usize,
    /// The lists: two words each, the address of the first block and how many bytes are kept.
    lists: *const Free,
}

// SAFETY: there are no threads in a component.
unsafe impl Sync for Shelves {}

static SHELVES: Shelves = Shelves { step: STEP, count: SMALL / STEP, kept_bytes: KEPT_BYTES, lists: ALLOCATOR.0.as_ptr() };

/// The address of what the host has to know of the free blocks.
#[unsafe(export_name = "orbweaver:host/shelves")]
extern "C" fn shelves() -> *const Shelves {
    &raw const SHELVES
}

impl Free {
    /// One of the blocks, which are of that size.
    ///
    /// # Safety
    /// They are.
    #[inline]
    unsafe fn take(&self, size: usize) -> Option<*mut u8> {
        let first = self.first.get();
        if first.is_null() {
            return None;
        }
        // SAFETY: a block in a list has the address of the next one, or null, at its head.
        self.first.set(unsafe { first.cast::<*mut u8>().read() });
        self.bytes.set(self.bytes.get() - size);
        Some(first)
    }

    /// Keeps a block of that size, unless enough are kept.
    ///
    /// # Safety
    /// Nobody uses the block, which has room for an address.
    #[inline]
    unsafe fn keep(&self, block: *mut u8, size: usize) -> bool {
        let bytes = self.bytes.get() + size;
        if bytes > KEPT_BYTES {
            return false;
        }
        // SAFETY: the caller's contract.
        unsafe { block.cast::<*mut u8>().write(self.first.get()) };
        self.first.set(block);
        self.bytes.set(bytes);
        true
    }
}

impl Allocator {
    /// The free blocks for a small layout, and their size.
    #[inline]
    fn small(&self, layout: Layout) -> Option<(&Free, usize)> {
        if layout.size().wrapping_sub(1) < SMALL { self.of(layout) } else { None }
    }

    /// The free blocks for a layout, and their size. Not for large blocks, nor for empty ones.
    #[inline]
    fn of(&self, layout: Layout) -> Option<(&Free, usize)> {
        let (number, size) = class(layout.size());
        let free = self.0.get(number).filter(|_| layout.align() <= ALIGN)?;
        Some((free, size))
    }

    /// As `alloc`, of any layout. Apart from what calls it: within it, it would take registers from what most calls do.
    ///
    /// # Safety
    /// As [`GlobalAlloc::alloc`].
    #[inline(never)]
    unsafe fn alloc_apart(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract; the blocks of a list are of its size.
        unsafe {
            let Some((free, size)) = self.of(layout) else { return System.alloc(layout) };
            free.take(size).unwrap_or_else(|| System.alloc(Layout::from_size_align_unchecked(size, ALIGN)))
        }
    }

    /// As `dealloc`, of any layout; see [`Allocator::alloc_apart`].
    ///
    /// # Safety
    /// As [`GlobalAlloc::dealloc`].
    #[inline(never)]
    unsafe fn dealloc_apart(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract; a block for a layout of a list is of that list's size.
        unsafe {
            let Some((free, size)) = self.of(layout) else { return System.dealloc(block, layout) };
            if !free.keep(block, size) {
                System.dealloc(block, Layout::from_size_align_unchecked(size, ALIGN));
            }
        }
    }
}

// SAFETY: a block is either in use or in the list of its size, and of that size's layout wherever it came from.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract; the blocks of a list are of its size.
        unsafe {
            let kept = self.small(layout).and_then(|(free, size)| free.take(size));
            kept.unwrap_or_else(|| self.alloc_apart(layout))
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract; a block for a layout of a list is of that list's size.
        unsafe {
            if !self.small(layout).is_some_and(|(free, size)| free.keep(block, size)) {
                self.dealloc_apart(block, layout);
            }
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

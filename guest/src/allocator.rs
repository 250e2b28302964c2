//! Blocks that were freed, kept for the next ones of their size: small ones, and such as a page of records takes. The allocator that
//! comes with the target merges what is freed with its neighbours, and looks for room anew each time: a seventh of the component's time
//! in small commands (docs/boundary.md).

use crate::classes::{ALIGN, KEPT_BYTES, LISTS, SMALL, class};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

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

/// Where the lists are, in the order of their sizes: two words each, the address of the first block and how many bytes are kept. The host, which
/// calls the core module of this component, takes blocks and gives them back without a call (docs/boundary.md).
#[unsafe(export_name = "orbweaver:host/free-blocks@1")]
extern "C" fn free_blocks() -> *const Free {
    ALLOCATOR.0.as_ptr()
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

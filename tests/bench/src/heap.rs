//! Counts allocated bytes, to measure the size of a structure.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// The system allocator with a counter.
pub(crate) struct Counting;

#[expect(unsafe_code, reason = "an allocator can be wrapped in no other way; every call is passed on as it came")]
// SAFETY: each method only counts and forwards its arguments unchanged, so the system allocator's guarantees hold.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's obligations are forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's obligations are forwarded.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Returns the number of currently allocated bytes.
pub(crate) fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

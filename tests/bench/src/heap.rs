//! Counts the bytes that are allocated, to tell what a structure weighs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with a counter beside it.
pub(crate) struct Counting;

#[expect(unsafe_code, reason = "an allocator can be wrapped in no other way; every call is passed on as it came")]
// SAFETY: each method only counts and hands its arguments on unchanged, so the system's promises hold.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Returns how many bytes are allocated now.
pub(crate) fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

//! Input texts, which JavaScript encodes straight into this module's memory.
//!
//! The generated glue copies a string character by character, which takes longer than a diff of it. So JavaScript asks
//! for room in a slot, lets the host's own encoder fill it, and passes the number of bytes written. `docs/protocols.md`
//! describes the steps.

use std::cell::RefCell;

use wasm_bindgen::prelude::*;

use crate::failure::Failure;

/// Number of slots: no call takes more texts.
const SLOTS: usize = 3;

thread_local! {
    static ROOM: RefCell<[Vec<u8>; SLOTS]> = const { RefCell::new([const { Vec::new() }; SLOTS]) };
}

/// Makes room for `bytes` bytes in a slot and returns its address in [`room_memory`]. Bytes already there are kept.
#[wasm_bindgen(js_name = roomFor)]
pub fn room_for(slot: u32, bytes: u32) -> u32 {
    ROOM.with_borrow_mut(|room| {
        let Some(room) = room.get_mut(slot as usize) else { return 0 };
        if room.is_empty() {
            // The allocator clears memory at once; growing a vector clears it byte by byte.
            *room = vec![0; bytes as usize];
        }
        room.resize(bytes as usize, 0);
        room.as_ptr() as u32
    })
}

/// Returns the memory that holds the slots. A panic replaces it.
#[wasm_bindgen(js_name = roomMemory)]
#[must_use]
pub fn room_memory() -> JsValue {
    wasm_bindgen::memory()
}

/// Takes the text out of a slot: its first `bytes` bytes.
///
/// # Errors
///
/// An `internal` failure if the bytes are not UTF-8.
pub(super) fn take(slot: usize, bytes: u32) -> Result<String, JsValue> {
    let mut text = ROOM.with_borrow_mut(|room| room.get_mut(slot).map(std::mem::take)).unwrap_or_default();
    text.truncate(bytes as usize);
    String::from_utf8(text).map_err(|_| Failure::internal("an input text is not UTF-8").into_js())
}

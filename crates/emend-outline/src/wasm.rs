//! The exports of a module that has the grammar of one language. `pkg/src/outline/module.ts` calls them.
//!
//! The host writes a text to [`text_start`] and calls [`outline_text`], which returns the length of the reply at
//! [`reply_start`]. The reply is text: `ok` or `more`, then a line for each symbol with
//! its depth, first line, last line, kind and name, separated by tabs. Names have neither tabs nor line ends. Without an outline it
//! is the code of an error and its message.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::time::Duration;

use crate::{Language, Limits, Outline, OutlineError, outline};

thread_local! {
    /// The text and the reply. The module has one thread.
    static BUFFERS: RefCell<(Vec<u8>, String)> = const { RefCell::new((Vec::new(), String::new())) };
}

/// Returns the address of a place for a text of `n_bytes`.
#[expect(unsafe_code, reason = "an export needs its own name")]
#[unsafe(no_mangle)]
extern "C" fn text_start(n_bytes: usize) -> *const u8 {
    BUFFERS.with_borrow_mut(|(text, _)| {
        *text = vec![0; n_bytes];
        text.as_ptr()
    })
}

/// Makes the outline of the text, and returns the length of the reply.
#[expect(unsafe_code, reason = "an export needs its own name")]
#[unsafe(no_mangle)]
extern "C" fn outline_text(bytes_max: usize, ms_max: u32, symbols_max: usize) -> usize {
    let limits = Limits { bytes_max, time_max: Duration::from_millis(ms_max.into()), symbols_max };
    BUFFERS.with_borrow_mut(|(text, reply)| {
        let text = String::from_utf8_lossy(text).into_owned();
        *reply = written(language().map_or(Err(OutlineError::NoMemory), |language| outline(language, &text, &limits)));
        reply.len()
    })
}

/// Returns the address of the reply.
#[expect(unsafe_code, reason = "an export needs its own name")]
#[unsafe(no_mangle)]
extern "C" fn reply_start() -> *const u8 {
    BUFFERS.with_borrow(|(_, reply)| reply.as_ptr())
}

/// Returns the language of this module.
fn language() -> Option<Language> {
    Language::ALL.into_iter().find(|language| language.grammar().is_some())
}

fn written(found: Result<Outline, OutlineError>) -> String {
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            return if matches!(error, OutlineError::TooSlow { .. }) { "timeout" } else { "unsupported" }.to_owned()
                + "\n"
                + &error.to_string();
        }
    };
    let mut reply = String::from(if found.truncated { "more" } else { "ok" });
    for symbol in &found.symbols {
        let (depth, first, last) = (symbol.depth, symbol.first_line, symbol.last_line);
        // Writing to a string does not fail.
        let _ = write!(reply, "\n{depth}\t{first}\t{last}\t{}\t{}", symbol.kind.as_str(), symbol.name);
    }
    reply
}

//! The text that a tool prints while it runs, for the readers of events.

use std::sync::atomic::{AtomicUsize, Ordering};

use emend_llm::{MaybeSend, MaybeSync};

/// The most bytes of one call that are shown while it runs. The event at the end of the call has the whole output.
const SHOWN_BYTES_MAX: usize = 1 << 20;

/// Receives text while a call runs. The default discards it.
#[derive(Default)]
pub struct Progress {
    watcher: Option<Box<dyn Watch>>,
    n_shown: AtomicUsize,
}

trait Watch: MaybeSend + MaybeSync {
    fn show(&self, text: &str);
}

impl<F: Fn(&str) + MaybeSend + MaybeSync> Watch for F {
    fn show(&self, text: &str) {
        self(text);
    }
}

impl Progress {
    /// Returns a progress that passes text to `watcher`.
    pub fn new(watcher: impl Fn(&str) + MaybeSend + MaybeSync + 'static) -> Self {
        Self { watcher: Some(Box::new(watcher)), n_shown: AtomicUsize::new(0) }
    }

    /// Passes on `text`, up to one mebibyte per call: a reader cannot follow more.
    pub fn show(&self, text: &str) {
        let Some(watcher) = self.watcher.as_ref().filter(|_| !text.is_empty()) else { return };
        if self.n_shown.fetch_add(text.len(), Ordering::Relaxed).saturating_add(text.len()) <= SHOWN_BYTES_MAX {
            watcher.show(text);
        }
    }
}

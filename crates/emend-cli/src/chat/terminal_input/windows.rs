//! Reads keys from a Windows console.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};

use super::TerminalInput;
use crate::chat::line_edit::Key;

/// How long the thread waits for a key before it checks whether to end.
const POLL_TIMEOUT: Duration = Duration::from_millis(50);

/// Reads keys until it is dropped, which restores the mode of the console.
pub(in crate::chat) struct KeyReader {
    keys: UnboundedReceiver<Key>,
    ends: Arc<AtomicBool>,
    is_raw: bool,
    thread: Option<JoinHandle<()>>,
}

impl KeyReader {
    /// Starts reading: single keys without echo, or in the mode that the console is in.
    pub(in crate::chat) fn open(single_keys: bool) -> Self {
        let (sender, keys) = unbounded();
        let ends = Arc::new(AtomicBool::new(false));
        let is_raw = single_keys && enable_raw_mode().is_ok();
        let thread_ends = Arc::clone(&ends);
        let thread = thread::spawn(move || read_keys(&thread_ends, &sender));
        Self { keys, ends, is_raw, thread: Some(thread) }
    }

    /// Waits for the next input.
    pub(in crate::chat) async fn next(&mut self) -> TerminalInput {
        match self.keys.next().await {
            Some(key) => TerminalInput::Keys(vec![key]),
            None => std::future::pending().await,
        }
    }

    /// Stops reading, and returns keys that were read and not yet returned.
    pub(in crate::chat) fn stop(&mut self) -> Vec<Key> {
        self.end_thread();
        self.keys.close();
        self.waiting()
    }

    /// Returns keys that were read and not yet returned.
    pub(in crate::chat) fn waiting(&mut self) -> Vec<Key> {
        let mut keys = Vec::new();
        while let Ok(key) = self.keys.try_recv() {
            keys.push(key);
        }
        keys
    }

    fn end_thread(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed already.
            let _ = thread.join();
        }
    }
}

impl Drop for KeyReader {
    fn drop(&mut self) {
        self.end_thread();
        if self.is_raw {
            // A console that was closed has no mode to restore.
            let _ = disable_raw_mode();
        }
    }
}

/// Sends keys until `ends` is set or the console fails.
fn read_keys(ends: &AtomicBool, sender: &UnboundedSender<Key>) {
    while !ends.load(Ordering::Relaxed) {
        let key = match poll(POLL_TIMEOUT).and_then(|is_ready| is_ready.then(read).transpose()) {
            Ok(Some(Event::Key(event))) => key(event),
            Ok(_) => None,
            Err(_) => return,
        };
        if key.is_some_and(|key| sender.unbounded_send(key).is_err()) {
            return;
        }
    }
}

/// Returns the key of an event, `None` for keys without a meaning and for releases.
fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    // AltGr, which types characters, is reported as Ctrl and Alt.
    let is_control = event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT) == KeyModifiers::CONTROL;
    Some(match event.code {
        KeyCode::Char('c') if is_control => Key::Interrupt,
        KeyCode::Char('d') if is_control => Key::EndOfInput,
        KeyCode::Char('u') if is_control => Key::DeleteLine,
        KeyCode::Char('w') if is_control => Key::DeleteWord,
        KeyCode::Char(char) if !is_control => Key::Char(char),
        KeyCode::Tab => Key::Char('\t'),
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}

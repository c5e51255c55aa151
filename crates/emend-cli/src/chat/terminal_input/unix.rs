//! Reads keys from a Unix terminal, which passes them on one by one and does not echo them.

use std::io::{PipeReader, PipeWriter, Write as _, pipe};
use std::os::fd::AsFd as _;
use std::thread::{self, JoinHandle};

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpgrp};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::signal::unix;

use super::TerminalInput;
use super::key_parser::{END_OF_INPUT, KeyParser};
use crate::chat::line_edit::Key;

/// Reads keys until it is dropped, which restores the mode of the terminal.
pub(in crate::chat) struct KeyReader {
    bytes: UnboundedReceiver<Vec<u8>>,
    parser: KeyParser,
    mode_before: Option<Termios>,
    mode_while_reading: Option<Termios>,
    /// Receives SIGCONT.
    resumed: Option<unix::Signal>,
    /// Wakes the thread, which then ends.
    wake: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl KeyReader {
    /// Starts reading: single keys without echo, or lines that the terminal echoes.
    ///
    /// If the terminal cannot be set up the reader returns no keys.
    pub(in crate::chat) fn open(single_keys: bool) -> Self {
        let (sender, bytes) = unbounded();
        let stdin = rustix::stdio::stdin();
        let mut reader = Self {
            bytes,
            parser: KeyParser::default(),
            mode_before: None,
            mode_while_reading: None,
            resumed: unix::signal(unix::SignalKind::from_raw(Signal::CONT.as_raw())).ok(),
            wake: None,
            thread: None,
        };
        let Ok(mode_before) = tcgetattr(stdin) else { return reader };
        reader.mode_before = Some(mode_before.clone());
        let mut mode = mode_before;
        // ISIG stays on, so that Ctrl-C and Ctrl-Z are signals.
        if single_keys {
            mode.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO);
        }
        mode.special_codes[SpecialCodeIndex::VMIN] = 1;
        mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        let (Ok((listener, wake)), Ok(())) = (pipe(), tcsetattr(stdin, OptionalActions::Now, &mode)) else {
            return reader;
        };
        (reader.mode_while_reading, reader.wake) = (Some(mode), Some(wake));
        reader.thread = Some(thread::spawn(move || read(&listener, &sender)));
        reader
    }

    /// Returns a reader of these bytes in place of a terminal.
    #[cfg(test)]
    pub(in crate::chat) fn of(bytes: UnboundedReceiver<Vec<u8>>) -> Self {
        let parser = KeyParser::default();
        Self { bytes, parser, mode_before: None, mode_while_reading: None, resumed: None, wake: None, thread: None }
    }

    /// Waits for the next input.
    pub(in crate::chat) async fn next(&mut self) -> TerminalInput {
        let resumed = async {
            match &mut self.resumed {
                Some(resumed) => resumed.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(bytes) = self.bytes.next() => TerminalInput::Keys(self.parser.parse(&bytes)),
            Some(()) = resumed => {
                self.set_mode_again();
                TerminalInput::Resumed
            }
            else => std::future::pending().await,
        }
    }

    /// Sets the mode for reading again: the shell changed it while the program was stopped.
    fn set_mode_again(&self) {
        let stdin = rustix::stdio::stdin();
        // A background process that sets the mode would be stopped again.
        if let Some(mode) = &self.mode_while_reading
            && tcgetpgrp(stdin) == Ok(getpgrp())
        {
            // If this fails the terminal passes on whole lines.
            let _ = tcsetattr(stdin, OptionalActions::Now, mode);
        }
    }

    /// Stops reading, and returns keys that were read and not yet returned.
    pub(in crate::chat) fn stop(&mut self) -> Vec<Key> {
        self.end_thread();
        self.bytes.close();
        self.waiting()
    }

    /// Returns keys that were read and not yet returned.
    pub(in crate::chat) fn waiting(&mut self) -> Vec<Key> {
        let mut keys = Vec::new();
        while let Ok(bytes) = self.bytes.try_recv() {
            keys.extend(self.parser.parse(&bytes));
        }
        keys
    }

    fn end_thread(&mut self) {
        if let Some(mut wake) = self.wake.take() {
            // A full pipe wakes the thread as well.
            let _ = wake.write(b"x");
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed already.
            let _ = thread.join();
        }
    }
}

impl Drop for KeyReader {
    fn drop(&mut self) {
        self.end_thread();
        if let Some(mode) = &self.mode_before {
            // A terminal that was closed has no mode to restore.
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, mode);
        }
    }
}

/// Sends what is read from standard input, until `listener` becomes readable.
fn read(listener: &PipeReader, sender: &UnboundedSender<Vec<u8>>) {
    let stdin = rustix::stdio::stdin();
    let mut buffer = [0; 1024];
    loop {
        let mut ready =
            [PollFd::from_borrowed_fd(stdin, PollFlags::IN), PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
        match poll(&mut ready, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) if !ready[1].revents().is_empty() => return,
            Ok(_) => {}
        }
        match rustix::io::read(stdin, &mut buffer) {
            // Ctrl-D where the terminal passes on lines, after which more can follow; or the terminal was closed.
            Ok(0) if ready[0].revents().contains(PollFlags::HUP) => return,
            Ok(0) if sender.unbounded_send(vec![END_OF_INPUT]).is_err() => return,
            Ok(0) => {}
            Ok(n_bytes) if sender.unbounded_send(buffer[..n_bytes].to_vec()).is_err() => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

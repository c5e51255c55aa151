//! What is typed while the agent works: the keys, one line of text that they make, and where they come from.

/// What a key did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A line was entered.
    Line(String),
    /// Esc alone: stop.
    Stop,
    /// Ctrl-D on an empty line: there will be no answer.
    End,
}

/// What came from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "keys wait until the agent is done"))]
#[cfg_attr(not(unix), expect(dead_code, reason = "keys are not read while a turn runs"))]
pub(super) enum Typed {
    Keys(Vec<u8>),
    /// The program was stopped, by Ctrl-Z as a rule, and goes on now.
    Back,
}

/// Ctrl-D.
const END: u8 = 0x04;

/// A line that is being typed.
#[derive(Debug, Default)]
pub(super) struct LineEdit {
    text: String,
    /// Bytes of a character or of an escape sequence that is not complete.
    held: Vec<u8>,
    is_pasting: bool,
}

impl LineEdit {
    /// Returns the line so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Takes the line away, e.g. to go on with it elsewhere.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Takes what the terminal sent and returns what follows from it.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Act> {
        if bytes == [0x1b] && self.held.is_empty() {
            // A sequence comes in one piece; the key alone is just this.
            return vec![Act::Stop];
        }
        let mut acts = Vec::new();
        for &byte in bytes {
            if !self.held.is_empty() {
                self.hold(byte);
                continue;
            }
            match byte {
                0x1b | 0x80.. => self.held.push(byte),
                b'\r' | b'\n' if self.is_pasting => self.text.push('\n'),
                b'\r' | b'\n' => {
                    let line = self.take();
                    if !line.trim().is_empty() {
                        acts.push(Act::Line(line));
                    }
                }
                0x08 | 0x7f => {
                    self.text.pop();
                }
                // Ctrl-U and Ctrl-W, as in every shell.
                0x15 => self.text.clear(),
                0x17 => {
                    let end = self.text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
                    self.text.truncate(end);
                }
                END if self.text.is_empty() => acts.push(Act::End),
                b'\t' => self.text.push(' '),
                byte if byte >= b' ' => self.text.push(char::from(byte)),
                _ => {}
            }
        }
        acts
    }

    /// Goes on with an escape sequence or a character of several bytes.
    fn hold(&mut self, byte: u8) {
        self.held.push(byte);
        let is_complete = match self.held.as_slice() {
            [0x1b, b'[' | b'O'] => false,
            [0x1b, b'[', .., last] => (0x40..=0x7e).contains(last),
            [0x1b, ..] => true,
            held => {
                let text = std::str::from_utf8(held);
                if let Ok(text) = text {
                    self.text.push_str(text);
                }
                // What can become no character is dropped.
                text.map_or_else(|error| error.error_len().is_some(), |_| true)
            }
        };
        if is_complete {
            match self.held.as_slice() {
                b"\x1b[200~" => self.is_pasting = true,
                b"\x1b[201~" => self.is_pasting = false,
                _ => {}
            }
            self.held.clear();
        }
    }
}

#[cfg(unix)]
pub(super) use terminal::Keys;

#[cfg(unix)]
mod terminal {
    //! Keys as they are pressed: the terminal hands them out one by one and does not show them.

    use std::io::{PipeWriter, Write as _, pipe};
    use std::os::fd::AsFd as _;
    use std::thread::{self, JoinHandle};

    use futures::StreamExt as _;
    use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Signal, getpgrp};
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};
    use tokio::signal::unix;

    use super::{END, Typed};

    /// Reads keys for as long as it lives; then the terminal is as it was.
    pub(in crate::chat) struct Keys {
        keys: UnboundedReceiver<Vec<u8>>,
        before: Option<Termios>,
        /// The terminal as it is while keys are read.
        raw: Option<Termios>,
        /// Comes when the program goes on after it was stopped.
        resumed: Option<unix::Signal>,
        /// Ends the thread by being dropped.
        wake: Option<PipeWriter>,
        reader: Option<JoinHandle<()>>,
    }

    impl Keys {
        /// Begins to read: keys as they are pressed, or whole lines that the terminal shows. A terminal that cannot be set
        /// up yields none.
        pub(in crate::chat) fn open(one_by_one: bool) -> Self {
            let (sender, keys) = unbounded();
            let stdin = rustix::stdio::stdin();
            let resumed = unix::signal(unix::SignalKind::from_raw(Signal::CONT.as_raw())).ok();
            let mut opened = Self { keys, before: None, raw: None, resumed, wake: None, reader: None };
            let Ok(before) = tcgetattr(stdin) else { return opened };
            opened.before = Some(before.clone());
            let mut raw = before;
            // Ctrl-C and Ctrl-Z stay signals.
            if one_by_one {
                raw.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO);
            }
            raw.special_codes[SpecialCodeIndex::VMIN] = 1;
            raw.special_codes[SpecialCodeIndex::VTIME] = 0;
            let (Ok((listener, wake)), Ok(())) = (pipe(), tcsetattr(stdin, OptionalActions::Now, &raw)) else {
                return opened;
            };
            (opened.raw, opened.wake) = (Some(raw), Some(wake));
            opened.reader = Some(thread::spawn(move || read(&listener, &sender)));
            opened
        }

        /// Returns what was typed next; waits for ever where nothing can come.
        pub(in crate::chat) async fn next(&mut self) -> Typed {
            let resumed = async {
                match &mut self.resumed {
                    Some(resumed) => resumed.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(keys) = self.keys.next() => Typed::Keys(keys),
                Some(()) = resumed => {
                    self.take_terminal();
                    Typed::Back
                }
                else => std::future::pending().await,
            }
        }

        /// Has the terminal hand out keys again: the shell that had it meanwhile uses it in its own way.
        fn take_terminal(&self) {
            let stdin = rustix::stdio::stdin();
            // In the background it is not ours, and setting it would stop the program again.
            if let Some(raw) = &self.raw
                && tcgetpgrp(stdin) == Ok(getpgrp())
            {
                // A terminal that cannot be set hands out lines.
                let _ = tcsetattr(stdin, OptionalActions::Now, raw);
            }
        }
    }

    impl Keys {
        /// Stops reading, and returns what was typed and not yet handed out.
        pub(in crate::chat) fn rest(&mut self) -> Vec<u8> {
            self.stop();
            self.keys.close();
            let mut rest = Vec::new();
            while let Ok(keys) = self.keys.try_recv() {
                rest.extend(keys);
            }
            rest
        }

        fn stop(&mut self) {
            if let Some(mut wake) = self.wake.take() {
                // A full pipe wakes as well.
                let _ = wake.write(b"x");
            }
            if let Some(reader) = self.reader.take() {
                // A thread that panicked has nothing more to say.
                let _ = reader.join();
            }
        }
    }

    impl Drop for Keys {
        fn drop(&mut self) {
            self.stop();
            if let Some(before) = &self.before {
                // A terminal that is gone needs no setting.
                let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
            }
        }
    }

    fn read(listener: &std::io::PipeReader, sender: &UnboundedSender<Vec<u8>>) {
        let stdin = rustix::stdio::stdin();
        let mut buffer = [0; 1024];
        loop {
            let mut ready = [
                PollFd::from_borrowed_fd(stdin, PollFlags::IN),
                PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
            ];
            match poll(&mut ready, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
                Ok(_) if !ready[1].revents().is_empty() => return,
                Ok(_) => {}
            }
            match rustix::io::read(stdin, &mut buffer) {
                // The end of a line-wise input, after which more may be typed; or of the terminal.
                Ok(0) if ready[0].revents().contains(PollFlags::HUP) => return,
                Ok(0) if sender.unbounded_send(vec![END]).is_err() => return,
                Ok(0) => {}
                Ok(n_bytes) if sender.unbounded_send(buffer[..n_bytes].to_vec()).is_err() => return,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

/// Where terminals are of another kind, keys wait until the agent is done.
#[cfg(not(unix))]
pub(super) struct Keys;

#[cfg(not(unix))]
impl Keys {
    pub(super) fn open(_one_by_one: bool) -> Self {
        Self
    }

    pub(super) async fn next(&mut self) -> Typed {
        std::future::pending().await
    }

    pub(super) fn rest(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_make_lines() {
        #[track_caller]
        fn check(pieces: &[&[u8]], lines: &[&str], left: &str) {
            let mut edit = LineEdit::default();
            let acts: Vec<Act> = pieces.iter().flat_map(|piece| edit.feed(piece)).collect();
            assert_eq!(acts, lines.iter().map(|line| Act::Line((*line).to_owned())).collect::<Vec<_>>());
            assert_eq!(edit.text(), left);
        }
        check(&[b"ab", b"c\n", b"d"], &["abc"], "d");
        check(&[b"abc\x7f\x7fx\r"], &["ax"], "");
        check(&[b"one two\x17three\n"], &["one three"], "");
        check(&[b"gone\x15here\n\n  \n"], &["here"], "");
        check(&["ä€".as_bytes(), "ö".as_bytes()], &[], "ä€ö");
        check(&[&[0xe2], &[0x82], &[0xac, b'x']], &[], "€x");
        check(&[b"a\x1b[Ab\x1b[1;5Cc\x1bOPd"], &[], "abcd");
        check(&[b"\x1b[200~one\ntwo\x1b[201~\n"], &["one\ntwo"], "");
    }

    #[test]
    fn esc_alone_stops() {
        assert_eq!(LineEdit::default().feed(b"\x1b"), [Act::Stop]);
        assert_eq!(LineEdit::default().feed(b"\x1b[A"), []);
        assert_eq!(LineEdit::default().feed(b"\x04"), [Act::End]);
        assert_eq!(LineEdit::default().feed(b"a\x04"), []);
    }
}

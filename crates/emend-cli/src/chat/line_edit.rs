//! The line that the user types while the agent works.

/// A key, as far as the line knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A character; also a line break inside pasted text.
    Char(char),
    Enter,
    Backspace,
    /// Ctrl-U.
    DeleteLine,
    /// Ctrl-W.
    DeleteWord,
    Escape,
    /// Ctrl-C, where the terminal does not turn it into a signal.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
}

/// The effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyAction {
    /// A line was entered. It is not blank.
    Enter(String),
    /// Escape: stop the agent.
    Stop,
    /// Ctrl-C: stop the agent; a second one also ends the conversation.
    Interrupt,
    /// Ctrl-D on an empty line: there will be no answer.
    EndOfInput,
}

/// The text that was typed and not entered yet. The cursor is always at its end.
#[derive(Debug, Default)]
pub(super) struct LineEdit {
    text: String,
}

impl LineEdit {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text and clears the line.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Applies a key to the line.
    pub(super) fn press(&mut self, key: Key) -> Option<KeyAction> {
        match key {
            // A tab has no fixed width, so the line could not be redrawn.
            Key::Char('\t') => self.text.push(' '),
            Key::Char(char) => self.text.push(char),
            Key::Enter => {
                let line = self.take();
                return (!line.trim().is_empty()).then_some(KeyAction::Enter(line));
            }
            Key::Backspace => drop(self.text.pop()),
            Key::DeleteLine => self.text.clear(),
            Key::DeleteWord => {
                let end = self.text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.text.truncate(end);
            }
            Key::Escape => return Some(KeyAction::Stop),
            Key::Interrupt => return Some(KeyAction::Interrupt),
            Key::EndOfInput => return self.text.is_empty().then_some(KeyAction::EndOfInput),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_input_counts_on_an_empty_line_only() {
        let mut edit = LineEdit::default();
        assert_eq!(edit.press(Key::EndOfInput), Some(KeyAction::EndOfInput));
        assert_eq!(edit.press(Key::Char('a')), None);
        assert_eq!(edit.press(Key::EndOfInput), None);
        assert_eq!(edit.take(), "a");
    }
}

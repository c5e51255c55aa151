//! The line that the user types while the agent waits: editing, history, completion of commands.

use std::path::{Path, PathBuf};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};

use super::commands;
use crate::failure::Failure;
use crate::style::Painter;

/// What the line begins with.
pub(super) const PROMPT: &str = "› ";

/// The most lines that are remembered.
const HISTORY_MAX: usize = 1_000;

/// What the user did at the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    Text(String),
    /// Ctrl-C; whether there was text, which is gone then.
    Interrupted {
        had_text: bool,
    },
    /// Ctrl-D on an empty line, or the terminal is gone.
    End,
}

/// The editor of lines and their history, which is kept with the project's state.
pub(super) struct Prompt {
    editor: Editor<LineHelper, FileHistory>,
    history: PathBuf,
}

impl Prompt {
    pub(super) fn open(directory: &Path, painter: Painter) -> Result<Self, Failure> {
        let config =
            Config::builder().max_history_size(HISTORY_MAX).and_then(|config| config.history_ignore_dups(true));
        // Tab shows all that could be meant, as shells do.
        let config = config.map(|config| config.completion_type(CompletionType::List));
        let colours = if painter.is_on() { ColorMode::Enabled } else { ColorMode::Disabled };
        let config = config.map_err(failure)?.color_mode(colours).build();
        let mut editor = Editor::with_config(config).map_err(failure)?;
        editor.set_helper(Some(LineHelper::default()));
        let history = directory.join("history");
        // There is none yet, or one that cannot be read: typing works all the same.
        let _ = editor.load_history(&history);
        Ok(Self { editor, history })
    }

    /// Reads what the user has to say, beginning with `initial`.
    pub(super) fn read(&mut self, initial: &str) -> Result<Entered, Failure> {
        let entered = self.line(PROMPT, initial)?;
        if let Entered::Text(text) = &entered
            && !text.trim().is_empty()
            && matches!(self.editor.add_history_entry(text.as_str()), Ok(true))
        {
            // A history that cannot be kept is no reason to stop.
            let _ = self.editor.append_history(&self.history);
        }
        Ok(entered)
    }

    /// Reads the answer to a question. It is not remembered.
    pub(super) fn answer(&mut self, question: &str) -> Result<Option<String>, Failure> {
        match self.line(question, "")? {
            Entered::Text(text) => Ok(Some(text)),
            Entered::Interrupted { .. } | Entered::End => Ok(None),
        }
    }

    fn line(&mut self, prompt: &str, initial: &str) -> Result<Entered, Failure> {
        if let Some(helper) = self.editor.helper_mut() {
            helper.had_text.set(false);
        }
        match self.editor.readline_with_initial(prompt, (initial, "")) {
            // A line that is continued ends in a backslash for us, not for the model.
            Ok(text) => Ok(Entered::Text(text.replace("\\\n", "\n"))),
            Err(ReadlineError::Interrupted) => {
                let had_text = self.editor.helper().is_some_and(|helper| helper.had_text.get());
                Ok(Entered::Interrupted { had_text })
            }
            Err(ReadlineError::Eof) => Ok(Entered::End),
            Err(error) => Err(failure(error)),
        }
    }
}

fn failure(error: ReadlineError) -> Failure {
    match error {
        ReadlineError::Io(error) => Failure::from(error),
        error => Failure::from(std::io::Error::other(error.to_string())),
    }
}

/// Completes commands, and lets a line that ends in a backslash go on.
#[derive(Default)]
struct LineHelper {
    /// Whether the line that was last drawn held text.
    had_text: std::cell::Cell<bool>,
}

impl Helper for LineHelper {}

impl Highlighter for LineHelper {}

impl Hinter for LineHelper {
    type Hint = String;

    fn hint(&self, line: &str, _at: usize, _context: &Context<'_>) -> Option<String> {
        // Asked after each key: the one place that sees the line before Ctrl-C throws it away.
        self.had_text.set(!line.is_empty());
        None
    }
}

impl Completer for LineHelper {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _context: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = &line[..at];
        let is_command = begun.starts_with('/') && !begun.contains(' ');
        let names = commands::NAMES.iter().filter(|(name, ..)| is_command && name.starts_with(begun));
        Ok((0, names.map(|(name, ..)| format!("{name} ")).collect()))
    }
}

impl Validator for LineHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let is_continued = context.input().ends_with('\\');
        Ok(if is_continued { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

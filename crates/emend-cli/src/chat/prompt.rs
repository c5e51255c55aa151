//! The prompt between runs: line editing, history, completion of commands and of mentioned files.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use emend_agent::workspace::Workspace;
use emend_llm::Shared;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};

use super::{command_list, mention_completion};
use crate::failure::Failure;
use crate::style::Painter;

/// The text in front of the line.
pub(super) const PROMPT: &str = "› ";

/// Lines that the history keeps.
const HISTORY_MAX: usize = 1_000;

/// The longest time between Esc and the next character of one key, in milliseconds.
const KEYSEQ_TIMEOUT_MS: u16 = 100;

/// The user's input at the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    Text(String),
    /// Ctrl-C. It discards the text of the line.
    Interrupted {
        had_text: bool,
    },
    /// Ctrl-D on an empty line, or the terminal was closed.
    End,
}

/// The line editor and its history, a file in the project's state directory.
pub(super) struct Prompt {
    editor: Editor<LineHelper, FileHistory>,
    history: PathBuf,
}

impl Prompt {
    /// Opens the prompt of a project. Its history is in `directory`, and the paths of `files` are completed.
    pub(super) fn open(directory: &Path, files: &Shared<Workspace>, painter: Painter) -> Result<Self, Failure> {
        let config =
            Config::builder().max_history_size(HISTORY_MAX).and_then(|config| config.history_ignore_dups(true));
        // Otherwise a lone Esc takes the next key with it, however late that is.
        let config = config.map(|config| config.keyseq_timeout(Some(KEYSEQ_TIMEOUT_MS)));
        // Tab lists all candidates, as in shells.
        let config = config.map(|config| config.completion_type(CompletionType::List));
        let colours = if painter.is_on() { ColorMode::Enabled } else { ColorMode::Disabled };
        let config = config.map_err(failure)?.color_mode(colours).build();
        let mut editor = Editor::with_config(config).map_err(failure)?;
        editor.set_helper(Some(LineHelper { had_text: Cell::new(false), files: Shared::clone(files) }));
        let history = directory.join("history");
        // Without a readable history the prompt works all the same.
        let _ = editor.load_history(&history);
        Ok(Self { editor, history })
    }

    /// Reads a message or command. The line starts with the text `initial`.
    pub(super) fn read(&mut self, initial: &str) -> Result<Entered, Failure> {
        let entered = self.line(PROMPT, initial)?;
        if let Entered::Text(text) = &entered
            && !text.trim().is_empty()
            && matches!(self.editor.add_history_entry(text.as_str()), Ok(true))
        {
            // A history that cannot be written is not worth an error.
            let _ = self.editor.append_history(&self.history);
        }
        Ok(entered)
    }

    /// Reads the answer to a question. It does not enter the history.
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
            // The backslash at a line end is for the editor, not for the model.
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

/// Completes commands and mentioned files, and continues a line that ends with a backslash.
struct LineHelper {
    /// Whether the line had text when it was drawn last.
    had_text: Cell<bool>,
    files: Shared<Workspace>,
}

impl Helper for LineHelper {}

impl Highlighter for LineHelper {}

impl Hinter for LineHelper {
    type Hint = String;

    fn hint(&self, line: &str, _at: usize, _context: &Context<'_>) -> Option<String> {
        // Called after each key, and so the only place that sees the line before Ctrl-C discards it.
        self.had_text.set(!line.is_empty());
        None
    }
}

impl Completer for LineHelper {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _context: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = &line[..at];
        if let Some(start) = mention_completion::start(begun) {
            // It finds files that were created just now. A large project has a list, which saves most of the walk.
            let paths = futures::executor::block_on(self.files.glob_paths(".", "**")).unwrap_or_default();
            return Ok((start, mention_completion::candidates(&paths, &begun[start..])));
        }
        let is_command = begun.starts_with('/') && !begun.contains(' ');
        let names = command_list::NAMES.iter().filter(|(name, ..)| is_command && name.starts_with(begun));
        Ok((0, names.map(|(name, ..)| format!("{name} ")).collect()))
    }
}

impl Validator for LineHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let is_continued = context.input().ends_with('\\');
        Ok(if is_continued { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

//! Options that `emend`, `emend run` and `emend config` share: conversation, model and permissions.

use std::path::PathBuf;

use clap::Args;
use emend_agent::store::check_name;

use crate::settings::SettingFlags;

/// Headings that group options in the help.
const CONVERSATION: &str = "Conversation options";
pub(super) const OUTPUT: &str = "Output options";

/// Options of a session. A missing option is read from the environment or a settings file: see [`crate::settings`].
#[derive(Clone, Debug, Args)]
pub(crate) struct SessionArgs {
    /// Directory to work in. The project is its git repository, or else the directory itself.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
    /// Continue a saved conversation: the last one, or the one with this ID.
    ///
    /// `emend sessions` lists saved conversations.
    #[arg(
        long,
        value_name = "ID",
        num_args = 0..=1,
        default_missing_value = "",
        value_parser = session_id,
        help_heading = CONVERSATION
    )]
    pub(crate) resume: Option<String>,
    /// Continue the last conversation, as --resume without ID does.
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["resume", "fork"], help_heading = CONVERSATION)]
    pub(crate) continues: bool,
    /// Start a new conversation with a copy of a saved one. The saved one does not change.
    #[arg(
        long,
        value_name = "ID",
        value_parser = session_id,
        conflicts_with = "resume",
        help_heading = CONVERSATION
    )]
    pub(crate) fork: Option<String>,
    /// With --fork: copy only the first N history entries, as `emend sessions show ID` numbers them.
    #[arg(long, value_name = "N", requires = "fork", help_heading = CONVERSATION)]
    pub(crate) turns: Option<usize>,
    /// Also write every event to FILE, as JSON, one object per line.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) trace: Option<PathBuf>,
}

impl SessionArgs {
    /// Returns the ID of the conversation to continue; the empty text stands for the last one.
    pub(crate) fn resumed(&self) -> Option<&str> {
        self.resume.as_deref().or(self.continues.then_some(""))
    }
}

/// Checks the form of a session ID. The empty text stands for the session used last.
pub(super) fn session_id(text: &str) -> Result<String, String> {
    if text.is_empty() || check_name(text).is_ok() {
        return Ok(text.to_owned());
    }
    Err("expected the ID of a session, from `emend sessions`".to_owned())
}

//! `/rewind`: goes back to before a message, in the conversation, in the files, or in both.

use emend_agent::error_code::Code;
use emend_agent::history::{HistoryEntry, HistoryEntryKind};
use emend_llm::ContentPart;

use super::state::Chat;
use crate::commands::checkpoints::{self, Undone};
use crate::failure::Failure;
use crate::saved_sessions::age;
use crate::text_diff;
use crate::visible::visible;
use crate::wrap::truncated;

/// Lines of the preview of the changes that would be undone.
const PREVIEW_LINES_MAX: usize = 60;

/// Rows that the list of messages leaves free for the lines around it.
const ROWS_AROUND_LIST: usize = 6;

/// A message of the user that the conversation can go back to.
struct Target {
    /// Number of history entries before it.
    n_entries: usize,
    at_ms: u64,
    text: String,
    /// Runs of this conversation that began with the message or later, and changed files.
    runs: Vec<u64>,
}

/// The parts that go back.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Parts {
    conversation: bool,
    files: bool,
}

/// Asks for the message and the parts, and goes back. Returns the message for the input.
pub(super) async fn rewind(chat: &mut Chat) -> Result<Option<String>, Failure> {
    let targets = targets(chat)?;
    if targets.is_empty() {
        chat.screen.print(&["This conversation has no message to go back to.".to_owned()])?;
        return Ok(None);
    }
    let Some(target) = choose(chat, &targets)? else { return Ok(None) };
    let Some(parts) = parts(chat, target).await? else { return Ok(None) };
    if parts.files && !target.runs.is_empty() {
        let undone = Undone::of(&chat.setup.project, &target.runs).await?;
        checkpoints::report_and_save(&chat.setup.project, &undone, "/redo")?;
    }
    if !parts.conversation {
        return Ok(None);
    }
    let removed = chat.setup.session.rewind(target.n_entries).await?;
    let line = format!("Removed {} entries of the conversation. The message is in the input.", removed.len());
    chat.screen.print(&[line])?;
    Ok(Some(target.text.clone()))
}

/// Returns the user's messages, oldest first.
fn targets(chat: &Chat) -> Result<Vec<Target>, Failure> {
    let id = chat.setup.session.id();
    let notes = chat.setup.project.run_notes()?;
    let own: Vec<u64> = notes.into_iter().filter(|note| note.session == id).map(|note| note.run).collect();
    let runs: Vec<_> =
        chat.setup.project.workspace.runs().into_iter().filter(|run| run.is_on && own.contains(&run.run_id)).collect();
    let entries = chat.setup.session.entries();
    let is_message = |(_, entry): &(usize, &HistoryEntry)| entry.kind == HistoryEntryKind::User;
    let target = |(n_entries, entry): (usize, &HistoryEntry)| Target {
        n_entries,
        at_ms: entry.at_ms,
        text: typed(entry),
        runs: runs.iter().filter(|run| run.at_ms >= entry.at_ms).map(|run| run.run_id).collect(),
    };
    Ok(entries.iter().enumerate().filter(is_message).map(target).collect())
}

/// Returns the text that the user typed, without attached files.
fn typed(entry: &HistoryEntry) -> String {
    let texts = entry.message.content.iter().find_map(|part| match part {
        ContentPart::Text { text } => Some(text.clone()),
        _ => None,
    });
    texts.unwrap_or_default()
}

/// Lists the messages and asks for one.
fn choose<'a>(chat: &mut Chat, targets: &'a [Target]) -> Result<Option<&'a Target>, Failure> {
    let now_ms = chat.setup.project.clock.now_ms();
    let n_shown = chat.screen.height().saturating_sub(ROWS_AROUND_LIST).max(3);
    let skipped = targets.len().saturating_sub(n_shown);
    let mut lines = Vec::new();
    if skipped > 0 {
        lines.push(format!("     {skipped} earlier messages; their numbers work too"));
    }
    for (index, target) in targets.iter().enumerate().skip(skipped) {
        let first = visible(target.text.lines().next().unwrap_or_default());
        let line = format!("{:>3}  {:12}  {first}", index + 1, age(now_ms, target.at_ms));
        lines.push(truncated(&line, chat.screen.width()));
    }
    chat.screen.print(&lines)?;
    let Some(answer) = chat.prompt.answer("Number of the message to go back to (Enter to cancel): ")? else {
        return Ok(None);
    };
    match answer.trim() {
        "" => Ok(None),
        answer => match answer.parse::<usize>().ok().and_then(|number| targets.get(number.checked_sub(1)?)) {
            Some(target) => Ok(Some(target)),
            None => Err(Failure::new(Code::NotFound, format!("there is no message {answer}"))),
        },
    }
}

/// Shows the changes since the message, and asks for the parts that go back.
async fn parts(chat: &mut Chat, target: &Target) -> Result<Option<Parts>, Failure> {
    if target.runs.is_empty() {
        chat.screen.print(&["No change in the files since then is in effect.".to_owned()])?;
        return Ok(Some(Parts { conversation: true, files: false }));
    }
    let texts = chat.setup.project.workspace.texts_of_runs(&target.runs, None).await?;
    let mut lines = vec!["This undoes in the files (your own lines stay):".to_owned()];
    for text in &texts {
        let (before, after) = (text.after.as_deref(), text.before.as_deref());
        lines.extend(text_diff::lines(chat.screen.painter, text.path.as_str(), before, after));
    }
    for change in chat.setup.project.workspace.other_changes_of_runs(&target.runs).await? {
        lines.push(text_diff::other(&change.path, change.after.as_ref(), change.before.as_ref()));
    }
    lines.extend(text_diff::ignored(&chat.setup.project.workspace.ignored_changes(&target.runs, true)));
    let n_more = lines.len().saturating_sub(PREVIEW_LINES_MAX);
    lines.truncate(PREVIEW_LINES_MAX);
    if n_more > 0 {
        lines.push(format!("… {n_more} more lines; /diff shows all"));
    }
    chat.screen.print(&lines)?;
    loop {
        let question = "Go back in [b]oth, the [c]onversation only, the [f]iles only (Enter to cancel): ";
        let Some(answer) = chat.prompt.answer(question)? else { return Ok(None) };
        let parts = match answer.trim().to_lowercase().as_str() {
            "" => return Ok(None),
            "b" | "both" => Parts { conversation: true, files: true },
            "c" | "conversation" => Parts { conversation: true, files: false },
            "f" | "files" => Parts { conversation: false, files: true },
            _ => continue,
        };
        return Ok(Some(parts));
    }
}

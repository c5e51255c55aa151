//! `emend sessions`: lists, searches, shows, titles, archives and deletes saved conversations.
//!
//! Reading needs no lock, so it works while another command runs. Deleting locks the project.

use std::io::Write;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::history::HistoryEntry;
use emend_agent::service::{Permission, ServiceStore as _, SessionStatus, Timestamp};
use emend_agent::store::{Store, Summary, read_document, remove_session, summaries};
use emend_agent::tool::result_text;
use emend_host::{FileStore, SystemClock};
use emend_llm::{Clock as _, ContentPart, Role};
use emend_offline as offline;
use serde_json::json;

use crate::args::SessionsCommand;
use crate::failure::Failure;
use crate::place::{Place, Start};
use crate::project::{Project, SESSIONS_DIRECTORY};
use crate::saved_sessions::{age, find, minute, short};
use crate::session_notes::{SessionNotes, search};
use crate::settings::{SettingFlags, Settings};
use crate::{meter, served_sessions, told, visible};

pub(crate) async fn sessions(command: SessionsCommand, root: &Start, json: bool) -> Result<ExitCode, Failure> {
    match command {
        SessionsCommand::List { search, archived } => list(root, json, search.as_deref(), archived).await,
        SessionsCommand::Title { id, title } => {
            let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
            let note = |notes: &mut SessionNotes, id: &str| match title.as_str() {
                "" => drop(notes.titles.remove(id)),
                title => drop(notes.titles.insert(id.to_owned(), title.to_owned())),
            };
            change(root, &id, json, "titled", note).await
        }
        SessionsCommand::Archive { id } => archive(root, &id, json, true).await,
        SessionsCommand::Unarchive { id } => archive(root, &id, json, false).await,
        SessionsCommand::Show { id } => show(root, &id, json).await,
        SessionsCommand::Permissions { id, remove } => permissions(root, &id, remove.as_deref(), json).await,
        SessionsCommand::Delete { id } => delete(root, &id, json).await,
    }
}

async fn list(root: &Start, json: bool, text: Option<&str>, archived: bool) -> Result<ExitCode, Failure> {
    let notes = notes(root).await?;
    let mut saved = Vec::new();
    if let Some(store) = open(root).await? {
        saved = notes.all(&store).await?;
        saved.retain(|summary| notes.archived.contains(&summary.id) == archived);
        if let Some(text) = text {
            saved = search(&store, saved, text).await?;
        }
    }
    let mut stdout = visible::listing();
    if json {
        for mut summary in saved {
            name_offline(&mut summary.provider, &summary.model);
            stdout.write_json(&serde_json::to_string(&summary).map_err(std::io::Error::from)?)?;
        }
    } else if saved.is_empty() {
        let kind = if archived { "archived" } else { "saved" };
        let with = text.map(|text| format!(" with {text:?}")).unwrap_or_default();
        writeln!(stdout, "There are no {kind} sessions{with} in this project.")?;
    } else {
        write!(stdout, "{}", table(&saved, SystemClock.now_ms()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the notes about the conversations without a lock.
async fn notes(root: &Start) -> Result<SessionNotes, Failure> {
    SessionNotes::load(&Project::location(root).await?)
}

/// Changes the notes about one conversation.
async fn change(
    root: &Start,
    id: &str,
    json: bool,
    what: &str,
    note: impl FnOnce(&mut SessionNotes, &str),
) -> Result<ExitCode, Failure> {
    let state = Project::lock_state(root).await?;
    let store = FileStore::open(&state.directory().join(SESSIONS_DIRECTORY))?;
    let summary = find(summaries(&store).await?, id)?;
    let mut notes = SessionNotes::load(state.directory())?;
    note(&mut notes, &summary.id);
    notes.save(state.directory())?;
    report(json, what, &summary.id)
}

/// Archives a conversation, or takes it out of the archive, also as a session of the project's server. A session of the
/// server need not have a conversation.
async fn archive(root: &Start, id: &str, json: bool, is_archived: bool) -> Result<ExitCode, Failure> {
    let state = Project::lock_state(root).await?;
    let saved = find(summaries(&FileStore::open(&state.directory().join(SESSIONS_DIRECTORY))?).await?, id);
    let full_id = saved.as_ref().map_or(id, |summary| &summary.id).to_owned();
    let is_of_server = match served_sessions::open(state.directory())? {
        Some(store) => {
            let status = if is_archived { SessionStatus::Archived } else { SessionStatus::Active };
            let at = Timestamp(SystemClock.now_ms());
            let max = Settings::load(&Place::of(root)?, &SettingFlags::default())?.service.max_sessions;
            served_sessions::set_status(&store, &full_id, (status, max), at).await?
        }
        None => false,
    };
    if !is_of_server {
        saved?;
    }
    let mut notes = SessionNotes::load(state.directory())?;
    match is_archived {
        true => drop(notes.archived.insert(full_id.clone())),
        false => drop(notes.archived.remove(&full_id)),
    }
    notes.save(state.directory())?;
    report(json, if is_archived { "archived" } else { "unarchived" }, &full_id)
}

/// Lists the permissions of a session of the project's server while none runs, or withdraws one.
async fn permissions(root: &Start, id: &str, withdrawn: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let state = Project::lock_state(root).await?;
    let unknown = || {
        let message = format!(
            "no server of this project has a session {id}; `emend sessions permissions --server URL` asks a running one"
        );
        Failure::new(Code::NotFound, message)
    };
    let store = served_sessions::open(state.directory())?.ok_or_else(unknown)?;
    let mut session = store.session(id).await?.ok_or_else(unknown)?;
    if let Some(withdrawn) = withdrawn {
        session = served_sessions::withdraw(&store, session, withdrawn, Timestamp(SystemClock.now_ms())).await?;
    }
    print_permissions(&session.grants.iter().map(Permission::of).collect::<Vec<_>>(), json)
}

/// Prints permissions, with the ids that withdraw them.
pub(super) fn print_permissions(permissions: &[Permission], json: bool) -> Result<ExitCode, Failure> {
    let mut stdout = visible::listing();
    if json {
        stdout.write_json(&json!({ "permissions": permissions }).to_string())?;
    } else if permissions.is_empty() {
        writeln!(stdout, "Nothing is always allowed in this session.")?;
    } else {
        for permission in permissions {
            writeln!(stdout, "{}  {}", permission.permission_id, described(permission))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the calls that a permission allows, in one line.
pub(crate) fn described(permission: &Permission) -> String {
    let Permission { tool, command, working_dir, files, .. } = permission;
    let mut text = tool.clone();
    if let Some(command) = command {
        text.push_str(&format!(": {}", visible::visible(command)));
    } else if files.is_empty() {
        text.push_str(": all calls");
    }
    if let Some(directory) = working_dir {
        text.push_str(&format!(" (in {})", visible::visible(directory)));
    }
    if !files.is_empty() {
        let files: Vec<String> = files.iter().map(|file| visible::visible(file)).collect();
        text.push_str(&format!(": {}", files.join(", ")));
    }
    text
}

/// Prints the change of one session.
fn report(json: bool, what: &str, id: &str) -> Result<ExitCode, Failure> {
    let mut stdout = visible::listing();
    if json {
        writeln!(stdout, "{}", json!({ what: id }))?;
    } else {
        writeln!(stdout, "{what} {id}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the store without a lock, `None` if nothing was saved yet.
async fn open(root: &Start) -> Result<Option<FileStore>, Failure> {
    let state = Project::location(root).await?;
    let directory = state.join(SESSIONS_DIRECTORY);
    let store = directory.is_dir().then(|| FileStore::open(&directory)).transpose()?;
    Ok(store)
}

async fn show(root: &Start, id: &str, json: bool) -> Result<ExitCode, Failure> {
    let store = open(root).await?;
    let saved = match &store {
        Some(store) => summaries(store).await?,
        None => Vec::new(),
    };
    let summary = find(saved, id)?;
    let text = match &store {
        Some(store) => store.load(&summary.id).await?,
        None => None,
    };
    let text = text.ok_or_else(|| Failure::new(Code::NotFound, "the session was deleted meanwhile"))?;
    let mut document = read_document(&text)?;
    name_offline(&mut document.header.provider, &document.header.model);
    let mut stdout = visible::listing();
    if json {
        let shown = json!({ "session": document.header, "turns": document.entries, "n_damaged": document.n_damaged });
        stdout.write_json(&shown.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let header = &document.header;
    writeln!(stdout, "{}  {}  {}", header.id, minute(header.at_ms), model(&header.provider, &header.model))?;
    if let Some(origin) = &header.forked_from {
        writeln!(stdout, "forked from {} after {} entries", origin.id, origin.n_turns)?;
    }
    for (index, entry) in document.entries.iter().enumerate() {
        write!(stdout, "\n{}", shown(index + 1, entry))?;
    }
    if document.n_damaged > 0 {
        writeln!(stdout, "\n{} damaged lines were skipped", document.n_damaged)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lines of a tool result that are printed.
const RESULT_LINES_MAX: usize = 6;

/// Returns one history entry as text: role, time, text, tool calls and the first lines of results.
fn shown(number: usize, entry: &HistoryEntry) -> String {
    let who = match entry.message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tools",
        Role::System | Role::Developer => "system",
    };
    let mut text = format!("[{number}] {who}  {}\n", minute(entry.at_ms));
    for part in &entry.message.content {
        match part {
            ContentPart::Text { text: said } => text.push_str(&format!("{}\n", said.trim_end())),
            ContentPart::ToolCall(call) => text.push_str(&format!("→ {} {}\n", call.name, call.arguments)),
            ContentPart::ToolResult(result) => {
                let content = result_text(&result.content).map_or_else(|| result.content.to_string(), str::to_owned);
                let n_lines = content.lines().count();
                text.push_str(&format!("← {}{}\n", result.name, if result.is_error { " failed" } else { "" }));
                content.lines().take(RESULT_LINES_MAX).for_each(|line| text.push_str(&format!("  {line}\n")));
                if n_lines > RESULT_LINES_MAX {
                    text.push_str(&format!("  … {} more lines\n", n_lines - RESULT_LINES_MAX));
                }
            }
            // Reasoning is often encrypted.
            _ => {}
        }
    }
    text
}

async fn delete(root: &Start, id: &str, json: bool) -> Result<ExitCode, Failure> {
    // The workspace stays closed, so that a damaged one does not prevent the deletion.
    let state = Project::lock_state(root).await?;
    let store = FileStore::open(&state.directory().join(SESSIONS_DIRECTORY))?;
    let saved = summaries(&store).await?;
    let summary = find(saved, id)?;
    remove_session(&store, &summary.id).await?;
    told::forget(&state, &summary.id)?;
    meter::forget(&state, &summary.id)?;
    let mut notes = SessionNotes::load(state.directory())?;
    if notes.titles.remove(&summary.id).is_some() | notes.archived.remove(&summary.id) {
        notes.save(state.directory())?;
    }
    report(json, "deleted", &summary.id)
}

/// Characters of a title in the table.
const TITLE_CHARS: usize = 60;

fn table(saved: &[Summary], now_ms: u64) -> String {
    let width = saved.iter().map(|summary| short(&summary.id).len()).max().unwrap_or_default().max("session".len());
    let models: Vec<String> = saved.iter().map(|summary| model(&summary.provider, &summary.model)).collect();
    let model_width = models.iter().map(String::len).max().unwrap_or_default().max("model".len());
    let mut text = format!("{:width$}  {:12}  entries  {:model_width$}  task\n", "session", "last used", "model");
    for (summary, model) in saved.iter().zip(models) {
        let line = match &summary.problem {
            Some(problem) => format!("{:width$}  {problem}", short(&summary.id)),
            None => {
                let title: String = summary.title.chars().take(TITLE_CHARS).collect();
                let cut = if title.len() < summary.title.len() { "…" } else { "" };
                let (id, at, n_turns) = (short(&summary.id), age(now_ms, summary.last_ms), summary.n_turns);
                let fork = if summary.forked_from.is_some() { " (fork)" } else { "" };
                format!("{id:width$}  {at:12}  {n_turns:>7}  {model:model_width$}  {title}{cut}{fork}")
            }
        };
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Makes the offline model its own provider. Older versions saved the one whose wire format it has.
fn name_offline(provider: &mut String, model: &str) {
    if model == offline::MODEL {
        provider.replace_range(.., model);
    }
}

/// Returns a model as `--model` takes it.
fn model(provider: &str, model: &str) -> String {
    if model == offline::MODEL { model.to_owned() } else { format!("{provider}:{model}") }
}

#[cfg(test)]
mod tests {
    use emend_agent::approval::Grant;

    use super::*;

    #[test]
    fn a_permission_is_described_in_one_line() {
        #[track_caller]
        fn check(tool: &str, command: Option<&str>, scope: serde_json::Value, expected: &str) {
            let grant = Grant { tool: tool.to_owned(), command: command.map(str::to_owned), scope };
            assert_eq!(described(&Permission::of(&grant)), expected);
        }
        check("edit_file", None, json!(null), "edit_file: all calls");
        check("edit_file", None, json!(["a.md", "b\u{7}.md"]), "edit_file: a.md, b\\u{7}.md");
        check("shell", Some("cargo test\nrm x"), json!("."), "shell: cargo test\\nrm x");
        check("shell", Some("make"), json!("web"), "shell: make (in web)");
    }

    #[test]
    fn a_row_has_the_title_or_the_problem_of_a_session() {
        let summary = |id: &str, title: String| Summary {
            id: id.to_owned(),
            last_ms: 1_700_000_000_000,
            provider: "anthropic".to_owned(),
            model: "m".to_owned(),
            title,
            n_turns: 12,
            ..Summary::default()
        };
        let broken = Summary { problem: Some("no header".to_owned()), ..summary("sess_2", String::new()) };
        assert_eq!(
            table(&[summary("sess_1", "ä".repeat(61)), broken], 1_700_000_300_000),
            format!(
                "session  last used     entries  model        task\n\
                 sess_1   5 min ago          12  anthropic:m  {}…\n\
                 sess_2   no header\n",
                "ä".repeat(60)
            )
        );
    }
}

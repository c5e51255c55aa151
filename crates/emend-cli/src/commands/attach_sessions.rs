//! The sessions of a server: `/sessions`, `/archive` and `/unarchive` of `emend attach`, and `emend sessions --server`.

use std::fmt::Write as _;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::service::PermissionList;
use serde_json::{Value, json};

use super::attach::{Seat, connect, word};
use super::attach_client::{Client, encoded};
use super::sessions::print_permissions;
use crate::args::SessionsCommand;
use crate::failure::Failure;
use crate::visible::{self, visible};

/// Sessions that `/sessions` shows.
const SHOWN_MAX: u64 = 20;

/// Sessions of one reply of the server.
const PAGE: u64 = 500;

/// Returns the path of the list of sessions with this status and text. No status and the empty text leave out none.
fn list_path(status: Option<&str>, text: &str, limit: u64) -> String {
    let status = status.map(|status| format!("&status={status}")).unwrap_or_default();
    let query = if text.is_empty() { String::new() } else { format!("&query={}", encoded(text)) };
    format!("/api/agent/sessions?limit={limit}{status}{query}")
}

/// Returns a line for each session, with numbers from 1. A mark follows the title of the session `joined`.
fn listed(sessions: &[Value], joined: &str) -> String {
    let mut text = String::new();
    for (at, session) in sessions.iter().enumerate() {
        let title = session["title"].as_str().filter(|title| !title.is_empty()).unwrap_or("(no title)");
        let id = word(&session["session_id"]);
        let mark = if id == joined { "  (this one)" } else { "" };
        let (updated, status) = (word(&session["updated_at"]), word(&session["status"]));
        // Titles come from clients and are one line, on a terminal and in a pipe.
        let _ = writeln!(text, "{:>3}. {id}  {updated}  {status:8}  {}{mark}", at + 1, visible(title));
    }
    text
}

/// Reads the argument of `/sessions`: a status or `all`, and a text to search.
fn wanted(argument: &str) -> (Option<&'static str>, &str) {
    let (first, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    match first {
        "" | "active" => (Some("active"), rest.trim()),
        "archived" => (Some("archived"), rest.trim()),
        "all" => (None, rest.trim()),
        _ => (None, argument),
    }
}

impl Seat<'_> {
    /// Lists sessions. The numbers of the list name them in later commands.
    pub(super) async fn sessions(&mut self, argument: &str) -> Result<(), Failure> {
        let (status, text) = wanted(argument);
        let list = self.client.get(&list_path(status, text, SHOWN_MAX)).await?;
        let sessions = list["sessions"].as_array().cloned().unwrap_or_default();
        self.listed = sessions.iter().map(|session| word(&session["session_id"]).to_owned()).collect();
        let mut shown = listed(&sessions, &self.session);
        let n_more = list["total"].as_u64().unwrap_or_default().saturating_sub(sessions.len() as u64);
        if sessions.is_empty() {
            shown += "no such session\n";
        } else if n_more > 0 {
            let _ = writeln!(shown, "{n_more} more; /sessions TEXT searches titles and messages");
        }
        self.print(&shown)
    }

    /// Archives a session, or makes it active again: the joined one, or the one with this number or ID.
    pub(super) async fn archive(&mut self, named: &str, is_archived: bool) -> Result<(), Failure> {
        let id = match named.parse::<usize>() {
            _ if named.is_empty() => self.session.clone(),
            Ok(number) => {
                let listed = number.checked_sub(1).and_then(|at| self.listed.get(at));
                let message = format!("no session has the number {number}; /sessions lists them; nothing was done");
                listed.cloned().ok_or_else(|| Failure::new(Code::NotFound, message))?
            }
            Err(_) => named.to_owned(),
        };
        let session = set_archived(self.client, &id, is_archived).await?;
        let title = visible(word(&session["title"]));
        let mut text = format!("{} {id}  {title}\n", if is_archived { "archived" } else { "active again:" });
        if is_archived && id == self.session {
            text += "It accepts no messages until /unarchive.\n";
        }
        self.print(&text)
    }
}

async fn set_archived(client: &Client, id: &str, is_archived: bool) -> Result<Value, Failure> {
    let status = if is_archived { "archived" } else { "active" };
    client.patch(&path_of(id), json!({ "status": status })).await
}

fn path_of(id: &str) -> String {
    format!("/api/agent/sessions/{}", encoded(id))
}

/// Carries out `emend sessions` for the sessions of a server.
pub(crate) async fn of_server(
    command: SessionsCommand,
    (url, token_file): (&str, Option<&std::path::Path>),
    json: bool,
) -> Result<ExitCode, Failure> {
    let client = connect(url, token_file)?;
    let mut stdout = visible::listing();
    let out: &mut dyn std::io::Write = &mut stdout;
    let (what, session) = match command {
        SessionsCommand::List { search, archived } => {
            let status = if archived { "archived" } else { "active" };
            let sessions = all(&client, status, search.as_deref().unwrap_or_default()).await?;
            if json {
                sessions
                    .iter()
                    .try_for_each(|session| writeln!(out, "{}", visible::visible_json(&session.to_string())))?;
            } else if sessions.is_empty() {
                writeln!(out, "The server has no such sessions; they are {status} ones.")?;
            } else {
                write!(out, "{}", listed(&sessions, ""))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        SessionsCommand::Show { id } => {
            let session = client.get(&path_of(&id)).await?;
            if json {
                writeln!(out, "{}", visible::visible_json(&session.to_string()))?;
            } else {
                let head = (word(&session["session_id"]), word(&session["updated_at"]), word(&session["model"]));
                writeln!(out, "{}  {}  {}  {}", head.0, head.1, head.2, visible(word(&session["title"])))?;
                for message in session["chat"].as_array().into_iter().flatten() {
                    let text = visible::visible_lines(word(&message["text"]));
                    writeln!(out, "\n[{}]\n{}", word(&message["role"]), text.trim_end())?;
                }
            }
            return Ok(ExitCode::SUCCESS);
        }
        SessionsCommand::Permissions { id, remove } => {
            let path = format!("{}/permissions", path_of(&id));
            let list = match remove {
                Some(permission) => client.delete(&format!("{path}/{}", encoded(&permission))).await?,
                None => client.get(&path).await?,
            };
            let list: PermissionList = serde_json::from_value(list)
                .map_err(|error| Failure::new(Code::Provider, format!("the reply of the server: {error}")))?;
            return print_permissions(&list.permissions, json);
        }
        SessionsCommand::Title { id, title } => {
            ("titled", client.patch(&path_of(&id), json!({ "title": title })).await.map(|_| id)?)
        }
        SessionsCommand::Archive { id } => ("archived", set_archived(&client, &id, true).await.map(|_| id)?),
        SessionsCommand::Unarchive { id } => ("unarchived", set_archived(&client, &id, false).await.map(|_| id)?),
        SessionsCommand::Delete { id } => ("deleted", client.delete(&path_of(&id)).await.map(|_| id)?),
    };
    match json {
        true => writeln!(out, "{}", json!({ what: session }))?,
        false => writeln!(out, "{what} {session}")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the sessions of all pages.
async fn all(client: &Client, status: &str, text: &str) -> Result<Vec<Value>, Failure> {
    let path = list_path(Some(status), text, PAGE);
    let mut sessions = Vec::new();
    let mut after = String::new();
    loop {
        let mut page = client.get(&format!("{path}{after}")).await?;
        if let Some(found) = page["sessions"].as_array_mut() {
            sessions.append(found);
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={}", encoded(next)),
            None => return Ok(sessions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_of_sessions_is_a_status_and_a_text() {
        for (argument, expected) in [
            ("", (Some("active"), "")),
            ("active", (Some("active"), "")),
            ("archived  two words", (Some("archived"), "two words")),
            ("all x", (None, "x")),
            ("rename it all", (None, "rename it all")),
        ] {
            assert_eq!(wanted(argument), expected, "{argument:?}");
        }
        let path = "/api/agent/sessions?limit=20&status=active&query=a%20%26%C3%A4";
        assert_eq!(list_path(Some("active"), "a &ä", 20), path);
    }
}

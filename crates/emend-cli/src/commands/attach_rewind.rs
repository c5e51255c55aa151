//! Commands of `emend attach` that go back to before a job, and those for comments on lines.

use emend_agent::error_code::Code;
use serde_json::{Value, json};

use super::attach::{Seat, word};
use crate::failure::Failure;

/// Number of jobs that `/rewind` lists.
const JOBS_SHOWN: usize = 20;

impl Seat<'_> {
    /// `/rewind` lists the jobs, `/rewind N` shows what would change, `/rewind N both|files|conversation` goes back to before
    /// job N, and `/rewind undo` undoes that.
    pub(super) async fn rewind(&mut self, command: &str) -> Result<(), Failure> {
        if command == "undo" {
            let reply = self.client.post(&self.path("rewind/undo"), json!({})).await?;
            return self.print(&unwound(&reply));
        }
        let jobs = self.client.get(&self.path("jobs")).await?;
        let jobs: Vec<&Value> = jobs["jobs"].as_array().into_iter().flatten().collect();
        let (number, extent) = command.split_once(' ').unwrap_or((command, ""));
        if number.is_empty() {
            return self.print(&listed(&jobs));
        }
        let job = number.parse::<usize>().ok().and_then(|number| jobs.get(number.checked_sub(1)?));
        let Some(job) = job else {
            let message = format!("no job has the number {number:?}; /rewind lists them; nothing was done");
            return Err(Failure::new(Code::NotFound, message));
        };
        let (conversation, files) = match extent.trim() {
            "" | "both" => (true, true),
            "files" => (false, true),
            "conversation" => (true, false),
            other => {
                let message =
                    format!("{other:?} is not understood; expected both, files or conversation; nothing was done");
                return Err(Failure::new(Code::InvalidArgument, message));
            }
        };
        let preview = extent.trim().is_empty();
        let body = json!({ "job_id": job["job_id"], "conversation": conversation, "files": files, "preview": preview });
        let reply = self.client.post(&self.path("rewind"), body).await?;
        self.print(&rewound(&reply, preview, number))
    }

    /// `/comment FILE:LINE TEXT` or `/comment FILE:FIRST-LAST TEXT` comments on lines.
    pub(super) async fn comment(&mut self, command: &str) -> Result<(), Failure> {
        let Some((file_path, (start_line, end_line), text)) = commented(command) else {
            let message = "expected FILE:LINE TEXT or FILE:FIRST-LAST TEXT; no comment was made";
            return Err(Failure::new(Code::InvalidArgument, message));
        };
        let body = json!({ "file_path": file_path, "start_line": start_line, "end_line": end_line, "text": text });
        let list = self.client.post(&self.path("comments"), body).await?;
        self.print(&comments(&list))
    }

    /// `/comments` lists the comments, `/comments drop N` removes one, and `/comments send` gives the unsent ones to the agent.
    pub(super) async fn comments(&mut self, command: &str) -> Result<(), Failure> {
        let list = self.client.get(&self.path("comments")).await?;
        let (verb, number) = command.split_once(' ').unwrap_or((command, ""));
        match verb {
            "" => self.print(&comments(&list)),
            "send" => {
                let reply = self.client.post(&self.path("comments/send"), json!({})).await?;
                self.job = reply["job_id"].as_str().map(str::to_owned);
                Ok(())
            }
            "drop" => {
                let at = number.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let Some(id) = at.and_then(|at| list["comments"][at]["comment_id"].as_str()) else {
                    let message = format!("no comment has the number {number:?}; /comments lists them");
                    return Err(Failure::new(Code::NotFound, message));
                };
                let list = self.client.delete(&self.path(&format!("comments/{id}"))).await?;
                self.print(&comments(&list))
            }
            _ => Err(Failure::new(
                Code::InvalidArgument,
                format!("/comments {verb}: expected nothing, send or drop NUMBER"),
            )),
        }
    }
}

fn listed(jobs: &[&Value]) -> String {
    if jobs.is_empty() {
        return "there is no job to go back to\n".to_owned();
    }
    let line = |(at, job): (usize, &&Value)| {
        let instruction = word(&job["instruction"]).lines().next().unwrap_or_default();
        format!("{}. {instruction} ({})\n", at + 1, word(&job["status"]).replace('_', " "))
    };
    let skipped = jobs.len().saturating_sub(JOBS_SHOWN);
    let lines: String = jobs.iter().enumerate().skip(skipped).map(line).collect();
    format!("{lines}/rewind NUMBER shows what going back to before it would change\n")
}

fn rewound(reply: &Value, preview: bool, number: &str) -> String {
    let verb = if preview { "would be " } else { "" };
    let mut text = format!("messages {verb}removed: {}\n", reply["removed_messages"]);
    for (name, what) in [
        ("restored", format!("files {verb}changed back")),
        ("kept", "files that keep later edits".to_owned()),
        ("lost", "cannot be undone".to_owned()),
    ] {
        text += &named(&what, &reply[name]);
    }
    match preview {
        true => {
            text + &format!("/rewind {number} both does it; /rewind {number} files or conversation does one part\n")
        }
        false => {
            text + &format!("the message was: {}\n/rewind undo restores all of this\n", word(&reply["instruction"]))
        }
    }
}

fn unwound(reply: &Value) -> String {
    let messages = format!("messages restored: {}\n", reply["restored_messages"]);
    messages + &named("files changed again", &reply["restored"]) + &named("files that stay", &reply["kept"])
}

/// Returns a line with files; nothing without files.
fn named(what: &str, files: &Value) -> String {
    let files: Vec<&str> = files.as_array().into_iter().flatten().map(word).collect();
    if files.is_empty() { String::new() } else { format!("{what}: {}\n", files.join(", ")) }
}

/// Reads `FILE:LINE TEXT` or `FILE:FIRST-LAST TEXT`. A path may contain spaces and colons.
fn commented(command: &str) -> Option<(&str, (u64, u64), &str)> {
    let lines_of = |word: &str| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        Some((first.parse().ok()?, last.parse().ok()?))
    };
    command.match_indices(':').find_map(|(at, _)| {
        let (lines, text) = command[at + 1..].split_once(' ')?;
        let text = text.trim();
        Some((&command[..at], lines_of(lines)?, text)).filter(|(path, ..)| !path.is_empty() && !text.is_empty())
    })
}

fn comments(list: &Value) -> String {
    let line = |(at, comment): (usize, &Value)| {
        let (start, end) = (&comment["start_line"], &comment["end_line"]);
        let lines = if start == end { format!("{start}") } else { format!("{start}-{end}") };
        let sent = if comment["sent"] == true { ", sent" } else { "" };
        let stale = if comment["stale"] == true { ", its lines have changed" } else { "" };
        format!("{}. {}:{lines}{sent}{stale}: {}\n", at + 1, word(&comment["file_path"]), word(&comment["text"]))
    };
    let lines: String = list["comments"].as_array().into_iter().flatten().enumerate().map(line).collect();
    if lines.is_empty() { "there is no comment\n".to_owned() } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_names_a_file_and_lines() {
        for (command, expected) in [
            ("a.md:3 too long", Some(("a.md", (3, 3), "too long"))),
            ("a b.md:3-5  why: so", Some(("a b.md", (3, 5), "why: so"))),
            ("c:d.md:12 x", Some(("c:d.md", (12, 12), "x"))),
            ("a.md:3", None),
            ("a.md:3 ", None),
            (":3 text", None),
            ("a.md three", None),
            ("", None),
        ] {
            assert_eq!(commented(command), expected, "{command:?}");
        }
    }
}

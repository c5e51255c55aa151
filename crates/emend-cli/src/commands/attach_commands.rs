//! Commands of `emend attach` beside messages and decisions: the queue, undo, save, and the state of the session.

use emend_agent::error_code::Code;
use serde_json::{Value, json};

use super::attach::{Seat, word};
use super::attach_limits::usage_of;
use crate::failure::Failure;

impl Seat<'_> {
    /// Lists the instructions that wait for the end of the job, or changes one of them: `edit N TEXT`, `drop N`, `send N`.
    pub(super) async fn queue(&mut self, command: &str) -> Result<(), Failure> {
        let list = self.client.get(&self.path("follow_ups")).await?;
        let (verb, rest) = command.trim().split_once(' ').unwrap_or((command.trim(), ""));
        let (number, text) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        if verb.is_empty() {
            return self.print(&listed(&list));
        }
        let chosen = number.parse::<usize>().ok().and_then(|number| list["follow_ups"].get(number.checked_sub(1)?));
        let Some(chosen) = chosen else {
            let message = format!("{verb} {number}: no text has this number; /queue lists them");
            return Err(Failure::new(Code::NotFound, message));
        };
        let path = self.path(&format!("follow_ups/{}", word(&chosen["follow_up_id"])));
        let list = match verb {
            "edit" => self.client.patch(&path, json!({ "text": text })).await?,
            "drop" => self.client.delete(&path).await?,
            "send" => self.client.post(&format!("{path}/send"), json!({})).await?,
            _ => {
                let message = format!("/queue {verb}: expected edit, drop or send");
                return Err(Failure::new(Code::InvalidArgument, message));
            }
        };
        self.print(&listed(&list))
    }

    /// Undoes or redoes the last edit or decision of the user.
    pub(super) async fn step(&mut self, command: &str) -> Result<(), Failure> {
        let review = self.client.post(&format!("/api/agent{command}"), json!({})).await?;
        self.own_revision = review["revision"].as_u64().unwrap_or_default();
        let n_files = review["files"].as_array().map_or(0, Vec::len);
        let done = if command == "/undo" { "undid your last edit or decision" } else { "redid it" };
        self.print(&format!("{done}; files with changes that wait for review: {n_files}\n"))
    }

    /// Saves the files with unsaved edits.
    pub(super) async fn save(&mut self) -> Result<(), Failure> {
        let reply = self.client.post("/api/agent/save", json!({})).await?;
        let saved: Vec<&str> =
            reply["saved"].as_array().into_iter().flatten().map(|file| word(&file["file_path"])).collect();
        match saved.is_empty() {
            true => self.print("no file has unsaved edits\n"),
            false => self.print(&format!("saved {}\n", saved.join(", "))),
        }
    }

    /// Shows the use of models with the budgets, and what waits for the user.
    pub(super) async fn status(&mut self) -> Result<(), Failure> {
        let session = self.client.get(&self.own_path()).await?;
        let review = self.client.get("/api/agent/review").await?;
        self.print(&status_of(&session, &review))
    }
}

fn listed(list: &Value) -> String {
    let follow_ups: Vec<&Value> = list["follow_ups"].as_array().into_iter().flatten().collect();
    if follow_ups.is_empty() {
        return "no text waits\n".to_owned();
    }
    let line = |(at, item): (usize, &Value)| format!("{}. {}\n", at + 1, word(&item["text"]));
    follow_ups.into_iter().enumerate().map(line).collect()
}

fn status_of(session: &Value, review: &Value) -> String {
    let mut text = format!("{} mode, model {}\n", word(&session["mode"]), word(&session["model"]));
    text += &usage_of(session);
    let waiting = session["follow_ups"].as_array().map_or(0, Vec::len);
    if waiting > 0 {
        text += &format!("texts in the queue: {waiting}\n");
    }
    let unsaved: Vec<&str> = review["unsaved"].as_array().into_iter().flatten().map(word).collect();
    if !unsaved.is_empty() {
        text += &format!("unsaved: {}\n", unsaved.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_shows_each_budget_that_there_is() {
        let session = json!({
            "mode": "review",
            "model": "offline",
            "spent": { "total_tokens": 1200, "cost_usd": 0.01, "duration_ms": 1500 },
            "budget": { "tokens": 5000, "cost_usd": 0.5, "duration_ms": 0 },
            "job_budget": { "tokens": 0, "cost_usd": 0.0, "duration_ms": 60000 },
            "job": { "usage": { "total_tokens": 200, "cost_usd": 0.0, "duration_ms": 40 } },
            "follow_ups": [{ "text": "x" }],
        });
        let expected = "review mode, model offline\nsession: 1200 of 5000 tokens, $0.0100 of $0.5000, 1.5 s\n\
                        newest job: 200 tokens, $0.0000, 0.0 s of 60.0 s\ntexts in the queue: 1\nunsaved: a.md\n";
        assert_eq!(status_of(&session, &json!({ "unsaved": ["a.md"] })), expected);
    }
}

//! `/mode` and `/budget` of `emend attach`: how edits reach the disk, and what models may use.

use emend_agent::error_code::Code;
use emend_agent::service::{Budget, Spent};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::attach::{Seat, word};
use crate::budget;
use crate::failure::Failure;

/// The ways to work, with their meanings.
const MODES: [(&str, &str); 3] = [
    ("ask", "each edit is asked about before it is written"),
    ("review", "edits wait for /review"),
    ("direct", "edits are written at once; /rewind takes those of a job back"),
];

impl Seat<'_> {
    /// Shows how edits reach the disk, or sets it from the next job on.
    pub(super) async fn choose_mode(&mut self, wanted: &str) -> Result<(), Failure> {
        if wanted.is_empty() {
            let line = |(name, what): &(&str, &str)| {
                format!("{} {name:6}  {what}\n", if *name == self.mode { "*" } else { " " })
            };
            let lines: String = MODES.iter().map(line).collect();
            return self.print(&format!("{lines}/mode NAME chooses one\n"));
        }
        if !MODES.iter().any(|(name, _)| *name == wanted) {
            let message = format!("/mode {wanted}: expected ask, review or direct; nothing was done");
            return Err(Failure::new(Code::InvalidArgument, message));
        }
        let session = self.client.patch(&self.own_path(), json!({ "mode": wanted })).await?;
        self.mode = word(&session["mode"]).to_owned();
        self.print(&format!("{} mode, from the next job on\n", self.mode))
    }

    /// Shows the budgets, or changes one: of the session, or of each job.
    pub(super) async fn budget(&mut self, words: &str) -> Result<(), Failure> {
        let session = self.client.get(&self.own_path()).await?;
        if words.is_empty() {
            let hint = format!("/budget {} limits all jobs together, /budget job ... each job\n", budget::USAGE);
            return self.print(&(usage_of(&session) + &hint));
        }
        let (field, words) = match words.split_once(char::is_whitespace) {
            Some(("job", words)) => ("job_budget", words),
            _ => ("budget", words),
        };
        let wrong = |what: String| Failure::new(Code::InvalidArgument, format!("/budget: {what}; nothing was done"));
        let budget = budget::changed(read(&session[field]), words).map_err(wrong)?;
        let session = self.client.patch(&self.own_path(), json!({ field: budget })).await?;
        // The newest job is not part of the reply.
        let shown: Budget = read(&session[field]);
        let used = if field == "budget" { read(&session["spent"]) } else { Spent::default() };
        let name = if field == "budget" { "session" } else { "each job" };
        self.print(&budget::line(name, &used, &shown))
    }

    /// Returns the path of the session.
    pub(super) fn own_path(&self) -> String {
        format!("/api/agent/sessions/{}", self.session)
    }
}

/// Reads a part of a reply; a part that is absent has its default.
fn read<T: DeserializeOwned + Default>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_default()
}

/// Returns the use of models by a session and its newest job, with the budgets of both.
pub(super) fn usage_of(session: &Value) -> String {
    let of = |name: &str, used: &Value, limits: &Value| budget::line(name, &read(used), &read(limits));
    of("session", &session["spent"], &session["budget"])
        + &of("newest job", &session["job"]["usage"], &session["job_budget"])
}

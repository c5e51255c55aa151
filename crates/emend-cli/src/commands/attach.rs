//! `emend attach`: joins a session of a server, shows its conversation and events, and sends messages and answers.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use emend_agent::approval::{Approval, ApprovalRequest};
use emend_agent::error_code::Code;
use emend_agent::service::api::parse_query;
use emend_agent::tools::NO_USER_ANSWER;
use emend_llm::CancelToken;
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use serde_json::{Value, json};

use super::attach_client::{Client, LOST, RESTORED};
use super::attach_output::{LiveOutput, MessageText};
use super::attach_question::OpenQuestion;
use super::attach_review::SeenHunk;
use crate::approve::{PROMPT, approval, prompt, question};
use crate::args::AttachArgs;
use crate::failure::Failure;
use crate::signals::CancelOnSignal;
use crate::terminal::is_command;
use crate::visible::{self, visible_lines};
use crate::wrap::folded;

const HELP: &str = "\
A line starts a job, answers the open question, or steers the running job.
If a tool call waits: y allows it, n refuses it, a allows it always, any other text refuses it with that reason.
Other commands:
  /next TEXT  run TEXT after the current job
  /allow, /always, /deny [REASON]  decide on the tool call that waits, as y, a and n do
  /review     show the changes of this session that wait for review
  /accept [NUMBER|FILE]..., /reject [NUMBER|FILE]...
              decide on the changes that /review has shown: all, or those of these numbers or files
  /undo, /redo      undo the last edit or decision, or redo it
  /rewind     list the jobs; /rewind N shows what going back to before job N would change,
              /rewind N both|files|conversation does it, and /rewind undo undoes it
  /comment FILE:LINE TEXT    comment on a line, or on lines FIRST-LAST
  /comments   list the comments; /comments send gives them to the agent, /comments drop N
  /save       write files with unsaved edits of an editor to the disk
  /queue      list the texts that wait; /queue edit N TEXT, /queue drop N, /queue send N
  /status     show what the session has used, its budgets, and unsaved files
  /mode [ask|review|direct]
              show or set how edits reach the disk: ask before each, review at the end, or directly
  /canvas [FILE|off]
              show the canvas, or open a file in it: the agent then edits this file line by line and gives it back as
              soon as you edit it or write; off takes the canvas tools away
  /budget [tokens N|cost USD|time TIME|none]
              show or set the limits of all jobs of the session together; /budget job ... those of each job
  /cancel     cancel the running job, as Ctrl-C does
  /sessions [active|archived|all] [TEXT]
              list the active sessions of the server, or those with another status or with a text
  /archive, /unarchive [NUMBER|ID]
              archive this session, or one of the list, or make it active again
  /quit       detach; the job goes on";

/// The commands that take no argument.
const WITHOUT_ARGUMENT: [&str; 11] =
    ["/help", "/quit", "/exit", "/cancel", "/allow", "/always", "/review", "/undo", "/redo", "/save", "/status"];

pub(crate) async fn attach(args: AttachArgs) -> Result<ExitCode, Failure> {
    join(&args).await?;
    writeln!(visible::listing(), "detached; the session goes on at the server")?;
    Ok(ExitCode::SUCCESS)
}

/// Joins a session until the user leaves.
pub(super) async fn join(args: &AttachArgs) -> Result<(), Failure> {
    let client = connect(&args.url, args.token_file.as_deref())?;
    let mut seat = Seat::take(&client, args).await?;
    let mut lines = read_lines();
    let mut events = client.events(seat.seq);
    let mut signals = CancelOnSignal::begin(&CancelToken::new());
    loop {
        let outcome = tokio::select! {
            message = events.next() => {
                let message = message?;
                seat.show(&message)?;
                // The end of a job may be among the missing events.
                if message["type"] == RESYNC { seat.rejoin().await.map(|()| true) } else { Ok(true) }
            }
            line = lines.next() => match line {
                // Keys such as Esc arrive as control characters before the text.
                Some(line) => seat.enter(line.trim_matches(|c: char| c.is_whitespace() || c.is_control())).await,
                None => Ok(false),
            },
            () = signals.interrupted() => seat.interrupt().await,
        };
        match outcome {
            Ok(true) => {}
            Ok(false) => break,
            // The service refused one request; the conversation goes on.
            Err(failure) => {
                let mut stderr = visible::stderr();
                writeln!(stderr, "{}", failure.line())?;
                failure.suggestions.iter().try_for_each(|suggestion| writeln!(stderr, "  try: {suggestion}"))?;
            }
        }
    }
    Ok(())
}

/// Returns a client of the server at an address. The token is in a file, in the address or in the environment.
pub(super) fn connect(url: &str, token_file: Option<&Path>) -> Result<Client, Failure> {
    let (base, in_url) = split(url)?;
    Ok(Client::new(&base, &token(token_file, in_url)?))
}

/// Returns the address without query, and the token of the query.
fn split(url: &str) -> Result<(String, Option<String>), Failure> {
    if !url.starts_with("http://") && !url.starts_with("https://") {
        let message = format!("{url:?} is not an address; emend serve prints one, e.g. http://127.0.0.1:4120/");
        return Err(Failure::new(Code::InvalidArgument, message));
    }
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let token = parse_query(query).into_iter().find(|(name, _)| name == "token").map(|(_, token)| token);
    Ok((base.to_owned(), token))
}

fn token(file: Option<&Path>, in_url: Option<String>) -> Result<String, Failure> {
    if let Some(file) = file {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::new(Code::IoError, format!("cannot read {}: {error}", file.display())))?;
        return Ok(text.trim().to_owned());
    }
    let of_environment = || std::env::var("EMEND_TOKEN").ok().filter(|token| !token.trim().is_empty());
    in_url.or_else(of_environment).ok_or_else(|| {
        let message = "no token; give the whole address that emend serve prints, --token-file or EMEND_TOKEN";
        Failure::new(Code::Configuration, message)
    })
}

/// Reads lines on a thread of its own, because reading a terminal blocks.
fn read_lines() -> UnboundedReceiver<String> {
    let (sender, lines) = unbounded();
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.unbounded_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Type of the message that events are missing.
const RESYNC: &str = "resync_required";

/// Messages of the conversation that are shown to a terminal that joins.
const MESSAGES_MAX: usize = 40;

/// A place in a session.
pub(super) struct Seat<'a> {
    pub(super) client: &'a Client,
    pub(super) session: String,
    /// How edits reach the disk.
    pub(super) mode: String,
    /// Number of the last event of the snapshot.
    seq: u64,
    /// The job that runs, if any.
    pub(super) job: Option<String>,
    question: Option<OpenQuestion>,
    /// Ids of the tool calls that wait for approval.
    approvals: Vec<String>,
    /// The hunks that the user has seen by `/review`, in the order of their numbers.
    pub(super) seen: Vec<SeenHunk>,
    /// Workspace revision of the last decision, undo or redo of this terminal.
    pub(super) own_revision: u64,
    /// The file that this terminal has opened in the canvas.
    pub(super) opened: Option<String>,
    /// Ids of the sessions of the last list, in the order of their numbers.
    pub(super) listed: Vec<String>,
    /// Whether the last output was a part of a line.
    in_line: bool,
    output: LiveOutput,
    message: MessageText,
}

impl<'a> Seat<'a> {
    async fn take(client: &'a Client, args: &AttachArgs) -> Result<Self, Failure> {
        let newest = client.get("/api/agent/sessions?limit=1&status=active").await?;
        let newest = newest["sessions"][0]["session_id"].as_str().map(str::to_owned);
        let known = args.session.clone().or(newest).filter(|_| !args.new);
        let session = match known {
            Some(id) => id,
            None => {
                let created = client.post("/api/agent/sessions", json!({})).await?;
                created["session_id"].as_str().unwrap_or_default().to_owned()
            }
        };
        let snapshot = client.get(&format!("/api/agent/sessions/{session}")).await?;
        let mut seat = Self {
            client,
            session,
            mode: word(&snapshot["mode"]).to_owned(),
            seq: snapshot["seq"].as_u64().unwrap_or_default(),
            job: None,
            question: None,
            approvals: Vec::new(),
            seen: Vec::new(),
            own_revision: 0,
            opened: None,
            listed: Vec::new(),
            in_line: false,
            output: LiveOutput::default(),
            message: MessageText::default(),
        };
        seat.sessions("active").await?;
        seat.print(&format!(
            "session {} ({} mode)\n/help lists the commands\n",
            seat.session,
            word(&snapshot["mode"])
        ))?;
        let chat = snapshot["chat"].as_array().into_iter().flatten();
        let chat: Vec<&Value> = chat.filter(|message| message["role"] != "tool" && message["text"] != "").collect();
        let n_earlier = chat.len().saturating_sub(MESSAGES_MAX);
        if n_earlier > 0 {
            seat.print(&format!("… {n_earlier} earlier messages; emend sessions show has all\n"))?;
        }
        for message in chat.into_iter().skip(n_earlier) {
            let mark = if message["role"] == "assistant" { "" } else { "> " };
            seat.print(&format!("{mark}{}\n", word(&message["text"])))?;
        }
        seat.join_job(&snapshot["job"])?;
        Ok(seat)
    }

    /// Reads the state of the session again.
    async fn rejoin(&mut self) -> Result<(), Failure> {
        let session = self.client.get(&self.own_path()).await?;
        (self.job, self.question) = (None, None);
        self.approvals.clear();
        self.mode = word(&session["mode"]).to_owned();
        self.join_job(&session["job"])
    }

    /// Takes over the state of a job.
    fn join_job(&mut self, job: &Value) -> Result<(), Failure> {
        if !matches!(job["status"].as_str(), Some("queued" | "running" | "waiting_for_user")) {
            return Ok(());
        }
        self.job = job["job_id"].as_str().map(str::to_owned);
        if !job["question"].is_null() {
            self.ask(&job["question"])?;
        }
        for approval in job["approvals"].as_array().into_iter().flatten() {
            self.ask_approval(approval)?;
        }
        Ok(())
    }

    /// Shows a message of the stream.
    fn show(&mut self, message: &Value) -> Result<(), Failure> {
        let data = &message["data"];
        let kind = message["type"].as_str().unwrap_or_default();
        if kind == RESYNC {
            return self.print("some events are no longer kept; attach again to see the whole conversation\n");
        }
        if kind == LOST {
            return self.print_lines("(the server cannot be reached; this terminal tries again)\n");
        }
        if kind == RESTORED {
            return self.print_lines("(the server is reached again)\n");
        }
        if message["session_id"] != self.session.as_str() {
            return Ok(());
        }
        match kind {
            "job.started" => {
                self.job = message["job_id"].as_str().map(str::to_owned);
                self.print_lines(&format!("> {}\n", word(&data["instruction"])))
            }
            "job.resumed" => {
                self.message.begin_again();
                Ok(())
            }
            "message.started" => {
                self.message.begin();
                Ok(())
            }
            "message.delta" => {
                let text = self.message.push(word(&data["delta"]));
                if text.is_empty() { Ok(()) } else { self.print(&text) }
            }
            "message.completed" => {
                self.message = MessageText::default();
                self.end_line()
            }
            "message.steered" => self.print_lines(&format!("> {}\n", word(&data["text"]))),
            "tool.call.requested" => self.print(&format!("· {} {}\n", word(&data["tool"]), data["arguments"])),
            "tool.call.output" => {
                let lines = self.output.push(word(&data["tool_call_id"]), word(&data["delta"]));
                self.print_lines(&lines)
            }
            "tool.call.completed" => {
                let mut lines = self.output.end(word(&data["tool_call_id"]));
                if data["ok"] == false {
                    lines += &format!("  failed: {}\n", word(&data["error"]["message"]));
                }
                self.print_lines(&lines)
            }
            "clarification.requested" => self.ask(data),
            "clarification.received" => {
                self.question = None;
                self.print_lines(&answered(word(&data["answer"])))
            }
            "approval.requested" => self.ask_approval(data),
            "approval.resolved" => {
                self.approvals.retain(|id| data["tool_call_id"] != id.as_str());
                self.print_lines(&resolved(data))
            }
            "review.updated" => self.show_review(data),
            "session.updated" => self.show_session(data),
            "canvas.lease" if data["state"] == "preempted" => {
                self.print_lines(&format!("  the user took back {}\n", word(&data["file_path"])))
            }
            "session.rewound" => self.print_lines("(the session went back to before a job; /rewind undo undoes it)\n"),
            "diff.generated" => {
                self.job = None;
                let files: Vec<&str> = data["files"].as_array().into_iter().flatten().map(word).collect();
                self.print(&format!("changes wait for review in {}; /review shows them\n", files.join(", ")))
            }
            "limit.reached" => {
                let limit = word(&data["limit"]).replace('_', " ");
                self.print(&format!("the job reached its limit ({limit}); /status shows it, /budget changes limits\n"))
            }
            "job.error" | "job.warning" => self.print(&format!("{}\n", word(&data["message"]))),
            _ if kind.starts_with("job.") => self.show_end(kind),
            _ => Ok(()),
        }
    }

    fn show_end(&mut self, kind: &str) -> Result<(), Failure> {
        if matches!(kind, "job.completed" | "job.settled" | "job.failed" | "job.cancelled" | "job.awaiting_review") {
            self.job = None;
            self.question = None;
            self.approvals.clear();
            self.print(&format!("[{}]\n", kind.trim_start_matches("job.").replace('_', " ")))?;
        }
        Ok(())
    }

    fn ask(&mut self, question: &Value) -> Result<(), Failure> {
        self.question = OpenQuestion::of(question);
        match self.question.as_ref().map(OpenQuestion::prompt) {
            Some(prompt) => self.print(&prompt),
            None => Ok(()),
        }
    }

    /// Shows a decision on changes by another client. The changes that this terminal has shown before are out of date then.
    fn show_review(&mut self, data: &Value) -> Result<(), Failure> {
        let Some(what) = data["by"].as_str().and_then(review_change) else { return Ok(()) };
        if data["revision"].as_u64().is_some_and(|revision| revision <= self.own_revision) {
            return Ok(());
        }
        self.seen.clear();
        self.print_lines(&format!("(elsewhere, {what}; /review shows what waits)\n"))
    }

    /// Shows a change of the session by another client.
    fn show_session(&mut self, data: &Value) -> Result<(), Failure> {
        let mode = word(&data["mode"]);
        if data["status"] == "archived" {
            self.print_lines("(the session is archived)\n")?;
        }
        if mode.is_empty() || mode == self.mode {
            return Ok(());
        }
        self.mode = mode.to_owned();
        self.print_lines(&format!("(the session is in {mode} mode now)\n"))
    }

    fn ask_approval(&mut self, approval: &Value) -> Result<(), Failure> {
        self.approvals.extend(approval["tool_call_id"].as_str().map(str::to_owned));
        let request = ApprovalRequest {
            call_id: word(&approval["tool_call_id"]).to_owned(),
            tool_name: word(&approval["tool"]).to_owned(),
            arguments: approval["arguments"].clone(),
            detail: approval["detail"].clone(),
        };
        self.end_line()?;
        self.print(&format!("{}\n{}\n", question(&request), prompt(&request)))
    }

    /// Carries out a line of the user. Returns whether the user stays.
    async fn enter(&mut self, line: &str) -> Result<bool, Failure> {
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if WITHOUT_ARGUMENT.contains(&command) && !rest.is_empty() {
            self.print(&format!("{command} takes no argument, so {rest:?} is not understood; nothing was done\n"))?;
            return Ok(true);
        }
        match command {
            "" => {}
            "/quit" | "/exit" => return Ok(false),
            "/help" => self.print(&format!("{HELP}\n"))?,
            "/sessions" => self.sessions(rest).await?,
            "/archive" => self.archive(rest, true).await?,
            "/unarchive" => self.archive(rest, false).await?,
            "/mode" => self.choose_mode(rest).await?,
            "/canvas" => self.canvas(rest).await?,
            "/budget" => self.budget(rest).await?,
            "/cancel" => drop(self.cancel().await?),
            "/allow" => self.decide("allow", None).await?,
            "/always" => self.decide("allow_always", None).await?,
            "/deny" => self.decide("deny", Some(rest).filter(|reason| !reason.is_empty())).await?,
            "/review" => self.review().await?,
            "/accept" => self.settle("accept", rest).await?,
            "/reject" => self.settle("reject", rest).await?,
            "/next" if rest.is_empty() => self.print("/next needs the text of the message; nothing was done\n")?,
            "/next" => drop(self.client.post(&self.path("follow_ups"), json!({ "text": rest })).await?),
            "/queue" => self.queue(rest).await?,
            "/undo" | "/redo" => self.step(command).await?,
            "/rewind" => self.rewind(rest).await?,
            "/comment" => self.comment(rest).await?,
            "/comments" => self.comments(rest).await?,
            "/save" => self.save().await?,
            "/status" => self.status().await?,
            _ if is_command(line) => self.print(&format!("there is no command {command}; /help lists them\n"))?,
            _ if self.question.is_none() && !self.approvals.is_empty() => self.answer(line).await?,
            _ => self.send(line).await?,
        }
        Ok(true)
    }

    /// Returns the path of a part of the session.
    pub(super) fn path(&self, part: &str) -> String {
        format!("/api/agent/sessions/{}/{part}", self.session)
    }

    /// Decides on the tool call that waits, as the user answers in a conversation.
    async fn answer(&mut self, line: &str) -> Result<(), Failure> {
        match approval(line) {
            Some(Approval::Allow) => self.decide("allow", None).await,
            Some(Approval::AllowAlways) => self.decide("allow_always", None).await,
            Some(Approval::Deny { reason }) => self.decide("deny", reason.as_deref()).await,
            None => self.print(&format!("{PROMPT}\n")),
        }
    }

    async fn send(&mut self, line: &str) -> Result<(), Failure> {
        match (&self.job, &mut self.question) {
            (Some(job), Some(question)) => {
                let answer = match question.take(line) {
                    Ok(answer) => answer,
                    Err(asked) => return self.print(&asked),
                };
                let body = json!({ "question_id": question.id, "answer": answer });
                self.client.post(&format!("/api/agent/jobs/{job}/clarify"), body).await?;
            }
            (Some(job), None) => {
                self.client.post(&format!("/api/agent/jobs/{job}/steer"), json!({ "text": line })).await?;
            }
            (None, _) => {
                let body = json!({ "session_id": self.session, "instruction": line });
                let reply = self.client.post("/api/agent/run", body).await?;
                self.job = reply["job_id"].as_str().map(str::to_owned);
            }
        }
        Ok(())
    }

    async fn decide(&mut self, decision: &str, reason: Option<&str>) -> Result<(), Failure> {
        let (Some(job), Some(call)) = (&self.job, self.approvals.first()) else {
            return self.print("no tool call waits for a decision\n");
        };
        let mut body = json!({ "tool_call_id": call, "decision": decision });
        if let Some(reason) = reason {
            body["reason"] = json!(reason);
        }
        self.client.post(&format!("/api/agent/jobs/{job}/approve"), body).await?;
        Ok(())
    }

    /// Cancels the running job. Returns whether there is one.
    async fn cancel(&mut self) -> Result<bool, Failure> {
        let Some(job) = self.job.clone() else { return Ok(false) };
        self.client.post(&format!("/api/agent/jobs/{job}/cancel"), json!({})).await?;
        Ok(true)
    }

    /// Answers Ctrl-C: it cancels the job, and detaches if none runs. Returns whether the user stays.
    async fn interrupt(&mut self) -> Result<bool, Failure> {
        let is_cancelled = self.cancel().await?;
        if is_cancelled {
            self.print("cancelling the job; /quit or Ctrl-D detaches without cancelling\n")?;
        }
        Ok(is_cancelled)
    }

    pub(super) fn end_line(&mut self) -> Result<(), Failure> {
        if self.in_line { self.print("\n") } else { Ok(()) }
    }

    /// Prints whole lines, if there are any.
    pub(super) fn print_lines(&mut self, lines: &str) -> Result<(), Failure> {
        if lines.is_empty() {
            return Ok(());
        }
        self.end_line()?;
        self.print(lines)
    }

    /// Prints a text, on a line of its own unless it continues one.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Failure> {
        let mut text = visible_lines(text);
        if !self.in_line && text.ends_with('\n') {
            text = folded(&text);
        }
        let mut stdout = std::io::stdout().lock();
        write!(stdout, "{text}")?;
        stdout.flush()?;
        self.in_line = !text.is_empty() && !text.ends_with('\n');
        Ok(())
    }
}

/// Returns the line about the answer to a question.
fn answered(answer: &str) -> String {
    let answer = if answer == NO_USER_ANSWER { "(skipped)" } else { answer };
    answer.lines().map(|line| format!("  answered: {line}\n")).collect()
}

/// Returns the line about a decision on a tool call.
fn resolved(data: &Value) -> String {
    let reason = data["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
    match word(&data["decision"]) {
        "allowed" => "  allowed\n".to_owned(),
        "allowed_always" => "  allowed, and always from now on\n".to_owned(),
        "denied" => format!("  refused{reason}\n"),
        // The job was cancelled, which has a line of its own.
        _ => String::new(),
    }
}

/// Returns the words about a change of the review; `None` for one that is not a decision.
fn review_change(by: &str) -> Option<&'static str> {
    Some(match by {
        "decision" => "changes were accepted or rejected",
        "apply" => "changes were applied",
        "undo" => "an edit or a decision was undone",
        "redo" => "an edit or a decision was redone",
        "edit_hunk" => "a change was edited",
        "split" => "a change was split",
        "rollback" => "a job was rolled back",
        _ => return None,
    })
}

/// Returns a text of JSON, empty for other values.
pub(super) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_taken_out_of_the_address() {
        let split = |url| split(url).map_err(|failure| failure.code);
        assert_eq!(split("http://h:1/?token=a%2Db"), Ok(("http://h:1/".to_owned(), Some("a-b".to_owned()))));
        assert_eq!(split("http://h:1"), Ok(("http://h:1".to_owned(), None)));
        assert_eq!(split("h:1"), Err(Code::InvalidArgument));
    }
}

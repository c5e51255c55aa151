//! `emend attach`: joins a session of a server, shows its conversation and events, and sends messages and answers.

use std::collections::BTreeSet;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use emend_agent::approval::{Approval, ApprovalRequest};
use emend_agent::error_code::Code;
use emend_agent::service::api::parse_query;
use emend_llm::CancelToken;
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use serde_json::{Value, json};

use super::attach_client::Client;
use super::attach_output::LiveOutput;
use super::attach_question::OpenQuestion;
use crate::approve::{PROMPT, approval, prompt, question};
use crate::args::AttachArgs;
use crate::failure::Failure;
use crate::signals::CancelOnSignal;
use crate::terminal::is_command;
use crate::text_diff::place;
use crate::visible::{self, visible, visible_lines};
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
  /cancel     cancel the running job, as Ctrl-C does
  /sessions   list the sessions of the server
  /quit       detach; the job goes on";

/// The commands that take no argument.
const WITHOUT_ARGUMENT: [&str; 12] = [
    "/help",
    "/quit",
    "/exit",
    "/sessions",
    "/cancel",
    "/allow",
    "/always",
    "/review",
    "/undo",
    "/redo",
    "/save",
    "/status",
];

pub(crate) async fn attach(args: AttachArgs) -> Result<ExitCode, Failure> {
    join(&args).await?;
    writeln!(visible::listing(), "detached; the session goes on at the server")?;
    Ok(ExitCode::SUCCESS)
}

/// Joins a session until the user leaves.
pub(super) async fn join(args: &AttachArgs) -> Result<(), Failure> {
    let (base, in_url) = split(&args.url)?;
    let token = token(args.token_file.as_deref(), in_url)?;
    let client = Client::new(&base, &token);
    let mut seat = Seat::take(&client, args).await?;
    let mut lines = read_lines();
    let mut events = client.events(seat.seq);
    let mut signals = CancelOnSignal::begin(&CancelToken::new());
    loop {
        let outcome = tokio::select! {
            message = events.next() => { seat.show(&message?)?; Ok(true) }
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
            Err(failure) => writeln!(visible::stderr(), "{}", failure.line())?,
        }
    }
    Ok(())
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

/// A hunk that `/review` has shown.
struct SeenHunk {
    id: String,
    path: String,
    is_decided: bool,
}

/// A place in a session.
pub(super) struct Seat<'a> {
    pub(super) client: &'a Client,
    pub(super) session: String,
    /// Number of the last event of the snapshot.
    seq: u64,
    /// The job that runs, if any.
    pub(super) job: Option<String>,
    question: Option<OpenQuestion>,
    /// Ids of the tool calls that wait for approval.
    approvals: Vec<String>,
    /// The hunks that the user has seen by `/review`, in the order of their numbers.
    seen: Vec<SeenHunk>,
    /// Whether the last output was a part of a line.
    in_line: bool,
    output: LiveOutput,
}

impl<'a> Seat<'a> {
    async fn take(client: &'a Client, args: &AttachArgs) -> Result<Self, Failure> {
        let list = client.get("/api/agent/sessions?limit=20&status=active").await?;
        print_sessions(&list)?;
        let newest = list["sessions"][0]["session_id"].as_str().map(str::to_owned);
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
            seq: snapshot["seq"].as_u64().unwrap_or_default(),
            job: None,
            question: None,
            approvals: Vec::new(),
            seen: Vec::new(),
            in_line: false,
            output: LiveOutput::default(),
        };
        seat.print(&format!(
            "session {} ({} mode)\n/help lists the commands\n",
            seat.session,
            word(&snapshot["mode"])
        ))?;
        let chat = snapshot["chat"].as_array().into_iter().flatten();
        for message in chat.filter(|message| message["role"] != "tool" && message["text"] != "") {
            let mark = if message["role"] == "user" { "> " } else { "" };
            seat.print(&format!("{mark}{}\n", word(&message["text"])))?;
        }
        seat.join_job(&snapshot["job"])?;
        Ok(seat)
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
        if kind == "resync_required" {
            return self.print("some events are no longer kept; attach again to see the whole conversation\n");
        }
        if message["session_id"] != self.session.as_str() {
            return Ok(());
        }
        match kind {
            "job.started" => {
                self.job = message["job_id"].as_str().map(str::to_owned);
                self.print(&format!("> {}\n", word(&data["instruction"])))
            }
            "message.delta" => self.print(word(&data["delta"])),
            "message.completed" => self.end_line(),
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
                Ok(())
            }
            "approval.requested" => self.ask_approval(data),
            "approval.resolved" => {
                self.approvals.retain(|id| data["tool_call_id"] != id.as_str());
                Ok(())
            }
            "diff.generated" => {
                self.job = None;
                let files: Vec<&str> = data["files"].as_array().into_iter().flatten().map(word).collect();
                self.print(&format!("changes wait for review in {}; /review shows them\n", files.join(", ")))
            }
            "job.error" | "job.warning" => self.print(&format!("{}\n", word(&data["message"]))),
            _ if kind.starts_with("job.") => self.show_end(kind),
            _ => Ok(()),
        }
    }

    fn show_end(&mut self, kind: &str) -> Result<(), Failure> {
        if matches!(kind, "job.completed" | "job.failed" | "job.cancelled" | "job.awaiting_review") {
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

    /// Shows the pending hunks of the session.
    async fn review(&mut self) -> Result<(), Failure> {
        let review = self.client.get(&format!("/api/agent/review?session_id={}", self.session)).await?;
        self.seen.clear();
        let mut text = String::new();
        for file in review["files"].as_array().into_iter().flatten() {
            let (path, operation) = (word(&file["file_path"]), word(&file["operation"]));
            text += &format!("{path} ({operation}, +{} -{})\n", file["added"], file["removed"]);
            for hunk in file["hunks"].as_array().into_iter().flatten() {
                let id = word(&hunk["hunk_id"]).to_owned();
                self.seen.push(SeenHunk { id, path: path.to_owned(), is_decided: false });
                let number = |name: &str| hunk[name].as_u64().unwrap_or_default() as usize;
                let (old, new) = (number("old_start"), number("new_start"));
                let place = place((old, number("old_lines")), (new, number("new_lines")));
                text += &format!("{place} change {}\n", self.seen.len());
                text.extend(hunk["lines"].as_array().into_iter().flatten().map(diff_line));
            }
        }
        match self.seen.is_empty() {
            true => self.print("no change waits for review\n"),
            false => {
                let help = "/accept or /reject decides on all of them, /accept NUMBER or FILE on one";
                self.print(&format!("{text}{help}\n"))
            }
        }
    }

    /// Decides on the hunks that the user has seen: on all, or on those of the numbers and files in `named`.
    async fn settle(&mut self, decision: &str, named: &str) -> Result<(), Failure> {
        if self.seen.iter().all(|hunk| hunk.is_decided) {
            return self.print("/review shows the changes first\n");
        }
        let chosen = match chosen(&self.seen, named) {
            Ok(chosen) => chosen,
            Err(wrong) => return self.print(&format!("{wrong}; nothing was decided\n")),
        };
        let ids: Vec<&str> = chosen.iter().filter_map(|&at| Some(self.seen.get(at)?.id.as_str())).collect();
        self.client.post("/api/agent/decisions", json!({ "decision": decision, "hunk_ids": ids })).await?;
        for &at in &chosen {
            if let Some(hunk) = self.seen.get_mut(at) {
                hunk.is_decided = true;
            }
        }
        let n_left = self.seen.iter().filter(|hunk| !hunk.is_decided).count();
        let changes = |n: usize| if n == 1 { "1 change".to_owned() } else { format!("{n} changes") };
        let left = if n_left == 0 { String::new() } else { format!("; {} left", changes(n_left)) };
        self.print(&format!("{decision}ed {}{left}\n", changes(chosen.len())))
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
            "/sessions" => print_sessions(&self.client.get("/api/agent/sessions?limit=20").await?)?,
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
                let Some(answer) = question.take(line) else {
                    let prompt = question.prompt();
                    return self.print(&prompt);
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

    fn end_line(&mut self) -> Result<(), Failure> {
        if self.in_line { self.print("\n") } else { Ok(()) }
    }

    /// Prints whole lines, if there are any.
    fn print_lines(&mut self, lines: &str) -> Result<(), Failure> {
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

/// Returns the indexes of undecided hunks that numbers and files name; all if none is named.
fn chosen(seen: &[SeenHunk], named: &str) -> Result<Vec<usize>, String> {
    let open = || seen.iter().enumerate().filter(|(_, hunk)| !hunk.is_decided);
    if named.is_empty() {
        return Ok(open().map(|(at, _)| at).collect());
    }
    let mut chosen = BTreeSet::new();
    let mut take = |name: &str| {
        let number = name.parse::<usize>().ok();
        let of_name = |(at, hunk): &(usize, &SeenHunk)| number.map_or(hunk.path == name, |number| number == at + 1);
        let n_before = chosen.len();
        chosen.extend(open().filter(of_name).map(|(at, _)| at));
        chosen.len() > n_before
    };
    // A path may contain spaces.
    if !take(named) {
        for name in named.split_whitespace() {
            if !take(name) {
                return Err(format!("{name:?} is neither the number nor the file of a change that /review has shown"));
            }
        }
    }
    Ok(chosen.into_iter().collect())
}

fn print_sessions(list: &Value) -> Result<(), Failure> {
    let mut stdout = visible::listing();
    for session in list["sessions"].as_array().into_iter().flatten() {
        let title = session["title"].as_str().filter(|title| !title.is_empty()).unwrap_or("(no title)");
        // Titles come from clients and are one line, on a terminal and in a pipe.
        let title = visible(title);
        writeln!(stdout, "{}  {}  {title}", word(&session["session_id"]), word(&session["updated_at"]))?;
    }
    Ok(())
}

/// Returns a line of a hunk as in a diff.
fn diff_line(line: &Value) -> String {
    let mark = match word(&line["kind"]) {
        "added" => '+',
        "removed" => '-',
        _ => ' ',
    };
    format!("{mark}{}\n", word(&line["text"]).trim_end_matches(['\r', '\n']))
}

/// Returns a text of JSON, empty for other values.
pub(super) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_named_by_number_and_file() {
        let hunk = |path: &str, is_decided| SeenHunk { id: String::new(), path: path.to_owned(), is_decided };
        let seen = [hunk("a b.txt", false), hunk("c.txt", true), hunk("c.txt", false), hunk("3", false)];
        for (named, expected) in [
            ("", vec![0, 2, 3]),
            ("1", vec![0]),
            ("3 1", vec![0, 2]),
            ("a b.txt", vec![0]),
            ("c.txt 1", vec![0, 2]),
            ("3", vec![2]),
        ] {
            assert_eq!(chosen(&seen, named).as_deref(), Ok(expected.as_slice()), "{named:?}");
        }
        for named in ["foo", "0", "2", "5", "1 foo", "-1"] {
            assert!(chosen(&seen, named).is_err(), "{named:?}");
        }
    }

    #[test]
    fn the_token_is_taken_out_of_the_address() {
        let split = |url| split(url).map_err(|failure| failure.code);
        assert_eq!(split("http://h:1/?token=a%2Db"), Ok(("http://h:1/".to_owned(), Some("a-b".to_owned()))));
        assert_eq!(split("http://h:1"), Ok(("http://h:1".to_owned(), None)));
        assert_eq!(split("h:1"), Err(Code::InvalidArgument));
    }
}

//! One turn on the terminal: events are shown as they come, keys steer, questions are asked in place, Ctrl-C stops it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use emend_agent::approval::{Approval, ApprovalRequest, Approver};
use emend_agent::environment::FilePath;
use emend_agent::error_code::Code;
use emend_agent::event::{EndReason, ErrorInfo, Event, EventKind};
use emend_agent::session::{Run, Session};
use emend_agent::workspace::Workspace;
use emend_llm::{BoxFuture, CancelToken};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::channel::oneshot;
use serde_json::Value;
use unicode_width::UnicodeWidthChar as _;

use super::commands::is_command;
use super::terminal_input::{Act, Keys, LineEdit, Typed};
use super::markdown::{Stream, plain_width};
use super::prompt::PROMPT;
use super::screen::Screen;
use crate::approve::{approval, question, visible};
use crate::failure::Failure;
use crate::output::{first_line, target};
use crate::style::Style;
use crate::project::RunNotes;
use crate::setup::Setup;
use crate::signals::Turn;
use crate::text_diff;
use crate::trace::Trace;

/// How often the live lines are drawn anew while nothing happens.
const TICK: Duration = Duration::from_millis(100);
/// The most lines of a diff, and of a command's output, that are shown without being asked for.
const DIFF_LINES_MAX: usize = 40;
const OUTPUT_LINES_MAX: usize = 8;
/// The most lines of a text that is being written that are drawn over.
const UNFINISHED_LINES_MAX: usize = 12;

/// On a terminal of fewer columns questions leave no room for an answer.
const NARROW: usize = 60;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// A question and where its answer goes.
pub(crate) type Question = (ApprovalRequest, oneshot::Sender<Approval>);

/// Hands questions to whoever shows the turn.
pub(crate) struct Asker(UnboundedSender<Question>);

impl Asker {
    pub(crate) fn new() -> (Self, UnboundedReceiver<Question>) {
        let (sender, questions) = unbounded();
        (Self(sender), questions)
    }
}

impl Approver for Asker {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        let (sender, answer) = oneshot::channel();
        // Where nobody listens the answer is dropped, which is a refusal.
        let _ = self.0.unbounded_send((request.clone(), sender));
        Box::pin(async move { answer.await.unwrap_or(Approval::Deny { reason: None }) })
    }
}

/// How a turn ended, for whoever goes on.
pub(super) struct Ended {
    pub(super) reason: EndReason,
    /// What was typed and not entered.
    pub(super) typed: String,
    /// What was entered and is for after the turn.
    pub(super) entered: Vec<String>,
    /// Likely answers to what the model asked.
    pub(super) options: Vec<String>,
    /// Whether the user wants to leave: Ctrl-C came twice.
    pub(super) leaves: bool,
    /// What the turn failed with; it was shown.
    pub(super) failure: Option<Failure>,
}

/// Shows a turn to its end.
pub(super) async fn follow<O: Write>(
    mut run: Run,
    (cancel, signals): (&CancelToken, &mut Turn),
    setup: &Setup,
    questions: &mut UnboundedReceiver<Question>,
    screen: &mut Screen<O>,
    trace: &mut Trace,
) -> Result<Ended, Failure> {
    let mut keys = Keys::open(screen.is_live());
    screen.mark_pastes(true)?;
    let mut view = View::new(screen, &setup.project.workspace);
    let mut notes = RunNotes::new(setup.session.id());
    let mut ticks = tokio::time::interval(TICK);
    let mut leaves = false;
    // What could not be shown or noted ends the turn, which is gone through to its end all the same.
    let mut broken: Option<Failure> = None;
    loop {
        let outcome = tokio::select! {
            event = run.next() => {
                let Some(event) = event else { break };
                let taken = trace.write(&event).and(notes.take(&event.kind, &setup.project));
                match &broken {
                    None => view.show(&event).await.and(taken),
                    Some(_) => taken,
                }
            }
            Some(asked) = questions.next() => view.ask(asked).map_err(Failure::from),
            typed = keys.next() => view.typed(typed, cancel, &setup.session).map_err(Failure::from),
            () = signals.interrupted() => {
                // The turn still says how it ended.
                leaves = cancel.is_cancelled();
                cancel.cancel();
                Ok(())
            }
            _ = ticks.tick() => Ok(()),
        };
        let drawn = match &broken {
            None => outcome.and_then(|()| Ok(view.draw(cancel.is_cancelled())?)),
            Some(_) => outcome,
        };
        if let Err(failure) = drawn {
            cancel.cancel();
            broken.get_or_insert(failure);
        }
    }
    trace.flush()?;
    if let Some(failure) = broken {
        return Err(failure);
    }
    // Keys are read for as long as the turn lives; what comes now is the prompt's.
    let rest = keys.rest();
    drop(keys);
    for act in view.edit.feed(&rest) {
        if let Act::Line(line) = act {
            view.steer(&line, &setup.session)?;
        }
    }
    let (typed, entered) = (view.edit.take(), view.entered);
    let (reason, options, failure) = (view.reason, view.options, view.failure);
    let ended = Ended { reason, typed, entered, options, leaves, failure };
    screen.mark_pastes(false)?;
    screen.clear()?;
    Ok(ended)
}

/// What is running, for the line that says so.
struct Doing {
    call_id: String,
    what: String,
}

struct View<'a, O> {
    screen: &'a mut Screen<O>,
    workspace: &'a Workspace,
    began: Instant,
    edit: LineEdit,
    text: Stream,
    doing: Vec<Doing>,
    /// The end of what running commands print.
    output: String,
    /// The question that waits for an answer.
    asked: Option<Question>,
    /// The texts of files as they were shown last.
    texts: BTreeMap<FilePath, Option<String>>,
    reason: EndReason,
    has_ended: bool,
    options: Vec<String>,
    entered: Vec<String>,
    failure: Option<Failure>,
}

impl<'a, O: Write> View<'a, O> {
    fn new(screen: &'a mut Screen<O>, workspace: &'a Workspace) -> Self {
        Self {
            screen,
            workspace,
            began: Instant::now(),
            edit: LineEdit::default(),
            text: Stream::default(),
            doing: Vec::new(),
            output: String::new(),
            asked: None,
            texts: BTreeMap::new(),
            reason: EndReason::Natural,
            has_ended: false,
            options: Vec::new(),
            entered: Vec::new(),
            failure: None,
        }
    }

    /// Takes what was typed.
    fn typed(&mut self, typed: Typed, cancel: &CancelToken, session: &Session) -> io::Result<()> {
        let keys = match typed {
            Typed::Keys(keys) => keys,
            Typed::Back => {
                self.screen.forget();
                return self.screen.mark_pastes(true);
            }
        };
        for act in self.edit.feed(&keys) {
            match act {
                Act::Stop => cancel.cancel(),
                Act::End if self.asked.is_some() => self.answer("n")?,
                Act::End => {}
                Act::Line(line) if self.asked.is_some() => self.answer(&line)?,
                Act::Line(line) => self.steer(&line, session)?,
            }
        }
        Ok(())
    }

    async fn show(&mut self, event: &Event) -> Result<(), Failure> {
        match &event.kind {
            EventKind::AssistantTextDelta { delta } if !self.screen.is_live() => self.screen.write(&shown(delta))?,
            EventKind::AssistantTextDelta { delta } => {
                let lines = self.text.push(delta, self.screen.paint, self.screen.width());
                self.screen.print(&lines)?;
            }
            EventKind::AssistantTextEnd { text } => self.end_text(text)?,
            EventKind::ToolCallStart { call_id, tool_name, arguments } => self.begin(call_id, tool_name, arguments)?,
            EventKind::ToolCallOutputDelta { delta, .. } => {
                self.output.push_str(delta);
                self.output = last_lines(&self.output, OUTPUT_LINES_MAX).to_owned();
            }
            EventKind::ToolCallEnd { call_id, tool_name, output, error, .. } => {
                self.doing.retain(|doing| doing.call_id != *call_id);
                self.print_output()?;
                if let Some((style, line)) = ended(tool_name, output, error.as_ref()) {
                    self.screen.say(2, &visible(&line), Some(style))?;
                }
            }
            EventKind::FileChanged { path, .. } => self.changed(path).await?,
            EventKind::Error(error) => {
                let error = Failure::of_event(error.clone());
                self.screen.fail(&error)?;
                self.failure = Some(error);
            }
            EventKind::ProcessingEnd { reason, usage } => {
                (self.reason, self.has_ended) = (*reason, true);
                self.end(usage.input_tokens, usage.output_tokens)?;
            }
            kind => {
                if let Some(line) = aside(kind) {
                    self.screen.say(2, &visible(&line), Some(Style::Yellow))?;
                }
            }
        }
        Ok(())
    }

    fn end_text(&mut self, text: &str) -> io::Result<()> {
        if self.screen.is_live() {
            let lines = self.text.finish(self.screen.paint, self.screen.width());
            return self.screen.print(&lines);
        }
        if text.ends_with('\n') { Ok(()) } else { self.screen.write("\n") }
    }

    fn begin(&mut self, call_id: &str, tool_name: &str, arguments: &Value) -> io::Result<()> {
        if let Some(asked) = arguments["question"].as_str() {
            let options = arguments["options"].as_array().into_iter().flatten().filter_map(Value::as_str);
            self.options = options.map(str::to_owned).collect();
            let mut lines = vec![self.screen.paint.text(Style::Bold, &format!("? {}", visible(asked)))];
            let options = self.options.iter().enumerate();
            lines.extend(options.map(|(index, option)| format!("  {}. {}", index + 1, visible(option))));
            return self.screen.print(&lines);
        }
        let what = visible(format!("{tool_name} {}", target(arguments)).trim_end());
        let line = format!("{} {what}", self.screen.paint.text(Style::Cyan, "→"));
        self.doing.push(Doing { call_id: call_id.to_owned(), what });
        self.screen.print(&[line])
    }

    /// Prints the end of what a command printed.
    fn print_output(&mut self) -> io::Result<()> {
        let lines = self.output_lines();
        self.output.clear();
        self.screen.print(&lines)
    }

    fn output_lines(&self) -> Vec<String> {
        let lines = self.output.lines().map(|line| format!("  │ {}", visible(line)));
        lines.map(|line| self.screen.paint.text(Style::Dim, &line)).collect()
    }

    /// Shows what was done to a file since it was shown last.
    async fn changed(&mut self, path: &FilePath) -> Result<(), Failure> {
        let Ok(after) = self.workspace.text(path.as_str()).await else { return Ok(()) };
        let before = match self.texts.get(path) {
            Some(before) => before.clone(),
            None => {
                let runs = [self.workspace.last_run()];
                let texts = self.workspace.texts_of_runs(&runs, Some(path)).await?;
                texts.into_iter().next().map_or_else(|| after.clone(), |text| text.before)
            }
        };
        if before != after {
            let lines = text_diff::lines(self.screen.paint, path.as_str(), before.as_deref(), after.as_deref());
            self.screen.print(&shortened(lines, DIFF_LINES_MAX, "/diff shows all"))?;
        }
        self.texts.insert(path.clone(), after);
        Ok(())
    }

    fn ask(&mut self, asked: Question) -> io::Result<()> {
        let text = question(&asked.0);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let paint = self.screen.paint;
        let is_diff = shows_diff(&asked.0);
        let lines = lines.into_iter().enumerate().map(|(index, line)| match line.strip_prefix("    ") {
            _ if index == 0 => paint.text(Style::Bold, &line),
            Some(line) if is_diff => format!("    {}", text_diff::painted(paint, line, false)),
            _ => line,
        });
        let lines = shortened(lines.collect(), DIFF_LINES_MAX, "type d to see all");
        self.screen.print(&lines)?;
        if !self.screen.is_live() {
            self.screen.write(answer_prompt(&asked.0, self.screen.width()))?;
        }
        self.asked = Some(asked);
        Ok(())
    }

    fn answer(&mut self, line: &str) -> io::Result<()> {
        let Some((request, sender)) = self.asked.take() else { return Ok(()) };
        if matches!(line.trim(), "d" | "diff") && shows_diff(&request) {
            let lines: Vec<String> = question(&request).lines().map(str::to_owned).collect();
            self.screen.print(&lines)?;
            self.asked = Some((request, sender));
            return Ok(());
        }
        match approval(line) {
            Some(answer) => {
                if self.screen.is_live() {
                    self.screen.print(&[format!(
                        "{}{}",
                        answer_prompt(&request, self.screen.width()),
                        visible(line.trim())
                    )])?;
                }
                // A turn that was stopped meanwhile needs no answer.
                let _ = sender.send(answer);
            }
            None => self.asked = Some((request, sender)),
        }
        Ok(())
    }

    /// Passes a line on to the model; commands, and what came too late for that, wait until the turn is over.
    fn steer(&mut self, line: &str, session: &Session) -> io::Result<()> {
        let note = if self.has_ended || is_command(line) {
            self.entered.push(line.to_owned());
            "queued until the agent is done".to_owned()
        } else {
            let steered = session.steer(line);
            steered.map_or_else(|error| error.to_string(), |()| "sent to the model after this step".to_owned())
        };
        let note = self.screen.paint.text(Style::Dim, &format!("({note})"));
        self.screen.print(&[format!("{PROMPT}{}  {note}", visible(first_line(line)))])
    }

    fn end(&mut self, n_in: u64, n_out: u64) -> io::Result<()> {
        self.print_output()?;
        let seconds = self.began.elapsed().as_secs();
        let how = match self.reason {
            EndReason::Aborted => "interrupted · ",
            EndReason::TurnLimit => "limit of rounds reached · ",
            EndReason::ContextLength => "conversation too long for the model, use /compact · ",
            EndReason::Natural | EndReason::AwaitingInput | EndReason::Error => "",
        };
        let line = format!("{how}{seconds} s · {n_in} tokens in, {n_out} out");
        self.screen.print(&[self.screen.paint.text(Style::Dim, &line), String::new()])
    }

    /// Draws what changes: the text that is being written, a command's output, what is going on, what is being typed.
    fn draw(&mut self, is_stopping: bool) -> io::Result<()> {
        let mut lines = self.text.unfinished(self.screen.width());
        lines.drain(..lines.len().saturating_sub(UNFINISHED_LINES_MAX));
        lines.extend(self.output_lines());
        let width = self.screen.width();
        let typed = self.edit.text().replace('\n', "⏎");
        if let Some((request, _)) = &self.asked {
            lines.push(end_of(&format!("{}{typed}", answer_prompt(request, width)), width));
            return self.screen.draw(lines);
        }
        let seconds = self.began.elapsed().as_secs();
        let what = match self.doing.as_slice() {
            _ if is_stopping => "stopping".to_owned(),
            [] => "thinking".to_owned(),
            [doing] => doing.what.clone(),
            [doing, rest @ ..] => format!("{} and {} more", doing.what, rest.len()),
        };
        // By time, not by how often this is drawn.
        let frame = SPINNER[(self.began.elapsed().as_millis() / TICK.as_millis()) as usize % SPINNER.len()];
        lines.push(self.screen.paint.text(Style::Dim, &format!("{frame} {seconds} s · {what} · Ctrl-C to stop")));
        if !typed.is_empty() {
            lines.push(end_of(&format!("{PROMPT}{typed}"), width));
        }
        self.screen.draw(lines)
    }
}

/// Returns what the line begins with in which a question is answered.
fn answer_prompt(request: &ApprovalRequest, width: usize) -> &'static str {
    match (shows_diff(request), width < NARROW) {
        (true, false) => "[y]es, [n]o, [a]lways, [d]iff, or a reason to refuse: ",
        (false, false) => "[y]es, [n]o, [a]lways, or a reason to refuse: ",
        (true, true) => "y/n/a/d or reason: ",
        (false, true) => "y/n/a or reason: ",
    }
}

/// Returns the end of a line that is being typed, if all of it is too wide.
fn end_of(line: &str, width: usize) -> String {
    if plain_width(line) <= width {
        return line.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let mut begin = line.len();
    for (at, char) in line.char_indices().rev() {
        let Some(left) = room.checked_sub(char.width().unwrap_or_default()) else { break };
        (begin, room) = (at, left);
    }
    format!("…{}", &line[begin..])
}

fn shows_diff(request: &ApprovalRequest) -> bool {
    request.detail["fileDiff"].is_string()
}

/// Returns how a call ended, where that is worth a line.
fn ended(tool_name: &str, output: &str, error: Option<&ErrorInfo>) -> Option<(Style, String)> {
    let Some(error) = error else {
        let ended = output.lines().next_back().filter(|line| line.starts_with("[exit code "))?;
        return Some((Style::Dim, ended.to_owned()));
    };
    if error.code == Code::Aborted.as_str() {
        return Some((Style::Yellow, format!("{tool_name} was stopped")));
    }
    // What a command printed has been shown; how it ended comes after that.
    let said = error.message.lines().find(|line| line.starts_with("[ERROR: "));
    let reason = said.unwrap_or_else(|| first_line(&error.message));
    Some((Style::Red, format!("{tool_name} failed [{}]: {reason}", error.code)))
}

/// Returns what other events say, in a line.
fn aside(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::Warning { message, .. } => format!("warning: {message}"),
        EventKind::SubagentStart { agent_id, task, .. } => format!("[{agent_id}] {}", first_line(task)),
        EventKind::SubagentEvent { agent_id, event } => match &**event {
            EventKind::ToolCallStart { tool_name, arguments, .. } => {
                format!("[{agent_id}] → {tool_name} {}", target(arguments))
            }
            _ => return None,
        },
        EventKind::SubagentEnd { agent_id, status, output, .. } => {
            format!("[{agent_id}] {}: {}", status.name(), first_line(output))
        }
        EventKind::TurnLimit { rounds, .. } => format!("the limit of {rounds} rounds is reached"),
        _ => return None,
    })
}

/// Shows control characters of a text of several lines.
fn shown(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| match line.strip_suffix('\n') {
            Some(line) => visible(line) + "\n",
            None => visible(line),
        })
        .collect()
}

/// Returns the last lines of a text, the unfinished one included.
fn last_lines(text: &str, n_max: usize) -> &str {
    let ends = text.trim_end_matches('\n').rmatch_indices('\n').nth(n_max - 1);
    ends.map_or(text, |(at, _)| &text[at + 1..])
}

/// Cuts long lists of lines and says so.
fn shortened(mut lines: Vec<String>, n_max: usize, hint: &str) -> Vec<String> {
    if lines.len() > n_max + 1 {
        let n_more = lines.len() - n_max;
        lines.truncate(n_max);
        lines.push(format!("  … {n_more} more lines; {hint}"));
    }
    lines
}

//! The view of one run on the terminal: its events as they come, the line that the user types, approval questions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use emend_agent::approval::Approval;
use emend_agent::environment::FilePath;
use emend_agent::event::{EndReason, Event, EventKind};
use emend_agent::session::Session;
use emend_agent::workspace::Workspace;
use serde_json::Value;

use super::asker::Question;
use super::clarify;
use super::describe::{answer_prompt, aside, call_outcome, question_lines, shortened, status_line};
use super::line_edit::{Key, KeyAction, LineEdit};
use super::markdown::Stream;
use super::output_tail::OutputTail;
use super::prompt::PROMPT;
use super::screen::Screen;
use super::terminal_input::TerminalInput;
use crate::approve::{approval, question};
use crate::failure::Failure;
use crate::model_question::ModelQuestion;
use crate::output::{first_line, target};
use crate::style;
use crate::terminal::is_command;
use crate::text_diff;
use crate::visible::{visible, visible_lines};
use crate::wrap::end_of;

/// How often the live lines are redrawn while nothing happens.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Lines of a diff that are shown without a request.
const DIFF_LINES_MAX: usize = super::describe::DIFF_LINES_MAX;

/// Lines of an unfinished Markdown block that are shown.
const UNFINISHED_LINES_MAX: usize = 12;

/// Keys that follow each other within this time belong to one text.
const TYPING_PAUSE: Duration = Duration::from_millis(700);

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The end of a run, and what the user typed meanwhile.
pub(super) struct RunOutcome {
    pub(super) reason: EndReason,
    /// Text that was typed and not entered.
    pub(super) typed: String,
    /// Messages that the run ended without delivering.
    pub(super) returned: Vec<String>,
    /// Lines to handle after the run.
    pub(super) entered: Vec<String>,
    /// The question that the model asked.
    pub(super) question: Option<ModelQuestion>,
    /// Whether the user wants to quit: Ctrl-C was pressed twice.
    pub(super) leaves: bool,
    /// The error of the run. It was shown already.
    pub(super) failure: Option<Failure>,
}

/// A request of the user to stop the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Escape,
    /// Ctrl-C, which quits the conversation if pressed twice.
    Interrupt,
}

/// A tool call that is running.
struct RunningCall {
    call_id: String,
    what: String,
}

/// The view of a run.
pub(super) struct RunView<'a, O> {
    screen: &'a mut Screen<O>,
    workspace: &'a Workspace,
    /// Whether the model counts tokens. The offline model counts characters.
    counts_tokens: bool,
    began: Instant,
    edit: LineEdit,
    text: Stream,
    running: Vec<RunningCall>,
    /// The last lines of the output of running commands.
    output: OutputTail,
    /// The approval question that waits for an answer.
    asked: Option<Question>,
    /// The line that was typed before the question, and that continues while the user goes on typing.
    set_aside: LineEdit,
    /// Whether keys still belong to the line that is set aside.
    types_on: bool,
    /// The time of the last key.
    last_key: Option<Instant>,
    /// The texts of changed files as they were shown last, `None` for files that do not exist.
    texts: BTreeMap<FilePath, Option<String>>,
    /// The lines about other changes that were shown.
    others: BTreeSet<String>,
    reason: EndReason,
    has_ended: bool,
    model_question: Option<ModelQuestion>,
    entered: Vec<String>,
    returned: Vec<String>,
    failure: Option<Failure>,
}

impl<'a, O: Write> RunView<'a, O> {
    pub(super) fn new(screen: &'a mut Screen<O>, workspace: &'a Workspace, counts_tokens: bool) -> Self {
        Self {
            screen,
            workspace,
            counts_tokens,
            began: Instant::now(),
            edit: LineEdit::default(),
            text: Stream::default(),
            running: Vec::new(),
            output: OutputTail::default(),
            asked: None,
            set_aside: LineEdit::default(),
            types_on: false,
            last_key: None,
            texts: BTreeMap::new(),
            others: BTreeSet::new(),
            reason: EndReason::Natural,
            has_ended: false,
            model_question: None,
            entered: Vec::new(),
            returned: Vec::new(),
            failure: None,
        }
    }

    /// Handles an input from the terminal. Returns how the user wants to stop the run, if so.
    pub(super) fn input(&mut self, input: TerminalInput, session: &Session) -> io::Result<Option<Stop>> {
        let keys = match input {
            TerminalInput::Keys(keys) => keys,
            TerminalInput::Resumed => {
                self.screen.forget();
                self.screen.mark_pastes(true)?;
                return Ok(None);
            }
        };
        let mut stop = None;
        let now = Instant::now();
        let paused = self.last_key.replace(now).is_none_or(|last| now - last > TYPING_PAUSE);
        self.types_on &= !paused;
        for key in keys {
            if self.asked.is_some() && self.types_on && key != Key::EndOfInput {
                match self.set_aside.press(key) {
                    None => {}
                    Some(KeyAction::Stop) => stop = Some(Stop::Escape),
                    Some(KeyAction::Interrupt) => stop = Some(Stop::Interrupt),
                    Some(KeyAction::EndOfInput) => {}
                    Some(KeyAction::Enter(line)) => {
                        self.types_on = false;
                        self.steer(&line, session)?;
                    }
                }
                continue;
            }
            match self.edit.press(key) {
                None => {}
                Some(action @ (KeyAction::Stop | KeyAction::Interrupt)) => {
                    self.drop_letter();
                    stop = Some(if action == KeyAction::Stop { Stop::Escape } else { Stop::Interrupt });
                }
                Some(KeyAction::EndOfInput) if self.asked.is_some() => self.answer("n")?,
                Some(KeyAction::EndOfInput) => {}
                Some(KeyAction::Enter(line)) if self.asked.is_some() => self.answer(&line)?,
                Some(KeyAction::Enter(line)) => self.steer(&line, session)?,
            }
        }
        Ok(stop)
    }

    /// Drops a letter at a question that was not entered: it does not belong to the next message. A reason to refuse stays.
    fn drop_letter(&mut self) {
        if self.asked.is_some() && !matches!(approval(self.edit.text()), Some(Approval::Deny { reason: Some(_) })) {
            self.edit.take();
        }
    }

    /// Takes the keys that were pressed before the reader stopped, and returns what follows from the run.
    pub(super) fn finish(mut self, rest: Vec<Key>, session: &Session) -> io::Result<RunOutcome> {
        for key in rest {
            if let Some(KeyAction::Enter(line)) = self.edit.press(key) {
                self.steer(&line, session)?;
            }
        }
        self.drop_letter();
        let typed = self.set_aside.take() + &self.edit.take();
        Ok(RunOutcome {
            reason: self.reason,
            typed,
            entered: self.entered,
            returned: self.returned,
            question: self.model_question.filter(|_| self.reason == EndReason::AwaitingInput),
            leaves: false,
            failure: self.failure,
        })
    }

    /// Shows an event.
    pub(super) async fn show(&mut self, event: &Event) -> Result<(), Failure> {
        match &event.kind {
            EventKind::AssistantTextDelta { delta } if !self.screen.is_live() => {
                self.screen.write(&visible_lines(delta))?
            }
            EventKind::AssistantTextDelta { delta } => {
                let lines = self.text.push(delta, self.screen.painter, self.screen.width());
                self.screen.print(&lines)?;
            }
            EventKind::AssistantTextEnd { text, .. } => self.end_text(text)?,
            EventKind::ToolCallStart { call_id, tool_name, arguments } => self.begin(call_id, tool_name, arguments)?,
            EventKind::ToolCallOutputDelta { delta, .. } => self.output.push(delta),
            EventKind::ToolCallEnd { call_id, tool_name, output, data, error_info: error, .. } => {
                self.running.retain(|call| call.call_id != *call_id);
                self.print_output()?;
                if let Some(question) = ModelQuestion::of(data) {
                    clarify::print(&question, self.screen)?;
                    self.model_question = Some(question);
                }
                // A failed command may have changed files, too.
                let data = error.as_ref().and_then(|error| error.data.as_ref()).unwrap_or(data);
                if data["changed"].as_array().is_some_and(|changed| !changed.is_empty()) {
                    self.changed_otherwise().await?;
                }
                if let Some((style, line)) = call_outcome(tool_name, output, error.as_ref()) {
                    self.screen.say(2, &visible(&line), style)?;
                }
            }
            EventKind::SteeringReturned { content } => self.returned.push(content.clone()),
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
                    self.screen.say(2, &visible(&line), style::YELLOW)?;
                }
            }
        }
        Ok(())
    }

    fn end_text(&mut self, text: &str) -> io::Result<()> {
        if self.screen.is_live() {
            let lines = self.text.finish(self.screen.painter, self.screen.width());
            return self.screen.print(&lines);
        }
        if text.ends_with('\n') { Ok(()) } else { self.screen.write("\n") }
    }

    fn begin(&mut self, call_id: &str, tool_name: &str, arguments: &Value) -> io::Result<()> {
        if arguments["question"].is_string() {
            // The question is shown when the call has asked it.
            return Ok(());
        }
        let what = visible(format!("{tool_name} {}", target(arguments)).trim_end());
        let line = format!("{} {what}", self.screen.painter.paint(style::CYAN, "→"));
        self.running.push(RunningCall { call_id: call_id.to_owned(), what });
        self.screen.print(&[line])
    }

    /// Prints the last lines of a command's output, which stay.
    fn print_output(&mut self) -> io::Result<()> {
        let lines = self.output_lines();
        self.output = OutputTail::default();
        self.screen.print(&lines)
    }

    fn output_lines(&self) -> Vec<String> {
        let lines = self.output.lines().into_iter().map(|line| format!("  │ {}", visible(&line)));
        lines.map(|line| self.screen.painter.paint(style::DIM, &line)).collect()
    }

    /// Prints the change of a file since it was shown last.
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
            let lines = text_diff::lines(self.screen.painter, path.as_str(), before.as_deref(), after.as_deref());
            self.screen.print(&shortened(lines, DIFF_LINES_MAX, "/diff shows all"))?;
        }
        self.texts.insert(path.clone(), after);
        Ok(())
    }

    /// Prints a line for each change of the run that no diff shows: of binary files, links, directories and modes.
    async fn changed_otherwise(&mut self) -> Result<(), Failure> {
        let runs = [self.workspace.last_run()];
        let mut lines = Vec::new();
        for change in self.workspace.other_changes_of_runs(&runs).await? {
            let line = text_diff::other(&change.path, change.before.as_ref(), change.after.as_ref());
            if self.others.insert(line.clone()) {
                lines.push(line);
            }
        }
        Ok(self.screen.print(&shortened(lines, DIFF_LINES_MAX, "/diff shows all"))?)
    }

    /// Prints an approval question. The next line that is entered answers it.
    ///
    /// Text that was typed before is set aside until the question is answered. It grows until the user pauses, since
    /// keys that follow at once were not meant as an answer.
    pub(super) fn ask(&mut self, asked: Question) -> io::Result<()> {
        if !self.edit.text().is_empty() {
            self.set_aside = std::mem::take(&mut self.edit);
            self.types_on = self.last_key.is_some_and(|last| last.elapsed() <= TYPING_PAUSE);
        }
        let lines = question_lines(&asked.0, self.screen.painter, self.screen.width());
        self.screen.print(&lines)?;
        if !self.screen.is_live() {
            self.screen.write(&answer_prompt(&asked.0, self.screen.width()))?;
        }
        self.asked = Some(asked);
        Ok(())
    }

    fn answer(&mut self, line: &str) -> io::Result<()> {
        let Some((request, sender)) = self.asked.take() else { return Ok(()) };
        if matches!(line.trim(), "d" | "diff") {
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
                // A cancelled run does not wait for the answer.
                let _ = sender.send(answer);
                self.edit = std::mem::take(&mut self.set_aside);
            }
            None => {
                if is_command(line) {
                    let name = visible(line.split_whitespace().next().unwrap_or_default());
                    let hint = format!("({name} is not an answer. It works when the agent is done.)");
                    self.screen.say(0, &hint, style::YELLOW)?;
                }
                if !self.screen.is_live() {
                    self.screen.write(&answer_prompt(&request, self.screen.width()))?;
                }
                self.asked = Some((request, sender));
            }
        }
        Ok(())
    }

    /// Sends a line to the model. Commands, and lines that come after the end of the run, wait until it is over.
    fn steer(&mut self, line: &str, session: &Session) -> io::Result<()> {
        let note = if self.has_ended || is_command(line) {
            self.entered.push(line.to_owned());
            "queued until the agent is done".to_owned()
        } else {
            let steered = session.steer(line);
            steered.map_or_else(|error| error.to_string(), |()| "sent to the model after this step".to_owned())
        };
        let note = self.screen.painter.paint(style::DIM, &format!("({note})"));
        self.screen.print(&[format!("{PROMPT}{}  {note}", visible(first_line(line)))])
    }

    fn end(&mut self, n_in: u64, n_out: u64) -> io::Result<()> {
        self.print_output()?;
        let seconds = self.began.elapsed().as_secs();
        let how = match self.reason {
            EndReason::Aborted => "interrupted · ",
            EndReason::TurnLimit | EndReason::Budget => "limit reached · ",
            EndReason::ContextLength => "conversation too long for the model, use /compact · ",
            EndReason::Natural | EndReason::AwaitingInput | EndReason::Error => "",
        };
        let tokens = if self.counts_tokens { format!(" · {n_in} tokens in, {n_out} out") } else { String::new() };
        let line = format!("{how}{seconds} s{tokens}");
        self.screen.print(&[self.screen.painter.paint(style::DIM, &line), String::new()])
    }

    /// Draws the live lines: unfinished text, output of commands, status and the line that is typed.
    pub(super) fn draw(&mut self, is_stopping: bool) -> io::Result<()> {
        let mut lines = self.text.unfinished(self.screen.width());
        lines.drain(..lines.len().saturating_sub(UNFINISHED_LINES_MAX));
        lines.extend(self.output_lines());
        let width = self.screen.width();
        let typed = self.edit.text().replace('\n', "⏎");
        if let Some((request, _)) = &self.asked {
            let kept = self.set_aside.text().replace('\n', "⏎");
            if !kept.is_empty() {
                lines.push(self.screen.painter.paint(style::DIM, &end_of(&format!("{PROMPT}{kept}"), width)));
            }
            lines.push(end_of(&format!("{}{typed}", answer_prompt(request, width)), width));
            return self.screen.draw(lines);
        }
        let seconds = self.began.elapsed().as_secs();
        let what = match self.running.as_slice() {
            _ if is_stopping => "stopping".to_owned(),
            [] => "thinking".to_owned(),
            [call] => call.what.clone(),
            [call, rest @ ..] => format!("{} and {} more", call.what, rest.len()),
        };
        // Selected by time, since events redraw it between ticks.
        let frame = SPINNER[(self.began.elapsed().as_millis() / TICK.as_millis()) as usize % SPINNER.len()];
        lines.push(self.screen.painter.paint(style::DIM, &status_line(frame, seconds, &what, width)));
        if !typed.is_empty() {
            lines.push(end_of(&format!("{PROMPT}{typed}"), width));
        }
        self.screen.draw(lines)
    }
}

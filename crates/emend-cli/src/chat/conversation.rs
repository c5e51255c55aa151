//! The course of a conversation: greeting, prompt, runs, commands.

use std::collections::VecDeque;
use std::io::{IsTerminal as _, Stdout};
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::event::EndReason;
use emend_agent::session::Run;
use emend_agent::workspace::Mode;
use emend_llm::{CancelToken, ProviderInfo, Role, Shared};
use futures::channel::mpsc::UnboundedReceiver;

use super::asker::{Asker, Question};
use super::clarify;
use super::follow::follow;
use super::markdown;
use super::prompt::{Entered, Prompt};
use super::run_view::RunOutcome;
use super::screen::Screen;
use super::slash_commands::{self, Next};
use super::state::Chat;
use crate::approve;
use crate::args::SessionArgs;
use crate::commands::serve::{Conversation, serve_conversation};
use crate::failure::Failure;
use crate::model_question::ModelQuestion;
use crate::place::Place;
use crate::provider;
use crate::saved_sessions::short;
use crate::settings::{Model, Settings};
use crate::setup::{Host, Setup};
use crate::signals;
use crate::style::{self, Painter, Style};
use crate::terminal::{self, is_command};
use crate::trace::Trace;
use crate::visible::visible;
use crate::wrap::{Span, wrap, wrap_text};

pub(crate) async fn chat(args: SessionArgs) -> Result<ExitCode, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        let message = "a conversation needs a terminal; without one, use emend run \"TASK\" or emend run --stdin";
        return Err(Failure::new(Code::InvalidArgument, message));
    }
    signals::begin_conversation();
    let place = Settings::place(&args.root, &args.settings)?;
    let settings = Settings::load(&place, &args.settings)?;
    let (asker, mut questions) = Asker::new();
    let host = Host::new(provider::Record::No, Shared::new(asker), true);
    let setup = Setup::open(&args, &place, settings, host).await?;
    let mut trace = Trace::open(args.trace.as_deref())?;
    let screen = screen();
    let painter = screen.painter;
    let prompt = Prompt::open(setup.project.directory(), &setup.project.agents, painter)?;
    let model = if setup.selected.offline { Model::Offline } else { setup.model.clone() };
    let mut chat = Chat { setup, model, screen, prompt };
    if !chat.is_trusted()? {
        return Ok(ExitCode::from(Code::PermissionDenied.row().exit_status));
    }
    chat.greet()?;
    let outcome = chat.converse(&mut questions, &mut trace).await;
    // Edits are saved even if the conversation failed.
    chat.setup.project.save()?;
    if let Some(host) = outcome? {
        return serve(chat, place, host).await;
    }
    if let Some(waiting) = chat.setup.project.waiting().filter(|_| chat.holds_back()) {
        let review = chat.setup.review_command();
        chat.screen.say(0, &format!("{waiting}; to decide: {review}"), style::YELLOW)?;
    }
    if !chat.setup.session.history().is_empty() {
        let line = format!("To continue this conversation: emend --resume {}", short(chat.setup.session.id()));
        chat.screen.print(&[painter.paint(style::DIM, &line)])?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves the conversation to this terminal and to others.
async fn serve(chat: Chat, place: Place, host: IpAddr) -> Result<ExitCode, Failure> {
    let Chat { setup, model, .. } = chat;
    let first = setup.session.history().iter().find(|message| message.role == Role::User).map(|message| message.text());
    let title = first.and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or_default();
    let session_id = setup.session.id().to_owned();
    let (spent, budget) = setup.meter.of(&setup.project, &setup.settings, &session_id).await?;
    setup.session.close();
    let (project, settings) = (setup.project, setup.settings);
    let conversation = Conversation { project, settings, place, session_id, title, model, spent, budget, host };
    serve_conversation(conversation).await?;
    Ok(ExitCode::SUCCESS)
}

fn screen() -> Screen<Stdout> {
    Screen::new(std::io::stdout(), Painter::stdout(), terminal::can_redraw(), terminal::size)
}

/// Shows the run of `emend run` like a run of a conversation. Returns its end.
pub(crate) async fn task(
    run: Run,
    (cancel, signals): (&CancelToken, &mut signals::CancelOnSignal),
    setup: &Setup,
    mut questions: UnboundedReceiver<Question>,
    trace: &mut Trace,
) -> Result<(EndReason, Option<Failure>), Failure> {
    let mut screen = screen();
    let mut ended = follow(run, (cancel, &mut *signals), setup, &mut questions, &mut screen, trace).await?;
    while let Some(question) = ended.question.take() {
        let mut prompt = Prompt::open(setup.project.directory(), &setup.project.agents, screen.painter)?;
        let Some(answer) = clarify::ask(&question, &mut prompt, &mut screen)? else { break };
        setup.begin_run(false).await?;
        let run = setup.session.submit(&answer, cancel.clone())?;
        ended = follow(run, (cancel, &mut *signals), setup, &mut questions, &mut screen, trace).await?;
    }
    for message in ended.returned {
        screen.say(0, &format!("Not delivered: {message}"), style::YELLOW)?;
    }
    Ok((ended.reason, ended.failure))
}

/// Returns a warning about a folder that holds much more than a project.
fn too_much(folder: &str) -> Option<String> {
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let folder = Path::new(folder).canonicalize().ok()?;
    let what = match (folder.parent(), home) {
        (None, _) => "the root of the file system",
        (_, Some(home)) if home == folder => "your home directory",
        _ => return None,
    };
    Some(format!("This is {what}: the agent can read and edit all files in it. Better start emend in a project."))
}

impl Chat {
    /// Returns whether the user trusts the folder, and asks about a folder without an answer.
    fn is_trusted(&mut self) -> Result<bool, Failure> {
        let root = self.setup.project.workspace.environment().working_directory();
        if let Some(warning) = too_much(&root) {
            self.screen.say(0, &warning, style::YELLOW)?;
        }
        if self.setup.project.is_trusted()? {
            return Ok(true);
        }
        let text = format!(
            "Do you trust the files in {root}? The agent follows instructions in them, edits them, and runs commands \
             that you allow."
        );
        self.screen.say(0, &visible(&text), Style::new())?;
        loop {
            let answer = self.prompt.answer("[y]es, [n]o: ")?.map(|answer| answer.trim().to_lowercase());
            match answer.as_deref() {
                Some("y" | "yes") => break,
                Some("n" | "no") | None => return Ok(false),
                Some(_) => {}
            }
        }
        self.setup.project.trust()?;
        Ok(true)
    }

    fn greet(&mut self) -> Result<(), Failure> {
        let painter = self.screen.painter;
        let root = self.setup.project.agents.environment().working_directory();
        let width = self.screen.width();
        let head = [
            Span { text: "emend".to_owned(), style: style::BOLD },
            Span { text: format!(" · {} · {root}", self.model), style: Style::new() },
        ];
        let mut lines = wrap(&head, painter, width, "", "");
        if self.model == Model::Offline && self.setup.settings.model.value.is_none() {
            let keys: Vec<&str> = provider::with_key().map(ProviderInfo::required_variable).collect();
            let text = format!(
                "No API key is set, so the offline model answers. It is not an AI; it understands a few instructions \
                 such as \"rename a to b\". To use an AI model, set {}.",
                keys.join(" or ")
            );
            lines.extend(markdown::render(&text, painter, self.screen.width()));
        }
        if self.holds_back() {
            let held = "Edits are held back for review: /review asks about each hunk, and saves those that you accept.";
            lines.extend(wrap_text(held, Style::new(), painter, width, "", ""));
        }
        for note in approve::notes(&self.setup.settings) {
            lines.extend(wrap_text(&visible(&note), style::YELLOW, painter, width, "", ""));
        }
        let note = match self.waiting() {
            None => self.setup.project.pending_note("/review"),
            waiting => waiting,
        };
        if let Some(note) = note {
            lines.extend(wrap_text(&visible(&note), style::YELLOW, painter, width, "", ""));
        }
        if let Some(origin) = &self.setup.origin {
            lines.push(format!("Continuing {} ({} entries).", short(origin), self.setup.session.entries().len()));
        }
        let help = "Type a task, or /help for the commands. Ctrl-D quits.";
        lines.extend(wrap_text(help, style::DIM, painter, width, "", ""));
        lines.push(String::new());
        Ok(self.screen.print(&lines)?)
    }

    /// Returns whether edits wait for review.
    fn holds_back(&self) -> bool {
        self.setup.project.workspace.mode() == Mode::Staged
    }

    /// Returns how many hunks wait for review, if edits do and there are any.
    fn waiting(&self) -> Option<String> {
        let waiting = self.holds_back().then(|| self.setup.project.waiting()).flatten();
        waiting.map(|waiting| format!("{waiting}: /review"))
    }

    /// Converses until the user leaves. Returns whether the conversation goes on as a session of a server.
    async fn converse(
        &mut self,
        questions: &mut UnboundedReceiver<Question>,
        trace: &mut Trace,
    ) -> Result<Option<IpAddr>, Failure> {
        let mut typed = String::new();
        let mut entered: VecDeque<String> = VecDeque::new();
        let mut question: Option<ModelQuestion> = None;
        let mut was_interrupted = false;
        loop {
            let read = match entered.pop_front() {
                Some(text) => Entered::Text(text),
                None => self.prompt.read(&std::mem::take(&mut typed))?,
            };
            let text = match read {
                Entered::Text(text) => text,
                Entered::End => return Ok(None),
                Entered::Interrupted { had_text } => {
                    if was_interrupted && !had_text {
                        return Ok(None);
                    }
                    was_interrupted = !had_text;
                    if !had_text {
                        self.screen.print(&["Press Ctrl-C again, or Ctrl-D, to quit.".to_owned()])?;
                    }
                    continue;
                }
            };
            was_interrupted = false;
            let text = text.trim();
            if text.is_empty() && question.is_none() {
                continue;
            }
            if is_command(text) {
                match slash_commands::run(self, text).await {
                    Ok(Next::Continue) => {}
                    Ok(Next::Edit(text)) => typed = text,
                    Ok(Next::Quit) => return Ok(None),
                    Ok(Next::Serve(host)) => return Ok(Some(host)),
                    Err(failure) => slash_commands::report(self, &failure)?,
                }
                self.screen.print(&[String::new()])?;
                continue;
            }
            let answer = match &question {
                Some(asked) if !asked.has_fields() => asked.answer(text),
                _ => Ok(text.to_owned()),
            };
            let answer = match answer {
                Ok(answer) => answer,
                Err(again) => {
                    self.screen.say(0, &again, style::YELLOW)?;
                    continue;
                }
            };
            if let Err(failure) = self.setup.begin_run(true).await {
                slash_commands::report(self, &failure)?;
                typed = text.to_owned();
                continue;
            }
            let ended = self.run(&answer, questions, trace).await?;
            if ended.leaves || signals::exit_status().is_some() {
                return Ok(None);
            }
            typed = ended.typed;
            if ended.reason == EndReason::Natural {
                // They came just after the last response.
                entered.extend(ended.returned);
            } else if !ended.returned.is_empty() {
                let returned = ended.returned.join("\n");
                typed = if typed.is_empty() { returned } else { format!("{returned}\n{typed}") };
            }
            entered.extend(ended.entered);
            if let Some(line) = self.setup.meter.exhausted() {
                self.screen.say(0, &format!("{line}; /budget changes it"), style::YELLOW)?;
            } else if matches!(ended.reason, EndReason::TurnLimit | EndReason::Budget) && entered.is_empty() {
                let answer = self.prompt.answer("Continue? [y]es, [n]o: ")?.unwrap_or_default();
                if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
                    entered.push_back("Continue.".to_owned());
                }
            }
            question = ended.question;
            if let Some(asked) = question.take_if(|question| question.has_fields() && entered.is_empty()) {
                entered.extend(clarify::ask(&asked, &mut self.prompt, &mut self.screen)?);
            }
        }
    }

    /// Runs one message, and saves the edits.
    async fn run(
        &mut self,
        text: &str,
        questions: &mut UnboundedReceiver<Question>,
        trace: &mut Trace,
    ) -> Result<RunOutcome, Failure> {
        if self.setup.session.is_closed() {
            // An authentication error closed the session. It continues with the model that was selected since.
            let id = self.setup.session.id().to_owned();
            self.reopen(&id).await?;
        }
        let cancel = CancelToken::new();
        let mut signals = signals::CancelOnSignal::begin(&cancel);
        self.setup.tell_decisions()?;
        let run = self.setup.session.submit(text, cancel.clone())?;
        let ended = follow(run, (&cancel, &mut signals), &self.setup, questions, &mut self.screen, trace).await?;
        self.setup.project.save()?;
        if let Some(waiting) = self.waiting() {
            self.screen.say(0, &waiting, style::YELLOW)?;
        }
        Ok(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::too_much;

    #[test]
    fn the_root_of_the_file_system_causes_a_warning() {
        let warning = too_much("/").unwrap();
        assert!(warning.starts_with("This is the root of the file system: the agent can read"), "{warning}");
        assert_eq!(too_much("/usr"), None);
    }
}

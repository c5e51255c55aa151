//! Commands of the conversation: lines that begin with a slash.

use std::net::IpAddr;

use emend_agent::approval::Grant;
use emend_agent::error_code::Code;
use emend_agent::service::{Budget, Permission, Spent};
use emend_agent::session::Session;
use emend_agent::store::Summary;
use emend_agent::suggest::closest;
use emend_agent::workspace::Mode;
use emend_llm::{Shared, list_models};

use super::command_list::NAMES;
use super::rewind::rewind;
use super::state::Chat;
use crate::commands::serve::{self, Prepared};
use crate::commands::sessions::described;
use crate::commands::{checkpoints, review, undo};
use crate::failure::Failure;
use crate::saved_sessions::{age, find, short};
use crate::session_notes::SessionNotes;
use crate::settings::{Effort, Model};
use crate::style::{self, Style};
use crate::wrap::{truncated, wrap_text};
use crate::{budget, provider, text_diff};

/// Width of the column with names and arguments in the help.
const CALL_COLUMNS: usize = 22;

/// Rows that a list leaves free for the lines around it.
const ROWS_AROUND_LIST: usize = 4;

/// The next step of the conversation after a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Continue,
    /// The prompt starts with this text.
    Edit(String),
    Quit,
    /// The conversation goes on as a session of a server with this address.
    Serve(IpAddr),
}

/// Runs a command.
pub(super) async fn run(chat: &mut Chat, line: &str) -> Result<Next, Failure> {
    let (name, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    let rest = rest.trim();
    let takes_none = NAMES.iter().any(|(known, follows, _)| *known == name && follows.is_empty());
    if takes_none && !rest.is_empty() {
        let message = format!("{name} takes no argument, so {rest:?} is not understood; nothing was done");
        return Err(Failure::new(Code::InvalidArgument, message));
    }
    match name {
        "/help" => help(chat)?,
        "/model" => model(chat, rest)?,
        "/effort" => effort(chat, rest)?,
        "/status" => status(chat).await?,
        "/budget" => change_budget(chat, rest).await?,
        "/permissions" => permissions(chat, rest)?,
        "/diff" => diff(chat).await?,
        "/review" => decide(chat).await?,
        "/undo" => undo_run(chat).await?,
        "/rewind" => return Ok(rewind(chat).await?.map_or(Next::Continue, Next::Edit)),
        "/redo" => checkpoints::redo_last(&chat.setup.project, "/redo").await?,
        "/compact" => compact(chat).await?,
        "/resume" => resume(chat, rest).await?,
        "/clear" => clear(chat)?,
        "/serve" => {
            let id = chat.setup.session.id();
            match serve::prepare(&chat.setup.project, &chat.setup.settings, id, rest).await? {
                Prepared::Address(host) => return Ok(Next::Serve(host)),
                Prepared::Archived(line) => chat.screen.print(&[line])?,
            }
        }
        "/exit" | "/quit" => return Ok(Next::Quit),
        unknown => {
            let near = closest(unknown, NAMES.map(|(name, ..)| name), 1);
            let near = near
                .first()
                .map_or_else(|| "/help lists the commands".to_owned(), |near| format!("did you mean {near}?"));
            return Err(Failure::new(Code::NotFound, format!("unknown command {unknown}; {near}")));
        }
    }
    Ok(Next::Continue)
}

fn help(chat: &mut Chat) -> Result<(), Failure> {
    let painter = chat.screen.painter;
    let width = chat.screen.width();
    let mut lines = Vec::new();
    for (name, follows, what) in NAMES {
        let call = format!("{name} {follows}");
        let blank = " ".repeat(CALL_COLUMNS.saturating_sub(call.len()));
        let call = painter.paint(style::BOLD, &call) + &blank;
        if width < 2 * CALL_COLUMNS {
            lines.push(call);
            lines.extend(wrap_text(what, Style::new(), painter, width, "    ", "    "));
        } else {
            lines.extend(wrap_text(what, Style::new(), painter, width, &call, &" ".repeat(CALL_COLUMNS)));
        }
    }
    lines.push(String::new());
    chat.screen.print(&lines)?;
    chat.screen.say(
        0,
        "@PATH in a message attaches a file or an image. End a line with \\ to continue it on the next line.",
        Style::new(),
    )?;
    let text = "While the agent works: enter a message to steer it, Ctrl-C or Esc to stop it, Ctrl-C twice to quit.";
    Ok(chat.screen.say(0, text, Style::new())?)
}

/// Lists the permissions of the conversation with numbers, or withdraws one.
fn permissions(chat: &mut Chat, argument: &str) -> Result<(), Failure> {
    let grants = chat.setup.session.grants();
    if !argument.is_empty() {
        let number = argument.strip_prefix("remove").map(str::trim).and_then(|number| number.parse::<usize>().ok());
        let number = number.ok_or_else(|| {
            Failure::new(
                Code::InvalidArgument,
                format!("{argument:?} is not understood; expected `/permissions remove N`"),
            )
        })?;
        let grant = number.checked_sub(1).and_then(|at| grants.get(at)).ok_or_else(|| {
            Failure::new(Code::NotFound, format!("no permission has the number {number}; /permissions lists them"))
        })?;
        chat.setup.session.withdraw_grant(&grant.id());
        let line = format!("Withdrawn: {}. The next such call asks again.", described(&Permission::of(grant)));
        return Ok(chat.screen.print(&[line])?);
    }
    if grants.is_empty() {
        return Ok(chat.screen.print(&["Nothing is always allowed in this conversation.".to_owned()])?);
    }
    let line = |(at, grant): (usize, &Grant)| format!("{:>3}. {}", at + 1, described(&Permission::of(grant)));
    Ok(chat.screen.print(&grants.iter().enumerate().map(line).collect::<Vec<_>>())?)
}

fn model(chat: &mut Chat, name: &str) -> Result<(), Failure> {
    if name.is_empty() {
        let mut lines =
            vec![format!("Model: {}. To change it: /model MODEL, e.g. one of", chat.model), "  offline".to_owned()];
        for info in provider::with_key() {
            let name = info.name;
            if !provider::has_key(info) {
                lines.push(format!("  {name}:…  (needs {})", info.required_variable()));
                continue;
            }
            lines.extend(list_models(Some(name)).map(|model| format!("  {name}:{}", model.id)));
        }
        return Ok(chat.screen.print(&lines)?);
    }
    let model: Model = name.parse().map_err(|what: String| Failure::new(Code::InvalidArgument, what))?;
    let selected = provider::select(&model, provider::Record::No, &chat.setup.project, &chat.setup.settings).map_err(
        |failure| {
            // In a conversation the command selects the model, not the option.
            Failure { message: failure.message.replace("--model ", "/model "), ..failure }
        },
    )?;
    let options = chat.setup.options(&selected)?;
    let session = &chat.setup.session;
    session.set_model(Shared::clone(&selected.provider), selected.model.clone(), selected.offline);
    session.set_tools(options.tools);
    let new = options.config;
    session.configure(|config| *config = new);
    chat.setup.selected = selected;
    chat.model = model;
    Ok(chat.screen.print(&[format!("Model: {}, from the next message on.", chat.model)])?)
}

fn effort(chat: &mut Chat, effort: &str) -> Result<(), Failure> {
    if effort.is_empty() {
        let now = chat.setup.session.config().reasoning_effort.unwrap_or_else(|| "the model's own default".to_owned());
        let known = Effort::ALL.join(", ");
        let text =
            format!("Effort: {now}. To change it: /effort LEVEL, one of {known}. Each model supports some of them.");
        return Ok(chat.screen.say(0, &text, Style::new())?);
    }
    let effort = effort.parse::<Effort>().map_err(|what| Failure::new(Code::InvalidArgument, what))?;
    chat.setup.session.configure(|config| config.reasoning_effort = Some(effort.0.clone()));
    Ok(chat.screen.print(&[format!("Effort: {}, from the next message on.", effort.0)])?)
}

/// Shows what the conversation has used, with its limits and those of each message.
async fn status(chat: &mut Chat) -> Result<(), Failure> {
    let (settings, project) = (&chat.setup.settings, &chat.setup.project);
    let (spent, budget) = chat.setup.meter.of(project, settings, chat.setup.session.id()).await?;
    let way = if project.workspace.mode() == Mode::Staged { "review" } else { "direct" };
    let mut text = format!("{way} mode, model {}\n", chat.model);
    text += &budget::line("conversation", &spent, &budget);
    let each = budget::of_runs(settings);
    if each != Budget::default() {
        text += &budget::line("each message", &Spent::default(), &each);
    }
    let context = chat.setup.session.context_use();
    text += &format!("context: about {:.0} % of the window\n", context.percent());
    if let Some(waiting) = project.waiting() {
        text += &format!("{waiting}: /review\n");
    }
    Ok(chat.screen.say(0, &text, Style::new())?)
}

/// Shows or changes the limits of the conversation.
async fn change_budget(chat: &mut Chat, words: &str) -> Result<(), Failure> {
    let id = chat.setup.session.id().to_owned();
    let meter = &chat.setup.meter;
    meter.of(&chat.setup.project, &chat.setup.settings, &id).await?;
    if !words.is_empty() {
        meter.change(words, &chat.setup.project)?;
    }
    let (spent, limits) = meter.of(&chat.setup.project, &chat.setup.settings, &id).await?;
    chat.screen.say(0, &budget::line("conversation", &spent, &limits), Style::new())?;
    match words.is_empty() {
        true => Ok(chat.screen.say(0, &format!("To change it: /budget {}.", budget::USAGE), Style::new())?),
        false => Ok(()),
    }
}

async fn diff(chat: &mut Chat) -> Result<(), Failure> {
    let notes = chat.setup.project.run_notes()?;
    let runs: Vec<u64> =
        notes.into_iter().filter(|note| note.session == chat.setup.session.id()).map(|note| note.run).collect();
    let texts = chat.setup.project.workspace.texts_of_runs(&runs, None).await?;
    let others = chat.setup.project.workspace.other_changes_of_runs(&runs).await?;
    let ignored = text_diff::ignored(&chat.setup.project.workspace.ignored_changes(&runs, true));
    if texts.is_empty() && others.is_empty() && ignored.is_empty() {
        return Ok(chat.screen.print(&["The agent has not changed any file in this conversation.".to_owned()])?);
    }
    for text in texts {
        let (path, before, after) = (text.path.as_str(), text.before.as_deref(), text.after.as_deref());
        chat.screen.print(&text_diff::lines(chat.screen.painter, path, before, after))?;
    }
    for change in others {
        chat.screen.say(
            0,
            &text_diff::other(&change.path, change.before.as_ref(), change.after.as_ref()),
            Style::new(),
        )?;
    }
    for line in ignored {
        chat.screen.say(0, &line, Style::new())?;
    }
    Ok(())
}

async fn decide(chat: &mut Chat) -> Result<(), Failure> {
    if chat.setup.project.workspace.mode() == Mode::Direct && chat.setup.project.workspace.review().files.is_empty() {
        let message = "Nothing waits for review: changes are written to the files at once. /diff shows them, /undo \
                       undoes them. With emend --review you decide on each change first.";
        return Ok(chat.screen.say(0, message, Style::new())?);
    }
    let prompt = &mut chat.prompt;
    review::decide(&chat.setup.project, "/review", &mut |question| prompt.answer(question)).await
}

async fn undo_run(chat: &mut Chat) -> Result<(), Failure> {
    if let Some(name) = run_of_another(chat)? {
        let text = format!("The last change is not of this conversation: {name}.");
        chat.screen.say(0, &crate::visible::visible(&text), style::YELLOW)?;
        let answer = chat.prompt.answer("Undo it? [y]es, [n]o: ")?.unwrap_or_default();
        if !["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
            return Ok(chat.screen.print(&["Nothing was undone.".to_owned()])?);
        }
    }
    let undone = undo::undo_last(&chat.setup.project).await?;
    checkpoints::report_and_save(&chat.setup.project, &undone, "/redo")?;
    Ok(())
}

/// Returns the name of the run that an undo would undo, if it is of another conversation or of another command.
fn run_of_another(chat: &Chat) -> Result<Option<String>, Failure> {
    let project = &chat.setup.project;
    let Some(last) = undo::last(project)? else { return Ok(None) };
    let id = chat.setup.session.id();
    let is_own = project.run_notes()?.iter().any(|note| note.run == last && note.session == id);
    if is_own { Ok(None) } else { project.run_name(last).map(Some) }
}

async fn compact(chat: &mut Chat) -> Result<(), Failure> {
    let made = chat.setup.session.compact().await?;
    let line = format!("Context: about {} tokens before, {} now.", made.tokens_before, made.tokens_after);
    Ok(chat.screen.print(&[line])?)
}

async fn resume(chat: &mut Chat, id: &str) -> Result<(), Failure> {
    let notes = SessionNotes::load(chat.setup.project.directory())?;
    let saved = notes.all(&*chat.setup.store).await?;
    let id = match id {
        "" => {
            let is_active = |summary: &&Summary| !notes.archived.contains(&summary.id);
            let others: Vec<_> =
                saved.iter().filter(is_active).filter(|summary| summary.id != chat.setup.session.id()).collect();
            if others.is_empty() {
                let message = "There is no other saved conversation in this project.";
                return Ok(chat.screen.print(&[message.to_owned()])?);
            }
            let now_ms = chat.setup.project.clock.now_ms();
            // The last used sessions come first and stay visible.
            let n_shown = chat.screen.height().saturating_sub(ROWS_AROUND_LIST).max(3);
            let lines = others.iter().take(n_shown).enumerate().map(|(index, summary)| {
                let at = age(now_ms, summary.last_ms);
                format!(
                    "{:>3}  {at:12}  {}  {}",
                    index + 1,
                    short(&summary.id),
                    crate::visible::visible(&summary.title)
                )
            });
            let mut lines: Vec<String> = lines.map(|line| truncated(&line, chat.screen.width())).collect();
            if let n_more @ 1.. = others.len().saturating_sub(n_shown) {
                lines.push(format!("     {n_more} more; `emend sessions` lists all"));
            }
            chat.screen.print(&lines)?;
            let Some(answer) = chat.prompt.answer("Number of the conversation (Enter to cancel): ")? else {
                return Ok(());
            };
            match answer.trim() {
                "" => return Ok(()),
                answer => match answer.parse::<usize>().ok().and_then(|number| others.get(number.checked_sub(1)?)) {
                    Some(summary) => summary.id.clone(),
                    None => answer.to_owned(),
                },
            }
        }
        id => id.to_owned(),
    };
    let summary = find(saved, &id)?;
    let n_entries = summary.n_turns;
    chat.reopen(&summary.id).await?;
    Ok(chat.screen.print(&[format!(
        "Continuing {} ({n_entries} entries): {}",
        short(&summary.id),
        crate::visible::visible(&summary.title)
    )])?)
}

fn clear(chat: &mut Chat) -> Result<(), Failure> {
    let options = chat.setup.options(&chat.setup.selected)?;
    let old = chat.setup.session.id().to_owned();
    chat.setup.session = Session::new(options).with_store(Shared::clone(&chat.setup.store));
    let text = format!("New conversation. To go back to the previous one: /resume {}", short(&old));
    Ok(chat.screen.say(0, &text, Style::new())?)
}

/// Prints a failure in the conversation.
pub(super) fn report(chat: &mut Chat, failure: &Failure) -> Result<(), Failure> {
    Ok(chat.screen.fail(failure)?)
}

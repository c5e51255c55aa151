//! `emend checkpoints`, `redo`, and a `rollback` of all runs since one.
//!
//! The start of a run is a checkpoint. A rollback undoes what the agent changed since and keeps the user's own lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use emend_agent::environment::{EntryKind, FilePath};
use emend_agent::error_code::Code;
use emend_agent::workspace::{FinishedStep, Mode, ReviewError, TextChange, UndoneRun};
use serde_json::json;

use super::blocked::{Blocked, obstacle, write_kept};
use super::undo::report_finished;
use crate::failure::Failure;
use crate::place::Start;
use crate::project::Project;
use crate::saved_sessions::minute;
use crate::style::{self, Painter};
use crate::text_diff;
use crate::visible::{Guarded, listing as stdout, visible};
use crate::wrap::folded;

pub(crate) async fn list(root: &Start, json: bool) -> Result<ExitCode, Failure> {
    let project = Project::open_to_read(root).await?;
    project.workspace.take_in_changes().await?;
    let notes = project.run_notes()?;
    let mut stdout = stdout();
    let runs = project.workspace.runs();
    if runs.is_empty() && !json {
        writeln!(stdout, "The agent has not changed any file in this project.")?;
    }
    for run in runs.into_iter().rev() {
        let note = notes.iter().find(|note| note.run == run.run_id);
        let files: Vec<&str> = run.files.iter().map(|path| path.as_str()).collect();
        if json {
            let line = json!({
                "id": run.run_id,
                "at_ms": run.at_ms,
                "label": note.map(|note| &note.label),
                "session": note.map(|note| &note.session),
                "files": files,
                "ignored_changes": project.workspace.ignored_changes(&[run.run_id], false),
                "not_undoable": run.lost,
                "undone": !run.is_on,
            });
            stdout.write_json(&line.to_string())?;
            continue;
        }
        let label = note.map_or("", |note| note.label.as_str());
        let undone = if run.is_on { "" } else { " (undone)" };
        let line = format!("{:>4}  {}  {label}{undone}", run.run_id, minute(run.at_ms));
        writeln!(stdout, "{}", line.trim_end())?;
        if !files.is_empty() {
            writeln!(stdout, "      {}", files.join(" "))?;
        }
        for line in text_diff::ignored(&project.workspace.ignored_changes(&[run.run_id], false)) {
            writeln!(stdout, "      {line}")?;
        }
        write_lost(&mut stdout, "      ", &run.lost)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn rollback(root: &Start, run: u64, check: bool) -> Result<ExitCode, Failure> {
    let project = if check { Project::open_to_read(root).await? } else { Project::open(root, Mode::Direct).await? };
    project.workspace.take_in_changes().await?;
    let runs = since(&project, run)?;
    if check {
        let undone = project.workspace.preview_undo_runs(&runs).await?;
        let ignored = text_diff::ignored(&project.workspace.ignored_changes(&runs, true));
        // Paths in ignored directories are counted alone.
        if undone.restored.is_empty() && ignored.is_empty() {
            if report_finished(&project, Some(&runs)).await? {
                return Ok(ExitCode::SUCCESS);
            }
            return Err(nothing_left(&project, run, &undone).await);
        }
        let mut stdout = stdout();
        for text in project.workspace.texts_of_runs(&runs, None).await? {
            // The rollback goes from the text after the runs to the text before.
            let (before, after) = (text.after.as_deref(), text.before.as_deref());
            stdout.write_own(&text_diff::coloured(Painter::stdout(), text.path.as_str(), before, after))?;
        }
        for line in kept_texts(&project, &undone.kept).await {
            writeln!(stdout, "{}", folded(&line))?;
        }
        write_others(&mut stdout, &project, &runs).await?;
        write_lost(&mut stdout, "", &undone.lost)?;
        return Ok(ExitCode::SUCCESS);
    }
    let undone = Undone::of(&project, &runs).await?;
    if undone.run.restored.is_empty() {
        project.save()?;
        if report_finished(&project, Some(&runs)).await? {
            return Ok(ExitCode::SUCCESS);
        }
        return Err(nothing_left(&project, run, &undone.run).await);
    }
    report_and_save(&project, &undone, "emend redo")
}

/// Returns the failure of a rollback that undoes nothing.
async fn nothing_left(project: &Project, run: u64, undone: &UndoneRun) -> Failure {
    let message = format!("run {run} and later runs have nothing left to undo");
    nothing_done(message, &reasons(project, undone).await)
}

/// Prints a line for each change other than of a text that an undo of the runs would take back.
async fn write_others<W: Write>(out: &mut Guarded<W>, project: &Project, runs: &[u64]) -> Result<(), Failure> {
    for change in project.workspace.other_changes(runs, false).await? {
        if change.is_blocked {
            write_kept(out, &Blocked::all(project, &[change.path]).await)?;
            continue;
        }
        let line = text_diff::other(&change.path, change.after.as_ref(), change.before.as_ref());
        writeln!(out, "{line}")?;
    }
    for line in text_diff::ignored(&project.workspace.ignored_changes(runs, true)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Returns a run and all later ones.
pub(super) fn since(project: &Project, run: u64) -> Result<Vec<u64>, Failure> {
    let runs: Vec<u64> = project.workspace.runs().into_iter().map(|known| known.run_id).collect();
    if !runs.contains(&run) {
        let message = format!("there is no run {run} that changed files; `emend checkpoints` lists the runs");
        return Err(Failure::new(Code::NotFound, message));
    }
    Ok(runs.into_iter().filter(|known| *known >= run).collect())
}

pub(crate) async fn redo(root: &Start) -> Result<ExitCode, Failure> {
    let project = Project::open(root, Mode::Direct).await?;
    match redo_last(&project, "emend redo").await {
        Err(error) if error.code == Code::NotFound && project.finished == Some(FinishedStep::StepUndone) => {
            project.save()?;
            writeln!(stdout(), "the redo had been interrupted and is now complete")?;
        }
        redone => redone?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Restores what the last undo or rollback undid, saves that and prints the runs and the files. `again` is the command that
/// redoes more.
pub(crate) async fn redo_last(project: &Project, again: &str) -> Result<(), Failure> {
    let on = |project: &Project| {
        let runs = project.workspace.runs().into_iter().filter(|run| run.is_on);
        runs.map(|run| run.run_id).collect::<BTreeSet<u64>>()
    };
    let (before, due) = (on(project), project.workspace.runs_to_redo());
    let redone = match project.workspace.redo_runs().await {
        Err(ReviewError::Contested { path, .. }) => {
            if let Some(TextChange { before, after, .. }) = project.workspace.texts_of_redo(&path).await? {
                let diff = text_diff::coloured(Painter::stdout(), path.as_str(), before.as_deref(), after.as_deref());
                stdout().write_own(&diff)?;
            }
            let path = shown(&path);
            let message = format!(
                "nothing was redone: since the undo, {path} was changed at the same lines or made anew; the diff shows its \
                 present text and the one from before the undo"
            );
            return Err(Failure::new(Code::Conflict, message));
        }
        redone => redone?,
    };
    project.save()?;
    let kept = Blocked::all(project, &redone.kept).await;
    if redone.restored.is_empty() {
        let reasons: Vec<String> = kept.iter().map(Blocked::sentence).collect();
        return Err(nothing_done("nothing was redone".to_owned(), &reasons));
    }
    let mut stdout = stdout();
    // A run of which the undo had left a part was on all the time.
    for run in on(project).into_iter().filter(|run| due.contains(run) || !before.contains(run)) {
        writeln!(stdout, "redid {}", visible(&project.run_name(run)?))?;
    }
    let pending: BTreeSet<FilePath> = project.workspace.review().files.into_iter().map(|file| file.path).collect();
    for path in &redone.restored {
        match pending.contains(path) {
            true => writeln!(stdout, "the edits of {} wait for review again", shown(path))?,
            false => writeln!(stdout, "reapplied {}", shown(path))?,
        }
    }
    write_kept(&mut stdout, &kept)?;
    // Texts and other files of one rollback can be redone apart.
    let redone = on(project);
    let mut left = Vec::new();
    for run in project.workspace.runs_to_redo().difference(&redone) {
        left.push(visible(&project.run_name(*run)?));
    }
    if !left.is_empty() {
        writeln!(stdout, "{}", folded(&format!("still undone: {}; to redo more, repeat: {again}", left.join(", "))))?;
    }
    Ok(())
}

/// Returns the failure of a command that found only files to leave alone.
pub(super) fn nothing_done(message: String, reasons: &[String]) -> Failure {
    match reasons {
        [] => Failure::new(Code::NotFound, message),
        reasons => Failure::new(Code::Conflict, format!("{message}: {}", reasons.join("; "))),
    }
}

/// Returns the reasons for which files keep their changes.
pub(crate) async fn reasons(project: &Project, undone: &UndoneRun) -> Vec<String> {
    let mut reasons = Vec::new();
    for path in &undone.kept {
        if let Some(obstacle) = obstacle(project, path).await {
            reasons.push(format!("{}: {obstacle}", shown(path)));
            continue;
        }
        let reason = match project.workspace.saved_text(path.as_str()).await {
            Ok(Some(_)) => "was changed at the same lines since",
            Ok(None) => "is no longer there",
            Err(_) => NOT_READABLE,
        };
        reasons.push(format!("{} {reason}", shown(path)));
    }
    reasons.extend(Blocked::all(project, &undone.blocked).await.iter().map(Blocked::sentence));
    for path in &undone.refused {
        reasons.push(format!("{}: {}", shown(path), refusal(project, path).await));
    }
    reasons.extend(sentence_of_lost(&undone.lost));
    reasons
}

/// Returns that the former state of these paths was not kept; `None` if there are none.
pub(super) fn sentence_of_lost(lost: &[FilePath]) -> Option<String> {
    let lost: Vec<String> = lost.iter().map(shown).collect();
    (!lost.is_empty()).then(|| format!("{} cannot be restored", lost.join(", ")))
}

/// The result of undoing runs, with a line for each file.
pub(crate) struct Undone {
    pub(crate) run: UndoneRun,
    /// The name of the run, if it is one.
    pub(crate) name: Option<String>,
    lines: Vec<String>,
    /// A line for each text that keeps a part of the runs.
    kept: Vec<String>,
    /// Why other paths than texts stay as they are.
    blocked: Vec<Blocked>,
    /// A line for each text that cannot be written.
    refused: Vec<String>,
    /// The commands of the runs, each with the files that changed while it ran. Another program may have changed them.
    by_commands: BTreeMap<String, Vec<String>>,
    /// Whether paths in ignored directories were undone, which no command names.
    is_in_ignored: bool,
}

/// The files before an undo.
#[derive(Default)]
struct BeforeUndo {
    /// The saved texts of files that wait for review; `None` if one cannot be read.
    pending: BTreeMap<FilePath, Option<Option<String>>>,
    /// The paths of the runs at which nothing is, as an edit of the runs has removed it.
    absent: BTreeSet<FilePath>,
}

impl Undone {
    /// Undoes runs.
    pub(crate) async fn of(project: &Project, runs: &[u64]) -> Result<Self, Failure> {
        let workspace = &project.workspace;
        let mut before = BeforeUndo::default();
        for file in workspace.review().files {
            let saved = workspace.saved_text(file.path.as_str()).await.ok();
            before.pending.insert(file.path, saved);
        }
        let changed = workspace.runs().into_iter().filter(|run| runs.contains(&run.run_id));
        for path in changed.flat_map(|run| run.files) {
            if !is_there(project, &path).await {
                before.absent.insert(path);
            }
        }
        let run = workspace.undo_runs(runs).await?;
        Self::with_lines(project, runs, run, &before).await
    }

    /// Describes the undo of runs that an earlier process had begun and that is complete now.
    pub(crate) async fn finished(project: &Project, runs: &[u64]) -> Result<Self, Failure> {
        // The effect of another undo is what this one has left.
        let left = project.workspace.preview_undo_runs(runs).await?;
        let changed = project.workspace.runs().into_iter().filter(|run| runs.contains(&run.run_id));
        let changed: BTreeSet<FilePath> = changed.flat_map(|run| run.files).collect();
        let stay =
            |path: &&FilePath| [&left.restored, &left.kept, &left.blocked].iter().any(|paths| paths.contains(path));
        let restored = changed.iter().filter(|path| !stay(path)).cloned().collect();
        Self::with_lines(project, runs, UndoneRun { restored, ..left }, &BeforeUndo::default()).await
    }

    /// Describes an undo.
    async fn with_lines(project: &Project, runs: &[u64], run: UndoneRun, before: &BeforeUndo) -> Result<Self, Failure> {
        let workspace = &project.workspace;
        let notes = project.run_notes()?.into_iter().filter(|note| runs.contains(&note.run));
        let commands: BTreeMap<FilePath, String> = notes.flat_map(|note| note.commands).collect();
        let (mut lines, mut by_commands) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
        let mut ignored: BTreeMap<FilePath, usize> = workspace.ignored_changes(runs, false);
        ignored.values_mut().for_each(|n_removed| *n_removed = 0);
        let mut is_in_ignored = false;
        for path in &run.restored {
            let saved = workspace.saved_text(path.as_str()).await.ok();
            let name = shown(path);
            if before.pending.get(path).is_some_and(|pending| *pending == saved) {
                lines.push(format!("withdrew the pending edits of {name}"));
                continue;
            }
            let was_there = !before.absent.contains(path);
            let is_there = is_there(project, path).await;
            let mut at_or_above = std::iter::successors(Some(path.clone()), FilePath::parent);
            if let Some(directory) = at_or_above.find(|path| ignored.contains_key(path)) {
                is_in_ignored = true;
                let n_removed = ignored.entry(directory).or_default();
                *n_removed += usize::from(!is_there && was_there);
                if !is_there && *n_removed > NAMED_MAX {
                    continue;
                }
            }
            lines.push(match is_there {
                true => format!("restored {name}"),
                // Other parts of the program cannot open a path that is not UTF-8.
                false if name.contains("\\x") => format!("undid the change of {name}"),
                false if was_there => format!("removed {name}"),
                // An edit of the run had removed it before.
                false => continue,
            });
            if let Some(command) = commands.get(path) {
                by_commands.entry(command.clone()).or_default().push(name);
            }
        }
        for (directory, n_removed) in ignored.iter().filter(|(_, n_removed)| **n_removed > NAMED_MAX) {
            lines.push(format!("removed {} more paths in {}", n_removed - NAMED_MAX, shown(directory)));
        }
        let kept = kept_texts(project, &run.kept).await;
        let blocked = Blocked::all(project, &run.blocked).await;
        let mut refused = Vec::new();
        for path in &run.refused {
            refused.push(format!("kept {}: {}", shown(path), refusal(project, path).await));
        }
        Ok(Self { run, name: None, lines, kept, blocked, refused, by_commands, is_in_ignored })
    }
}

/// Returns a line for each text that an undo leaves as it is, or of which it leaves a part.
async fn kept_texts(project: &Project, paths: &[FilePath]) -> Vec<String> {
    let mut lines = Vec::with_capacity(paths.len());
    for path in paths {
        lines.push(match obstacle(project, path).await {
            Some(obstacle) => format!("kept {}: {obstacle}", shown(path)),
            None if is_directory(project, path).await => {
                format!("did not restore {}: a directory is in its place", shown(path))
            }
            None => match project.workspace.saved_text(path.as_str()).await {
                Ok(Some(_)) => format!("kept your later edits in {}", shown(path)),
                Ok(None) => format!("did not restore {}: it was deleted or moved since", shown(path)),
                Err(_) => format!("kept {}: it {NOT_READABLE}", shown(path)),
            },
        });
    }
    lines
}

/// Returns whether a directory is at a path.
async fn is_directory(project: &Project, path: &FilePath) -> bool {
    let found = project.workspace.environment().metadata(path).await;
    found.is_ok_and(|found| found.is_some_and(|found| found.kind == EntryKind::Directory))
}

/// Returns whether anything is at a path, also a link that leads nowhere.
async fn is_there(project: &Project, path: &FilePath) -> bool {
    let environment = project.workspace.environment();
    let on_disk = Path::new(&environment.working_directory()).join(path.as_str());
    environment.metadata(path).await.is_ok_and(|found| found.is_some()) || on_disk.symlink_metadata().is_ok()
}

/// The reason why a path stays as it is that cannot be read, such as a binary file or a link out of the project.
const NOT_READABLE: &str = "is no longer a text file in the project";

/// The reason why a file stays as it is.
pub(crate) const NOT_PERMITTED: &str = "it has hard links, or the system does not permit to replace it";

/// Returns the reason why an undo leaves a text as it is.
pub(super) async fn refusal(project: &Project, path: &FilePath) -> String {
    if let Some(obstacle) = obstacle(project, path).await {
        return obstacle;
    }
    match project.workspace.saved_text(path.as_str()).await {
        Ok(_) => NOT_PERMITTED.to_owned(),
        Err(_) => format!("it {NOT_READABLE}"),
    }
}

/// Returns a path on one line.
pub(super) fn shown(path: &FilePath) -> String {
    visible(path.as_str())
}

/// The most paths that one line names.
const NAMED_MAX: usize = 10;

/// Returns the first paths of a list, and the number of the others.
pub(super) fn listed(paths: &[String]) -> String {
    let named: Vec<&str> = paths.iter().take(NAMED_MAX).map(String::as_str).collect();
    let more = match paths.len() - named.len() {
        0 => String::new(),
        n_more => format!(" and {n_more} more"),
    };
    named.join(", ") + &more
}

/// Prints the paths whose changes cannot be undone, if there are any.
pub(super) fn write_lost<W: Write>(out: &mut Guarded<W>, indent: &str, lost: &[FilePath]) -> std::io::Result<()> {
    if lost.is_empty() {
        return Ok(());
    }
    let lost: Vec<String> = lost.iter().map(ToString::to_string).collect();
    let text = format!("{indent}cannot be undone: {}", lost.join(", "));
    out.write_own(&(Painter::stdout().paint(style::YELLOW, &visible(&text)) + "\n"))
}

/// Prints the report of an undo, and saves the undo, also if nobody reads the report.
///
/// First the report: after a kill between the two, a command that is repeated finds the undo unfinished, and says so.
pub(crate) fn report_and_save(project: &Project, undone: &Undone, redo: &str) -> Result<ExitCode, Failure> {
    let reported = report(undone, redo);
    project.save()?;
    reported
}

/// Prints which files were restored, after the name of the run if it is one. `redo` is the command that restores all.
pub(crate) fn report(undone: &Undone, redo: &str) -> Result<ExitCode, Failure> {
    let mut stdout = stdout();
    if let Some(run) = &undone.name {
        writeln!(stdout, "{}", folded(&format!("undid {}", visible(run))))?;
    }
    for line in &undone.lines {
        writeln!(stdout, "{}", folded(line))?;
    }
    for line in &undone.kept {
        writeln!(stdout, "{}", folded(line))?;
    }
    write_kept(&mut stdout, &undone.blocked)?;
    for line in &undone.refused {
        writeln!(stdout, "{}", folded(line))?;
    }
    write_lost(&mut stdout, "", &undone.run.lost)?;
    for (command, paths) in &undone.by_commands {
        // The name of the run may be the command.
        let is_said = undone.name.as_ref().is_some_and(|name| name.contains(command.as_str()));
        let command = if is_said { "the command".to_owned() } else { format!("`{}`", visible(command)) };
        let line = format!("changed while {command} ran: {}", listed(paths));
        writeln!(stdout, "{}", folded(&line))?;
    }
    if !undone.by_commands.is_empty() || undone.is_in_ignored {
        let note = format!("If another program made one of these changes, it was undone, too; `{redo}` restores all.");
        writeln!(stdout, "{}", folded(&note))?;
    }
    Ok(ExitCode::SUCCESS)
}

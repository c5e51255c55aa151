//! `emend undo`: undoes the changes of the last run that still has an effect.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::workspace::{FinishedStep, Mode, RunChanges};

use crate::commands::checkpoints::{Undone, reasons, report, report_and_save};
use crate::failure::Failure;
use crate::place::Start;
use crate::project::{Project, RunNote};
use crate::visible::{listing as stdout, visible};

pub(crate) async fn undo(root: &Start) -> Result<ExitCode, Failure> {
    let project = Project::open(root, Mode::Direct).await?;
    if project.finished.is_some() {
        // Before the report, which fails if nobody reads it.
        project.save()?;
    }
    if report_finished(&project, None).await? {
        return Ok(ExitCode::SUCCESS);
    }
    report_and_save(&project, &undo_last(&project).await?, "emend redo")
}

/// Reports an undo that was interrupted and is complete now, if there was one. The user most likely repeats it, so nothing else
/// is undone. With `asked`, only an undo of some of these runs is meant. Returns whether there was one.
pub(super) async fn report_finished(project: &Project, asked: Option<&[u64]>) -> Result<bool, Failure> {
    let Some(FinishedStep::RunsUndone(runs)) = &project.finished else { return Ok(false) };
    let is_asked = |run: &&u64| asked.is_none_or(|asked| asked.contains(run));
    let runs: Vec<u64> = runs.iter().filter(is_asked).copied().collect();
    if runs.is_empty() {
        return Ok(false);
    }
    let undone = Undone::finished(project, &runs).await?;
    let mut stdout = stdout();
    for run in &runs {
        let name = visible(&project.run_name(*run)?);
        writeln!(stdout, "undid {name}: the undo had been interrupted and is now complete")?;
    }
    drop(stdout);
    report(&undone, "emend redo")?;
    let mut stdout = self::stdout();
    if let Some(older) = project.workspace.runs().iter().rev().find(|run| run.is_on).filter(|_| asked.is_none()) {
        let name = visible(&project.run_name(older.run_id)?);
        let rest = if runs.contains(&older.run_id) { format!("the rest of {name}") } else { format!("{name} too") };
        writeln!(stdout, "to undo {rest}, repeat: emend undo")?;
    }
    Ok(true)
}

/// Returns the run that an undo would undo first.
pub(crate) fn last(project: &Project) -> Result<Option<u64>, Failure> {
    let passed = passed(project)?;
    let runs = project.workspace.runs();
    Ok(runs.iter().rev().find(|run| run.is_on && !passed.contains(&run.run_id)).map(|run| run.run_id))
}

/// Returns the runs of which the user was told that they have nothing left to undo.
fn passed(project: &Project) -> Result<BTreeSet<u64>, Failure> {
    Ok(project.run_notes()?.into_iter().filter(|note| note.is_passed).map(|note| note.run).collect())
}

/// Takes in what other programs did to the files since. Returns the last run in effect, if they have taken it back: its files
/// are as before it.
async fn taken_back(project: &Project) -> Result<Option<u64>, Failure> {
    let in_effect = || project.workspace.runs().into_iter().filter(|run| run.is_on).map(|run| run.run_id).collect();
    let before: Vec<u64> = in_effect();
    project.workspace.take_in_changes().await?;
    let now: Vec<u64> = in_effect();
    Ok(before.last().copied().filter(|last| !now.contains(last)))
}

/// Undoes the last run that still has an effect. The caller reports and saves it.
///
/// An older run is not undone instead, because the user may want to keep it: the message says why the last one cannot be
/// undone. A repeated undo goes on to the older one.
pub(crate) async fn undo_last(project: &Project) -> Result<Undone, Failure> {
    let taken_back = taken_back(project).await?;
    let mut runs = project.workspace.runs();
    runs.retain(|run| run.is_on);
    if let Some(last) = taken_back {
        project.save()?;
        let name = project.run_name(last)?;
        let message = format!("{name} has nothing left to undo: its files are as before it");
        return Err(Failure::new(Code::Conflict, message + &advice(project, runs.last())?));
    }
    let passed = passed(project)?;
    while let Some(last) = runs.pop() {
        let name = project.run_name(last.run_id)?;
        let mut undone = Undone::of(project, &[last.run_id]).await?;
        if !undone.run.restored.is_empty() {
            undone.name = Some(name);
            return Ok(undone);
        }
        if passed.contains(&last.run_id) {
            continue;
        }
        project.save()?;
        let mut message = format!("{name} has nothing left to undo");
        let reasons = reasons(project, &undone.run).await;
        let is_undone = !project.workspace.runs().iter().any(|run| run.run_id == last.run_id && run.is_on);
        if reasons.is_empty() && is_undone && !runs.is_empty() {
            // All its files were as before it, and that is recorded now.
            continue;
        }
        if !reasons.is_empty() {
            message += &format!(": {}", reasons.join("; "));
        }
        message += &advice(project, runs.last())?;
        if !runs.is_empty() {
            pass(project, last.run_id)?;
        }
        return Err(Failure::new(Code::Conflict, message));
    }
    Err(Failure::new(Code::NotFound, "there is nothing to undo in this project"))
}

/// Returns how to undo an older run, as the end of a message.
fn advice(project: &Project, older: Option<&RunChanges>) -> Result<String, Failure> {
    let Some(older) = older else { return Ok(String::new()) };
    let name = project.run_name(older.run_id)?;
    Ok(format!(". To undo {name} instead, repeat the undo, or: emend rollback {}", older.run_id))
}

/// Notes that the user was told that a run has nothing left to undo.
fn pass(project: &Project, run: u64) -> Result<(), Failure> {
    let known = project.run_notes()?.into_iter().find(|note| note.run == run);
    let unknown =
        || RunNote { run, session: String::new(), label: String::new(), commands: BTreeMap::new(), is_passed: false };
    project.note_run(RunNote { is_passed: true, ..known.unwrap_or_else(unknown) })
}

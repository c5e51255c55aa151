//! `emend undo`: undoes the changes of the last run that still has an effect.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use emend_agent::environment::FilePath;
use emend_agent::error_code::Code;
use emend_agent::workspace::{FinishedStep, Mode, UndoneRun};

use crate::commands::checkpoints::{Undone, report};
use crate::failure::Failure;
use crate::project::Project;
use crate::visible::{stdout, visible};

pub(crate) async fn undo(root: &Path) -> Result<ExitCode, Failure> {
    let project = Project::open(root, Mode::Direct).await?;
    if let Some(FinishedStep::RunsUndone(runs)) = &project.finished {
        return finished(&project, runs);
    }
    report(&undo_last(&project).await?)
}

/// Reports an undo that was interrupted and is complete now. The user most likely repeats it, so nothing else is undone.
fn finished(project: &Project, runs: &[u64]) -> Result<ExitCode, Failure> {
    project.save()?;
    let mut stdout = stdout();
    for run in runs {
        let name = visible(&project.run_name(*run)?);
        writeln!(stdout, "undid {name}: the undo had been interrupted and is now complete")?;
    }
    if let Some(older) = project.workspace.runs().iter().rev().find(|run| run.is_on) {
        let name = visible(&project.run_name(older.run_id)?);
        writeln!(stdout, "to undo {name} too, repeat: emend undo")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Undoes the last run that still has an effect, and saves that.
///
/// An older run is never undone instead: the user may want to keep it.
pub(crate) async fn undo_last(project: &Project) -> Result<Undone, Failure> {
    let mut runs = project.workspace.runs();
    runs.retain(|run| run.is_on);
    let Some(last) = runs.pop() else {
        return Err(Failure::new(Code::NotFound, "there is nothing to undo in this project"));
    };
    let name = project.run_name(last.run_id)?;
    let mut undone = Undone::of(project, &[last.run_id]).await?;
    if undone.run.restored.is_empty() {
        let mut message = format!("{name} has nothing left to undo");
        let reasons = reasons(project, &undone.run).await;
        if !reasons.is_empty() {
            message += &format!(": {}", reasons.join("; "));
        }
        if let Some(older) = runs.last() {
            message += &format!(". To undo run {} too: emend rollback {0}", older.run_id);
        }
        return Err(Failure::new(Code::Conflict, message));
    }
    project.save()?;
    undone.name = Some(name);
    Ok(undone)
}

/// Returns the reasons for which files keep their changes.
async fn reasons(project: &Project, undone: &UndoneRun) -> Vec<String> {
    let mut reasons = Vec::new();
    for path in &undone.kept {
        let reason = match project.workspace.saved_text(path.as_str()).await {
            Ok(Some(_)) => "was changed at the same lines since",
            Ok(None) => "is no longer there",
            Err(_) => "is no longer a text file",
        };
        reasons.push(format!("{path} {reason}"));
    }
    if !undone.lost.is_empty() {
        let lost: Vec<&str> = undone.lost.iter().map(FilePath::as_str).collect();
        reasons.push(format!("{} cannot be restored", lost.join(", ")));
    }
    reasons
}

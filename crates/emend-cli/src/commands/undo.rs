//! `emend undo`: undoes the changes of the last run that still has an effect.

use std::path::Path;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::workspace::{Mode, UndoneRun};

use crate::commands::checkpoints::report;
use crate::failure::Failure;
use crate::project::Project;

pub(crate) async fn undo(root: &Path) -> Result<ExitCode, Failure> {
    report(&undo_last(&Project::open(root, Mode::Direct)?).await?)
}

/// Undoes the last run that still has an effect, and saves that.
pub(crate) async fn undo_last(project: &Project) -> Result<UndoneRun, Failure> {
    for run in (1..=project.workspace.last_run()).rev() {
        let undone = project.workspace.undo_runs(&[run]).await?;
        if !undone.restored.is_empty() {
            project.save()?;
            return Ok(undone);
        }
    }
    Err(Failure::new(Code::NotFound, "there is nothing to undo in this project"))
}

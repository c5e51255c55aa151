//! `emend undo`: takes back what the agent changed in the last run that still has an effect.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use emend_agent::code::Code;
use emend_agent::workspace::Mode;

use crate::failure::Failure;
use crate::project::Project;

pub(crate) async fn undo(root: &Path) -> Result<ExitCode, Failure> {
    let project = Project::open(root, Mode::Direct)?;
    for run in (1..=project.workspace.last_run()).rev() {
        let undone = project.workspace.undo_runs(&[run]).await?;
        if undone.restored.is_empty() {
            continue;
        }
        project.save()?;
        let mut stdout = std::io::stdout().lock();
        for path in undone.restored {
            writeln!(stdout, "restored {path}")?;
        }
        for path in undone.kept {
            writeln!(stdout, "kept what you edited since in {path}")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::new(Code::NotFound, "there is nothing to undo in this project"))
}

//! Paths that an undo or rollback leaves as they are.

use std::io::Write;

use emend_agent::environment::FilePath;

use crate::failure::Failure;
use crate::project::Project;
use crate::visible::{Guarded, visible};
use crate::wrap::folded;

/// A path of a change that is not of a text, and the reason why it stays as it is.
pub(super) struct Blocked {
    name: String,
    reason: Reason,
}

enum Reason {
    /// A predicate, such as "was changed since".
    Predicate(&'static str),
    /// A sentence.
    Obstacle(String),
}

impl Blocked {
    pub(super) async fn all(project: &Project, paths: &[FilePath]) -> Vec<Self> {
        let mut blocked = Vec::with_capacity(paths.len());
        for path in paths {
            let reason = match (obstacle(project, path).await, project.workspace.environment().metadata(path).await) {
                (Some(obstacle), _) => Reason::Obstacle(obstacle),
                (None, Ok(None)) => Reason::Predicate("is no longer there"),
                (None, _) => Reason::Predicate("was changed since"),
            };
            blocked.push(Self { name: visible(path.as_str()), reason });
        }
        blocked
    }

    pub(super) fn sentence(&self) -> String {
        match &self.reason {
            Reason::Predicate(reason) => format!("{} {reason}", self.name),
            Reason::Obstacle(reason) => format!("{}: {reason}", self.name),
        }
    }
}

/// Prints a line for each path that stays as it is.
pub(super) fn write_kept<W: Write>(out: &mut Guarded<W>, blocked: &[Blocked]) -> Result<(), Failure> {
    for Blocked { name, reason } in blocked {
        let line = match reason {
            Reason::Predicate(reason) => format!("kept {name}: it {reason}"),
            Reason::Obstacle(reason) => format!("kept {name}: {reason}"),
        };
        writeln!(out, "{}", folded(&line))?;
    }
    Ok(())
}

/// Returns that a file is in the place of a directory above a path, if one is.
pub(super) async fn obstacle(project: &Project, path: &FilePath) -> Option<String> {
    let above = project.workspace.file_above(path).await?;
    Some(format!("the file {} is in the place of its directory", visible(above.as_str())))
}

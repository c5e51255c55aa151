//! The command that checks a program: it runs on a copy of the result, with the hidden files added.

use std::path::Path;

use emend_agent::environment::ExecutionEnvironment as _;
use emend_agent::environment::FilePath;
use emend_agent::environment::command::{Command, OutputStream};
use emend_agent::error_code::Code;
use emend_eval::judge::CheckOutcome;
use emend_eval::task::Check;
use emend_eval::tree::Tree;
use emend_host::LocalEnvironment;
use emend_llm::CancelToken;

use super::bench::broken;
use crate::failure::Failure;

/// Characters of the output that the agent gets for its second attempt.
const OUTPUT_CHARS_MAX: usize = 4_000;

/// Checks the files `result` of the directory `root`.
pub(super) async fn run(
    check: &Check,
    root: &Path,
    result: &Tree,
    cancel: &CancelToken,
) -> Result<CheckOutcome, Failure> {
    // The agent's own directory must not get the hidden files: the agent may look again.
    let directory = tempfile::Builder::new().prefix("emend-check-").tempdir()?;
    check.tree(result).write(directory.path()).map_err(broken)?;
    for path in result.0.keys() {
        // A program of the agent must be executable in the copy, too.
        if let Ok(found) = std::fs::metadata(root.join(path)) {
            std::fs::set_permissions(directory.path().join(path), found.permissions())?;
        }
    }
    // Commands get no variable whose name looks like a secret: a check runs programs of the agent.
    let environment = LocalEnvironment::new(directory.path())
        .map_err(|error| Failure::new(Code::IoError, format!("cannot open the copy for the check: {error}")))?;
    let command = Command {
        command: check.command.clone(),
        working_dir: FilePath::clean(&check.directory).unwrap_or_default(),
        timeout_ms: check.timeout_ms,
        ..Command::default()
    };
    let silent = |_: OutputStream, _: &str| {};
    let done = environment.exec_command(&command, &silent, cancel).await;
    let done = done.map_err(|error| Failure::new(Code::IoError, format!("the check cannot run: {error}")))?;
    let mut output = done.stdout + &done.stderr;
    if done.timed_out {
        output.push_str(&format!("\nThe check did not end within {} ms.", check.timeout_ms));
    }
    let place = directory.path().display().to_string();
    let output = output.replace(&place, ".");
    let skipped = output.chars().count().saturating_sub(OUTPUT_CHARS_MAX);
    let output = output.chars().skip(skipped).collect();
    Ok(CheckOutcome { success: done.exit_code == 0 && !done.timed_out, output })
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn a_program_of_the_agent_is_executable_in_the_copy() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("run.sh"), "#!/bin/sh\necho ran\n").unwrap();
        fs::set_permissions(root.path().join("run.sh"), Permissions::from_mode(0o755)).unwrap();
        let check = Check {
            command: "./run.sh".to_owned(),
            files: Tree::default(),
            tests: Tree::default(),
            directory: String::new(),
            timeout_ms: 60_000,
        };
        let result = Tree::read(root.path(), &|_| false).unwrap();
        let outcome = run(&check, root.path(), &result, &CancelToken::new()).await.unwrap();
        assert!(outcome.success && outcome.output == "ran\n", "{}", outcome.output);
    }
}

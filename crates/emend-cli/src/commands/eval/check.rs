//! The command that checks a program: it runs on a copy of the result, with the hidden files added.

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

pub(super) async fn run(check: &Check, result: &Tree, cancel: &CancelToken) -> Result<CheckOutcome, Failure> {
    // The agent's own directory must not get the hidden files: the agent may look again.
    let directory = tempfile::Builder::new().prefix("emend-check-").tempdir()?;
    check.tree(result).write(directory.path()).map_err(broken)?;
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

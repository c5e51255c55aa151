//! Cases for commands, with a shell and without.

use std::sync::{Mutex, PoisonError};

use emend_llm::CancelToken;

use super::{Outcome, Violation, expect, read, resolve, succeed, write};
use crate::environment::command::{Command, ExecResult, OutputStream};
use crate::environment::{Access, EnvError, ExecutionEnvironment};

/// Timeout of commands that end by themselves; no case waits for it.
const LONG_MS: u64 = 600_000;

fn command(text: &str) -> Command {
    Command { command: text.to_owned(), timeout_ms: LONG_MS, ..Command::default() }
}

async fn run(environment: &dyn ExecutionEnvironment, command: &Command) -> Result<ExecResult, Violation> {
    let result = environment.exec_command(command, &|_, _: &str| {}, &CancelToken::new()).await;
    succeed(format!("run {}", command.command), result)
}

/// Checks that an environment without a shell reports its absence.
async fn has_none(environment: &dyn ExecutionEnvironment) -> Outcome {
    let refused = environment.exec_command(&command("echo"), &|_, _: &str| {}, &CancelToken::new()).await;
    let code = refused.map_err(|error: EnvError| error.code().as_str());
    let known = matches!(code, Err("unsupported" | "permission_denied"));
    expect(format!("a command without a shell is refused ({code:?})"), known, true)
}

pub(super) async fn runs_commands(environment: &dyn ExecutionEnvironment) -> Outcome {
    if !environment.has_shell() {
        return has_none(environment).await;
    }
    let shown = Mutex::new((String::new(), String::new()));
    let sink = |stream: OutputStream, text: &str| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        match stream {
            OutputStream::Stdout => shown.0.push_str(text),
            OutputStream::Stderr => shown.1.push_str(text),
        }
    };
    let both = command("echo out; echo err >&2; exit 3");
    let result = succeed("run", environment.exec_command(&both, &sink, &CancelToken::new()).await)?;
    expect("stdout", result.stdout.as_str(), "out\n")?;
    expect("stderr", result.stderr.as_str(), "err\n")?;
    expect("exit status", (result.exit_code, result.timed_out, result.cancelled), (3, false, false))?;
    let shown = std::mem::take(&mut *shown.lock().unwrap_or_else(PoisonError::into_inner));
    expect("what was shown meanwhile", shown, ("out\n".to_owned(), "err\n".to_owned()))?;

    // The command reads the files, and its changes are visible afterwards.
    write(environment, "new.txt", b"from a tool").await?;
    let result = run(environment, &command("cat new.txt; printf 'from a command' > made.txt; rm new.txt")).await?;
    expect("a file that was written", result.stdout.as_str(), "from a tool")?;
    expect("a file the command made", read(environment, "made.txt").await?, b"from a command".to_vec())?;
    let gone = resolve(environment, "new.txt", Access::Write).await?;
    expect("a file the command removed", environment.metadata(&gone).await, Ok(None))?;

    let working_dir = resolve(environment, "src", Access::List).await?;
    let elsewhere = Command { working_dir, ..command("cat lib.rs") };
    expect("a file beside the command", run(environment, &elsewhere).await?.stdout.len(), 29)?;
    let mut told = command("echo \"$GREETING\"");
    told.env_vars.insert("GREETING".to_owned(), "hello there".to_owned());
    expect("a variable", run(environment, &told).await?.stdout.as_str(), "hello there\n")?;
    // Standard input is closed: a read ends at once.
    expect("standard input", run(environment, &command("cat")).await?.stdout.as_str(), "")?;
    expect("a command that is not there", run(environment, &command("no-such-command-here")).await?.exit_code, 127)
}

pub(super) async fn stops_commands(environment: &dyn ExecutionEnvironment) -> Outcome {
    if !environment.has_shell() {
        return has_none(environment).await;
    }
    let short = Command { timeout_ms: 100, ..command("sleep 600") };
    let result = run(environment, &short).await?;
    expect("a command that takes too long", (result.timed_out, result.cancelled), (true, false))?;

    let cancel = CancelToken::new();
    let begun = cancel.clone();
    let sink = move |_, text: &str| {
        if text.contains("begun") {
            begun.cancel();
        }
    };
    let long = command("echo begun; sleep 600");
    let result = succeed("run", environment.exec_command(&long, &sink, &cancel).await)?;
    expect("a command that is cancelled", (result.timed_out, result.cancelled), (false, true))?;
    expect("what it had printed", result.stdout.as_str(), "begun\n")
}

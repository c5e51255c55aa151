//! Helpers of the tests of this crate.

mod interleaved;

use emend_edit::truncate::OutputLimits;
use emend_llm::{BoxFuture, CancelToken, Clock, Shared};
use proptest::test_runner::{Config, RngSeed};

use crate::approval::{CommandLine, SimpleCommand};
use crate::environment::EnvError;
use crate::environment::command::{Command, ExecResult, OutputSink, OutputStream};
use crate::environment::memory::{CommandRunner, MemFs};
use crate::tool::{CommandLimits, Progress, ToolContext};
use crate::workspace::{ReadTracker, Workspace};

pub(crate) use interleaved::{Action, Interleaved, wait};

/// The run has fewer cases of each property: in a browser, and where `cargo xtask mutants` builds the tests.
pub(crate) const FEW_CASES: bool = cfg!(target_family = "wasm") || option_env!("EMEND_FEW_CASES").is_some();

/// Returns the settings of a property test: `native` cases, or at most 200 with [`FEW_CASES`], the same on every run.
pub(crate) fn cases(native: u32) -> Config {
    Config {
        cases: if FEW_CASES { native.min(200) } else { native },
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x0e3e_4d00),
        ..Config::default()
    }
}

/// Says which items of `tests/it/agent_checklist.txt` the running test shows.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}

/// A clock that stands still at this many milliseconds and whose sleeps end at once.
pub(crate) struct Standstill(pub(crate) u64);

impl Clock for Standstill {
    fn now_ms(&self) -> u64 {
        self.0
    }

    fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A shell of six commands, separated by `;`: `echo TEXT`, `write PATH TEXT`, `remove PATH`, `fail STATUS`, `hang`
/// (until it is cancelled) and `late` (exceeds its timeout at once).
pub(crate) struct ToyShell;

async fn run(
    files: MemFs,
    command: &Command,
    output: &dyn OutputSink,
    cancel: &CancelToken,
) -> Result<ExecResult, EnvError> {
    let mut result = ExecResult { duration_ms: 1, ..ExecResult::default() };
    for word in command.command.split(';') {
        let (word, rest) = word.trim().split_once(' ').unwrap_or((word.trim(), ""));
        match word {
            "echo" => {
                output.output(OutputStream::Stdout, &format!("{rest}\n"));
                result.stdout.push_str(&format!("{rest}\n"));
            }
            "warn" => result.stderr.push_str(&format!("{rest}\n")),
            "write" => {
                let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
                let path = command.working_dir.join(path);
                files.insert(path.as_str(), text.replace("\\n", "\n").replace("\\0", "\0"))?;
            }
            "remove" => {
                files.delete(rest);
            }
            "fail" => result.exit_code = rest.parse().unwrap(),
            "hang" => {
                cancel.cancelled().await;
                result.cancelled = true;
            }
            "late" => result.timed_out = true,
            other => panic!("the toy shell has no {other}"),
        }
    }
    Ok(result)
}

impl CommandRunner for ToyShell {
    fn run<'a>(
        &'a self,
        files: MemFs,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        Box::pin(run(files, command, output, cancel))
    }

    fn read<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        let command = |text: &str| SimpleCommand {
            text: text.trim().to_owned(),
            runs: vec![text.split_whitespace().map(str::to_owned).collect()],
            is_plain: true,
            hides: false,
        };
        let commands = line.split(';').filter(|text| !text.trim().is_empty()).map(command);
        Box::pin(std::future::ready(Some(CommandLine { commands: commands.collect() })))
    }
}

/// Returns the context of a call that may write, outside of a session.
pub(crate) fn tool_context(workspace: &Shared<Workspace>, reads: &Shared<ReadTracker>) -> ToolContext {
    ToolContext {
        workspace: Shared::clone(workspace),
        reads: Shared::clone(reads),
        run_id: workspace.last_run(),
        call_id: "call".to_owned(),
        lease: None,
        may_write: true,
        cancel: CancelToken::new(),
        limits: CommandLimits::default(),
        output_limits: OutputLimits::default(),
        progress: Progress::default(),
        clock: workspace.clock(),
        names: Shared::default(),
        subagents: None,
    }
}

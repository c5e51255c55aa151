//! `--backend browser`: the sessions run in a page of Chromium, on the npm package, with the responses of recordings.
//!
//! The page only runs. [`foreign`](super::foreign) compares each request with its recording and scores the runs.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use emend_agent::error_code::Code;
use emend_eval::task::{Goal, TaskSet};
use emend_llm::CancelToken;
use futures::StreamExt as _;
use serde_json::{Value, json};

use super::entries::Entry;
use super::page_server::{self, Message, Package};
use super::task_json;
use crate::args::EvalArgs;
use crate::failure::Failure;
use crate::signals::CancelOnSignal;

/// Names of the browser on PATH, the preferred one first.
const NAMES: [&str; 4] = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/// The npm package where npm installs it.
const PACKAGE: &str = "node_modules/emend";

/// Time for one run, and for the start of the browser, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Agents whose requests a page sends as a terminal does: those that no provider answers.
const REPLAYED: [&str; 3] = ["offline", "do-nothing", "reference"];

/// Without windows and background services.
const FLAGS: [&str; 7] = [
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(Code::InvalidArgument, message)
}

/// Runs all recordings in a page. Returns the runs, one JSON object per line.
pub(super) async fn runs(args: &EvalArgs, set: &TaskSet, entries: &[Entry]) -> Result<String, Failure> {
    if args.replay.is_none() {
        return Err(wrong("--backend browser takes all responses from recordings; give --replay DIR"));
    }
    if let Some(task) = set.tasks.iter().find(|task| matches!(task.goal, Goal::Check(_))) {
        return Err(wrong(format!("the task {} needs a command, and a page runs none; use --backend native", task.id)));
    }
    if let Some(entry) = entries.iter().find(|entry| !REPLAYED.contains(&entry.contestant.model.as_str())) {
        let message = format!(
            "a page replays recordings of {}, and not of {}; run your own page and use --judge",
            REPLAYED.join(", "),
            entry.contestant
        );
        return Err(wrong(message));
    }
    let package = args.package.clone().unwrap_or_else(|| PathBuf::from(PACKAGE));
    let package = Package::open(&package).map_err(|error| {
        wrong(format!("--backend browser needs the npm package emend: {error}; --package names its directory"))
    })?;
    let chromium = chromium(args.browser.as_deref(), std::env::var_os("CHROMIUM").as_deref())?;
    let work = work(set, entries, usize::from(args.attempts))?;
    let n_runs = work.as_array().map_or(0, Vec::len);
    let (url, mut messages) = page_server::start(&package, &work)?;
    let mut browser = Browser::start(&chromium, &url)?;
    let cancel = CancelToken::new();
    let mut signals = CancelOnSignal::begin(&cancel);
    let (mut lines, mut last) = (Vec::new(), Instant::now());
    loop {
        let message = tokio::select! {
            message = messages.next() => message,
            () = signals.interrupted() => return Err(Failure::new(Code::Aborted, "interrupted")),
            () = tokio::time::sleep(Duration::from_millis(200)) => None,
        };
        let failed = |what: String| Failure::new(Code::IoError, format!("{}: {what}", chromium.display()));
        match message {
            Some(Message::Run(line)) => {
                lines.push(line);
                last = Instant::now();
            }
            Some(Message::End) if lines.len() == n_runs => return Ok(lines.join("\n")),
            Some(Message::End) => return Err(failed(format!("the page made {} of {n_runs} runs", lines.len()))),
            Some(Message::Failure(error)) => return Err(failed(format!("the page failed: {error}"))),
            None if cancel.is_cancelled() => return Err(Failure::new(Code::Aborted, "interrupted")),
            None if last.elapsed() > PATIENCE => {
                let seconds = PATIENCE.as_secs();
                return Err(failed(format!("the page sent nothing for {seconds} s{}", browser.output())));
            }
            None => {
                if let Some(status) = browser.child.try_wait()? {
                    return Err(failed(format!("the browser ended with {status}{}", browser.output())));
                }
            }
        }
    }
}

/// Returns what the page has to do: for each recording and task the messages and the responses.
fn work(set: &TaskSet, entries: &[Entry], attempts_max: usize) -> Result<Value, Failure> {
    let mut work = Vec::new();
    for entry in entries {
        for task in &set.tasks {
            let recorded = entry.recorded(task)?.ok_or_else(|| wrong("there is no recording"))?;
            let cassette = json!(recorded.cassette);
            let exchanges = cassette["exchanges"].as_array().into_iter().flatten();
            let responses = exchanges.map(|exchange| {
                let response = exchange["answer"].get("response")?;
                let chunks = response["chunks"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let body: String = chunks.collect();
                Some(json!({ "status": response["status"], "headers": response["headers"], "body": body }))
            });
            let messages: Vec<&String> = recorded.messages.iter().take(attempts_max).collect();
            let contestant = &entry.contestant;
            work.push(json!({
                "model": contestant.model, "edits": contestant.edits, "tool_calls": contestant.tool_calls,
                "task": task_json(task), "messages": messages, "responses": responses.collect::<Vec<_>>(),
            }));
        }
    }
    Ok(work.into())
}

/// Returns the browser's program: the one of the option, of the variable, or the first one on PATH.
fn chromium(option: Option<&Path>, variable: Option<&OsStr>) -> Result<PathBuf, Failure> {
    let named = option.map(|path| (path.to_owned(), "--browser"));
    let named = named.or_else(|| Some((PathBuf::from(variable.filter(|path| !path.is_empty())?), "CHROMIUM")));
    if let Some((path, source)) = named {
        return match path.is_file() {
            // A name alone would be looked for on PATH.
            true => Ok(std::path::absolute(&path).unwrap_or(path)),
            false => Err(wrong(format!("{source}: {} is not a program", path.display()))),
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut found = NAMES.iter().flat_map(|name| std::env::split_paths(&folders).map(move |folder| folder.join(name)));
    found.find(|file| file.is_file()).ok_or_else(|| {
        wrong("--backend browser needs Chromium, and none is on PATH; --browser or the variable CHROMIUM names its program")
    })
}

/// A running browser, ended when dropped.
struct Browser {
    child: Child,
    /// The profile and the output.
    directory: tempfile::TempDir,
}

impl Browser {
    fn start(program: &Path, url: &str) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new().prefix("emend-browser-").tempdir()?;
        let output = File::create(directory.path().join("output"))?;
        let mut command = Command::new(program);
        command.args(FLAGS).arg(format!("--user-data-dir={}", directory.path().join("profile").display()));
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            // Its processes end together.
            command.process_group(0);
            if rustix::process::geteuid().is_root() {
                // Chromium has no sandbox for the superuser, and does not start otherwise.
                command.arg("--no-sandbox");
            }
        }
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
        let child = command.spawn().map_err(|error| {
            Failure::new(Code::InvalidArgument, format!("cannot start {}: {error}", program.display()))
        })?;
        Ok(Self { child, directory })
    }

    /// Returns the end of its output, for an error.
    fn output(&self) -> String {
        let text = std::fs::read(self.directory.path().join("output")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text[text.len().saturating_sub(2_000)..]).trim().to_owned();
        if text.is_empty() { text } else { format!(": {text}") }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            // If it has ended by itself there is nothing left to do.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_names_the_browser_before_the_variable() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, "").unwrap();
            path
        };
        let (one, two, missing) = (file("one"), file("two"), directory.path().join("three"));
        let found = |option: Option<&PathBuf>, variable: Option<&PathBuf>| {
            chromium(option.map(PathBuf::as_path), variable.map(|path| path.as_os_str())).map_err(|error| error.message)
        };
        assert_eq!(found(Some(&one), Some(&two)).unwrap(), one);
        assert_eq!(found(None, Some(&two)).unwrap(), two);
        let refused = found(Some(&missing), Some(&two)).unwrap_err();
        assert!(refused.starts_with("--browser: ") && refused.ends_with("three is not a program"), "{refused}");
        assert!(found(None, Some(&missing)).unwrap_err().starts_with("CHROMIUM: "));
    }
}

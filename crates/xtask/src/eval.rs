//! `cargo xtask eval`: the task set `core` with recorded responses, natively and in Chromium, and the controls on the sets
//! `rustlings` and `history`; and a tiny model on the task set `small`.
//!
//! Recordings measure the harness, not a model: the run fails unless `do-nothing` solves no task, `reference` all, both
//! hosts give byte-equal results, and a changed request is refused.

mod results;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use self::results::{Controls, nothing_silently_wrong, row};
use crate::llama::Server;
use crate::process::{command, run as run_program, stdout_of};
use crate::repo::Repo;
use crate::setup::browser::Browser;
use crate::setup::llama;
use crate::{build, progress::say};

/// The recordings of the set `core`.
const RECORDINGS: &str = "crates/emend-eval/recordings/core";

/// The agents with recordings.
const AGENTS: [&str; 3] = ["offline", "do-nothing", "reference"];

/// Runs the command with its arguments.
pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["core", "--record"] => record(repo),
        ["core"] => {
            let emend = build::command_line(repo)?;
            check_controls(repo, &emend)?;
            check_refusal(repo, &emend)?;
            build::modules(repo)?;
            build::package(repo)?;
            in_chromium(repo, &emend).map(drop)
        }
        ["core", "--backend", "native"] => check_controls(repo, &build::command_line(repo)?),
        ["core", "--backend", "browser"] => {
            let emend = build::command_line(repo)?;
            build::modules(repo)?;
            build::package(repo)?;
            in_chromium(repo, &emend).map(drop)
        }
        ["rustlings"] => {
            let directory = rustlings(repo)?;
            all_right(run_controls(repo, &format!("rustlings:{}", directory.display()))?)
        }
        ["history"] => all_right(run_controls(repo, HISTORY)?),
        ["--llama"] => with_tiny_model(repo),
        _ => bail!(
            "usage: cargo xtask eval core [--backend native | --backend browser | --record]\n       \
             cargo xtask eval rustlings\n       cargo xtask eval history\n       cargo xtask eval --llama"
        ),
    }
}

/// Runs the tiny model on the set `small`, with tool calls that it writes freely and with constrained ones, and prints the
/// matrix. The score says nothing about the harness. Only silently wrong files fail the command.
fn with_tiny_model(repo: &Repo) -> Result<()> {
    let emend = build::command_line(repo)?;
    let server = Server::start(repo, &llama::set_up(repo)?)?;
    say!("the model answers at {}", server.url);
    let report = |model: &[&str], output: &str| {
        let mut eval = command(&emend, repo.root());
        eval.env("OPENAI_COMPATIBLE_BASE_URL", format!("{}/v1", server.url));
        eval.args(["eval", "small", "--output", output]).args(model);
        let done = eval.output().context("emend eval")?;
        let stderr = String::from_utf8_lossy(&done.stderr);
        // A request that failed is in the report, too.
        ensure!(
            matches!(done.status.code(), Some(0 | PROVIDER_FAILED)),
            "emend eval ended with {}: {stderr}",
            done.status
        );
        anyhow::Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let recordings = output(repo).join("llama");
    let recordings = recordings.display().to_string();
    let options = [&TINY_MODEL[..], &["--record", &recordings]].concat();
    let lines = report(&options, "jsonl")?;
    std::fs::write(output(repo).join("llama.jsonl"), &lines)?;
    // The same responses as a table: the model is asked once.
    let options = [&TINY_MODEL[..], &["--replay", &recordings]].concat();
    let table = report(&options, "table")?;
    std::fs::write(output(repo).join("llama.txt"), &table)?;
    table.lines().for_each(|line| say!("  {line}"));
    say!("the results of each task are in {}", output(repo).join("llama.jsonl").display());
    nothing_silently_wrong(&lines)
}

/// The exit status of `emend eval` after a report with tasks that ended with an error.
const PROVIDER_FAILED: i32 = 4;

/// The agents of the tiny model. The responses are limited because such a model repeats itself without end.
const TINY_MODEL: [&str; 18] = [
    "--model",
    "openai_compatible:SmolLM2-135M-Instruct",
    "--tool-calls",
    "native",
    "--tool-calls",
    "constrained",
    "--profile",
    "none",
    "--provider-options",
    r#"{"openai_compatible": {"temperature": 0, "max_tokens": 128}}"#,
    "--context-window",
    "8192",
    "--max-turns",
    "4",
    "--retries",
    "2",
    "--attempts",
    "1",
];

/// The version of the crate `rustlings` whose exercises are a task set.
const RUSTLINGS: &str = "6.5.0";

/// Returns the directory with the exercises, which are fetched if they are missing. They are not committed.
pub(crate) fn rustlings(repo: &Repo) -> Result<PathBuf> {
    let folder = output(repo).join(format!("rustlings-{RUSTLINGS}"));
    if folder.join("exercises").is_dir() {
        return Ok(folder);
    }
    // It downloads and unpacks the crate, to show facts about it, without building anything.
    stdout_of(command("cargo", repo.root()).args(["info", "--quiet", &format!("rustlings@{RUSTLINGS}")]))?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home =
        home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"))).context("no CARGO_HOME")?;
    let sources = home.join("registry/src");
    let registries = std::fs::read_dir(&sources).with_context(|| sources.display().to_string())?;
    let unpacked = registries.filter_map(|entry| Some(entry.ok()?.path().join(format!("rustlings-{RUSTLINGS}"))));
    let unpacked = unpacked.into_iter().find(|path| path.join("exercises").is_dir());
    let unpacked = unpacked.with_context(|| format!("{} has no rustlings-{RUSTLINGS}", sources.display()))?;
    for part in ["exercises", "solutions", "LICENSE"] {
        copy(&unpacked.join(part), &folder.join(part))?;
    }
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        std::fs::create_dir_all(to.parent().context("a path without a directory")?)?;
        std::fs::copy(from, to).with_context(|| from.display().to_string())?;
        return Ok(());
    }
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let name = entry?.file_name();
        copy(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// The fixes of this repository.
pub(crate) const HISTORY: &str = "history:.";

/// Runs the controls on a set with checks: `do-nothing` must solve no task, and `reference` all.
pub(crate) fn run_controls(repo: &Repo, set: &str) -> Result<Controls> {
    let emend = build::command_line(repo)?;
    let mut eval = command(emend, repo.root());
    // The copies of a repository share their builds of dependencies. Their own crates have the same names and hashes, so two
    // copies at a time would run each other's tests.
    let jobs = if set == HISTORY { "1" } else { "2" };
    eval.env("CARGO_TARGET_DIR", checks(repo)).env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    eval.args(["eval", set, "--attempts", "1", "--jobs", jobs, "--output", "jsonl"]);
    eval.args(["--model", "do-nothing", "--model", "reference"]);
    let controls = Controls::of(&stdout_of(&mut eval)?)?;
    let Controls { right, wrong, unbuilt } = &controls;
    say!("{set}: {} tasks are right, {} wrong, {} not built", right.len(), wrong.len(), unbuilt.len());
    wrong.iter().for_each(|wrong| say!("  {wrong}"));
    Ok(controls)
}

/// Fails unless all tasks have been built, and both controls have their scores.
fn all_right(Controls { wrong, unbuilt, .. }: Controls) -> Result<()> {
    ensure!(wrong.is_empty(), "{}", wrong.join(", "));
    ensure!(unbuilt.is_empty(), "packages are missing for the checks of {}", unbuilt.join(", "));
    Ok(())
}

/// The directory in which the checks of a set are built.
pub(crate) fn checks(repo: &Repo) -> PathBuf {
    output(repo).join("checks")
}

/// Records the agents again, after a change of the set or of the requests.
fn record(repo: &Repo) -> Result<()> {
    let emend = build::command_line(repo)?;
    let mut eval = command(emend, repo.root());
    eval.args(["eval", "core", "--jobs", "2", "--record", RECORDINGS]);
    eval.args(AGENTS.iter().flat_map(|agent| ["--model", *agent]));
    run_program(&mut eval)
}

fn output(repo: &Repo) -> PathBuf {
    repo.path("target/eval")
}

/// Runs `emend eval core` with these arguments and returns its standard output.
fn eval(repo: &Repo, emend: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = command(emend, repo.root())
        .args(["eval", "core", "--jobs", "2"])
        .args(arguments)
        .output()
        .context("emend eval")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "emend eval {} ended with {}: {stderr}", arguments.join(" "), output.status);
    Ok(output.stdout)
}

/// Replays all agents natively, prints the matrix, and checks the scores of the controls.
pub(crate) fn check_controls(repo: &Repo, emend: &Path) -> Result<()> {
    let table = eval(repo, emend, &["--replay", RECORDINGS])?;
    for line in String::from_utf8_lossy(&table).lines() {
        say!("  {line}");
    }
    let lines = native(repo, emend)?;
    for (agent, wanted) in [("do-nothing", 0), ("reference", 40)] {
        let row = row(&lines, agent)?;
        let (hits, total) = (&row["solved"]["hits"], &row["solved"]["total"]);
        ensure!(*hits == wanted && *total == 40, "{agent} solved {hits} of {total} tasks instead of {wanted} of 40");
        ensure!(row["silently_wrong"]["hits"] == 0, "{agent} left silently wrong files");
    }
    let page = output(repo).join("report.html");
    std::fs::write(&page, eval(repo, emend, &["--replay", RECORDINGS, "--output", "html"])?)?;
    say!("the report is {}", page.display());
    Ok(())
}

/// Returns the results of the replay as JSON lines, which are also written to `target/eval/native.jsonl`.
fn native(repo: &Repo, emend: &Path) -> Result<Vec<u8>> {
    let lines = eval(repo, emend, &["--replay", RECORDINGS, "--output", "jsonl"])?;
    std::fs::create_dir_all(output(repo))?;
    std::fs::write(output(repo).join("native.jsonl"), &lines)?;
    Ok(lines)
}

/// Checks that a replay refuses a request that differs from its recording by one word.
pub(crate) fn check_refusal(repo: &Repo, emend: &Path) -> Result<()> {
    let changed = output(repo).join("changed");
    std::fs::create_dir_all(&changed)?;
    let original = std::fs::read_to_string(repo.path(RECORDINGS).join("reference.json"))?;
    let text = "set retries to 5";
    ensure!(original.contains(text), "no recorded request contains {text:?}");
    // The digest must go too: it is compared first, and belongs to the unchanged request.
    let mut recording: Value = serde_json::from_str(&original)?;
    let task = &mut recording["tasks"]["change-constant"]["cassette"]["exchanges"][0]["request"];
    let request = task.to_string().replace(text, "set retries to 6");
    *task = serde_json::from_str(&request)?;
    task["digest"] = "sha256:0".into();
    std::fs::write(changed.join("reference.json"), recording.to_string())?;
    let replay = |directory: &str| {
        let mut eval = command(emend, repo.root());
        eval.args(["eval", "core", "--task", "change-constant", "--model", "reference", "--replay", directory]);
        eval.output().context("emend eval")
    };
    let same = replay(RECORDINGS)?;
    ensure!(same.status.success(), "the unchanged recording is refused");
    let refused = replay(&changed.display().to_string())?;
    let stderr = String::from_utf8_lossy(&refused.stderr);
    let names_both = stderr.contains("is not the one in the cassette") && stderr.contains("set retries to 6");
    ensure!(refused.status.code() == Some(1) && names_both, "a changed request was not refused: {stderr}");
    say!("a replay refuses a request that differs by one digit");
    Ok(())
}

/// Runs the set in Chromium, on the built npm package, and compares the results with the native ones. Returns the number
/// of runs.
pub(crate) fn in_chromium(repo: &Repo, emend: &Path) -> Result<usize> {
    let native = native(repo, emend)?;
    let chromium = Browser::find().chromium.context("no Chromium here: `cargo xtask setup` installs it")?;
    let (chromium, package) = (chromium.display().to_string(), repo.path("pkg").display().to_string());
    let options = ["--backend", "browser", "--browser", &chromium, "--package", &package, "--output", "jsonl"];
    let browser = eval(repo, emend, &[&["--replay", RECORDINGS], &options[..]].concat())?;
    std::fs::write(output(repo).join("browser.jsonl"), &browser)?;
    ensure!(browser == native, "{} differs from native.jsonl beside it", output(repo).join("browser.jsonl").display());
    let n_runs = native.iter().filter(|byte| **byte == b'\n').count() - 1 - AGENTS.len();
    say!("{n_runs} runs in Chromium give byte-equal results");
    Ok(n_runs)
}

//! `cargo xtask`: sets up, builds, demonstrates, tests and measures the project.
//!
//! Every command works from a bare clone: it installs missing tools or names them. Nothing in this crate is shipped.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a build tool talks on the terminal")]

mod bench;
mod build;
mod demo;
mod eval;
mod llama;
mod metadata;
mod mutants;
mod process;
mod process_tree;
mod progress;
mod repo;
mod serve;
mod settings;
mod setup;
mod smoke;
mod test;
mod toolchain;
mod wasm_command;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::repo::Repo;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  setup                   install what the other commands need; says what it skips
  build [MODULE…]         build the wasm modules, the npm package and the page; or only some modules and the package
  demo [--headless]       set up, build and serve the page; or drive it and keep screenshots in target/demo
  test [--fast | --all] [--only STEP] [--llama]
                          run every check; --fast within two minutes, --all with storms and planted faults,
                          --llama only the client with a real model, whose server is built first
  mutants [PATH] [--since REVISION] [--shard K/N]
  mutants --one-build [PATH…] [--since REVISION]
                          change one function at a time and count the changes that tests notice; in a path, in lines
                          that differ from a revision, or in the workspace, session, approval, line log and commit;
                          --one-build builds once with all changes, which takes minutes instead of hours
  eval core [--backend native | --backend browser | --record]
                          replay the recorded agents on the task set `core`, natively and in Chromium; or record again
  eval --llama            a model of 135 million parameters on the task set `small`, with free and with constrained tool
                          calls; its server is built first
  eval rustlings | history
                          run two agents with known scores on a task set with programs; takes minutes to hours
  smoke [--provider NAME] [--model NAME]
                          ask real providers, where the environment has keys; costs a few cents
  bench [NAME] [--json] [--peers]
                          measure; --json prints one object a line, --peers installs what to compare with
  wasm CARGO_ARGUMENTS    run cargo for wasm32 with the compiler, linker and test runner that setup found
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs one command. `Ok(false)` means that it completed and a check failed.
fn dispatch(arguments: &[String]) -> Result<bool> {
    let Some((command, rest)) = arguments.split_first() else {
        print!("{USAGE}");
        return Ok(true);
    };
    let repo = Repo::find()?;
    match command.as_str() {
        "setup" => setup::set_up(&repo).map(|()| true),
        "build" if rest.is_empty() => build::all(&repo).map(|()| true),
        "build" => build::some(&repo, rest).map(|()| true),
        "demo" => demo::run_demo(&repo, rest).map(|()| true),
        "test" => test::run(&repo, rest),
        "mutants" => mutants::run(&repo, rest),
        "eval" => eval::run(&repo, rest).map(|()| true),
        "smoke" => smoke::run(&repo, rest),
        "bench" => bench::run(&repo, rest).map(|()| true),
        "wasm" => wasm_command::run(&repo, rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(true)
        }
        unknown => bail!("unknown command `{unknown}`\n{USAGE}"),
    }
}

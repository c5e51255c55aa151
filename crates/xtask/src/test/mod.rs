//! `cargo xtask test`: every check of the project, one step after another.
//!
//! A step that fails does not hide the later ones. Each prints its own counts and seconds; the last line is their sum,
//! `N passed, N failed, N skipped`. Full outputs go to `target/logs`.

mod browser;
mod counts;
mod dependencies;
mod failures;
mod fuzz;
mod http;
mod licence;
mod lint;
mod llama;
mod mutants;
mod names;
mod native;
mod node;
mod tidy;
mod wasm;

use std::cell::{OnceCell, RefCell};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

pub(crate) use self::counts::Counts;
use crate::build::{self, Modules};
use crate::process::{Logged, logged};
use crate::repo::Repo;
use crate::setup;

/// Longest time for one program of one step; a hanging browser must not use up a whole run.
const LIMIT: Duration = Duration::from_secs(25 * 60);

/// Which steps run, and how thoroughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// What can be said within two minutes.
    Fast,
    /// Everything that every change has to pass.
    Usual,
    /// The long storms and the planted faults too.
    All,
    /// What runs only when it is named.
    Named,
}

/// What every step is given.
pub(crate) struct Context<'a> {
    repo: &'a Repo,
    depth: Depth,
    modules: OnceCell<Modules>,
    package: OnceCell<()>,
    /// What failed and what it said, for the end of the output: logs are often cut in the middle.
    failures: RefCell<Vec<String>>,
}

struct Step {
    name: &'static str,
    /// The least depth at which the step runs.
    from: Depth,
    run: fn(&Context<'_>) -> Result<Counts>,
}

const STEPS: [Step; 16] = [
    Step { name: "fmt", from: Depth::Fast, run: lint::fmt },
    Step { name: "tidy", from: Depth::Fast, run: tidy::run },
    Step { name: "dependencies", from: Depth::Fast, run: dependencies::run },
    Step { name: "clippy", from: Depth::Usual, run: lint::clippy },
    Step { name: "clippy-wasm", from: Depth::Usual, run: lint::clippy_wasm },
    Step { name: "docs", from: Depth::Usual, run: lint::docs },
    Step { name: "native", from: Depth::Fast, run: native::run },
    Step { name: "http", from: Depth::Usual, run: http::run },
    Step { name: "browser", from: Depth::Usual, run: browser::run },
    Step { name: "wasm", from: Depth::Usual, run: wasm::run },
    Step { name: "package", from: Depth::Usual, run: node::package },
    Step { name: "page", from: Depth::Usual, run: node::page },
    Step { name: "e2e", from: Depth::Usual, run: node::end_to_end },
    Step { name: "fuzz", from: Depth::All, run: fuzz::run },
    Step { name: "mutants", from: Depth::All, run: mutants::run_all },
    Step { name: "llama", from: Depth::Named, run: llama::run },
];

impl Depth {
    fn includes(self, least: Self) -> bool {
        let rank = |depth| match depth {
            Self::Fast => 0,
            Self::Usual => 1,
            Self::All => 2,
            Self::Named => 3,
        };
        rank(least) <= rank(self)
    }
}

/// Runs the steps that the arguments choose; `Ok(false)` when anything failed.
pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<bool> {
    let (depth, only) = parse(arguments)?;
    let chosen = STEPS.iter().filter(|step| only.as_ref().map_or(depth.includes(step.from), |name| name == step.name));
    let chosen: Vec<&Step> = chosen.collect();
    if chosen.iter().any(|step| step.from != Depth::Fast) {
        setup::set_up(repo)?;
    }
    let context =
        Context { repo, depth, modules: OnceCell::new(), package: OnceCell::new(), failures: RefCell::default() };
    let mut rows = Vec::new();
    for step in chosen {
        println!("== {}", step.name);
        let started = Instant::now();
        let counts = (step.run)(&context).unwrap_or_else(|error| {
            println!("  {error:#}");
            context.failures.borrow_mut().push(format!("== {}\n{error:#}", step.name));
            Counts::failed(1)
        });
        let seconds = started.elapsed().as_secs_f64();
        println!("  {}: {counts} ({seconds:.1} s)", step.name);
        rows.push((step.name, counts, seconds));
    }
    for failure in context.failures.take() {
        println!("\n{failure}");
    }
    print_table(&rows);
    let total = rows.iter().fold(Counts::default(), |sum, (_, counts, _)| sum + *counts);
    println!("{total}");
    Ok(total.failed == 0)
}

fn parse(arguments: &[String]) -> Result<(Depth, Option<String>)> {
    let mut depth = Depth::Usual;
    let mut only = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--fast" => depth = Depth::Fast,
            "--all" => depth = Depth::All,
            "--llama" => only = Some("llama".to_owned()),
            "--only" => only = words.next().cloned(),
            unknown => bail!("unknown argument `{unknown}`"),
        }
    }
    let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
    match &only {
        Some(name) if !names.contains(&name.as_str()) => bail!("no step `{name}`; steps: {}", names.join(", ")),
        _ => Ok((depth, only)),
    }
}

fn print_table(rows: &[(&str, Counts, f64)]) {
    println!("\n{:<14}{:>8}{:>8}{:>9}{:>9}", "step", "passed", "failed", "skipped", "seconds");
    for (name, counts, seconds) in rows {
        println!("{name:<14}{:>8}{:>8}{:>9}{seconds:>9.1}", counts.passed, counts.failed, counts.skipped);
    }
}

impl Context<'_> {
    /// Builds the wasm modules, unless an earlier step has.
    fn modules(&self) -> Result<&Modules> {
        if let Some(modules) = self.modules.get() {
            return Ok(modules);
        }
        let modules = build::modules(self.repo)?;
        Ok(self.modules.get_or_init(|| modules))
    }

    /// Builds the npm package with its modules, unless an earlier step has.
    fn build_package(&self) -> Result<()> {
        self.modules()?;
        if self.package.get().is_none() {
            build::package(self.repo)?;
            self.package.get_or_init(|| ());
        }
        Ok(())
    }

    /// Runs one program of a step and shows the lines that `show` picks. What failed is shown here and again at the end.
    fn program(&self, name: &str, command: &mut Command, show: impl FnMut(&str) -> bool) -> Result<Logged> {
        let log = self.repo.path("target/logs").join(format!("{name}.log"));
        let output = logged(command, &log, LIMIT, show)?;
        if !output.success {
            let excerpt = failures::excerpt(&output.text).join("\n    ");
            let report = format!("== {name} failed; all of it is in {}:\n    {excerpt}", log.display());
            println!("  {report}");
            self.failures.borrow_mut().push(report);
        }
        Ok(output)
    }

    /// As [`Self::program`], for a program that is itself one check.
    fn check(&self, name: &str, command: &mut Command) -> Result<Counts> {
        let output = self.program(name, command, |_| false)?;
        Ok(if output.success { Counts::passed(1) } else { Counts::failed(1) })
    }
}

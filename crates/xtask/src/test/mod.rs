//! `cargo xtask test`: every check of the project, in three lanes that run side by side.
//!
//! A failed step does not stop the later ones. Each step prints its counts and seconds; the last line is the sum,
//! `N passed, N failed, N skipped`. The full output of every program is kept in `target/logs`.

mod browser;
mod counts;
mod dependencies;
mod failures;
mod fuzz;
mod http;
mod layers;
mod licence;
mod lint;
mod llama;
mod mutants;
mod names;
mod native;
mod node;
mod schedule;
mod tidy;
mod wasm;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

pub(crate) use self::counts::Counts;
use self::schedule::{Lane, Scheduled};
use crate::build::{self, Modules};
use crate::process::{Logged, logged};
use crate::progress::{say, with_label};
use crate::repo::Repo;
use crate::setup;

/// Longest time for one program of one step; a hanging browser must not use up a whole run.
const LIMIT: Duration = Duration::from_secs(25 * 60);

/// Which steps run, and how thoroughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Checks that end within two minutes.
    Fast,
    /// Checks that every change has to pass.
    Usual,
    /// The long storms and the planted faults too.
    All,
    /// Steps that run only when they are named.
    Named,
}

/// The state that all steps share.
pub(crate) struct Context<'a> {
    repo: &'a Repo,
    depth: Depth,
    modules: Mutex<Option<Arc<Modules>>>,
    package_is_built: Mutex<bool>,
    /// Excerpts of failed programs, repeated at the end of the output: logs are often cut in the middle.
    failures: Mutex<Vec<String>>,
}

/// One step: its place in the schedule and the function that runs it.
struct Step {
    name: &'static str,
    /// The least depth at which the step runs.
    from: Depth,
    lane: Lane,
    needs: &'static [&'static str],
    run: fn(&Context<'_>) -> Result<Counts>,
}

impl Scheduled for Step {
    fn name(&self) -> &'static str {
        self.name
    }

    fn lane(&self) -> Lane {
        self.lane
    }

    fn needs(&self) -> &'static [&'static str] {
        self.needs
    }
}

/// The step that installs tools. It runs before every step that is not part of `--fast`.
const SETUP: &str = "setup";

const fn step(name: &'static str, from: Depth, lane: Lane, run: fn(&Context<'_>) -> Result<Counts>) -> Step {
    Step { name, from, lane, needs: &[], run }
}

const fn after(needs: &'static [&'static str], step: Step) -> Step {
    Step { needs, ..step }
}

/// All steps. Inside a lane they run in this order; a step stands behind all steps that it needs.
const STEPS: [Step; 23] = [
    step("fmt", Depth::Fast, Lane::Native, lint::fmt),
    step("tidy", Depth::Fast, Lane::Native, tidy::run),
    step("layers", Depth::Fast, Lane::Native, layers::run),
    step("dependencies", Depth::Fast, Lane::Native, dependencies::run),
    step(SETUP, Depth::Usual, Lane::Browser, set_up),
    // Beside the other parts of the set-up: the step `native` comes first in its lane and needs nothing else of them.
    step("python", Depth::Usual, Lane::Native, set_up_python),
    step("native", Depth::Fast, Lane::Native, native::run),
    step("clippy", Depth::Usual, Lane::Native, lint::clippy),
    step("docs", Depth::Usual, Lane::Native, lint::docs),
    after(&[SETUP], step("http", Depth::Usual, Lane::Native, http::native)),
    after(&[SETUP], step("browser", Depth::Usual, Lane::Browser, browser::run)),
    after(&[SETUP], step("http-page", Depth::Usual, Lane::Browser, http::page)),
    after(&[SETUP], step("clippy-wasm", Depth::Usual, Lane::Browser, lint::clippy_wasm)),
    after(&[SETUP], step("docs-wasm", Depth::Usual, Lane::Browser, lint::docs_wasm)),
    after(&["native", "browser"], step("same-tests", Depth::Usual, Lane::Browser, browser::same_tests)),
    after(&[SETUP], step("wasm", Depth::Usual, Lane::Package, wasm::run)),
    after(&[SETUP], step("package", Depth::Usual, Lane::Package, node::package)),
    after(&[SETUP], step("page", Depth::Usual, Lane::Package, node::page)),
    after(&[SETUP, "native"], step("e2e", Depth::Usual, Lane::Package, node::end_to_end)),
    after(&[SETUP, "native"], step("demo", Depth::Usual, Lane::Package, node::demo)),
    step("fuzz", Depth::All, Lane::Native, fuzz::run),
    step("mutants", Depth::All, Lane::Native, mutants::run_all),
    after(&[SETUP], step("llama", Depth::Named, Lane::Native, llama::run)),
];

fn set_up(context: &Context<'_>) -> Result<Counts> {
    setup::set_up_tools(context.repo)?;
    Ok(Counts::default())
}

fn set_up_python(context: &Context<'_>) -> Result<Counts> {
    setup::set_up_python(context.repo);
    Ok(Counts::default())
}

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

/// Runs the steps that the arguments choose; `Ok(false)` when a check failed.
pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<bool> {
    let (depth, only) = parse(arguments)?;
    let chosen = STEPS.iter().filter(|step| match &only {
        Some(name) => name == step.name || (step.name == SETUP && needs_set_up(name)),
        None => depth.includes(step.from),
    });
    let chosen: Vec<&Step> = chosen.collect();
    let context = Context {
        repo,
        depth,
        modules: Mutex::default(),
        package_is_built: Mutex::default(),
        failures: Mutex::default(),
    };
    let began = Instant::now();
    let rows = Mutex::new(BTreeMap::new());
    schedule::run(&chosen, |step| {
        let row = with_label(step.name, || run_step(step, &context, began));
        locked(&rows).insert(step.name, row);
    });
    for failure in locked(&context.failures).iter() {
        println!("\n{failure}");
    }
    let rows = locked(&rows);
    let rows: Vec<(&str, Row)> = chosen.iter().filter_map(|step| Some((step.name, *rows.get(step.name)?))).collect();
    print_table(&rows, began.elapsed());
    let total = rows.iter().fold(Counts::default(), |sum, (_, row)| sum + row.counts);
    // A step without a row panicked.
    let total = total + Counts::failed(chosen.len() - rows.len());
    println!("{total}");
    Ok(total.failed == 0)
}

/// The outcome of one step, with times in seconds.
#[derive(Clone, Copy)]
struct Row {
    counts: Counts,
    began_at: f64,
    seconds: f64,
}

fn run_step(step: &Step, context: &Context<'_>, began: Instant) -> Row {
    let began_at = began.elapsed().as_secs_f64();
    say!("begins after {began_at:.0} s");
    let counts = (step.run)(context).unwrap_or_else(|error| {
        say!("{error:#}");
        locked(&context.failures).push(format!("== {}\n{error:#}", step.name));
        Counts::failed(1)
    });
    let seconds = began.elapsed().as_secs_f64() - began_at;
    say!("{counts} ({seconds:.1} s)");
    Row { counts, began_at, seconds }
}

fn needs_set_up(name: &str) -> bool {
    STEPS.iter().any(|step| step.name == name && step.needs.contains(&SETUP))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

fn print_table(rows: &[(&str, Row)], whole: Duration) {
    println!("\n{:<14}{:>8}{:>8}{:>9}{:>9}{:>9}", "step", "passed", "failed", "skipped", "begins", "seconds");
    for (name, Row { counts: Counts { passed, failed, skipped }, began_at, seconds }) in rows {
        println!("{name:<14}{passed:>8}{failed:>8}{skipped:>9}{began_at:>9.0}{seconds:>9.1}");
    }
    println!("{:<48}{:>9.1}", "all", whole.as_secs_f64());
}

impl Context<'_> {
    /// Builds the wasm modules, unless an earlier step has.
    fn modules(&self) -> Result<Arc<Modules>> {
        let mut built = locked(&self.modules);
        if let Some(modules) = &*built {
            return Ok(Arc::clone(modules));
        }
        let modules = Arc::new(build::modules(self.repo)?);
        *built = Some(Arc::clone(&modules));
        Ok(modules)
    }

    /// Builds the npm package with its modules, unless an earlier step has.
    fn build_package(&self) -> Result<()> {
        self.modules()?;
        let mut is_built = locked(&self.package_is_built);
        if !*is_built {
            build::package(self.repo)?;
            *is_built = true;
        }
        Ok(())
    }

    /// Runs one program of a step and shows the lines that `show` picks. Failures are shown here and again at the end.
    fn program(&self, name: &str, command: &mut Command, show: impl FnMut(&str) -> bool) -> Result<Logged> {
        let log = self.repo.path("target/logs").join(format!("{name}.log"));
        let output = logged(command, &log, LIMIT, show)?;
        if !output.success {
            let excerpt = failures::excerpt(&output.text).join("\n    ");
            let report = format!("== {name} failed; all of it is in {}:\n    {excerpt}", log.display());
            say!("{report}");
            locked(&self.failures).push(report);
        }
        Ok(output)
    }

    /// As [`Self::program`], for a program that is itself one check.
    fn check(&self, name: &str, command: &mut Command) -> Result<Counts> {
        let output = self.program(name, command, |_| false)?;
        Ok(if output.success { Counts::passed(1) } else { Counts::failed(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_stands_behind_those_it_needs() {
        assert_eq!(schedule::out_of_order(&STEPS), Vec::<String>::new());
    }

    #[test]
    fn a_named_step_has_its_tools_installed_first() {
        assert!(needs_set_up("browser") && !needs_set_up("tidy"));
    }
}

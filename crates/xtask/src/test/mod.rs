//! `cargo xtask test`: every check of the project, in three lanes that run side by side.
//!
//! A failed step does not stop the later ones. Each step prints its counts and seconds; the last line is the sum,
//! `N passed, N failed, N skipped`. The full output of every program is kept in `target/logs`.

mod browser;
mod checklist;
mod conformance;
mod context;
mod counts;
mod dependencies;
mod eval;
mod failures;
mod fuzz;
mod http;
mod http_contract;
mod layers;
mod licence;
mod lint;
mod llama;
mod mutants;
mod names;
mod native;
mod node;
mod planted_faults;
mod prose;
mod run_log;
mod schedule;
mod tidy;
mod wasm;
mod windows;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use self::context::{Context, Depth, locked};
use self::counts::Counts;
use self::schedule::{Lane, Scheduled};
use crate::progress::{say, with_label};
use crate::repo::Repo;
use crate::setup;

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
const STEPS: [Step; 37] = [
    step("fmt", Depth::Fast, Lane::Native, lint::fmt),
    step("tidy", Depth::Fast, Lane::Native, tidy::run),
    step("layers", Depth::Fast, Lane::Native, layers::run),
    step("dependencies", Depth::Fast, Lane::Native, dependencies::run),
    step(SETUP, Depth::Usual, Lane::Browser, set_up),
    // Beside the other parts of the set-up: the step `native-build` comes next in its lane and needs nothing else of them.
    step("python", Depth::Usual, Lane::Native, set_up_python),
    step("postgresql", Depth::Usual, Lane::Native, set_up_postgres),
    step("sshd", Depth::Usual, Lane::Native, set_up_sshd),
    step("podman", Depth::Usual, Lane::Native, set_up_podman),
    // A step of its own: other lanes need the program, and not the outcome of its tests.
    step("native-build", Depth::Fast, Lane::Native, native::build),
    after(&["native-build"], step("native", Depth::Fast, Lane::Native, native::run)),
    after(&[SETUP], step("clippy-wasm", Depth::Usual, Lane::Browser, lint::clippy_wasm)),
    after(&[SETUP], step("docs-wasm", Depth::Usual, Lane::Browser, lint::docs_wasm)),
    after(&[SETUP], step("biome", Depth::Usual, Lane::Package, lint::biome)),
    after(&[SETUP], step("wasm", Depth::Usual, Lane::Package, wasm::run)),
    // A driver gives up on a page that does not answer for a while, so the large builds are over before.
    after(&[SETUP, "native-build", "wasm"], step("browser", Depth::Usual, Lane::Browser, browser::run)),
    after(&[SETUP], step("http-page", Depth::Usual, Lane::Browser, http::page)),
    // Beside the native tests, which wait for a large part of their time.
    after(&["native-build"], step("clippy", Depth::Usual, Lane::Browser, lint::clippy)),
    after(&[SETUP], step("package", Depth::Usual, Lane::Package, node::package)),
    after(&[SETUP], step("page", Depth::Usual, Lane::Package, node::page)),
    after(&[SETUP, "native-build"], step("e2e", Depth::Usual, Lane::Package, node::end_to_end)),
    after(&[SETUP, "native-build"], step("demo", Depth::Usual, Lane::Package, node::demo)),
    after(&[SETUP, "native-build"], step("http", Depth::Usual, Lane::Browser, http::native)),
    after(&[SETUP, "native-build", "package"], step("eval", Depth::Usual, Lane::Browser, eval::run)),
    after(&["python", "native-build"], step("http-contract", Depth::Usual, Lane::Browser, http_contract::check)),
    // Not before the tests of the page, whose lane takes longer than this one.
    after(&[SETUP, "package"], step("bundlers", Depth::Usual, Lane::Browser, node::bundlers)),
    after(&[SETUP, "page"], step("bench-web", Depth::Usual, Lane::Browser, node::bench_web)),
    after(&["native", "browser"], step("same-tests", Depth::Usual, Lane::Browser, browser::same_tests)),
    after(&[SETUP, "browser"], step("firefox", Depth::All, Lane::Browser, browser::firefox)),
    step("docs", Depth::Usual, Lane::Native, lint::docs),
    after(&["native", "http"], step("conformance", Depth::Usual, Lane::Native, conformance::run)),
    step("fuzz", Depth::All, Lane::Native, fuzz::run),
    step("windows", Depth::All, Lane::Native, windows::run_commands),
    after(&[SETUP], step("faults", Depth::All, Lane::Native, planted_faults::run_all)),
    step("mutants", Depth::All, Lane::Native, mutants::run),
    after(&[SETUP, "native-build"], step("eval-programs", Depth::All, Lane::Native, eval::programs)),
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

fn set_up_postgres(context: &Context<'_>) -> Result<Counts> {
    setup::set_up_postgres(context.repo);
    Ok(Counts::default())
}

fn set_up_sshd(context: &Context<'_>) -> Result<Counts> {
    setup::set_up_sshd(context.repo);
    Ok(Counts::default())
}

fn set_up_podman(context: &Context<'_>) -> Result<Counts> {
    setup::set_up_podman(context.repo);
    Ok(Counts::default())
}

/// Runs the steps that the arguments choose; `Ok(false)` when a check failed.
pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<bool> {
    let (depth, only) = parse(arguments)?;
    let chosen = STEPS.iter().filter(|step| match &only {
        Some(name) => name == step.name || (step.name == SETUP && needs_set_up(name)),
        None => depth.includes(step.from),
    });
    let chosen: Vec<&Step> = chosen.collect();
    let context = Context::new(repo, depth);
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

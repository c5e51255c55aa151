//! `cargo xtask mutants`: changes one function at a time with cargo-mutants and counts the changes that tests notice.
//!
//! Without a path, the areas run whose faults would cost users their work. Each area runs the library tests of its crate
//! only, in a copy of the checkout, with few cases of each property; so a score is a lower bound. `docs/mutants.md` has
//! the latest scores and the changes that no test can notice.
//!
//! With `--one-build`, one build has all changes, see [`one_build`].

mod one_build;

use std::collections::BTreeSet;
use std::ops::Add;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use crate::process::{LONG_LIMIT, Limits, command, logged, stdout_of};
use crate::progress::say;
use crate::repo::Repo;
use crate::setup;

/// The areas that run without a path, each with its directory and the selection of its tests.
const AREAS: [(&str, &str, &[&str]); 5] = [
    ("workspace", "crates/emend-agent/src/workspace", &SKIP_SEARCH),
    ("session", "crates/emend-agent/src/session", &SKIP_SEARCH),
    ("approval", "crates/emend-agent/src/approval", &SKIP_SEARCH),
    ("line_log", "crates/emend-edit/src/line_log", &["--skip", "diff::"]),
    // The other tests of the crate wait for processes.
    ("commit", "crates/emend-host/src/commit", &["commit::"]),
];

/// Leaves out tests that take long and use none of the areas.
const SKIP_SEARCH: [&str; 4] = ["--skip", "search::", "--skip", "web::"];

/// Crates with a library that has native tests.
const CRATES: [&str; 6] = ["emend-edit", "emend-llm", "emend-offline", "emend-agent", "emend-host", "emend-shell"];

/// A part of the mutants: shard `index` of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) index: u64,
    pub(crate) count: u64,
}

/// The mutants of one area, by outcome.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct Score {
    /// A test failed.
    pub(crate) caught: usize,
    /// All tests passed.
    pub(crate) missed: usize,
    /// A test did not end; counted as caught.
    pub(crate) timeout: usize,
    /// The change does not compile.
    pub(crate) unviable: usize,
}

impl Score {
    fn viable(&self) -> usize {
        self.caught + self.timeout + self.missed
    }

    /// Returns the whole percentage of viable mutants that tests notice, rounded down.
    pub(crate) fn percent(&self) -> Option<usize> {
        ((self.caught + self.timeout) * 100).checked_div(self.viable())
    }

    fn line(&self, name: &str) -> String {
        let score = self.percent().map_or_else(|| "no score".to_owned(), |percent| format!("score {percent} %"));
        let (caught, missed, unviable) = (self.caught + self.timeout, self.missed, self.unviable);
        format!("{name}: {caught} caught, {missed} missed, {unviable} unviable, {score}")
    }
}

impl Add<&Self> for Score {
    type Output = Self;

    fn add(self, other: &Self) -> Self {
        Self {
            caught: self.caught + other.caught,
            missed: self.missed + other.missed,
            timeout: self.timeout + other.timeout,
            unviable: self.unviable + other.unviable,
        }
    }
}

/// The arguments of the command.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    paths: Vec<String>,
    since: Option<String>,
    shard: Option<Shard>,
    is_one_build: bool,
}

/// Runs the mutants of a path, of a change, or of all areas; `Ok(false)` if a mutant was missed.
pub(crate) fn run(repo: &Repo, words: &[String]) -> Result<bool> {
    let Arguments { paths, since, shard, is_one_build } = parse(words)?;
    let mut targets: Vec<Target> = match &paths[..] {
        [] if since.is_some() && !is_one_build => vec![Target::all_crates()],
        [] => areas(),
        paths if is_one_build => paths.iter().map(|path| Target::in_area(path)).collect::<Result<_>>()?,
        paths => paths.iter().map(|path| Target::at(path)).collect::<Result<_>>()?,
    };
    if let Some(revision) = &since {
        let diff = stdout_of(command("git", repo.root()).args(["diff", revision, "--", "crates"]))?;
        targets.iter_mut().for_each(|target| target.diff = Some(diff.clone()));
    }
    let scores = match is_one_build {
        true => one_build::run(repo, &targets)?,
        false => run_targets(repo, &targets, shard)?,
    };
    Ok(scores.iter().all(|score| score.missed == 0))
}

/// Runs a shard of each area.
pub(crate) fn run_areas(repo: &Repo, shard: Shard) -> Result<Vec<Score>> {
    run_targets(repo, &areas(), Some(shard))
}

fn parse(words: &[String]) -> Result<Arguments> {
    let mut arguments = Arguments::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--since" => arguments.since = Some(words.next().context("--since needs a revision")?.clone()),
            "--shard" => arguments.shard = Some(parse_shard(words.next().map_or("", String::as_str))?),
            "--one-build" => arguments.is_one_build = true,
            option if option.starts_with('-') => bail!("unknown argument `{option}`"),
            path => arguments.paths.push(path.to_owned()),
        }
    }
    let Arguments { paths, shard, is_one_build, .. } = &arguments;
    ensure!(*is_one_build || paths.len() < 2, "only --one-build takes more than one path");
    ensure!(!is_one_build || shard.is_none(), "--one-build takes no --shard");
    Ok(arguments)
}

fn parse_shard(text: &str) -> Result<Shard> {
    let numbers = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
    match numbers {
        Some((index, count)) if index < count => Ok(Shard { index, count }),
        _ => bail!("--shard needs K/N with K below N, not `{text}`"),
    }
}

/// Sources to change.
struct Target {
    name: String,
    /// The directory below `src` that the tests of the area share; empty if there is none.
    module: String,
    globs: Vec<String>,
    /// Arguments for the test harness.
    tests: &'static [&'static str],
    /// Only changes to lines that this diff adds or alters.
    diff: Option<String>,
}

impl Target {
    fn at(path: &str) -> Result<Self> {
        let path = path.trim_end_matches('/');
        let known = CRATES.iter().any(|name| path.strip_prefix("crates/").is_some_and(|path| path.starts_with(name)));
        ensure!(known, "{path} is not below crates/NAME with NAME one of {}", CRATES.join(", "));
        let glob = if path.ends_with(".rs") { path.to_owned() } else { format!("{path}/**") };
        Ok(Self { name: path.to_owned(), module: module_of(path), globs: vec![glob], tests: &[], diff: None })
    }

    /// Returns the area at a path, or a path in an area with the tests of that area.
    fn in_area(path: &str) -> Result<Self> {
        let mut target = Self::at(path)?;
        if let Some((name, area, tests)) = AREAS.into_iter().find(|(_, area, _)| Path::new(path).starts_with(area)) {
            target.tests = tests;
            if Path::new(path) == Path::new(area) {
                target.name = name.to_owned();
            }
        }
        Ok(target)
    }

    fn all_crates() -> Self {
        let globs = CRATES.iter().map(|name| format!("crates/{name}/src/**")).collect();
        Self { name: "change".to_owned(), module: String::new(), globs, tests: &[], diff: None }
    }
}

fn areas() -> Vec<Target> {
    let areas = AREAS.into_iter();
    let target = |(name, path, tests): (&str, &str, _)| {
        let (name, globs) = (name.to_owned(), vec![format!("{path}/**")]);
        Target { name, module: module_of(path), globs, tests, diff: None }
    };
    areas.map(target).collect()
}

/// Returns the first module of a path in a crate.
fn module_of(path: &str) -> String {
    let module = path.split('/').skip_while(|part| *part != "src").nth(1).unwrap_or_default();
    module.trim_end_matches(".rs").to_owned()
}

fn run_targets(repo: &Repo, targets: &[Target], shard: Option<Shard>) -> Result<Vec<Score>> {
    setup::set_up_mutants(repo);
    let tree = repo.path("target/mutants/generated");
    repo.copy_to(&tree)?;
    let mut scores = Vec::new();
    for target in targets {
        let run = Run { repo, tree: &tree, target, shard };
        let (score, missed) = run.start()?;
        say!("{}", score.line(&target.name));
        missed.iter().for_each(|mutant| say!("  missed: {mutant}"));
        scores.push(score);
    }
    Ok(scores)
}

/// One run of cargo-mutants.
struct Run<'a> {
    repo: &'a Repo,
    tree: &'a PathBuf,
    target: &'a Target,
    shard: Option<Shard>,
}

impl Run<'_> {
    fn start(&self) -> Result<(Score, BTreeSet<String>)> {
        let name = self.target.name.replace('/', "-");
        let out = self.repo.path(&format!("target/mutants/out/{name}"));
        let outcomes = out.join("mutants.out/outcomes.json");
        // An earlier result must not pass for this one's, which has none if no line can be changed.
        if outcomes.exists() {
            std::fs::remove_file(&outcomes)?;
        }
        std::fs::create_dir_all(&out)?;
        let mut cargo = command(self.repo.tools().join("bin/cargo-mutants"), self.tree);
        cargo.args(["mutants", "--in-place", "--workspace", "--profile", "mutants", "--colors", "never"]);
        cargo.args(["--minimum-test-timeout", "60", "--build-timeout", "600", "--output"]).arg(&out);
        cargo.args(self.target.globs.iter().flat_map(|glob| ["--file", glob]));
        if let Some(Shard { index, count }) = self.shard {
            cargo.args(["--sharding", "round-robin", "--shard", &format!("{index}/{count}")]);
        }
        if let Some(diff) = &self.target.diff {
            let file = out.join("change.diff");
            std::fs::write(&file, diff)?;
            cargo.arg("--in-diff").arg(file);
        }
        cargo.args(["--", "--lib", "--"]).args(self.target.tests);
        cargo.env("CARGO_TARGET_DIR", self.repo.path("target/mutants/generated-target"));
        cargo.env("CARGO_INCREMENTAL", "1").env("EMEND_FEW_CASES", "1").env("PROPTEST_MAX_SHRINK_ITERS", "0");
        // Printing a backtrace takes longer than most tests.
        cargo.env("RUST_BACKTRACE", "0");
        let log = self.repo.path(&format!("target/logs/mutants/generated-{name}.log"));
        let output = logged(&mut cargo, &log, Limits::whole(LONG_LIMIT), |line| line.starts_with("Found "))?;
        match std::fs::read_to_string(&outcomes) {
            Ok(outcomes) => read_outcomes(&outcomes).with_context(|| format!("see {}", log.display())),
            Err(_) if output.success => Ok(<(Score, BTreeSet<String>)>::default()),
            Err(_) => bail!("cargo-mutants failed, see {}", log.display()),
        }
    }
}

#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
    #[serde(flatten)]
    score: Score,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: serde_json::Value,
    summary: String,
}

/// Reads the score and the names of the missed mutants; fails if the tests fail without a change.
fn read_outcomes(text: &str) -> Result<(Score, BTreeSet<String>)> {
    let Outcomes { outcomes, score } = serde_json::from_str(text)?;
    let mut missed = BTreeSet::new();
    for Outcome { scenario, summary } in outcomes {
        if scenario == "Baseline" {
            ensure!(summary == "Success", "the tests fail without a change");
        } else if summary == "MissedMutant" {
            missed.extend(scenario["Mutant"]["name"].as_str().map(str::to_owned));
        }
    }
    Ok((score, missed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_path_a_revision_and_a_shard() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let parsed = parse(&words("crates/emend-edit/src --since main --shard 1/8")).unwrap();
        let shard = Some(Shard { index: 1, count: 8 });
        let (paths, since) = (words("crates/emend-edit/src"), Some("main".to_owned()));
        assert_eq!(parsed, Arguments { paths, since, shard, is_one_build: false });
        let parsed = parse(&words("--one-build a b")).unwrap();
        assert_eq!(parsed, Arguments { paths: words("a b"), is_one_build: true, ..Arguments::default() });
        for wrong in ["--shard 8/8", "--shard 1", "--since", "--fast", "a b", "--one-build --shard 1/8"] {
            assert!(parse(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_path_is_in_a_crate_with_native_tests() {
        assert_eq!(
            Target::at("crates/emend-agent/src/approval/").unwrap().globs,
            ["crates/emend-agent/src/approval/**"]
        );
        assert_eq!(Target::at("crates/emend-edit/src/text.rs").unwrap().globs, ["crates/emend-edit/src/text.rs"]);
        assert!(Target::at("crates/emend-wasm/src").is_err());
        assert!(Target::at("web/src").is_err());
    }

    #[test]
    fn a_path_in_an_area_has_the_tests_of_the_area() {
        let of = |path: &str| {
            let Target { name, module, tests, .. } = Target::in_area(path).unwrap();
            (name, module, tests)
        };
        let named = |name: &str, module: &str| (name.to_owned(), module.to_owned());
        let (name, module) = named("line_log", "line_log");
        assert_eq!(of("crates/emend-edit/src/line_log/"), (name, module, &["--skip", "diff::"][..]));
        let (name, module) = named("crates/emend-agent/src/session/grants.rs", "session");
        assert_eq!(of("crates/emend-agent/src/session/grants.rs"), (name, module, &SKIP_SEARCH[..]));
        let (name, module) = named("crates/emend-edit/src/text.rs", "text");
        assert_eq!(of("crates/emend-edit/src/text.rs"), (name, module, &[][..]));
    }

    #[test]
    fn a_score_is_the_share_of_viable_mutants_that_tests_notice() {
        let score = Score { caught: 17, timeout: 1, missed: 2, unviable: 5 };
        assert_eq!(score.line("commit"), "commit: 18 caught, 2 missed, 5 unviable, score 90 %");
        assert_eq!(Score::default().line("commit"), "commit: 0 caught, 0 missed, 0 unviable, no score");
        assert_eq!(Score { caught: 199, missed: 1, ..Score::default() }.percent(), Some(99));
    }

    #[test]
    fn outcomes_name_the_missed_mutants() {
        let with = |baseline: &str| {
            let outcomes = format!(
                r#"{{"outcomes": [{{"scenario": "Baseline", "summary": "{baseline}"}},
                {{"scenario": {{"Mutant": {{"name": "a.rs:1:2: replace f"}}}}, "summary": "MissedMutant"}},
                {{"scenario": {{"Mutant": {{"name": "a.rs:3:4: replace g"}}}}, "summary": "CaughtMutant"}}],
                "total_mutants": 3, "missed": 1, "caught": 1, "timeout": 0, "unviable": 1, "success": 0}}"#
            );
            read_outcomes(&outcomes)
        };
        let (score, missed) = with("Success").unwrap();
        assert_eq!(score, Score { caught: 1, missed: 1, timeout: 0, unviable: 1 });
        assert_eq!(missed, BTreeSet::from(["a.rs:1:2: replace f".to_owned()]));
        assert!(with("Failure").is_err());
    }
}

//! Storms of previews: tools, commands and the user make files, directories and links of one another. The preview of an undo
//! and of a rollback then says what each does.
//!
//! It does so for all usual seeds. With `EMEND_STORM` set, one to five of a hundred seeds differ and fail the test: paths that
//! were three kinds of entry, and links of the user.

use std::process::Command;

use emend_agent::workspace::RollbackMode;
use serde_json::Value;

use super::super::tests::previews::{roll_back_as_previewed, undo_as_previewed};
use super::super::tests::{Open, Project};
use super::kinds::{paths_of, replacing};
use super::{Numbers, SEEDS, SEEDS_OF_STORM, shortest};

#[test]
fn previews_of_undo_say_what_it_does() {
    check("undo", &undo_as_previewed);
}

#[test]
fn previews_of_a_hard_rollback_say_what_it_does() {
    check("hard", &|project, open| roll_back_as_previewed(project, open, RollbackMode::HardAll));
}

#[test]
fn previews_of_a_scoped_rollback_say_what_it_does() {
    check("scoped", &|project, open| roll_back_as_previewed(project, open, RollbackMode::ScopedSelected));
}

fn check(name: &str, back: &dyn Fn(&Project, &Open) -> Vec<String>) {
    let n_seeds = if std::env::var_os("EMEND_STORM").is_some() { SEEDS_OF_STORM } else { SEEDS };
    let only: Option<u64> = std::env::var("EMEND_SEED").ok().and_then(|n| n.parse().ok());
    let mut failures = Vec::new();
    let (mut n_calls, mut n_of_user) = (0, 0);
    for seed in only.map_or(1..=n_seeds, |seed| seed..=seed) {
        let paths = paths_of(seed, seed % 2 == 0);
        let project = Project::usual();
        let open = project.open();
        let mut numbers = Numbers((seed + 177).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut steps = Vec::new();
        for _ in 0..2 + numbers.below(4) {
            let is_of_user = numbers.below(4) == 0 && !steps.is_empty();
            let (tool, arguments) = replacing(&project, numbers.kind_change(paths));
            if let Some(command) = arguments["command"].as_str().filter(|_| is_of_user) {
                n_of_user += 1;
                steps.push(format!("user {command}"));
                Command::new("sh").args(["-c", command]).current_dir(project.path(".")).status().unwrap();
            } else {
                n_calls += 1;
                steps.push(format!("{tool} {arguments}"));
                let _: Result<Value, _> = open.call(tool, arguments).map(|output| output.data);
            }
        }
        for wrong in back(&project, &open) {
            failures.push(format!("seed {seed}: {wrong}\n{steps:#?}"));
        }
    }
    println!("{name}: {n_seeds} seeds, {n_calls} calls, {n_of_user} changes of the user");
    for failure in &failures {
        println!("{}", failure.lines().next().unwrap_or_default());
    }
    assert!(failures.is_empty(), "{} failures, the shortest:\n{}", failures.len(), shortest(&failures));
}

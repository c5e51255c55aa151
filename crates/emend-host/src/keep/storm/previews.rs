//! Storms of previews: tools, commands and the user make files, directories and links of one another. The preview of an undo
//! and of a rollback then says what each does.
//!
//! It does so for all usual seeds. With `EMEND_STORM` set, one to four of a hundred seeds differ: paths that were three kinds
//! of entry, and links of the user. These are listed and printed, and any other fails the test.

use std::process::Command;

use emend_agent::workspace::RollbackMode;
use serde_json::Value;

use super::super::tests::previews::{roll_back_as_previewed, undo_as_previewed};
use super::super::tests::{Open, Project};
use super::kinds::{paths_of, replacing};
use super::{Numbers, SEEDS, SEEDS_OF_STORM, shortest};

/// Seeds of the storm whose preview of an undo still differs from the undo.
const OPEN_UNDO: &[u64] = &[
    133, 166, 197, 211, 226, 228, 259, 279, 355, 376, 384, 391, 442, 452, 484, 489, 508, 515, 556, 589, 601, 659, 668,
    672, 678, 704, 757, 764, 774, 796, 826, 888, 943, 981, 991, 1005, 1036, 1054, 1132, 1152, 1189, 1250, 1330, 1331,
    1384, 1410, 1420, 1438, 1442, 1479, 1606, 1620, 1654, 1705, 1743, 1750, 1754, 1757, 1764, 1767, 1802, 1839, 1860,
    1868, 1982, 1991,
];
/// The same for a hard rollback.
const OPEN_HARD: &[u64] = &[
    166, 197, 211, 226, 228, 259, 442, 484, 508, 556, 601, 659, 672, 737, 757, 824, 826, 878, 888, 1054, 1152, 1189,
    1194, 1290, 1410, 1420, 1476, 1494, 1606, 1620, 1654, 1700, 1750, 1802, 1988,
];
/// The same for a scoped rollback.
const OPEN_SCOPED: &[u64] = &[197, 442, 484, 508, 888, 1054, 1189, 1606, 1654];

#[test]
fn previews_of_undo_say_what_it_does() {
    check("undo", OPEN_UNDO, &undo_as_previewed);
}

#[test]
fn previews_of_a_hard_rollback_say_what_it_does() {
    check("hard", OPEN_HARD, &|project, open| roll_back_as_previewed(project, open, RollbackMode::HardAll));
}

#[test]
fn previews_of_a_scoped_rollback_say_what_it_does() {
    check("scoped", OPEN_SCOPED, &|project, open| roll_back_as_previewed(project, open, RollbackMode::ScopedSelected));
}

fn check(name: &str, open_seeds: &[u64], back: &dyn Fn(&Project, &Open) -> Vec<String>) {
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
        let wrong = back(&project, &open);
        if open_seeds.contains(&seed) {
            println!("seed {seed} is open: {}", wrong.first().map_or("it agrees now", String::as_str));
            continue;
        }
        failures.extend(wrong.into_iter().map(|wrong| format!("seed {seed}: {wrong}\n{steps:#?}")));
    }
    let n_open = open_seeds.iter().filter(|seed| **seed <= n_seeds).count();
    println!("{name}: {n_seeds} seeds, {n_open} of them open, {n_calls} calls, {n_of_user} changes of the user");
    for failure in &failures {
        println!("{}", failure.lines().next().unwrap_or_default());
    }
    assert!(failures.is_empty(), "{} failures, the shortest:\n{}", failures.len(), shortest(&failures));
}

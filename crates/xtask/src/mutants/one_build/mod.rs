//! One build with all mutants of some areas, each behind a switch that an environment variable sets.
//!
//! A build for each mutant takes longer than its tests. So a copy of the checkout gets all mutants at once. Each test
//! runs once alone, to note the mutants that it reaches. Then each mutant runs against the tests that reach it, until one
//! fails. A mutant of `emend-agent` runs against the tests of `emend-host`, too.
//!
//! A few mutants cannot be switched at run time: those in constants, for example. They are listed, and the score does not
//! count them.

mod compile;
mod listed;
mod places;
mod rewrite;
mod suite;
mod switch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Result, ensure};

use self::compile::Tree;
use self::listed::{Genre, Mutant};
use self::places::Place;
use self::suite::{End, Program, Traced, in_order, not_skipped};
use super::{Score, Target};
use crate::progress::{join, say, spawn_labelled};
use crate::repo::Repo;
use crate::setup;

/// Tests that run at the same time.
const AT_ONCE: usize = 2;

/// A crate whose tests use the library of another one.
const ABOVE: [(&str, &str); 1] = [("emend-agent", "emend-host")];

/// A mutant of an area.
struct Listed<'a> {
    mutant: Mutant,
    target: &'a Target,
}

/// The end of a mutant.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Outcome {
    /// This test failed.
    Caught(String),
    /// This test did not end.
    TimedOut(String),
    /// So many tests passed.
    Missed(usize),
    Unviable,
    /// The reason why the mutant has no switch.
    NotSwitchable(&'static str),
}

/// Counts the mutants of each target that tests notice.
pub(super) fn run(repo: &Repo, targets: &[Target]) -> Result<Vec<Score>> {
    setup::set_up_mutants(repo);
    let mut listed = Vec::new();
    for target in targets {
        let mutants = listed::list(repo, &target.globs, target.diff.as_deref())?;
        say!("{}: {} mutants", target.name, mutants.len());
        listed.extend(mutants.into_iter().map(|mutant| Listed { mutant, target }));
    }
    if listed.is_empty() {
        return Ok(targets.iter().map(|_| Score::default()).collect());
    }
    let begun = Instant::now();
    let outcomes = outcomes(repo, &listed)?;
    say!("{} mutants in {} s", listed.len(), begun.elapsed().as_secs());
    write_log(repo, &listed, &outcomes)?;
    Ok(targets.iter().map(|target| report(target, &listed, &outcomes)).collect())
}

/// Builds, traces and runs all mutants.
fn outcomes(repo: &Repo, listed: &[Listed<'_>]) -> Result<Vec<Outcome>> {
    let mut outcomes: BTreeMap<u32, Outcome> = BTreeMap::new();
    let mut places = Vec::new();
    for (number, found) in (0..).zip(find_places(repo, listed)?) {
        match found {
            Ok(place) => places.push(Some(place)),
            Err(reason) => {
                outcomes.insert(number, Outcome::NotSwitchable(reason));
                places.push(None);
            }
        }
    }
    let mutants: Vec<Mutant> = listed.iter().map(|listed| listed.mutant.clone()).collect();
    let mut packages: BTreeSet<&str> = mutants.iter().map(|mutant| &*mutant.package).collect();
    let above = ABOVE.iter().filter(|(below, _)| packages.contains(below)).map(|(_, above)| *above);
    packages.extend(above.collect::<Vec<_>>());
    let tree = Tree::new(repo, &mutants, &places)?;
    let built = tree.build(repo, &packages)?;
    outcomes.extend(built.unviable.into_iter().map(|number| (number, Outcome::Unviable)));
    let refused = Outcome::NotSwitchable("a switch does not compile");
    outcomes.extend(built.refused.into_iter().map(|number| (number, refused.clone())));
    let programs = packages.iter().map(|package| {
        let folder = tree.folder().join("crates").join(package);
        let program = Program { package: (*package).to_owned(), file: built.programs[*package].clone(), folder };
        ((*package).to_owned(), program)
    });
    let programs: BTreeMap<String, Program> = programs.collect();
    let tests = trace(listed, &programs)?;
    let open: Vec<u32> = (0..u32::try_from(listed.len())?).filter(|number| !outcomes.contains_key(number)).collect();
    say!("  {} mutants run", open.len());
    let done = AtomicUsize::new(0);
    let ran = side_by_side(&open, |&number| {
        let Listed { mutant, target } = &listed[number as usize];
        let outcome = try_mutant(&programs, &in_order(&tests, number, &mutant.package, &target.module), number)?;
        if let Outcome::Missed(tests) = outcome {
            say!("  missed by {tests} tests: {}", mutant.name);
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(25) {
            say!("  {done} of {} mutants", open.len());
        }
        Ok(outcome)
    })?;
    outcomes.extend(open.into_iter().zip(ran));
    Ok(outcomes.into_values().collect())
}

/// Returns the place of each mutant, or the reason why it cannot have a switch.
fn find_places(repo: &Repo, listed: &[Listed<'_>]) -> Result<Vec<Result<Place, &'static str>>> {
    let mut files = BTreeMap::new();
    for Listed { mutant, .. } in listed {
        if !files.contains_key(&mutant.file) {
            let text = std::fs::read_to_string(repo.path(&mutant.file))?;
            files.insert(mutant.file.clone(), places::places(&text)?);
        }
    }
    let place = |Listed { mutant, .. }: &Listed<'_>| {
        let found = files[&mutant.file].get(&(mutant.genre, mutant.position()));
        match found {
            _ if mutant.genre == Genre::Other => Err("a change of this kind"),
            None => Err("the place was not found"),
            Some(Place { refused: Some(reason), .. }) => Err(*reason),
            Some(place) => Ok(place.clone()),
        }
    };
    Ok(listed.iter().map(place).collect())
}

/// Runs each test of the areas once alone, without a mutant.
fn trace(listed: &[Listed<'_>], programs: &BTreeMap<String, Program>) -> Result<Vec<Traced>> {
    let mut wanted: BTreeSet<(&str, String)> = BTreeSet::new();
    let own: BTreeMap<(&str, &str), &Target> =
        listed.iter().map(|Listed { mutant, target }| ((&*mutant.package, &*target.name), *target)).collect();
    for ((package, _), target) in &own {
        let tests = not_skipped(programs[*package].tests()?, target.tests);
        wanted.extend(tests.into_iter().map(|test| (*package, test)));
        if let Some((_, above)) = ABOVE.iter().find(|(below, _)| below == package) {
            wanted.extend(programs[*above].tests()?.into_iter().map(|test| (*above, test)));
        }
    }
    let wanted: Vec<(&str, String)> = wanted.into_iter().collect();
    say!("  {} tests run once", wanted.len());
    // Tests that run as another user reach temporary files, but perhaps not the checkout.
    let folder = std::env::temp_dir().join(format!("emend-mutants-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (begun, done) = (Instant::now(), AtomicUsize::new(0));
    let traced = side_by_side(&wanted, |(package, test)| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(200) {
            say!("  {done} of {} tests after {} s", wanted.len(), begun.elapsed().as_secs());
        }
        let (program, file) = (&programs[*package], folder.join(done.to_string()));
        let traced = program.trace(test, &file)?;
        // A test that depends on the load of the machine gets another chance.
        if traced.end == End::Failed { program.trace(test, &file) } else { Ok(traced) }
    });
    std::fs::remove_dir_all(&folder)?;
    let traced = traced?;
    let of = |end| traced.iter().filter(move |test| test.end == end).map(|test| &*test.name);
    of(End::Hung).for_each(|test| say!("  takes too long, and is left out: {test}"));
    let failing: Vec<&str> = of(End::Failed).collect();
    // A build without a switch that is on must behave as one without switches.
    ensure!(failing.is_empty(), "these tests fail without a mutant: {}", failing.join(", "));
    Ok(traced)
}

/// Runs tests with a mutant until one of them fails.
///
/// A failed test runs twice more, without the mutant and with it. So a test that fails now and then catches no mutant.
fn try_mutant(programs: &BTreeMap<String, Program>, tests: &[&Traced], mutant: u32) -> Result<Outcome> {
    for test in tests {
        let program = &programs[&test.package];
        match program.run(test, Some(mutant))? {
            End::Passed => continue,
            End::Hung => return Ok(Outcome::TimedOut(test.name.clone())),
            End::Failed => {}
        }
        if program.run(test, None)? == End::Passed && program.run(test, Some(mutant))? != End::Passed {
            return Ok(Outcome::Caught(test.name.clone()));
        }
        say!("  fails now and then: {}", test.name);
    }
    Ok(Outcome::Missed(tests.len()))
}

/// Does some work for each item, a few at once, and returns the results in the order of the items.
fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let take = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index) else { break };
                let result = work(item);
                if result.is_err() {
                    next.store(items.len(), Ordering::Relaxed);
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
            }
        };
        let threads: Vec<_> = (0..AT_ONCE).map(|_| spawn_labelled(scope, take)).collect();
        threads.into_iter().for_each(join);
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Prints the score of a target, its missed mutants, and those without a switch.
fn report(target: &Target, listed: &[Listed<'_>], outcomes: &[Outcome]) -> Score {
    let of_target = || listed.iter().zip(outcomes).filter(|(listed, _)| std::ptr::eq(listed.target, target));
    let score = score(of_target().map(|(_, outcome)| outcome));
    let refused = of_target().filter(|(_, outcome)| matches!(outcome, Outcome::NotSwitchable(_))).count();
    say!("{}, {refused} without a switch", score.line(&target.name));
    for (Listed { mutant, .. }, outcome) in of_target() {
        match outcome {
            Outcome::Missed(tests) => say!("  missed by {tests} tests: {}", mutant.name),
            Outcome::NotSwitchable(reason) => say!("  without a switch, {reason}: {}", mutant.name),
            Outcome::Caught(_) | Outcome::TimedOut(_) | Outcome::Unviable => {}
        }
    }
    score
}

fn score<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Score {
    let mut score = Score::default();
    for outcome in outcomes {
        match outcome {
            Outcome::Caught(_) => score.caught += 1,
            Outcome::TimedOut(_) => score.timeout += 1,
            Outcome::Missed(_) => score.missed += 1,
            Outcome::Unviable => score.unviable += 1,
            Outcome::NotSwitchable(_) => {}
        }
    }
    score
}

/// Writes a line for each mutant.
fn write_log(repo: &Repo, listed: &[Listed<'_>], outcomes: &[Outcome]) -> Result<()> {
    let lines = listed.iter().zip(outcomes).map(|(listed, outcome)| format!("{}: {outcome:?}\n", listed.mutant.name));
    let folder = repo.path("target/logs/mutants");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("one-build.log"), lines.collect::<String>())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_leaves_mutants_without_a_switch_out() {
        let test = || "test".to_owned();
        let outcomes = [
            Outcome::Caught(test()),
            Outcome::TimedOut(test()),
            Outcome::Missed(3),
            Outcome::Unviable,
            Outcome::NotSwitchable("a constant"),
        ];
        assert_eq!(score(outcomes.iter()), Score { caught: 1, timeout: 1, missed: 1, unviable: 1 });
    }

    #[test]
    fn results_have_the_order_of_the_items_and_an_error_ends_the_work() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(side_by_side(&items, |item| Ok(item * 2)).unwrap(), (0..200).step_by(2).collect::<Vec<_>>());
        let calls = AtomicUsize::new(0);
        let failing = side_by_side(&items, |_| -> Result<()> {
            calls.fetch_add(1, Ordering::Relaxed);
            anyhow::bail!("no room")
        });
        assert!(failing.is_err() && calls.into_inner() <= AT_ONCE);
    }
}

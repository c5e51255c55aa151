//! The order of steps: each lane is a thread that runs its steps one after another, and a step waits for those it needs.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A sequence of steps that share a build directory or a resource. Lanes run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Programs for this machine, built in `target/debug`.
    Native,
    /// Tests and lints for wasm32, built with the `dev` profile.
    Browser,
    /// The wasm modules that are shipped, the npm package and the page.
    Package,
}

const LANES: [Lane; 3] = [Lane::Native, Lane::Browser, Lane::Package];

/// A step as the schedule sees it.
pub(super) trait Scheduled: Sync {
    /// The name, unique among all steps.
    fn name(&self) -> &'static str;
    /// The lane in which the step waits for its turn.
    fn lane(&self) -> Lane;
    /// Names of steps that must have ended before. A name that was not chosen is ignored.
    fn needs(&self) -> &'static [&'static str];
}

/// Names of the steps that have ended, passed or failed.
#[derive(Default)]
struct Ended {
    names: Mutex<BTreeSet<&'static str>>,
    changed: Condvar,
}

impl Ended {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, name: &'static str) {
        self.lock().insert(name);
        self.changed.notify_all();
    }

    fn wait_for(&self, names: &[&str]) {
        let ended = self.lock();
        let is_missing = |ended: &mut BTreeSet<&'static str>| names.iter().any(|name| !ended.contains(name));
        drop(self.changed.wait_while(ended, is_missing).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Marks a step as ended when dropped.
struct End<'a> {
    ended: &'a Ended,
    name: &'static str,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.ended.add(self.name);
    }
}

/// Runs all `steps`: one thread a lane, the steps of a lane in their order.
///
/// A step may need only steps that stand before it in `steps`; so no two lanes can wait for each other.
pub(super) fn run<S: Scheduled>(steps: &[&S], work: impl Fn(&S) + Sync) {
    let (ended, work) = (&Ended::default(), &work);
    thread::scope(|scope| {
        for lane in LANES {
            scope.spawn(move || {
                for step in steps.iter().filter(|step| step.lane() == lane) {
                    let chosen = |name: &&&str| steps.iter().any(|other| other.name() == **name);
                    let needed: Vec<&str> = step.needs().iter().filter(chosen).copied().collect();
                    ended.wait_for(&needed);
                    // Marked on drop: a step that panics must not leave the other lanes waiting.
                    let _end = End { ended, name: step.name() };
                    work(step);
                }
            });
        }
    });
}

/// Returns the steps whose needs stand behind them or do not exist.
#[cfg(test)]
pub(super) fn out_of_order<S: Scheduled>(steps: &[S]) -> Vec<String> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut wrong = Vec::new();
    for step in steps {
        let missing = step.needs().iter().filter(|name| !known.contains(**name));
        wrong.extend(missing.map(|name| format!("{} needs {name}", step.name())));
        known.insert(step.name());
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str, Lane, &'static [&'static str]);

    impl Scheduled for Named {
        fn name(&self) -> &'static str {
            self.0
        }

        fn lane(&self) -> Lane {
            self.1
        }

        fn needs(&self) -> &'static [&'static str] {
            self.2
        }
    }

    fn order(steps: &[&Named]) -> Vec<&'static str> {
        let log = Mutex::new(Vec::new());
        run(steps, |step| log.lock().unwrap().push(step.name()));
        log.into_inner().unwrap()
    }

    #[test]
    fn a_step_waits_for_a_step_of_another_lane() {
        let (build, page) = (Named("build", Lane::Native, &[]), Named("page", Lane::Package, &["build"]));
        for _ in 0..50 {
            assert_eq!(order(&[&page, &build]), ["build", "page"]);
        }
        assert_eq!(order(&[&page]), ["page"], "a step that was not chosen is not waited for");
    }

    #[test]
    fn lanes_run_side_by_side() {
        let barrier = std::sync::Barrier::new(2);
        let steps = [Named("one", Lane::Native, &[]), Named("two", Lane::Browser, &[])];
        run(&steps.each_ref(), |_| {
            barrier.wait();
        });
    }

    #[test]
    fn needs_stand_before_the_step() {
        let steps = [Named("one", Lane::Native, &["two"]), Named("two", Lane::Native, &["one"])];
        assert_eq!(out_of_order(&steps), ["one needs two"]);
    }
}

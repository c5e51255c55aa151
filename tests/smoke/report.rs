//! The report of the smoke test: one line per step, and the totals.

use std::fmt;

/// Counts steps and prints each as it ends.
#[derive(Default)]
pub(crate) struct Report {
    provider: String,
    /// The reason to skip every step of this provider.
    obstacle: Option<String>,
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Report {
    /// Starts the steps of another provider; with an obstacle they are only printed as skipped.
    pub(crate) fn begin(&mut self, provider: &str, obstacle: Option<String>) {
        provider.clone_into(&mut self.provider);
        self.obstacle = obstacle;
    }

    /// Runs a step, unless there is an obstacle.
    pub(crate) async fn step(&mut self, name: &str, work: impl Future<Output = Result<(), String>>) {
        if let Some(obstacle) = self.obstacle.clone() {
            return self.skip(name, &obstacle);
        }
        match work.await {
            Ok(()) => {
                self.passed += 1;
                println!("ok {}: {name}", self.provider);
            }
            Err(problem) => {
                self.failed += 1;
                println!("not ok {}: {name}\n  {problem}", self.provider);
            }
        }
    }

    /// Prints a skipped step. The provider's obstacle takes precedence over the step's own reason.
    pub(crate) fn skip(&mut self, name: &str, reason: &str) {
        self.skipped += 1;
        println!("skip {}: {name} ({})", self.provider, self.obstacle.as_deref().unwrap_or(reason));
    }

    pub(crate) fn has_failures(&self) -> bool {
        self.failed > 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Returns `problem` unless `holds`.
pub(crate) fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

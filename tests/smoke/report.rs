//! What was tried and how it ended: a line for each step, and their sum.

use std::fmt;

/// Counts steps and prints each as it ends.
#[derive(Default)]
pub(crate) struct Report {
    provider: String,
    /// Why nothing of this provider can be tried.
    obstacle: Option<String>,
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Report {
    /// Goes on to another provider; with an obstacle its steps are only named.
    pub(crate) fn begin(&mut self, provider: &str, obstacle: Option<String>) {
        provider.clone_into(&mut self.provider);
        self.obstacle = obstacle;
    }

    /// Does a step, unless something is in its way.
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

    /// Names a step that is not done. What keeps the whole provider from being asked is the better reason.
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

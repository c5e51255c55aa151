//! The state that all steps of a run share, and the programs that they start.

use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;

use super::counts::Counts;
use super::failures;
use crate::build::{self, Modules};
use crate::process::{Limits, Logged, logged};
use crate::progress::say;
use crate::repo::Repo;

/// Longest time for one program of one step; a hanging browser must not use up a whole run.
pub(super) const LIMIT: Duration = Duration::from_secs(25 * 60);

/// Which steps run, and how thoroughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Checks that end within two minutes.
    Fast,
    /// Checks that every change has to pass.
    Usual,
    /// The long storms and the planted faults too.
    All,
    /// Steps that run only when they are named.
    Named,
}

impl Depth {
    pub(super) fn includes(self, least: Self) -> bool {
        let rank = |depth| match depth {
            Self::Fast => 0,
            Self::Usual => 1,
            Self::All => 2,
            Self::Named => 3,
        };
        rank(least) <= rank(self)
    }
}

/// The state that all steps share.
pub(super) struct Context<'a> {
    pub(super) repo: &'a Repo,
    pub(super) depth: Depth,
    modules: Mutex<Option<Arc<Modules>>>,
    package_is_built: Mutex<bool>,
    page_is_built: Mutex<bool>,
    /// Excerpts of failed programs, repeated at the end of the output: logs are often cut in the middle.
    pub(super) failures: Mutex<Vec<String>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(repo: &'a Repo, depth: Depth) -> Self {
        Self {
            repo,
            depth,
            modules: Mutex::default(),
            package_is_built: Mutex::default(),
            page_is_built: Mutex::default(),
            failures: Mutex::default(),
        }
    }

    /// Builds the wasm modules, unless an earlier step has.
    pub(super) fn modules(&self) -> Result<Arc<Modules>> {
        let mut built = locked(&self.modules);
        if let Some(modules) = &*built {
            return Ok(Arc::clone(modules));
        }
        let modules = Arc::new(build::modules(self.repo)?);
        *built = Some(Arc::clone(&modules));
        Ok(modules)
    }

    /// Builds the npm package with its modules, unless an earlier step has.
    pub(super) fn build_package(&self) -> Result<()> {
        self.modules()?;
        let mut is_built = locked(&self.package_is_built);
        if !*is_built {
            build::package(self.repo)?;
            *is_built = true;
        }
        Ok(())
    }

    /// Builds the page with its package, unless an earlier step has: a second build would take the files away from the tests
    /// that use them in another lane.
    pub(super) fn build_page(&self) -> Result<()> {
        self.build_package()?;
        let mut is_built = locked(&self.page_is_built);
        if !*is_built {
            build::page(self.repo)?;
            *is_built = true;
        }
        Ok(())
    }

    /// Runs one program of a step and shows the lines that `show` picks. Failures are shown here and again at the end.
    pub(super) fn program(&self, name: &str, command: &mut Command, show: impl FnMut(&str) -> bool) -> Result<Logged> {
        self.limited(name, command, Limits::whole(LIMIT), show)
    }

    /// As [`Self::program`], with other limits.
    pub(super) fn limited(
        &self,
        name: &str,
        command: &mut Command,
        limits: Limits,
        show: impl FnMut(&str) -> bool,
    ) -> Result<Logged> {
        let log = self.repo.path("target/logs").join(format!("{name}.log"));
        let output = logged(command, &log, limits, show)?;
        if !output.success {
            let excerpt = failures::excerpt(&output.text).join("\n    ");
            let report = format!("== {name} failed; all of it is in {}:\n    {excerpt}", log.display());
            say!("{report}");
            locked(&self.failures).push(report);
        }
        Ok(output)
    }

    /// As [`Self::program`], for a program that is itself one check.
    pub(super) fn check(&self, name: &str, command: &mut Command) -> Result<Counts> {
        let output = self.program(name, command, |_| false)?;
        Ok(if output.success { Counts::passed(1) } else { Counts::failed(1) })
    }
}

/// Locks; a panic of another step does not matter.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

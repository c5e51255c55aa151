//! Commands in an environment that keeps files: every change is recorded by the keeper, and that of text in line logs.

#[cfg(not(target_family = "wasm"))]
use std::collections::{BTreeMap, BTreeSet};

use emend_edit::line_log::Origin;
use emend_edit::size::compact_sort::set_of;
use futures::future::{Either, select};

use super::command::CommandOutcome;
use super::context::WriteContext;
use super::error::WorkspaceError;
use super::state::Workspace;
use crate::environment::command::{Command, OutputSink, OutputStream};
use crate::environment::{EnvError, FileKeeper, FilePath, KeptChangeKind, KeptRestored, KeptUndo, UndoStep};

/// Time after which the user is told that files are being kept, in milliseconds.
const QUIET_MS: u64 = 2_000;

impl Workspace {
    pub(super) async fn run_kept(
        &self,
        keeper: &dyn FileKeeper,
        context: &WriteContext<'_>,
        command: &Command,
        output: &dyn OutputSink,
    ) -> Result<CommandOutcome, WorkspaceError> {
        let revision = {
            let _writing = self.lock_writes(context.cancel).await?;
            match select(keeper.keep(context.run_id), self.clock.sleep(QUIET_MS)).await {
                Either::Left((kept, _)) => kept?,
                Either::Right(((), keeping)) => {
                    output.output(OutputStream::Stderr, "[keeping the project's files, so that this can be undone]\n");
                    keeping.await?;
                }
            }
            #[cfg(not(target_family = "wasm"))]
            self.tell_unkept(keeper, output).await?;
            self.revision()
        };
        // The user may edit while the command runs.
        let result = self.environment.exec_command(command, output, context.cancel).await;
        let _writing = self.enter().await?;
        let edited = self.changes_since(revision).into_iter().map(|change| change.path);
        // Nothing is attributed to the command that the workspace itself wrote meanwhile.
        let logged = set_of(self.state().files.keys().cloned());
        let changes = keeper.record(&set_of(edited), &logged).await?;
        let mut outcome = CommandOutcome::of(result?);
        for change in changes {
            match change.kind {
                KeptChangeKind::Lost => {
                    outcome.left_out.push(change.path);
                    continue;
                }
                KeptChangeKind::Text => self.log_kept(keeper, context, &change.path).await?,
                KeptChangeKind::Other => {}
            }
            outcome.changed.push(change.path);
        }
        self.persist()?;
        Ok(outcome)
    }

    /// Tells the user, once for each directory, in which ones an undo takes back nothing.
    #[cfg(not(target_family = "wasm"))]
    async fn tell_unkept(&self, keeper: &dyn FileKeeper, output: &dyn OutputSink) -> Result<(), EnvError> {
        let unkept = keeper.unkept().await?;
        let mut told = self.told_unkept.lock();
        let new: Vec<String> =
            unkept.into_iter().filter(|path| told.insert(path.clone())).map(|path| path.as_str().to_owned()).collect();
        if !new.is_empty() {
            let line = format!("[changes in {} cannot be undone: too many ignored files]\n", new.join(", "));
            output.output(OutputStream::Stderr, &line);
        }
        Ok(())
    }

    /// Returns the directories in which an undo takes back no change of a command.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) async fn unkept_directories(&self) -> Vec<FilePath> {
        let Some(keeper) = self.keeper() else { return Vec::new() };
        // The command itself reports an error.
        keeper.unkept().await.unwrap_or_default()
    }

    /// Records the new text of a file in its line log.
    async fn log_kept(
        &self,
        keeper: &dyn FileKeeper,
        context: &WriteContext<'_>,
        path: &FilePath,
    ) -> Result<(), WorkspaceError> {
        // Another program may have replaced the file since. Then the recorded change stands alone.
        let Ok(text) = self.disk_text(path).await else { return Ok(()) };
        // A link in the place of a directory above leads to another file.
        #[cfg(not(target_family = "wasm"))]
        let text = if self.is_elsewhere(path).await { None } else { text };
        // The text of the log may be older than the command: the user may have restored what an earlier one changed.
        let before = keeper.text_before(path).await?;
        if before == text {
            return Ok(());
        }
        let known = self.state().files.get(path).map(|entry| entry.log.clone());
        let mut log = match known {
            Some(log) => self.with_users_text(log, before.as_deref()),
            None => self.state().new_log(before.as_deref()),
        };
        // Without the lease, the agent must not change the canvas. The change counts as that of another program.
        let origin = if self.canvas.path().as_ref() == Some(path) { Origin::External } else { Origin::Agent };
        log.found_on_disk(origin, text.as_deref(), self.change_meta(context));
        self.state().install_found(path.clone(), log);
        Ok(())
    }

    /// Begins an undo of `runs` with these texts, before anything changes. The caller holds the lock of writes.
    #[cfg(not(target_family = "wasm"))]
    pub(super) async fn begin_undo(&self, runs: &[u64], texts: &BTreeSet<FilePath>) -> Result<(), EnvError> {
        let n_steps = self.state().done.len();
        match self.keeper() {
            Some(keeper) => keeper.begin_undo(runs, n_steps, texts).await,
            None => Ok(()),
        }
    }

    /// Undoes one step of the recorded changes of commands. The caller holds the lock of writes.
    pub(super) async fn undo_kept(&self, undo: &KeptUndo, step: UndoStep) -> Result<KeptRestored, EnvError> {
        let Some(keeper) = self.keeper() else { return Ok(KeptRestored::default()) };
        #[cfg(not(target_family = "wasm"))]
        let undo = &match step {
            UndoStep::AfterLogs => KeptUndo { edited: self.editing_runs(&undo.logged), ..undo.clone() },
            UndoStep::BeforeLogs | UndoStep::BetweenLogs => undo.clone(),
        };
        keeper.undo(undo, step).await
    }

    /// Returns the runs whose changes of these texts their line logs hold.
    #[cfg(not(target_family = "wasm"))]
    fn editing_runs(&self, paths: &BTreeSet<FilePath>) -> BTreeMap<FilePath, BTreeSet<u64>> {
        let state = self.state();
        let runs_of = |path: &FilePath| {
            let changes = state.files.get(path)?.log.changes().filter(|change| change.origin == Origin::Agent);
            Some((path.clone(), changes.filter_map(|change| change.meta.run.parse().ok()).collect()))
        };
        paths.iter().filter_map(runs_of).collect()
    }
}

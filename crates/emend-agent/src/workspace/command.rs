//! Commands and the files that they change.
//!
//! **Direct**: the command runs on the files themselves. Their contents are kept before, so its changes become changes of
//! the agent and can be undone: all of them in an environment with a keeper of files (`kept_command`), otherwise those of
//! texts that are not ignored. A change that cannot be undone is named in the result. **Staged**: the command runs in a
//! copy that holds the pending edits, and its changes of texts there wait for review. Its other changes end with the copy
//! and are named in the result. Ignored directories hold build products and are shared with the copy, so they change at
//! once; an environment with a keeper of copies keeps them for undo.
//!
//! A command does not count as a read: the session has to read a file that the command changed before it can overwrite
//! it.

use emend_edit::line_log::{ChangeMeta, LineLog, Origin, Status};
use emend_edit::size::compact_sort::set_of;

use super::context::WriteContext;
use super::error::WorkspaceError;
use super::kept_texts::{KeptTexts, Text};
use super::merge::favouring_ours;
use super::runs::{MAY_KEEP, is_of_path_alone};
use super::state::{Mode, Workspace};
use super::write::{record, reject_unapproved};
use crate::environment::command::{Command, ExecResult, OutputSink};
use crate::environment::{Access, CopyChangeKind, CopyKeeper, EnvError, FilePath};

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutcome {
    /// Exit status and output.
    pub result: ExecResult,
    /// Files whose changes were recorded, by path.
    pub changed: Vec<FilePath>,
    /// Other changed files. Direct: the change stays and cannot be undone. Staged: the change is discarded.
    pub left_out: Vec<FilePath>,
    /// Staged: ignored directories that changed at once, because the copy shares them. Undo restores them.
    pub at_once: Vec<FilePath>,
    /// Staged: the same, but the former state was not kept.
    pub lost: Vec<FilePath>,
}

/// The outcome of recording the changes of one file.
enum CaptureOutcome {
    Captured,
    /// The file is unchanged, or its changes do not stem from the command.
    Unchanged,
    /// The change cannot be undone.
    NotUndoable,
}

impl CommandOutcome {
    /// Returns the outcome of a command that changed nothing.
    pub(crate) fn of(result: ExecResult) -> Self {
        Self { result, changed: Vec::new(), left_out: Vec::new(), at_once: Vec::new(), lost: Vec::new() }
    }

    /// Takes the changes in a copy that do not wait for review. `same` are files whose text did not change.
    async fn take_others(&mut self, keeper: &dyn CopyKeeper, same: Vec<FilePath>) -> Result<(), EnvError> {
        let texts = set_of(self.changed.iter().cloned().chain(same));
        let mut left_out = set_of(self.left_out.drain(..));
        for change in keeper.record(&texts).await? {
            match change.kind {
                CopyChangeKind::Discarded => drop(left_out.insert(change.path)),
                CopyChangeKind::AtOnce => self.at_once.push(change.path),
                CopyChangeKind::Lost => self.lost.push(change.path),
            }
        }
        self.left_out = left_out.into_iter().collect();
        Ok(())
    }
}

impl Workspace {
    /// Runs a command for the agent and records its changes. `working_dir` is as the model wrote it.
    ///
    /// # Errors
    ///
    /// Returns the error of [`exec_command`](crate::environment::ExecutionEnvironment::exec_command), of resolving the
    /// directory, or of the disk. Changes of the command until then are recorded.
    pub async fn run_command(
        &self,
        context: &WriteContext<'_>,
        working_dir: &str,
        command: Command,
        output: &dyn OutputSink,
    ) -> Result<CommandOutcome, WorkspaceError> {
        reject_unapproved(context)?;
        // One command at a time, because all changes meanwhile are attributed to it.
        let mut kept = self.commands.lock().await;
        match self.mode {
            Mode::Direct => self.run_here(&mut kept, context, working_dir, command, output).await,
            Mode::Staged => self.run_aside(context, working_dir, command, output).await,
        }
    }

    async fn run_here(
        &self,
        kept: &mut KeptTexts,
        context: &WriteContext<'_>,
        working_dir: &str,
        mut command: Command,
        output: &dyn OutputSink,
    ) -> Result<CommandOutcome, WorkspaceError> {
        command.working_dir = self.environment.resolve(working_dir, Access::List).await?;
        if let Some(keeper) = self.keeper() {
            return self.run_kept(keeper, context, &command, output).await;
        }
        let revision = {
            let _writing = self.lock_writes(context.cancel).await?;
            kept.refresh(&*self.root).await?;
            self.revision()
        };
        // The user may edit while the command runs.
        let result = self.environment.exec_command(&command, output, context.cancel).await?;
        let _writing = self.enter().await?;
        let mut outcome = CommandOutcome::of(result);
        let edited: Vec<FilePath> = self.changes_since(revision).into_iter().map(|change| change.path).collect();
        for path in kept.changed(&*self.root).await? {
            match self.capture(kept, context, &path, edited.contains(&path)).await? {
                CaptureOutcome::Captured => outcome.changed.push(path),
                CaptureOutcome::NotUndoable => outcome.left_out.push(path),
                CaptureOutcome::Unchanged => {}
            }
        }
        Ok(outcome)
    }

    /// Records the change of a file on disk by a command as a change of the agent. `is_edited` tells whether the
    /// workspace wrote the file during the command.
    async fn capture(
        &self,
        kept: &KeptTexts,
        context: &WriteContext<'_>,
        path: &FilePath,
        is_edited: bool,
    ) -> Result<CaptureOutcome, WorkspaceError> {
        let text = match kept.text_now(&*self.root, path).await {
            Text::Absent => None,
            Text::Known(text) => Some(text),
            Text::Unknown => return Ok(CaptureOutcome::NotUndoable),
        };
        let known = self.state().files.get(path).map(|entry| entry.log.clone());
        // The text of the log may be older than the command: the user may have restored what an earlier one changed. It
        // counts only if the workspace wrote the file meanwhile.
        let before = match kept.text(path).await {
            Text::Known(before) if !is_edited => Some(Some(before)),
            Text::Absent if !is_edited => Some(None),
            _ => None,
        };
        let is_unchanged = match &before {
            Some(before) => *before == text,
            None => known.as_ref().is_some_and(|log| log.is_saved_text(text.as_deref())),
        };
        if is_unchanged {
            return Ok(CaptureOutcome::Unchanged);
        }
        let mut log = match (known, before) {
            (Some(log), Some(before)) => self.with_users_text(log, before.as_deref()),
            (Some(log), None) => log,
            (None, Some(before)) => self.state().new_log(before.as_deref()),
            (None, None) => return Ok(CaptureOutcome::NotUndoable),
        };
        // Without the lease, the agent must not change the canvas. The change counts as that of another program.
        let origin = if self.canvas.path().as_ref() == Some(path) { Origin::External } else { Origin::Agent };
        log.found_on_disk(origin, text.as_deref(), self.change_meta(context));
        self.state().install_found(path.clone(), log);
        Ok(CaptureOutcome::Captured)
    }

    async fn run_aside(
        &self,
        context: &WriteContext<'_>,
        working_dir: &str,
        mut command: Command,
        output: &dyn OutputSink,
    ) -> Result<CommandOutcome, WorkspaceError> {
        let mut kept = KeptTexts::default();
        let scratch = {
            let _writing = self.lock_writes(context.cancel).await?;
            let pending = self.overlay().into_iter().map(|file| (file.path, file.text.map(String::into_bytes)));
            let scratch = self.whole.scratch(&pending.collect::<Vec<_>>()).await?;
            kept.refresh(&*scratch).await?;
            scratch
        };
        // The copy contains directories that exist only through a pending edit.
        let (root, copy) = (self.whole.working_directory(), scratch.working_directory());
        let inside = self.environment.resolve(working_dir, Access::Write).await?;
        command.working_dir = scratch.resolve(&inside.to_string(), Access::List).await?;
        // In a browser no copy has a keeper, and the constant keeps the code out of the module.
        let keeper = if cfg!(target_family = "wasm") { None } else { scratch.copy_keeper() };
        if let Some(keeper) = keeper {
            keeper.keep(context.run_id).await?;
        }
        let result = scratch.exec_command(&command, output, context.cancel).await;
        let _writing = self.enter().await?;
        let (mut outcome, mut logs) = (CommandOutcome::of(ExecResult::default()), Vec::new());
        // Files whose text did not change, although their time or mode bits did.
        let mut same = Vec::new();
        for path in kept.changed(&*scratch).await? {
            let is_open = self.canvas.path().as_ref() == Some(&path);
            let (before, text) = (kept.text(&path).await, kept.text_now(&*scratch, &path).await);
            let text = match (before, text) {
                (Text::Known(before), Text::Known(text)) if before == text => {
                    same.push(path);
                    continue;
                }
                _ if is_open => None,
                // The keeper tells whether more than the time has changed.
                (Text::Unknown, _) | (_, Text::Unknown) if keeper.is_some() => continue,
                (Text::Unknown, _) | (_, Text::Unknown) => None,
                (_, Text::Absent) => Some(None),
                (before, Text::Known(text)) => match self.beside_users(&path, &before, &text).await {
                    // A directory of the project is in the place of the file. The keeper names what it discards.
                    Err(error) if MAY_KEEP && is_of_path_alone(&error) => None,
                    text => Some(Some(text?)),
                },
            };
            let Some(text) = text else {
                outcome.left_out.push(path);
                continue;
            };
            let mut log = self.log_of(&path).await?;
            record(&mut log, Origin::Agent, self.change_meta(context), text.as_deref(), Status::Pending);
            outcome.changed.push(path.clone());
            logs.push((path, log));
        }
        if let Some(keeper) = keeper {
            outcome.take_others(keeper, same).await?;
        }
        self.save_logs(logs, false, None).await?;
        // Paths of the copy are replaced, because the model must not see them.
        let result = result?;
        let (stdout, stderr) = (result.stdout.replace(&copy, &root), result.stderr.replace(&copy, &root));
        outcome.result = ExecResult { stdout, stderr, ..result };
        Ok(outcome)
    }

    /// Merges `text`, which a command made from `before`, with edits of the user meanwhile. On conflicting lines, the
    /// user's stay.
    async fn beside_users(&self, path: &FilePath, before: &Text, text: &str) -> Result<String, WorkspaceError> {
        let now = self.visible(path).await?;
        Ok(match (before, now) {
            (Text::Known(before), Some(now)) if **before != *now => favouring_ours(before, &now, text, &mut Vec::new()),
            _ => text.to_owned(),
        })
    }

    /// Records in a log what the user had changed before a command. Otherwise it would count as the command's change, and
    /// an undo of the command would delete the user's lines.
    pub(super) fn with_users_text(&self, mut log: LineLog, before: Option<&str>) -> LineLog {
        log.external(before, ChangeMeta { at_ms: self.clock.now_ms(), ..ChangeMeta::default() });
        log
    }

    pub(super) fn change_meta(&self, context: &WriteContext<'_>) -> ChangeMeta {
        ChangeMeta { run: context.run_id.to_string(), edit: context.call_id.to_owned(), at_ms: self.clock.now_ms() }
    }
}

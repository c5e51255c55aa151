//! The workspace itself: its environments, its locks, and the line logs of edited files.

use std::collections::BTreeMap;
#[cfg(not(target_family = "wasm"))]
use std::collections::BTreeSet;

use emend_edit::line_log::{ChangeId, ChangeMeta, HunkLimits, LineLog};
use emend_edit::text::decode_owned;
use emend_llm::runtime::{Mutex, MutexGuard};
use emend_llm::{Clock, Shared};

use super::entry::Entry;
use super::error::WorkspaceError;
use super::kept_texts::KeptTexts;
#[cfg(not(target_family = "wasm"))]
use super::snapshot::InFlight;
use super::snapshot::{MAY_SAVE, RootGate, SaveSnapshot, SavedLogs};
#[cfg(not(target_family = "wasm"))]
use super::steps::RepeatedRollback;
use super::steps::{Step, StepKind};
use crate::approval::Hidden;
use crate::canvas::Canvas;
use crate::environment::layers::Confined;
use crate::environment::{Access, EnvError, ExecutionEnvironment, FileKeeper, FilePath};

/// The destination of the agent's edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Edits reach the disk at once and can be undone.
    Direct,
    /// Edits wait for the user's decision; the disk never holds a pending edit.
    Staged,
}

/// All files under one root, as agents and the user see them.
///
/// An edit of the agent waits for review in [`Mode::Staged`]; the user accepts or rejects it hunk by hunk.
///
/// ```
/// # use emend_agent::environment::memory::MemFs;
/// # use emend_agent::workspace::{FileWrite, Mode, ReadTracker, Workspace, WorkspaceError, WriteContext};
/// # use emend_llm::{BoxFuture, CancelToken, Clock, Shared};
/// # struct Stopped;
/// # impl Clock for Stopped {
/// #     fn now_ms(&self) -> u64 {
/// #         0
/// #     }
/// #     fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
/// #         Box::pin(std::future::ready(()))
/// #     }
/// # }
/// # futures::executor::block_on(async {
/// let files = MemFs::from_fixture("//- notes.md\none\n");
/// let workspace = Workspace::new(Shared::new(files), Mode::Staged, Shared::new(Stopped));
/// let (reads, cancel) = (ReadTracker::default(), CancelToken::new());
/// let context = WriteContext {
///     run_id: workspace.begin_run(),
///     call_id: "call_1",
///     lease: None,
///     may_write: true,
///     reads: &reads,
///     cancel: &cancel,
/// };
/// let planned = |_: &_| {
///     let write = FileWrite { path: "notes.md".to_owned(), text: Some("two\n".to_owned()), moved_from: None, steps: Vec::new() };
///     Ok::<_, WorkspaceError>((vec![write], ()))
/// };
/// workspace.write(&context, &["notes.md".to_owned()], planned).await?;
/// assert_eq!(workspace.saved_text("notes.md").await?.as_deref(), Some("one\n"));
///
/// let hunks: Vec<String> =
///     workspace.review().files.into_iter().flat_map(|file| file.hunks).map(|hunk| hunk.id).collect();
/// workspace.accept(&hunks).await?;
/// assert_eq!(workspace.saved_text("notes.md").await?.as_deref(), Some("two\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })
/// # .unwrap();
/// ```
pub struct Workspace {
    /// The files of this view: those below `directory`, without hidden ones. It resolves all paths of callers.
    pub(super) environment: Shared<dyn ExecutionEnvironment>,
    /// The files of the root without hidden ones: commands are not confined to `directory`.
    pub(super) whole: Shared<dyn ExecutionEnvironment>,
    /// The environment of the root, with hidden files.
    pub(super) root: Shared<dyn ExecutionEnvironment>,
    pub(super) mode: Mode,
    pub(super) clock: Shared<dyn Clock>,
    /// The directory to which this view is confined.
    pub(super) directory: FilePath,
    pub(super) canvas: Shared<Canvas>,
    // Held during a whole write, so that the verified text is the replaced one. One lock for all files: a patch may
    // name several, and a write is short.
    pub(super) writing: Shared<futures::lock::Mutex<()>>,
    /// Whether the environment has been initialised.
    pub(super) ready: Shared<futures::lock::Mutex<bool>>,
    /// Held while a command runs.
    pub(super) commands: Shared<futures::lock::Mutex<KeptTexts>>,
    pub(super) state: Shared<Mutex<State>>,
    /// Saves the line logs before files change, if the host keeps them.
    pub(super) saver: Option<Shared<dyn SaveSnapshot>>,
    /// Orders changes of this process and of others, if several processes share the root.
    pub(super) gate: Option<Shared<dyn RootGate>>,
    /// Whether changes of the user wait for [`Workspace::save`].
    pub(super) defers_saves: bool,
    /// Directories of which the user was told that an undo takes back no change in them.
    #[cfg(not(target_family = "wasm"))]
    pub(super) told_unkept: Shared<Mutex<BTreeSet<FilePath>>>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) files: BTreeMap<FilePath, Entry>,
    pub(super) revision: u64,
    pub(super) run: u64,
    pub(super) n_entries: u64,
    // The user's edits and decisions, as lists of files, for undo; those that were undone, for redo.
    pub(super) done: Vec<Vec<FilePath>>,
    pub(super) undone: Vec<Vec<FilePath>>,
    /// The rollback that a redo may repeat.
    #[cfg(not(target_family = "wasm"))]
    pub(super) repeated_rollback: Option<RepeatedRollback>,
    /// Files that a restored snapshot was about to write.
    pub(super) expected: Vec<FilePath>,
    /// The step of the user that those writes are.
    pub(super) expected_step: Option<Step>,
    pub(super) saved: SavedLogs,
    /// Revision of the whole state as it was saved last.
    pub(super) saved_revision: u64,
    /// Whether the state differs from the shared one and could not be saved.
    pub(super) is_stale: bool,
    /// Whether a change of files is under way.
    pub(super) is_changing: bool,
    /// The logs that this change has saved.
    #[cfg(not(target_family = "wasm"))]
    pub(super) in_flight: InFlight,
    /// The size above which new changes are cut.
    pub(super) hunk_limits: HunkLimits,
}

impl State {
    /// Returns a log for a file with this text.
    pub(super) fn new_log(&self, base: Option<&str>) -> LineLog {
        let mut log = LineLog::new(base);
        log.set_hunk_limits(self.hunk_limits);
        log
    }

    /// Changes the list of steps.
    ///
    /// A step that reached some of its files only, because the process was killed, stays in its old list with the others.
    pub(super) fn take_step(&mut self, step: Step) {
        let Step { kind, paths, .. } = step;
        if paths.is_empty() {
            return;
        }
        let (from, to) = match kind {
            StepKind::New => {
                self.undone.clear();
                self.done.push(paths);
                // An undone rollback is not the next step to redo any more.
                #[cfg(not(target_family = "wasm"))]
                self.repeated_rollback.take_if(|rollback| rollback.undone_at.is_some());
                return;
            }
            StepKind::Undone => (&mut self.done, &mut self.undone),
            StepKind::Redone => (&mut self.undone, &mut self.done),
        };
        if let Some(last) = from.last_mut() {
            last.retain(|path| !paths.contains(path));
            if last.is_empty() {
                from.pop();
            }
        }
        to.push(paths);
    }

    /// Replaces a file's log by the one that `save_all` saved. The disk already agrees with it, unless the
    /// file waits for a save.
    pub(super) fn install(&mut self, path: FilePath, mut log: LineLog, waits: bool) {
        if !waits {
            log.mark_saved();
        }
        let has_waited = MAY_SAVE && !waits && self.files.get(&path).is_some_and(|entry| entry.waits);
        self.install_found(path.clone(), log);
        if let Some(entry) = self.files.get_mut(&path) {
            entry.waits = waits && !entry.log.is_disk_saved();
        }
        #[cfg(not(target_family = "wasm"))]
        self.forget_in_flight();
        if has_waited { self.note_unsaved(&path) } else { self.note_installed(&path) }
    }

    /// Replaces the log of a file whose content on disk the log already knows.
    pub(super) fn install_found(&mut self, path: FilePath, log: LineLog) {
        self.revision += 1;
        let known = self.files.get(&path).map(|entry| (entry.number, entry.moved_from.clone(), entry.waits));
        let (number, moved_from, waits) = known.unwrap_or_else(|| {
            self.n_entries += 1;
            (self.n_entries, None, false)
        });
        let mut marks = self.files.remove(&path).map(|entry| entry.marks).unwrap_or_default();
        marks.push((self.revision, log.entries().len()));
        self.files.insert(path, Entry { number, log, moved_from, changed_at: self.revision, marks, waits });
    }
}

impl Workspace {
    /// Returns a workspace over `environment` without edits.
    #[must_use]
    pub fn new(environment: Shared<dyn ExecutionEnvironment>, mode: Mode, clock: Shared<dyn Clock>) -> Self {
        Self {
            root: Shared::clone(&environment),
            whole: Shared::clone(&environment),
            environment,
            mode,
            clock,
            directory: FilePath::root(),
            canvas: Shared::new(Canvas::new()),
            writing: Shared::default(),
            ready: Shared::default(),
            commands: Shared::default(),
            state: Shared::default(),
            saver: None,
            gate: None,
            defers_saves: false,
            #[cfg(not(target_family = "wasm"))]
            told_unkept: Shared::default(),
        }
    }

    /// Lets `saver` save the line logs before an edit changes files. If it fails, the edit is rejected.
    #[must_use]
    pub fn with_saver(self, saver: Shared<dyn SaveSnapshot>) -> Self {
        Self { saver: Some(saver), ..self }
    }

    /// Sets the size above which later changes are cut, and hunks are marked as oversized.
    pub fn set_hunk_limits(&self, limits: HunkLimits) {
        let mut state = self.state();
        state.hunk_limits = limits;
        state.files.values_mut().for_each(|entry| entry.log.set_hunk_limits(limits));
    }

    /// Returns a view of this workspace in another mode, with the same files, pending edits and review.
    #[must_use]
    pub fn in_mode(&self, mode: Mode) -> Self {
        let (environment, whole) = (Shared::clone(&self.environment), Shared::clone(&self.whole));
        Self { mode, ..self.with_environment(environment, whole, self.directory.clone()) }
    }

    /// Returns a view of this workspace that is confined to a directory, with the same files, pending edits and review.
    ///
    /// # Errors
    ///
    /// The path is not a directory under the root.
    pub async fn within(&self, path: &str) -> Result<Self, EnvError> {
        let directory = self.environment.resolve(path, Access::List).await?;
        let environment: Shared<dyn ExecutionEnvironment> = match directory == self.directory {
            true => Shared::clone(&self.environment),
            false => Shared::new(Confined::new(Shared::clone(&self.root), directory.clone(), Hidden::default())),
        };
        Ok(self.with_environment(environment, Shared::clone(&self.whole), directory))
    }

    /// Returns a view of this workspace for an agent that the user starts in `directory`, which must be resolved. Its
    /// tools work in that directory, and its commands start there. Files, review and undo are those of the whole root.
    #[must_use]
    pub fn starting_in(&self, directory: FilePath) -> Self {
        let environment = Confined::new(Shared::clone(&self.root), directory.clone(), Hidden::default()).with_shell();
        self.with_environment(Shared::new(environment), Shared::clone(&self.whole), directory)
    }

    /// Returns a view of this workspace in which the paths of `hidden` do not exist. The user's own reads, review and
    /// undo stay with this workspace.
    pub(crate) fn hiding(&self, hidden: Hidden) -> Self {
        let root = || Shared::clone(&self.root);
        let environment = Confined::new(root(), self.directory.clone(), hidden.clone());
        let environment = if self.environment.has_shell() { environment.with_shell() } else { environment };
        let whole = Confined::new(root(), FilePath::root(), hidden);
        self.with_environment(Shared::new(environment), Shared::new(whole), self.directory.clone())
    }

    fn with_environment(
        &self,
        environment: Shared<dyn ExecutionEnvironment>,
        whole: Shared<dyn ExecutionEnvironment>,
        directory: FilePath,
    ) -> Self {
        Self {
            root: Shared::clone(&self.root),
            environment,
            whole,
            mode: self.mode,
            clock: Shared::clone(&self.clock),
            directory,
            canvas: Shared::clone(&self.canvas),
            writing: Shared::clone(&self.writing),
            ready: Shared::clone(&self.ready),
            commands: Shared::clone(&self.commands),
            state: Shared::clone(&self.state),
            saver: self.saver.clone(),
            gate: self.gate.clone(),
            defers_saves: self.defers_saves,
            #[cfg(not(target_family = "wasm"))]
            told_unkept: self.told_unkept.clone(),
        }
    }

    /// Initialises the environment, if that has not been done.
    ///
    /// # Errors
    ///
    /// As [`initialize`](ExecutionEnvironment::initialize); a failed call may be repeated.
    pub async fn initialize(&self) -> Result<(), EnvError> {
        let mut ready = self.ready.lock().await;
        if !*ready {
            self.root.initialize().await?;
            *ready = true;
        }
        Ok(())
    }

    /// Returns the directory to which this view is confined; the root if it is not.
    #[must_use]
    pub fn directory(&self) -> &FilePath {
        &self.directory
    }

    /// Returns the present time in milliseconds since 1970.
    pub(crate) fn clock(&self) -> Shared<dyn Clock> {
        Shared::clone(&self.clock)
    }

    /// Returns the environment of the whole root, which hides no path.
    pub(crate) fn root_environment(&self) -> Shared<dyn ExecutionEnvironment> {
        Shared::clone(&self.root)
    }

    /// Returns the environment of this view.
    #[must_use]
    pub fn environment(&self) -> &dyn ExecutionEnvironment {
        &*self.environment
    }

    /// Returns the destination of the agent's edits.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the canvas: the file that is open in an editor, and its lease.
    #[must_use]
    pub fn canvas(&self) -> &Canvas {
        &self.canvas
    }

    /// Returns the revision, which grows with every change of a file.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.state().revision
    }

    /// Returns the revision of a file's last change; 0 if it was never edited.
    #[must_use]
    pub fn revision_of(&self, path: &FilePath) -> u64 {
        self.state().files.get(path).map_or(0, |entry| entry.changed_at)
    }

    /// Starts a run (one user message) and returns its number. The edits of a run are undone together.
    pub fn begin_run(&self) -> u64 {
        let last = self.last_run();
        let mut state = self.state();
        state.run = last + 1;
        state.run
    }

    /// Gives no later run the number `last` or a lower one: a process that was killed may have used them without an edit.
    pub fn reserve_runs(&self, last: u64) {
        let mut state = self.state();
        state.run = state.run.max(last);
    }

    /// Returns the number of the last run; 0 before the first.
    #[must_use]
    pub fn last_run(&self) -> u64 {
        // A run that was killed during its command is known to the keeper alone.
        let kept = self.keeper().and_then(|keeper| keeper.runs().last().map(|run| run.run_id));
        self.state().run.max(kept.unwrap_or_default())
    }

    /// Returns the keeper of files, if the environment has one. In a browser none has, and the constant keeps the code
    /// for it out of the module.
    pub(super) fn keeper(&self) -> Option<&dyn FileKeeper> {
        if cfg!(target_family = "wasm") { None } else { self.root.keeper() }
    }

    /// Returns the file that a path names, to compare it with the canvas; `None` if it names none.
    pub(crate) async fn resolve_for_lease(&self, path: &str) -> Option<FilePath> {
        self.environment.resolve(path, Access::Write).await.ok()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Reads the text in the environment; `None` if there is no file.
    pub(super) async fn disk_text(&self, path: &FilePath) -> Result<Option<String>, WorkspaceError> {
        let Some(content) = self.disk_content(path).await? else { return Ok(None) };
        decode_owned(content)
            .map(Some)
            .map_err(|error| WorkspaceError::NotText { path: path.clone(), reason: error.to_string() })
    }

    /// Reads the content in the environment; `None` if there is no file.
    pub(super) async fn disk_content(&self, path: &FilePath) -> Result<Option<Vec<u8>>, WorkspaceError> {
        Ok(self.whole.read_existing(path).await?)
    }

    /// Returns the visible text, after recording changes on disk since the last access.
    pub(super) async fn visible(&self, path: &FilePath) -> Result<Option<String>, WorkspaceError> {
        self.visible_after(path, LineLog::external).await
    }

    /// Returns the visible text, after `record` has recorded changes on disk since the last access.
    pub(super) async fn visible_after(
        &self,
        path: &FilePath,
        record: fn(&mut LineLog, Option<&str>, ChangeMeta) -> Vec<ChangeId>,
    ) -> Result<Option<String>, WorkspaceError> {
        let text = self.disk_text(path).await?;
        let mut state = self.state();
        let revision = state.revision + 1;
        let Some(entry) = state.files.get_mut(path) else { return Ok(text) };
        if !entry.log.is_saved_text(text.as_deref()) {
            let meta = ChangeMeta { at_ms: self.clock.now_ms(), ..ChangeMeta::default() };
            record(&mut entry.log, text.as_deref(), meta);
            entry.changed_at = revision;
            let visible = entry.log.visible_text();
            state.revision = revision;
            return Ok(visible);
        }
        Ok(entry.log.visible_text())
    }
}

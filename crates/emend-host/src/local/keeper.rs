//! The keeper of files of a local environment, on blocking threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emend_agent::environment::{
    CopyChange, CopyChangeKind, CopyKeeper, EnvError, FileKeeper, FilePath, KeptChange, KeptChangeKind,
    KeptInterrupted, KeptPreview, KeptRestored, KeptRun, KeptUndo, ReplacedDirectories, UndoStep,
};
use emend_llm::{BoxFuture, Clock as _};

use super::run_blocking;
use crate::clock::SystemClock;
use crate::files::{RootFiles, describe};
use crate::keep::{CopyTree, Keeper};

/// The keeper with the files that it keeps.
#[derive(Clone)]
pub(super) struct LocalKeeper {
    files: Arc<RootFiles>,
    keeper: Arc<Mutex<Keeper>>,
    mark: Arc<str>,
}

fn lock(keeper: &Mutex<Keeper>) -> MutexGuard<'_, Keeper> {
    keeper.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LocalKeeper {
    pub(super) fn new(files: Arc<RootFiles>, keeper: Keeper) -> Self {
        let mark = keeper.mark().into();
        Self { files, keeper: Arc::new(Mutex::new(keeper)), mark }
    }

    /// Returns the mark of the processes of commands.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    fn run<T: Send + 'static>(
        &self,
        purpose: &'static str,
        work: impl FnOnce(&mut Keeper, &RootFiles) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, EnvError>> {
        let keeper = Arc::clone(&self.keeper);
        run_blocking(&self.files, move |files| {
            work(&mut lock(&keeper), files).map_err(|error| describe(purpose, &error))
        })
    }
}

impl FileKeeper for LocalKeeper {
    fn keep(&self, run_id: u64) -> BoxFuture<'_, Result<(), EnvError>> {
        let at_ms = SystemClock.now_ms();
        self.run("keeping the files before the command", move |keeper, files| keeper.keep(files, (run_id, at_ms)))
    }

    fn unkept(&self) -> BoxFuture<'_, Result<Vec<FilePath>, EnvError>> {
        self.run("looking for directories that are not kept", Keeper::unkept)
    }

    fn record<'a>(
        &'a self,
        skip: &'a BTreeSet<FilePath>,
        logged: &'a BTreeSet<FilePath>,
    ) -> BoxFuture<'a, Result<Vec<KeptChange>, EnvError>> {
        let (skip, logged) = (skip.clone(), logged.clone());
        self.run("recording the changes of the command", move |keeper, files| keeper.record(files, &skip, &logged))
    }

    fn note_edit(&self, run_id: u64, paths: Vec<FilePath>) -> BoxFuture<'_, Result<(), EnvError>> {
        self.run("noting mode bits before the edit", move |keeper, files| keeper.note_edit(files, run_id, paths))
    }

    fn text_before<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<String>, EnvError>> {
        let path = path.clone();
        self.run("reading a kept file", move |keeper, files| keeper.text_before(files, &path))
    }

    fn runs(&self) -> Vec<KeptRun> {
        lock(&self.keeper).runs(&self.files)
    }

    fn last_unlogged(&self, undo: &KeptUndo) -> BTreeMap<FilePath, (u64, u64)> {
        lock(&self.keeper).last_unlogged(&self.files, undo)
    }

    fn linked(&self, paths: &[FilePath]) -> BTreeSet<FilePath> {
        paths.iter().filter(|path| self.files.has_links(path)).cloned().collect()
    }

    fn gives_way(&self, directory: &FilePath) -> bool {
        self.files.has_made(directory)
    }

    fn ignored(&self, runs: &[u64], only_live: bool) -> BTreeMap<FilePath, usize> {
        lock(&self.keeper).ignored(&self.files, runs, only_live)
    }

    fn first_unlogged(&self, runs: &[u64]) -> BTreeMap<FilePath, (u64, u64)> {
        lock(&self.keeper).first_unlogged(&self.files, runs)
    }

    fn directories_before(&self, runs: &[u64]) -> ReplacedDirectories {
        lock(&self.keeper).directories_before(&self.files, runs)
    }

    fn begin_undo<'a>(
        &'a self,
        runs: &'a [u64],
        n_steps: usize,
        texts: &'a BTreeSet<FilePath>,
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        let (runs, texts) = (runs.to_vec(), texts.clone());
        self.run("noting files before the undo", move |keeper, files| {
            keeper.begin_undo(files, (&runs, n_steps), &texts)
        })
    }

    fn undo<'a>(&'a self, undo: &'a KeptUndo, step: UndoStep) -> BoxFuture<'a, Result<KeptRestored, EnvError>> {
        let undo = undo.clone();
        self.run("restoring kept files", move |keeper, files| keeper.undo(files, &undo, step))
    }

    fn preview<'a>(&'a self, undo: &'a KeptUndo) -> BoxFuture<'a, Result<Vec<KeptPreview>, EnvError>> {
        let undo = undo.clone();
        self.run("reading what commands changed", move |keeper, files| keeper.preview(files, &undo))
    }

    fn interrupted(&self) -> Option<KeptInterrupted> {
        lock(&self.keeper).interrupted()
    }

    fn undone(&self) -> Vec<u64> {
        lock(&self.keeper).undone(&self.files)
    }

    fn undone_at(&self) -> Option<u64> {
        lock(&self.keeper).undone_at(&self.files)
    }

    fn undone_steps(&self) -> Range<usize> {
        lock(&self.keeper).undone_steps(&self.files)
    }

    fn redo_modes<'a>(&'a self, redone: &'a BTreeSet<FilePath>) -> BoxFuture<'a, Result<(), EnvError>> {
        let redone = redone.clone();
        self.run("restoring mode bits", move |keeper, files| keeper.redo_modes(files, &redone))
    }

    fn preview_redo(&self) -> BoxFuture<'_, Result<BTreeSet<FilePath>, EnvError>> {
        self.run("reading what an undo changed", Keeper::preview_redo)
    }

    fn redo(&self) -> BoxFuture<'_, Result<BTreeSet<FilePath>, EnvError>> {
        self.run("restoring kept files", Keeper::redo)
    }

    fn complete_redo<'a>(
        &'a self,
        merged: &'a BTreeSet<FilePath>,
        by_logs: &'a BTreeSet<FilePath>,
    ) -> BoxFuture<'a, Result<KeptRestored, EnvError>> {
        let (merged, by_logs) = (merged.clone(), by_logs.clone());
        self.run("restoring mode bits", move |keeper, files| keeper.complete_redo(files, &merged, &by_logs))
    }
}

/// The keeper of a copy: finds changes that end with the copy, and keeps the directories that it shares.
pub(super) struct LocalCopyKeeper {
    original: Arc<RootFiles>,
    copy: Arc<RootFiles>,
    /// Keeps the shared directories, if their changes can be stored.
    shared: Option<LocalKeeper>,
    before: Arc<Mutex<Option<CopyTree>>>,
}

impl LocalCopyKeeper {
    pub(super) fn new(original: Arc<RootFiles>, copy: Arc<RootFiles>, shared: Option<LocalKeeper>) -> Self {
        Self { original, copy, shared, before: Arc::default() }
    }

    /// Returns the keeper of the shared directories.
    pub(super) fn shared(&self) -> Option<&LocalKeeper> {
        self.shared.as_ref()
    }
}

impl CopyKeeper for LocalCopyKeeper {
    fn keep(&self, run_id: u64) -> BoxFuture<'_, Result<(), EnvError>> {
        let (at_ms, before) = (SystemClock.now_ms(), Arc::clone(&self.before));
        Box::pin(async move {
            let look = run_blocking(&self.copy, move |copy| {
                let tree = CopyTree::of(copy).map_err(|error| describe("looking at the copy", &error))?;
                *before.lock().unwrap_or_else(PoisonError::into_inner) = Some(tree);
                Ok(())
            });
            look.await?;
            let Some(shared) = &self.shared else { return Ok(()) };
            let keep = move |keeper: &mut Keeper, files: &RootFiles| keeper.keep_shared(files, (run_id, at_ms));
            shared.run("keeping the files before the command", keep).await
        })
    }

    fn record<'a>(&'a self, texts: &'a BTreeSet<FilePath>) -> BoxFuture<'a, Result<Vec<CopyChange>, EnvError>> {
        let (original, before, texts) = (Arc::clone(&self.original), Arc::clone(&self.before), texts.clone());
        Box::pin(async move {
            let mut changes = Vec::new();
            if let Some(shared) = &self.shared {
                for change in shared.record(&BTreeSet::new(), &BTreeSet::new()).await? {
                    let kind = match change.kind {
                        KeptChangeKind::Lost => CopyChangeKind::Lost,
                        KeptChangeKind::Text | KeptChangeKind::Other => CopyChangeKind::AtOnce,
                    };
                    changes.push(CopyChange { path: change.path, kind });
                }
            }
            let look = run_blocking(&self.copy, move |copy| {
                let after = CopyTree::of(copy).map_err(|error| describe("looking at the copy", &error))?;
                let before = before.lock().unwrap_or_else(PoisonError::into_inner).take();
                Ok(before.map(|before| before.discarded(&after, (&original, copy), &texts)).unwrap_or_default())
            });
            let discarded = look.await?.into_iter();
            changes.extend(discarded.map(|path| CopyChange { path, kind: CopyChangeKind::Discarded }));
            Ok(changes)
        })
    }
}

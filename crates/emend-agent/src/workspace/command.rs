//! Commands and the files they change (DESIGN §4).
//!
//! **Direct**: the command runs on the files themselves. What text there is was kept before, so what it changed becomes
//! the agent's changes and can be undone like them; what was not kept is named. **Staged**: the command runs in a copy
//! that holds the pending edits, and what it changed there waits for the user's decision. Either way files that
//! `.gitignore` excludes are nobody's business: they are products, not sources.
//!
//! What the model has seen of a changed file stays what it was, so a write over it is refused until it has read it.

use std::collections::BTreeMap;

use emend_edit::ContentHash;
use emend_edit::line_log::{ChangeMeta, LineLog, Origin, Status};
use emend_edit::text::decode;
use emend_llm::Shared;

use super::write::{enter, favouring_ours, refuse_unasked};
use super::{Mode, Workspace};
use crate::environment::command::{Command, ExecResult, FileStamp, OutputSink};
use crate::environment::{Access, EntryKind, ExecutionEnvironment, FilePath, Metadata};
use crate::tool::{ToolContext, ToolError};

/// The largest text that is kept to be restored, in bytes.
const KEPT_BYTES_MAX: u64 = 1 << 20;
/// The most bytes that are kept of all files together.
const STORE_BYTES_MAX: u64 = 64 << 20;
/// The most files of one command whose changes are taken in.
const CHANGES_MAX: usize = 1000;

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended and what it printed.
    pub result: ExecResult,
    /// The files it changed, by path, as far as the change was taken in.
    pub changed: Vec<FilePath>,
    /// The files it changed beside those. Direct: the change stands and cannot be undone. Staged: it is lost.
    pub left_out: Vec<FilePath>,
}

/// What is kept of the files, to tell what a command changed and to restore it.
#[derive(Default)]
pub(super) struct Store {
    files: BTreeMap<FilePath, Kept>,
    n_bytes: u64,
    /// The files as they were, where that costs nothing; no text is kept beside it then, and none is too large.
    snapshot: Option<Shared<dyn ExecutionEnvironment>>,
}

struct Kept {
    stamp: FileStamp,
    /// The text; `None` if it is none, is too large, or there was no room.
    text: Option<Shared<str>>,
}

/// Where a file went during a command.
enum Text {
    /// There is none.
    Absent,
    /// It is this.
    Known(Shared<str>),
    /// It is something that was not or cannot be kept.
    Unknown,
}

/// What becomes of a file that is not as it was kept.
enum Fate {
    TakenIn,
    /// It says the same, or nothing that is the command's.
    Same,
    /// The change cannot be undone.
    Lost,
}

impl Store {
    /// Takes in everything that is not yet kept as it is now.
    async fn refresh(&mut self, environment: &dyn ExecutionEnvironment) -> Result<(), ToolError> {
        let mut before = std::mem::take(self);
        self.snapshot = environment.snapshot();
        for stamp in environment.manifest().await? {
            let known = before.files.remove(&stamp.path).filter(|kept| kept.stamp == stamp);
            let text = match known {
                Some(kept) => kept.text,
                None if self.snapshot.is_some() => None,
                None if stamp.size > KEPT_BYTES_MAX || self.n_bytes + stamp.size > STORE_BYTES_MAX => None,
                None => read_text(environment, &stamp.path).await,
            };
            self.n_bytes += text.as_ref().map_or(0, |text| text.len() as u64);
            self.files.insert(stamp.path.clone(), Kept { stamp, text });
        }
        Ok(())
    }

    /// Returns the files that are no longer as they were kept, by path.
    async fn changed(&self, environment: &dyn ExecutionEnvironment) -> Result<Vec<FilePath>, ToolError> {
        let now = environment.manifest().await?;
        let kept: Vec<&FilePath> = self.files.keys().collect();
        let mut is_listed = vec![false; kept.len()];
        let mut changed = Vec::new();
        for stamp in now {
            if let Ok(at) = kept.binary_search(&&stamp.path) {
                is_listed[at] = true;
            }
            if self.files.get(&stamp.path).is_none_or(|kept| kept.stamp != stamp) {
                changed.push(stamp.path);
            }
        }
        for (path, _) in kept.into_iter().zip(is_listed).filter(|(_, is_listed)| !is_listed) {
            if !is_there(environment, path).await {
                let at = changed.partition_point(|other| other < path);
                changed.insert(at, path.clone());
            }
        }
        Ok(changed)
    }

    async fn text(&self, path: &FilePath) -> Text {
        let known = match (self.files.get(path), &self.snapshot) {
            (None, _) => return Text::Absent,
            (Some(_), Some(snapshot)) => read_text(&**snapshot, path).await,
            (Some(kept), None) => kept.text.clone(),
        };
        known.map_or(Text::Unknown, Text::Known)
    }

    /// Returns what a file is now.
    async fn text_now(&self, environment: &dyn ExecutionEnvironment, path: &FilePath) -> Text {
        match environment.metadata(path).await {
            Ok(None | Some(Metadata { kind: EntryKind::Directory, .. })) => Text::Absent,
            Ok(Some(metadata)) if metadata.size > KEPT_BYTES_MAX && self.snapshot.is_none() => Text::Unknown,
            Ok(Some(_)) => read_text(environment, path).await.map_or(Text::Unknown, Text::Known),
            // A command may take away the right to look at it.
            Err(_) => Text::Unknown,
        }
    }
}

/// Returns whether a file that no walk finds is there all the same, as one that is ignored now is. A directory or a link
/// in its place is another thing.
async fn is_there(environment: &dyn ExecutionEnvironment, path: &FilePath) -> bool {
    let is_file =
        environment.metadata(path).await.is_ok_and(|found| found.is_some_and(|found| found.kind == EntryKind::File));
    is_file && environment.resolve(path.as_str(), Access::Read).await.as_ref() == Ok(path)
}

async fn read_text(environment: &dyn ExecutionEnvironment, path: &FilePath) -> Option<Shared<str>> {
    let bytes = environment.read(path).await.ok()?;
    decode(&bytes).ok().map(Shared::from)
}

impl Workspace {
    /// Runs a command for the agent and takes in what it changed. `working_dir` is as the model wrote it.
    ///
    /// # Errors
    ///
    /// As [`exec_command`](ExecutionEnvironment::exec_command); the directory does not resolve; the disk refuses. What
    /// the command did before that is taken in.
    pub async fn run_command(
        &self,
        context: &ToolContext,
        working_dir: &str,
        command: Command,
        output: &dyn OutputSink,
    ) -> Result<CommandOutcome, ToolError> {
        refuse_unasked(context)?;
        // One at a time: what changes meanwhile has to be one command's work.
        let mut store = self.commands.lock().await;
        match self.mode {
            Mode::Direct => self.run_here(&mut store, context, working_dir, command, output).await,
            Mode::Staged => self.run_aside(context, working_dir, command, output).await,
        }
    }

    async fn run_here(
        &self,
        store: &mut Store,
        context: &ToolContext,
        working_dir: &str,
        mut command: Command,
        output: &dyn OutputSink,
    ) -> Result<CommandOutcome, ToolError> {
        command.working_dir = self.environment.resolve(working_dir, Access::List).await?;
        {
            let _writing = self.writing.lock().await;
            store.refresh(&*self.environment).await?;
        }
        // The user may write while it runs.
        let result = self.environment.exec_command(&command, output, &context.cancel).await?;
        let _writing = self.writing.lock().await;
        let mut outcome = CommandOutcome { result, changed: Vec::new(), left_out: Vec::new() };
        for path in store.changed(&*self.environment).await? {
            let fate = match outcome.changed.len() < CHANGES_MAX {
                true => self.take_in(store, context, &path).await?,
                false => Fate::Lost,
            };
            match fate {
                Fate::TakenIn => outcome.changed.push(path),
                Fate::Lost => outcome.left_out.push(path),
                Fate::Same => {}
            }
        }
        Ok(outcome)
    }

    /// Makes what a command did to a file on disk a change of the agent's.
    async fn take_in(&self, store: &Store, context: &ToolContext, path: &FilePath) -> Result<Fate, ToolError> {
        let text = match store.text_now(&*self.environment, path).await {
            Text::Absent => None,
            Text::Known(text) => Some(text),
            Text::Unknown => return Ok(Fate::Lost),
        };
        let hash = text.as_ref().map(|text| ContentHash::of(text.as_bytes()));
        let known = self.state().files.get(path).map(|entry| (entry.log.clone(), entry.disk));
        let mut log = match (known, store.text(path).await) {
            // Someone else wrote it through here while the command ran, or it says the same.
            (Some((_, disk)), _) if disk == hash => return Ok(Fate::Same),
            (Some((log, _)), _) => log,
            (None, Text::Known(before)) if text.as_ref() == Some(&before) => return Ok(Fate::Same),
            (None, Text::Known(before)) => LineLog::new(Some(&before)),
            (None, Text::Absent) => LineLog::new(None),
            (None, Text::Unknown) => return Ok(Fate::Lost),
        };
        // Without the lease the agent writes nothing into the file that is open: what it did there is as if another
        // program had.
        let origin = if self.canvas.path().as_ref() == Some(path) { Origin::External } else { Origin::Agent };
        log.found_on_disk(origin, text.as_deref(), self.meta_of(context));
        self.state().put_found(path.clone(), log, hash);
        Ok(Fate::TakenIn)
    }

    async fn run_aside(
        &self,
        context: &ToolContext,
        working_dir: &str,
        mut command: Command,
        output: &dyn OutputSink,
    ) -> Result<CommandOutcome, ToolError> {
        let mut store = Store::default();
        let scratch = {
            let _writing = self.writing.lock().await;
            let pending = self.overlay().into_iter().map(|file| (file.path, file.text.map(String::into_bytes)));
            let scratch = self.environment.scratch(&pending.collect::<Vec<_>>()).await?;
            store.refresh(&*scratch).await?;
            scratch
        };
        // A directory that only a pending edit made is in the copy.
        let (root, copy) = (self.environment.working_directory(), scratch.working_directory());
        let inside = working_dir.strip_prefix(root.as_str()).map(|rest| format!("./{rest}"));
        command.working_dir = scratch.resolve(inside.as_deref().unwrap_or(working_dir), Access::List).await?;
        let mut result = scratch.exec_command(&command, output, &context.cancel).await?;
        // The model knows nothing of the copy.
        result.stdout = result.stdout.replace(&copy, &root);
        result.stderr = result.stderr.replace(&copy, &root);
        let _writing = self.writing.lock().await;
        let mut outcome = CommandOutcome { result, changed: Vec::new(), left_out: Vec::new() };
        let mut logs = Vec::new();
        for path in store.changed(&*scratch).await? {
            let is_open = self.canvas.path().as_ref() == Some(&path);
            let (before, text) = (store.text(&path).await, store.text_now(&*scratch, &path).await);
            let text = match (before, text) {
                (Text::Known(before), Text::Known(text)) if before == text => continue,
                _ if is_open || logs.len() >= CHANGES_MAX => None,
                (Text::Unknown, _) | (_, Text::Unknown) => None,
                (_, Text::Absent) => Some(None),
                (before, Text::Known(text)) => Some(Some(self.beside_users(&path, &before, &text).await?)),
            };
            let Some(text) = text else {
                outcome.left_out.push(path);
                continue;
            };
            let mut log = self.log_of(&path).await?;
            enter(&mut log, Origin::Agent, self.meta_of(context), text.as_deref(), Status::Pending);
            outcome.changed.push(path.clone());
            logs.push((path, log));
        }
        self.save_logs(logs).await?;
        Ok(outcome)
    }

    /// Returns what a file becomes if a command made `text` of `before` while the user may have written too: both, and
    /// the user's where both changed the same lines.
    async fn beside_users(&self, path: &FilePath, before: &Text, text: &str) -> Result<String, ToolError> {
        let now = self.visible(path).await?;
        Ok(match (before, now) {
            (Text::Known(before), Some(now)) if **before != *now => favouring_ours(before, &now, text),
            _ => text.to_owned(),
        })
    }

    fn meta_of(&self, context: &ToolContext) -> ChangeMeta {
        ChangeMeta { run: context.run.to_string(), edit: context.call_id.clone(), at_ms: self.clock.now_ms() }
    }
}

//! A project: its root directory, its workspace, and its state between runs.
//!
//! The state is stored in the user's state directory, keyed by the root, not in the project.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use emend_agent::environment::layers::ReadOnly;
use emend_agent::environment::{EnvError, ExecutionEnvironment, FilePath};
use emend_agent::error_code::Code;
use emend_agent::event::EventKind;
use emend_agent::store::Store;
use emend_agent::workspace::{FinishedStep, Mode, SaveSnapshot, Snapshot, Workspace};
#[cfg(unix)]
use emend_host::RemoteEnvironment;
use emend_host::{EnvPolicy, FileStore, GrowingDocument, LocalEnvironment, Sandbox, StateDir, StateError, SystemClock};
#[cfg(all(unix, feature = "postgres"))]
use emend_host::{OsRandom, SharedDocument};
#[cfg(all(unix, feature = "postgres"))]
use emend_llm::Random as _;
use emend_llm::{Clock, Shared};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[cfg(unix)]
use crate::elsewhere;
use crate::failure::Failure;
use crate::place::{Place, Start};
#[cfg(all(unix, feature = "postgres"))]
use crate::shared_root::{Present, SharedRoot, SharedSaver, TakeTurns};
use crate::visible;
use crate::wrap::folded;

/// Name of the document with the line logs of the workspace.
const WORKSPACE_DOCUMENT: &str = "workspace";

/// Name of the document that says that the user trusts the folder.
const TRUST_DOCUMENT: &str = "trust";

/// The most files with pending hunks that are named.
const PENDING_NAMED_MAX: usize = 3;

/// Name of the document with the name by which servers recognise the project.
#[cfg(all(unix, feature = "postgres"))]
const NAME_DOCUMENT: &str = "name";

/// Name of the document with the notes about runs.
const RUNS_DOCUMENT: &str = "runs";

/// A note about a run that changed files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunNote {
    pub(crate) run: u64,
    /// ID of the session that the run belongs to.
    pub(crate) session: String,
    /// First line of the user's message, see [`first_line`].
    pub(crate) label: String,
    /// The files that commands of the run changed, by path, with the first line of the command.
    #[serde(default)]
    pub(crate) commands: BTreeMap<FilePath, String>,
    /// Whether the user was told that the run has nothing left to undo. The next undo may go on to the run before it.
    #[serde(default)]
    pub(crate) is_passed: bool,
}

/// Returns the first line of a text, with a mark if others follow.
pub(crate) fn first_line(text: &str) -> String {
    match text.trim().split_once('\n') {
        Some((line, _)) => format!("{} …", line.trim_end()),
        None => text.trim().to_owned(),
    }
}

/// Takes notes about the runs of one session from their events.
pub(crate) struct RunNotes {
    session: String,
    label: String,
    /// The run with a saved note, and whether it stays if the run changes nothing.
    last: u64,
    /// The running commands by call.
    running: BTreeMap<String, String>,
    commands: BTreeMap<FilePath, String>,
}

impl RunNotes {
    pub(crate) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            label: String::new(),
            last: 0,
            running: BTreeMap::new(),
            commands: BTreeMap::new(),
        }
    }

    /// Takes a note about a run that changes files, and saves line logs that are not saved yet. The note is saved before a
    /// command starts, because the program may be killed during it.
    pub(crate) fn take(&mut self, event: &EventKind, project: &Project) -> Result<(), Failure> {
        match event {
            EventKind::UserInput { content } => {
                self.label = first_line(content);
            }
            EventKind::FileChanged { .. } => {
                project.save_if_changed()?;
                self.note(project)?;
            }
            EventKind::ToolCallStart { call_id, arguments, .. } => {
                let command = ["command", "cmd"].iter().find_map(|name| arguments[*name].as_str());
                if let Some(command) = command {
                    self.running.insert(call_id.clone(), first_line(command));
                    self.note(project)?;
                }
            }
            EventKind::ToolCallEnd { call_id, data, error_info, .. } => {
                let Some(command) = self.running.remove(call_id) else { return Ok(()) };
                let data = error_info.as_ref().and_then(|error| error.data.as_ref()).unwrap_or(data);
                let changed = data["changed"].as_array().into_iter().flatten();
                let changed = changed.filter_map(|path| FilePath::clean(path.as_str()?));
                self.commands.extend(changed.map(|path| (path, command.clone())));
            }
            // A command may have changed other things than texts.
            EventKind::ProcessingEnd { .. } => {
                let run = project.workspace.last_run();
                if project.workspace.runs().iter().any(|known| known.run_id == run) {
                    self.last = 0;
                    self.note(project)?;
                } else if self.last == run {
                    project.drop_note(run)?;
                }
                self.commands.clear();
            }
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, project: &Project) -> Result<(), Failure> {
        let run = project.workspace.last_run();
        if run == self.last {
            return Ok(());
        }
        self.last = run;
        let (session, label, commands) = (self.session.clone(), self.label.clone(), self.commands.clone());
        project.note_run(RunNote { run, session, label, commands, is_passed: false })
    }
}

/// Directory of the saved conversations, beside the documents.
pub(crate) const SESSIONS_DIRECTORY: &str = "sessions";

/// Opens and locks the state of a project. Completes or reverts a patch during which an earlier command was killed.
pub(crate) fn open_state(environment: &LocalEnvironment) -> Result<StateDir, Failure> {
    open_state_in(None, environment)
}

/// Opens the state as [`open_state`] does, below another directory than the user's.
fn open_state_in(home: Option<&Path>, environment: &LocalEnvironment) -> Result<StateDir, Failure> {
    let opened = match home {
        None => StateDir::open(environment.root()),
        Some(home) => StateDir::open_in(home, environment.root()),
    };
    let state = opened.map_err(unusable)?;
    recover(environment, &state)?;
    Ok(state)
}

fn unusable(error: StateError) -> Failure {
    match error {
        StateError::Io { .. } => {
            let message = format!("cannot save the data for undo: {error}; set XDG_STATE_HOME to another directory");
            Failure::new(error.code(), message)
        }
        error => Failure::from(error),
    }
}

/// Completes or reverts a patch during which an earlier command was killed. Names the run of which a command was killed: its
/// changes are recorded when the project is used.
fn recover(environment: &LocalEnvironment, state: &StateDir) -> Result<(), Failure> {
    let recovered = environment
        .recover(state, &mut |_| Ok(()))
        .map_err(|error| Failure::new(error.code(), format!("an earlier change was interrupted: {error}")))?;
    if let Some(recovered) = recovered {
        let mut stderr = visible::stderr();
        let done = if recovered.completed { "completed" } else { "reverted" };
        let n_files = recovered.files.len();
        let noun = if n_files == 1 { "file" } else { "files" };
        // The recovery is done even if standard error is closed.
        let _ = writeln!(stderr, "emend: an earlier change of {n_files} {noun} was interrupted and is now {done}");
        for path in recovered.left_alone {
            let _ = writeln!(stderr, "emend: {path} has changed since and was left unchanged");
        }
    }
    if let Some(run) = environment.interrupted_command(state) {
        let line = format!(
            "emend: run {run} was killed while its command ran; the changes until two seconds later are recorded, and all deletions, \
             moves and new directories until now, whose time is not known"
        );
        let _ = writeln!(visible::stderr(), "{}", folded(&line));
    }
    Ok(())
}

/// Saves the line logs before an edit changes files, so that a crash in between loses no undo data.
struct Saver {
    document: GrowingDocument,
    saved: Arc<AtomicU64>,
}

impl SaveSnapshot for Saver {
    fn save(&self, changes: &Snapshot, whole: &dyn Fn() -> Snapshot) -> Result<(), EnvError> {
        let appended = self.document.append(changes);
        let saved = appended.and_then(|done| if done { Ok(()) } else { self.document.replace(&whole()) });
        saved.map_err(|error| EnvError::Io { path: "the data for undo".to_owned(), reason: error.to_string() })?;
        self.saved.store(changes.revision(), Ordering::Relaxed);
        Ok(())
    }
}

/// How to open a project.
pub(crate) struct ProjectOptions {
    pub(crate) mode: Mode,
    /// Restricts where commands can write.
    pub(crate) sandbox: Option<Sandbox>,
    /// The environment variables that commands inherit.
    pub(crate) variables: EnvPolicy,
    /// Whether every change of files is refused.
    pub(crate) read_only: bool,
    /// Whether an agent that only reads works beside another process that has locked the project.
    pub(crate) works_beside: bool,
    /// Whether an index speeds up searches.
    pub(crate) has_index: bool,
    /// Directory for the state, if not the user's.
    pub(crate) state_home: Option<PathBuf>,
}

impl ProjectOptions {
    fn of(mode: Mode) -> Self {
        let variables = EnvPolicy::default();
        let (read_only, works_beside) = (false, false);
        Self { mode, sandbox: None, variables, read_only, works_beside, has_index: false, state_home: None }
    }
}

/// Gives the environment an index in the state of the project, if the options say so.
fn indexed(environment: LocalEnvironment, state: &StateDir, options: &ProjectOptions) -> LocalEnvironment {
    #[cfg(unix)]
    if options.has_index {
        return environment.with_index(state, LocalEnvironment::INDEXED_FILES_MIN);
    }
    let _ = (state, options);
    environment
}

/// An open project. It locks the state directory, so only one process can open it at a time.
pub(crate) struct Project {
    /// All files of the project, for the user: review, undo.
    pub(crate) workspace: Shared<Workspace>,
    /// The files below the directory in which the user works, for agents and tools.
    pub(crate) agents: Shared<Workspace>,
    /// The directory in which the user works, relative to the root.
    pub(crate) start: FilePath,
    pub(crate) clock: Shared<dyn Clock>,
    state: Arc<StateDir>,
    /// Revision of the workspace as it was saved last.
    saved: Arc<AtomicU64>,
    /// The step of the user during which an earlier process was killed, if it is complete now.
    pub(crate) finished: Option<FinishedStep>,
    /// Whether several servers share the project. Each change is then saved as it is made.
    is_shared: bool,
    /// Whether another process may have locked the project. Nothing but new conversations is saved then.
    pub(crate) is_reader: bool,
}

impl Project {
    /// Opens the project of the directory `start`, with the pending edits and the undo data of earlier runs.
    pub(crate) async fn open(start: &Start, mode: Mode) -> Result<Self, Failure> {
        Self::open_with(&Place::of(start)?, ProjectOptions::of(mode)).await
    }

    /// Opens the project for a command that only reads, while another process may use it.
    ///
    /// If no other process uses it, an interrupted patch is completed or reverted first, and the changes of an
    /// interrupted command are recorded.
    pub(crate) async fn open_to_read(start: &Start) -> Result<Self, Failure> {
        let place = Place::of(start)?;
        #[cfg(unix)]
        if let Some(name) = place.elsewhere() {
            let environment = elsewhere::connect(name).await?;
            let state = StateDir::elsewhere_for_reading(&environment.key())?;
            return Self::with_elsewhere(environment, state, ProjectOptions::of(Mode::Direct)).await;
        }
        let environment = Self::environment(place.root())?;
        match StateDir::open_at_once(environment.root()) {
            Ok(state) => {
                recover(&environment, &state)?;
                // A reader can do without; the next command that writes reports the error.
                let _ = environment.record_interrupted(&state);
            }
            Err(StateError::Busy { .. }) => {}
            Err(error) => return Err(unusable(error)),
        }
        let state = StateDir::for_reading(place.root())?;
        Self::with_state(environment, state, ProjectOptions::of(Mode::Direct), place.start().clone()).await
    }

    pub(crate) fn environment(root: &Path) -> Result<LocalEnvironment, Failure> {
        LocalEnvironment::new(root).map_err(|error| {
            Failure::new(
                Code::Configuration,
                format!("cannot open {}: {error}; give a directory with --root", root.display()),
            )
        })
    }

    /// Opens the project as [`Self::open`] does, with restrictions of the agent.
    pub(crate) async fn open_with(place: &Place, mut options: ProjectOptions) -> Result<Self, Failure> {
        #[cfg(unix)]
        if let Some(name) = place.elsewhere() {
            if options.sandbox.is_some() {
                let message = "--sandbox: commands on another machine or in a container cannot be confined; run without \
                               --sandbox, or with --deny shell";
                return Err(Failure::new(Code::Configuration, message));
            }
            let environment = elsewhere::connect(name).await?;
            let state = StateDir::open_elsewhere(&environment.key()).map_err(unusable)?;
            return Self::with_elsewhere(environment, state, options).await;
        }
        let environment = Self::restricted(place, &mut options)?;
        let state = match open_state_in(options.state_home.as_deref(), &environment) {
            Err(failure) if failure.code == Code::Busy && options.read_only && options.works_beside => {
                StateDir::for_reading(place.root())?
            }
            opened => opened?,
        };
        if !place.start().is_root() {
            let given = Self::environment(place.given())?;
            // `emend patch` was killed in this directory.
            if given.has_unfinished_commit() {
                open_state(&given)?;
            }
        }
        Self::with_state(environment, state, options, place.start().clone()).await
    }

    /// Returns the environment of the root with the restrictions of the agent.
    fn restricted(place: &Place, options: &mut ProjectOptions) -> Result<LocalEnvironment, Failure> {
        let variables = std::mem::take(&mut options.variables);
        let environment = Self::environment(place.root())?.with_variables(variables);
        let Some(sandbox) = options.sandbox.take() else { return Ok(environment) };
        let refused = |error| {
            let advice = "run without --sandbox, or with --deny shell";
            Failure::new(Code::Configuration, format!("--sandbox: {error}; {advice}"))
        };
        environment.with_sandbox(sandbox).map_err(refused)
    }

    /// Opens the project for one of several servers, which take turns.
    #[cfg(all(unix, feature = "postgres"))]
    pub(crate) async fn open_shared(
        place: &Place,
        mut options: ProjectOptions,
        turns: Shared<dyn TakeTurns>,
    ) -> Result<Self, Failure> {
        if place.elsewhere().is_some() {
            let message = "--store postgres: several servers share only a project on this machine; use another --store";
            return Err(Failure::new(Code::Unsupported, message));
        }
        let environment = Self::restricted(place, &mut options)?;
        let state = Arc::new(StateDir::open_shared(environment.root()).map_err(unusable)?);
        let own = Arc::new(state.open_server().map_err(unusable)?);
        let document = Arc::new(SharedDocument::new(Arc::clone(&state), WORKSPACE_DOCUMENT));
        let recovering = Self::environment(place.root())?;
        let under_way = environment.under_way();
        let present = Present::default();
        let (turned, known) = (Arc::clone(&document), present.clone());
        let gate = SharedRoot::new(turns, turned, Arc::clone(&state), recovering, under_way, known);
        let clock: Shared<dyn Clock> = Shared::new(SystemClock);
        let environment = indexed(environment, &state, &options);
        let environment: Shared<dyn ExecutionEnvironment> = Shared::new(environment.with_journal(own));
        let environment = if options.read_only { Shared::new(ReadOnly::new(environment)) } else { environment };
        let workspace = Workspace::new(environment, options.mode, Shared::clone(&clock))
            .with_saver(Shared::new(SharedSaver(document, present)))
            .with_gate(Shared::new(gate));
        workspace.refresh().await.map_err(|error| Failure::new(error.code(), error.to_string()))?;
        let workspace = Shared::new(workspace);
        let agents = match place.start().is_root() {
            true => Shared::clone(&workspace),
            false => Shared::new(workspace.starting_in(place.start().clone())),
        };
        let start = place.start().clone();
        let (saved, finished) = (Arc::default(), None);
        Ok(Self { workspace, agents, start, clock, state, saved, finished, is_shared: true, is_reader: false })
    }

    async fn with_state(
        environment: LocalEnvironment,
        state: StateDir,
        options: ProjectOptions,
        start: FilePath,
    ) -> Result<Self, Failure> {
        let state = Arc::new(state);
        let document = GrowingDocument::new(Arc::clone(&state), WORKSPACE_DOCUMENT);
        let saved: Option<Snapshot> = document.load(Snapshot::apply)?;
        environment.remove_abandoned(saved.iter().flat_map(Snapshot::expected));
        let environment = indexed(environment, &state, &options);
        let environment = Shared::new(environment.with_journal(Arc::clone(&state)));
        Self::assemble(environment, state, (document, saved), options, start).await
    }

    /// Opens a project elsewhere. Its state is on this machine.
    #[cfg(unix)]
    async fn with_elsewhere(
        environment: RemoteEnvironment,
        state: StateDir,
        options: ProjectOptions,
    ) -> Result<Self, Failure> {
        let (state, start) = (Arc::new(state), environment.start());
        let document = GrowingDocument::new(Arc::clone(&state), WORKSPACE_DOCUMENT);
        let saved: Option<Snapshot> = document.load(Snapshot::apply)?;
        Self::assemble(Shared::new(environment), state, (document, saved), options, start).await
    }

    async fn assemble(
        environment: Shared<dyn ExecutionEnvironment>,
        state: Arc<StateDir>,
        (document, snapshot): (GrowingDocument, Option<Snapshot>),
        options: ProjectOptions,
        start: FilePath,
    ) -> Result<Self, Failure> {
        let clock: Shared<dyn Clock> = Shared::new(SystemClock);
        let environment = if options.read_only { Shared::new(ReadOnly::new(environment)) } else { environment };
        let saved = Arc::new(AtomicU64::new(u64::MAX));
        let saver = Saver { document, saved: Arc::clone(&saved) };
        let is_reader = state.is_for_reading();
        let workspace = Workspace::new(environment, options.mode, Shared::clone(&clock));
        let workspace = if is_reader { workspace } else { workspace.with_saver(Shared::new(saver)) };
        let mut finished = None;
        if let Some(snapshot) = snapshot {
            workspace.restore(snapshot).map_err(|error| Failure::new(Code::IoError, error.to_string()))?;
            finished = workspace.catch_up().await;
        }
        let workspace = Shared::new(workspace);
        let agents = match start.is_root() {
            true => Shared::clone(&workspace),
            false => Shared::new(workspace.starting_in(start.clone())),
        };
        Ok(Self { workspace, agents, start, clock, state, saved, finished, is_shared: false, is_reader })
    }

    /// Returns the state directory of a project, without locking or creating anything.
    pub(crate) async fn location(start: &Start) -> Result<PathBuf, Failure> {
        let place = Place::of(start)?;
        #[cfg(unix)]
        if let Some(name) = place.elsewhere() {
            let key = elsewhere::connect(name).await?.key();
            return Ok(StateDir::elsewhere_for_reading(&key)?.directory().to_owned());
        }
        Ok(StateDir::location(place.root())?)
    }

    /// Opens and locks the state of a project without its workspace.
    pub(crate) async fn lock_state(start: &Start) -> Result<StateDir, Failure> {
        let place = Place::of(start)?;
        #[cfg(unix)]
        if let Some(name) = place.elsewhere() {
            return StateDir::open_elsewhere(&elsewhere::connect(name).await?.key()).map_err(unusable);
        }
        open_state(&Self::environment(place.root())?)
    }

    /// Returns the name by which servers recognise the project: a random number in its state.
    #[cfg(all(unix, feature = "postgres"))]
    pub(crate) async fn shared_name(&self) -> Result<String, Failure> {
        let locked = self.state.change_lock().await;
        let _lock = locked.map_err(|error| Failure::new(error.code(), error.to_string()))?;
        if let Some(name) = self.state.load(NAME_DOCUMENT)? {
            return Ok(name);
        }
        let name = format!("{:016x}{:016x}", OsRandom.next_u64(), OsRandom.next_u64());
        self.state.save(NAME_DOCUMENT, &name)?;
        Ok(name)
    }

    /// Opens the store of the project's conversations.
    pub(crate) fn sessions(&self) -> Result<Shared<dyn Store>, Failure> {
        let directory = self.state.directory().join(SESSIONS_DIRECTORY);
        let store = FileStore::open(&directory)
            .map_err(|error| Failure::new(Code::IoError, format!("{}: {error}", directory.display())))?;
        Ok(Shared::new(store))
    }

    /// Returns whether the user said that they trust the folder.
    pub(crate) fn is_trusted(&self) -> Result<bool, Failure> {
        Ok(self.state.load(TRUST_DOCUMENT)?.unwrap_or(false))
    }

    /// Remembers that the user trusts the folder.
    pub(crate) fn trust(&self) -> Result<(), Failure> {
        self.save_document(TRUST_DOCUMENT, &true)
    }

    /// Returns how many hunks wait for review, e.g. `2 hunks wait for review`, if any do.
    pub(crate) fn waiting(&self) -> Option<String> {
        let n_hunks: usize = self.workspace.review().files.iter().map(|file| file.hunks.len()).sum();
        match n_hunks {
            0 => None,
            1 => Some("1 hunk waits for review".to_owned()),
            n => Some(format!("{n} hunks wait for review")),
        }
    }

    /// Returns the name of a run with the first line of its message.
    pub(crate) fn run_name(&self, run: u64) -> Result<String, Failure> {
        let notes = self.run_notes()?;
        Ok(match notes.iter().find(|note| note.run == run) {
            Some(note) if !note.label.is_empty() => format!("run {run} ({})", note.label),
            _ => format!("run {run}"),
        })
    }

    /// Returns a note for a run that edits files at once although hunks wait for review, if any do. `review` is the
    /// command that decides on them.
    pub(crate) fn pending_note(&self, review: &str) -> Option<String> {
        if self.workspace.mode() != Mode::Direct {
            return None;
        }
        let files = self.workspace.review().files;
        let n_hunks: usize = files.iter().map(|file| file.hunks.len()).sum();
        let named: Vec<&str> = files.iter().take(PENDING_NAMED_MAX).map(|file| file.path.as_str()).collect();
        let more = match files.len() - named.len() {
            0 => String::new(),
            n_more => format!(" and {n_more} more"),
        };
        let noun = if n_hunks == 1 { "hunk" } else { "hunks" };
        (n_hunks > 0).then(|| {
            // A line break in a name must not look like a line of this program.
            let paths = visible::visible(&named.join(", "));
            format!("{n_hunks} pending {noun} of {paths}{more}; the run works on the pending text; to decide: {review}")
        })
    }

    /// Returns a document of the state directory.
    pub(crate) fn document<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, Failure> {
        Ok(self.state.load(name)?.unwrap_or_default())
    }

    /// Writes a document of the state directory.
    pub(crate) fn save_document<T: Serialize>(&self, name: &str, document: &T) -> Result<(), Failure> {
        if self.is_reader {
            return Ok(());
        }
        self.state.save(name, document).map_err(Failure::from)
    }

    /// Returns the notes about runs.
    pub(crate) fn run_notes(&self) -> Result<Vec<RunNote>, Failure> {
        self.document(RUNS_DOCUMENT)
    }

    fn drop_note(&self, run: u64) -> Result<(), Failure> {
        let mut notes = self.run_notes()?;
        notes.retain(|noted| noted.run != run);
        self.save_document(RUNS_DOCUMENT, &notes)
    }

    pub(crate) fn note_run(&self, note: RunNote) -> Result<(), Failure> {
        let mut notes = self.run_notes()?;
        notes.retain(|noted| noted.run != note.run);
        notes.push(note);
        self.save_document(RUNS_DOCUMENT, &notes)
    }

    /// Returns the state directory of the project.
    pub(crate) fn directory(&self) -> &Path {
        self.state.directory()
    }

    /// Saves the line logs.
    pub(crate) fn save(&self) -> Result<(), Failure> {
        if self.is_shared {
            return Ok(());
        }
        self.workspace.persist().map_err(|error| Failure::new(error.code(), error.to_string()))
    }

    /// Saves the line logs, unless they are saved as they are: one command may change many files.
    ///
    /// Returns whether they had changed.
    pub(crate) fn save_if_changed(&self) -> Result<bool, Failure> {
        let is_changed = self.saved.load(Ordering::Relaxed) != self.workspace.revision();
        if is_changed {
            self.save()?;
        }
        Ok(is_changed)
    }
}

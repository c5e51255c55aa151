//! A project on this machine: its root, its workspace, and the state that outlives a run.
//!
//! The state is kept outside the project, under the user's state directory, keyed by the root.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use emend_agent::error_code::Code;
use emend_agent::event::EventKind;
use emend_agent::store::Store;
use emend_agent::workspace::{Mode, Snapshot, Workspace};
use emend_host::{FileStore, LocalEnvironment, Sandbox, StateDir, StateError, SystemClock};
use emend_llm::{Clock, Shared};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The document that holds the workspace's line logs.
const WORKSPACE_DOCUMENT: &str = "workspace";

/// The document that says what each run was asked for.
const RUNS_DOCUMENT: &str = "runs";

/// What a run was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunNote {
    pub(crate) run: u64,
    /// The session it belongs to.
    pub(crate) session: String,
    /// The first line of the user's message.
    pub(crate) label: String,
}

/// Notes what runs of one session were asked for, as its events come.
pub(crate) struct RunNotes {
    session: String,
    label: String,
    last: u64,
}

impl RunNotes {
    pub(crate) fn new(session: &str) -> Self {
        Self { session: session.to_owned(), label: String::new(), last: 0 }
    }

    /// Saves what a crash later must find: what was changed so far, and what for.
    pub(crate) fn take(&mut self, event: &EventKind, project: &Project) -> Result<(), Failure> {
        match event {
            EventKind::UserInput { content } => {
                content.trim().lines().next().unwrap_or_default().clone_into(&mut self.label);
            }
            EventKind::FileChanged { .. } => {
                project.save()?;
                let run = project.workspace.last_run();
                if run != self.last {
                    self.last = run;
                    let (session, label) = (self.session.clone(), self.label.clone());
                    project.note_run(RunNote { run, session, label })?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The directory of saved conversations, beside the documents.
pub(crate) const SESSIONS_DIRECTORY: &str = "sessions";

/// Opens and locks the state of a project, and completes or takes back what a run before was killed in the middle of.
pub(crate) fn open_state(environment: &LocalEnvironment) -> Result<StateDir, Failure> {
    let state = StateDir::open(environment.root()).map_err(|error| match error {
        StateError::Io { .. } => {
            let message = format!("cannot save the data for undo: {error}; set XDG_STATE_HOME to another directory");
            Failure::new(error.code(), message)
        }
        error => Failure::from(error),
    })?;
    let recovered = environment
        .recover(&state, &mut |_| Ok(()))
        .map_err(|error| Failure::new(error.code(), format!("an earlier patch was interrupted: {error}")))?;
    if let Some(recovered) = recovered {
        let mut stderr = std::io::stderr().lock();
        let done = if recovered.completed { "completed" } else { "reverted" };
        let n_files = recovered.files.len();
        let noun = if n_files == 1 { "file" } else { "files" };
        // What was done is done, whether or not anyone reads of it.
        let _ = writeln!(stderr, "emend: an earlier patch of {n_files} {noun} was interrupted and is now {done}");
        for path in recovered.left_alone {
            let _ = writeln!(stderr, "emend: {path} has changed since and was left unchanged");
        }
    }
    Ok(state)
}

/// A project that is open. One process at a time: the state directory is locked while it is.
pub(crate) struct Project {
    pub(crate) workspace: Shared<Workspace>,
    pub(crate) clock: Shared<dyn Clock>,
    state: Arc<StateDir>,
}

impl Project {
    /// Opens the project at `root` with what earlier runs left to decide or undo.
    pub(crate) fn open(root: &Path, mode: Mode) -> Result<Self, Failure> {
        Self::open_confined(root, mode, None)
    }

    /// Opens it, and confines commands if there is a sandbox.
    pub(crate) fn open_confined(root: &Path, mode: Mode, sandbox: Option<Sandbox>) -> Result<Self, Failure> {
        let mut environment = LocalEnvironment::new(root).map_err(|error| {
            Failure::new(
                Code::Configuration,
                format!("cannot open {}: {error}; give a directory with --root", root.display()),
            )
        })?;
        if let Some(sandbox) = sandbox {
            let refused = |error| {
                let advice = "run without --sandbox, or with --deny shell";
                Failure::new(Code::Configuration, format!("--sandbox: {error}; {advice}"))
            };
            environment = environment.with_sandbox(sandbox).map_err(refused)?;
        }
        let state = Arc::new(open_state(&environment)?);
        let clock: Shared<dyn Clock> = Shared::new(SystemClock);
        let environment = Shared::new(environment.with_journal(Arc::clone(&state)));
        let saved: Option<Snapshot> = state.load(WORKSPACE_DOCUMENT)?;
        let workspace = Workspace::new(environment, mode, Shared::clone(&clock));
        if let Some(snapshot) = saved {
            workspace.restore(snapshot).map_err(|error| Failure::new(Code::IoError, error.to_string()))?;
        }
        Ok(Self { workspace: Shared::new(workspace), clock, state })
    }

    /// Opens the place where the project's conversations are kept.
    pub(crate) fn sessions(&self) -> Result<Shared<dyn Store>, Failure> {
        let directory = self.state.directory().join(SESSIONS_DIRECTORY);
        let store = FileStore::open(&directory)
            .map_err(|error| Failure::new(Code::IoError, format!("{}: {error}", directory.display())))?;
        Ok(Shared::new(store))
    }

    /// Returns what runs were asked for, as far as it was noted.
    pub(crate) fn run_notes(&self) -> Result<Vec<RunNote>, Failure> {
        let notes = self.state.load(RUNS_DOCUMENT);
        Ok(notes?.unwrap_or_default())
    }

    fn note_run(&self, note: RunNote) -> Result<(), Failure> {
        let mut notes = self.run_notes()?;
        notes.retain(|noted| noted.run != note.run);
        notes.push(note);
        self.state.save(RUNS_DOCUMENT, &notes).map_err(Failure::from)
    }

    /// Returns where what the project's state holds beside documents is kept.
    pub(crate) fn directory(&self) -> &Path {
        self.state.directory()
    }

    /// Keeps the line logs for the next command.
    pub(crate) fn save(&self) -> Result<(), Failure> {
        self.state.save(WORKSPACE_DOCUMENT, &self.workspace.snapshot()).map_err(Failure::from)
    }
}

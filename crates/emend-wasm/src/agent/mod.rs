//! The handle behind JavaScript's `Agent`: its files (in memory or a host's), their workspace, and the session over it.

mod files;
pub(crate) mod json_fields;
pub(crate) mod options;
mod policy;
pub mod web_address;

use std::cell::{Ref, RefCell};
use std::rc::Rc;

use emend_agent::canvas::{self, CanvasState};
use emend_agent::environment::memory::MemFs;
use emend_agent::environment::resolve;
use emend_agent::environment::{Access, EnvError, ExecutionEnvironment, FilePath};
use emend_agent::error_code::Code;
use emend_agent::event::Event;
use emend_agent::search::Matcher;
use emend_agent::session::{Session, SessionBuilder, SessionOptions};
use emend_agent::store::Store;
use emend_agent::workspace::{HunkDecision, Selection, Workspace};
use emend_edit::line_log::DependentsPolicy;
use emend_llm::{CancelToken, Clock as _, Shared};
use futures::{Stream, StreamExt as _};
use js_sys::{Array, Function};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use self::options::{AgentOptions, Model, ModelOptions};
use crate::failure::Failure;
use crate::host::BrowserClock;
use crate::host::task::{Feed, Task};
use crate::host::{FetchTimeouts, FetchTransport};
use crate::js::JsShell;
use crate::js::JsStore;
use crate::js::JsTool;
use crate::js::environment::{HostEnvironment, JsEnvironment};

/// One agent. Asynchronous methods return a [`Task`]; the others return JSON text or throw a failure.
#[wasm_bindgen]
pub struct AgentHandle {
    files: Files,
    workspace: Shared<Workspace>,
    setup: Rc<RefCell<Setup>>,
    fetch: Function,
    store: Option<Shared<dyn Store>>,
    session: Rc<RefCell<Session>>,
}

/// A change of the review by the user.
enum Step {
    Decide(Selection, HunkDecision),
    /// Splits a hunk before a line.
    Split(String, usize),
    Undo,
    Redo,
}

/// The files: in memory or a host's.
enum Files {
    Memory(Shared<MemFs>),
    Host(Shared<JsEnvironment>),
}

impl Files {
    fn environment(&self) -> Shared<dyn ExecutionEnvironment> {
        match self {
            Self::Memory(files) => Shared::clone(files) as _,
            Self::Host(files) => Shared::clone(files) as _,
        }
    }

    fn in_memory(&self) -> Result<&MemFs, Failure> {
        match self {
            Self::Memory(files) => Ok(files),
            Self::Host(_) => Err(Failure::new(
                Code::Unsupported,
                "the files belong to the environment; only files in memory can be added, adopted or exported",
            )),
        }
    }

    /// Resolves a path without waiting: a host is not asked where links lead.
    fn clean(&self, path: &str) -> Result<FilePath, EnvError> {
        match self {
            Self::Memory(files) => resolve::resolve(&**files, path, Access::Write),
            Self::Host(files) => files.clean(path),
        }
    }
}

/// The parts of a session, except for its files.
pub(crate) struct Setup {
    options: AgentOptions,
    /// Opens responses of a provider written in JavaScript, or fetches those of the offline model.
    open_answer: Option<Function>,
    /// Starts calls of tools written in JavaScript.
    run_tool: Option<Function>,
    /// Asks the user whether a call may run.
    approve: Option<Function>,
}

#[wasm_bindgen]
extern "C" {
    /// The functions that JavaScript lends an agent. None may call back into the core before it returns.
    pub type AgentCallbacks;

    /// Sends requests, as the global `fetch`.
    #[wasm_bindgen(method, getter)]
    fn fetch(this: &AgentCallbacks) -> Function;

    /// Opens responses of a provider written in JavaScript, or fetches those of the offline model.
    #[wasm_bindgen(method, getter, js_name = openAnswer)]
    fn open_answer(this: &AgentCallbacks) -> Option<Function>;

    /// Starts calls of tools written in JavaScript.
    #[wasm_bindgen(method, getter, js_name = runTool)]
    fn run_tool(this: &AgentCallbacks) -> Option<Function>;

    /// Stores sessions. Without it sessions are not saved.
    #[wasm_bindgen(method, getter, js_name = callStore)]
    fn call_store(this: &AgentCallbacks) -> Option<Function>;

    /// Compiles patterns in the module of the regex engine.
    #[cfg(all(not(feature = "regex"), not(feature = "service")))]
    #[wasm_bindgen(method, getter, js_name = loadPattern)]
    fn load_pattern(this: &AgentCallbacks) -> Function;

    /// Asks the user whether a call may run.
    #[wasm_bindgen(method, getter)]
    fn approve(this: &AgentCallbacks) -> Option<Function>;

    /// Runs commands in the emulated shell. Without it files in memory have no shell.
    #[wasm_bindgen(method, getter, js_name = runCommand)]
    fn run_command(this: &AgentCallbacks) -> Option<Function>;

    /// The host's files. Without it files are in memory.
    #[wasm_bindgen(method, getter)]
    fn environment(this: &AgentCallbacks) -> Option<HostEnvironment>;
}

#[wasm_bindgen]
impl AgentHandle {
    /// Creates an agent without files. `options` is JSON text.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str, callbacks: &AgentCallbacks) -> Result<AgentHandle, JsValue> {
        let options = AgentOptions::parse(options).map_err(Failure::into_js)?;
        #[cfg(all(not(feature = "regex"), not(feature = "service")))]
        emend_agent::search::elsewhere::connect(Shared::new(crate::js::JsPatterns(callbacks.load_pattern())));
        let memory = || MemFs::new().with_clock(Shared::new(BrowserClock)).with_quota(options.quota());
        let files = match (callbacks.environment(), callbacks.run_command()) {
            (Some(host), _) => Files::Host(Shared::new(JsEnvironment::new(host))),
            (None, Some(start)) => Files::Memory(Shared::new(memory().with_shell(Shared::new(JsShell::new(start))))),
            (None, None) => Files::Memory(Shared::new(memory())),
        };
        let workspace = Workspace::new(files.environment(), options.mode, Shared::new(BrowserClock));
        let workspace = Shared::new(workspace);
        let store = callbacks.call_store().map(|call| Shared::new(JsStore::new(call)) as Shared<dyn Store>);
        let (fetch, open_answer) = (callbacks.fetch(), callbacks.open_answer());
        let setup = Setup { options, open_answer, run_tool: callbacks.run_tool(), approve: callbacks.approve() };
        let session = Session::new(setup.session_options(&fetch, &workspace).map_err(Failure::into_js)?);
        let session = Rc::new(RefCell::new(stored(session, store.as_ref())));
        Ok(Self { files, workspace, setup: Rc::new(RefCell::new(setup)), fetch, store, session })
    }

    /// Resumes the saved session `id`; or, with `forks`, starts a new session from its first `n_turns` history entries.
    /// Resolves with the id of the session.
    pub fn resume(&self, id: String, forks: bool, n_turns: Option<usize>) -> Task {
        let options = self.session_options();
        let (store, slot) = (self.store.clone(), Rc::clone(&self.session));
        Task::new(async move {
            let Some(store) = store else {
                return Err(Failure::new(
                    Code::Configuration,
                    "a saved session cannot be loaded without a `store`; pass the store that holds it",
                ));
            };
            let session = match forks {
                true => Session::fork(options?, store, &id, n_turns).await?,
                false => Session::resume(options?, store, &id).await?,
            };
            let text = text_of(&session.id());
            slot.replace(session);
            text
        })
    }

    /// Replaces all options. They apply from the next model call on.
    pub fn configure(&self, options: &str, open_answer: Option<Function>) -> Result<String, JsValue> {
        let options = AgentOptions::parse(options).map_err(Failure::into_js)?;
        let (run_tool, approve) = {
            let setup = self.setup.borrow();
            (setup.run_tool.clone(), setup.approve.clone())
        };
        let setup = Setup { options, open_answer, run_tool, approve };
        let SessionOptions { provider, model, offline, tools, config, .. } =
            setup.session_options(&self.fetch, &self.workspace).map_err(Failure::into_js)?;
        self.setup.replace(setup);
        let session = self.session.borrow();
        session.set_model(provider, model, offline);
        session.set_tools(tools);
        session.configure(|current| *current = config);
        json(&())
    }

    /// Returns the id of the session.
    #[wasm_bindgen(js_name = sessionId)]
    pub fn session_id(&self) -> Result<String, JsValue> {
        json(&self.session.borrow().id())
    }

    /// Returns the history of the session.
    pub fn turns(&self) -> Result<String, JsValue> {
        json(&self.session.borrow().entries())
    }

    /// Attaches an image to the next user message.
    #[wasm_bindgen(js_name = attachImage)]
    pub fn attach_image(&self, name: &str, bytes: Vec<u8>) -> Result<String, JsValue> {
        json(&self.session.borrow().attach_image(name, &bytes).map_err(|error| Failure::from(error).into_js())?)
    }

    /// Adds a user message: to the current run if `now`, otherwise after it.
    pub fn say(&self, text: &str, now: bool) -> Result<String, JsValue> {
        let session = self.open_session();
        let said = if now { session.steer(text) } else { session.follow_up(text) };
        said.map_err(|error| Failure::from(error).into_js())?;
        json(&())
    }

    /// Compacts the history.
    pub fn compact(&self) -> Task {
        let session = self.open_session().clone();
        Task::new(async move { text_of(&session.compact().await?) })
    }

    /// Returns the events after a cursor, past and future.
    pub fn events(&self, after: f64) -> Result<RunHandle, JsValue> {
        let events = self.session.borrow().subscribe(after as u64);
        Ok(RunHandle::new(events.map_err(|error| Failure::from(error).into_js())?, CancelToken::new()))
    }

    /// Adds an unedited file. A path that ends in `/` with empty content adds a directory.
    #[wasm_bindgen(js_name = addFile)]
    pub fn add_file(&self, path: &str, content: Vec<u8>) -> Result<String, JsValue> {
        let files = self.files.in_memory().map_err(Failure::into_js)?;
        let added = match content.is_empty() && path.ends_with('/') {
            true => files.insert_directory(path),
            false => files.insert(path, content),
        };
        json(&added.map_err(|error| Failure::from(error).into_js())?)
    }

    /// Copies the saved files of another agent.
    #[wasm_bindgen(js_name = adoptFiles)]
    pub fn adopt_files(&self, other: &AgentHandle) -> Result<String, JsValue> {
        let adopt = |files: &Files| Ok(files.in_memory()?.adopt(other.files.in_memory()?)?);
        json(&adopt(&self.files).map_err(Failure::into_js)?)
    }

    /// Returns the saved files as a flat list: path, bytes, path, bytes and so on. An empty directory has a path that
    /// ends in `/` and no bytes.
    #[wasm_bindgen(js_name = exportFiles)]
    pub fn export_files(&self) -> Result<Array, JsValue> {
        Ok(files::export(self.files.in_memory().map_err(Failure::into_js)?))
    }

    /// Starts a run.
    pub fn run(&self, text: &str) -> Result<RunHandle, JsValue> {
        let session = self.open_session();
        let cancel = CancelToken::new();
        let events = session.submit(text, cancel.clone()).map_err(|error| Failure::from(error).into_js())?;
        Ok(RunHandle::new(events, cancel))
    }

    /// Returns the pending hunks of the files that changed after the revision `since`; of all files if it is 0.
    pub fn review(&self, since: f64) -> Result<String, JsValue> {
        json(&self.workspace.review_since(since as u64))
    }

    /// Accepts hunks. With `over`, contested hunks replace the user's lines.
    pub fn accept(&self, hunk_ids: Vec<String>, over: bool) -> Task {
        let decision = if over { HunkDecision::AcceptOver } else { HunkDecision::Accept };
        self.decide(Ok(Selection::Hunks(hunk_ids)), Ok(decision))
    }

    /// Splits a hunk in two. The second one starts with `line`.
    pub fn split(&self, hunk_id: String, line: usize) -> Task {
        self.step(Ok(Step::Split(hunk_id, line)))
    }

    /// Rejects hunks. `dependents` is `refuse`, `only` or `with`.
    pub fn reject(&self, hunk_ids: Vec<String>, dependents: String) -> Task {
        self.decide(Ok(Selection::Hunks(hunk_ids)), policy(&dependents).map(HunkDecision::Reject))
    }

    /// Accepts all hunks, of one file or of every file.
    #[wasm_bindgen(js_name = acceptAll)]
    pub fn accept_all(&self, path: Option<String>) -> Task {
        self.decide(self.all_of(path), Ok(HunkDecision::Accept))
    }

    /// Rejects all hunks, of one file or of every file.
    #[wasm_bindgen(js_name = rejectAll)]
    pub fn reject_all(&self, path: Option<String>) -> Task {
        self.decide(self.all_of(path), Ok(HunkDecision::Reject(DependentsPolicy::OnlyThese)))
    }

    /// Undoes the user's last edit or decision.
    pub fn undo(&self) -> Task {
        self.step(Ok(Step::Undo))
    }

    /// Redoes the last undone step.
    pub fn redo(&self) -> Task {
        self.step(Ok(Step::Redo))
    }

    /// Lists all files.
    #[wasm_bindgen(js_name = listFiles)]
    pub fn list_files(&self) -> Task {
        self.task(async move |workspace| files::list(&workspace).await)
    }

    /// Reads a file as the user sees it, pending edits included.
    #[wasm_bindgen(js_name = readFile)]
    pub fn read_file(&self, path: String) -> Task {
        self.task(async move |workspace| files::read(&workspace, &path).await)
    }

    /// Reads a file as it is saved.
    #[wasm_bindgen(js_name = readDisk)]
    pub fn read_disk(&self, path: String) -> Task {
        self.task(async move |workspace| Ok(workspace.saved_text(&path).await?))
    }

    /// Writes a file as the user. `base` is the text that the user started from.
    #[wasm_bindgen(js_name = writeFile)]
    pub fn write_file(&self, path: String, text: String, base: Option<String>) -> Task {
        self.task(async move |workspace| {
            workspace.user_edit(&path, Some(&text), base.as_deref()).await?;
            files::read(&workspace, &path).await
        })
    }

    /// Deletes a file as the user.
    #[wasm_bindgen(js_name = removeFile)]
    pub fn remove_file(&self, path: String) -> Task {
        self.task(async move |workspace| {
            workspace.user_edit(&path, None, None).await?;
            Ok(())
        })
    }

    /// Finds lines in the files as the user sees them.
    pub fn grep(
        &self,
        pattern: String,
        ignore_case: bool,
        path: String,
        glob: Option<String>,
        context_lines: usize,
        max_results: usize,
    ) -> Task {
        self.task(async move |workspace| {
            let matcher = Matcher::load(&pattern, ignore_case).await?;
            Ok(workspace.grep(matcher, &path, glob.as_deref(), context_lines, max_results).await?)
        })
    }

    /// Finds files by a glob.
    pub fn glob(&self, pattern: String, path: String) -> Task {
        self.task(async move |workspace| Ok(workspace.glob_paths(&path, &pattern).await?))
    }

    /// Returns everything pending as a unified diff.
    pub fn diff(&self) -> Task {
        self.task(async move |workspace| files::diff(&workspace).await)
    }

    /// Shows `path` in the editor, or no file.
    #[wasm_bindgen(js_name = openCanvas)]
    pub fn open_canvas(&self, path: Option<String>) -> Result<String, JsValue> {
        let path = path.map(|path| self.files.clean(&path)).transpose();
        let path = path.map_err(|error| Failure::from(error).into_js())?;
        if path.is_some() && !canvas::IS_BUILT_IN {
            return Err(Failure::new(Code::Unsupported, "this build has no canvas").into_js());
        }
        self.workspace.canvas().open(path);
        json(&canvas_state(&self.workspace))
    }

    /// Returns the canvas: the file that the editor shows and its lease holder.
    pub fn canvas(&self) -> Result<String, JsValue> {
        json(&canvas_state(&self.workspace))
    }

    /// Gives the canvas back to the user, preempting the agent.
    #[wasm_bindgen(js_name = takeBack)]
    pub fn take_back(&self) -> Result<String, JsValue> {
        self.workspace.canvas().take_back();
        json(&canvas_state(&self.workspace))
    }
}

impl AgentHandle {
    /// Returns the session, which a failure may have closed, open.
    fn open_session(&self) -> Ref<'_, Session> {
        let session = self.session.borrow();
        session.open_again();
        session
    }

    fn all_of(&self, path: Option<String>) -> Result<Selection, Failure> {
        Ok(Selection::All(path.map(|path| self.files.clean(&path)).transpose()?))
    }

    fn decide(&self, selection: Result<Selection, Failure>, decision: Result<HunkDecision, Failure>) -> Task {
        self.step(selection.and_then(|selection| Ok(Step::Decide(selection, decision?))))
    }

    /// Changes the review. One task for all changes keeps the module small.
    fn step(&self, step: Result<Step, Failure>) -> Task {
        self.task(async move |workspace| {
            Ok(match step? {
                Step::Decide(selection, decision) => workspace.decide(selection, decision).await,
                Step::Split(hunk_id, line) => workspace.split(&hunk_id, line).await,
                Step::Undo => workspace.undo().await,
                Step::Redo => workspace.redo().await,
            }?)
        })
    }

    fn task<T: Serialize>(&self, work: impl AsyncFnOnce(Shared<Workspace>) -> Result<T, Failure> + 'static) -> Task {
        let workspace = Shared::clone(&self.workspace);
        Task::new(async move { text_of(&work(workspace).await?) })
    }

    fn session_options(&self) -> Result<SessionOptions, Failure> {
        self.setup.borrow().session_options(&self.fetch, &self.workspace)
    }
}

/// The parts of an agent that a service uses.
#[cfg(feature = "service")]
pub(crate) struct Parts {
    pub(crate) workspace: Shared<Workspace>,
    pub(crate) setup: Rc<RefCell<Setup>>,
    pub(crate) fetch: Function,
    pub(crate) store: Option<Shared<dyn Store>>,
    /// Whether commands run outside the files in memory, where pending edits are not visible.
    pub(crate) has_host_shell: bool,
}

#[cfg(feature = "service")]
impl AgentHandle {
    pub(crate) fn parts(&self) -> Parts {
        let has_host_shell = matches!(&self.files, Files::Host(host) if host.has_shell());
        Parts {
            workspace: Shared::clone(&self.workspace),
            setup: Rc::clone(&self.setup),
            fetch: self.fetch.clone(),
            store: self.store.clone(),
            has_host_shell,
        }
    }
}

impl Setup {
    fn session_options(&self, fetch: &Function, workspace: &Shared<Workspace>) -> Result<SessionOptions, Failure> {
        let model = (&self.options.model, self.open_answer.as_ref());
        let builder = self.builder(model_of(model, fetch), fetch, Shared::clone(workspace))?;
        builder.options().map_err(|error| Failure::new(error.code(), error.to_string()))
    }

    /// Returns the limits on each run.
    #[cfg(feature = "service")]
    pub(crate) fn run_budget(&self) -> emend_agent::session::RunBudget {
        self.options.run_budget
    }

    /// Returns a builder of sessions with a model.
    pub(crate) fn builder(
        &self,
        model: Model,
        fetch: &Function,
        workspace: Shared<Workspace>,
    ) -> Result<SessionBuilder, Failure> {
        let mut builder = self.options.builder(model, workspace, fetch, self.approve.clone())?;
        for description in &self.options.tools {
            let start = self.run_tool.clone().unwrap_or_else(|| JsValue::UNDEFINED.unchecked_into());
            builder = builder.tool(Shared::new(JsTool::new(description.clone(), start)?));
        }
        Ok(builder)
    }
}

/// Returns the model of options, which are given with the function that opens its responses.
pub(crate) fn model_of((model, open_answer): (&ModelOptions, Option<&Function>), fetch: &Function) -> Model {
    let network = || Shared::new(FetchTransport::new(fetch.clone(), FetchTimeouts::default())) as _;
    model.model(network, open_answer)
}

fn stored(session: Session, store: Option<&Shared<dyn Store>>) -> Session {
    match store {
        Some(store) => session.with_store(Shared::clone(store)),
        None => session,
    }
}

fn policy(name: &str) -> Result<DependentsPolicy, Failure> {
    match name {
        "refuse" => Ok(DependentsPolicy::Refuse),
        "only" => Ok(DependentsPolicy::OnlyThese),
        "with" => Ok(DependentsPolicy::WithDependents),
        other => {
            Err(Failure::new(Code::InvalidArgument, format!("`dependents` is {other:?}; use refuse, only or with")))
        }
    }
}

fn canvas_state(workspace: &Workspace) -> CanvasState {
    workspace.canvas().state(BrowserClock.now_ms())
}

pub(crate) fn text_of(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::new(Code::Internal, error.to_string()))
}

fn json(value: &impl Serialize) -> Result<String, JsValue> {
    text_of(value).map_err(Failure::into_js)
}

/// A run in progress. It advances only while it is polled.
#[wasm_bindgen]
pub struct RunHandle {
    feed: Feed,
    cancel: CancelToken,
}

impl RunHandle {
    fn new(events: impl Stream<Item = Event> + 'static, cancel: CancelToken) -> Self {
        Self::of_texts(events.map(|event| serde_json::to_string(&event).unwrap_or_default()), cancel)
    }

    pub(crate) fn of_texts(texts: impl Stream<Item = String> + 'static, cancel: CancelToken) -> Self {
        Self { feed: Feed::new(texts), cancel }
    }
}

#[wasm_bindgen]
impl RunHandle {
    /// The task id that `Host.wake` is called with.
    #[wasm_bindgen(getter)]
    pub fn id(&self) -> u32 {
        self.feed.id()
    }

    /// Returns the next event as JSON text, an empty text at the end, or `undefined` while there is none.
    pub fn poll(&self) -> Option<String> {
        self.feed.poll()
    }

    /// Cancels the run. Its last events report the end.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

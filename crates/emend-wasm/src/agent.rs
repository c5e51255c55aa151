//! The handle behind JavaScript's `Agent`: one file system in memory, its workspace, and the session over it.

use std::cell::RefCell;

use emend_agent::canvas::CanvasState;
use emend_agent::code::Code;
use emend_agent::env::{Access, ExecutionEnvironment as _, FilePath};
use emend_agent::memfs::MemFs;
use emend_agent::session::{Session, SessionConfig, SessionOptions};
use emend_agent::tools::core_tools;
use emend_agent::workspace::Workspace;
use emend_edit::log::DependentsPolicy;
use emend_llm::{CancelToken, Clock as _, Shared};
use futures::{FutureExt as _, StreamExt as _};
use js_sys::Function;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::clock::BrowserClock;
use crate::failure::Failure;
use crate::fetch::{FetchTimeouts, FetchTransport};
use crate::files;
use crate::options::{AgentOptions, ModelOptions, parse};
use crate::random::JsRandom;
use crate::task::{Feed, Task};

/// One agent. What takes time returns a [`Task`]; everything else returns JSON text or throws a failure's.
#[wasm_bindgen]
pub struct AgentHandle {
    files: Shared<MemFs>,
    workspace: Shared<Workspace>,
    fetch: Function,
    config: SessionConfig,
    model: RefCell<ModelOptions>,
    /// Opens the answers of a provider written in JavaScript.
    custom: RefCell<Option<Function>>,
    session: RefCell<Session>,
}

#[wasm_bindgen]
impl AgentHandle {
    /// Makes an agent without files from `options` as JSON text. Neither `fetch` nor `custom`, which opens the answers of
    /// a provider written in JavaScript, may call back in before it returns.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str, fetch: Function, custom: Option<Function>) -> Result<AgentHandle, JsValue> {
        let options: AgentOptions = parse(options).map_err(Failure::into_js)?;
        let files = Shared::new(MemFs::new().with_clock(Shared::new(BrowserClock)));
        let environment = Shared::clone(&files);
        let workspace = Shared::new(Workspace::new(environment, options.mode.into(), Shared::new(BrowserClock)));
        let config = options.session_config();
        let session = open_session(&options.model, &fetch, custom.as_ref(), &workspace, &config);
        let (model, custom) = (RefCell::new(options.model), RefCell::new(custom));
        Ok(Self { files, workspace, fetch, config, model, custom, session: RefCell::new(session) })
    }

    /// Puts a file on the disk, as it was before anyone edited.
    #[wasm_bindgen(js_name = addFile)]
    pub fn add_file(&self, path: &str, content: Vec<u8>) -> Result<String, JsValue> {
        json(&self.files.insert(path, content).map_err(|error| Failure::from(error).into_js())?)
    }

    /// Lets another model answer from now on. It is told the conversation so far.
    #[wasm_bindgen(js_name = setModel)]
    pub fn set_model(&self, model: &str, custom: Option<Function>) -> Result<String, JsValue> {
        *self.model.borrow_mut() = parse(model).map_err(Failure::into_js)?;
        *self.custom.borrow_mut() = custom;
        self.renew_session();
        json(&())
    }

    /// Starts a turn. A session that ended, by a failure or by being cancelled, is followed by a new one.
    pub fn run(&self, text: &str) -> Result<RunHandle, JsValue> {
        if self.session.borrow().is_closed() {
            self.renew_session();
        }
        let cancel = CancelToken::new();
        let events =
            self.session.borrow().submit(text, cancel.clone()).map_err(|error| Failure::from(error).into_js())?;
        let texts = events.map(|event| serde_json::to_string(&event).unwrap_or_default());
        Ok(RunHandle { feed: Feed::new(texts), cancel })
    }

    /// Returns the pending hunks.
    pub fn review(&self) -> Result<String, JsValue> {
        json(&self.workspace.review())
    }

    /// Accepts hunks.
    pub fn accept(&self, hunk_ids: Vec<String>) -> Task {
        self.task(async move |workspace| Ok(workspace.accept(&hunk_ids).await?))
    }

    /// Rejects hunks. `dependents` is `refuse`, `only` or `with`.
    pub fn reject(&self, hunk_ids: Vec<String>, dependents: String) -> Task {
        self.task(async move |workspace| Ok(workspace.reject(&hunk_ids, policy(&dependents)?).await?))
    }

    /// Accepts all hunks, of one file or of every file.
    #[wasm_bindgen(js_name = acceptAll)]
    pub fn accept_all(&self, path: Option<String>) -> Task {
        let path = path.map(|path| self.resolve(&path)).transpose();
        self.task(async move |workspace| Ok(workspace.accept_all(path?.as_ref()).await?))
    }

    /// Rejects all hunks, of one file or of every file.
    #[wasm_bindgen(js_name = rejectAll)]
    pub fn reject_all(&self, path: Option<String>) -> Task {
        let path = path.map(|path| self.resolve(&path)).transpose();
        self.task(async move |workspace| Ok(workspace.reject_all(path?.as_ref()).await?))
    }

    /// Takes back the user's last edit or decision.
    pub fn undo(&self) -> Task {
        self.task(async move |workspace| Ok(workspace.undo().await?))
    }

    /// Takes back the last undo.
    pub fn redo(&self) -> Task {
        self.task(async move |workspace| Ok(workspace.redo().await?))
    }

    /// Lists all files.
    #[wasm_bindgen(js_name = listFiles)]
    pub fn list_files(&self) -> Task {
        self.task(async move |workspace| files::list(&workspace).await)
    }

    /// Reads what the user sees.
    #[wasm_bindgen(js_name = readFile)]
    pub fn read_file(&self, path: String) -> Task {
        self.task(async move |workspace| files::read(&workspace, &path).await)
    }

    /// Reads what is saved.
    #[wasm_bindgen(js_name = readDisk)]
    pub fn read_disk(&self, path: String) -> Task {
        self.task(async move |workspace| Ok(workspace.saved_text(&path).await?))
    }

    /// Writes as the user, who started from `base` if that is given.
    #[wasm_bindgen(js_name = writeFile)]
    pub fn write_file(&self, path: String, text: String, base: Option<String>) -> Task {
        self.task(async move |workspace| {
            workspace.user_edit(&path, Some(&text), base.as_deref()).await?;
            files::read(&workspace, &path).await
        })
    }

    /// Deletes as the user.
    #[wasm_bindgen(js_name = removeFile)]
    pub fn remove_file(&self, path: String) -> Task {
        self.task(async move |workspace| {
            workspace.user_edit(&path, None, None).await?;
            Ok(())
        })
    }

    /// Returns everything pending as a unified diff.
    pub fn diff(&self) -> Task {
        self.task(async move |workspace| files::diff(&workspace).await)
    }

    /// Shows `path` in the editor, or no file.
    #[wasm_bindgen(js_name = openCanvas)]
    pub fn open_canvas(&self, path: Option<String>) -> Result<String, JsValue> {
        let path = path.map(|path| self.resolve(&path)).transpose().map_err(Failure::into_js)?;
        self.workspace.canvas().open(path);
        json(&canvas_state(&self.workspace))
    }

    /// Returns which file the editor shows and who holds it.
    pub fn canvas(&self) -> Result<String, JsValue> {
        json(&canvas_state(&self.workspace))
    }

    /// Takes the canvas back for the user.
    #[wasm_bindgen(js_name = takeBack)]
    pub fn take_back(&self) -> Result<String, JsValue> {
        self.workspace.canvas().take_back();
        json(&canvas_state(&self.workspace))
    }
}

impl AgentHandle {
    fn task<T: Serialize>(&self, work: impl AsyncFnOnce(Shared<Workspace>) -> Result<T, Failure> + 'static) -> Task {
        let workspace = Shared::clone(&self.workspace);
        Task::new(async move { text_of(&work(workspace).await?) })
    }

    /// Cleans a path. A file system in memory answers at once.
    fn resolve(&self, path: &str) -> Result<FilePath, Failure> {
        let resolved = self.files.resolve(path, Access::Write).now_or_never();
        Ok(resolved.ok_or_else(|| Failure::new(Code::Internal, "the file system did not answer"))??)
    }

    /// Opens a session that goes on with the same conversation over the same files.
    fn renew_session(&self) {
        let custom = self.custom.borrow();
        let session = open_session(&self.model.borrow(), &self.fetch, custom.as_ref(), &self.workspace, &self.config);
        let history = self.session.borrow().history();
        self.session.replace(session.with_history(history));
    }
}

fn open_session(
    model: &ModelOptions,
    fetch: &Function,
    custom: Option<&Function>,
    workspace: &Shared<Workspace>,
    config: &SessionConfig,
) -> Session {
    let network = || Shared::new(FetchTransport::new(fetch.clone(), FetchTimeouts::default())) as _;
    let model = model.model(network, custom);
    Session::new(SessionOptions {
        provider: model.provider,
        model: model.id,
        offline: model.offline,
        tools: core_tools(),
        workspace: Shared::clone(workspace),
        clock: Shared::new(BrowserClock),
        random: Shared::new(JsRandom),
        config: config.clone(),
    })
}

fn policy(name: &str) -> Result<DependentsPolicy, Failure> {
    match name {
        "refuse" => Ok(DependentsPolicy::Refuse),
        "only" => Ok(DependentsPolicy::OnlyThese),
        "with" => Ok(DependentsPolicy::WithDependents),
        other => Err(Failure::new(
            Code::InvalidArgument,
            format!("`dependents` is {other:?}; it can be refuse, only or with"),
        )),
    }
}

fn canvas_state(workspace: &Workspace) -> CanvasState {
    workspace.canvas().state(BrowserClock.now_ms())
}

fn text_of(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::new(Code::Internal, error.to_string()))
}

fn json(value: &impl Serialize) -> Result<String, JsValue> {
    text_of(value).map_err(Failure::into_js)
}

/// A turn under way. It makes progress only while it is polled.
#[wasm_bindgen]
pub struct RunHandle {
    feed: Feed,
    cancel: CancelToken,
}

#[wasm_bindgen]
impl RunHandle {
    /// The number that `Host.wake` names.
    #[wasm_bindgen(getter)]
    pub fn id(&self) -> u32 {
        self.feed.id()
    }

    /// Returns the next event's JSON text, an empty text at the end, or `undefined` while there is none.
    pub fn poll(&self) -> Option<String> {
        self.feed.poll()
    }

    /// Asks the turn to stop; its events still say how it ended.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

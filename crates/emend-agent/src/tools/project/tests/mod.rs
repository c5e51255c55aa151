//! The project tools, called as a model calls them, over files in memory with pending edits.

mod property;
mod propose;
mod ranking;
mod read;
mod search;

use emend_edit::ContentHash;
use emend_llm::schema::validate;
use emend_llm::{CancelToken, Clock, Shared};
use futures::executor::block_on;
use serde_json::Value;

use super::{ProjectToolLimits, project_tools};
use crate::environment::ExecutionEnvironment;
use crate::environment::memory::MemFs;
use crate::session::tests::TickingClock;
use crate::test_support::tool_context;
use crate::tool::{ToolContext, ToolError, ToolOutput, ToolRegistry, tidy};
use crate::workspace::{Mode, ReadTracker, Workspace};

/// The project tools over some files, in one session.
pub(super) struct Desk {
    pub(super) files: Shared<MemFs>,
    pub(super) workspace: Shared<Workspace>,
    pub(super) reads: Shared<ReadTracker>,
    tools: ToolRegistry,
}

impl Desk {
    pub(super) fn new(fixture: &str) -> Self {
        Self::with(fixture, Mode::Staged, ProjectToolLimits::default())
    }

    pub(super) fn with(fixture: &str, mode: Mode, limits: ProjectToolLimits) -> Self {
        let files = Shared::new(MemFs::from_fixture(fixture));
        let clock: Shared<dyn Clock> = Shared::new(TickingClock::default());
        let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
        let workspace = Shared::new(Workspace::new(environment, mode, clock));
        workspace.begin_run();
        Self { files, workspace, reads: Shared::new(ReadTracker::default()), tools: project_tools(limits) }
    }

    pub(super) fn context(&self) -> ToolContext {
        tool_context(&self.workspace, &self.reads)
    }

    /// Calls a tool in a message of its own.
    pub(super) fn try_call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.reads.begin_message();
        let (definition, tool) = self.tools.get(name).unwrap();
        let Value::Object(mut arguments) = arguments else { panic!("the arguments are not an object") };
        tidy(&definition.parameters, &mut arguments);
        validate(&definition.parameters, &Value::Object(arguments.clone())).unwrap();
        let context = ToolContext { cancel: CancelToken::new(), ..self.context() };
        block_on(tool.call(&arguments, &context))
    }

    #[track_caller]
    pub(super) fn data(&self, name: &str, arguments: Value) -> Value {
        self.try_call(name, arguments).unwrap().data
    }

    /// Returns the code and the message of a call that fails.
    #[track_caller]
    pub(super) fn refusal(&self, name: &str, arguments: Value) -> (&'static str, String) {
        let error = self.try_call(name, arguments).unwrap_err();
        (error.code.as_str(), error.message)
    }

    /// Returns the text that the agent sees.
    pub(super) fn visible(&self, path: &str) -> Option<String> {
        block_on(self.workspace.text(path)).unwrap()
    }

    /// Edits a file as the user does.
    pub(super) fn user_writes(&self, path: &str, text: &str) {
        block_on(self.workspace.user_edit(path, Some(text), None)).unwrap();
    }
}

pub(super) fn hash(text: &str) -> String {
    ContentHash::of(text.as_bytes()).to_string()
}

//! A gate for the responses of a router's first model: an edit that would fail goes to the second model before the
//! conversation has it.

use emend_llm::router::ValidationGate;
use emend_llm::runtime::Mutex;
use emend_llm::{BoxFuture, CancelToken, Request, Response, Shared};

use super::Session;
use super::run_loop::tool_call::prepare;
use crate::HAS_SERVICE;
use crate::approval::ToolEffect;
use crate::tool::{CommandLimits, Preview, Progress, ToolContext, ToolRegistry};
use crate::workspace::{ReadTracker, Workspace};

/// Rejects a response with an edit that cannot be made in the files as they are.
///
/// Only an edit of a file that no earlier call of the response names is checked, because that call may change the file, or
/// read it as the edit requires. For the same reason no edit after a command is checked.
#[derive(Default)]
pub struct EditGate(Mutex<Option<Watched>>);

/// The parts of a session that its edits depend on. The session itself holds the gate.
struct Watched {
    tools: Shared<ToolRegistry>,
    workspace: Shared<Workspace>,
    reads: Shared<ReadTracker>,
}

impl EditGate {
    /// Checks the edits of a session. Before that, every response passes.
    pub fn watch(&self, session: &Session) {
        let core = &session.core;
        *self.0.lock() = HAS_SERVICE.then(|| Watched {
            tools: core.settings().tools,
            workspace: core.visible_workspace(),
            reads: Shared::clone(&core.reads),
        });
    }
}

impl ValidationGate for EditGate {
    fn problem<'a>(&'a self, _: &'a Request, response: &'a Response) -> BoxFuture<'a, Option<String>> {
        let watched = self.0.lock().as_ref().filter(|_| HAS_SERVICE).map(Watched::clone_parts);
        Box::pin(async move {
            match watched {
                Some(watched) => watched.problem(response).await,
                None => None,
            }
        })
    }
}

impl Watched {
    fn clone_parts(&self) -> Self {
        let Self { tools, workspace, reads } = self;
        Self { tools: Shared::clone(tools), workspace: Shared::clone(workspace), reads: Shared::clone(reads) }
    }

    async fn problem(&self, response: &Response) -> Option<String> {
        let mut named: Vec<String> = Vec::new();
        for call in response.message.tool_calls() {
            // The session gives the model the error of a call with wrong arguments.
            let Ok((tool, arguments)) = prepare(&self.tools, &call.name, call.arguments.clone()) else { continue };
            let paths = tool.paths(&arguments);
            match tool.effect() {
                ToolEffect::Runs => return None,
                ToolEffect::Writes if !paths.iter().any(|path| named.contains(path)) => {
                    let context = self.context(&call.id, tool.output_limits());
                    if tool.preview(&arguments, &context).await == Preview::Futile {
                        return Some(format!("the call of {} would fail: {}", call.name, paths.join(", ")));
                    }
                }
                _ => {}
            }
            named.extend(paths);
        }
        None
    }

    fn context(&self, call_id: &str, output_limits: emend_edit::truncate::OutputLimits) -> ToolContext {
        ToolContext {
            workspace: Shared::clone(&self.workspace),
            reads: Shared::clone(&self.reads),
            run_id: 0,
            call_id: call_id.to_owned(),
            lease: None,
            may_write: false,
            cancel: CancelToken::new(),
            limits: CommandLimits::default(),
            output_limits,
            progress: Progress::default(),
            clock: self.workspace.clock(),
            names: Shared::clone(self.tools.tool_names()),
            subagents: None,
        }
    }
}

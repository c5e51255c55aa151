//! The system prompt of a session: which layers it has now, and when each is taken.

use crate::environment::FilePath;
use crate::prompt::{Facts, Layers, ProjectDocument, base_prompt, discover};
use crate::session::Core;
use crate::session::options::Settings;

/// What is taken before a message of the user's is dealt with and stays while it is.
#[derive(Clone, Default)]
pub(in crate::session) struct PromptContext {
    /// Taken once, when the session begins: the prompt's beginning has to stay the same for providers to cache it.
    facts: Option<Facts>,
    documents: Vec<ProjectDocument>,
}

/// Reads the project's documents again, since the user may have edited them between two messages.
pub(in crate::session) async fn refresh_prompt_context(core: &Core) {
    let environment = core.workspace.environment();
    let known = core.prompt_context().facts.clone();
    let facts = match known {
        Some(facts) => facts,
        None => Facts::of(environment, core.clock.now_ms()).await,
    };
    let names = &core.settings().config.project_documents;
    let documents = discover(core.workspace.root_environment(), core.workspace.directory(), names).await;
    *core.prompt_context() = PromptContext { facts: Some(facts), documents };
}

/// Writes the prompt for the next call.
pub(in crate::session) fn system_prompt(core: &Core, settings: &Settings) -> String {
    let prompt_context = core.prompt_context().clone();
    let open_file = core.workspace.canvas().path();
    let base = settings.config.base_prompt.clone();
    Layers {
        base: &base.unwrap_or_else(|| settings.tools.tool_names().expand(base_prompt())),
        facts: &prompt_context.facts.unwrap_or_default(),
        model: &settings.model,
        open_file: open_file.as_ref().map(FilePath::as_str),
        tools: &settings.tools.definitions(),
        documents: &prompt_context.documents,
        instructions: settings.config.instructions.as_deref(),
    }
    .assemble()
}

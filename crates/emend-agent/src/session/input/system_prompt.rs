//! The system prompt of a session: its layers, and the time at which each is collected.

use crate::environment::FilePath;
use crate::environment::layers::Confined;
use crate::prompt::{Facts, Layers, base_prompt, discover};
use crate::session::core::{Core, PromptContext};
use crate::session::options::Settings;

/// Reads the project documents again: the user may have edited them between two messages.
pub(in crate::session) async fn refresh_prompt_context(core: &Core) {
    let environment = core.workspace.environment();
    let known = core.prompt_context().facts.clone();
    let facts = match known {
        Some(facts) => facts,
        None => Facts::of(environment, core.clock.now_ms()).await,
    };
    let names = &core.settings().config.project_documents;
    let root = Confined::new(core.workspace.root_environment(), FilePath::root(), core.hidden());
    let documents = discover(&root, core.workspace.directory(), names).await;
    *core.prompt_context() = PromptContext { facts: Some(facts), documents };
}

/// Returns the system prompt of the next model call.
pub(in crate::session) fn system_prompt(core: &Core, settings: &Settings) -> String {
    let prompt_context = core.prompt_context().clone();
    let open_file = core.workspace.canvas().path().filter(|path| !core.hidden().hides(path.as_str()));
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

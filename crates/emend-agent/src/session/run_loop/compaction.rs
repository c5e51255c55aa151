//! Compacts the history before a model call if necessary, and warns the host as the context window fills up.

use emend_llm::{Shared, get_model_info};
use serde::Serialize;

use crate::event::EventKind;
use crate::history::{ContextUse, DUE_PERCENT, is_valid};
use crate::session::core::Core;

/// The result of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Compaction {
    /// Estimated tokens before.
    pub tokens_before: u64,
    /// Estimated tokens after.
    pub tokens_after: u64,
}

/// Warns the host and compacts the history if it is due. Called before each model call.
pub(in crate::session) async fn compact_if_needed(core: &Core) {
    let usage = core.context_use();
    warn(core, usage);
    if core.settings().config.context.is_due(usage) {
        let made = compact(core).await;
        if made.tokens_after < made.tokens_before {
            let message = format!(
                "The conversation was shortened from about {} to {} tokens to make room.",
                made.tokens_before, made.tokens_after
            );
            core.emitter.emit(EventKind::Warning { code: "context_compacted", message });
        }
    }
}

/// Step between two reports of context usage in percent, from [`DUE_PERCENT`] on.
const STEP_PERCENT: f64 = 5.0;

/// Warns once for each step of five percent from 80 on, and again after the usage fell below it.
fn warn(core: &Core, usage: ContextUse) {
    let step = step_of(usage);
    let last = std::mem::replace(&mut core.status().context_step, step);
    if step > last {
        // A whole number, because formatting fractions adds 8 KiB in a browser.
        let percent = (usage.percent() + 0.5) as u64;
        let message = format!("Context usage at ~{percent}% of context window");
        core.emitter.emit(EventKind::Warning { code: "context_usage", message });
    }
}

/// Returns the number of steps that the usage has reached; 0 up to [`DUE_PERCENT`].
fn step_of(usage: ContextUse) -> u64 {
    let percent = usage.percent();
    if percent > DUE_PERCENT { (percent / STEP_PERCENT) as u64 } else { 0 }
}

/// Compacts the history by the session's strategy.
pub(in crate::session) async fn compact(core: &Core) -> Compaction {
    let usage = core.context_use();
    let entries = core.history().entries().to_vec();
    let strategy = Shared::clone(&core.settings().config.context);
    let shorter = strategy.compact(entries, usage).await;
    if is_valid(&shorter) {
        core.history().replace(shorter);
        core.save().await;
    } else {
        let message = "The context strategy separated a tool call from its result; the conversation stays as it was.";
        core.emitter.emit(EventKind::Warning { code: "context_strategy", message: message.to_owned() });
    }
    let after = core.context_use();
    // Otherwise a message that fills the context again at once would cause no warning.
    core.status().context_step = step_of(after);
    Compaction { tokens_before: usage.tokens, tokens_after: after.tokens }
}

impl Core {
    /// Returns the usage of the model's context window.
    pub(in crate::session) fn context_use(&self) -> ContextUse {
        let settings = self.settings();
        let known = || get_model_info(&settings.model).map(|info| info.context_window);
        ContextUse { tokens: self.history().tokens(), window: settings.config.context_window.or_else(known) }
    }
}

//! Makes room in the model's context before a call, and warns the host as the context fills up.

use emend_llm::{Shared, get_model_info};
use serde::Serialize;

use crate::event::EventKind;
use crate::history::{ContextUse, DUE_PERCENT, is_valid};
use crate::session::core::Core;

/// What making room gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Compaction {
    /// About how many tokens the conversation took.
    pub tokens_before: u64,
    /// And takes now.
    pub tokens_after: u64,
}

/// Warns the host where the context fills up, and makes room if that is due. Goes before each call to the model.
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

/// The context is reported in steps of so many percent, from [`DUE_PERCENT`] on.
const STEP_PERCENT: f64 = 5.0;

/// Warns once for each step of five percent from 80 on, and again after it had become emptier.
fn warn(core: &Core, usage: ContextUse) {
    let percent = usage.percent();
    let step = if percent > DUE_PERCENT { (percent / STEP_PERCENT) as u64 } else { 0 };
    let last = std::mem::replace(&mut core.status().context_step, step);
    if step > last {
        // A whole number: formatting fractions weighs 8 KiB in a browser.
        let percent = (percent + 0.5) as u64;
        let message = format!("Context usage at ~{percent}% of context window");
        core.emitter.emit(EventKind::Warning { code: "context_usage", message });
    }
}

/// Lets the session's strategy shorten the conversation.
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
    Compaction { tokens_before: usage.tokens, tokens_after: core.context_use().tokens }
}

impl Core {
    /// Returns how full the context is.
    pub(in crate::session) fn context_use(&self) -> ContextUse {
        let settings = self.settings();
        let known = || get_model_info(&settings.model).map(|info| info.context_window);
        ContextUse { tokens: self.history().tokens(), window: settings.config.context_window.or_else(known) }
    }
}

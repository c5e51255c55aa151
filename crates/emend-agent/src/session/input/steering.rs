//! Steering: messages of the user that enter the conversation during a run.

use crate::event::EventKind;
use crate::history::HistoryEntryKind;
use crate::session::core::{Core, UserMessage};
use crate::session::input::mentions;

/// Appends the waiting messages of the user to the history. Returns whether there were any.
pub(in crate::session) async fn inject_steering(core: &Core) -> bool {
    let mut waiting = std::mem::take(&mut core.queues().steering);
    let any = !waiting.is_empty();
    for UserMessage { text, images } in &mut waiting {
        let message = mentions::with_mentions(core, text, std::mem::take(images)).await;
        core.record(HistoryEntryKind::Steering, message);
    }
    // A host forgets a message once it is told, so the saved conversation has it first. The next save reports an error. In a
    // browser no host keeps messages.
    #[cfg(not(target_family = "wasm"))]
    if any {
        core.save().await;
    }
    for message in waiting {
        core.emitter.emit(EventKind::SteeringInjected { content: message.text });
    }
    any
}

//! The response to one request, which depends on the conversation in it alone.

use emend_llm::HttpRequest;

use crate::current_run::CurrentRun;
use crate::labels::LABEL;
use crate::request::Conversation;
use crate::response::{self, WireResponse};
use crate::step::Step;
use crate::tasks;

/// Returns the response to `request`. A request other than `POST …/v1/messages`, or a malformed one, gets the error
/// response of the Messages API.
#[must_use]
pub fn respond(request: &HttpRequest) -> WireResponse {
    let path = request.url.split(['?', '#']).next().unwrap_or_default();
    if request.method != "POST" || !path.ends_with("/v1/messages") {
        return response::error(404, "not_found_error", "the offline model answers POST /v1/messages only");
    }
    match Conversation::parse(&request.body) {
        Ok(conversation) => response::encode(&conversation, &next_step(&conversation)),
        Err(reason) => response::error(400, "invalid_request_error", &reason),
    }
}

/// Returns the next step of the model.
fn next_step(conversation: &Conversation) -> Step {
    let run = CurrentRun::of(conversation);
    let mut step = match &run.instruction {
        Ok(instruction) => tasks::next_step(&run, instruction),
        Err(misunderstood) => run.explain(misunderstood),
    };
    if run.rounds == 0 {
        step.text = format!("{LABEL} {}", step.text);
    }
    step
}

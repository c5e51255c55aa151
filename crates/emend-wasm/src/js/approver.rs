//! An approver written in JavaScript: a function that asks the user whether a call may run.

use emend_agent::approval::{Approval, ApprovalRequest, Approver};
use emend_llm::BoxFuture;
use js_sys::Function;
use serde_json::Value;
use wasm_bindgen::JsValue;

use crate::host::promise;

/// An approver behind a function. It gets a request as JSON text and returns a promise of the answer as JSON text.
pub(crate) struct JsApprover {
    ask: Function,
}

impl JsApprover {
    pub(crate) fn new(ask: Function) -> Self {
        Self { ask }
    }
}

impl Approver for JsApprover {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let json = serde_json::to_string(request).unwrap_or_default();
            let answer = match self.ask.call1(&JsValue::UNDEFINED, &JsValue::from_str(&json)) {
                Ok(answer) => promise(&answer).await,
                Err(thrown) => Err(thrown),
            };
            let answer: Value =
                answer.ok().and_then(|answer| serde_json::from_str(&answer.as_string()?).ok()).unwrap_or_default();
            match answer["decision"].as_str() {
                Some("allow") => Approval::Allow,
                Some("always") => Approval::AllowAlways,
                Some("deny") => Approval::Deny { reason: answer["reason"].as_str().map(str::to_owned) },
                // The JavaScript layer returns an answer even if its caller's function throws.
                _ => Approval::Deny { reason: Some("the approval answer could not be read".to_owned()) },
            }
        })
    }
}

//! The handle behind JavaScript's `Service`: the review service over the files and the options of an agent.
//!
//! JavaScript hands over requests and gets the texts of the replies, which are those of the HTTP server. Jobs advance while
//! JavaScript polls [`ServiceHandle::drive`].

mod host;
mod options;
mod readings;
mod routing;

use std::rc::Rc;

use emend_agent::error_code::Code;
use emend_agent::service::api::{
    ApiError, ApiRequest, ApiResponse, Method, check_query, methods_of, parse_query, route, without_method,
};
use emend_agent::service::store::{EventScope, KeptServiceStore};
use emend_agent::service::{MemServiceStore, OperationInfo, Service, ServiceParts, ServiceStore};
use emend_agent::store::MemStore;
use emend_llm::{CancelToken, Shared};
use js_sys::Function;
use serde::Serialize;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use self::host::{JsHost, JsHostParts, Queue};
use self::options::ServiceOptions;
use self::readings::{readings, scope_of_request, scope_of_text};
use crate::agent::json_fields::Fields;
use crate::agent::{AgentHandle, RunHandle, text_of};
use crate::failure::{Failure, without_place};
use crate::host::task::Task;
use crate::host::{BrowserClock, JsRandom};

/// One service. It shares files and options with the agent that it is made from.
#[wasm_bindgen]
pub struct ServiceHandle {
    service: Service,
    queue: Rc<Queue>,
}

#[wasm_bindgen]
extern "C" {
    /// The functions that JavaScript lends a service. None may call back into the core before it returns.
    pub type ServiceCallbacks;

    /// Returns the function that opens responses of a model, as `openAnswer` of an agent does. Called once per model.
    #[wasm_bindgen(method)]
    fn opener(this: &ServiceCallbacks, model: &str) -> Option<Function>;
}

/// A reply as JavaScript gets it.
#[derive(Serialize)]
struct Reply {
    status: u16,
    /// JSON text of the body; empty if the reply is a stream.
    body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<Stream>,
    /// The methods of the path, if it has no such method.
    #[serde(skip_serializing_if = "Option::is_none")]
    allow: Option<String>,
}

/// The events of a stream.
#[derive(Serialize)]
struct Stream {
    /// Scope, as [`ServiceHandle::events`] takes it.
    scope: String,
    /// Number of the last event that the client has.
    after: f64,
}

impl Reply {
    fn of(response: &ApiResponse) -> Self {
        Self { status: response.status, body: response.body.to_string(), stream: None, allow: None }
    }
}

/// A request as JavaScript gives it.
struct Given {
    method: String,
    path: String,
    query: Vec<(String, String)>,
    body: Value,
    /// Number of the last event of a client that reconnects.
    last_event_id: Option<String>,
}

#[wasm_bindgen]
impl ServiceHandle {
    /// Creates a service over the files and the options of an agent. `options` is JSON text.
    #[wasm_bindgen(constructor)]
    pub fn new(agent: &AgentHandle, options: &str, callbacks: &ServiceCallbacks) -> Result<ServiceHandle, JsValue> {
        let ServiceOptions { limits, models, default_model, routing } =
            ServiceOptions::parse(options).map_err(Failure::into_js)?;
        let parts = agent.parts();
        let (workspace, store) = (Shared::clone(&parts.workspace), parts.store.clone());
        let queue: Rc<Queue> = Rc::default();
        let models = models.into_iter().map(|(name, model)| {
            let opener = callbacks.opener(&name);
            (name, (model, opener))
        });
        let models = models.collect();
        let host = JsHost::new(JsHostParts { agent: parts, models, default_model, routing, queue: Rc::clone(&queue) });
        let kept: Shared<dyn ServiceStore> = match &store {
            Some(store) => Shared::new(KeptServiceStore::new(Shared::clone(store), Shared::clone(&workspace))),
            None => Shared::new(MemServiceStore::new()),
        };
        let service = Service::new(ServiceParts {
            workspace,
            host: Shared::new(host),
            store: kept,
            conversations: store.unwrap_or_else(|| Shared::new(MemStore::new())),
            clock: Shared::new(BrowserClock),
            random: Shared::new(JsRandom),
            limits,
        });
        Ok(Self { service, queue })
    }

    /// Carries out a request, which is JSON text: `method`, `path` (decoded), `query` (encoded), `body` and
    /// `lastEventId`. Resolves with a reply; a failed request has a reply, too.
    pub fn handle(&self, request: &str) -> Task {
        let (service, request) = (self.service.clone(), read_request(request));
        Task::new(async move { text_of(&reply(&service, request?).await) })
    }

    /// Returns the events of a scope after a number, present and future. Each is JSON text: `id` and `data`, which is
    /// JSON text. `scope` is the text of a reply's stream, or JSON text with `session` or `job` or neither.
    pub fn events(&self, scope: &str, after: f64) -> Result<RunHandle, JsValue> {
        let scope = scope_of_text(scope).map_err(Failure::into_js)?;
        let texts = readings(self.service.clone(), scope, after as u64);
        Ok(RunHandle::of_texts(texts, CancelToken::new()))
    }

    /// Resolves with the first message of a stream: the open questions and approval requests, and the state.
    pub fn attached(&self, scope: &str) -> Task {
        let (service, scope) = (self.service.clone(), scope_of_text(scope));
        Task::new(async move { Ok(service.attached(&scope?).await.map_err(failure)?.to_string()) })
    }

    /// Ends the jobs that a former process left running.
    pub fn recover(&self) -> Task {
        let service = self.service.clone();
        Task::new(async move {
            service.recover().await.map_err(failure)?;
            text_of(&())
        })
    }

    /// Cancels all jobs, waits for their ends, and ends all readers of events.
    pub fn close(&self) -> Task {
        let service = self.service.clone();
        Task::new(async move {
            service.close().await;
            text_of(&())
        })
    }

    /// Returns the driver of the jobs. They advance only while it is polled. It has no items and no end.
    pub fn drive(&self) -> RunHandle {
        RunHandle::of_texts(host::drive(Rc::clone(&self.queue)), CancelToken::new())
    }
}

/// Answers a request. A stream is answered with its scope.
async fn reply(service: &Service, given: Given) -> Reply {
    let Given { method: name, path, query, body, last_event_id } = given;
    let Some(method) = Method::from_name(&name) else { return refusal(&without_method(&name, &path), &path) };
    match route(method, &path) {
        Ok((info, ids)) if info.is_stream => match check_query(info, &query, &["token"]) {
            Ok(()) => stream(service, info, &ids, &query, last_event_id).await,
            Err(error) => refusal(&error, &path),
        },
        Ok(_) => Reply::of(&service.handle(ApiRequest { method, path, query, body }).await),
        Err(error) => refusal(&error, &path),
    }
}

/// Returns the reply to a request that has no operation, or whose parameters are wrong.
fn refusal(error: &ApiError, path: &str) -> Reply {
    let allow = (error.code == Code::MethodNotAllowed).then(|| methods_of(path).join(", "));
    Reply { allow, ..Reply::of(&error.response()) }
}

/// Answers a request for a stream as the HTTP server does.
async fn stream(
    service: &Service,
    info: &OperationInfo,
    ids: &[String],
    query: &[(String, String)],
    last_event_id: Option<String>,
) -> Reply {
    let scope = scope_of_request(info, ids);
    let is_reconnect = last_event_id.is_some();
    let given = last_event_id.as_deref();
    let given = given.or_else(|| query.iter().find(|(name, _)| name == "after").map(|(_, value)| value.as_str()));
    // A malformed number is answered like one that is no longer kept.
    let after = given.map_or(0, |given| given.trim().parse().unwrap_or(u64::MAX));
    // Opened only to see whether the scope exists: JavaScript opens the events itself.
    if let Err(error) = service.events(scope.clone(), 0).await {
        return Reply::of(&error.response());
    }
    if is_reconnect && is_over(service, &scope, after).await {
        return Reply { status: 204, body: String::new(), stream: None, allow: None };
    }
    let stream = Stream { scope: readings::text_of_scope(&scope), after: after as f64 };
    Reply { status: info.reply.0, body: String::new(), stream: Some(stream), allow: None }
}

/// Returns whether the client has the last event of an ended job.
async fn is_over(service: &Service, scope: &EventScope, after: u64) -> bool {
    let EventScope::Job(id) = scope else { return false };
    let job = service.store().job(id).await.ok().flatten();
    job.is_some_and(|job| job.status.is_terminal() && job.cursor == after)
}

fn read_request(json: &str) -> Result<Given, Failure> {
    let invalid = |problem: String| Failure::new(Code::InvalidArgument, format!("the request is wrong: {problem}"));
    let given: Value = serde_json::from_str(json).map_err(|error| invalid(without_place(&error)))?;
    let read = |given: &Value| {
        let fields = Fields::of("request", given)?;
        Ok(Given {
            method: fields.needed_text("method")?,
            path: fields.needed_text("path")?,
            query: parse_query(&fields.text("query")?.unwrap_or_default()),
            body: fields.get("body").cloned().unwrap_or_default(),
            last_event_id: fields.text("lastEventId")?,
        })
    };
    read(&given).map_err(invalid)
}

/// Returns the failure for an error of the service.
fn failure(error: ApiError) -> Failure {
    Failure::new(error.code, error.message)
}

#[cfg(test)]
mod tests;

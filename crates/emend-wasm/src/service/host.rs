//! The host of a service in JavaScript: opens agents with the options of the service, and keeps tasks until they are polled.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Poll, Waker};

use emend_agent::error_code::Code;
use emend_agent::service::ApiResult;
use emend_agent::service::{AgentMode, AgentPlan, ApiError, Budget, ServiceHost, WorkMode};
use emend_agent::session::{RunBudget, SessionBuilder};
use emend_llm::router::Router;
use emend_llm::{BoxFuture, Shared};
use futures::stream::{FuturesUnordered, poll_fn};
use futures::{Stream, StreamExt as _};
use js_sys::Function;

use super::routing::Routing;
use crate::agent::options::{Model, ModelOptions};
use crate::agent::{Parts, model_of};

/// A model, and the function that opens its responses if it has one.
pub(super) type OpenModel = (ModelOptions, Option<Function>);

/// The parts of a host.
pub(super) struct JsHostParts {
    pub(super) agent: Parts,
    pub(super) models: BTreeMap<String, OpenModel>,
    pub(super) default_model: String,
    pub(super) routing: Option<Routing>,
    pub(super) queue: Rc<Queue>,
}

/// Opens agents whose options are those of one agent handle.
pub(super) struct JsHost {
    parts: JsHostParts,
    /// Routers of the sessions that have a second model.
    routers: RefCell<BTreeMap<String, Shared<Router>>>,
}

impl JsHost {
    pub(super) fn new(parts: JsHostParts) -> Self {
        Self { parts, routers: RefCell::default() }
    }

    fn model(&self, name: &str) -> ApiResult<Model> {
        let JsHostParts { agent, models, .. } = &self.parts;
        match models.get(name) {
            Some((model, open)) => Ok(model_of((model, open.as_ref()), &agent.fetch)),
            None => {
                let known: Vec<String> = models.keys().map(|known| format!("{known:?}")).collect();
                Err(refused(format!("there is no model {name:?}; the service has {}", known.join(", "))))
            }
        }
    }
}

fn refused(message: String) -> ApiError {
    ApiError::new(Code::Configuration, message)
}

impl ServiceHost for JsHost {
    fn session(&self, plan: AgentPlan<'_>) -> ApiResult<SessionBuilder> {
        let JsHostParts { agent, routing, .. } = &self.parts;
        let name = &plan.session.model;
        let mut model = self.model(name)?;
        if agent.has_host_shell && plan.session.mode == WorkMode::Review {
            let message =
                "the environment's `exec` needs the mode `ask` or `direct`: its commands cannot see pending edits";
            return Err(refused(message.to_owned()));
        }
        if let Some(routing) = routing.as_ref().filter(|routing| routing.fallback != *name) {
            let second = self.model(&routing.fallback)?;
            let (router, routed) = routing.between(model, second, plan.session.agent_mode, plan.routes, plan.gate);
            self.routers.borrow_mut().insert(plan.session.session_id.clone(), router);
            model = routed;
        } else if plan.session.agent_mode.is_some_and(|mode| mode != AgentMode::Local) {
            return Err(refused("the service has no second model; give it the option `routing`".to_owned()));
        }
        let builder = agent.setup.borrow().builder(model, &agent.fetch, plan.workspace);
        builder.map_err(|failure| refused(failure.message().to_owned()))
    }

    fn escalate(&self, session_id: &str, detail: &str) -> bool {
        self.routers.borrow().get(session_id).is_some_and(|router| router.escalate(detail))
    }

    fn default_model(&self) -> String {
        self.parts.default_model.clone()
    }

    fn job_budget(&self) -> Budget {
        let RunBudget { tokens, cost_usd, duration_ms } = self.parts.agent.setup.borrow().run_budget();
        Budget { tokens, cost_usd, duration_ms }
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.parts.queue.push(task);
    }
}

/// Tasks that have not begun.
#[derive(Default)]
pub(super) struct Queue {
    tasks: RefCell<Vec<BoxFuture<'static, ()>>>,
    driver: RefCell<Option<Waker>>,
}

impl Queue {
    fn push(&self, task: BoxFuture<'static, ()>) {
        self.tasks.borrow_mut().push(task);
        if let Some(driver) = self.driver.borrow().as_ref() {
            driver.wake_by_ref();
        }
    }

    fn is_empty(&self) -> bool {
        self.tasks.borrow().is_empty()
    }
}

/// Returns a stream that polls the tasks of a queue. It has no items and no end.
pub(super) fn drive(queue: Rc<Queue>) -> impl Stream<Item = String> {
    let mut running = FuturesUnordered::new();
    poll_fn(move |context| {
        *queue.driver.borrow_mut() = Some(context.waker().clone());
        loop {
            running.extend(std::mem::take(&mut *queue.tasks.borrow_mut()));
            let ended = running.poll_next_unpin(context);
            // A task may have started others.
            if !matches!(ended, Poll::Ready(Some(()))) && queue.is_empty() {
                return Poll::Pending;
            }
        }
    })
}

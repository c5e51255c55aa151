//! Runs plain functions over a host's asynchronous answers.
//!
//! A function reads answers from an [`AnswerCache`]. If answers are missing, the host is asked for all of them at once,
//! and the function is called again when they have arrived. So paths, walks and searches need no asynchronous code, which
//! would add to the size of the module.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use emend_agent::environment::{EnvError, FilePath};
use emend_llm::BoxFuture;
use wasm_bindgen::prelude::*;

use super::host_environment::{HostEnvironment, environment_error};
use crate::host::Settled;
use crate::js::call::OpenCall;

/// The answers that a host has given during one function's calls.
pub(super) struct AnswerCache<'a> {
    pub(super) host: &'a HostEnvironment,
    /// Names of the root.
    pub(super) roots: &'a [String],
    /// Whether entries count as absent without asking the host, for resolving a path by its text alone.
    pub(super) by_text: bool,
    answers: Vec<(Request, Result<JsValue, JsValue>)>,
    /// Requests without an answer in the last call.
    missing: RefCell<Vec<Request>>,
}

/// One operation of the host.
#[derive(PartialEq)]
struct Request {
    operation: &'static str,
    path: String,
    argument: JsValue,
}

impl<'a> AnswerCache<'a> {
    pub(super) fn new(host: &'a HostEnvironment, roots: &'a [String], by_text: bool) -> Self {
        Self { host, roots, by_text, answers: Vec::new(), missing: RefCell::default() }
    }

    /// Returns the result of an operation.
    ///
    /// # Errors
    ///
    /// The host's error; or, if there is no answer yet, a placeholder: the function's return value is then discarded.
    pub(super) fn ask(
        &self,
        operation: &'static str,
        path: &FilePath,
        argument: &JsValue,
    ) -> Result<JsValue, EnvError> {
        let request = Request { operation, path: path.as_str().to_owned(), argument: argument.clone() };
        match self.answers.iter().find(|(answered, _)| *answered == request) {
            Some((_, Ok(answer))) => Ok(answer.clone()),
            Some((_, Err(thrown))) => Err(environment_error(request.path, thrown)),
            None => {
                self.missing.borrow_mut().push(request);
                Err(EnvError::Unsupported { what: "" })
            }
        }
    }

    /// As [`ask`](Self::ask), without the result.
    pub(super) fn tell(&self, operation: &'static str, path: &FilePath, argument: &JsValue) -> Result<(), EnvError> {
        self.ask(operation, path, argument).map(drop)
    }
}

/// Calls `work` until it finds every answer it needs, and resolves with its last return value.
pub(super) fn replay<'a, T: 'a>(
    host: &'a HostEnvironment,
    roots: &'a [String],
    work: Work<'a, T>,
) -> BoxFuture<'a, Result<T, EnvError>> {
    let cache = AnswerCache::new(host, roots, false);
    Box::pin(ReplayFuture { calls: PendingCalls { cache, waiting: Vec::new() }, work })
}

/// A function over cached answers. It is called several times.
pub(super) type Work<'a, T> = Box<dyn FnMut(&AnswerCache<'_>) -> Result<T, EnvError> + 'a>;

/// The future of [`replay`].
struct ReplayFuture<'a, T> {
    calls: PendingCalls<'a>,
    work: Work<'a, T>,
}

impl<T> Future for ReplayFuture<'_, T> {
    type Output = Result<T, EnvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { calls, work } = self.get_mut();
        loop {
            if !calls.is_answered(context) {
                return Poll::Pending;
            }
            let answer = work(&calls.cache);
            if !calls.start_missing() {
                return Poll::Ready(answer);
            }
        }
    }
}

/// The cached answers and the calls in progress. Dropping it cancels the calls.
struct PendingCalls<'a> {
    cache: AnswerCache<'a>,
    waiting: Vec<(Request, OpenCall, Settled)>,
}

impl PendingCalls<'_> {
    /// Moves settled calls into the cache. Returns whether all calls are settled.
    fn is_answered(&mut self, context: &mut Context<'_>) -> bool {
        while let Some((_, _, settled)) = self.waiting.last_mut() {
            let Poll::Ready(answer) = Pin::new(settled).poll(context) else { return false };
            if let Some((request, ..)) = self.waiting.pop() {
                self.cache.answers.push((request, answer));
            }
        }
        true
    }

    /// Starts calls for all missing answers at once. Returns whether there are any.
    fn start_missing(&mut self) -> bool {
        for request in self.cache.missing.take() {
            let Request { operation, path, argument } = &request;
            let call = OpenCall(self.cache.host.call(operation, path, argument));
            let settled = call.result();
            self.waiting.push((request, call, settled));
        }
        !self.waiting.is_empty()
    }
}

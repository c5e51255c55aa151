//! Answers questions about a host's files by plain functions of an [`AnswerCache`]: where they need what is not
//! known yet, the host is asked, and they are called again. So nothing but this waits.

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

/// What is known of a host's files while a question is answered.
pub(super) struct AnswerCache<'a> {
    pub(super) host: &'a HostEnvironment,
    /// The root's names.
    pub(super) roots: &'a [String],
    /// Whether what is not known counts as missing, so that nobody has to be asked.
    pub(super) by_text: bool,
    answers: Vec<(Request, Result<JsValue, JsValue>)>,
    /// What was asked for and is not cache.
    missing: RefCell<Vec<Request>>,
}

/// An operation of the host's.
#[derive(PartialEq)]
struct Request {
    operation: &'static str,
    path: String,
    given: JsValue,
}

impl<'a> AnswerCache<'a> {
    pub(super) fn new(host: &'a HostEnvironment, roots: &'a [String], by_text: bool) -> Self {
        Self { host, roots, by_text, answers: Vec::new(), missing: RefCell::default() }
    }

    /// Returns what an operation has given. If that is not known yet, whatever is made of the error is void.
    pub(super) fn ask(&self, operation: &'static str, path: &FilePath, given: &JsValue) -> Result<JsValue, EnvError> {
        let request = Request { operation, path: path.as_str().to_owned(), given: given.clone() };
        match self.answers.iter().find(|(known, _)| *known == request) {
            Some((_, Ok(given))) => Ok(given.clone()),
            Some((_, Err(thrown))) => Err(environment_error(request.path, thrown)),
            None => {
                self.missing.borrow_mut().push(request);
                Err(EnvError::Unsupported { what: "" })
            }
        }
    }

    pub(super) fn tell(&self, operation: &'static str, path: &FilePath, given: &JsValue) -> Result<(), EnvError> {
        self.ask(operation, path, given).map(drop)
    }
}

/// Answers a question by `work`, which is called until it needs nothing that is missing.
pub(super) fn replay<'a, T: 'a>(
    host: &'a HostEnvironment,
    roots: &'a [String],
    work: Work<'a, T>,
) -> BoxFuture<'a, Result<T, EnvError>> {
    let cache = AnswerCache::new(host, roots, false);
    Box::pin(ReplayFuture { calls: PendingCalls { cache, waiting: Vec::new() }, work })
}

pub(super) type Work<'a, T> = Box<dyn FnMut(&AnswerCache<'_>) -> Result<T, EnvError> + 'a>;

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

/// What is known, and the calls under way. Dropping them ends them.
struct PendingCalls<'a> {
    cache: AnswerCache<'a>,
    waiting: Vec<(Request, OpenCall, Settled)>,
}

impl PendingCalls<'_> {
    /// Takes in what was given, and returns whether that is all.
    fn is_answered(&mut self, context: &mut Context<'_>) -> bool {
        while let Some((_, _, settled)) = self.waiting.last_mut() {
            let Poll::Ready(given) = Pin::new(settled).poll(context) else { return false };
            if let Some((request, ..)) = self.waiting.pop() {
                self.cache.answers.push((request, given));
            }
        }
        true
    }

    /// Asks for what is unknown, all at the same time, and returns whether anything is.
    fn start_missing(&mut self) -> bool {
        for request in self.cache.missing.take() {
            let Request { operation, path, given } = &request;
            let call = OpenCall(self.cache.host.call(operation, path, given));
            let settled = call.given();
            self.waiting.push((request, call, settled));
        }
        !self.waiting.is_empty()
    }
}

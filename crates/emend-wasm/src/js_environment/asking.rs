//! Answers questions about a host's files by plain functions of what is [`Known`] of them: where they need what is not
//! known yet, the host is asked, and they are called again. So nothing but this waits.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use emend_agent::environment::{EnvError, FilePath};
use emend_llm::BoxFuture;
use wasm_bindgen::prelude::*;

use super::{JsEnvironment, refused};
use crate::host::Settled;
use crate::js_tool::Open;

/// What is known of a host's files while a question is answered.
pub(super) struct Known<'a> {
    pub(super) environment: &'a JsEnvironment,
    /// Whether what is not known counts as missing, so that nobody has to be asked.
    pub(super) by_text: bool,
    answers: Vec<(Request, Result<JsValue, JsValue>)>,
    /// What was asked for and is not known.
    unknown: RefCell<Vec<Request>>,
}

/// An operation of the host's.
#[derive(PartialEq)]
struct Request {
    operation: &'static str,
    path: String,
    given: JsValue,
}

impl<'a> Known<'a> {
    pub(super) fn new(environment: &'a JsEnvironment, by_text: bool) -> Self {
        Self { environment, by_text, answers: Vec::new(), unknown: RefCell::default() }
    }

    /// Returns what an operation has given. If that is not known yet, whatever is made of the error is void.
    pub(super) fn ask(&self, operation: &'static str, path: &FilePath, given: &JsValue) -> Result<JsValue, EnvError> {
        let request = Request { operation, path: path.as_str().to_owned(), given: given.clone() };
        match self.answers.iter().find(|(known, _)| *known == request) {
            Some((_, Ok(given))) => Ok(given.clone()),
            Some((_, Err(thrown))) => Err(refused(request.path, thrown)),
            None => {
                self.unknown.borrow_mut().push(request);
                Err(EnvError::Unsupported { what: "" })
            }
        }
    }

    pub(super) fn tell(&self, operation: &'static str, path: &FilePath, given: &JsValue) -> Result<(), EnvError> {
        self.ask(operation, path, given).map(drop)
    }
}

/// Answers a question by `work`, which is called until it needs nothing that is unknown.
pub(super) fn asking<'a, T: 'a>(
    environment: &'a JsEnvironment,
    work: Work<'a, T>,
) -> BoxFuture<'a, Result<T, EnvError>> {
    Box::pin(Asking { asked: Asked { known: Known::new(environment, false), waiting: Vec::new() }, work })
}

type Work<'a, T> = Box<dyn FnMut(&Known<'_>) -> Result<T, EnvError> + 'a>;

struct Asking<'a, T> {
    asked: Asked<'a>,
    work: Work<'a, T>,
}

impl<T> Future for Asking<'_, T> {
    type Output = Result<T, EnvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { asked, work } = self.get_mut();
        loop {
            if !asked.is_answered(context) {
                return Poll::Pending;
            }
            let answer = work(&asked.known);
            if !asked.ask_on() {
                return Poll::Ready(answer);
            }
        }
    }
}

/// What is known, and the calls under way. Dropping them ends them.
struct Asked<'a> {
    known: Known<'a>,
    waiting: Vec<(Request, Open, Settled)>,
}

impl Asked<'_> {
    /// Takes in what was given, and returns whether that is all.
    fn is_answered(&mut self, context: &mut Context<'_>) -> bool {
        while let Some((_, _, settled)) = self.waiting.last_mut() {
            let Poll::Ready(given) = Pin::new(settled).poll(context) else { return false };
            if let Some((request, ..)) = self.waiting.pop() {
                self.known.answers.push((request, given));
            }
        }
        true
    }

    /// Asks for what is unknown, all at the same time, and returns whether anything is.
    fn ask_on(&mut self) -> bool {
        for request in self.known.unknown.take() {
            let Request { operation, path, given } = &request;
            let call = Open(self.known.environment.host.call(operation, path, given));
            let settled = call.given();
            self.waiting.push((request, call, settled));
        }
        !self.waiting.is_empty()
    }
}

//! Middleware: code that wraps every call of a client.

use futures::StreamExt;

use crate::error::LlmError;
use crate::model::{Request, StreamEvent};
use crate::provider::{EventStream, Provider};
use crate::runtime::{BoxFuture, CancelToken, MaybeSend, MaybeSync, Shared};

/// Wraps calls. It sees the request before, and the events after, all middleware that was added later.
pub trait Middleware: MaybeSend + MaybeSync {
    /// Handles a call. `next` runs the rest of the chain; the returned stream may be its stream, wrapped or replaced.
    ///
    /// # Errors
    ///
    /// The error of `next`, or an error that ends the call before a request is sent.
    fn call(
        &self,
        request: Request,
        cancel: CancelToken,
        next: Next,
    ) -> BoxFuture<'static, Result<EventStream, LlmError>>;
}

/// The rest of the chain: later middleware and the provider.
pub struct Next {
    provider: Shared<dyn Provider>,
    middleware: Shared<Vec<Shared<dyn Middleware>>>,
    index: usize,
}

impl Next {
    /// Returns the chain through all of `middleware` to `provider`.
    pub(super) fn new(provider: Shared<dyn Provider>, middleware: Shared<Vec<Shared<dyn Middleware>>>) -> Self {
        Self { provider, middleware, index: 0 }
    }

    /// Runs the rest of the chain.
    ///
    /// # Errors
    ///
    /// As [`Provider::stream`].
    pub fn run(mut self, request: Request, cancel: CancelToken) -> BoxFuture<'static, Result<EventStream, LlmError>> {
        let middleware = self.middleware.get(self.index).map(Shared::clone);
        self.index += 1;
        match middleware {
            Some(middleware) => middleware.call(request, cancel, self),
            None => Box::pin(async move { self.provider.stream(request, cancel).await }),
        }
    }
}

/// Middleware that passes each event to a function, for logs and budgets.
pub struct Observe<F>(pub F);

impl<F> Middleware for Observe<F>
where
    F: Fn(&StreamEvent) + Clone + MaybeSend + MaybeSync + 'static,
{
    fn call(
        &self,
        request: Request,
        cancel: CancelToken,
        next: Next,
    ) -> BoxFuture<'static, Result<EventStream, LlmError>> {
        let observe = self.0.clone();
        Box::pin(async move {
            let stream = next.run(request, cancel).await?;
            Ok(Box::pin(stream.inspect(move |event| {
                if let Ok(event) = event {
                    observe(event);
                }
            })) as EventStream)
        })
    }
}

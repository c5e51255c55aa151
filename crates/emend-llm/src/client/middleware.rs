//! Middleware: code around every call of a client.

use futures::StreamExt;

use crate::error::LlmError;
use crate::model::{Request, StreamEvent};
use crate::provider::{EventStream, Provider};
use crate::runtime::{BoxFuture, CancelToken, MaybeSend, MaybeSync, Shared};

/// Wraps calls: sees the request before and the events after everything that was registered later.
pub trait Middleware: MaybeSend + MaybeSync {
    /// Handles a call. `next` passes it on; the returned stream may be the next one's, wrapped or replaced.
    fn call(
        &self,
        request: Request,
        cancel: CancelToken,
        next: Next,
    ) -> BoxFuture<'static, Result<EventStream, LlmError>>;
}

/// The rest of the way to the provider.
pub struct Next {
    provider: Shared<dyn Provider>,
    middleware: Shared<Vec<Shared<dyn Middleware>>>,
    index: usize,
}

impl Next {
    /// Returns the way through all of `middleware` to `provider`.
    pub(super) fn new(provider: Shared<dyn Provider>, middleware: Shared<Vec<Shared<dyn Middleware>>>) -> Self {
        Self { provider, middleware, index: 0 }
    }

    /// Passes the request on.
    pub fn run(mut self, request: Request, cancel: CancelToken) -> BoxFuture<'static, Result<EventStream, LlmError>> {
        let middleware = self.middleware.get(self.index).map(Shared::clone);
        self.index += 1;
        match middleware {
            Some(middleware) => middleware.call(request, cancel, self),
            None => Box::pin(async move { self.provider.stream(request, cancel).await }),
        }
    }
}

/// Middleware that shows each event to a function, for logs and budgets.
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

//! The handle behind JavaScript's `Client`.

use emend_llm::generate::Generator;
use emend_llm::{
    CancelToken, EventStream, LlmError, Request, RetryPolicy, Shared, StreamEvent, Transport, retry_stream,
};
use futures::{Stream, StreamExt as _, stream};
use js_sys::{Array, Function};
use serde::Deserialize;
use wasm_bindgen::prelude::*;

use super::options::ClientOptions;
use super::{item_text, read, thrown};
use crate::failure::Failure;
use crate::host::BrowserClock;
use crate::host::JsRandom;
use crate::host::task::Feed;
use crate::host::{FetchTimeouts, FetchTransport};

/// A client. Its operations return a [`StreamHandle`].
#[wasm_bindgen]
pub struct ClientHandle {
    pub(super) generator: Generator,
}

/// The retry options, read from JSON text.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct RetryOptions {
    max_retries: Option<u32>,
    base_delay_ms: Option<u64>,
    max_delay_ms: Option<u64>,
    backoff_multiplier: Option<f64>,
    jitter: Option<bool>,
}

impl RetryOptions {
    pub(super) fn policy(&self) -> RetryPolicy {
        let usual = RetryPolicy::default();
        RetryPolicy {
            max_retries: self.max_retries.unwrap_or(usual.max_retries),
            base_delay_ms: self.base_delay_ms.unwrap_or(usual.base_delay_ms),
            max_delay_ms: self.max_delay_ms.unwrap_or(usual.max_delay_ms),
            backoff_multiplier: self.backoff_multiplier.unwrap_or(usual.backoff_multiplier),
            jitter: self.jitter.unwrap_or(usual.jitter),
            on_retry: None,
        }
    }
}

#[wasm_bindgen]
impl ClientHandle {
    /// Creates a client from options as JSON text. `custom` holds the functions of providers written in JavaScript.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str, fetch: Function, custom: Array) -> Result<ClientHandle, JsValue> {
        let transport: Shared<dyn Transport> = Shared::new(FetchTransport::new(fetch, FetchTimeouts::default()));
        let client = thrown(ClientOptions::read(options).and_then(|options| options.client(&transport, &custom)))?;
        let generator = Generator { client, clock: Shared::new(BrowserClock), random: Shared::new(JsRandom) };
        Ok(Self { generator })
    }

    /// Returns the providers' names.
    pub fn providers(&self) -> Vec<String> {
        self.generator.client.provider_names().map(str::to_owned).collect()
    }

    /// Sends a request; the items are events. Without `retry` a failed call is not retried.
    pub fn stream(&self, request: &str, retry: Option<String>) -> Result<StreamHandle, JsValue> {
        let request: Request = thrown(read("the request is", request))?;
        let policy = match retry {
            None => RetryPolicy { max_retries: 0, ..RetryPolicy::default() },
            Some(retry) => thrown(read::<RetryOptions>("`retry` is", &retry))?.policy(),
        };
        let (generator, cancel) = (self.generator.clone(), CancelToken::new());
        let events = stream::once(open(generator, request, policy, cancel.clone())).flat_map(flatten);
        Ok(StreamHandle::new(events.map(|event| item_text(event.map_err(Failure::from))), cancel))
    }
}

async fn open(
    generator: Generator,
    request: Request,
    policy: RetryPolicy,
    cancel: CancelToken,
) -> Result<EventStream, LlmError> {
    let Generator { client, clock, random } = generator;
    retry_stream(&policy, &*clock, &*random, &cancel, |_| {
        let (client, request, cancel) = (client.clone(), request.clone(), cancel.clone());
        async move { client.stream(request, cancel).await }
    })
    .await
}

fn flatten(opened: Result<EventStream, LlmError>) -> EventStream {
    opened.unwrap_or_else(|error| Box::pin(stream::once(async { Err::<StreamEvent, _>(error) })))
}

/// A stream of JSON texts. It advances only while it is polled.
#[wasm_bindgen]
pub struct StreamHandle {
    feed: Feed,
    cancel: CancelToken,
}

impl StreamHandle {
    pub(super) fn new(texts: impl Stream<Item = String> + 'static, cancel: CancelToken) -> Self {
        Self { feed: Feed::new(texts), cancel }
    }
}

#[wasm_bindgen]
impl StreamHandle {
    /// The task id that `Host.wake` is called with.
    #[wasm_bindgen(getter)]
    pub fn id(&self) -> u32 {
        self.feed.id()
    }

    /// Returns the next item, an empty text at the end, or `undefined` while there is none.
    pub fn poll(&self) -> Option<String> {
        self.feed.poll()
    }

    /// Cancels the stream, which then ends with an `aborted` error.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

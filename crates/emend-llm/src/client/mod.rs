//! The client: routes requests to the provider that they name, through middleware. It never retries and never guesses a
//! provider.

mod accumulate;
pub mod constrained;
mod http_provider;
mod middleware;
mod retry;
pub mod router;

pub use accumulate::{StreamAccumulator, collect};
pub use http_provider::HttpProvider;
pub use middleware::{Middleware, Next, Observe};
pub use retry::{RetryObserver, RetryPolicy, retry, retry_stream};

use crate::error::{ErrorKind, LlmError};
use crate::model::{Request, Response};
use crate::provider::{EventStream, Provider};
use crate::providers::registry::{self, PROVIDERS};
use crate::runtime::{BoxFuture, CancelToken, Shared};
use crate::transport::Transport;

/// A set of providers by name, with middleware around them. Cheap to clone.
///
/// # Examples
///
/// ```
/// use emend_llm::anthropic::{Anthropic, Config};
/// use emend_llm::cassette::{Cassette, Player, PlayerOptions};
/// use emend_llm::{CancelToken, Client, HttpProvider, Message, Request, Shared, Transport};
/// use futures::executor::block_on;
///
/// // A program passes the transport of its host; an empty cassette has no response to any request.
/// let cassette = Cassette::from_json(
///     r#"{"emend_cassette": 1, "clock_ms": 0, "seed": 0, "root": "{{root}}", "exchanges": []}"#,
/// )?;
/// let transport: Shared<dyn Transport> = Shared::new(Player::new(cassette, PlayerOptions::default()));
///
/// let adapter = Anthropic::new(Config { api_key: "key".to_owned(), ..Config::default() });
/// let client = Client::new().with_provider(Shared::new(HttpProvider::new(Shared::new(adapter), transport)));
/// assert_eq!(client.provider_names().collect::<Vec<_>>(), ["anthropic"]);
///
/// let request = Request {
///     model: "claude-opus-4-6".to_owned(),
///     messages: vec![Message::user("hello")],
///     ..Request::default()
/// };
/// let error = block_on(client.complete(request, CancelToken::new())).unwrap_err();
/// assert_eq!(error.kind.code(), "configuration");
/// # Ok::<(), emend_llm::cassette::CassetteError>(())
/// ```
#[derive(Clone, Default)]
pub struct Client {
    providers: Vec<Shared<dyn Provider>>,
    default_provider: Option<String>,
    middleware: Shared<Vec<Shared<dyn Middleware>>>,
}

impl Client {
    /// Returns a client without providers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a client with the providers whose variables `variable` finds, in the order of [`PROVIDERS`]. The first
    /// is the default. The variables are those of the providers' own tools:
    ///
    /// - `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`
    /// - `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID`
    /// - `GEMINI_API_KEY` or `GOOGLE_API_KEY`, `GEMINI_BASE_URL`
    ///
    /// A server with a copy of Chat Completions needs `OPENAI_COMPATIBLE_BASE_URL`; its key, if any, is
    /// `OPENAI_COMPATIBLE_API_KEY`. `browser` is true if a web page sends the requests.
    pub fn from_env(
        variable: impl Fn(&str) -> Option<String>,
        transport: Shared<dyn Transport>,
        browser: bool,
    ) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut client = Self::new();
        for info in &PROVIDERS {
            if let Some(config) = info.config(variable, browser) {
                let adapter = info.api.adapter(config);
                client = client.with_provider(Shared::new(HttpProvider::new(adapter, Shared::clone(&transport))));
            }
        }
        client
    }

    /// Adds a provider and replaces one of the same name. The first provider becomes the default.
    #[must_use]
    pub fn with_provider(mut self, provider: Shared<dyn Provider>) -> Self {
        self.default_provider.get_or_insert_with(|| provider.name().to_owned());
        self.providers.retain(|known| known.name() != provider.name());
        self.providers.push(provider);
        self
    }

    /// Sets the provider of requests that name none.
    #[must_use]
    pub fn with_default_provider(mut self, name: impl Into<String>) -> Self {
        self.default_provider = Some(name.into());
        self
    }

    /// Adds middleware inside the middleware that was added before.
    #[must_use]
    pub fn with_middleware(mut self, middleware: Shared<dyn Middleware>) -> Self {
        let mut all = Vec::clone(&self.middleware);
        all.push(middleware);
        self.middleware = Shared::new(all);
        self
    }

    /// Returns the names of the providers, in the order they were added.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|provider| provider.name())
    }

    /// Returns the provider with this name, or the default provider.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if there is no such provider, or neither a name nor a default.
    pub fn provider(&self, name: Option<&str>) -> Result<&Shared<dyn Provider>, LlmError> {
        let Some(name) = name.or(self.default_provider.as_deref()) else {
            let message = format!("no provider is set up: set {}", registry::key_variables());
            return Err(LlmError::new(ErrorKind::Configuration, message));
        };
        self.providers.iter().find(|provider| provider.name() == name).ok_or_else(|| {
            let names: Vec<&str> = self.provider_names().collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            LlmError::new(ErrorKind::Configuration, format!("the provider {name} is not set up; set up: {known}"))
        })
    }

    /// Checks the settings of every provider without sending anything.
    ///
    /// # Errors
    ///
    /// The error of the first provider with wrong settings.
    pub fn initialize(&self) -> Result<(), LlmError> {
        self.providers.iter().try_for_each(|provider| provider.initialize())
    }

    /// Releases the resources that the providers hold.
    pub fn close(&self) {
        self.providers.iter().for_each(|provider| provider.close());
    }

    /// Sends a request and resolves once the response begins.
    ///
    /// # Errors
    ///
    /// As [`provider`](Self::provider), and the errors of the provider before the response begins.
    pub async fn stream(&self, request: Request, cancel: CancelToken) -> Result<EventStream, LlmError> {
        let provider = Shared::clone(self.provider(request.provider.as_deref())?);
        if let Some(choice) = request.tool_choice.as_ref().filter(|choice| !provider.supports_tool_choice(choice)) {
            let name = provider.name().to_owned();
            let message = format!("{name} does not support the tool choice {choice:?}: leave the choice to the model");
            return Err(LlmError { provider: Some(name), ..LlmError::new(ErrorKind::UnsupportedToolChoice, message) });
        }
        let next = Next::new(provider, Shared::clone(&self.middleware));
        next.run(request, cancel).await
    }

    /// Sends a request and returns the whole response.
    ///
    /// # Errors
    ///
    /// As [`stream`](Self::stream), and errors that end the response early.
    pub async fn complete(&self, request: Request, cancel: CancelToken) -> Result<Response, LlmError> {
        collect(self.stream(request, cancel).await?).await
    }
}

impl Provider for Client {
    fn name(&self) -> &str {
        self.default_provider.as_deref().unwrap_or("client")
    }

    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        Box::pin(Self::stream(self, request, cancel))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::StreamExt;
    use futures::executor::block_on;

    use super::*;
    use crate::model::{Message, StreamEvent, ToolChoice};
    use crate::providers::Config;
    use crate::providers::gemini::Gemini;
    use crate::runtime::BoxStream;
    use crate::testing::{Script, covers, says};
    use crate::transport::{HttpRequest, HttpResponse, TransportError};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn request(provider: Option<&str>) -> Request {
        Request { messages: vec![Message::user("u")], provider: provider.map(str::to_owned), ..Request::default() }
    }

    fn ask(client: &Client, provider: Option<&str>) -> Result<String, LlmError> {
        block_on(client.complete(request(provider), CancelToken::new())).map(|response| response.message.text())
    }

    #[test]
    fn requests_go_to_the_provider_they_name_or_the_default() {
        covers("client.providers client.routing client.default_provider");
        let client = Client::new()
            .with_provider(Script::new("a", [says(&["from a"]), says(&["from a"])]))
            .with_provider(Script::new("b", [says(&["from b"])]));
        assert_eq!(ask(&client, None).unwrap(), "from a");
        assert_eq!(ask(&client, Some("b")).unwrap(), "from b");
        assert_eq!(ask(&client.with_default_provider("a"), None).unwrap(), "from a");
    }

    #[test]
    fn a_missing_provider_is_a_configuration_error() {
        covers("client.no_provider");
        #[track_caller]
        fn check(client: &Client, provider: Option<&str>, message: &str) {
            let error = ask(client, provider).unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Configuration, message));
        }
        let none = "no provider is set up: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY";
        check(&Client::new(), None, none);
        let client = Client::new().with_provider(Script::new("a", []));
        check(&client, Some("b"), "the provider b is not set up; set up: a");
    }

    /// Appends its name to the request's model, and to the log when the finish event passes.
    struct Tag(&'static str, Shared<Mutex<Vec<String>>>);

    impl Middleware for Tag {
        fn call(
            &self,
            mut request: Request,
            cancel: CancelToken,
            next: Next,
        ) -> BoxFuture<'static, Result<EventStream, LlmError>> {
            request.model.push_str(self.0);
            let (name, log) = (self.0, Shared::clone(&self.1));
            Box::pin(async move {
                let stream = next.run(request, cancel).await?;
                Ok(Box::pin(stream.inspect(move |event| {
                    if let Ok(StreamEvent::Finish { .. }) = event {
                        log.lock().unwrap().push(name.to_owned());
                    }
                })) as EventStream)
            })
        }
    }

    #[test]
    fn middleware_wraps_in_the_order_it_was_added() {
        covers("client.middleware client.stream_middleware");
        let log: Shared<Mutex<Vec<String>>> = Shared::default();
        let script = Script::new("a", [says(&["hi"])]);
        let heard: Shared<Mutex<usize>> = Shared::default();
        let client = Client::new()
            .with_provider(Shared::clone(&script) as Shared<dyn Provider>)
            .with_middleware(Shared::new(Tag("1", Shared::clone(&log))))
            .with_middleware(Shared::new(Tag("2", Shared::clone(&log))))
            .with_middleware(Shared::new(Observe({
                let heard = Shared::clone(&heard);
                move |_: &StreamEvent| *heard.lock().unwrap() += 1
            })));
        assert_eq!(ask(&client, None).unwrap(), "hi");
        assert_eq!(script.requests()[0].model, "12", "requests pass the first added first");
        assert_eq!(*log.lock().unwrap(), ["2", "1"], "events pass it last");
        assert_eq!(*heard.lock().unwrap(), 5);
    }

    /// Sends no response and keeps the requests.
    #[derive(Default)]
    struct Sink(Mutex<Vec<HttpRequest>>);

    impl Transport for Sink {
        fn send(
            &self,
            request: HttpRequest,
            _cancel: CancelToken,
        ) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
            self.0.lock().unwrap().push(request);
            let body: BoxStream<'static, _> = Box::pin(futures::stream::empty());
            Box::pin(async { Ok(HttpResponse { status: 200, headers: Default::default(), body }) })
        }
    }

    #[test]
    fn the_environment_names_keys_and_addresses() {
        covers("client.environment adapter.keys client.validation client.compatible");
        let sink = Shared::new(Sink::default());
        let variable = |name: &str| {
            let value = match name {
                "OPENAI_API_KEY" => "ko",
                "OPENAI_ORG_ID" => "org",
                "OPENAI_PROJECT_ID" => "project",
                "GOOGLE_API_KEY" => "kg",
                "GEMINI_BASE_URL" => "http://g",
                "ANTHROPIC_API_KEY" => "",
                "OPENAI_COMPATIBLE_BASE_URL" => "http://localhost:8080",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let client = Client::from_env(variable, Shared::clone(&sink) as Shared<dyn Transport>, false);
        assert_eq!(client.provider_names().collect::<Vec<_>>(), ["openai", "gemini", "openai_compatible"]);
        assert_eq!(client.name(), "openai");
        assert_eq!(client.initialize(), Ok(()));
        let no_key = HttpProvider::new(
            Shared::new(Gemini::new(Config::default())),
            Shared::clone(&sink) as Shared<dyn Transport>,
        );
        assert_eq!(no_key.initialize().unwrap_err().kind, ErrorKind::Configuration);
        assert_eq!(sink.0.lock().unwrap().len(), 0, "nothing was sent");
        for name in ["openai", "gemini", "openai_compatible"] {
            assert_eq!(ask(&client, Some(name)).unwrap_err().kind, ErrorKind::Stream);
        }
        let sent = sink.0.lock().unwrap();
        let header = |index: usize, name: &str| sent[index].headers.get(name).map(str::to_owned);
        assert_eq!(header(0, "authorization").as_deref(), Some("Bearer ko"));
        assert_eq!(header(0, "openai-organization").as_deref(), Some("org"));
        assert_eq!(header(0, "openai-project").as_deref(), Some("project"));
        assert_eq!(header(1, "x-goog-api-key").as_deref(), Some("kg"));
        assert!(sent[1].url.starts_with("http://g/v1beta/models/"), "{}", sent[1].url);
        assert_eq!(
            (sent[2].url.as_str(), header(2, "authorization")),
            ("http://localhost:8080/v1/chat/completions", None)
        );
    }

    struct NoChoice;

    impl Provider for NoChoice {
        fn name(&self) -> &str {
            "n"
        }

        fn stream(&self, _: Request, _: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
            Box::pin(std::future::pending())
        }

        fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
            *choice == ToolChoice::Auto
        }
    }

    #[test]
    fn an_unsupported_tool_choice_is_rejected() {
        covers("client.tool_choice");
        let client = Client::new().with_provider(Shared::new(NoChoice));
        let request = Request { tool_choice: Some(ToolChoice::Required), ..request(None) };
        let error = block_on(client.complete(request, CancelToken::new())).unwrap_err();
        assert_eq!(error.kind, ErrorKind::UnsupportedToolChoice);
    }
}

//! Sends requests to a server through all layers of a real request: client, adapter, reqwest, retries. Time and
//! randomness are the test's. Afterwards no visible text may contain the key.

use std::sync::{Arc, Mutex, OnceLock};

use emend_host::{ReqwestTransport, Timeouts};
use emend_llm::{
    Api, CancelToken, Client, Config, ErrorKind, HttpProvider, LlmError, Message, Request, RetryPolicy, StreamEvent,
    retry_stream,
};
use emend_tests::chance::{Middle, Sleeps};
use futures::StreamExt;

/// The key of every request. Error bodies quote it.
pub(super) const KEY: &str = "sk-topsecret-0123456789abcdef";
/// A part of the key that no text may contain. Masks keep beginnings and ends.
const SECRET: &str = "topsecret";

/// Time limits that a busy machine does not reach.
pub(crate) fn patient() -> Timeouts {
    Timeouts { connect_ms: 60_000, idle_ms: 60_000, total_ms: 60_000 }
}

/// The outcome of a request.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) error: Option<ErrorKind>,
    /// The number of attempts.
    pub(super) attempts: usize,
    /// The delays between attempts, in milliseconds.
    pub(super) waits: Vec<u64>,
}

/// Collects the log of the network stack.
struct Listener(Mutex<String>);

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{} {}\n", record.target(), record.args());
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push_str(&line);
    }

    fn flush(&self) {}
}

/// Returns the log of the network stack since the first call of this function.
pub(crate) fn logged() -> String {
    listener().0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
}

fn listener() -> &'static Listener {
    static LISTENER: OnceLock<&'static Listener> = OnceLock::new();
    LISTENER.get_or_init(|| {
        let listener: &'static Listener = Box::leak(Box::new(Listener(Mutex::default())));
        log::set_logger(listener).expect("no other logger");
        log::set_max_level(log::LevelFilter::Trace);
        listener
    })
}

#[track_caller]
fn assert_no_key(what: &str, text: &str) {
    assert!(!text.contains(SECRET), "{what} holds the key: {text}");
}

fn assert_error_has_no_key(error: &LlmError) {
    assert_no_key("the message", &error.to_string());
    assert_no_key("the debug form", &format!("{error:?}"));
    assert_no_key("the JSON form", &serde_json::to_string(error).unwrap());
    assert!(error.provider.is_some(), "{error:?} names no provider");
    // A sentence with more than the code.
    assert!(error.message.split_whitespace().count() > 3, "{error:?}");
}

/// The request of every test.
pub(super) fn request() -> Request {
    Request { model: "m".into(), messages: vec![Message::user("hi")], ..Request::default() }
}

/// Returns a client of the server at `url`, with time limits that are not reached.
pub(super) fn client(api: Api, url: &str) -> Client {
    let config = Config { api_key: KEY.to_owned(), base_url: Some(url.to_owned()), ..Config::default() };
    let transport = Arc::new(ReqwestTransport::new(patient()));
    Client::new().with_provider(Arc::new(HttpProvider::new(api.adapter(config), transport)))
}

/// Sends a request in the format `api` to `url` under the default retry policy, and reads the response to its end.
pub(super) async fn ask(api: Api, url: &str, timeouts: Timeouts) -> Outcome {
    let listener = listener();
    let config = Config { api_key: KEY.to_owned(), base_url: Some(url.to_owned()), ..Config::default() };
    let adapter = api.adapter(config);
    let request = request();
    assert_no_key("the request's debug form", &format!("{:?}", adapter.encode(&request, true).unwrap()));
    let transport = Arc::new(ReqwestTransport::new(timeouts));
    let client = Client::new().with_provider(Arc::new(HttpProvider::new(adapter, transport)));
    let errors: Arc<Mutex<Vec<LlmError>>> = Arc::default();
    let policy = RetryPolicy {
        on_retry: Some(Arc::new({
            let errors = Arc::clone(&errors);
            move |error: &LlmError, _: u32, _: u64| errors.lock().unwrap().push(error.clone())
        })),
        ..RetryPolicy::default()
    };
    let (clock, cancel) = (Sleeps::default(), CancelToken::new());
    let open = |_| client.stream(request.clone(), cancel.clone());
    let mut text = String::new();
    let failure = match retry_stream(&policy, &clock, &Middle, &cancel, open).await {
        Err(error) => Some(error),
        Ok(mut events) => {
            let mut failure = None;
            while let Some(event) = events.next().await {
                match event {
                    Ok(StreamEvent::TextDelta { delta, .. }) => text.push_str(&delta),
                    Ok(_) => assert_eq!(failure, None, "nothing follows a failure"),
                    Err(error) => failure = Some(error),
                }
            }
            failure
        }
    };
    let retried = std::mem::take(&mut *errors.lock().unwrap());
    retried.iter().chain(&failure).for_each(assert_error_has_no_key);
    let logged = listener.0.lock().unwrap();
    assert!(logged.contains("reqwest"), "nothing was logged: the check for keys would be empty");
    assert_no_key("the log", &logged);
    let waits = clock.slept();
    Outcome { text, error: failure.map(|error| error.kind), attempts: retried.len() + 1, waits }
}

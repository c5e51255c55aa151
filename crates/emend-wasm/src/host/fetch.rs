//! The network of a JavaScript host: `fetch` with a streamed body.
//!
//! Timeouts run on the host's timers. Dropping a request or its body aborts it. Retries are left to the caller. Responses
//! are read with `gloo-net`, but requests are not sent with it: it panics when `fetch` rejects with a value that is not an
//! `Error`, panics on a header with a line break, and drops the `cause` in which Node reports the reason.

use emend_llm::{
    BoxFuture, BoxStream, CancelToken, Clock, Headers, HttpRequest, HttpResponse, Transport, TransportError,
    public_address,
};
use futures::future::{Either, select};
use futures::stream;
use gloo_net::http::Response;
use js_sys::{Function, JsString, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{AbortController, ReadableStreamDefaultReader, RequestCredentials, RequestInit, RequestRedirect};

use super::bridge::{Timer, promise};
use super::clock::BrowserClock;

/// Time limits of a request's phases, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchTimeouts {
    /// Until the response's head has arrived. A page cannot observe the connection itself.
    pub head_ms: u64,
    /// Between two chunks of the body.
    pub idle_ms: u64,
    /// For the whole exchange.
    pub total_ms: u64,
}

/// Limits for a model's streamed response: providers send data every few seconds, and long responses take minutes.
const DEFAULT_TIMEOUTS: FetchTimeouts = FetchTimeouts { head_ms: 60_000, idle_ms: 60_000, total_ms: 15 * 60_000 };

impl Default for FetchTimeouts {
    fn default() -> Self {
        DEFAULT_TIMEOUTS
    }
}

/// Sends requests through a `fetch` function.
#[derive(Clone, Debug)]
pub struct FetchTransport {
    fetch: Function,
    timeouts: FetchTimeouts,
    shows_redirects: bool,
}

impl FetchTransport {
    /// Returns a transport over `fetch`, which takes an address and options and returns a promise of a `Response`.
    #[must_use]
    pub fn new(fetch: Function, timeouts: FetchTimeouts) -> Self {
        Self { fetch, timeouts, shows_redirects: false }
    }

    /// Returns redirects instead of rejecting them, for requests that carry no key.
    ///
    /// A page does not learn where a redirect leads. There the browser follows it and decides which parts of the response
    /// the page may see.
    #[must_use]
    pub fn showing_redirects(mut self) -> Self {
        self.shows_redirects = true;
        self
    }

    /// Waits for the head of a response.
    async fn head(
        &self,
        call: &Call,
        request: &HttpRequest,
        redirect: RequestRedirect,
    ) -> Result<web_sys::Response, TransportError> {
        let options = call.options(request, redirect)?;
        let answer = self
            .fetch
            .call2(&JsValue::UNDEFINED, &JsValue::from_str(&request.url), &options)
            .map_err(|thrown| call.unreachable(&thrown))?;
        let deadline = call.started_ms.saturating_add(self.timeouts.head_ms);
        match call.wait(promise(&answer), deadline, Phase::Connect).await? {
            Ok(value) if value.is_object() => Ok(value.unchecked_into()),
            Ok(_) => Err(call.unreachable(&JsValue::from_str("fetch returned no Response"))),
            Err(rejected) => Err(call.unreachable(&rejected)),
        }
    }
}

impl Transport for FetchTransport {
    fn send(&self, request: HttpRequest, cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            let call = Call::prepare(&request, self.timeouts, cancel)?;
            let redirect = if self.shows_redirects { RequestRedirect::Manual } else { RequestRedirect::Error };
            let mut head = self.head(&call, &request, redirect).await?;
            let kind = Reflect::get(&head, &JsString::from("type")).ok().and_then(|kind| kind.as_string());
            if kind.as_deref() == Some("opaqueredirect") {
                head = self.head(&call, &request, RequestRedirect::Follow).await?;
            }
            let response = Response::from(head);
            let (status, headers) = (response.status(), Headers(response.headers().entries().collect()));
            Ok(HttpResponse { status, headers, body: body_of(&response, call)? })
        })
    }
}

/// A phase with a limit. The names are those of [`TransportError::Timeout`].
#[derive(Clone, Copy)]
enum Phase {
    Connect,
    Idle,
}

/// One request in progress. Dropping it aborts the rest.
struct Call {
    host: String,
    controller: AbortController,
    timeouts: FetchTimeouts,
    started_ms: u64,
    cancel: CancelToken,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.controller.abort();
    }
}

impl Call {
    fn prepare(request: &HttpRequest, timeouts: FetchTimeouts, cancel: CancelToken) -> Result<Self, TransportError> {
        if cancel.is_cancelled() {
            return Err(TransportError::Cancelled);
        }
        let url = web_sys::Url::new(&request.url).map_err(|_| TransportError::Unsendable {
            reason: format!(
                "{:?} is not a web address; use one like https://api.example.com",
                public_address(&request.url)
            ),
        })?;
        if !(url.username() + &url.password()).is_empty() {
            let reason = "the address contains a user name or a password, which fetch cannot send; set the header authorization instead";
            return Err(TransportError::Unsendable { reason: reason.to_owned() });
        }
        Ok(Self {
            host: url.host(),
            controller: AbortController::new().map_err(|thrown| unsendable("AbortController", &thrown))?,
            timeouts,
            started_ms: BrowserClock.now_ms(),
            cancel,
        })
    }

    fn options(&self, request: &HttpRequest, redirect: RequestRedirect) -> Result<RequestInit, TransportError> {
        let headers = web_sys::Headers::new().map_err(|thrown| unsendable("headers", &thrown))?;
        for (name, value) in &request.headers.0 {
            // The value may be a key, so the error does not quote it.
            headers.append(name, value).map_err(|_| TransportError::Unsendable {
                reason: format!("the header {name:?} holds a character that HTTP forbids, such as a line break"),
            })?;
        }
        let options = RequestInit::new();
        options.set_method(request.method);
        options.set_headers(&headers);
        if request.method != "GET" {
            options.set_body(&Uint8Array::from(request.body.as_slice()));
        }
        options.set_signal(Some(&self.controller.signal()));
        options.set_credentials(RequestCredentials::Omit);
        // The host would follow a redirect with the key, because it removes no header but `authorization`.
        options.set_redirect(redirect);
        Ok(options)
    }

    /// Waits for `work` until `deadline_ms`, the total limit or cancellation, whichever comes first.
    async fn wait<T>(
        &self,
        work: impl Future<Output = T> + Unpin,
        deadline_ms: u64,
        phase: Phase,
    ) -> Result<T, TransportError> {
        let total_deadline_ms = self.started_ms.saturating_add(self.timeouts.total_ms);
        let timer = Timer::new(deadline_ms.min(total_deadline_ms).saturating_sub(BrowserClock.now_ms()));
        match select(work, select(self.cancel.cancelled(), timer)).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right((Either::Left(_), _)) => Err(TransportError::Cancelled),
            Either::Right((Either::Right(_), _)) => {
                let (after_ms, phase) = match phase {
                    _ if total_deadline_ms <= deadline_ms => (self.timeouts.total_ms, "total"),
                    Phase::Connect => (self.timeouts.head_ms, "connect"),
                    Phase::Idle => (self.timeouts.idle_ms, "idle"),
                };
                Err(TransportError::Timeout { host: self.host.clone(), after_ms, phase })
            }
        }
    }

    fn unreachable(&self, thrown: &JsValue) -> TransportError {
        TransportError::Connect { host: self.host.clone(), reason: reason_of(thrown) }
    }

    fn interrupted(&self, thrown: &JsValue) -> TransportError {
        TransportError::Interrupted { host: self.host.clone(), reason: reason_of(thrown) }
    }
}

fn unsendable(what: &str, thrown: &JsValue) -> TransportError {
    TransportError::Unsendable { reason: format!("{what}: {}", reason_of(thrown)) }
}

fn body_of(
    response: &Response,
    call: Call,
) -> Result<BoxStream<'static, Result<Vec<u8>, TransportError>>, TransportError> {
    let Some(body) = response.body() else { return Ok(Box::pin(stream::empty())) };
    // `getReader` throws if the body already has a reader.
    let reader = Reflect::get(&body, &JsString::from("getReader"))
        .and_then(|function| function.unchecked_into::<Function>().call0(&body))
        .map_err(|thrown| call.interrupted(&thrown))?
        .unchecked_into::<ReadableStreamDefaultReader>();
    let open = Some((reader, call));
    Ok(Box::pin(stream::unfold(open, |open| async move {
        let (reader, call) = open?;
        match read(&reader, &call).await {
            Ok(Some(bytes)) => Some((Ok(bytes), Some((reader, call)))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    })))
}

/// Reads the next chunk; `None` at the end of the body.
async fn read(reader: &ReadableStreamDefaultReader, call: &Call) -> Result<Option<Vec<u8>>, TransportError> {
    let deadline_ms = BrowserClock.now_ms().saturating_add(call.timeouts.idle_ms);
    let chunk = call
        .wait(Box::pin(promise(&reader.read())), deadline_ms, Phase::Idle)
        .await?
        .map_err(|rejected| call.interrupted(&rejected))?;
    let field = |name| Reflect::get(&chunk, &JsString::from(name)).unwrap_or(JsValue::UNDEFINED);
    if field("done").is_truthy() {
        return Ok(None);
    }
    match field("value").dyn_into::<Uint8Array>() {
        Ok(bytes) => Ok(Some(bytes.to_vec())),
        Err(value) => Err(call.interrupted(&value)),
    }
}

/// Maximal number of causes that are followed.
const CAUSES_MAX: usize = 4;

/// Returns the messages of an exception and its causes. Node reports the actual reason in a cause.
fn reason_of(thrown: &JsValue) -> String {
    let mut reasons: Vec<String> = Vec::new();
    let mut current = thrown.clone();
    for _ in 0..CAUSES_MAX {
        let field = |name| Reflect::get(&current, &JsString::from(name)).unwrap_or(JsValue::UNDEFINED);
        // Node groups connection attempts into an error whose own message is empty.
        let text = current.as_string().or_else(|| field("message").as_string()).filter(|text| !text.is_empty());
        match text.or_else(|| field("code").as_string()) {
            Some(text) if !reasons.contains(&text) => reasons.push(text),
            _ => {}
        }
        let cause = field("cause");
        if !cause.is_object() {
            break;
        }
        current = cause;
    }
    if reasons.is_empty() { "the host gave no reason".to_owned() } else { reasons.join(": ") }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::test_host::connect_test_host;

    /// Limits that a busy machine does not reach. A test of a limit shortens only that limit: if two end together, either
    /// may be reported.
    const PATIENT: FetchTimeouts = FetchTimeouts { head_ms: 60_000, idle_ms: 60_000, total_ms: 60_000 };

    /// Returns a transport whose `fetch` has `body` as its function body, with `url` and `options` in scope.
    fn transport(body: &str, timeouts: FetchTimeouts) -> FetchTransport {
        connect_test_host();
        FetchTransport::new(Function::new_with_args("url, options", body), timeouts)
    }

    fn request() -> HttpRequest {
        HttpRequest {
            method: "POST",
            url: "https://model.test:8443/v1/messages?x=1".to_owned(),
            headers: Headers(vec![("x-api-key".to_owned(), "secret".to_owned())]),
            body: b"{}".to_vec(),
        }
    }

    async fn send(body: &str) -> Result<HttpResponse, TransportError> {
        transport(body, PATIENT).send(request(), CancelToken::new()).await
    }

    async fn collect(response: HttpResponse) -> Vec<Result<String, TransportError>> {
        response.body.map(|chunk| chunk.map(|bytes| String::from_utf8(bytes).unwrap())).collect().await
    }

    /// A body that sends `one` and `two`, then does what `end` says.
    fn body_then(end: &str) -> String {
        format!(
            "return Promise.resolve(new Response(new ReadableStream({{
                start(controller) {{ controller.enqueue(new TextEncoder().encode('one')); this.left = 1; }},
                pull(controller) {{
                    if (this.left-- > 0) {{ controller.enqueue(new TextEncoder().encode('two')); return; }}
                    {end}
                }},
            }}), {{ status: 201, headers: {{ 'Retry-After': '7' }} }}));"
        )
    }

    #[test]
    async fn an_answer_is_streamed_with_its_status_and_headers() {
        let response = send(&body_then("controller.close();")).await.unwrap();
        assert_eq!(response.status, 201);
        assert_eq!(response.headers.get("retry-after"), Some("7"));
        assert_eq!(collect(response).await, [Ok("one".to_owned()), Ok("two".to_owned())]);
    }

    #[test]
    async fn an_address_that_cannot_be_sent_to_is_reported_without_its_credentials() {
        for url in ["https://me:marked@model.test/", "//me:marked@model.test?key=marked"] {
            let transport = transport("return Promise.resolve(new Response(null, { status: 204 }));", PATIENT);
            let sent = transport.send(HttpRequest { url: url.to_owned(), ..request() }, CancelToken::new()).await;
            let Err(TransportError::Unsendable { reason }) = sent else { panic!("{url}: {sent:?}") };
            assert!(!reason.contains("marked"), "{reason}");
        }
    }

    #[test]
    async fn an_answer_without_a_body_ends_at_once() {
        let response = send("return Promise.resolve(new Response(null, { status: 204 }));").await.unwrap();
        assert_eq!(response.status, 204);
        assert_eq!(collect(response).await, []);
    }

    #[test]
    async fn the_request_reaches_fetch_as_it_was_encoded() {
        let echo = "const { method, headers, body, credentials, redirect } = options;
            return Promise.resolve(new Response(JSON.stringify([
                url, method, headers.get('x-api-key'), new TextDecoder().decode(body), credentials, redirect,
            ])));";
        let response = send(echo).await.unwrap();
        let echoed = collect(response).await.remove(0).unwrap();
        let expected = r#"["https://model.test:8443/v1/messages?x=1","POST","secret","{}","omit","error"]"#;
        assert_eq!(echoed, expected);
    }

    #[test]
    async fn a_body_that_breaks_off_keeps_what_came_before() {
        let response = send(&body_then("controller.error(new TypeError('terminated'));")).await.unwrap();
        let broken =
            TransportError::Interrupted { host: "model.test:8443".to_owned(), reason: "terminated".to_owned() };
        assert_eq!(collect(response).await, [Ok("one".to_owned()), Ok("two".to_owned()), Err(broken)]);
    }

    #[track_caller]
    fn check_connect(outcome: Result<HttpResponse, TransportError>, reason: &str) {
        let expected = TransportError::Connect { host: "model.test:8443".to_owned(), reason: reason.to_owned() };
        assert_eq!(outcome.err(), Some(expected));
    }

    #[test]
    async fn a_refused_connection_reports_the_reason() {
        let node = "const attempts = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
            return Promise.reject(new TypeError('fetch failed', { cause: attempts }));";
        check_connect(send(node).await, "fetch failed: ECONNREFUSED");
        check_connect(send("return Promise.reject('offline');").await, "offline");
        check_connect(send("throw new Error('blocked');").await, "blocked");
        check_connect(send("return Promise.reject();").await, "the host gave no reason");
        check_connect(send("return Promise.resolve(7);").await, "fetch returned no Response");
        let circular = "const error = new Error('again'); error.cause = error; return Promise.reject(error);";
        check_connect(send(circular).await, "again");
    }

    fn timeout(after_ms: u64, phase: &'static str) -> TransportError {
        TransportError::Timeout { host: "model.test:8443".to_owned(), after_ms, phase }
    }

    #[test]
    async fn each_phase_has_its_limit() {
        let send = async |body: &str, timeouts| transport(body, timeouts).send(request(), CancelToken::new()).await;
        let silent = send("return new Promise(() => {});", FetchTimeouts { head_ms: 60, ..PATIENT }).await;
        assert_eq!(silent.err(), Some(timeout(60, "connect")));

        let stalled = body_then("return new Promise(() => {});");
        let stalled = send(&stalled, FetchTimeouts { idle_ms: 60, ..PATIENT }).await.unwrap();
        assert_eq!(collect(stalled).await.last(), Some(&Err(timeout(60, "idle"))));

        let drip = "await new Promise((resolve) => setTimeout(resolve, 30));
            controller.enqueue(new TextEncoder().encode('drip')); this.left = 0;";
        let drip = body_then(drip).replace("pull(", "async pull(");
        let dripped = send(&drip, FetchTimeouts { total_ms: 1500, ..PATIENT }).await.unwrap();
        let dripped = collect(dripped).await;
        assert!(dripped.len() > 3, "{dripped:?}");
        assert_eq!(dripped.last(), Some(&Err(timeout(1500, "total"))));
    }

    #[test]
    async fn cancelling_aborts_the_request_in_every_state() {
        let aborts = "globalThis.aborted = false;
            options.signal.addEventListener('abort', () => { globalThis.aborted = true; });";
        let aborted = || Reflect::get(&js_sys::global(), &JsString::from("aborted")).unwrap().is_truthy();

        let before = CancelToken::new();
        before.cancel();
        let outcome = transport("throw new Error('was called');", PATIENT).send(request(), before).await;
        assert_eq!(outcome.err(), Some(TransportError::Cancelled));

        let during = CancelToken::new();
        let waiting = transport(&format!("{aborts} return new Promise(() => {{}});"), PATIENT);
        let mut sending = waiting.send(request(), during.clone());
        assert!((&mut sending).now_or_never().is_none());
        during.cancel();
        assert_eq!(sending.await.err(), Some(TransportError::Cancelled));
        assert!(aborted());

        let streaming = CancelToken::new();
        let fetch = format!("{aborts} {}", body_then("return new Promise(() => {});"));
        let response = transport(&fetch, PATIENT).send(request(), streaming.clone()).await.unwrap();
        let mut body = response.body;
        assert_eq!(body.next().await, Some(Ok(b"one".to_vec())));
        streaming.cancel();
        let rest: Vec<_> = body.collect().await;
        assert_eq!(rest.last(), Some(&Err(TransportError::Cancelled)));
        assert!(aborted());
    }

    #[test]
    async fn a_dropped_body_aborts_the_request() {
        let fetch = "globalThis.dropped = options.signal; return Promise.resolve(new Response('never read'));";
        let response = send(fetch).await.unwrap();
        let signal: web_sys::AbortSignal =
            Reflect::get(&js_sys::global(), &JsString::from("dropped")).unwrap().unchecked_into();
        assert!(!signal.aborted());
        drop(response);
        assert!(signal.aborted());
    }

    #[test]
    async fn an_invalid_address_is_rejected() {
        let request = HttpRequest { url: "model.test/v1".to_owned(), ..request() };
        let outcome = transport("throw new Error('was called');", PATIENT).send(request, CancelToken::new()).await;
        let Some(TransportError::Unsendable { reason }) = outcome.err() else { panic!("sent") };
        assert!(reason.contains("model.test/v1"), "{reason}");
    }

    #[test]
    async fn a_key_with_a_line_break_is_rejected_and_not_quoted() {
        let mut request = request();
        request.headers.set("x-api-key", "sec\nret");
        let outcome = transport("throw new Error('was called');", PATIENT).send(request, CancelToken::new()).await;
        let Some(TransportError::Unsendable { reason }) = outcome.err() else { panic!("sent") };
        assert!(reason.contains("x-api-key") && !reason.contains("sec"), "{reason}");
    }

    #[test]
    async fn redirects_are_returned_if_they_may_be_followed() {
        let answer = "globalThis.redirects = (globalThis.redirects ?? '') + options.redirect + ' ';
            return Promise.resolve(options.redirect === 'manual' ? globalThis.first : new Response('there'));";
        let redirects = || Reflect::get(&js_sys::global(), &JsString::from("redirects")).unwrap().as_string();
        let send = async |first: &str| {
            let make = Function::new_no_args(&format!("globalThis.redirects = ''; globalThis.first = {first};"));
            make.call0(&JsValue::UNDEFINED).unwrap();
            let showing = transport(answer, PATIENT).showing_redirects();
            showing.send(request(), CancelToken::new()).await.unwrap()
        };
        // Node returns the response that redirects.
        let shown = send("new Response(null, { status: 302, headers: { Location: '/b' } })").await;
        assert_eq!((shown.status, shown.headers.get("location")), (302, Some("/b")));
        assert_eq!(redirects().as_deref(), Some("manual "));
        // A page learns only that there is a redirect.
        let opaque = "Object.defineProperty(new Response(null), 'type', { value: 'opaqueredirect' })";
        let followed = send(opaque).await;
        assert_eq!(collect(followed).await, [Ok("there".to_owned())]);
        assert_eq!(redirects().as_deref(), Some("manual follow "));
    }
}

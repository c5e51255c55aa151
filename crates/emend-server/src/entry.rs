//! The only handler: it checks access and limits, then hands the request to the API, the pages or the metrics.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use emend_agent::error_code::Code;
use emend_agent::service::api::parse_query;

use crate::access::{self, Denied};
use crate::reply::{Answer, REQUEST_ID, error, set, set_text, too_many, with_body};
use crate::state::{Inner, ServerState};
use crate::{api, files, metrics};

/// Address of the client of a request, as the listener sets it.
#[derive(Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Returns the routes of a server. The service decides on all paths below `/api/agent`.
pub fn app(state: ServerState) -> Router {
    Router::new().fallback(entry).with_state(state)
}

async fn entry(State(state): State<ServerState>, request: Request<Body>) -> Response<Body> {
    let inner = &state.inner;
    let began = Instant::now();
    let id = request_id(inner, request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let checked = access::check(&inner.config, request.uri(), request.headers());
    let is_preflight = method == Method::OPTIONS;
    let Answer { operation, mut response } = match &checked {
        Ok(Some(_)) if is_preflight => Answer::new("Preflight", Response::new(Body::empty())),
        Ok(_) => answer(&state, request).await,
        Err(denied) => Answer::new("Refused", refusal(*denied)),
    };
    if is_preflight && operation == "Preflight" {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    let headers = response.headers_mut();
    set_text(headers, REQUEST_ID, &id);
    if let Ok(Some(origin)) = &checked {
        access::allow_origin(headers, origin, is_preflight);
    }
    access::harden(headers);
    let (status, time) = (response.status().as_u16(), began.elapsed());
    inner.metrics.request(operation, status, time);
    // The query may contain the token, so it is not logged.
    let ms = time.as_secs_f64() * 1_000.0;
    tracing::info!(target: "emend::http", id = %id, method = %method, path = %path, operation, status, ms, "request");
    response
}

/// Returns the id that the client gave, if it is short and harmless in a log, or a new one.
fn request_id(inner: &Inner, headers: &HeaderMap) -> String {
    const LENGTH_MAX: usize = 64;
    let is_sane = |id: &&str| {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !id.is_empty() && id.len() <= LENGTH_MAX && id.bytes().all(is_fit)
    };
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(is_sane);
    given.map_or_else(|| format!("{:016x}", inner.random.next_u64()), str::to_owned)
}

fn refusal(denied: Denied) -> Response<Body> {
    let message = match denied {
        Denied::Host => "the header Host does not name this server; --allow-host accepts another name",
        Denied::Origin => "the page of this origin may not use the server; --allow-origin accepts it",
        Denied::Twice => {
            let message = "the request has the header Host or Origin twice";
            return error(StatusCode::BAD_REQUEST, Code::InvalidArgument, message);
        }
    };
    error(StatusCode::FORBIDDEN, Code::PermissionDenied, message)
}

async fn answer(state: &ServerState, request: Request<Body>) -> Answer {
    let inner = &state.inner;
    let path = request.uri().path();
    if path == "/health" {
        return Answer::new("Health", health(request.method()));
    }
    let peer = request.extensions().get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0.ip());
    let query = parse_query(request.uri().query().unwrap_or_default());
    let token = query.iter().find(|(name, _)| name == "token" && api::is_stream(path)).map(|(_, value)| value.as_str());
    let is_authorized = access::is_authorized(inner, request.headers(), token);
    // Requests without the token have a bucket of their own, so that nobody can use up that of the owner.
    if let Err(seconds) = inner.rates.take((peer, is_authorized), Instant::now()) {
        let message = format!("too many requests; try again in {seconds} s");
        return Answer::new("RateLimited", too_many(&message, seconds));
    }
    let is_api = path == "/api" || path.starts_with("/api/");
    if !is_api && path != "/metrics" {
        let (parts, _) = request.into_parts();
        return pages(inner, &parts.method, &parts.uri).await;
    }
    if !is_authorized {
        return Answer::new("Unauthorized", unauthorized());
    }
    match path {
        "/metrics" => Answer::new("Metrics", own_metrics(inner, request.method()).await),
        "/api/openapi.json" => Answer::new("OpenApi", own_document(inner, request.method())),
        _ => api::answer(state, request).await,
    }
}

fn health(method: &Method) -> Response<Body> {
    only_get(method).unwrap_or_else(|| with_body(StatusCode::OK, "application/json", "{\"ok\":true}"))
}

/// Returns the error of a method that a page does not have.
fn only_get(method: &Method) -> Option<Response<Body>> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, Code::MethodNotAllowed, "this path has only GET");
    set(response.headers_mut(), header::ALLOW, "GET, HEAD");
    Some(response)
}

fn unauthorized() -> Response<Body> {
    let message = "the request has no valid token; send the header Authorization: Bearer TOKEN, \
                   or open the page at the address that emend serve prints";
    let mut response = error(StatusCode::UNAUTHORIZED, Code::PermissionDenied, message);
    set(response.headers_mut(), header::WWW_AUTHENTICATE, "Bearer");
    response
}

async fn own_metrics(inner: &Inner, method: &Method) -> Response<Body> {
    if let Some(refused) = only_get(method) {
        return refused;
    }
    let n_streams = inner.config.limits.streams_max - inner.streams.available_permits();
    match metrics::text(&inner.metrics, &inner.service, n_streams).await {
        Ok(text) => with_body(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text),
        Err(error) => crate::reply::json(&error.response()),
    }
}

fn own_document(inner: &Inner, method: &Method) -> Response<Body> {
    only_get(method).unwrap_or_else(|| with_body(StatusCode::OK, "application/json", inner.openapi.clone()))
}

/// Answers with a file of the web app. A page opened with the token gets the cookie and leaves the token behind.
async fn pages(inner: &Inner, method: &Method, uri: &Uri) -> Answer {
    if let Some(refused) = only_get(method) {
        return Answer::new("Page", refused);
    }
    let query = parse_query(uri.query().unwrap_or_default());
    if let Some((_, token)) = query.iter().find(|(name, _)| name == "token") {
        if !inner.config.token.is(token) {
            return Answer::new("Unauthorized", unauthorized());
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        let headers = response.headers_mut();
        // A path with two slashes at its start would name another host.
        let path = format!("/{}", uri.path().trim_start_matches('/'));
        headers.insert(header::LOCATION, HeaderValue::from_str(&path).unwrap_or(HeaderValue::from_static("/")));
        set(headers, header::CACHE_CONTROL, "no-store");
        access::give_cookie(inner, headers);
        return Answer::new("Page", response);
    }
    Answer::new("Page", files::answer(inner, method, uri.path()).await)
}

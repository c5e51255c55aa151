//! Responses: JSON, errors and their headers.

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response, StatusCode};
use emend_agent::error_code::Code;
use emend_agent::service::{ApiError, ApiResponse};

/// Name of the header with the id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Returns a response with a body of some type.
pub(crate) fn with_body(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    set(response.headers_mut(), header::CONTENT_TYPE, kind);
    response
}

/// Returns a reply of the service as JSON.
pub(crate) fn json(reply: &ApiResponse) -> Response<Body> {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = with_body(status, "application/json", reply.body.to_string());
    set(response.headers_mut(), header::CACHE_CONTROL, "no-store");
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(LIMIT_SECONDS));
    }
    response
}

/// Seconds after which a client may try again at a limit of the service, such as on running jobs. The time at which a job
/// ends is not known.
const LIMIT_SECONDS: u64 = 30;

/// Returns an error with a status that is not that of its code.
pub(crate) fn error(status: StatusCode, code: Code, message: impl Into<String>) -> Response<Body> {
    json(&ApiError { status: Some(status.as_u16()), ..ApiError::new(code, message) }.response())
}

/// Returns the error of a client that asks for too much; it may try again after some seconds.
pub(crate) fn too_many(message: &str, seconds: u64) -> Response<Body> {
    let mut response = error(StatusCode::TOO_MANY_REQUESTS, Code::LimitReached, message);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Sets a header to a fixed value.
pub(crate) fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

/// Sets a header, unless the text does not fit into one.
pub(crate) fn set_text(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// A response and the name of its operation for metrics and logs.
pub(crate) struct Answer {
    pub(crate) operation: &'static str,
    pub(crate) response: Response<Body>,
}

impl Answer {
    pub(crate) fn new(operation: &'static str, response: Response<Body>) -> Self {
        Self { operation, response }
    }
}

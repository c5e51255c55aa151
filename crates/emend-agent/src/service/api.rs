//! Requests and replies without a transport.
//!
//! HTTP and JavaScript hand the same [`ApiRequest`] to the service and get the same [`ApiResponse`].

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use super::operations::{OPERATIONS, Operation, OperationInfo};
use super::records::ErrorBody;
use crate::error_code::Code;

/// A method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`: reads.
    Get,
    /// `POST`: creates or acts.
    Post,
    /// `PATCH`: changes fields.
    Patch,
    /// `DELETE`: removes.
    Delete,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 4] = [Self::Get, Self::Post, Self::Patch, Self::Delete];

    /// Returns the name in HTTP.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Returns the method of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// A request, as a transport hands it to [`Service::handle`](super::Service::handle).
#[derive(Clone, Debug, PartialEq)]
pub struct ApiRequest {
    /// Method.
    pub method: Method,
    /// Path without the query, percent-decoded, for example `/api/agent/sessions`.
    pub path: String,
    /// Parameters of the query, decoded, in order.
    pub query: Vec<(String, String)>,
    /// Body; `Null` without one.
    pub body: Value,
}

impl ApiRequest {
    /// Returns a request without query.
    #[must_use]
    pub fn new(method: Method, path: impl Into<String>, body: Value) -> Self {
        let path = path.into();
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path.to_owned(), parse_query(query)),
            None => (path, Vec::new()),
        };
        Self { method, path, query, body }
    }
}

/// Parses a query: names and values, percent-decoded.
#[must_use]
pub fn parse_query(query: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (percent_decoded(name), percent_decoded(value))
    };
    query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

/// Decodes `%XX` and `+`. Bytes that are not UTF-8 become U+FFFD.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// A reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiResponse {
    /// HTTP status.
    pub status: u16,
    /// Body: the reply of the operation, or `{"ok": false, "error": {…}}`.
    pub body: Value,
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// Stable code; it decides the HTTP status.
    pub code: Code,
    /// HTTP status, if it is not that of the code.
    pub status: Option<u16>,
    /// The problem and the next step.
    pub message: String,
    /// Suggestions, best first.
    pub suggestions: Vec<String>,
    /// Details.
    pub data: Value,
}

impl ApiError {
    /// Returns an error without details.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, status: None, message: message.into(), suggestions: Vec::new(), data: Value::Null }
    }

    /// Adds details.
    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data, ..self }
    }

    /// Returns the error of an unknown id.
    #[must_use]
    pub fn unknown(what: &str, id: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no {what} {id:?}"))
    }

    /// Returns the error as data.
    #[must_use]
    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            code: self.code.as_str().to_owned(),
            message: self.message.clone(),
            suggestions: self.suggestions.clone(),
            data: self.data.clone(),
        }
    }

    /// Returns the reply.
    #[must_use]
    pub fn response(&self) -> ApiResponse {
        let status = self.status.unwrap_or(self.code.row().http_status);
        ApiResponse { status, body: json!({"ok": false, "error": self.body()}) }
    }
}

macro_rules! errors_with_code {
    ($($error:ty),*) => {
        $(impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                Self::new(error.code(), error.to_string())
            }
        })*
    };
}

errors_with_code!(
    crate::session::SubmitError,
    crate::session::ResumeError,
    crate::store::StoreError,
    crate::workspace::ReviewError,
    crate::workspace::WorkspaceError,
    crate::environment::EnvError
);

impl From<crate::tool::ToolError> for ApiError {
    fn from(error: crate::tool::ToolError) -> Self {
        Self { suggestions: error.suggestions, ..Self::new(error.code, error.message) }
    }
}

/// Result of an operation.
pub type ApiResult<T> = Result<T, ApiError>;

/// Returns the operation of a path with the values of its parameters.
///
/// # Errors
///
/// [`Code::NotFound`] if no operation has the path, and [`Code::MethodNotAllowed`] if none with this method has it.
pub fn route(method: Method, path: &str) -> ApiResult<(&'static OperationInfo, Vec<String>)> {
    let mut has_path = false;
    for info in OPERATIONS {
        if let Some(values) = values_of(info.path, path) {
            if info.method == method {
                return Ok((info, values));
            }
            has_path = true;
        }
    }
    Err(if has_path { without_method(method.name(), path) } else { without_operation(path) })
}

fn without_operation(path: &str) -> ApiError {
    ApiError::new(Code::NotFound, format!("there is no operation {path}"))
}

/// Returns the methods of a path, for the header `Allow`.
#[must_use]
pub fn methods_of(path: &str) -> Vec<&'static str> {
    let found: Vec<&OperationInfo> = OPERATIONS.iter().filter(|info| values_of(info.path, path).is_some()).collect();
    // `comments/send` also looks like the comment with the id `send`.
    let n_parameters = |info: &OperationInfo| info.path.matches('{').count();
    let least = found.iter().map(|info| n_parameters(info)).min();
    let is_meant = |info: &&OperationInfo| Some(n_parameters(info)) == least;
    let meant: Vec<Method> = found.into_iter().filter(is_meant).map(|info| info.method).collect();
    Method::ALL.into_iter().filter(|method| meant.contains(method)).map(Method::name).collect()
}

/// Returns the error of a request whose path does not have the method.
#[must_use]
pub fn without_method(method: &str, path: &str) -> ApiError {
    let allowed = methods_of(path);
    if allowed.is_empty() {
        return without_operation(path);
    }
    let message = format!("the path has no {method}, only {}", allowed.join(", "));
    ApiError::new(Code::MethodNotAllowed, message)
}

/// Checks that an operation has all parameters of a query. `also` has names that the transport takes.
///
/// # Errors
///
/// [`Code::InvalidArgument`] with the names of the others.
pub fn check_query(info: &OperationInfo, query: &[(String, String)], also: &[&str]) -> ApiResult<()> {
    let known: Vec<&str> = info.query.iter().map(|(name, _, _)| *name).collect();
    let is_unknown = |name: &&str| !known.contains(name) && !also.contains(name);
    let unknown: Vec<&str> = query.iter().map(|(name, _)| name.as_str()).filter(is_unknown).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let has = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
    let message = format!("the operation has no query parameter {}; {has}", unknown.join(", "));
    Err(ApiError::new(Code::InvalidArgument, message))
}

fn values_of(template: &str, path: &str) -> Option<Vec<String>> {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    let mut values = Vec::new();
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(values),
            (Some(want), Some(have)) if want.starts_with('{') && !have.is_empty() => values.push(have.to_owned()),
            (Some(want), Some(have)) if want == have => {}
            _ => return None,
        }
    }
}

/// Parses the body of a request.
///
/// # Errors
///
/// [`Code::InvalidArgument`] with the position of the mistake.
pub fn body<T: DeserializeOwned>(request: &ApiRequest) -> ApiResult<T> {
    let mut given = match &request.body {
        Value::Null => json!({}),
        Value::Object(_) => request.body.clone(),
        // Serde would read the values of an array as the fields in order.
        _ => return Err(ApiError::new(Code::InvalidArgument, "the body is not an object")),
    };
    if let Some(number) = too_large(&given) {
        let message = format!("the body: the number {number} is too large; at most {} is allowed", i64::MAX);
        return Err(ApiError::new(Code::InvalidArgument, message));
    }
    make_whole(&mut given);
    serde_json::from_value(given).map_err(|error| ApiError::new(Code::InvalidArgument, format!("the body: {error}")))
}

/// Replaces numbers such as `3.0`, which are integers in JSON Schema and which some languages send.
fn make_whole(value: &mut Value) {
    /// Every integer up to it is exact as a floating-point number.
    const EXACT_MAX: f64 = (1_u64 << 53) as f64;
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) =
                number.as_f64().filter(|found| found.fract() == 0.0 && (0.0..=EXACT_MAX).contains(found))
            {
                *number = (whole as u64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(fields) => fields.values_mut().for_each(make_whole),
        _ => {}
    }
}

/// Returns a whole number that the schemas do not permit: they are 64 bits with a sign, as in most languages.
fn too_large(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().filter(|number| i64::try_from(*number).is_err()),
        Value::Array(items) => items.iter().find_map(too_large),
        Value::Object(fields) => fields.values().find_map(too_large),
        _ => None,
    }
}

/// Returns a query parameter.
pub fn parameter<'a>(request: &'a ApiRequest, name: &str) -> Option<&'a str> {
    request.query.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
}

/// Returns a query parameter that is a whole number.
///
/// # Errors
///
/// [`Code::InvalidArgument`] if it is not a number.
pub fn number(request: &ApiRequest, name: &str) -> ApiResult<Option<u64>> {
    parameter(request, name)
        .map(|value| {
            value.parse().map_err(|_| {
                ApiError::new(Code::InvalidArgument, format!("{name}={value}: the parameter is a whole number"))
            })
        })
        .transpose()
}

/// Returns the parameter `limit`, at least 1 and at most `max`.
///
/// # Errors
///
/// [`Code::InvalidArgument`] if it is 0 or not a number.
pub fn page_limit(request: &ApiRequest, default: u64, max: u64) -> ApiResult<usize> {
    match number(request, "limit")?.unwrap_or(default) {
        0 => Err(ApiError::new(Code::InvalidArgument, "limit is at least 1")),
        limit => Ok(limit.min(max) as usize),
    }
}

/// Returns the reply of a successful operation.
///
/// # Errors
///
/// [`Code::Internal`] if the reply cannot be written as JSON.
pub fn reply(info: &OperationInfo, body: &impl Serialize) -> ApiResult<ApiResponse> {
    let body = serde_json::to_value(body).map_err(|error| ApiError::new(Code::Internal, error.to_string()))?;
    Ok(ApiResponse { status: info.reply.0, body })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn paths_lead_to_operations() {
        let table = [
            (Method::Get, "/api/agent/sessions", Ok((Operation::ListSessions, vec![]))),
            (Method::Get, "/api/agent/sessions/s1", Ok((Operation::GetSession, vec!["s1"]))),
            (Method::Get, "/api/agent/jobs/j/events", Ok((Operation::JobEvents, vec!["j"]))),
            (Method::Post, "/api/agent/sessions/s/follow_ups/f/send", Ok((Operation::SendFollowUp, vec!["s", "f"]))),
            (Method::Delete, "/api/agent/run", Err(405)),
            (Method::Get, "/api/agent/sessions/", Err(404)),
            (Method::Get, "/api/agent", Err(404)),
            (Method::Get, "/api/agent/jobs//events", Err(404)),
        ];
        for (method, path, expected) in table {
            let found = route(method, path)
                .map(|(info, values)| (info.operation, values))
                .map_err(|error| error.response().status);
            let expected = expected.map(|(operation, values): (_, Vec<&str>)| {
                (operation, values.into_iter().map(str::to_owned).collect::<Vec<_>>())
            });
            assert_eq!(found, expected, "{} {path}", method.name());
        }
    }

    #[test]
    fn numbers_beyond_the_schemas_are_refused() {
        let read =
            |given: Value| body::<Value>(&ApiRequest::new(Method::Post, "/x", given)).map_err(|error| error.code);
        let body_of = |largest: u64| json!({ "a": [{ "b": largest }] });
        assert!(read(body_of(i64::MAX as u64)).is_ok());
        assert_eq!(read(body_of(i64::MAX as u64 + 1)), Err(Code::InvalidArgument));
    }

    #[test]
    fn unknown_parameters_are_named() {
        let check = |path: &str, also: &[&str]| {
            let request = ApiRequest::new(Method::Get, path, Value::Null);
            let (info, _) = route(request.method, &request.path).unwrap();
            check_query(info, &request.query, also).map_err(|error| (error.code, error.message))
        };
        let refused = |message: &str| Err((Code::InvalidArgument, message.to_owned()));
        assert_eq!(check("/api/agent/sessions?limit=3&after=x&query=&status=active", &[]), Ok(()));
        assert_eq!(
            check("/api/agent/sessions?limit=3&offset=1&page=2", &[]),
            refused("the operation has no query parameter offset, page; it has query, status, limit, after")
        );
        let of_settings = "the operation has no query parameter token; it has none";
        assert_eq!(check("/api/agent/settings?token=t", &[]), refused(of_settings));
        assert_eq!(check("/api/agent/stream?token=t&after=1", &["token"]), Ok(()));
    }

    #[test]
    fn methods_are_those_of_the_most_specific_path() {
        assert_eq!(methods_of("/api/agent/sessions"), ["GET", "POST"]);
        assert_eq!(methods_of("/api/agent/sessions/s/comments/send"), ["POST"]);
        assert_eq!(methods_of("/api/agent/sessions/s/comments/c"), ["DELETE"]);
        assert_eq!(without_method("PUT", "/api/agent/run").code, Code::MethodNotAllowed);
        assert_eq!(without_method("PUT", "/api/agent/none").code, Code::NotFound);
    }

    #[test]
    fn queries_are_decoded() {
        let request = ApiRequest::new(Method::Get, "/x?query=a+b%20c%C3%A4&limit=3&bad=%zz", Value::Null);
        assert_eq!(parameter(&request, "query"), Some("a b cä"));
        assert_eq!(number(&request, "limit"), Ok(Some(3)));
        assert_eq!(parameter(&request, "bad"), Some("%zz"));
        assert_eq!(number(&request, "query").unwrap_err().code, Code::InvalidArgument);
        assert_eq!(request.path, "/x");
    }
}

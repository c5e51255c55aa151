//! Access: the headers `Host` and `Origin`, the token, and the cookie of pages.
//!
//! Clients send `Authorization: Bearer TOKEN`. A browser cannot do that when it opens a page or an `EventSource`, so
//! there are two other ways. A page opened as `/?token=TOKEN` gets a cookie, and the token leaves the address bar at
//! once. A stream also takes `?token=TOKEN`, for an `EventSource` of a page from a listed origin, which has no cookie.
//! Other paths ignore `?token=`, because URLs end up in histories and logs.

use std::net::{IpAddr, SocketAddr};

use axum::http::Uri;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::config::ServerConfig;
use crate::reply::{set, set_text};
use crate::state::Inner;

/// The part of a request that decides about access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The header `Host` is absent or names another server: the request may come from a page with a rebound name.
    Host,
    /// A page of another origin sent the request.
    Origin,
    /// `Host` or `Origin` is there twice: a proxy could have checked the other one.
    Twice,
}

fn text(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Checks the headers `Host` and `Origin`. Returns the origin if it is a listed one.
///
/// A request line can name a host, too. Proxies go by that name.
pub(crate) fn check(config: &ServerConfig, uri: &Uri, headers: &HeaderMap) -> Result<Option<String>, Denied> {
    if uri.authority().is_some_and(|named| !is_own(config, named.as_str())) {
        return Err(Denied::Host);
    }
    let is_twice = |name| headers.get_all(name).iter().nth(1).is_some();
    if is_twice(header::HOST) || is_twice(header::ORIGIN) {
        return Err(Denied::Twice);
    }
    let host = text(headers, header::HOST).filter(|host| is_own(config, host)).ok_or(Denied::Host)?;
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(None) };
    let origin = origin.to_str().map_err(|_| Denied::Origin)?;
    // `null` stands for every page without an origin: files, sandboxed frames, data URLs.
    if origin != "null" && config.allowed_origins.iter().any(|allowed| allowed == origin) {
        return Ok(Some(origin.to_owned()));
    }
    // The server itself speaks HTTP. Only a proxy in front of it, whose name is listed, serves its page by HTTPS.
    let by_proxy = origin.strip_prefix("https://").filter(|_| is_listed(config, host));
    let own = origin.strip_prefix("http://").or(by_proxy);
    if own.is_some_and(|own| own.eq_ignore_ascii_case(host)) { Ok(None) } else { Err(Denied::Origin) }
}

/// Divides a value of the header `Host` into name and port.
fn parts(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port.parse().ok()),
        _ => (host, None),
    }
}

/// Returns whether a value of the header `Host` is a name of `--allow-host`.
fn is_listed(config: &ServerConfig, host: &str) -> bool {
    let (name, _) = parts(host);
    config.allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name) || allowed.eq_ignore_ascii_case(host))
}

/// Returns whether a value of the header `Host` names this server.
fn is_own(config: &ServerConfig, host: &str) -> bool {
    let (name, port) = parts(host);
    if is_listed(config, host) {
        return true;
    }
    let bound = match config.address.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let is_local = ["localhost", "127.0.0.1", "[::1]", bound.as_str()].iter().any(|own| own.eq_ignore_ascii_case(name));
    is_local && port.unwrap_or(80) == config.address.port()
}

/// Returns whether a request may use the API.
pub(crate) fn is_authorized(inner: &Inner, headers: &HeaderMap, query_token: Option<&str>) -> bool {
    let bearer = text(headers, header::AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    if let Some(bearer) = bearer {
        return inner.config.token.is(bearer);
    }
    if query_token.is_some_and(|token| inner.config.token.is(token)) {
        return true;
    }
    // Pages of other ports of this computer count as the same site, so the browser sends the cookie with their requests.
    let is_own_page = text(headers, "sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    is_own_page && cookie(headers, &cookie_name(inner.config.address)).is_some_and(|key| inner.page_key.is(key))
}

/// Returns the name of the cookie. Cookies ignore ports, so the name contains the port.
fn cookie_name(address: SocketAddr) -> String {
    format!("emend-{}", address.port())
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let values = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(given, _)| *given == name).map(|(_, value)| value)
}

/// Adds the cookie of pages.
pub(crate) fn give_cookie(inner: &Inner, headers: &mut HeaderMap) {
    let (name, key) = (cookie_name(inner.config.address), inner.page_key.reveal());
    set_text(headers, header::SET_COOKIE, &format!("{name}={key}; Path=/; HttpOnly; SameSite=Strict"));
}

/// Allows a page of a listed origin to read the response.
pub(crate) fn allow_origin(headers: &mut HeaderMap, origin: &str, is_preflight: bool) {
    set_text(headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    set(headers, header::ACCESS_CONTROL_EXPOSE_HEADERS, "x-request-id, retry-after");
    if is_preflight {
        set(headers, header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PATCH, DELETE");
        let names = "authorization, content-type, last-event-id, x-request-id";
        set(headers, header::ACCESS_CONTROL_ALLOW_HEADERS, names);
        set(headers, header::ACCESS_CONTROL_MAX_AGE, "600");
    }
}

/// Adds the headers that every response has.
pub(crate) fn harden(headers: &mut HeaderMap) {
    set(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, header::REFERRER_POLICY, "no-referrer");
    if !headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
        set(headers, HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    }
}

//! The files of the web app, from one directory and nowhere else.

use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::http::header;
use axum::http::{Method, Response, StatusCode};
use emend_agent::error_code::Code;

use crate::path::decoded;
use crate::reply::{error, set, with_body};
use crate::state::Inner;

/// The policy of the page, as in `web/index.html`, and no frames around it.
pub(crate) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
     style-src 'self'; img-src 'self' data:; font-src 'self'; manifest-src 'self'; worker-src 'self'; \
     connect-src 'self' https: http://127.0.0.1:* http://localhost:*; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

/// Page of a server without web app.
const NO_APP: &str = "<!doctype html><meta charset=utf-8><title>Emend</title><p>The Emend service runs here. \
     Its web app was not found; name its directory with the option <code>--web-app</code> or the setting \
     <code>web_app</code>.</p>";

/// Answers with the file of a path.
pub(crate) async fn answer(inner: &Inner, method: &Method, path: &str) -> Response<Body> {
    let found = match &inner.config.web {
        Some(folder) => read(folder, path).await,
        None if path == "/" => Some((PathBuf::from("index.html"), NO_APP.as_bytes().to_vec())),
        None => None,
    };
    let Some((file, bytes)) = found else {
        return error(StatusCode::NOT_FOUND, Code::NotFound, "there is no such page");
    };
    let length = bytes.len();
    let body = if *method == Method::HEAD { Body::empty() } else { Body::from(bytes) };
    let kind = media_type(&file);
    let mut response = with_body(StatusCode::OK, kind, body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, length.into());
    let is_hashed = file.file_name().and_then(|name| name.to_str()).is_some_and(is_hashed);
    set(headers, header::CACHE_CONTROL, if is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" });
    set(headers, header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    set(headers, header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    response
}

async fn read(folder: &Path, path: &str) -> Option<(PathBuf, Vec<u8>)> {
    let relative = relative(path)?;
    let folder = tokio::fs::canonicalize(folder).await.ok()?;
    // Resolved, so that a link in the folder cannot lead out of it.
    let file = tokio::fs::canonicalize(folder.join(&relative)).await.ok()?;
    let is_inside = file.starts_with(&folder) && tokio::fs::metadata(&file).await.ok()?.is_file();
    let bytes = if is_inside { tokio::fs::read(&file).await.ok()? } else { return None };
    Some((relative, bytes))
}

/// Returns the path of a file below the folder. Names that begin with a dot, and names with a meaning on some system,
/// are not served.
fn relative(path: &str) -> Option<PathBuf> {
    let path = decoded(path)?;
    let path = path.strip_prefix('/')?;
    let path = if path.is_empty() { "index.html" } else { path };
    let is_plain = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains(['\\', ':', '\0', '%']);
    path.split('/').all(is_plain).then(|| path.split('/').collect())
}

/// Returns whether a name contains a hash of the content, as the build writes it: `core-B1x_9aQz.wasm`.
fn is_hashed(name: &str) -> bool {
    const HASH: usize = 8;
    let stem = name.split('.').next().unwrap_or_default();
    let Some(at) = stem.len().checked_sub(HASH).filter(|at| *at > 1) else { return false };
    let Some((before, hash)) = stem.split_at_checked(at) else { return false };
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    before.ends_with('-')
        && hash.bytes().all(is_fit)
        && hash.bytes().any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Returns the media type. Browsers compile wasm modules while they load, and run scripts, only if it is right.
fn media_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("md" | "txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_hash_are_told_from_others() {
        let table = [
            ("core-B1x_9aQz.wasm", true),
            ("index-DkC2-9_a.js", true),
            ("index.html", false),
            ("well-together.js", false),
            ("-B1x_9aQz.js", false),
            ("core-B1x_9aQ.wasm", false),
        ];
        for (name, expected) in table {
            assert_eq!(is_hashed(name), expected, "{name}");
        }
    }

    #[test]
    fn the_policy_is_that_of_the_page() {
        let page = include_str!("../../../web/index.html");
        let own = CONTENT_SECURITY_POLICY.strip_suffix("; frame-ancestors 'none'").unwrap();
        assert!(page.contains(&format!("content=\"{own}\"")), "{own}");
    }
}

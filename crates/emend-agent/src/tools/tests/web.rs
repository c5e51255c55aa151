//! `web_fetch`, over pages that a test makes up.

use std::sync::Mutex;

use emend_llm::{BoxFuture, CancelToken, Headers, HttpRequest, HttpResponse, Shared, Transport, TransportError};
use expect_test::{Expect, expect};
use futures::stream;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::Bench;
use crate::session::tests::TickingClock;
use crate::tools::{WebFetch, WebFetchOptions};

/// The response of an address.
#[derive(Clone)]
enum Answer {
    Page(&'static str, Vec<u8>),
    Redirect(&'static str),
    Status(u16),
    /// A body that never ends.
    Endless,
    /// No answer ever.
    Silence,
    Broken,
}

#[derive(Default)]
struct Web {
    pages: Vec<(&'static str, Answer)>,
    asked: Mutex<Vec<HttpRequest>>,
}

impl Transport for Web {
    fn send(&self, request: HttpRequest, _cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let answer = self.pages.iter().find(|(url, _)| *url == request.url).map(|(_, answer)| answer.clone());
        let host = request.url.clone();
        self.asked.lock().unwrap().push(request);
        Box::pin(async move {
            let head = |status: u16, name: &str, value: &str| HttpResponse {
                status,
                headers: Headers(vec![(name.to_owned(), value.to_owned())]),
                body: Box::pin(stream::empty()),
            };
            Ok(match answer.unwrap_or(Answer::Status(404)) {
                Answer::Page(content_type, body) => {
                    // In pieces, as a network brings it.
                    let chunks: Vec<_> = body.chunks(7).map(|chunk| Ok(chunk.to_vec())).collect();
                    HttpResponse { body: Box::pin(stream::iter(chunks)), ..head(200, "Content-Type", content_type) }
                }
                Answer::Redirect(location) => head(302, "Location", location),
                Answer::Status(status) => head(status, "Content-Type", "text/html"),
                Answer::Endless => HttpResponse {
                    body: Box::pin(stream::repeat_with(|| Ok(vec![b'x'; 1 << 16]))),
                    ..head(200, "content-type", "text/plain")
                },
                Answer::Silence => std::future::pending().await,
                Answer::Broken => {
                    let reason = "reset".to_owned();
                    let chunks = stream::iter([Ok(vec![b'x']), Err(TransportError::Interrupted { host, reason })]);
                    HttpResponse { body: Box::pin(chunks), ..head(200, "content-type", "text/plain") }
                }
            })
        })
    }
}

fn bench(pages: Vec<(&'static str, Answer)>, options: WebFetchOptions) -> (Bench, Shared<Web>) {
    let web = Shared::new(Web { pages, asked: Mutex::default() });
    let mut bench = Bench::new("");
    let transport = Shared::clone(&web) as Shared<dyn Transport>;
    bench.tools.register(Shared::new(WebFetch::new(transport, Shared::new(TickingClock::default()), options)));
    (bench, web)
}

#[track_caller]
fn check(pages: Vec<(&'static str, Answer)>, arguments: Value, expected: &Expect) -> Shared<Web> {
    let (bench, web) = bench(pages, WebFetchOptions::default());
    bench.check("web_fetch", arguments, expected);
    web
}

fn page(content_type: &'static str, body: &str) -> Answer {
    Answer::Page(content_type, body.as_bytes().to_vec())
}

const URL: &str = "https://a.example/";

#[test]
fn a_page_is_read_as_text_and_other_text_as_it_is() {
    let html = "<title>Docs</title><h1>Use</h1><p>See <a href=/more>more</a>.";
    let web = check(
        vec![(URL, page("text/html; charset=utf-8", html))],
        json!({"url": " https://a.example/#use "}),
        &expect![[r#"
            [https://a.example/ | text/html]
            Docs

            # Use

            See [more](/more).
        "#]],
    );
    let asked = web.asked.lock().unwrap();
    assert_eq!((asked[0].method, asked[0].url.as_str(), asked[0].body.len()), ("GET", URL, 0));
    assert!(asked[0].headers.0.iter().all(|(name, _)| name == "accept"), "no key and no cookie");
    check(
        vec![(URL, page("application/json", "{\"a\": 1}"))],
        json!({"url": URL}),
        &expect![[r#"
        [https://a.example/ | application/json]
        {"a": 1}
    "#]],
    );
    check(
        vec![(URL, page("", "<!DOCTYPE html><p>x"))],
        json!({"url": URL}),
        &expect![[r#"
            [https://a.example/ | of no declared type]
            x
        "#]],
    );
    check(
        vec![(URL, Answer::Page("text/plain; charset=ISO-8859-1", b"caf\xe9".to_vec()))],
        json!({"url": URL}),
        &expect![[r#"
            [https://a.example/ | text/plain]
            café
        "#]],
    );
    check(
        vec![(URL, page("text/html", ""))],
        json!({"url": URL}),
        &expect![[r#"
        [https://a.example/ | empty page]

    "#]],
    );
}

#[test]
fn redirects_are_followed_and_each_hop_is_checked() {
    let web = check(
        vec![
            (URL, Answer::Redirect("/b")),
            ("https://a.example/b", Answer::Redirect("http://c.example/d")),
            ("http://c.example/d", page("text/plain", "there")),
        ],
        json!({"url": URL}),
        &expect![[r#"
            [http://c.example/d | text/plain]
            there
        "#]],
    );
    assert_eq!(web.asked.lock().unwrap().len(), 3);
    let web = check(
        vec![(URL, Answer::Redirect("http://169.254.169.254/latest/meta-data"))],
        json!({"url": URL}),
        &expect![[r#"
            [permission_denied] 169.254.169.254 is not fetched: it is not on the public internet
        "#]],
    );
    assert_eq!(web.asked.lock().unwrap().len(), 1, "the private address is never asked");
    check(
        vec![(URL, Answer::Redirect("file:///etc/passwd"))],
        json!({"url": URL}),
        &expect![[r#"
        [invalid_argument] file:///etc/passwd is not fetched: only http and https addresses are
    "#]],
    );
    let web = check(
        vec![(URL, Answer::Redirect(URL))],
        json!({"url": URL}),
        &expect![[r#"
        [limit_reached] https://a.example/ redirects more than 5 times
    "#]],
    );
    assert_eq!(web.asked.lock().unwrap().len(), 6);
}

#[test]
fn what_cannot_be_fetched_says_why() {
    check(
        vec![],
        json!({"url": "file:///etc/passwd"}),
        &expect![[r#"
        [invalid_argument] file:///etc/passwd is not fetched: only http and https addresses are
    "#]],
    );
    check(
        vec![],
        json!({"url": "http://localhost:8080/"}),
        &expect![[r#"
        [permission_denied] localhost is not fetched: it is not on the public internet
    "#]],
    );
    check(
        vec![],
        json!({"url": "https://me:secret@a.example/"}),
        &expect![[r#"
        [invalid_argument] https://me:secret@a.example/ is not a web address: it holds a user name
    "#]],
    );
    check(
        vec![],
        json!({"url": URL}),
        &expect![[r#"
        [not_found] https://a.example/ answered with status 404
    "#]],
    );
    check(
        vec![(URL, Answer::Status(403))],
        json!({"url": URL}),
        &expect![[r#"
        [permission_denied] https://a.example/ answered with status 403
    "#]],
    );
    check(
        vec![(URL, Answer::Status(503))],
        json!({"url": URL}),
        &expect![[r#"
        [io_error] https://a.example/ answered with status 503
    "#]],
    );
    check(
        vec![(URL, page("application/pdf", "%PDF"))],
        json!({"url": URL}),
        &expect![[r#"
        [unsupported] https://a.example/ is application/pdf; only text and images can be read
    "#]],
    );
    check(
        vec![(URL, page("text/plain", "a\0b"))],
        json!({"url": URL}),
        &expect![[r#"
            [unsupported] https://a.example/ is binary; only text and images can be read
        "#]],
    );
    check(
        vec![(URL, Answer::Broken)],
        json!({"url": URL}),
        &expect![[r#"
        [network] the connection to https://a.example/ was lost: reset
    "#]],
    );
}

#[test]
fn size_and_time_are_limited() {
    check(
        vec![(URL, Answer::Endless)],
        json!({"url": URL}),
        &expect![[r#"
        [limit_reached] https://a.example/ is larger than 2097152 bytes
    "#]],
    );
    // The clock of these tests lets no time pass, so the limit is reached at once.
    check(
        vec![(URL, Answer::Silence)],
        json!({"url": URL}),
        &expect![[r#"
        [timeout] https://a.example/ did not answer within 30000 ms
    "#]],
    );
}

#[test]
fn private_addresses_are_fetched_where_the_host_allows_it() {
    let options = WebFetchOptions { allow_private: true, ..WebFetchOptions::default() };
    let (bench, _) = bench(vec![("http://127.0.0.1:8080/", page("text/plain", "mine"))], options);
    assert!(bench.call("web_fetch", json!({"url": "http://127.0.0.1:8080"})).ends_with("\nmine"));
}

#[test]
fn a_long_page_is_read_in_parts_and_an_image_is_shown() {
    let text: String = (0..10_000).map(|index| format!("{index:05}\n")).collect();
    let pages = vec![
        (URL, Answer::Page("text/plain", text.clone().into_bytes())),
        ("https://a.example/i", Answer::Page("image/png", b"\x89PNG\r\n\x1a\n\0".to_vec())),
    ];
    let (bench, _) = bench(pages, WebFetchOptions::default());
    let (mut read, mut offset) = (String::new(), 0);
    while offset < text.len() {
        let output = bench.try_call("web_fetch", json!({"url": URL, "offset": offset})).unwrap();
        assert!(output.text.chars().count() <= 30_000, "the pipeline cuts nothing");
        let part = output.data["content"].as_str().unwrap();
        offset += part.len();
        let is_last = !output.text.contains(&format!("continue with offset {offset}]"));
        assert_eq!(is_last, offset == text.len());
        read.push_str(part);
    }
    assert_eq!(read, text);
    bench.check(
        "web_fetch",
        json!({"url": URL, "offset": 60_000}),
        &expect![[r#"
        [invalid_argument] offset 60000 is past the end of https://a.example/, which has 60000 characters
    "#]],
    );
    let image = bench.try_call("web_fetch", json!({"url": "https://a.example/i"})).unwrap();
    assert_eq!(image.image.unwrap().media_type.as_deref(), Some("image/png"));
}

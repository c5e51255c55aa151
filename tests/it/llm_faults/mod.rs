//! Servers that reject, disconnect, stall and send garbage: the resulting error in each of the four formats, and the
//! number of attempts. Every request goes through the real client and transport; the server counts the requests.

pub(crate) mod answers;
pub(crate) mod ask;

use std::any::Any;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use emend_host::{OsRandom, SystemClock, Timeouts};
use emend_llm::generate::{Generate, GenerateEvent, Generator};
use emend_llm::{Api, CancelToken, Client, ErrorKind, StreamEvent};
use futures::StreamExt as _;
use futures::future::join_all;

use self::answers::{Answer, TEXT, answer, error_body};
use self::ask::{KEY, Outcome, ask, patient};
use crate::checklist::covers;
use crate::http_server::{Server, response, say, wait_for_end};

/// The delays of the default policy if the provider asks for none.
const WAITS: &[u64] = &[1000, 2000];

const SSE: &str = "Content-Type: text/event-stream";

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// The expected outcome, the same for every format.
#[derive(Clone, Copy)]
struct Expected {
    text: &'static str,
    error: Option<ErrorKind>,
    waits: &'static [u64],
}

/// An error that a retry would not fix.
fn stands(kind: ErrorKind) -> Expected {
    Expected { text: "", error: Some(kind), waits: &[] }
}

/// An error after all attempts that the policy allows.
fn repeated(kind: ErrorKind, waits: &'static [u64]) -> Expected {
    Expected { waits, ..stands(kind) }
}

/// An error in the middle of the text, which is kept.
fn partial(kind: ErrorKind) -> Expected {
    Expected { text: TEXT, ..stands(kind) }
}

const FINE: Expected = Expected { text: TEXT, error: None, waits: &[] };

/// One kind of misbehaviour.
struct Row {
    name: &'static str,
    serve: Box<dyn Fn(Api) -> Server>,
    timeouts: Timeouts,
    /// Whether the time limits are long enough for a busy machine to send the whole request.
    sends_all: bool,
    expected: Expected,
}

impl Row {
    fn new(name: &'static str, expected: Expected, serve: impl Fn(Api) -> Server + 'static) -> Self {
        Self { name, serve: Box::new(serve), timeouts: patient(), sends_all: true, expected }
    }

    /// A row whose server always sends the same response.
    fn says(name: &'static str, expected: Expected, bytes: impl Fn(Api) -> Vec<u8> + 'static) -> Self {
        Self::new(name, expected, move |api| Server::saying(bytes(api)))
    }

    fn within(self, timeouts: Timeouts) -> Self {
        Self { timeouts, ..self }
    }

    /// As [`within`](Self::within), with time limits that may expire before the request is sent: the outcome is the same.
    fn within_moments(self, timeouts: Timeouts) -> Self {
        Self { timeouts, sends_all: false, ..self }
    }
}

/// Runs every row with every format at the same time, and lists the rows that differ.
#[track_caller]
fn check(rows: Vec<Row>) {
    let cases = rows.iter().flat_map(|row| Api::ALL.map(|api| (row, api)));
    let wrong: Vec<String> = run(join_all(cases.map(|(row, api)| async move {
        let server = (row.serve)(api);
        let found = ask(api, &server.url(), row.timeouts).await;
        let expected = Outcome {
            text: row.expected.text.to_owned(),
            error: row.expected.error,
            attempts: row.expected.waits.len() + 1,
            waits: row.expected.waits.to_vec(),
        };
        let requests = server.requests();
        assert!(requests.iter().all(|request| request.contains(KEY)), "the control: the key was sent");
        let counted =
            if row.sends_all { requests.len() == expected.attempts } else { requests.len() <= expected.attempts };
        (found != expected || !counted).then(|| {
            format!("{} {}: {found:?}, {} requests; expected {expected:?}", row.name, api.name(), requests.len())
        })
    })))
    .into_iter()
    .flatten()
    .collect();
    println!("{} faults, each in {} formats", rows.len(), Api::ALL.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A row whose server rejects the request, in the provider's own wording and with the key in it.
fn refuses(
    status: u16,
    headers: &'static [&'static str],
    names: [&'static str; 3],
    message: &'static str,
    expected: Expected,
) -> Row {
    Row::says(names[0], expected, move |api| {
        let message = format!("{message} (key {KEY}, that is sk-topsecret-****cdef)");
        let body = error_body(api, status, names, &message);
        response(status, &[headers, &["Content-Type: application/json"]].concat(), body.as_bytes())
    })
}

#[test]
fn error_responses_are_classified_and_retried_only_if_that_may_help() {
    covers("adapter.error_class adapter.retry_after retry.classes retry.retryable retry.backoff retry.retry_after");
    covers("retry.rate_limit retry.permanent provider.retry_after secrets.errors");
    use ErrorKind::*;
    let invalid = ["invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"];
    let limited = ["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"];
    let failed = ["api_error", "server_error", "INTERNAL"];
    let overloaded = ["overloaded_error", "server_error", "UNAVAILABLE"];
    let denied = ["permission_error", "permission_denied", "PERMISSION_DENIED"];
    let too_long = "prompt is too long: this model's maximum context length is 10 tokens";
    check(vec![
        refuses(401, &[], ["authentication_error", "invalid_api_key", "UNAUTHENTICATED"], "no", stands(Authentication)),
        refuses(403, &[], denied, "no access", stands(AccessDenied)),
        refuses(404, &[], ["not_found_error", "model_not_found", "NOT_FOUND"], "no such model", stands(NotFound)),
        refuses(400, &[], invalid, "bad field", stands(InvalidRequest)),
        refuses(400, &[], invalid, too_long, stands(ContextLength)),
        refuses(413, &[], ["request_too_large", "request_too_large", "X"], "too many bytes", stands(ContextLength)),
        refuses(429, &[], limited, "slow down", repeated(RateLimit, WAITS)),
        refuses(429, &["Retry-After: 7"], limited, "slow down", repeated(RateLimit, &[7000, 7000])),
        refuses(429, &["Retry-After-Ms: 40"], limited, "slow down", repeated(RateLimit, &[40, 40])),
        refuses(429, &["Retry-After: 3600"], limited, "slow down", stands(RateLimit)),
        refuses(500, &[], failed, "oops", repeated(Server, WAITS)),
        refuses(501, &[], failed, "oops", repeated(Server, WAITS)),
        refuses(502, &[], failed, "bad gateway", repeated(Server, WAITS)),
        refuses(503, &["Retry-After: 2"], overloaded, "busy", repeated(Server, &[2000, 2000])),
        refuses(529, &[], overloaded, "Overloaded", repeated(Server, WAITS)),
        refuses(529, &["x-should-retry: false"], overloaded, "Overloaded", stands(Server)),
    ]);
}

fn stream(parts: &[&str]) -> Vec<u8> {
    response(200, &[SSE], parts.concat().as_bytes())
}

/// The same with a length that is larger than the body.
fn cut_stream(parts: &[&str]) -> Vec<u8> {
    response(200, &[SSE, "Content-Length: 100000"], parts.concat().as_bytes())
}

#[test]
fn a_truncated_response_is_an_error_and_retried_only_before_its_first_content() {
    covers("retry.after_content stream.incomplete");
    use ErrorKind::Stream;
    let half = |text: &str| text[..text.len() / 2].to_owned();
    check(vec![
        Row::says("an answer as it should be", FINE, |api| stream(&[&answer(api).stream()])),
        Row::says("nothing", repeated(Stream, WAITS), |_| stream(&[])),
        Row::says("cut at once", repeated(Stream, WAITS), |_| cut_stream(&[])),
        Row::says("cut in the first event", repeated(Stream, WAITS), move |api| {
            cut_stream(&[&half(&answer(api).start)])
        }),
        Row::says("cut after the text", partial(Stream), |api| {
            let Answer { start, content, .. } = answer(api);
            cut_stream(&[&start, &content])
        }),
        Row::says("cut in the event after the text", partial(Stream), move |api| {
            let Answer { start, content, end, .. } = answer(api);
            cut_stream(&[&start, &content, &half(end.split("\n\n").next().unwrap())])
        }),
        Row::says("ended without its end event", partial(Stream), |api| {
            let Answer { start, content, .. } = answer(api);
            stream(&[&start, &content])
        }),
    ]);
}

#[test]
fn garbage_is_reported_as_a_stream_error() {
    use ErrorKind::{Configuration, Stream};
    check(vec![
        Row::says("not HTTP", repeated(Stream, WAITS), |_| b"what?\r\n\r\n".to_vec()),
        Row::says("no answer at all", repeated(Stream, WAITS), |_| Vec::new()),
        Row::says("bytes", repeated(Stream, WAITS), |_| response(200, &[SSE], b"data: \xFF\xFE\x00\n\n")),
        Row::says("an event that is no JSON", repeated(Stream, WAITS), |_| stream(&["data: {not json\n\n"])),
        Row::says("garbage after the text", partial(Stream), |api| {
            let Answer { start, content, .. } = answer(api);
            stream(&[&start, &content, "data: {\"cut\": \n\n"])
        }),
        Row::says("a web page", stands(Configuration), |_| {
            response(200, &["Content-Type: text/html"], b"<!doctype html><title>Sign in</title>")
        }),
        Row::says("plain text", repeated(Stream, WAITS), |_| {
            response(200, &["Content-Type: text/plain"], b"upstream connect error")
        }),
        Row::says("a stream with another label", FINE, |api| {
            response(200, &["Content-Type: application/json"], answer(api).stream().as_bytes())
        }),
        Row::says("a whole answer with another label", FINE, |api| response(200, &[SSE], answer(api).whole.as_bytes())),
        Row::says("no label", FINE, |api| response(200, &[], answer(api).stream().as_bytes())),
    ]);
}

#[test]
fn a_silent_connection_times_out_and_a_slow_one_does_not() {
    use ErrorKind::RequestTimeout;
    let quick = Timeouts { idle_ms: 300, ..patient() };
    // Long enough for the beginning to arrive on a busy machine.
    let longer = Timeouts { idle_ms: 10_000, ..patient() };
    check(vec![
        Row::new("no answer", repeated(RequestTimeout, WAITS), |_| Server::start(wait_for_end)).within_moments(quick),
        Row::new("stalled after the text", partial(RequestTimeout), |api| {
            Server::start(move |stream| {
                let Answer { start, content, .. } = answer(api);
                say(stream, cut_stream(&[&start, &content]));
                wait_for_end(stream);
            })
        })
        .within(longer),
        Row::new("byte by byte", FINE, |api| {
            Server::start(move |stream| {
                for byte in response(200, &[SSE], answer(api).stream().as_bytes()) {
                    say(stream, [byte]);
                    thread::yield_now();
                }
            })
        }),
        Row::new("signs of life for ever", repeated(RequestTimeout, WAITS), |_| {
            Server::start(|stream| {
                say(stream, response(200, &[SSE], b""));
                while stream.write_all(b": wait\n").is_ok() {
                    thread::sleep(Duration::from_millis(20));
                }
            })
        })
        .within_moments(Timeouts { total_ms: 600, ..patient() }),
    ]);
}

#[test]
fn a_closed_port_is_retried() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for api in Api::ALL {
        let found = run(ask(api, &format!("http://{address}"), patient()));
        let error = Some(ErrorKind::Network);
        assert_eq!(found, Outcome { text: String::new(), error, attempts: 3, waits: WAITS.to_vec() });
    }
}

#[test]
fn a_redirect_is_reported_and_gets_no_key() {
    let elsewhere = Arc::new(Server::saying(response(200, &[SSE], b"")));
    let rows = [301, 302, 303, 307, 308].map(|status| {
        let url = elsewhere.url();
        Row::says("a redirect", stands(ErrorKind::Configuration), move |_| {
            response(status, &[&format!("Location: {url}/v1/messages")], b"")
        })
    });
    check(rows.into());
    assert_eq!(elsewhere.requests(), [""; 0], "the other host was asked");
    run(ask(Api::Gemini, &elsewhere.url(), patient()));
    assert!(elsewhere.requests()[0].contains(KEY), "the control: it does answer");
}

/// Wraps bytes in gzip without compressing them.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let checksum = !bytes
        .iter()
        .fold(!0_u32, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xEDB8_8320 * (sum & 1))));
    let length = u16::try_from(bytes.len()).unwrap();
    let mut packed = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01".to_vec();
    packed.extend(length.to_le_bytes());
    packed.extend((!length).to_le_bytes());
    packed.extend(bytes);
    packed.extend(checksum.to_le_bytes());
    packed.extend(u32::from(length).to_le_bytes());
    packed
}

#[test]
fn an_unrequested_compressed_response_is_read_or_rejected() {
    let denied = ["permission_error", "permission_denied", "PERMISSION_DENIED"];
    let packed = ["Content-Encoding: gzip", SSE];
    check(vec![
        Row::says("gzip", FINE, move |api| response(200, &packed, &gzip(answer(api).stream().as_bytes()))),
        Row::says("an error in gzip", stands(ErrorKind::AccessDenied), move |api| {
            response(403, &packed, &gzip(error_body(api, 403, denied, KEY).as_bytes()))
        }),
        Row::says("gzip that breaks off", repeated(ErrorKind::Stream, WAITS), move |api| {
            response(200, &packed, &gzip(answer(api).start.as_bytes())[..20])
        }),
        Row::says("what only looks like gzip", repeated(ErrorKind::Stream, WAITS), move |api| {
            response(200, &packed, answer(api).stream().as_bytes())
        }),
        Row::says("another compression", stands(ErrorKind::Configuration), |_| {
            response(200, &["Content-Encoding: br", SSE], b"\x0b\x02\x80")
        }),
    ]);
}

const MEBIBYTE: usize = 1024 * 1024;
/// The time for an endless line before the server gives up.
const ENDLESS_BYTES: usize = 100 * MEBIBYTE;

/// A server that sends `start`, then the same byte without end, and counts the bytes that were accepted.
fn endless(start: Vec<u8>) -> (Server, Arc<AtomicUsize>) {
    let written = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&written);
    let server = Server::start(move |stream| {
        say(stream, &start);
        let block = vec![b'x'; 64 * 1024];
        for _ in 0..ENDLESS_BYTES / block.len() {
            if stream.write_all(&block).is_err() {
                return;
            }
            counter.fetch_add(block.len(), Ordering::SeqCst);
        }
    });
    (server, written)
}

/// Checks that an endless body cannot fill the memory: the client must disconnect before the server has sent
/// `mebibytes_max`, including bytes in socket buffers.
#[track_caller]
fn check_endless(start: &[u8], expected: Expected, mebibytes_max: usize) {
    for api in Api::ALL {
        let (server, written) = endless(start.to_vec());
        let found = run(ask(api, &server.url(), patient()));
        let taken = written.load(Ordering::SeqCst) / MEBIBYTE / server.requests().len();
        assert_eq!((found.error, &*found.waits), (expected.error, expected.waits), "{}", api.name());
        assert_eq!(server.requests().len(), expected.waits.len() + 1, "{}", api.name());
        assert!(taken < mebibytes_max, "{}: {taken} MiB of an answer were taken", api.name());
    }
}

#[test]
fn a_line_of_100_megabytes_is_rejected_early() {
    covers("stream.chunking");
    check_endless(&response(200, &[SSE], b"data: "), stands(ErrorKind::Stream), 40);
}

#[test]
fn a_document_of_100_megabytes_is_rejected() {
    check_endless(&response(200, &[SSE], b"{\"text\": \""), stands(ErrorKind::Stream), 90);
}

#[test]
fn an_error_body_of_100_megabytes_is_read_in_part() {
    check_endless(&response(500, &[], b""), repeated(ErrorKind::Server, WAITS), 40);
}

/// Cancels after the first text and keeps the stream. The server must see the connection end nevertheless, otherwise
/// the model would continue for no reader.
#[track_caller]
fn check_hang_up(api: Api, ask: impl AsyncFnOnce(Client, CancelToken) -> Box<dyn Any>) {
    let (sender, gone) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |stream| {
        let Answer { start, content, .. } = answer(api);
        say(stream, cut_stream(&[&start, &content]));
        wait_for_end(stream);
        let _ = sender.send(());
    });
    run(async {
        let _kept = ask(ask::client(api, &server.url()), CancelToken::new()).await;
        let mut gone = gone;
        let closed = tokio::time::timeout(Duration::from_secs(60), gone.recv()).await;
        assert_eq!(closed, Ok(Some(())), "{}: the connection stays open", api.name());
    });
}

#[test]
fn cancelling_closes_the_connection_of_a_kept_stream() {
    covers("generate.cancel");
    for api in Api::ALL {
        check_hang_up(api, async |client, cancel| {
            let mut events = client.stream(ask::request(), cancel.clone()).await.unwrap();
            while let Some(Ok(event)) = events.next().await {
                if matches!(event, StreamEvent::TextDelta { .. }) {
                    cancel.cancel();
                }
            }
            Box::new(events) as Box<dyn Any>
        });
        check_hang_up(api, async |client, cancel| {
            let generator = Generator { client, clock: Arc::new(SystemClock), random: Arc::new(OsRandom) };
            let options = Generate { prompt: Some("hi".into()), cancel: cancel.clone(), ..Generate::default() };
            let mut events = generator.stream(options).unwrap();
            while let Some(Ok(event)) = events.next().await {
                if matches!(event, GenerateEvent::Model(StreamEvent::TextDelta { .. })) {
                    cancel.cancel();
                }
            }
            Box::new(events) as Box<dyn Any>
        });
    }
}

//! The transport against a small server, with correct and with faulty responses.

use std::io::Write as _;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use emend_tests::http::{read_request, say, wait_for_end};
use futures::StreamExt as _;

use super::*;

const KEY: &str = "sk-very-secret";

/// Starts a server on this machine that reads one request per connection and then calls `answer`. The receiver gets the
/// requests.
fn serve(answer: impl Fn(&mut TcpStream) + Send + 'static) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let request = read_request(&mut stream).unwrap_or_default();
            if sender.send(request).is_err() {
                return;
            }
            answer(&mut stream);
        }
    });
    (address, received)
}

fn request(url: String) -> HttpRequest {
    let mut headers = Headers::default();
    headers.set("x-api-key", KEY);
    headers.set("content-type", "application/json");
    HttpRequest { method: "POST", url, headers, body: b"{\"a\":1}".to_vec() }
}

/// Limits that a busy machine does not reach.
fn patient() -> Timeouts {
    Timeouts { connect_ms: 60_000, idle_ms: 60_000, total_ms: 60_000 }
}

/// Limits with a short idle time. Only one limit is short: if two end together, either may be reported.
fn quick() -> Timeouts {
    Timeouts { idle_ms: 300, ..patient() }
}

/// Sends a request and reads the response: its status, its body, and the error that ended it, if any.
async fn exchange_with(
    timeouts: Timeouts,
    request: HttpRequest,
    cancel: CancelToken,
) -> Result<(u16, String, Option<TransportError>), TransportError> {
    let mut response = ReqwestTransport::new(timeouts).send(request, cancel).await?;
    let mut body = Vec::new();
    let mut failure = None;
    while let Some(chunk) = response.body.next().await {
        match chunk {
            Ok(chunk) => body.extend(chunk),
            Err(error) => failure = Some(error),
        }
    }
    Ok((response.status, String::from_utf8(body).unwrap(), failure))
}

#[track_caller]
fn exchange(request: HttpRequest) -> Result<(u16, String, Option<TransportError>), TransportError> {
    run(exchange_with(patient(), request, CancelToken::new()))
}

#[track_caller]
fn exchange_within(
    timeouts: Timeouts,
    address: SocketAddr,
) -> Result<(u16, String, Option<TransportError>), TransportError> {
    run(exchange_with(timeouts, request(format!("http://{address}/")), CancelToken::new()))
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn a_streamed_answer_arrives_as_it_comes() {
    let (address, received) = serve(|stream| {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
        say(stream, "6\r\nfirst \r\n");
        thread::sleep(Duration::from_millis(100));
        say(stream, "6\r\nsecond\r\n0\r\n\r\n");
    });
    run(async {
        let transport = ReqwestTransport::new(patient());
        let sent = transport.send(request(format!("http://{address}/v1/messages?x=1")), CancelToken::new()).await;
        let mut response = sent.unwrap();
        assert_eq!(response.status, 200);
        assert_eq!(response.headers.get("content-type"), Some("text/event-stream"));
        assert_eq!(response.body.next().await, Some(Ok(b"first ".to_vec())));
        assert_eq!(response.body.next().await, Some(Ok(b"second".to_vec())));
        assert_eq!(response.body.next().await, None);
    });
    let sent = received.recv().unwrap();
    assert!(sent.starts_with("POST /v1/messages?x=1 HTTP/1.1\r\n"), "{sent}");
    assert!(sent.contains(&format!("x-api-key: {KEY}\r\n")) && sent.ends_with("\r\n\r\n{\"a\":1}"), "{sent}");
}

#[test]
fn an_error_status_is_a_response() {
    let (address, _received) = serve(|stream| {
        say(stream, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 17\r\nRetry-After: 7\r\n\r\n{\"error\":\"no key\"");
    });
    let found = exchange(request(format!("http://{address}/")));
    assert_eq!(found, Ok((401, "{\"error\":\"no key\"".to_owned(), None)));
}

#[test]
fn a_truncated_response_is_distinguished_from_a_complete_one() {
    for head in ["Content-Length: 100\r\n\r\npart", "Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"] {
        let (address, _received) = serve(move |stream| {
            say(stream, format!("HTTP/1.1 200 OK\r\n{head}"));
            thread::sleep(Duration::from_millis(50));
            let _ = stream.shutdown(Shutdown::Both);
        });
        let (status, body, failure) = exchange(request(format!("http://{address}/"))).unwrap();
        assert_eq!((status, body.as_str()), (200, "part"), "{head}");
        let Some(TransportError::Interrupted { host, .. }) = failure else { panic!("{head}: {failure:?}") };
        assert_eq!(host, address.to_string());
    }
}

#[test]
fn a_response_that_is_not_http_is_an_interruption() {
    for answer in ["", "what?\r\n\r\n", "HTTP/1.1 200"] {
        let (address, _received) = serve(move |stream| say(stream, answer));
        let found = exchange(request(format!("http://{address}/")));
        assert!(matches!(found, Err(TransportError::Interrupted { .. })), "{answer:?}: {found:?}");
    }
}

#[test]
fn silence_ends_at_the_idle_limit() {
    let timed_out = |address: SocketAddr, after_ms: u64| TransportError::Timeout {
        host: address.to_string(),
        after_ms,
        phase: "idle",
    };
    let (address, _received) = serve(wait_for_end);
    assert_eq!(exchange_within(quick(), address), Err(timed_out(address, 300)));
    // Long enough for the first bytes to arrive on a busy machine.
    let longer = Timeouts { idle_ms: 5000, ..patient() };
    let (address, _received) = serve(|stream| {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart");
        wait_for_end(stream);
    });
    let found = exchange_within(longer, address);
    assert_eq!(found, Ok((200, "part".to_owned(), Some(timed_out(address, 5000)))));
}

#[test]
fn a_slow_response_ends_at_the_total_limit() {
    let (address, _received) = serve(|stream| {
        say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let timeouts = Timeouts { total_ms: 5000, ..patient() };
    let sent = request(format!("http://{address}/"));
    let (_, body, failure) = run(exchange_with(timeouts, sent, CancelToken::new())).unwrap();
    assert!(!body.is_empty());
    assert_eq!(failure, Some(TransportError::Timeout { host: address.to_string(), after_ms: 5000, phase: "total" }));
}

#[test]
fn a_refused_connection_is_reported_with_its_address() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let found = exchange(request(format!("http://{address}/?key={KEY}"))).unwrap_err();
    assert!(matches!(&found, TransportError::Connect { host, .. } if *host == address.to_string()), "{found:?}");
    assert!(found.to_string().contains("refused") && !found.to_string().contains(KEY), "{found}");
}

#[test]
fn a_connection_that_is_not_accepted_times_out() {
    // The queue is short and nothing accepts from it, so the system drops further attempts.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (listener, address) = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    });
    let wait = Duration::from_millis(100);
    let waiting: Vec<TcpStream> = (0..8).map_while(|_| TcpStream::connect_timeout(&address, wait).ok()).collect();
    assert!(waiting.len() < 8, "the queue never filled");
    let found = exchange_within(Timeouts { connect_ms: 300, ..patient() }, address);
    let expected = TransportError::Timeout { host: address.to_string(), after_ms: 300, phase: "connect" };
    assert_eq!(found, Err(expected));
    drop(listener);
}

#[test]
fn a_server_without_tls_cannot_be_reached_by_https() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        say(&mut stream, "HTTP/1.1 400 Bad Request\r\n\r\n");
        wait_for_end(&mut stream);
    });
    let found = exchange(request(format!("https://{address}/")));
    assert!(matches!(found, Err(TransportError::Connect { .. })), "{found:?}");
}

#[test]
fn a_redirect_is_not_followed_and_the_key_stays() {
    let (elsewhere, received) = serve(|stream| say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    for status in [301, 302, 303, 307, 308] {
        let (address, _received) = serve(move |stream| {
            say(
                stream,
                format!("HTTP/1.1 {status} Away\r\nLocation: http://{elsewhere}/\r\nContent-Length: 0\r\n\r\n"),
            );
        });
        let found = exchange(request(format!("http://{address}/")));
        assert_eq!(found, Ok((status, String::new(), None)));
    }
    assert!(received.try_recv().is_err(), "the other host got a request");
    // Positive control: the other host responds.
    assert_eq!(exchange(request(format!("http://{elsewhere}/"))), Ok((200, String::new(), None)));
    assert!(received.recv().unwrap().contains(KEY));
}

#[test]
fn an_invalid_request_is_rejected_without_quoting_the_key() {
    let mut pasted = request("http://127.0.0.1:9/".to_owned());
    pasted.headers.set("x-api-key", format!("{KEY}\n"));
    for (request, names) in [(pasted, "x-api-key"), (request("not an address".to_owned()), "not an address")] {
        let found = exchange(request).unwrap_err();
        assert!(matches!(found, TransportError::Unsendable { .. }), "{found:?}");
        assert!(found.to_string().contains(names) && !found.to_string().contains(KEY), "{found}");
    }
}

#[test]
fn cancelling_ends_an_exchange_in_every_phase() {
    let cancelled = |start: &str| {
        let start = start.to_owned();
        let (gone, is_gone) = channel();
        let (address, received) = serve(move |stream| {
            say(stream, &start);
            wait_for_end(stream);
            let _ = gone.send(());
        });
        let cancel = CancelToken::new();
        let trigger = cancel.clone();
        thread::spawn(move || {
            let _ = received.recv();
            thread::sleep(Duration::from_millis(50));
            trigger.cancel();
        });
        let begun = std::time::Instant::now();
        let found = run(exchange_with(patient(), request(format!("http://{address}/")), cancel));
        assert!(begun.elapsed() < Duration::from_millis(patient().idle_ms / 2), "a limit ended it");
        is_gone.recv_timeout(Duration::from_secs(60)).expect("the connection is closed");
        found
    };
    assert_eq!(cancelled(""), Err(TransportError::Cancelled));
    let in_body = cancelled("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart");
    assert_eq!(in_body, Ok((200, "part".to_owned(), Some(TransportError::Cancelled))));
    let cancel = CancelToken::new();
    cancel.cancel();
    let before = run(exchange_with(patient(), request("http://127.0.0.1:9/".to_owned()), cancel));
    assert_eq!(before, Err(TransportError::Cancelled));
}

#[test]
fn addresses_on_this_machine_are_known() {
    for (url, expected) in [
        ("http://localhost:1/", true),
        ("http://127.0.0.5/", true),
        ("http://[::1]:80/", true),
        ("https://localhost.example.com/", false),
        ("https://10.0.0.1/", false),
    ] {
        assert_eq!(is_on_this_machine(&Url::parse(url).unwrap()), expected, "{url}");
    }
}

#[test]
fn a_public_only_transport_reaches_only_public_addresses() {
    let (address, received) = serve(|stream| say(stream, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"));
    let send = |transport: ReqwestTransport, host: &str| {
        let request = HttpRequest {
            method: "GET",
            url: format!("http://{host}:{}/", address.port()),
            headers: Headers::default(),
            body: Vec::new(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(transport.send(request, CancelToken::new())).map(|response| response.status)
    };
    let public = || ReqwestTransport::new(Timeouts::default()).public_only();
    for host in ["127.0.0.1", "[::1]", "2130706433", "0x7f.1"] {
        let error = send(public(), host).unwrap_err();
        assert!(
            matches!(&error, TransportError::Unsendable { reason } if reason.contains("public")),
            "{host}: {error}"
        );
    }
    let error = send(public(), "localhost").unwrap_err();
    let why = "localhost is not a public internet address";
    assert!(matches!(&error, TransportError::Connect { reason, .. } if reason == why), "{error}");
    assert!(received.try_recv().is_err(), "no request was sent");
    assert_eq!(send(ReqwestTransport::new(Timeouts::default()), "127.0.0.1"), Ok(200), "other transports reach it");
    assert!(received.recv().unwrap().starts_with("GET / "));
}

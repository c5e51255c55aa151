//! A provider on 127.0.0.1 that answers with the responses of a cassette, and can keep back the end of one.
//!
//! With `EMEND_RECORD=1` it writes the requests that it got into the cassette, whose responses stay.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

use emend_llm::cassette::{Cassette, RecordedOutcome, Recorder, RecorderOptions};
use emend_llm::{BoxFuture, CancelToken, Headers, HttpRequest, HttpResponse, Shared, Transport, TransportError};
use emend_tests::http::{read_request, say};
use futures::StreamExt as _;

use crate::support::{PATIENCE, Project};

/// Returns the file of a cassette.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/cassettes/{name}.json"))
}

/// A provider that plays a cassette.
pub(crate) struct Tape {
    pub(crate) url: String,
    state: Arc<State>,
}

struct State {
    cassette: Cassette,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Default)]
struct Progress {
    asked: Vec<HttpRequest>,
    /// Number of the response that is kept back after half of its events, from 1; 0 for none.
    held: usize,
    /// Whether half of that response is sent.
    is_halfway: bool,
}

impl Tape {
    /// Starts the provider. It keeps back the end of the response `held`.
    pub(crate) fn start(name: &str, held: usize) -> Self {
        let text = std::fs::read_to_string(path(name)).unwrap();
        let cassette = Cassette::from_json(&text).unwrap();
        let progress = Mutex::new(Progress { held, ..Progress::default() });
        let state = Arc::new(State { cassette, progress, changed: Condvar::new() });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || state.answer(stream));
            }
        });
        Self { url, state }
    }

    /// Waits until half of the kept response is sent.
    pub(crate) fn wait_halfway(&self) {
        let progress = self.state.progress.lock().unwrap();
        let waited = self.state.changed.wait_timeout_while(progress, PATIENCE, |progress| !progress.is_halfway);
        assert!(waited.unwrap().0.is_halfway, "the request for the response does not come");
    }

    /// Sends the rest of the kept response.
    pub(crate) fn go_on(&self) {
        self.state.progress.lock().unwrap().held = 0;
        self.state.changed.notify_all();
    }

    /// Returns the bodies of the requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        let progress = self.state.progress.lock().unwrap();
        progress.asked.iter().map(|request| String::from_utf8(request.body.clone()).unwrap()).collect()
    }

    /// Writes the requests into the cassette if `EMEND_RECORD` is set.
    pub(crate) fn record(&self, name: &str, project: &Project) {
        if std::env::var_os("EMEND_RECORD").is_none() {
            return;
        }
        let root = project.root.path().canonicalize().unwrap().display().to_string();
        let player = Shared::new(Answers { cassette: self.state.cassette.clone(), next: Mutex::default() });
        let recorder = Recorder::new(player, RecorderOptions { root, ..RecorderOptions::default() });
        for request in self.state.progress.lock().unwrap().asked.clone() {
            let response = futures::executor::block_on(recorder.send(request, CancelToken::new())).unwrap();
            futures::executor::block_on(response.body.collect::<Vec<_>>());
        }
        std::fs::write(path(name), recorder.cassette().to_json() + "\n").unwrap();
    }
}

impl State {
    fn answer(&self, mut stream: TcpStream) {
        let Some(text) = read_request(&mut stream) else { return };
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let address = head.split(' ').nth(1).unwrap();
        let number = {
            let mut progress = self.progress.lock().unwrap();
            progress.asked.push(HttpRequest {
                method: "POST",
                url: format!("https://provider.test{address}"),
                headers: Headers::default(),
                body: body.as_bytes().to_vec(),
            });
            progress.asked.len()
        };
        let chunks = self.chunks(number);
        say(&mut stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
        let (first, rest) = chunks.split_at(chunks.len() / 2);
        say(&mut stream, first.concat());
        let mut progress = self.progress.lock().unwrap();
        if progress.held == number {
            progress.is_halfway = true;
            self.changed.notify_all();
        }
        drop(self.changed.wait_while(progress, |progress| progress.held == number).unwrap());
        say(&mut stream, rest.concat());
    }

    fn chunks(&self, number: usize) -> &[String] {
        chunks(&self.cassette, number)
    }
}

fn chunks(cassette: &Cassette, number: usize) -> &[String] {
    match &cassette.exchanges[number - 1].answer {
        RecordedOutcome::Response(response) => &response.chunks,
        RecordedOutcome::Failure(_) => &[],
    }
}

/// The responses of a cassette to any requests.
struct Answers {
    cassette: Cassette,
    next: Mutex<usize>,
}

impl Transport for Answers {
    fn send(&self, _: HttpRequest, _: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let mut next = self.next.lock().unwrap();
        *next += 1;
        let chunks: Vec<_> = chunks(&self.cassette, *next).iter().map(|chunk| Ok(chunk.clone().into_bytes())).collect();
        let headers = Headers(vec![("content-type".to_owned(), "text/event-stream".to_owned())]);
        let body = futures::stream::iter(chunks).boxed();
        Box::pin(async move { Ok(HttpResponse { status: 200, headers, body }) })
    }
}

//! A local server whose responses tests define byte by byte. It records the requests that it receives.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) use emend_tests::http::{read_request, say, wait_for_end};

/// A running server. It answers each connection once, on its own thread, and closes it.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server that calls `answer` for each connection.
    pub(crate) fn start(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let Some(request) = read_request(&mut stream) else { return };
                    seen.lock().unwrap().push(request);
                    answer(&mut stream);
                });
            }
        });
        Self { address, requests }
    }

    /// Starts a server that always writes `answer` and closes the connection.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |stream| say(stream, &answer))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests that have arrived completely so far, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Returns a response with its head. It has no length; its body ends with the connection.
pub(crate) fn response(status: u16, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status} Status\r\nConnection: close\r\n").into_bytes();
    for header in headers {
        bytes.extend(format!("{header}\r\n").into_bytes());
    }
    bytes.extend(b"\r\n");
    bytes.extend(body);
    bytes
}

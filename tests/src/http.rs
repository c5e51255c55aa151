//! The server's side of HTTP for tests: one request per connection, responses defined byte by byte.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// Reads a request, head and body. Returns `None` if the connection ends early, e.g. because the client timed out.
pub fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => read.extend_from_slice(&buffer[..count]),
        }
    }
}

/// Writes `answer`. Ignores a closed connection, which some tests provoke.
pub fn say(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) {
    let _ = stream.write_all(bytes.as_ref()).and_then(|()| stream.flush());
}

/// Waits until the client closes the connection.
pub fn wait_for_end(stream: &mut TcpStream) {
    while stream.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
}

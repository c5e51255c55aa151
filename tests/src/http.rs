//! A server's side of HTTP, as far as tests need it: one request a connection, answers down to the byte.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// Reads a request, head and body; `None` if it breaks off. A client whose time is up may hang up before it is out.
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

/// Writes, unless the client has hung up: that is what some tests are about.
pub fn say(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) {
    let _ = stream.write_all(bytes.as_ref()).and_then(|()| stream.flush());
}

/// Waits until the client closes the connection.
pub fn wait_for_end(stream: &mut TcpStream) {
    while stream.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
}

//! The part of the WebSocket protocol that a client needs in order to listen: the upgrade, and frames of a server.

use anyhow::{Result, bail};

/// Headers of the upgrade. The key is any 16 bytes; the client does not check the answer to it.
pub(super) const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                                  Sec-WebSocket-Key: ZW1lbmQgc2VydmUgYmVuY2g=\r\n";

/// A message of a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    Text(String),
    /// The server closes the connection, with this code.
    Close(u16),
}

/// Returns the complete messages of a connection, whose bytes begin with the head of the response.
///
/// # Errors
/// The server refuses the upgrade.
pub(super) fn messages(bytes: &[u8]) -> Result<Vec<Message>> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(Vec::new()) };
    if !bytes.starts_with(b"HTTP/1.1 101 ") {
        bail!("no WebSocket: {}", String::from_utf8_lossy(&bytes[..end]));
    }
    let (mut rest, mut text, mut found) = (&bytes[end + 4..], Vec::new(), Vec::new());
    while let Some(frame) = Frame::read(rest) {
        rest = frame.rest;
        match frame.opcode {
            // A message can have several frames; the later ones have the opcode 0.
            0 | 1 => text.extend_from_slice(frame.payload),
            8 => found.push(Message::Close(match frame.payload {
                [high, low, ..] => u16::from_be_bytes([*high, *low]),
                _ => 1005,
            })),
            _ => continue,
        }
        if frame.is_last && frame.opcode < 2 {
            found.push(Message::Text(String::from_utf8_lossy(&std::mem::take(&mut text)).into_owned()));
        }
    }
    Ok(found)
}

/// One frame. Those of a server have no mask.
struct Frame<'a> {
    opcode: u8,
    is_last: bool,
    payload: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads a complete frame.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (&[first, second], rest) = bytes.split_first_chunk::<2>()?;
        let (length, rest) = match second & 0x7f {
            126 => {
                let (length, rest) = rest.split_first_chunk()?;
                (u64::from(u16::from_be_bytes(*length)), rest)
            }
            127 => {
                let (length, rest) = rest.split_first_chunk()?;
                (u64::from_be_bytes(*length), rest)
            }
            short => (u64::from(short), rest),
        };
        let (payload, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        Some(Self { opcode: first & 0x0f, is_last: first & 0x80 != 0, payload, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_messages_are_read() {
        let long = "x".repeat(300);
        let mut bytes = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".to_vec();
        bytes.extend_from_slice(b"\x01\x02ab\x80\x01c\x89\x01p\x81\x7e\x01\x2c");
        bytes.extend_from_slice(long.as_bytes());
        bytes.extend_from_slice(b"\x88\x02\x03\xf5\x81\x05cut");
        let text = |text: &str| Message::Text(text.to_owned());
        assert_eq!(messages(&bytes).unwrap(), [text("abc"), text(&long), Message::Close(1013)]);
        assert_eq!(messages(&bytes[..20]).unwrap(), []);
        assert!(messages(b"HTTP/1.1 403 Forbidden\r\n\r\n").is_err());
    }
}

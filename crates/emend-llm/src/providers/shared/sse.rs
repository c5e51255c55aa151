//! An incremental parser of server-sent events: bytes in, in chunks of any size, events out.
//!
//! It follows the WHATWG event stream grammar (LF, CRLF and CR line endings, comments, a leading byte-order mark) with
//! two deliberate differences. A line that is not a field is yielded as [`SseItem::Stray`], because providers write
//! bare JSON errors into streams. The last event counts even if its closing blank line is missing, because servers omit
//! it; the decoder decides whether the response is complete.

/// The largest accepted line or event, in bytes. Recorded traffic stays below 1 MiB.
pub const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One item of an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SseItem<'a> {
    /// An event with data.
    Event {
        /// The `event` field; empty if absent.
        name: &'a str,
        /// The `data` fields, joined by line feeds.
        data: &'a str,
    },
    /// A line that is not a field of the grammar.
    Stray(&'a str),
}

/// The reason why an event stream cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line or the data of an event is longer than the limit.
    #[error("an event of the response is longer than {bytes_max} bytes; the response was discarded")]
    TooLong {
        /// The limit, in bytes.
        bytes_max: usize,
    },
    /// A line is not UTF-8.
    #[error("the response is not valid UTF-8")]
    NotUtf8,
}

impl SseError {
    /// Returns the stable code. Codes never change.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "event_too_long",
            Self::NotUtf8 => "not_utf8",
        }
    }
}

/// An incremental parser. Its cost is linear in the bytes, however they are cut.
#[derive(Debug)]
pub struct SseParser {
    /// The start of a line whose end has not arrived.
    line: Vec<u8>,
    data: String,
    name: String,
    has_data: bool,
    /// The last line ended with CR, so a following LF belongs to it.
    after_cr: bool,
    at_start: bool,
    bytes_max: usize,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::new(EVENT_BYTES_MAX)
    }
}

impl SseParser {
    /// Returns a parser that rejects lines and events longer than `bytes_max`.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self {
            line: Vec::new(),
            data: String::new(),
            name: String::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
            bytes_max,
        }
    }

    /// Parses the next bytes and passes each complete item to `each`. Stops at the first error.
    pub fn push<E: From<SseError>>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(SseItem<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > self.bytes_max {
                return Err(SseError::TooLong { bytes_max: self.bytes_max }.into());
            }
            let Some(end) = end else {
                self.line.extend_from_slice(piece);
                return Ok(());
            };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if self.line.is_empty() {
                self.take_line(piece, &mut each)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(piece);
                self.take_line(&line, &mut each)?;
                line.clear();
                self.line = line;
            }
        }
        Ok(())
    }

    /// Handles the end of the stream: a pending line or event counts as complete.
    pub fn finish<E: From<SseError>>(&mut self, mut each: impl FnMut(SseItem<'_>) -> Result<(), E>) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, &mut each)?;
        }
        self.dispatch(&mut each)
    }

    fn take_line<E: From<SseError>>(
        &mut self,
        line: &[u8],
        each: &mut impl FnMut(SseItem<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line =
            if std::mem::take(&mut self.at_start) { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
        if line.is_empty() {
            return self.dispatch(each);
        }
        let line = std::str::from_utf8(line).map_err(|_| SseError::NotUtf8)?;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.data.len() + value.len() > self.bytes_max {
                    return Err(SseError::TooLong { bytes_max: self.bytes_max }.into());
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.name),
            "" | "id" | "retry" => {}
            _ => each(SseItem::Stray(line))?,
        }
        Ok(())
    }

    fn dispatch<E: From<SseError>>(&mut self, each: &mut impl FnMut(SseItem<'_>) -> Result<(), E>) -> Result<(), E> {
        let outcome = if std::mem::take(&mut self.has_data) {
            each(SseItem::Event { name: &self.name, data: &self.data })
        } else {
            Ok(())
        };
        self.name.clear();
        self.data.clear();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn parse(chunks: &[&[u8]]) -> Result<Vec<String>, SseError> {
        let mut items = Vec::new();
        let mut parser = SseParser::new(64);
        let mut each = |item: SseItem<'_>| {
            items.push(match item {
                SseItem::Event { name, data } => format!("{name}={data}"),
                SseItem::Stray(line) => format!("stray {line}"),
            });
            Ok(())
        };
        for chunk in chunks {
            parser.push(chunk, &mut each)?;
        }
        parser.finish(&mut each)?;
        Ok(items)
    }

    /// Parses `text` whole, byte by byte and split in two at every position, and expects the same items each time.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let bytes = text.as_bytes();
        assert_eq!(parse(&[bytes]).unwrap(), expected, "whole");
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(parse(&single).unwrap(), expected, "byte by byte");
        for cut in 0..=bytes.len() {
            assert_eq!(parse(&[&bytes[..cut], &bytes[cut..]]).unwrap(), expected, "cut at {cut}");
        }
    }

    #[test]
    fn line_endings_may_be_lf_crlf_or_cr() {
        covers("stream.chunking");
        check("event: a\ndata: 1\n\ndata: 2\n\n", &["a=1", "=2"]);
        check("event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", &["a=1", "=2"]);
        check("event: a\rdata: 1\r\rdata: 2\r\r", &["a=1", "=2"]);
        check("data: 1\r\n\ndata: 2\n\r\n", &["=1", "=2"]);
    }

    #[test]
    fn fields_follow_the_grammar() {
        check("data:a\ndata:  b\ndata\n\n", &["=a\n b\n"]);
        check(": comment\n\nid: 1\nretry: 5\n\ndata: x\n\n", &["=x"]);
        check("event: lost\n\ndata: x\n\n", &["=x"]);
        check("data: ünïcödé 🦀\n\n", &["=ünïcödé 🦀"]);
        check("data\n\n", &["="]);
    }

    #[test]
    fn a_leading_byte_order_mark_is_dropped() {
        check("\u{feff}data: x\n\n", &["=x"]);
        check("\u{feff}\ndata: \u{feff}x\n\n", &["=\u{feff}x"]);
    }

    #[test]
    fn lines_that_are_not_fields_are_yielded_as_stray() {
        check("{\n  \"error\": 1\n}\n", &["stray {", "stray   \"error\": 1", "stray }"]);
    }

    #[test]
    fn the_last_event_needs_no_blank_line() {
        check("data: 1\n\ndata: 2", &["=1", "=2"]);
        check("data: 1\n\ndata: 2\n", &["=1", "=2"]);
    }

    #[test]
    fn long_lines_and_long_events_are_rejected() {
        covers("stream.chunking");
        let long = [b'x'; 65];
        assert_eq!(parse(&[&long]), Err(SseError::TooLong { bytes_max: 64 }));
        assert_eq!(parse(&[&long[..40], &long[..40]]), Err(SseError::TooLong { bytes_max: 64 }));
        let event = format!("data: {0}\ndata: {0}\n\n", "x".repeat(40));
        assert_eq!(parse(&[event.as_bytes()]), Err(SseError::TooLong { bytes_max: 64 }));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_rejected() {
        assert_eq!(parse(&[b"data: \xFF\n\n"]), Err(SseError::NotUtf8));
    }
}

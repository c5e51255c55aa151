//! The framing of a response body: an event stream or one JSON document.
//!
//! The first byte decides, because providers may send a document where a stream was requested, and label either with
//! any content type.

use serde_json::Value;

use crate::error::{ErrorKind, LlmError};
use crate::provider::Decoder;
use crate::providers::shared::error_decoder::ErrorDecoder;
use crate::providers::shared::response_builder::Events;
use crate::providers::shared::sse::{SseError, SseItem, SseParser};
use crate::runtime::MaybeSend;

/// Reads the payloads of one wire format.
pub(crate) trait Reader: MaybeSend {
    /// Reads an event of the most frequent kind without building a JSON tree. Returns false, without any effect, for
    /// other events.
    fn decode_delta_fast(&mut self, data: &str, events: &mut Events) -> bool {
        let _ = (data, events);
        false
    }
    /// Reads one event of a stream.
    fn event(&mut self, value: Value, events: &mut Events) -> Result<(), LlmError>;
    /// Reads a whole response.
    fn whole(&mut self, body: Value, events: &mut Events) -> Result<(), LlmError>;
    /// Handles the end of a stream.
    fn end(&mut self, events: &mut Events) -> Result<(), LlmError>;
    /// Handles the `[DONE]` at the end of some streams.
    fn done(&mut self, events: &mut Events) -> Result<(), LlmError> {
        let _ = events;
        Ok(())
    }
    /// Returns whether the finish event was emitted. Later events are ignored.
    fn is_finished(&self) -> bool;
}

/// The largest accepted document, in bytes.
const DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The largest kept text outside events, in bytes: enough for any error document.
const STRAY_BYTES_MAX: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// The length of quotations of unreadable text in errors, in characters.
const EXCERPT_CHARS: usize = 120;

/// Decodes a body with the reader of its wire format.
pub(crate) struct BodyDecoder<R> {
    reader: R,
    errors: ErrorDecoder,
    framing: Framing,
    /// The beginning of the body until its framing is known: nothing, or a part of a byte-order mark.
    beginning: Vec<u8>,
    /// Lines outside events; providers write bare error documents into streams.
    stray: String,
}

enum Framing {
    Unknown,
    Events(SseParser),
    Document(Vec<u8>),
}

enum ReadError {
    Framing(SseError),
    Answer(LlmError),
}

impl From<SseError> for ReadError {
    fn from(error: SseError) -> Self {
        Self::Framing(error)
    }
}

impl<R: Reader> BodyDecoder<R> {
    pub(crate) fn new(reader: R, errors: ErrorDecoder) -> Self {
        Self { reader, errors, framing: Framing::Unknown, beginning: Vec::new(), stray: String::new() }
    }

    /// Decides on the framing at the first byte that is neither whitespace nor part of a byte-order mark, and returns
    /// the body from there on. Those bytes are discarded, so the position of chunk boundaries makes no difference.
    fn sniff(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, LlmError> {
        let mut body = std::mem::take(&mut self.beginning);
        body.extend_from_slice(bytes);
        let text = body.trim_ascii_start();
        let rest = text.strip_prefix(BYTE_ORDER_MARK).map_or(text, <[u8]>::trim_ascii_start);
        if rest.is_empty() || BYTE_ORDER_MARK.starts_with(text) {
            self.beginning = text[..text.len().min(BYTE_ORDER_MARK.len())].to_vec();
            return Ok(None);
        }
        self.framing = match rest[0] {
            b'{' | b'[' => Framing::Document(Vec::new()),
            b'<' => {
                let provider = &self.errors.provider;
                let message = format!("{provider} responded with a web page: check the base URL");
                let error = LlmError::new(ErrorKind::Configuration, message);
                return Err(LlmError { provider: Some(provider.clone()), ..error });
            }
            _ => Framing::Events(SseParser::default()),
        };
        Ok(Some(rest.to_vec()))
    }

    /// A response that is too long once will be too long again: each retry would only cost as much.
    fn too_long(&self, reason: String) -> LlmError {
        LlmError { retryable: false, ..self.errors.unreadable(reason) }
    }

    fn framing_error(&self, error: ReadError) -> LlmError {
        match error {
            ReadError::Answer(error) => error,
            ReadError::Framing(error @ SseError::TooLong { .. }) => self.too_long(error.to_string()),
            ReadError::Framing(error) => self.errors.unreadable(error.to_string()),
        }
    }

    fn item(&mut self, item: SseItem<'_>, events: &mut Events) -> Result<(), ReadError> {
        if self.reader.is_finished() {
            return Ok(());
        }
        let outcome = match item {
            SseItem::Event { data, .. } if data.trim() == "[DONE]" => self.reader.done(events),
            SseItem::Event { data, .. } if data.trim().is_empty() => Ok(()),
            SseItem::Event { data, .. } if self.reader.decode_delta_fast(data, events) => Ok(()),
            SseItem::Event { data, .. } => match serde_json::from_str(data) {
                Ok(value) => self.reader.event(value, events),
                Err(error) => Err(self.errors.unreadable(format!(
                    "{} sent an event that is not JSON ({error}): {}",
                    self.errors.provider,
                    excerpt(&self.errors.secrets.redact(data))
                ))),
            },
            SseItem::Stray(line) => {
                if self.stray.len() + line.len() < STRAY_BYTES_MAX {
                    self.stray.push_str(line);
                    self.stray.push('\n');
                }
                Ok(())
            }
        };
        outcome.map_err(ReadError::Answer)
    }

    fn push_events(&mut self, bytes: Option<&[u8]>, events: &mut Events) -> Result<(), LlmError> {
        let Framing::Events(mut parser) = std::mem::replace(&mut self.framing, Framing::Unknown) else { return Ok(()) };
        let outcome = match bytes {
            Some(bytes) => parser.push(bytes, |item| self.item(item, events)),
            None => parser.finish(|item| self.item(item, events)),
        };
        self.framing = Framing::Events(parser);
        outcome.map_err(|error| self.framing_error(error))
    }

    fn document(&mut self, bytes: &[u8], events: &mut Events) -> Result<(), LlmError> {
        match serde_json::from_slice(bytes) {
            Ok(value) => self.reader.whole(value, events),
            Err(error) => Err(self.errors.unreadable(format!(
                "the response of {} is truncated or not JSON ({error}): {}",
                self.errors.provider,
                excerpt(&self.errors.secrets.redact(&String::from_utf8_lossy(bytes)))
            ))),
        }
    }
}

impl<R: Reader> Decoder for BodyDecoder<R> {
    fn push(&mut self, bytes: &[u8], events: &mut Events) -> Result<(), LlmError> {
        let sniffed;
        let bytes = if matches!(self.framing, Framing::Unknown) {
            let Some(begun) = self.sniff(bytes)? else { return Ok(()) };
            sniffed = begun;
            &sniffed
        } else {
            bytes
        };
        match &mut self.framing {
            Framing::Unknown => Ok(()),
            Framing::Events(_) => self.push_events(Some(bytes), events),
            Framing::Document(document) => {
                if document.len() + bytes.len() > DOCUMENT_BYTES_MAX {
                    let provider = &self.errors.provider;
                    let reason = format!("the response of {provider} is longer than {DOCUMENT_BYTES_MAX} bytes");
                    return Err(self.too_long(format!("{reason}; it was dropped")));
                }
                document.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn finish(&mut self, events: &mut Events) -> Result<(), LlmError> {
        match std::mem::replace(&mut self.framing, Framing::Unknown) {
            Framing::Unknown => {
                Err(self.errors.unreadable(format!("the response of {} is empty", self.errors.provider)))
            }
            Framing::Document(document) => self.document(&document, events),
            Framing::Events(parser) => {
                self.framing = Framing::Events(parser);
                self.push_events(None, events)?;
                if self.reader.is_finished() {
                    return Ok(());
                }
                if let Ok(value) = serde_json::from_str::<Value>(&self.stray) {
                    return Err(self.errors.in_stream(&value));
                }
                if !self.stray.is_empty() && events.is_empty() {
                    let excerpt = excerpt(&self.errors.secrets.redact(&self.stray));
                    let provider = &self.errors.provider;
                    return Err(self.errors.unreadable(format!("{provider} sent no event stream: {excerpt}")));
                }
                self.reader.end(events)
            }
        }
    }
}

fn excerpt(text: &str) -> String {
    let cut: String = text.trim().chars().take(EXCERPT_CHARS).collect();
    if cut.len() < text.trim().len() { format!("{cut}…") } else { cut }
}

//! The wire formats without I/O: requests as HTTP, response bytes as events.

use std::cell::RefCell;

use emend_llm::{Decoder, Headers, Request, StreamEvent};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::options::{ProviderOptions, api};
use super::{read, text_of, thrown};
use crate::failure::Failure;

#[derive(Serialize)]
struct Encoded<'a> {
    method: &'a str,
    url: &'a str,
    headers: &'a [(String, String)],
    body: &'a str,
}

/// Encodes a request as a provider's HTTP request. `provider` and `request` are JSON text.
#[wasm_bindgen]
pub fn encode(provider: &str, request: &str, stream: bool) -> Result<String, JsValue> {
    thrown(encoded(provider, request, stream))
}

fn encoded(provider: &str, request: &str, stream: bool) -> Result<String, Failure> {
    let options: ProviderOptions = read("the provider is", provider)?;
    let request: Request = read("the request is", request)?;
    let http = api(&options.api)?.adapter(options.config()).encode(&request, stream)?;
    let body = String::from_utf8_lossy(&http.body);
    text_of(&Encoded { method: http.method, url: &http.url, headers: &http.headers.0, body: &body })
}

/// Decodes one response, in chunks of any size.
#[wasm_bindgen]
pub struct DecoderHandle {
    decoder: RefCell<Box<dyn Decoder>>,
}

#[wasm_bindgen]
impl DecoderHandle {
    /// Creates a decoder for a response with these headers (JSON text).
    #[wasm_bindgen(constructor)]
    pub fn new(format: &str, headers: &str) -> Result<DecoderHandle, JsValue> {
        let headers: Vec<(String, String)> = thrown(read("the headers are", headers))?;
        let adapter = thrown(api(format))?.adapter(emend_llm::Config::default());
        Ok(Self { decoder: RefCell::new(adapter.decoder(&Headers(headers))) })
    }

    /// Decodes the next bytes and returns the events that they complete, as JSON text. Deltas of one part that follow each
    /// other are one event: to create an object of JavaScript for each of them takes longer than to decode it.
    ///
    /// A failure is the field `error` beside the events, so that events before it are not lost.
    pub fn push(&self, bytes: &[u8]) -> Result<String, JsValue> {
        let mut events = Vec::new();
        let outcome = self.decoder.borrow_mut().push(bytes, &mut events);
        StreamEvent::join_deltas(&mut events);
        thrown(decoded(&events, outcome.err().map(Failure::from)))
    }

    /// Decodes the end of the response.
    pub fn finish(&self) -> Result<String, JsValue> {
        let mut events = Vec::new();
        let outcome = self.decoder.borrow_mut().finish(&mut events);
        thrown(decoded(&events, outcome.err().map(Failure::from)))
    }
}

fn decoded(events: &[StreamEvent], error: Option<Failure>) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct Decoded<'a> {
        events: &'a [StreamEvent],
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Failure>,
    }
    text_of(&Decoded { events, error })
}

/// Decodes a response whose status is not 2xx; returns the failure as JSON text.
#[wasm_bindgen(js_name = decodeError)]
pub fn decode_error(format: &str, status: u16, headers: &str, body: &[u8]) -> Result<String, JsValue> {
    let headers: Vec<(String, String)> = thrown(read("the headers are", headers))?;
    let adapter = thrown(api(format))?.adapter(emend_llm::Config::default());
    thrown(text_of(&Failure::from(adapter.decode_error(status, &Headers(headers), body))))
}

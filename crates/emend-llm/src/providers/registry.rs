//! The registry: one row per provider, and the wire formats by name.
//!
//! [`Client::from_env`](crate::Client::from_env), error texts and the lists of hosts are derived from [`PROVIDERS`].
//! Each adapter keeps its own name, key variable and URL; a new adapter needs a row here and a variant of [`Api`].

use super::shared::config::Config;
use super::{anthropic, gemini, openai_chat, openai_responses};
use crate::error::LlmError;
use crate::model::StreamEvent;
use crate::provider::Adapter;
use crate::runtime::Shared;
use crate::transport::Headers;

/// A wire format. Several providers may use the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Api {
    /// Messages of Anthropic.
    AnthropicMessages,
    /// Responses of OpenAI.
    OpenAiResponses,
    /// Chat Completions of OpenAI, which local servers also speak.
    OpenAiChat,
    /// The Gemini API of Google.
    Gemini,
}

impl Api {
    /// All wire formats.
    pub const ALL: [Self; 4] = [Self::AnthropicMessages, Self::OpenAiResponses, Self::OpenAiChat, Self::Gemini];

    /// Returns the name of the format, as users type it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenAiChat => "openai-chat",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the format with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.name() == name)
    }

    /// Returns an adapter for the format.
    #[must_use]
    pub fn adapter(self, config: Config) -> Shared<dyn Adapter> {
        match self {
            Self::AnthropicMessages => Shared::new(anthropic::Anthropic::new(config)),
            Self::OpenAiResponses => Shared::new(openai_responses::OpenAiResponses::new(config)),
            Self::OpenAiChat => Shared::new(openai_chat::OpenAiChat::new(config)),
            Self::Gemini => Shared::new(gemini::Gemini::new(config)),
        }
    }

    /// Decodes a recorded response, given in chunks, and returns its events and its outcome.
    pub fn decode<'a>(
        self,
        status: u16,
        headers: &Headers,
        chunks: impl IntoIterator<Item = &'a [u8]>,
    ) -> (Vec<StreamEvent>, Result<(), LlmError>) {
        let adapter = self.adapter(Config::default());
        let mut events = Vec::new();
        if !(200..300).contains(&status) {
            let body: Vec<u8> = chunks.into_iter().flatten().copied().collect();
            return (events, Err(adapter.decode_error(status, headers, &body)));
        }
        let mut decoder = adapter.decoder(headers);
        for chunk in chunks {
            if let Err(error) = decoder.push(chunk, &mut events) {
                return (events, Err(error));
            }
        }
        let outcome = decoder.finish(&mut events);
        (events, outcome)
    }
}

/// A provider: its name, its wire format and the environment variables that set it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderInfo {
    /// Name by which requests choose the provider, e.g. `anthropic`.
    pub name: &'static str,
    /// Wire format.
    pub api: Api,
    /// Environment variables of the API key. The first one that is set counts; errors name the first.
    pub key_variables: &'static [&'static str],
    /// Environment variable of the base URL.
    pub base_url_variable: &'static str,
    /// Base URL that the adapter uses if none is given.
    pub default_base_url: &'static str,
    /// Whether a base URL is required and a key is optional, as with local servers. Otherwise a key is required and a
    /// base URL is optional.
    pub needs_base_url: bool,
    /// Request headers and the environment variables of their values.
    pub header_variables: &'static [(&'static str, &'static str)],
}

/// The providers that [`Client::from_env`](crate::Client::from_env) sets up, in its order.
pub const PROVIDERS: [ProviderInfo; 4] = [
    ProviderInfo {
        name: anthropic::NAME,
        api: Api::AnthropicMessages,
        key_variables: &[anthropic::KEY_VARIABLE],
        base_url_variable: "ANTHROPIC_BASE_URL",
        default_base_url: anthropic::BASE_URL,
        needs_base_url: false,
        header_variables: &[],
    },
    ProviderInfo {
        name: openai_responses::NAME,
        api: Api::OpenAiResponses,
        key_variables: &[openai_responses::KEY_VARIABLE],
        base_url_variable: "OPENAI_BASE_URL",
        default_base_url: openai_responses::BASE_URL,
        needs_base_url: false,
        header_variables: &[("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")],
    },
    ProviderInfo {
        name: gemini::NAME,
        api: Api::Gemini,
        key_variables: &[gemini::KEY_VARIABLE, "GOOGLE_API_KEY"],
        base_url_variable: "GEMINI_BASE_URL",
        default_base_url: gemini::BASE_URL,
        needs_base_url: false,
        header_variables: &[],
    },
    ProviderInfo {
        name: openai_chat::NAME,
        api: Api::OpenAiChat,
        key_variables: &["OPENAI_COMPATIBLE_API_KEY"],
        base_url_variable: "OPENAI_COMPATIBLE_BASE_URL",
        default_base_url: openai_chat::BASE_URL,
        needs_base_url: true,
        header_variables: &[],
    },
];

impl ProviderInfo {
    /// Returns the provider of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|info| info.name == name)
    }

    /// Returns the environment variable without which the provider is not set up.
    #[must_use]
    pub fn required_variable(&self) -> &'static str {
        if self.needs_base_url { self.base_url_variable } else { self.key_variables[0] }
    }

    /// Returns the settings that the environment gives, `None` if the required variable is absent.
    pub(crate) fn config(&self, variable: impl Fn(&str) -> Option<String>, browser: bool) -> Option<Config> {
        let key = self.key_variables.iter().find_map(|name| variable(name));
        let base_url = variable(self.base_url_variable);
        if self.needs_base_url && base_url.is_none() || !self.needs_base_url && key.is_none() {
            return None;
        }
        // Providers can share an adapter, so its default name and base URL may be those of another provider.
        let mut config = Config {
            api_key: key.unwrap_or_default(),
            base_url: Some(base_url.unwrap_or_else(|| self.default_base_url.to_owned())),
            browser,
            name: Some(self.name.to_owned()),
            key_variable: Some(self.key_variables[0].to_owned()),
            ..Config::default()
        };
        for (header, name) in self.header_variables {
            if let Some(value) = variable(name) {
                config.headers.set(header, value);
            }
        }
        Some(config)
    }
}

/// Returns the variables of the keys as a list for a sentence: `A, B or C`.
pub(crate) fn key_variables() -> String {
    let with_key: Vec<&str> =
        PROVIDERS.iter().filter(|info| !info.needs_base_url).map(ProviderInfo::required_variable).collect();
    match with_key.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => with_key.concat(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{ContentPart, MediaData, Message, Request, Role, ToolCall, ToolResult};
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn conversation() -> Vec<Message> {
        let call = |id: &str, custom: bool| {
            let arguments = if custom { json!("text") } else { json!({"path": id}) };
            let (name, id) = ("read".to_owned(), id.to_owned());
            ContentPart::ToolCall(ToolCall { id, name, arguments, raw_arguments: None, custom, provider_data: None })
        };
        let result = |id: &str, image: bool| ToolResult {
            tool_call_id: id.to_owned(),
            name: String::new(),
            content: json!("found"),
            is_error: image,
            image: image.then(|| MediaData { data: Some("aGk=".into()), ..MediaData::default() }),
        };
        let assistant =
            |content: Vec<ContentPart>| Message { role: Role::Assistant, content: content.into(), name: None };
        vec![
            Message::system("s"),
            Message::user("a"),
            assistant(vec![ContentPart::Text { text: "t".into() }, call("1", false), call("2", true)]),
            Message::tool_results(vec![result("1", false), result("2", true)]),
            Message::user("steer"),
            Message::text_of(Role::Developer, "d"),
            assistant(vec![call("1", true)]),
            Message::user("early"),
            Message::tool_results(vec![result("1", false)]),
        ]
    }

    #[test]
    fn a_byte_order_mark_may_be_split_anywhere() {
        covers("stream.incomplete");
        // Control: the same body without a mark.
        for body in [
            "7",
            "{\"error\":{\"message\":\"busy\"}}",
            "data: {\"error\":{\"message\":\"busy\"}}\n\n",
            "\u{ff08}no\u{ff09}",
        ] {
            for start in ["", "\u{feff}", " \r\n\u{feff} ", "\n"] {
                let text = format!("{start}{body}");
                for api in Api::ALL {
                    let decode = |chunks: &mut dyn Iterator<Item = &[u8]>| api.decode(200, &Headers::default(), chunks);
                    let expected = decode(&mut std::iter::once(body.as_bytes()));
                    for size in 1..=text.len() {
                        assert_eq!(
                            decode(&mut text.as_bytes().chunks(size)),
                            expected,
                            "{text:?} by {size} {}",
                            api.name()
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_encode_cache_does_not_change_requests() {
        covers("encode.incremental");
        let config = || Config { api_key: "k".into(), ..Config::default() };
        let all = conversation();
        let request = |messages: &[Message]| Request { messages: messages.to_vec(), ..Request::default() };
        for api in Api::ALL {
            let used = api.adapter(config());
            for end in (0..=all.len()).chain([3, 5, all.len()]) {
                let request = request(&all[..end]);
                let fresh = api.adapter(config()).encode(&request, true).unwrap();
                assert_eq!(used.encode(&request, true), Ok(fresh), "{} to {end}", api.name());
            }
        }
    }

    #[test]
    fn every_provider_gets_its_name_and_base_url_from_its_row() {
        let mut n_own = 0;
        for info in &PROVIDERS {
            assert_eq!(ProviderInfo::of_name(info.name), Some(info));
            let value = if info.needs_base_url { info.default_base_url } else { "k" };
            let variable = |name: &str| (name == info.required_variable()).then(|| value.to_owned());
            let adapter = info.api.adapter(info.config(variable, false).unwrap());
            assert_eq!(adapter.name(), info.name);
            let request = Request { messages: vec![Message::user("u")], ..Request::default() };
            let url = adapter.encode(&request, true).unwrap().url;
            assert!(url.starts_with(info.default_base_url), "{url}");
            // Each adapter's defaults are those of its own provider.
            let config = Config { api_key: "k".to_owned(), ..Config::default() };
            let default = info.api.adapter(config);
            n_own += usize::from(default.name() == info.name);
            if default.name() == info.name {
                assert_eq!(default.encode(&request, true).unwrap().url, url);
            }
        }
        assert_eq!(n_own, Api::ALL.len());
        let apis = PROVIDERS.map(|info| info.api);
        assert!(Api::ALL.iter().all(|api| apis.contains(api)));
        assert_eq!(ProviderInfo::of_name("acme"), None);
    }

    #[test]
    fn a_provider_needs_its_key_or_its_address() {
        let required = PROVIDERS.map(|info| info.required_variable());
        let expected = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENAI_COMPATIBLE_BASE_URL"];
        assert_eq!(required, expected);
        assert_eq!(key_variables(), "ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY");
    }
}

//! The known models: limits, abilities, prices.
//!
//! The catalogue is advisory: requests for unknown models are sent as they are. The data is in `data/models.json`, for
//! each provider newest and best first.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::Usage;

/// The facts of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelInfo {
    /// The provider's own id, e.g. `claude-opus-4-6`.
    pub id: String,
    /// Name of the provider that serves it.
    pub provider: String,
    /// Name to show to users.
    pub display_name: String,
    /// The size of the context window, in tokens: input and output together.
    pub context_window: u64,
    /// The largest output, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Whether the model calls tools.
    #[serde(default)]
    pub supports_tools: bool,
    /// Whether the model reads images.
    #[serde(default)]
    pub supports_vision: bool,
    /// Whether the model reasons before it responds.
    #[serde(default)]
    pub supports_reasoning: bool,
    /// Whether the model accepts `temperature` and `top_p`.
    #[serde(default = "yes")]
    pub supports_sampling: bool,
    /// Kinds of input: `text`, `image`, `audio`, `document`, `video`.
    #[serde(default)]
    pub input_modalities: Vec<String>,
    /// Price of input, in US dollars per million tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_cost_per_million: Option<f64>,
    /// Price of output, in US dollars per million tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_cost_per_million: Option<f64>,
    /// Price of input read from the cache, in US dollars per million tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_cost_per_million: Option<f64>,
    /// Price of input written to the cache, in US dollars per million tokens, where writing costs extra.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_cost_per_million: Option<f64>,
    /// The accepted values of `reasoning_effort`, weakest first. A reasoning model without values takes a budget of
    /// tokens instead.
    #[serde(default)]
    pub efforts: Vec<String>,
    /// The month in which the training data ends, e.g. `2025-05`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge_cutoff: Option<String>,
    /// Short names of the model.
    #[serde(default)]
    pub aliases: Vec<String>,
}

fn yes() -> bool {
    true
}

/// The values of `reasoning_effort`, weakest first.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

impl ModelInfo {
    /// Returns the strongest accepted effort that does not exceed `effort`, or the weakest if all exceed it. Returns
    /// `None` if `effort` is unknown or the model accepts no effort.
    #[must_use]
    pub fn nearest_effort(&self, effort: &str) -> Option<&str> {
        let rank = |effort: &str| EFFORTS.iter().position(|known| *known == effort);
        let wanted = rank(effort)?;
        let below = self.efforts.iter().rev().find(|known| rank(known).is_some_and(|rank| rank <= wanted));
        below.or_else(|| self.efforts.first()).map(String::as_str)
    }
}

impl ModelInfo {
    /// Returns the cost of `usage` in US dollars at list price, if prices are known. Surcharges for long prompts are
    /// not included.
    #[must_use]
    pub fn cost_usd(&self, usage: &Usage) -> Option<f64> {
        let (input, output) = (self.input_cost_per_million?, self.output_cost_per_million?);
        let read = usage.cache_read_tokens.unwrap_or(0);
        let written = usage.cache_write_tokens.unwrap_or(0);
        let plain = usage.input_tokens.saturating_sub(read + written);
        let read_cost = self.cache_read_cost_per_million.unwrap_or(input);
        let write_cost = self.cache_write_cost_per_million.unwrap_or(input);
        let parts = [(plain, input), (read, read_cost), (written, write_cost), (usage.output_tokens, output)];
        Some(parts.iter().map(|(tokens, cost)| *tokens as f64 * cost).sum::<f64>() / 1e6)
    }
}

static MODELS: OnceLock<Vec<ModelInfo>> = OnceLock::new();

fn models() -> &'static [ModelInfo] {
    // The file is part of the crate and a test reads it, so it parses.
    MODELS.get_or_init(|| {
        let models: Value = serde_json::from_str(include_str!("../data/models.json")).unwrap_or_default();
        models.as_array().into_iter().flatten().map(read).collect()
    })
}

/// Reads one entry of the file. Derived code for the same is four times as large, and every page loads it.
fn read(model: &Value) -> ModelInfo {
    let text = |name: &str| model[name].as_str().map(str::to_owned);
    let flag = |name: &str| model[name].as_bool();
    let cost = |name: &str| model[name].as_f64();
    let texts = |name: &str| -> Vec<String> {
        model[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    ModelInfo {
        id: text("id").unwrap_or_default(),
        provider: text("provider").unwrap_or_default(),
        display_name: text("display_name").unwrap_or_default(),
        context_window: model["context_window"].as_u64().unwrap_or_default(),
        max_output: model["max_output"].as_u64(),
        supports_tools: flag("supports_tools").unwrap_or_default(),
        supports_vision: flag("supports_vision").unwrap_or_default(),
        supports_reasoning: flag("supports_reasoning").unwrap_or_default(),
        supports_sampling: flag("supports_sampling").unwrap_or_else(yes),
        input_modalities: texts("input_modalities"),
        input_cost_per_million: cost("input_cost_per_million"),
        output_cost_per_million: cost("output_cost_per_million"),
        cache_read_cost_per_million: cost("cache_read_cost_per_million"),
        cache_write_cost_per_million: cost("cache_write_cost_per_million"),
        efforts: texts("efforts"),
        knowledge_cutoff: text("knowledge_cutoff"),
        aliases: texts("aliases"),
    }
}

/// Returns the model with this id or alias. A dated id, e.g. `claude-opus-4-1-20250805`, finds the undated model.
#[must_use]
pub fn get_model_info(model: &str) -> Option<&'static ModelInfo> {
    let find =
        |name: &str| models().iter().find(|info| info.id == name || info.aliases.iter().any(|alias| alias == name));
    find(model).or_else(|| find(undated(model)?))
}

/// Returns the known models of one provider, or of all providers.
pub fn list_models(provider: Option<&str>) -> impl Iterator<Item = &'static ModelInfo> {
    models().iter().filter(move |info| provider.is_none_or(|provider| info.provider == provider))
}

/// Returns the newest and best model of `provider` with `capability`: `reasoning`, `vision` or `tools`.
#[must_use]
pub fn get_latest_model(provider: &str, capability: Option<&str>) -> Option<&'static ModelInfo> {
    list_models(Some(provider)).find(|info| match capability {
        None => true,
        Some("reasoning") => info.supports_reasoning,
        Some("vision") => info.supports_vision,
        Some("tools") => info.supports_tools,
        Some(_) => false,
    })
}

/// Strips `-20250805` or `-2025-08-05` from the end of a model's id.
fn undated(model: &str) -> Option<&str> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (start, end) = model.rsplit_once('-')?;
    if end.len() == 8 && digits(end) {
        return Some(start);
    }
    let (start, month) = start.rsplit_once('-')?;
    let (start, year) = start.rsplit_once('-')?;
    (end.len() == 2 && month.len() == 2 && year.len() == 4 && [year, month, end].into_iter().all(digits))
        .then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn the_file_parses_and_names_are_unique() {
        let parsed: Vec<ModelInfo> = serde_json::from_str(include_str!("../data/models.json")).unwrap();
        assert!(parsed.len() > 40, "{} models", parsed.len());
        assert!(list_models(None).eq(&parsed), "a field is read wrong");
        let mut names: Vec<&str> = parsed.iter().map(|info| info.id.as_str()).collect();
        names.extend(parsed.iter().flat_map(|info| info.aliases.iter().map(String::as_str)));
        let n_names = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n_names, "a name stands for two models");
        for info in &parsed {
            assert!(info.max_output.unwrap() < info.context_window, "{}", info.id);
            assert!(info.efforts.iter().all(|effort| EFFORTS.contains(&effort.as_str())), "{}", info.id);
            let ranks: Vec<_> =
                info.efforts.iter().map(|effort| EFFORTS.iter().position(|known| known == effort)).collect();
            assert!(ranks.is_sorted(), "{}: efforts out of order", info.id);
        }
    }

    #[test]
    fn models_are_found_by_id_alias_and_dated_id() {
        covers("client.catalog catalog.models");
        let id = |name: &str| get_model_info(name).map(|info| info.id.as_str());
        assert_eq!(id("claude-opus-4-6"), Some("claude-opus-4-6"));
        assert_eq!(id("haiku"), Some("claude-haiku-4-5"));
        assert_eq!(id("claude-opus-4-1-20250805"), Some("claude-opus-4-1"));
        assert_eq!(id("gpt-4o-2024-08-06"), Some("gpt-4o"));
        assert_eq!(id("claude-opus-4-6-20"), None);
        assert_eq!(id("some-new-model"), None);
    }

    #[test]
    fn the_latest_model_has_the_capability() {
        covers("client.catalog");
        for provider in ["anthropic", "openai", "gemini"] {
            let latest = get_latest_model(provider, None).unwrap();
            assert_eq!(Some(latest), list_models(Some(provider)).next());
            assert!(get_latest_model(provider, Some("vision")).unwrap().supports_vision);
            assert!(get_latest_model(provider, Some("reasoning")).unwrap().supports_reasoning);
            assert!(get_latest_model(provider, Some("tools")).unwrap().supports_tools);
        }
        assert_eq!(get_latest_model("openai", Some("telepathy")), None);
        assert_eq!(get_latest_model("nobody", None), None);
    }

    #[test]
    fn efforts_are_lowered_to_supported_ones() {
        covers("catalog.models effort.values");
        #[track_caller]
        fn check(model: &str, effort: &str, expected: Option<&str>) {
            assert_eq!(get_model_info(model).unwrap().nearest_effort(effort), expected);
        }
        check("claude-opus-4-6", "xhigh", Some("high"));
        check("claude-opus-4-6", "minimal", Some("low"));
        check("gpt-5", "none", Some("minimal"));
        check("gpt-5.2", "max", Some("xhigh"));
        check("gpt-4o", "high", None);
        check("gpt-5.2", "extreme", None);
    }

    #[test]
    fn costs_count_cached_tokens_separately() {
        covers("catalog.models");
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cache_read_tokens: Some(600_000),
            cache_write_tokens: Some(100_000),
            ..Usage::default()
        };
        // 0.3 M plain at 3, 0.6 M read at 0.3, 0.1 M written at 3.75, 0.1 M output at 15.
        let cost = get_model_info("claude-sonnet-4-5").unwrap().cost_usd(&usage).unwrap();
        assert!((cost - 2.955).abs() < 1e-9, "{cost}");
    }
}

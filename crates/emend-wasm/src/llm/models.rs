//! The catalogue of models.

use emend_llm::{get_latest_model, get_model_info, list_models};
use wasm_bindgen::prelude::*;

use super::{text_of, thrown};

/// Returns the models of a provider, or all.
#[wasm_bindgen(js_name = listModels)]
pub fn models_of(provider: Option<String>) -> Result<String, JsValue> {
    thrown(text_of(&list_models(provider.as_deref()).collect::<Vec<_>>()))
}

/// Returns the catalogue entry of a model; JSON `null` if it is unknown.
#[wasm_bindgen(js_name = modelInfo)]
pub fn model_info(id: &str) -> Result<String, JsValue> {
    thrown(text_of(&get_model_info(id)))
}

/// Returns the newest model of a provider, or its newest model with a capability; JSON `null` if there is none.
#[wasm_bindgen(js_name = latestModel)]
pub fn latest_model(provider: &str, capability: Option<String>) -> Result<String, JsValue> {
    thrown(text_of(&get_latest_model(provider, capability.as_deref())))
}

//! A real model behind llama.cpp's server, through fetch.

use emend_llm::{Api, Provider, Shared};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::llama_cases as cases;
use crate::support::provider;

fn provide(api: Api, key: &str) -> Shared<dyn Provider> {
    provider(api, option_env!("EMEND_LLAMA").expect("`cargo xtask test --llama` names the server"), key)
}

#[test]
async fn text_streams_in_three_formats() {
    cases::text_streams_in_three_formats(&provide).await;
}

#[test]
async fn a_response_at_its_limit_reports_it() {
    cases::a_response_at_its_limit_reports_it(&provide).await;
}

#[test]
async fn a_conversation_that_is_too_long_is_reported() {
    cases::a_conversation_that_is_too_long_is_reported(&provide).await;
}

#[test]
async fn after_cancelling_the_server_answers_again() {
    cases::after_cancelling_the_server_answers_again(&provide).await;
}

#[test]
async fn a_model_without_native_tools_calls_one_through_constrained_output() {
    cases::a_model_without_native_tools_calls_one_through_constrained_output(&provide).await;
}

//! aimock (npm) in all four formats, through fetch.

use emend_llm::{Api, Provider, Shared};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::cases;
use crate::support::provider;

fn provide(api: Api, key: &str) -> Shared<dyn Provider> {
    provider(api, option_env!("EMEND_MOCK").expect("the step http of cargo xtask test names the server"), key)
}

#[test]
async fn text_streams_in_every_format() {
    cases::text_streams_in_every_format(&provide).await;
}

#[test]
async fn reasoning_is_separate_from_text() {
    cases::reasoning_is_separate_from_text(&provide).await;
}

#[test]
async fn parallel_calls_stream_and_their_results_go_back() {
    cases::parallel_calls_stream_and_their_results_go_back(&provide).await;
}

#[test]
async fn long_arguments_stream_in_pieces_that_add_up() {
    cases::long_arguments_stream_in_pieces_that_add_up(&provide).await;
}

#[test]
async fn errors_have_their_class_and_rate_limits_are_retried() {
    // The server hides Retry-After from pages (CORS), so the retry policy's own delay applies.
    cases::errors_have_their_class_and_rate_limits_are_retried(&provide, [1000, 2000]).await;
}

#[test]
async fn cancelling_ends_a_running_response() {
    cases::cancelling_ends_a_running_response(&provide).await;
}

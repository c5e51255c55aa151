//! A real model behind llama.cpp's server, through reqwest. `cargo xtask test --llama` builds and starts the server.

use emend_llm::{Api, Provider, Shared};

use crate::llama_cases as cases;
use crate::support::{covers, provider, run};

fn provide(api: Api, key: &str) -> Shared<dyn Provider> {
    let url = std::env::var("EMEND_LLAMA").expect("EMEND_LLAMA names the server: run `cargo xtask test --llama`");
    provider(api, &url, key)
}

#[test]
fn text_streams_in_three_formats() {
    run(cases::text_streams_in_three_formats(&provide));
}

#[test]
fn a_response_at_its_limit_reports_it() {
    run(cases::a_response_at_its_limit_reports_it(&provide));
}

#[test]
fn a_conversation_that_is_too_long_is_reported() {
    run(cases::a_conversation_that_is_too_long_is_reported(&provide));
}

#[test]
fn after_cancelling_the_server_answers_again() {
    run(cases::after_cancelling_the_server_answers_again(&provide));
}

#[test]
fn a_model_without_native_tools_calls_one_through_constrained_output() {
    covers("constrained.tool_calls");
    run(cases::a_model_without_native_tools_calls_one_through_constrained_output(&provide));
}

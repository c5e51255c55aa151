//! The page that says what each family calls the tools, kept in step with the table.

use super::tool_names::{self, Naming, Offer, Output};
use crate::tool::ResultForm;

/// Writes what one family calls a tool, its parameters and their values, where that is not the canonical name.
fn cell(names: &[Naming], canonical: &str) -> String {
    let Some(naming) = names.iter().find(|naming| naming.canonical == canonical) else { return "—".to_owned() };
    if naming.offer == Offer::Instead {
        return format!("— (`{}` stands in)", naming.wire);
    }
    let renamed = naming.params.iter().chain(naming.values).map(|(own, wire)| format!("<br>{own} → `{wire}`"));
    let output = if naming.output == Output::EndFirst { "<br>how it ended comes first" } else { "" };
    format!("`{}`{}{output}", naming.wire, renamed.collect::<String>())
}

#[test]
fn the_page_of_tools_says_what_each_family_calls_them() {
    const HEADER: &str = "\
# What each family of models calls the tools

Written by `crates/emend-agent/src/profile/host_tests.rs` from `tool_names.rs`; change that. A parameter that is not listed keeps its
name. `safe_patch` is called so by all; it is Gemini's way to edit unless the host says otherwise, and stands in for `replace`.
Results are text for OpenAI and Anthropic, and for Gemini `{\"ok\": true, \"data\": {\"output\"}}` or `{\"ok\": false, \"error\":
{\"code\", \"message\", \"suggestions\"}}`.

| tool | OpenAI | Anthropic | Gemini |
|---|---|---|---|
";
    let ids = ["openai", "anthropic", "gemini"];
    assert_eq!(ids.map(tool_names::results), [ResultForm::Text, ResultForm::Text, ResultForm::Envelope]);
    let families = ids.map(tool_names::of);
    let mut tools: Vec<&str> = families.iter().flat_map(|names| names.iter().map(|naming| naming.canonical)).collect();
    tools.sort_unstable();
    tools.dedup();
    let row = |tool: &&str| format!("| {tool} | {} |\n", families.map(|names| cell(names, tool)).join(" | "));
    let page = HEADER.to_owned() + &tools.iter().map(row).collect::<String>();
    expect_test::expect_file!["../../../../docs/tools.md"].assert_eq(&page);
}

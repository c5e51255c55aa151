//! The page that says what each family calls the tools, kept in step with the table.

use super::tool_names::{self, Offer, OutputLayout, ProfileTool};
use crate::tool::ResultForm;

/// Writes what one family calls a tool, its parameters and their values, where that is not the canonical name.
fn cell(rows: &[ProfileTool], canonical: &str) -> String {
    let Some(row) = rows.iter().find(|row| row.names.canonical == canonical) else { return "—".to_owned() };
    let exposed = row.names.exposed;
    if row.offer == Offer::Instead {
        return format!("— (`{exposed}` stands in)");
    }
    let renamed = row.names.params.iter().chain(row.names.values);
    let renamed = renamed.map(|(own, exposed)| format!("<br>{own} → `{exposed}`"));
    let output = if row.output == OutputLayout::ExitCodeFirst { "<br>how it ended comes first" } else { "" };
    format!("`{exposed}`{}{output}", renamed.collect::<String>())
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
    assert_eq!(ids.map(tool_names::result_form), [ResultForm::Text, ResultForm::Text, ResultForm::Envelope]);
    let families = ids.map(tool_names::of);
    let mut tools: Vec<&str> = families.iter().flat_map(|rows| rows.iter().map(|row| row.names.canonical)).collect();
    tools.sort_unstable();
    tools.dedup();
    let row = |tool: &&str| format!("| {tool} | {} |\n", families.map(|rows| cell(rows, tool)).join(" | "));
    let page = HEADER.to_owned() + &tools.iter().map(row).collect::<String>();
    expect_test::expect_file!["../../../../docs/tools.md"].assert_eq(&page);
}

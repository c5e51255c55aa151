//! The settings of a session, from the settings of the user.

use std::collections::BTreeMap;

use emend_agent::approval::{Approver, Policy};
use emend_agent::error_code::Code;
use emend_agent::history::{ContextStrategy, KeepEverything, PruneOldOutputs};
use emend_agent::profile::{Profile, check_tool_name};
use emend_agent::session::{RunBudget, SessionConfig};
use emend_llm::{RetryPolicy, Shared};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::settings::{CompactionName, Settings, Sourced};
use crate::tool_set;

/// Added to the user's instructions in a session that only reads.
const READ_ONLY: &str = "This session is read-only: you have no tools that change files or run commands. Describe \
                         changes instead of making them.";

/// Returns the configuration of a session whose requests go to `providers`.
pub(crate) fn session_config(
    settings: &Settings,
    providers: &[&str],
    policy: Policy,
    approver: Option<Shared<dyn Approver>>,
) -> Result<SessionConfig, Failure> {
    let usual = SessionConfig::default();
    let count = |value: Option<u64>, usual: usize| value.map_or(usual, |value| usize::try_from(value).unwrap_or(usual));
    let loop_window = count(settings.loop_window.value.0, usual.loop_detection_window);
    let documents: Vec<String> = settings.documents.iter().map(|name| name.value.clone()).collect();
    let context: Shared<dyn ContextStrategy> = match settings.compaction.value {
        CompactionName::Prune => Shared::new(PruneOldOutputs),
        CompactionName::None => Shared::new(KeepEverything),
    };
    let retries = settings.retries.value.0.and_then(|n| u32::try_from(n).ok());
    let usual_retry = RetryPolicy::default();
    Ok(SessionConfig {
        policy,
        approver,
        max_turns: settings.max_responses.value.0,
        max_tool_calls: settings.max_tool_calls.value.0,
        max_schema_retries: settings.max_schema_retries.value.0.unwrap_or(usual.max_schema_retries),
        max_tool_rounds_per_input: settings.max_tool_rounds.value.0,
        run_budget: RunBudget {
            tokens: settings.max_tokens.value.0,
            cost_usd: settings.max_cost.value.0,
            duration_ms: settings.max_time.value.ms,
        },
        max_command_timeout_ms: settings.max_command_timeout.value.ms.unwrap_or(usual.max_command_timeout_ms),
        reasoning_effort: settings.effort.value.clone().map(|effort| effort.0),
        tool_output_limits: tool_limits("output_chars", &settings.output_chars)?,
        tool_line_limits: tool_limits("output_lines", &settings.output_lines)?,
        streaming: settings.streaming.value.0,
        parallel_tool_calls: settings.parallel_tools.value.0,
        enable_loop_detection: loop_window > 0,
        loop_detection_window: loop_window,
        max_subagent_depth: count(settings.max_subagent_depth.value.0, 1).try_into().unwrap_or(u32::MAX),
        max_subagents: count(settings.max_subagents.value.0, usual.max_subagents),
        context_window: settings.context_window.value.0,
        context,
        base_prompt: settings.system_prompt_text()?,
        project_documents: if documents.is_empty() { usual.project_documents } else { documents },
        provider_options: provider_options(settings, providers)?,
        instructions: instructions(settings)?,
        retry: RetryPolicy { max_retries: retries.unwrap_or(usual_retry.max_retries), ..usual_retry },
        ..SessionConfig::default()
    })
}

fn instructions(settings: &Settings) -> Result<Option<String>, Failure> {
    let own = settings.instructions_text()?;
    Ok(match (own, settings.read_only.value) {
        (own, false) => own,
        (None, true) => Some(READ_ONLY.to_owned()),
        (Some(own), true) => Some(format!("{own}\n\n{READ_ONLY}")),
    })
}

/// Sets values that a profile would replace: the timeout of commands.
pub(crate) fn override_profile(settings: &Settings, config: &mut SessionConfig) {
    if let Some(ms) = settings.command_timeout.value.ms {
        config.default_command_timeout_ms = ms.min(config.max_command_timeout_ms);
    }
}

/// Checks settings whose values are read only when a session begins.
pub(crate) fn check(settings: &Settings) -> Result<(), Failure> {
    tool_limits("output_chars", &settings.output_chars)?;
    tool_limits("output_lines", &settings.output_lines)?;
    provider_options(settings, &[]).map(drop)
}

/// Reads limits of tools, `TOOL=N` each.
fn tool_limits(name: &str, limits: &[Sourced<String>]) -> Result<BTreeMap<String, usize>, Failure> {
    let tools = tool_set::all();
    let read = |limit: &Sourced<String>| {
        let wrong = |what: String| Failure::new(Code::Configuration, format!("{}: {name}: {what}", limit.source));
        let pair = limit.value.split_once('=').and_then(|(tool, n)| Some((tool.trim(), n.trim().parse().ok()?)));
        let (tool, n) = pair.ok_or_else(|| wrong(format!("expected TOOL=N, not {:?}", limit.value)))?;
        if tools.get(tool).is_none() {
            let known = || tools.names().collect::<Vec<_>>().join(", ");
            return Err(wrong(match check_tool_name(tool, &tool_set::OWN_NAMES) {
                Err(unknown) => unknown.to_string(),
                Ok(_) => format!("{tool} is not the canonical name of a tool; expected one of {}", known()),
            }));
        }
        Ok((tool.to_owned(), n))
    };
    limits.iter().map(read).collect()
}

/// Returns the parameters of requests by provider: those of the user, and those of the switches.
fn provider_options(settings: &Settings, providers: &[&str]) -> Result<Map<String, Value>, Failure> {
    let Sourced { value, source } = &settings.provider_options;
    let wrong = |what: String| Failure::new(Code::Configuration, what);
    if let Some((provider, _)) = value.iter().find(|(_, options)| !options.is_object()) {
        return Err(wrong(format!("{source}: provider_options: the value of {provider:?} is not an object")));
    }
    let mut options = value.clone();
    let betas: Vec<&str> = settings.beta.iter().map(|beta| beta.value.as_str()).collect();
    let mut filters = Vec::new();
    for filter in &settings.safety {
        let pair = filter.value.split_once('=').map(|(category, threshold)| (category.trim(), threshold.trim()));
        filters.push(pair.ok_or_else(|| {
            let given = &filter.value;
            wrong(format!("{}: safety: expected CATEGORY=THRESHOLD, not {given:?}", filter.source))
        })?);
    }
    for provider in providers {
        let Some(mut profile) = own_profile(provider) else { continue };
        profile = profile.with_beta_headers(&betas);
        for (category, threshold) in &filters {
            profile = profile.with_safety(category, threshold);
        }
        if settings.web_search.value {
            profile = profile.with_web_search();
        }
        for (key, added) in profile.provider_options.values().filter_map(Value::as_object).flatten() {
            let own = options.entry(*provider).or_insert_with(|| json!({}));
            match (&mut own[key], added) {
                (Value::Array(list), Value::Array(added)) => list.extend(added.iter().cloned()),
                (slot, added) => *slot = added.clone(),
            }
        }
    }
    Ok(options)
}

/// Returns the profile of a provider's own models.
fn own_profile(provider: &str) -> Option<Profile> {
    match provider {
        "anthropic" => Some(Profile::anthropic("")),
        "openai" => Some(Profile::openai("")),
        "gemini" => Some(Profile::gemini("")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Source;

    fn entries(texts: &[&str]) -> Vec<Sourced<String>> {
        texts.iter().map(|text| Sourced { value: (*text).to_owned(), source: Source::Flag("--x") }).collect()
    }

    #[test]
    fn switches_add_to_the_parameters_of_the_provider() {
        let mut settings = Settings { beta: entries(&["b-1"]), safety: entries(&["HARM=LOW"]), ..Settings::default() };
        settings.web_search.value = true;
        settings.provider_options.value = json!({"anthropic": {"beta_headers": ["a-1"]}}).as_object().unwrap().clone();
        let of = |provider: &str| provider_options(&settings, &[provider]).unwrap()[provider].clone();
        let search = json!([{ "type": "web_search_20250305", "name": "web_search" }]);
        assert_eq!(of("anthropic"), json!({ "beta_headers": ["a-1", "b-1"], "tools": search }));
        let safety = json!([{ "category": "HARM", "threshold": "LOW" }]);
        assert_eq!(of("gemini"), json!({ "safetySettings": safety, "tools": [{ "google_search": {} }] }));
        assert_eq!(of("openai"), json!({ "tools": [{ "type": "web_search" }] }));
        assert_eq!(provider_options(&settings, &["openai_compatible"]).unwrap().len(), 1);
    }

    #[test]
    fn limits_name_a_tool_by_its_canonical_name() {
        let limits = tool_limits("output_chars", &entries(&["shell=60000", "grep = 5"])).unwrap();
        assert_eq!(limits, BTreeMap::from([("shell".to_owned(), 60_000), ("grep".to_owned(), 5)]));
        for (text, expected) in [
            ("shell", "--x: output_chars: expected TOOL=N, not \"shell\""),
            ("shell=many", "--x: output_chars: expected TOOL=N, not \"shell=many\""),
            ("shel=1", "--x: output_chars: unknown tool \"shel\"; did you mean shell?"),
        ] {
            assert_eq!(tool_limits("output_chars", &entries(&[text])).unwrap_err().message, expected);
        }
        let refused = tool_limits("output_chars", &entries(&["Bash=1"])).unwrap_err().message;
        assert!(refused.contains("Bash is not the canonical name of a tool"), "{refused}");
    }
}

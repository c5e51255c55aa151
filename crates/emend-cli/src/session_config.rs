//! The settings of a session, from the settings of the user.

use std::collections::BTreeMap;

use emend_agent::approval::{Approver, Policy};
use emend_agent::error_code::Code;
use emend_agent::history::{ContextStrategy, KeepEverything, PruneOldOutputs};
use emend_agent::profile::{Profile, check_tool_name};
use emend_agent::service::Budget;
use emend_agent::session::{RunBudget, SessionConfig};
use emend_llm::{RetryPolicy, Shared};
use serde_json::{Map, Value, json};

use crate::budget;
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
        run_budget: of_run(&budget::of_runs(settings)),
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

/// Returns a budget as that of a run.
pub(crate) fn of_run(budget: &Budget) -> RunBudget {
    RunBudget { tokens: budget.tokens, cost_usd: budget.cost_usd, duration_ms: budget.duration_ms }
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
    use emend_agent::history::ContextUse;

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

    /// Returns the fields of a configuration with their values.
    fn fields(config: &SessionConfig) -> Vec<(&'static str, String)> {
        let SessionConfig {
            max_turns,
            max_tool_rounds_per_input,
            max_tool_calls,
            max_schema_retries,
            run_budget,
            default_command_timeout_ms,
            max_command_timeout_ms,
            reasoning_effort,
            tool_output_limits,
            tool_line_limits,
            streaming,
            parallel_tool_calls,
            enable_loop_detection,
            loop_detection_window,
            max_subagent_depth,
            max_subagents,
            detect_questions,
            context_window,
            context,
            event_bytes_max,
            base_prompt,
            project_documents,
            result_form,
            provider_options,
            instructions,
            policy,
            approver,
            retry,
        } = config;
        let RetryPolicy { max_retries, base_delay_ms, max_delay_ms, backoff_multiplier, jitter, on_retry } = retry;
        let prunes = context.is_due(ContextUse { tokens: 9, window: Some(10) });
        let delays = (base_delay_ms, max_delay_ms, backoff_multiplier, jitter, on_retry.is_some());
        vec![
            ("max_turns", max_turns.to_string()),
            ("max_tool_rounds_per_input", max_tool_rounds_per_input.to_string()),
            ("max_tool_calls", max_tool_calls.to_string()),
            ("max_schema_retries", max_schema_retries.to_string()),
            ("run_budget.tokens", run_budget.tokens.to_string()),
            ("run_budget.cost_usd", run_budget.cost_usd.to_string()),
            ("run_budget.duration_ms", run_budget.duration_ms.to_string()),
            ("default_command_timeout_ms", default_command_timeout_ms.to_string()),
            ("max_command_timeout_ms", max_command_timeout_ms.to_string()),
            ("reasoning_effort", format!("{reasoning_effort:?}")),
            ("tool_output_limits", format!("{tool_output_limits:?}")),
            ("tool_line_limits", format!("{tool_line_limits:?}")),
            ("streaming", streaming.to_string()),
            ("parallel_tool_calls", parallel_tool_calls.to_string()),
            ("enable_loop_detection", enable_loop_detection.to_string()),
            ("loop_detection_window", loop_detection_window.to_string()),
            ("max_subagent_depth", max_subagent_depth.to_string()),
            ("max_subagents", max_subagents.to_string()),
            ("detect_questions", detect_questions.to_string()),
            ("context_window", format!("{context_window:?}")),
            ("context prunes", prunes.to_string()),
            ("event_bytes_max", event_bytes_max.to_string()),
            ("base_prompt", format!("{base_prompt:?}")),
            ("project_documents", format!("{project_documents:?}")),
            ("result_form", format!("{result_form:?}")),
            ("provider_options", Value::Object(provider_options.clone()).to_string()),
            ("instructions", format!("{instructions:?}")),
            ("policy", format!("{policy:?}")),
            ("approver", approver.is_some().to_string()),
            ("retry.max_retries", max_retries.to_string()),
            ("retry delays", format!("{delays:?}")),
        ]
    }

    /// Settings that take effect elsewhere: at the provider, the project, the rules, the tools, the meter and the server.
    const ELSEWHERE: [(&str, &str); 26] = [
        ("env", "ssh:box:/srv/app"),
        ("model", "anthropic:m"),
        ("profile", "gemini"),
        ("edits", "edit_lines"),
        ("subagents", "true"),
        ("outline", "true"),
        ("review", "true"),
        ("allow", "shell"),
        ("ask", "write_file"),
        ("deny", "web_fetch"),
        ("sandbox", "true"),
        ("sandbox_write", "/opt/x"),
        ("web", "true"),
        ("fallback_model", "openai:m"),
        ("fallback_attempts", "3"),
        ("fallback_after", "30s"),
        ("tool_calls", "constrained"),
        ("hide_secrets", "true"),
        ("env_inherit", "core"),
        ("env_keep", "CI_TOKEN"),
        ("env_drop", "DEBUG"),
        ("index", "off"),
        ("session_max_tokens", "20k"),
        ("session_max_cost", "1.5"),
        ("session_max_time", "2m"),
        ("web_app", "dist"),
    ];

    #[test]
    fn each_setting_changes_the_field_that_it_names_and_no_other() {
        let configured = |settings: &Settings| {
            let mut config = session_config(settings, &["anthropic", "gemini"], Policy::default(), None).unwrap();
            override_profile(settings, &mut config);
            fields(&config)
        };
        let usual = configured(&Settings { without_user_files: true, ..Settings::default() });
        let mut seen: Vec<&str> = Vec::new();
        let mut check = |name: &'static str, text: &str, expected: &[(&'static str, &str)]| {
            let found = configured(&Settings::of_value(name, text)).into_iter();
            let changed: Vec<_> =
                found.zip(&usual).filter(|(now, before)| now != *before).map(|(now, _)| now).collect();
            let changed: Vec<_> = changed.iter().map(|(field, value)| (*field, value.as_str())).collect();
            assert_eq!(changed, expected, "{name} {text}");
            seen.push(name);
        };
        check("effort", "low", &[("reasoning_effort", "Some(\"low\")")]);
        check("instructions", "Be brief.", &[("instructions", "Some(\"Be brief.\")")]);
        check("max_tool_rounds", "7", &[("max_tool_rounds_per_input", "7")]);
        check("max_tokens", "20k", &[("run_budget.tokens", "20000")]);
        check("max_cost", "1.5", &[("run_budget.cost_usd", "1.5")]);
        check("max_time", "2m", &[("run_budget.duration_ms", "120000")]);
        check("read_only", "true", &[("instructions", &format!("{:?}", Some(READ_ONLY)))]);
        let options = r#"{"anthropic":{"top_k":7}}"#;
        check("provider_options", options, &[("provider_options", options)]);
        let search = r#"{"anthropic":{"tools":[{"type":"web_search_20250305","name":"web_search"}]},"gemini":{"tools":[{"google_search":{}}]}}"#;
        check("web_search", "true", &[("provider_options", search)]);
        check("beta", "b-1", &[("provider_options", r#"{"anthropic":{"beta_headers":["b-1"]}}"#)]);
        let safety = r#"{"gemini":{"safetySettings":[{"category":"HARM","threshold":"LOW"}]}}"#;
        check("safety", "HARM=LOW", &[("provider_options", safety)]);
        check("streaming", "off", &[("streaming", "false")]);
        check("retries", "0", &[("retry.max_retries", "0")]);
        check("retries", "5", &[("retry.max_retries", "5")]);
        check("context_window", "32k", &[("context_window", "Some(32000)")]);
        check("compaction", "none", &[("context prunes", "false")]);
        check("system_prompt", "You edit.", &[("base_prompt", "Some(\"You edit.\")")]);
        check("documents", "NOTES.md", &[("project_documents", "[\"NOTES.md\"]")]);
        check("parallel_tools", "off", &[("parallel_tool_calls", "false")]);
        check("loop_window", "4", &[("loop_detection_window", "4")]);
        check("loop_window", "0", &[("enable_loop_detection", "false"), ("loop_detection_window", "0")]);
        check("max_responses", "9", &[("max_turns", "9")]);
        check("max_tool_calls", "12", &[("max_tool_calls", "12")]);
        check("max_schema_retries", "3", &[("max_schema_retries", "3")]);
        check("max_schema_retries", "0", &[("max_schema_retries", "0")]);
        check("max_subagents", "2", &[("max_subagents", "2")]);
        check("max_subagent_depth", "2", &[("max_subagent_depth", "2")]);
        check("output_chars", "shell=500", &[("tool_output_limits", "{\"shell\": 500}")]);
        check("output_lines", "grep=5", &[("tool_line_limits", "{\"grep\": 5}")]);
        check("command_timeout", "20s", &[("default_command_timeout_ms", "20000")]);
        // At most the maximum.
        check("command_timeout", "1h", &[("default_command_timeout_ms", "600000")]);
        check("max_command_timeout", "20m", &[("max_command_timeout_ms", "1200000")]);
        for (name, text) in ELSEWHERE {
            check(name, text, &[]);
        }
        let missing: Vec<&str> = Settings::names().into_iter().filter(|name| !seen.contains(name)).collect();
        assert!(missing.is_empty(), "settings without a line above: {missing:?}");
    }
}

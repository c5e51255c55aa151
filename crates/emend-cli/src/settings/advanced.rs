//! The advanced settings: those that few users need. `--help` lists their options, `-h` does not.

use super::field::Field;
use super::table::{ADVANCED, ProjectRight, Row, Settings};

/// A row. A project's file cannot set it.
const fn row(
    name: &'static str,
    option: &'static str,
    field: fn(&mut Settings) -> &mut dyn Field,
    value_name: &'static str,
    help: &'static str,
) -> Row {
    let (project, requires, details) = (ProjectRight::Never, None, "");
    Row { name, option, field, project, value_name, requires, heading: ADVANCED, help, details }
}

/// The advanced settings.
pub(super) static TABLE: [Row; 31] = [
    Row {
        details: "The responses of --model are then held back until they are complete. A failure of the provider, a call \
                  of an unknown tool or arguments that do not match their schema count as a failed attempt. --max-cost \
                  uses the price of --model.",
        ..row(
            "fallback_model",
            "--fallback-model",
            |settings| &mut settings.fallback_model,
            "MODEL",
            "Model that responds if --model fails",
        )
    },
    Row {
        requires: Some("fallback_model"),
        ..row(
            "fallback_attempts",
            "--fallback-attempts",
            |settings| &mut settings.fallback_attempts,
            "N",
            "With --fallback-model: number of attempts of --model. Default 2",
        )
    },
    Row {
        requires: Some("fallback_model"),
        ..row(
            "fallback_after",
            "--fallback-after",
            |settings| &mut settings.fallback_after,
            "TIME",
            "With --fallback-model: time limit of a response of --model, e.g. 60s",
        )
    },
    Row {
        project: ProjectRight::Set,
        details: "`constrained` is for small models behind a server that enforces a JSON schema, such as llama.cpp or \
                  Ollama. The model then writes each tool call as a JSON object.",
        ..row(
            "tool_calls",
            "--tool-calls",
            |settings| &mut settings.tool_calls,
            "FORM",
            "Form of the model's tool calls",
        )
    },
    Row {
        details: "E.g. `{\"openai\": {\"service_tier\": \"flex\"}}`. In a settings file it is a table: \
                  [provider_options.openai]. The parameters of the model's provider are added to each request.",
        ..row(
            "provider_options",
            "--provider-options",
            |settings| &mut settings.provider_options,
            "JSON",
            "Parameters of the provider's API, by provider",
        )
    },
    row(
        "web_search",
        "--web-search",
        |settings| &mut settings.web_search,
        "",
        "Let the provider search the web (anthropic, openai, gemini). The provider charges for it",
    ),
    row(
        "beta",
        "--beta",
        |settings| &mut settings.beta,
        "NAME",
        "Enable a beta feature of Anthropic's API. Can be given several times",
    ),
    row(
        "safety",
        "--safety",
        |settings| &mut settings.safety,
        "CATEGORY=THRESHOLD",
        "Set a safety filter of Gemini's API. Can be given several times",
    ),
    Row {
        project: ProjectRight::Set,
        ..row(
            "streaming",
            "--streaming",
            |settings| &mut settings.streaming,
            "SWITCH",
            "Whether responses appear while they arrive. Default on",
        )
    },
    row(
        "retries",
        "--retries",
        |settings| &mut settings.retries,
        "N",
        "Number of retries of a model call that failed temporarily. Default 2",
    ),
    row(
        "context_window",
        "--context-window",
        |settings| &mut settings.context_window,
        "N",
        "Context window of the model in tokens, e.g. 32k, if emend does not know the model",
    ),
    row(
        "compaction",
        "--compaction",
        |settings| &mut settings.compaction,
        "HOW",
        "How to make room in a full context window",
    ),
    row(
        "system_prompt",
        "--system-prompt",
        |settings| &mut settings.system_prompt,
        "TEXT|@FILE",
        "Base instructions in place of those of the model family, or @ and a file with them",
    ),
    row(
        "documents",
        "--document",
        |settings| &mut settings.documents,
        "NAME",
        "Name of files with instructions in the project, in place of AGENTS.md and the family's. Can be given several times",
    ),
    Row {
        project: ProjectRight::Set,
        ..row(
            "parallel_tools",
            "--parallel-tools",
            |settings| &mut settings.parallel_tools,
            "SWITCH",
            "Whether calls of one response that only read run at the same time. Default on",
        )
    },
    row(
        "loop_window",
        "--loop-window",
        |settings| &mut settings.loop_window,
        "N",
        "Number of repeated tool calls after which the model is warned. Default 10; 0 for never",
    ),
    Row {
        project: ProjectRight::Lower,
        ..row(
            "max_responses",
            "--max-responses",
            |settings| &mut settings.max_responses,
            "N",
            "Stop after N model responses of the whole conversation. Default 0, no limit",
        )
    },
    Row {
        project: ProjectRight::Lower,
        details: "Calls beyond the limit do not run. The model then responds once more, without tools.",
        ..row(
            "max_tool_calls",
            "--max-tool-calls",
            |settings| &mut settings.max_tool_calls,
            "N",
            "Stop after N tool calls of one message. Default 0, no limit",
        )
    },
    row(
        "max_schema_retries",
        "--max-schema-retries",
        |settings| &mut settings.max_schema_retries,
        "N",
        "Let the model try again N times in a row if its tool calls do not match their schemas. Default 5; 0 for no limit",
    ),
    Row {
        project: ProjectRight::SwitchOn,
        details: "Among them are .env, .env.*, *.pem, *.key, id_rsa*, .netrc and .aws/credentials, but not .env.example. \
                  Commands could read these files, so each command is asked about. The agents of `emend serve` never see \
                  such files.",
        ..row(
            "hide_secrets",
            "--hide-secrets",
            |settings| &mut settings.hide_secrets,
            "",
            "Hide files that usually hold secrets from the agent",
        )
    },
    row(
        "max_subagents",
        "--max-subagents",
        |settings| &mut settings.max_subagents,
        "N",
        "With --subagents: number of subagents that work at the same time. Default 8",
    ),
    row(
        "max_subagent_depth",
        "--max-subagent-depth",
        |settings| &mut settings.max_subagent_depth,
        "N",
        "With --subagents: nesting of subagents. Default 1: a subagent starts none",
    ),
    row(
        "output_chars",
        "--output-chars",
        |settings| &mut settings.output_chars,
        "TOOL=N",
        "Characters of a tool's output that the model sees, e.g. shell=60000. Can be given several times",
    ),
    row(
        "output_lines",
        "--output-lines",
        |settings| &mut settings.output_lines,
        "TOOL=N",
        "Lines of a tool's output that the model sees, e.g. grep=500. Can be given several times",
    ),
    Row {
        project: ProjectRight::Lower,
        ..row(
            "command_timeout",
            "--command-timeout",
            |settings| &mut settings.command_timeout,
            "TIME",
            "Timeout of a command for which the model sets none. Default 10s, or 2m for Claude models",
        )
    },
    row(
        "max_command_timeout",
        "--max-command-timeout",
        |settings| &mut settings.max_command_timeout,
        "TIME",
        "Maximum timeout of a command. Default 10m",
    ),
    row(
        "env_inherit",
        "--env-inherit",
        |settings| &mut settings.env_inherit,
        "SET",
        "Environment variables that commands inherit",
    ),
    row(
        "env_keep",
        "--env-keep",
        |settings| &mut settings.env_keep,
        "NAME",
        "Environment variable that commands inherit in any case. Can be given several times",
    ),
    Row {
        project: ProjectRight::Set,
        ..row(
            "env_drop",
            "--env-drop",
            |settings| &mut settings.env_drop,
            "NAME",
            "Environment variable that commands never inherit. Can be given several times",
        )
    },
    Row {
        details: "A search never waits for the index and finds the same without it. The index is in the project's state \
                  directory and takes at most about 512 MiB.",
        ..row(
            "index",
            "--index",
            |settings| &mut settings.index,
            "SWITCH",
            "Whether an index speeds up searches in a project of 2,000 files or more. Default on",
        )
    },
    Row {
        details: "By default `web` beside the program, if it exists. In a settings file, the path is relative to the file. \
                  docs/how-to/serve.md describes how to get the app.",
        ..row(
            "web_app",
            "--web-app",
            |settings| &mut settings.web_app,
            "DIR",
            "Directory of the built web app, which `emend serve` and `/serve` give to browsers",
        )
    },
];

//! The page `docs/settings.md`: every setting and how each host offers it. A cell without an offer gives the reason.

use super::table::{ProjectRight, rows};

/// How one host offers a setting.
enum Cell {
    /// By this name.
    By(&'static str),
    /// Not, for this reason.
    No(&'static str),
}

use Cell::{By, No};

/// The host's functions or other options do this.
const HOST: &str = "The embedder decides it with functions of its own.";
const PAGE: &str = "The page shows the package with its defaults; it has controls for the model and a few options.";
const REVIEW: &str = "On the page every edit waits for review.";
const COMMANDS: &str = "Commands in memory inherit no variables and reach no other files.";
const NO_COMMANDS: &str = "The page runs commands in memory only.";
const PLACES: &str =
    "JavaScript has no processes that lead to other machines; `environment` takes an environment of your own.";
const MEMORY: &str = "Files in memory are searched as fast as an index is read.";
const GRAMMARS: &str = "The grammars are parsers in C, which the package does not have.";
const ALWAYS: &str = "In JavaScript it keeps its default, because the size of the package's core is limited.";
const SESSIONS: &str = "Sessions of the review service have budgets of their own (`budget` and `job_budget`).";
const APP: &str = "Only the command line serves the page.";
const RETRY: &str = "A `fetch` of your own can retry.";

/// A setting of the command line: its type, its default, the npm option and the control of the page.
const HOSTS: [(&str, &str, &str, Cell, Cell); 54] = [
    ("env", "`ssh:HOST:DIR` and others", "this machine", No(PLACES), No(PROJECT)),
    ("model", "name of a model", "newest model with an API key, else `offline`", By("model"), By("Model")),
    ("effort", "`none` to `max`", "the provider's", By("effort"), No(PAGE)),
    ("profile", "`auto`, `openai`, `anthropic`, `gemini`, `none`", "`auto`", By("profile"), No(PAGE)),
    ("edits", "`own`, `safe_patch`, `edit_lines`", "by family", By("edits"), No(PAGE)),
    ("subagents", "switch", "off", By("subagents"), By("Let the assistant start subagents")),
    ("outline", "switch", "off", No(GRAMMARS), No(GRAMMARS)),
    ("instructions", "text or `@FILE`", "none", By("instructions"), No(PAGE)),
    ("max_tool_rounds", "number", "100; in JavaScript no limit", By("maxToolRounds"), No(PAGE)),
    ("max_tokens", "number", "no limit", By("maxTokens"), By("Limit of a task in tokens")),
    ("max_cost", "US dollars", "no limit", By("maxCostUsd"), By("Limit of a task in US dollars")),
    ("max_time", "time", "no limit", By("maxDurationMs"), By("Limit of a task in minutes")),
    ("session_max_tokens", "number", "no limit", No(SESSIONS), No(SESSIONS)),
    ("session_max_cost", "US dollars", "no limit", No(SESSIONS), No(SESSIONS)),
    ("session_max_time", "time", "no limit", No(SESSIONS), No(SESSIONS)),
    ("review", "switch", "off; in JavaScript on", By("mode"), No(REVIEW)),
    ("read_only", "switch", "off", By("readOnly"), No(PAGE)),
    ("allow", "rules", "edits", By("policy"), No(PAGE)),
    ("ask", "rules", "commands, web pages", By("policy"), No(PAGE)),
    ("deny", "rules", "none", By("policy"), No(PAGE)),
    ("sandbox", "switch", "off", No(COMMANDS), No(NO_COMMANDS)),
    ("sandbox_write", "paths", "none", No(COMMANDS), No(NO_COMMANDS)),
    ("web", "switch", "off", By("webFetch"), No(PAGE)),
    ("fallback_model", "name of a model", "none", By("model.fallback"), By("Second model")),
    ("fallback_attempts", "number", "2", By("model.fallbackAttempts"), No(PAGE)),
    ("fallback_after", "time", "no limit", By("model.fallbackAfterMs"), No(PAGE)),
    ("tool_calls", "`native`, `constrained`", "`native`", By("model.constrainedTools"), No(PAGE)),
    ("provider_options", "object", "none", By("model.providerOptions"), No(PAGE)),
    ("web_search", "switch", "off", By("model.webSearch"), No(PAGE)),
    ("beta", "names", "none", By("model.betas"), No(PAGE)),
    ("safety", "filters", "the provider's", By("model.safety"), No(PAGE)),
    ("streaming", "switch", "on", No(ALWAYS), No(PAGE)),
    ("retries", "number", "2", No(RETRY), No(PAGE)),
    ("context_window", "number", "that of a known model", No(ALWAYS), No(PAGE)),
    ("compaction", "`prune`, `none`", "`prune`", No(ALWAYS), No(PAGE)),
    ("system_prompt", "text or `@FILE`", "by family", No(ALWAYS), No(PAGE)),
    ("documents", "names of files", "`AGENTS.md` and that of the family", No(ALWAYS), No(PAGE)),
    ("parallel_tools", "switch", "on", No(ALWAYS), No(PAGE)),
    ("loop_window", "number", "10", No(ALWAYS), No(PAGE)),
    ("max_responses", "number", "no limit", By("maxTurns"), No(PAGE)),
    ("max_tool_calls", "number", "no limit", No(ALWAYS), No(PAGE)),
    ("max_schema_retries", "number", "5", No(ALWAYS), No(PAGE)),
    ("hide_secrets", "switch", "off", By("policy"), No(PAGE)),
    ("max_subagents", "number", "8", No(ALWAYS), No(PAGE)),
    ("max_subagent_depth", "number", "1", No(ALWAYS), No(PAGE)),
    ("output_chars", "limits by tool", "see `docs/tools.md`", No(ALWAYS), No(PAGE)),
    ("output_lines", "limits by tool", "see `docs/tools.md`", No(ALWAYS), No(PAGE)),
    ("command_timeout", "time", "10 s, or 2 min for Claude", No(ALWAYS), No(NO_COMMANDS)),
    ("max_command_timeout", "time", "10 min", No(ALWAYS), No(NO_COMMANDS)),
    ("env_inherit", "`harmless`, `all`, `core`, `none`", "`harmless`", No(COMMANDS), No(NO_COMMANDS)),
    ("env_keep", "names", "none", No(COMMANDS), No(NO_COMMANDS)),
    ("env_drop", "names", "none", No(COMMANDS), No(NO_COMMANDS)),
    ("index", "switch", "on", No(MEMORY), No(MEMORY)),
    ("web_app", "path", "`web` beside the program", No(APP), No(APP)),
];

const KEYS: &str = "Keys are read from the environment only, so that no file and no list of processes contains them.";
const ADDRESS: &str = "An address belongs to a key, so it is read from the environment, too.";
const HEADERS: &str = "Headers may contain keys; a proxy at the provider's address can add them.";
const FILES: &str = "The command line works on the files of a directory.";
const QUESTIONS: &str =
    "A conversation and `emend run` on a terminal let the model ask. Without a terminal, no user answers.";
const PAGE_ASKS: &str = "The page lets the model ask at all times.";
const SAVED: &str = "The command line saves every conversation.";
const OWN_TOOLS: &str = "Tools of your own need code.";
const SHELL: &str = "The command line runs the commands of the system, unless a rule denies `shell`.";
const SLOW: &str = "The command line shows text as it arrives.";
const HEADER_PAGE: &str = "The models that the page offers need no headers.";
const PROJECT: &str = "The page has one project in memory, or a folder that the user opens.";
const STORE: &str = "The browser keeps the conversations of the page.";

/// A setting that the command line does not have as an option.
type Other = (&'static str, &'static str, &'static str, [Cell; 5]);

/// Columns: option, file, variable, npm, page.
const OTHERS: [Other; 12] = [
    ("API key", "text", "none", [No(KEYS), No(KEYS), By("ANTHROPIC_API_KEY"), By("model.apiKey"), By("API key")]),
    (
        "address of the API",
        "URL",
        "the provider's",
        [No(ADDRESS), No(ADDRESS), By("ANTHROPIC_BASE_URL"), By("model.baseUrl"), By("Base URL")],
    ),
    ("headers", "by name", "none", [No(HEADERS), No(HEADERS), No(HEADERS), By("model.headers"), No(HEADER_PAGE)]),
    ("pace of the offline model", "time", "none", [No(SLOW), No(SLOW), No(SLOW), By("model.paceMs"), By("Pace")]),
    ("questions", "switch", "off", [No(QUESTIONS), No(QUESTIONS), No(QUESTIONS), By("questions"), No(PAGE_ASKS)]),
    ("tools", "list", "none", [No(OWN_TOOLS), No(OWN_TOOLS), No(OWN_TOOLS), By("tools"), No(OWN_TOOLS)]),
    ("shell", "switch", "off", [No(SHELL), No(SHELL), No(SHELL), By("shell"), By("Let the assistant run commands")]),
    ("files", "by path", "none", [By("--root"), No(FILES), No(FILES), By("files"), No(PROJECT)]),
    ("environment", "object", "none", [No(FILES), No(FILES), No(FILES), By("environment"), No(PROJECT)]),
    ("quota", "limits", "none", [No(FILES), No(FILES), No(FILES), By("quota"), No(PROJECT)]),
    ("store", "object", "none", [No(SAVED), No(SAVED), No(SAVED), By("store"), No(STORE)]),
    ("approve, fetch", "functions", "none", [No(HOST), No(HOST), No(HOST), By("approve"), No(PAGE)]),
];

const HEADER: &str = "\
# Settings

`crates/emend-cli/src/settings/hosts.rs` generates this page from the table of settings. Do not edit it.

`emend config` shows every setting with its value and the source of the value. Options override environment variables,
which override the project's `.emend.toml`, which overrides your `~/.config/emend/config.toml`. Lists are joined; in an
environment variable they have one entry per line. A project's file can restrict the agent and give it no rights: the
column *project* says what it can do with a setting.

A number in place of a name refers to the reason below the table.

| setting | type | default | option | key in files | variable | project | npm option | page |
|---|---|---|---|---|---|---|---|---|
";

/// Writes cells and collects their reasons.
#[derive(Default)]
struct Writer {
    reasons: Vec<&'static str>,
}

impl Writer {
    fn cell(&mut self, cell: &Cell) -> String {
        match cell {
            By(name) => format!("`{name}`"),
            No(reason) => {
                let index = self.reasons.iter().position(|known| known == reason).unwrap_or_else(|| {
                    self.reasons.push(reason);
                    self.reasons.len() - 1
                });
                format!("({})", index + 1)
            }
        }
    }
}

#[test]
fn the_page_of_settings_has_every_setting_in_every_host() {
    let mut writer = Writer::default();
    let mut page = HEADER.to_owned();
    let names: Vec<&str> = rows().map(|row| row.name).collect();
    assert_eq!(HOSTS.each_ref().map(|host| host.0).to_vec(), names, "every setting has a line, in the same order");
    for (row, (name, kind, default, npm, control)) in rows().zip(&HOSTS) {
        let project = match row.project {
            ProjectRight::Never => "no",
            ProjectRight::SwitchOn => "switch on",
            ProjectRight::Lower => "lower",
            ProjectRight::Set => "yes",
        };
        let (npm, control) = (writer.cell(npm), writer.cell(control));
        let (option, variable) = (row.option, row.variable());
        page.push_str(&format!(
            "| {name} | {kind} | {default} | `{option}` | `{name}` | `{variable}` | {project} | {npm} | {control} |\n"
        ));
    }
    for (name, kind, default, cells) in &OTHERS {
        let [option, file, variable, npm, control] = cells.each_ref().map(|cell| writer.cell(cell));
        page.push_str(&format!(
            "| {name} | {kind} | {default} | {option} | {file} | {variable} | no | {npm} | {control} |\n"
        ));
    }
    page.push_str("\nReasons:\n\n");
    for (index, reason) in writer.reasons.iter().enumerate() {
        page.push_str(&format!("{}. {reason}\n", index + 1));
    }
    expect_test::expect_file!["../../../../docs/settings.md"].assert_eq(&page);
}

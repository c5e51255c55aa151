//! The table of settings. A new setting is a field of [`Settings`] and a row of [`TABLE`], or of the table of advanced
//! settings.

use std::collections::BTreeMap;

use emend_agent::service::ServiceLimits;
use serde_json::{Map, Value};

use super::advanced;
use super::field::{Field, Source, Sourced};
use super::limits::{Count, Dollars, Duration, Responses, Rounds, Tokens, Wait};
use super::routing::Routing;
use super::values::{CompactionName, EditsName, Effort, InheritName, Model, ProfileName, Switch, ToolCalls};
use crate::obeyed::Obeyed;

/// The settings in effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) env: Sourced<Option<String>>,
    pub(crate) model: Sourced<Option<Model>>,
    pub(crate) effort: Sourced<Option<Effort>>,
    pub(crate) profile: Sourced<ProfileName>,
    pub(crate) edits: Sourced<Option<EditsName>>,
    pub(crate) subagents: Sourced<bool>,
    pub(crate) outline: Sourced<bool>,
    pub(crate) instructions: Sourced<Option<String>>,
    pub(crate) max_tool_rounds: Sourced<Rounds>,
    pub(crate) max_tokens: Sourced<Tokens>,
    pub(crate) max_cost: Sourced<Dollars>,
    pub(crate) max_time: Sourced<Duration>,
    pub(crate) session_max_tokens: Sourced<Tokens>,
    pub(crate) session_max_cost: Sourced<Dollars>,
    pub(crate) session_max_time: Sourced<Duration>,
    pub(crate) review: Sourced<bool>,
    pub(crate) allow: Vec<Sourced<String>>,
    pub(crate) ask: Vec<Sourced<String>>,
    pub(crate) deny: Vec<Sourced<String>>,
    pub(crate) sandbox: Sourced<bool>,
    pub(crate) sandbox_write: Vec<Sourced<String>>,
    pub(crate) web: Sourced<bool>,
    pub(crate) read_only: Sourced<bool>,
    pub(crate) fallback_model: Sourced<Option<Model>>,
    pub(crate) fallback_attempts: Sourced<Count>,
    pub(crate) fallback_after: Sourced<Wait>,
    pub(crate) tool_calls: Sourced<ToolCalls>,
    pub(crate) provider_options: Sourced<Map<String, Value>>,
    pub(crate) web_search: Sourced<bool>,
    pub(crate) beta: Vec<Sourced<String>>,
    pub(crate) safety: Vec<Sourced<String>>,
    pub(crate) streaming: Sourced<Switch>,
    pub(crate) retries: Sourced<Count>,
    pub(crate) context_window: Sourced<Count>,
    pub(crate) compaction: Sourced<CompactionName>,
    pub(crate) system_prompt: Sourced<Option<String>>,
    pub(crate) documents: Vec<Sourced<String>>,
    pub(crate) parallel_tools: Sourced<Switch>,
    pub(crate) loop_window: Sourced<Count>,
    pub(crate) max_responses: Sourced<Responses>,
    pub(crate) max_tool_calls: Sourced<Responses>,
    pub(crate) max_schema_retries: Sourced<Count>,
    pub(crate) hide_secrets: Sourced<bool>,
    pub(crate) max_subagents: Sourced<Count>,
    pub(crate) max_subagent_depth: Sourced<Count>,
    pub(crate) output_chars: Vec<Sourced<String>>,
    pub(crate) output_lines: Vec<Sourced<String>>,
    pub(crate) command_timeout: Sourced<Wait>,
    pub(crate) max_command_timeout: Sourced<Wait>,
    pub(crate) env_inherit: Sourced<InheritName>,
    pub(crate) env_keep: Vec<Sourced<String>>,
    pub(crate) env_drop: Vec<Sourced<String>>,
    pub(crate) index: Sourced<Switch>,
    pub(crate) web_app: Sourced<Option<String>>,
    /// The limits of `emend serve`. They have no options.
    pub(crate) service: ServiceLimits,
    /// The choice between the model and the fallback model. It has no options.
    pub(crate) routing: Routing,
    /// The sources of the given values of both, by the names of table and value, such as `service.max_sessions`.
    pub(crate) table_sources: BTreeMap<String, Source>,
    /// Whether the user's own files are ignored.
    pub(crate) without_user_files: bool,
    /// The files of the project that are protected because of its state.
    pub(crate) obeyed: Obeyed,
}

/// The right of a project's settings file to set a value. Anyone may have written that file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProjectRight {
    /// The project cannot set it: it could give the agent more rights, or cost money.
    Never,
    /// The project can switch it on.
    SwitchOn,
    /// The project can lower it. A higher value has no effect.
    Lower,
    Set,
}

/// A setting.
pub(super) struct Row {
    /// Name in settings files. The environment variable is `EMEND_NAME`, in capitals.
    pub(super) name: &'static str,
    /// Command-line option, with its dashes.
    pub(super) option: &'static str,
    pub(super) field: fn(&mut Settings) -> &mut dyn Field,
    pub(super) project: ProjectRight,
    /// Placeholder for the value in the help, empty for switches.
    pub(super) value_name: &'static str,
    /// The name of another setting without which the option has no effect.
    pub(super) requires: Option<&'static str>,
    pub(super) heading: &'static str,
    pub(super) help: &'static str,
    /// More paragraphs for `--help`. `{providers}` stands for the names of the providers.
    pub(super) details: &'static str,
}

impl Row {
    /// Returns the name of the environment variable.
    pub(super) fn variable(&self) -> String {
        format!("EMEND_{}", self.name.to_uppercase())
    }
}

const PLACE: &str = "Place options";
const MODEL: &str = "Model options";
const LIMIT: &str = "Limit options";
const PERMISSION: &str = "Permission options";

/// Heading of options that only `--help` lists, not `-h`.
pub(super) const ADVANCED: &str = "Advanced options";

/// Returns all settings, in the order in which help and `emend config` list them.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().chain(&advanced::TABLE)
}

/// The usual settings.
static TABLE: [Row; 23] = [
    Row {
        name: "env",
        option: "--env",
        field: |settings| &mut settings.env,
        project: ProjectRight::Never,
        value_name: "PLACE",
        requires: None,
        heading: PLACE,
        help: "Work elsewhere: `ssh:HOST:DIR`, `docker:CONTAINER:DIR`, `podman:CONTAINER:DIR` or `kubectl:POD:DIR`",
        details: "DIR is an absolute path there; its project is found as on this machine. Conversations, pending changes, \
                  undo data and settings stay on this machine, and a .emend.toml there is not read. HOST is a name that \
                  `ssh` connects to without a password. POD may be NAMESPACE/POD or NAMESPACE/POD/CONTAINER.\n\n\
                  Edits are undone as everywhere. Of what a command changed there, only texts that are not ignored can \
                  be undone. While changes wait for review, commands do not run. --sandbox is refused, and \
                  --env-inherit, --env-keep and --env-drop have no effect there.",
    },
    Row {
        name: "model",
        option: "--model",
        field: |settings| &mut settings.model,
        project: ProjectRight::Never,
        value_name: "MODEL",
        requires: None,
        heading: MODEL,
        help: "Model to use: `PROVIDER:MODEL`, the name of a known model, `offline` or `cassette:FILE`",
        details: "Providers: {providers}. Their API keys are read from environment \
                  variables. `emend models` lists known models; their names, aliases \
                  and families work without provider, e.g. `gpt-5`, `opus`, `claude`.\n\n\
                  `offline` is a demo model that needs no API key. It is not an AI; it understands a few instructions, \
                  e.g. \"rename a to b\". `cassette:FILE` replays a file that `emend run --record` wrote.\n\n\
                  By default a resumed conversation continues with its model. A new one uses the newest model of the \
                  first provider that has an API key, else offline.",
    },
    Row {
        name: "effort",
        option: "--effort",
        field: |settings| &mut settings.effort,
        project: ProjectRight::Lower,
        value_name: "LEVEL",
        requires: None,
        heading: MODEL,
        help: "Reasoning effort of the model. Each model supports only some levels",
        details: "A project's file can lower yours, or without one set at most `medium`.",
    },
    Row {
        name: "profile",
        option: "--profile",
        field: |settings| &mut settings.profile,
        project: ProjectRight::Set,
        value_name: "FAMILY",
        requires: None,
        heading: MODEL,
        help: "Prompt and tool names to use, by model family",
        details: "A profile imitates the agent of the model's maker: its tool names, parameters and instructions.",
    },
    Row {
        name: "edits",
        option: "--edits",
        field: |settings| &mut settings.edits,
        project: ProjectRight::Set,
        value_name: "TOOL",
        requires: None,
        heading: MODEL,
        help: "Editing tool to give the model. The default depends on the model family",
        details: "",
    },
    Row {
        name: "subagents",
        option: "--subagents",
        field: |settings| &mut settings.subagents,
        project: ProjectRight::Never,
        value_name: "",
        requires: None,
        heading: MODEL,
        help: "Let the model start subagents that work on parts of the task in parallel",
        details: "",
    },
    Row {
        name: "outline",
        option: "--outline",
        field: |settings| &mut settings.outline,
        project: ProjectRight::Set,
        value_name: "",
        requires: None,
        heading: MODEL,
        help: "Give the model the tool `outline`: the definitions of source files, and where a name is defined",
        details: "It knows Rust, JavaScript, TypeScript, Python, Go, C, C++ and Java.",
    },
    Row {
        name: "instructions",
        option: "--instructions",
        field: |settings| &mut settings.instructions,
        project: ProjectRight::Never,
        value_name: "TEXT|@FILE",
        requires: None,
        heading: MODEL,
        help: "Instructions for the model, or @ and a file with them",
        details: "They follow your own ~/.config/emend/AGENTS.md and have precedence over it and over the project's \
                  AGENTS.md. In a settings file, the path of the file is relative to the settings file.",
    },
    Row {
        name: "max_tool_rounds",
        option: "--max-turns",
        field: |settings| &mut settings.max_tool_rounds,
        project: ProjectRight::Lower,
        value_name: "N",
        requires: None,
        heading: LIMIT,
        help: "Stop a message after N rounds of tool calls. Default 100; 0 for no limit",
        details: "In a conversation emend asks whether to continue. `emend run` ends with status 5.",
    },
    Row {
        name: "max_tokens",
        option: "--max-tokens",
        field: |settings| &mut settings.max_tokens,
        project: ProjectRight::Lower,
        value_name: "N",
        requires: None,
        heading: LIMIT,
        help: "Stop a run after N tokens, e.g. 200k. Requests and responses count, also of subagents",
        details: "The tokens are compared after each response, so the last one can exceed the limit.",
    },
    Row {
        name: "max_cost",
        option: "--max-cost",
        field: |settings| &mut settings.max_cost,
        project: ProjectRight::Lower,
        value_name: "USD",
        requires: None,
        heading: LIMIT,
        help: "Stop a run after this cost in US dollars, at the prices of `emend models`",
        details: "Has no effect on a model whose price is unknown; emend warns then.",
    },
    Row {
        name: "max_time",
        option: "--max-time",
        field: |settings| &mut settings.max_time,
        project: ProjectRight::Lower,
        value_name: "TIME",
        requires: None,
        heading: LIMIT,
        help: "Stop a run after this time, e.g. 90s or 10m",
        details: "The time in which a question waits for your answer does not count.",
    },
    Row {
        name: "session_max_tokens",
        option: "--session-max-tokens",
        field: |settings| &mut settings.session_max_tokens,
        project: ProjectRight::Lower,
        value_name: "N",
        requires: None,
        heading: LIMIT,
        help: "Stop a conversation after N tokens of all its messages together",
        details: "A conversation that is resumed goes on counting. `/status` shows what is used, and `/budget` changes the limit. The sessions of \
                  `emend serve` have the budgets that their clients set.",
    },
    Row {
        name: "session_max_cost",
        option: "--session-max-cost",
        field: |settings| &mut settings.session_max_cost,
        project: ProjectRight::Lower,
        value_name: "USD",
        requires: None,
        heading: LIMIT,
        help: "Stop a conversation after this cost of all its messages together, in US dollars",
        details: "",
    },
    Row {
        name: "session_max_time",
        option: "--session-max-time",
        field: |settings| &mut settings.session_max_time,
        project: ProjectRight::Lower,
        value_name: "TIME",
        requires: None,
        heading: LIMIT,
        help: "Stop a conversation after this time of all its runs together",
        details: "",
    },
    Row {
        name: "review",
        option: "--review",
        field: |settings| &mut settings.review,
        project: ProjectRight::SwitchOn,
        value_name: "",
        requires: None,
        heading: PERMISSION,
        help: "Hold back changes until you accept them one by one",
        details: "By default changes are written to the files at once. With --review you decide on each at the end of \
                  the task, or with `emend review`.",
    },
    Row {
        name: "read_only",
        option: "--read-only",
        field: |settings| &mut settings.read_only,
        project: ProjectRight::SwitchOn,
        value_name: "",
        requires: None,
        heading: PERMISSION,
        help: "Let the agent read only: it gets no tools that edit files or run commands",
        details: "",
    },
    Row {
        name: "allow",
        option: "--allow",
        field: |settings| &mut settings.allow,
        project: ProjectRight::Never,
        value_name: "TOOL[:PATTERN]",
        requires: None,
        heading: PERMISSION,
        help: "Allow tool calls without asking, e.g. `shell` or `shell:cargo *`",
        details: "By default edits are allowed, and commands (tool `shell`) and web pages are asked about. PATTERN must \
                  match the whole command or file path; `*` matches any text. A command line is allowed if each of its \
                  commands is, also those in loops, functions and `$(...)`. No pattern allows a line that redirects to a \
                  file, or whose text does not show all that it runs. Files that git, editors and shells run or obey by \
                  themselves, such as `.git`, hooks, `.vscode` and `.envrc`, are asked about unless PATTERN names \
                  them; this holds for edits, and an allowed command can write them. Can be given several times. `emend tools list` lists the tools.\n\n\
                  Not asked about are files that take effect when you build or start the project (`Makefile`, \
                  `package.json`, `.env`), programs in a directory of your PATH, and files that only the settings of \
                  a repository in another directory name. Add --ask rules for those.",
    },
    Row {
        name: "ask",
        option: "--ask",
        field: |settings| &mut settings.ask,
        project: ProjectRight::Set,
        value_name: "TOOL[:PATTERN]",
        requires: None,
        heading: PERMISSION,
        help: "Ask before tool calls, e.g. `edit` or `edit:*.lock`",
        details: "`edit` stands for every tool that changes files, `read` for every tool that reads them, and `run` for \
                  commands and web pages. A rule with the name of one tool is about that tool alone.",
    },
    Row {
        name: "deny",
        option: "--deny",
        field: |settings| &mut settings.deny,
        project: ProjectRight::Set,
        value_name: "TOOL[:PATTERN]",
        requires: None,
        heading: PERMISSION,
        help: "Refuse tool calls, e.g. `shell:git push *` or `edit:docs/**`. Overrides --allow, which overrides --ask",
        details: "`edit:PATH` refuses every tool that changes files there: edits, patches, moves from and to it. \
                  `edit_file:PATH` refuses that tool alone, and emend warns about it. A command can still write the \
                  file; commands are asked about unless a rule allows them.\n\n\
                  A rule for commands holds in other spellings: with more blanks, with quotes inside of words, with \
                  options or redirections between words, in loops, functions, `$(...)` and `sh -c '...'`. Options may be joined, split and in any order: `shell:rm -rf \
                  *` also stops `rm -f -r` and `rm --recursive --force`, but not `rm -r`. A command that hides what it \
                  runs is asked about, such as one that defines an alias. Such a rule is a guard rail and cannot stop a \
                  script, another program or an alias in your own git settings from doing the same; use --sandbox \
                  against that.\n\n\
                  A path that `*:PATH`, `read:PATH` or `read_file:PATH` denies is hidden: no tool reads, lists or finds \
                  it, in any spelling. A command could still read the file, so emend asks about every command while a \
                  rule hides files, whatever --allow says. With --review, commands run in a copy without hidden files, but can \
                  reach the original by its absolute path. A rule hides names: a file that had a hard link before under \
                  another name can be read by that name. On macOS and Windows, paths match in upper and lower case. You, `emend undo` and `emend review` see all files.",
    },
    Row {
        name: "sandbox",
        option: "--sandbox",
        field: |settings| &mut settings.sandbox,
        project: ProjectRight::SwitchOn,
        value_name: "",
        requires: None,
        heading: PERMISSION,
        help: "Restrict where commands can write: the project, the temporary directory, and --sandbox-write",
        details: "The project is the whole git repository. Commands can also write to /dev/shm and to terminals. Reading, \
                  network access and changes of file permissions are not restricted. Unix sockets lead out: a program \
                  that listens on one, such as tmux, Docker or an SSH agent, can do anything for a command. Needs Linux \
                  6.2 or later.\n\n\
                  Commands can also write files of the project that programs run or obey by themselves, such as \
                  .git/hooks, .git/config, .envrc and .emend.toml. These programs run outside the sandbox later, so \
                  look at such changes first. `emend undo` restores the files.",
    },
    Row {
        name: "sandbox_write",
        option: "--sandbox-write",
        field: |settings| &mut settings.sandbox_write,
        project: ProjectRight::Never,
        value_name: "PATH",
        requires: Some("sandbox"),
        heading: PERMISSION,
        help: "With --sandbox: also let commands write here, e.g. in a package manager's cache",
        details: "",
    },
    Row {
        name: "web",
        option: "--web",
        field: |settings| &mut settings.web,
        project: ProjectRight::Never,
        value_name: "",
        requires: None,
        heading: PERMISSION,
        help: "Let the model fetch public web pages. Emend asks before each, unless --allow web_fetch is given",
        details: "",
    },
];

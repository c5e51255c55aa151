//! The command line: commands, their arguments and options.

mod arrange;
mod eval;
mod help;
mod serve;
mod session;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use emend_llm::Api;

pub(crate) use arrange::arranged;

use crate::settings::ProfileName;
pub(crate) use eval::{Backend, Entrant, EvalArgs, ReportName};
pub(crate) use serve::{AttachArgs, CanvasKind, DatabaseUrl, DbCommand, LogName, ServeArgs, StoreChoice};
pub(crate) use session::SessionArgs;
use session::session_id;

/// A coding agent for the terminal.
///
/// Without a command, emend opens a conversation in the current directory. The agent reads and edits the files there,
/// and asks before it runs a command. `emend undo` undoes its changes and keeps yours.
#[derive(Debug, Parser)]
#[command(
    name = "emend",
    version,
    after_help = help::MAIN,
    after_long_help = help::main_long(),
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Do one task and exit.
    ///
    /// On a terminal, emend asks before the agent runs a command. Without a terminal such a command is refused, unless
    /// --allow permits it.
    #[command(after_help = help::RUN, after_long_help = help::RUN_LONG)]
    Run(RunArgs),
    /// List, show or delete saved conversations.
    ///
    /// Emend saves every conversation and every `emend run` as a session of the project, outside the project directory.
    /// With --server, these are the sessions of a server, which accept jobs until they are archived.
    Sessions {
        #[command(subcommand)]
        command: Option<SessionsCommand>,
        /// Directory to work in. The project is its git repository, or else the directory itself.
        #[arg(long, default_value = ".", value_name = "DIR", global = true)]
        root: PathBuf,
        /// Place of the project elsewhere, for example `ssh:HOST:DIR`; see docs/how-to/remote.md.
        #[arg(long, value_name = "PLACE", global = true)]
        env: Option<String>,
        /// Address of a server: its sessions instead of those of the project. `emend serve` prints it.
        #[arg(long, value_name = "URL", global = true)]
        server: Option<String>,
        /// With --server: file with the token. Without it the token is in the URL or in EMEND_TOKEN.
        #[arg(long, value_name = "FILE", requires = "server", global = true)]
        token_file: Option<PathBuf>,
        /// Print JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Serve the project over HTTP: sessions, jobs, events and review for other programs and a web app.
    ///
    /// The server shares saved conversations, pending changes and undo data with the other commands. While it runs, they
    /// can only read the project.
    #[command(after_help = help::SERVE)]
    Serve(Box<ServeArgs>),
    /// Join a session of a server from this terminal.
    #[command(after_help = help::ATTACH)]
    Attach(AttachArgs),
    /// Prepare a PostgreSQL database for `emend serve --store postgres:URL`.
    Db {
        #[command(subcommand)]
        command: DbCommand,
    },
    /// Accept or reject changes that wait for review.
    #[command(after_help = help::REVIEW)]
    Review(RootArgs),
    /// Undo the changes of the last run.
    ///
    /// Your own edits to the same files are kept, before the run and after it. While a command of the agent runs, Emend
    /// cannot tell who changes a file: every change then counts as the command's, also one of your editor. Use `emend redo`
    /// to restore the changes.
    Undo(RootArgs),
    /// Restore the changes that the last `undo` or `rollback` undid.
    Redo(RootArgs),
    /// List the runs that `rollback` can undo, newest first.
    ///
    /// A run is one task, or one message of a conversation, with all changes that the agent made for it.
    Checkpoints {
        #[command(flatten)]
        root: RootArgs,
        /// Print JSON, one object per line, instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Undo a run and all later runs.
    ///
    /// Your own edits to the same files are kept. Use `emend redo` to restore the changes.
    #[command(after_help = help::ROLLBACK)]
    Rollback {
        /// ID of the run, from `emend checkpoints`.
        #[arg(value_name = "ID", value_parser = run_number)]
        run: u64,
        #[command(flatten)]
        root: RootArgs,
        /// Undo this run only. Its changes stay where later edits depend on them.
        #[arg(long)]
        scoped: bool,
        /// Give each file its text before the run. All later changes of these texts go too, also your own. Other files,
        /// links and permissions get their state before the run, unless they were changed since.
        ///
        /// A question names the changes that are lost. `emend redo` restores them.
        #[arg(long, conflicts_with = "scoped")]
        hard: bool,
        /// With --hard: do not ask.
        #[arg(long, requires = "hard")]
        yes: bool,
        /// Show the changes without making them.
        #[arg(long, visible_alias = "preview")]
        check: bool,
    },
    /// Show every setting, its value, and the source of the value.
    ///
    /// Sources, strongest first: command-line options, EMEND_* environment variables, the project's .emend.toml, your
    /// ~/.config/emend/config.toml. The allow, ask and deny rules of all sources add up.
    Config {
        #[command(flatten)]
        session: SessionArgs,
        /// Print JSON, one object per line, instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Apply a patch: all of it or nothing.
    #[command(after_help = help::PATCH)]
    Patch(PatchArgs),
    /// Compare two files and print a unified diff.
    #[command(after_help = help::DIFF)]
    Diff(DiffArgs),
    /// Truncate standard input like the output of a tool, as the model would see it.
    #[command(after_help = help::TRUNCATE)]
    Truncate {
        /// Name of the tool whose limits apply, e.g. `shell`. Tools without their own limits have the default limits.
        #[arg(long, value_name = "NAME")]
        tool: String,
    },
    /// List the agent's tools, or call one.
    Tools {
        #[command(subcommand)]
        command: ToolsCommand,
    },
    /// List known models with their limits and prices.
    ///
    /// Other models of the providers work too.
    #[command(after_help = help::MODELS)]
    Models(ModelsArgs),
    /// Run agents on a set of tasks and compare them.
    ///
    /// Each task runs in a copy of its files. Only the options of this command count: settings files, environment
    /// variables and your AGENTS.md have no effect, so that others can repeat the result. API keys are read as usual.
    #[command(after_help = help::EVAL)]
    Eval(Box<EvalArgs>),
    /// Print a completion script for a shell.
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// Shell to print the script for.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands to a directory.
    Man {
        /// Write one page per command to this directory, e.g. ~/.local/share/man/man1. Created if missing.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Encode a request or decode a recorded response, offline.
    Debug {
        #[command(subcommand)]
        command: DebugCommand,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Task for the agent, e.g. "rename parse to parse_all".
    #[arg(value_name = "TASK", required_unless_present = "stdin")]
    pub(crate) task: Option<String>,
    /// Read the task from standard input. If TASK is given too, it comes first.
    #[arg(long)]
    pub(crate) stdin: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Record all requests and responses to FILE, to replay with `--model cassette:FILE`.
    #[arg(long, value_name = "FILE", help_heading = session::OUTPUT)]
    pub(crate) record: Option<PathBuf>,
    /// Print only the final answer to standard output, and the progress to standard error.
    ///
    /// This is the default if standard output is not a terminal.
    #[arg(short = 'p', long, help_heading = session::OUTPUT)]
    pub(crate) print: bool,
    /// Format of standard output.
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = session::OUTPUT)]
    pub(crate) output: Option<OutputName>,
    /// The same as `--output stream-json`.
    #[arg(long, conflicts_with = "output", help_heading = session::OUTPUT)]
    pub(crate) json: bool,
    /// Print tool calls and their results as JSON, one object per line, on standard error.
    #[arg(long, help_heading = session::OUTPUT)]
    pub(crate) debug: bool,
}

/// The formats of the output of `emend run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputName {
    /// The final answer; on a terminal also the progress.
    Text,
    /// One object at the end: answer, reason of the end, usage, changed files.
    Json,
    /// Events as they come, one object per line.
    StreamJson,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the saved conversations, last used first.
    List {
        /// Only conversations with this text in the title or in a message.
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// The archived conversations instead of the others.
        #[arg(long)]
        archived: bool,
    },
    /// Give a conversation a title.
    Title {
        /// ID of the session, from `emend sessions list`.
        #[arg(value_name = "ID", value_parser = session_id)]
        id: String,
        /// The title; an empty one restores the first line of the conversation.
        #[arg(value_name = "TITLE")]
        title: String,
    },
    /// Leave a conversation out of lists and of --continue. It stays complete.
    Archive {
        /// ID of the session, from `emend sessions list`.
        #[arg(value_name = "ID", value_parser = session_id)]
        id: String,
    },
    /// Take a conversation out of the archive.
    Unarchive {
        /// ID of the session, from `emend sessions list --archived`.
        #[arg(value_name = "ID", value_parser = session_id)]
        id: String,
    },
    /// Show a conversation.
    Show {
        /// ID of the session, from `emend sessions list`.
        #[arg(value_name = "ID", value_parser = session_id)]
        id: String,
    },
    /// List the calls that the user always allows in a session of a server, or withdraw one of these permissions.
    ///
    /// An answer `always` to a question of `emend serve`, of a page or of `emend attach` holds for the rest of the session.
    /// In a conversation of the terminal, `/permissions` does the same.
    Permissions {
        /// ID of the session, from `emend sessions list --server URL`.
        #[arg(value_name = "ID", value_parser = session_id)]
        id: String,
        /// ID of a permission to withdraw: the next such call asks again.
        #[arg(long, value_name = "PERMISSION")]
        remove: Option<String>,
    },
    /// Delete a conversation. The files of the project do not change.
    Delete {
        /// ID of the session, from `emend sessions list`.
        #[arg(value_name = "ID", value_parser = session_id)]
        id: String,
    },
}

impl Default for SessionsCommand {
    fn default() -> Self {
        Self::List { search: None, archived: false }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RootArgs {
    /// Directory to work in. The project is its git repository, or else the directory itself.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Place of the project elsewhere, for example `ssh:HOST:DIR`; see docs/how-to/remote.md.
    #[arg(long, value_name = "PLACE")]
    pub(crate) env: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    /// Patch to apply. Without it, or with `-`, standard input is read.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Format of the patch. Detected by default.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<PatchFormat>,
    /// Directory that contains the files. Paths in the patch are relative to it.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Show what the patch would do, without writing.
    #[arg(long)]
    pub(crate) check: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The formats a patch can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatchFormat {
    V4a,
    Unified,
    Safe,
    Replace,
    Lines,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Old file.
    #[arg(value_name = "OLD")]
    pub(crate) a: PathBuf,
    /// New file.
    #[arg(value_name = "NEW")]
    pub(crate) b: PathBuf,
    /// Number of unchanged lines to show around each change.
    #[arg(short = 'U', long, default_value_t = 3, value_name = "N")]
    pub(crate) unified: usize,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools with their descriptions and parameters.
    List {
        /// Model family whose tool names to show.
        #[arg(long, value_enum, default_value_t = ProfileName::None, value_name = "NAME")]
        profile: ProfileName,
    },
    /// Call one tool and print its result as JSON. The exit status is 1 if the tool failed.
    ///
    /// You make this call, not the agent, so allow, ask and deny rules do not apply, and nothing waits for review.
    #[command(after_help = help::TOOLS_CALL)]
    Call {
        /// Name of the tool, e.g. `read_file`.
        #[arg(value_name = "TOOL")]
        name: String,
        /// Arguments of the tool, as a JSON object.
        #[arg(value_name = "JSON")]
        arguments: String,
        #[command(flatten)]
        root: RootArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// List only the models of this provider: anthropic, openai or gemini.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Print all details as JSON, one object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DebugCommand {
    /// Decode a provider's response and print its content as JSON.
    #[command(after_help = help::DECODE)]
    Decode(DecodeArgs),
    /// Print the HTTP request that Emend would send, as JSON.
    #[command(after_help = help::ENCODE)]
    Encode(EncodeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DecodeArgs {
    /// API of the provider: anthropic-messages, openai-responses, openai-chat or gemini.
    #[arg(long, value_name = "NAME", value_parser = api)]
    pub(crate) api: Api,
    /// HTTP status of the response.
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u16).range(100..600))]
    pub(crate) status: u16,
    /// Feed the decoder N bytes at a time. The result must be the same.
    #[arg(long, value_name = "N")]
    pub(crate) chunk: Option<NonZeroUsize>,
    /// Body of the response: an event stream or one JSON document. With `-`, standard input is read.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct EncodeArgs {
    /// API of the provider: anthropic-messages, openai-responses, openai-chat or gemini.
    #[arg(long, value_name = "NAME", value_parser = api)]
    pub(crate) api: Api,
    /// Request the response in one piece instead of a stream.
    #[arg(long)]
    pub(crate) whole: bool,
    /// Request as JSON, in the format of the emend-llm library. Without it, standard input is read.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

fn run_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected the number of a run, from `emend checkpoints`".to_owned())
}

fn api(name: &str) -> Result<Api, String> {
    Api::from_name(name).ok_or_else(|| format!("expected one of {}", Api::ALL.map(Api::name).join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}

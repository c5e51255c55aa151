//! The command line: what can be asked for, and how it is written.

mod session;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use emend_llm::Api;

use session::session_id;
pub(crate) use session::{EFFORTS, EditsName, Model, ProfileName, SessionArgs, effort};

const EXIT_HELP: &str = "\
Exit status:
  0    done
  1    refused: a tool or a file said no; nothing was lost
  2    wrong usage
  3    set-up: no key, a key the provider refused, no such root
  4    the provider or the network failed
  130  interrupted";

const COMPLETIONS_HELP: &str = "\
Where they go:
  bash  emend completions bash > ~/.local/share/bash-completion/completions/emend
  zsh   emend completions zsh > \"${fpath[1]}/_emend\"
  fish  emend completions fish > ~/.config/fish/completions/emend.fish";

const PATCH_HELP: &str = "\
Formats (told apart by themselves where --format is not given):
  v4a      *** Begin Patch … *** Update File: PATH … *** End Patch
  unified  a unified diff, git's headers too; every hunk must stand at the line it states
  safe     {\"file_path\", \"unified_diff\", \"base_content_sha256\"}: the hash must be the file's, wrong line
           numbers are corrected, and the answer holds the file's latest state
  replace  {\"file_path\", \"old_string\", \"new_string\", \"replace_all\"}
  lines    {\"file_path\", \"edits\": [{\"operation\": replace|insert|delete, \"start_line\", \"end_line\",
           \"new_text\", \"expected_hash\"}], \"expected_hash\"}; both hashes may be left out
A JSON object is told by its fields; other text by the first line that only v4a or only unified has.

All files change or none, also if the command is killed: the next emend command in the same directory completes what
was begun, or takes it back.

Exit status:
  0  done, or with --check: it could be done
  1  refused; nothing was written unless the message says otherwise
  2  wrong usage";

const DIFF_HELP: &str = "\
Exit status, as with diff:
  0  the files are the same
  1  they differ
  2  one of them cannot be read, or wrong usage";

/// A coding agent that proposes; you decide. Alone, it opens a conversation in the terminal.
#[derive(Debug, Parser)]
#[command(name = "emend", version, after_help = EXIT_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Work on one task and stop.
    #[command(after_help = EXIT_HELP)]
    Run(RunArgs),
    /// Look through the saved conversations of a project: every run is one.
    Sessions {
        #[command(subcommand)]
        command: Option<SessionsCommand>,
        /// The project directory.
        #[arg(long, default_value = ".", value_name = "DIR", global = true)]
        root: PathBuf,
        /// Print JSON instead of text.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Decide on edits that wait for review.
    Review(RootArgs),
    /// Take back what the last run changed. Your own lines stay.
    Undo(RootArgs),
    /// Bring back what the last `undo` or `rollback` took back.
    Redo(RootArgs),
    /// List the runs whose beginning one can go back to, the last first.
    Checkpoints {
        #[command(flatten)]
        root: RootArgs,
        /// Print JSON lines instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Go back to before a run: take back what the agent changed in it and since. Your own lines stay.
    Rollback {
        /// The run's number, as `emend checkpoints` prints it.
        #[arg(value_name = "ID", value_parser = run_number)]
        run: u64,
        #[command(flatten)]
        root: RootArgs,
        /// Show what would change and change nothing.
        #[arg(long)]
        check: bool,
    },
    /// Print every setting, its value, and where that comes from: flags, EMEND_* variables, the project's .emend.toml,
    /// your config.toml.
    Config {
        #[command(flatten)]
        session: SessionArgs,
        /// Print JSON lines instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Apply a patch to the files of a directory: all of it or nothing.
    #[command(after_help = PATCH_HELP)]
    Patch(PatchArgs),
    /// Show how one file differs from another, as a unified diff.
    #[command(after_help = DIFF_HELP)]
    Diff(DiffArgs),
    /// Shorten text from standard input to what the model would see of a tool's output.
    Truncate {
        /// The tool's name, e.g. `shell`; those without limits of their own get the usual ones.
        #[arg(long, value_name = "NAME")]
        tool: String,
    },
    /// Use the tools by hand.
    Tools {
        #[command(subcommand)]
        command: ToolsCommand,
    },
    /// List the models that are known by name. Others work too.
    Models(ModelsArgs),
    /// Print what makes a shell complete emend's commands and flags.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands to a directory.
    Man {
        /// The directory, e.g. ~/.local/share/man/man1; it is made if it is not there.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Look at what is said to providers and what they say, without asking one.
    Debug {
        #[command(subcommand)]
        command: DebugCommand,
    },
    /// Answer the checks of AttractorBench's second tier, which is about an agent's loop.
    #[command(hide = true)]
    Conformance {
        #[command(subcommand)]
        command: ConformanceCommand,
    },
}

/// What a checker asks for. All but `session-create` and `events` read a JSON object from standard input.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum ConformanceCommand {
    /// Make a session: `{"session_id", "status", …}`.
    SessionCreate,
    /// Work on `{"prompt", "system_prompt"?, "model"?}`: `{"session_id", "status", "output", "turns", "error"}`.
    ProcessInput,
    /// Run `{"tool_name", "arguments"}`: `{"tool_call_id", "name", "ok", "result", "error"}`.
    ToolDispatch,
    /// Put `{"message"}` into a turn that runs: `{"session_id", "status", "acknowledged", …}`.
    Steering,
    /// Run a short session and print its events, one a line.
    Events,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to do, e.g. "rename parse to parse_all".
    #[arg(required_unless_present = "stdin")]
    pub(crate) task: Option<String>,
    /// Read the task from standard input; one that is given too comes first.
    #[arg(long)]
    pub(crate) stdin: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Record the exchanges with the model to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Print events as JSON lines instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print tool calls, their answers and path decisions as JSON lines on standard error.
    #[arg(long)]
    pub(crate) debug: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List them, the one used last first.
    List,
    /// Print a conversation.
    Show {
        /// The session's id.
        #[arg(value_parser = session_id)]
        id: String,
    },
    /// Delete a conversation and the outputs kept with it. The project's files stay as they are.
    Delete {
        /// The session's id.
        #[arg(value_parser = session_id)]
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RootArgs {
    /// The project directory.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) root: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    /// The patch; standard input if it is not given or `-`.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// What the patch is written in.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<PatchFormat>,
    /// The directory whose files are changed; paths in the patch are relative to it.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Say what would happen and write nothing.
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
    /// The old file.
    pub(crate) a: PathBuf,
    /// The new file.
    pub(crate) b: PathBuf,
    /// How many unchanged lines are shown around each change.
    #[arg(short = 'U', long, default_value_t = 3, value_name = "N")]
    pub(crate) unified: usize,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools with their parameters.
    List {
        /// Under the names that a family's models know them by.
        #[arg(long, value_enum, default_value_t = ProfileName::None, value_name = "NAME")]
        profile: ProfileName,
    },
    /// Run one tool and print its envelope as JSON; exit 1 if it failed.
    Call {
        /// The tool's name, e.g. `read_file`.
        name: String,
        /// Its arguments as a JSON object.
        arguments: String,
        /// The project directory.
        #[arg(long, default_value = ".", value_name = "DIR")]
        root: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Only those of this provider: `anthropic`, `openai` or `gemini`.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Print all that is known of each as JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DebugCommand {
    /// Print what a provider's answer says, as one JSON object; exit 0 for an error of the provider's, too.
    Decode(DecodeArgs),
    /// Print the HTTP request that would carry a request, as one JSON object.
    Encode(EncodeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DecodeArgs {
    /// The wire format: `anthropic-messages`, `openai-responses`, `openai-chat` or `gemini`.
    #[arg(long, value_name = "NAME", value_parser = api)]
    pub(crate) api: Api,
    /// The HTTP status that the answer came with.
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u16).range(100..600))]
    pub(crate) status: u16,
    /// Decode in pieces of so many bytes, which must make no difference.
    #[arg(long, value_name = "N")]
    pub(crate) chunk: Option<NonZeroUsize>,
    /// The body as it was received: an event stream or one document; `-` for standard input.
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct EncodeArgs {
    /// The wire format: `anthropic-messages`, `openai-responses`, `openai-chat` or `gemini`.
    #[arg(long, value_name = "NAME", value_parser = api)]
    pub(crate) api: Api,
    /// Ask for the answer in one piece instead of a stream.
    #[arg(long)]
    pub(crate) whole: bool,
    /// The request as JSON, with the fields that the library takes; standard input when absent.
    pub(crate) file: Option<PathBuf>,
}

fn run_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a run is named by its number, as `emend checkpoints` prints it".to_owned())
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

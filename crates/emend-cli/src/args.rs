//! The command line: what can be asked for, and how it is written.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use emend_agent::store::check_name;
use emend_llm::{Api, offline};

const EXIT_HELP: &str = "\
Exit status:
  0    done
  1    refused: a tool or a file said no; nothing was lost
  2    wrong usage
  3    set-up: no key, a key the provider refused, no such root
  4    the provider or the network failed
  130  interrupted";

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

/// A coding agent that proposes; you decide.
#[derive(Debug, Parser)]
#[command(name = "emend", version, after_help = EXIT_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
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
    pub(crate) task: String,
    /// The project directory.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Who answers: `offline` (a stand-in without AI), `PROVIDER:MODEL` (anthropic, openai, gemini,
    /// openai_compatible; keys come from the environment), or `cassette:FILE`. Default: the model of the session that
    /// is resumed or forked, else `offline`.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<Model>,
    /// The names of tools and parameters, and the instructions, that the model works best with.
    #[arg(long, value_enum, default_value_t = ProfileName::Auto, value_name = "NAME")]
    pub(crate) profile: ProfileName,
    /// Let the model start subagents, which work on parts of the task at the same time.
    #[arg(long)]
    pub(crate) subagents: bool,
    /// Go on with a saved conversation: the one used last, or the one of this id. Write the task before a bare
    /// `--resume`.
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "", value_parser = session_id)]
    pub(crate) resume: Option<String>,
    /// Begin a new conversation with what a saved one holds, which stays as it is.
    #[arg(long, value_name = "ID", value_parser = session_id, conflicts_with = "resume")]
    pub(crate) fork: Option<String>,
    /// With --fork: only the first N entries of the conversation.
    #[arg(long, value_name = "N", requires = "fork")]
    pub(crate) turns: Option<usize>,
    /// Record the exchanges with the model to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Keep edits back until you have accepted them one by one.
    #[arg(long)]
    pub(crate) review: bool,
    /// Let calls run that would be asked about, e.g. `shell`, `shell:cargo *`. A pattern covers a whole command (`*` is
    /// any text) or a path.
    #[arg(long, value_name = "TOOL[:PATTERN]")]
    pub(crate) allow: Vec<String>,
    /// Refuse calls, e.g. `shell`, `shell:git push *`, `edit_file:*.lock`. This wins over --allow.
    #[arg(long, value_name = "TOOL[:PATTERN]")]
    pub(crate) deny: Vec<String>,
    /// Confine commands: they write only in the project, in the directory for temporary files and where
    /// --sandbox-write says. What they read and send over the network is not limited. Linux 6.2 or later.
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// With --sandbox: another place where commands may write, e.g. a package manager's cache.
    #[arg(long, value_name = "PATH", requires = "sandbox")]
    pub(crate) sandbox_write: Vec<PathBuf>,
    /// Let the model fetch pages of the public web. Each is asked about, unless --allow says otherwise.
    #[arg(long)]
    pub(crate) web: bool,
    /// Print events as JSON lines instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print tool calls, their answers and path decisions as JSON lines on standard error.
    #[arg(long)]
    pub(crate) debug: bool,
}

/// Which profile a run goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// That of the model's family; none for models of no known family.
    Auto,
    Openai,
    Anthropic,
    Gemini,
    /// The tools by their own names.
    None,
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

/// Checks what could be a session's id; the empty text stands for the session used last.
fn session_id(text: &str) -> Result<String, String> {
    if text.is_empty() || check_name(text).is_ok() {
        return Ok(text.to_owned());
    }
    Err("a session's id is one word, as `emend sessions` prints it; write the task before a bare --resume".to_owned())
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

fn api(name: &str) -> Result<Api, String> {
    Api::from_name(name).ok_or_else(|| format!("expected one of {}", Api::ALL.map(Api::name).join(", ")))
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// The stand-in.
    Offline,
    /// A provider's model.
    Remote {
        /// The provider's name in [`emend_llm::Client`].
        provider: &'static str,
        /// The model's name at the provider.
        model: String,
    },
    /// A recording.
    Cassette(PathBuf),
}

/// Providers that the environment can hold a key for.
const PROVIDERS: [&str; 4] = ["anthropic", "openai", "gemini", "openai_compatible"];

impl Model {
    /// Returns the model that a session began with, `None` if this program knows no such provider.
    pub(crate) fn of_session(provider: &str, model: &str) -> Option<Self> {
        if model == offline::MODEL { Some(Self::Offline) } else { format!("{provider}:{model}").parse().ok() }
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "offline" => Ok(Self::Offline),
            Some(("cassette", file)) if !file.is_empty() => Ok(Self::Cassette(PathBuf::from(file))),
            Some((provider, model)) if !model.is_empty() => {
                let known = PROVIDERS.into_iter().find(|known| *known == provider);
                let unknown = || format!("there is no provider {provider:?}; there are: {}", PROVIDERS.join(", "));
                Ok(Self::Remote { provider: known.ok_or_else(unknown)?, model: model.to_owned() })
            }
            _ => Err("expected offline, PROVIDER:MODEL such as anthropic:NAME, or cassette:FILE".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_by_provider_and_name() {
        assert_eq!("offline".parse(), Ok(Model::Offline));
        let remote = |provider, model: &str| Ok(Model::Remote { provider, model: model.to_owned() });
        assert_eq!("anthropic:claude-x".parse(), remote("anthropic", "claude-x"));
        assert_eq!("openai_compatible:qwen3:8b".parse(), remote("openai_compatible", "qwen3:8b"));
        assert_eq!("cassette:a:b.json".parse(), Ok(Model::Cassette(PathBuf::from("a:b.json"))));
        for wrong in ["", "anthropic", "anthropic:", "claude:x", "cassette:"] {
            assert!(wrong.parse::<Model>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}

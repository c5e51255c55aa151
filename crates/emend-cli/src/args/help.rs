//! Longer help texts: examples, environment variables, exit statuses.

use emend_llm::PROVIDERS;

use crate::settings;

pub(super) const MAIN: &str = "\
Examples:
  emend                                    Open a conversation in the current directory
  emend run \"rename parse to parse_all\"    Do one task and exit
  emend --model anthropic:claude-sonnet-5  Open a conversation with a given model
  emend --resume                           Continue the last conversation
  emend undo                               Undo the changes of the last run";

/// Returns the text below the long help of `emend`. The environment variables come from the tables of providers and
/// settings.
pub(super) fn main_long() -> String {
    let with_key = || PROVIDERS.iter().filter(|info| !info.needs_base_url);
    let keys = with_key().map(|info| match info.key_variables {
        [first, rest @ ..] if !rest.is_empty() => format!("{first} (or {})", rest.join(", ")),
        names => names.concat(),
    });
    let urls = with_key().map(|info| info.base_url_variable.to_owned());
    let servers = PROVIDERS.iter().filter(|info| info.needs_base_url);
    let servers = servers.flat_map(|info| [info.base_url_variable, info.key_variables[0]]).map(str::to_owned);
    let listed = |names: Vec<String>| names.join(", ");
    format!(
        "{MAIN}

Environment variables:
  {}
      API keys. Emend reads keys from the environment only, never from a file.
  {}
      Send the provider's requests to another address, e.g. a proxy.
  {}
      Address (and key, if needed) of a server with the OpenAI Chat Completions API.
  {}
      Settings, as with the option of the same name; advanced options have a variable, too. Lists have one entry per
      line.
{MAIN_REST}",
        listed(keys.collect()),
        listed(urls.collect()),
        listed(servers.collect()),
        listed(settings::usual_variables().collect()),
    )
}

const MAIN_REST: &str = "  NO_COLOR, CLICOLOR, CLICOLOR_FORCE
      Switch colors off or on.

Files:
  ~/.config/emend/config.toml  Your settings, e.g. model = \"openai:gpt-5\"
  ~/.config/emend/AGENTS.md    Your instructions for the model in all projects
  .emend.toml                  Settings of the project. They can restrict the agent, not give it more rights.
                               In a git repository, also those of the directories above, up to its root.

Trust:
  The first conversation in a project asks whether you trust its files. emend run does not ask.

Exit status:
  0    Success
  1    The command failed, e.g. a file does not exist; or a call was refused because nobody could be asked
  2    Invalid command line
  3    Invalid setup: API key missing or rejected, project directory or setting invalid
  4    The provider or the network failed
  5    A limit stopped the run, e.g. --max-turns
  130  Interrupted (Ctrl-C); other signals: 128 and the number of the signal";

pub(super) const SERVE: &str = "\
Examples:
  emend serve                                   Print an address with a new token
  emend serve --port 0 --token-file token.txt   Use a free port and a token from a file
  EMEND_TOKEN=... emend serve --log json        Take the token from the environment

Requests need the header Authorization: Bearer TOKEN. docs/http-api.md lists them. Ctrl-C cancels running jobs, keeps
their edits, and stops the server; a second Ctrl-C stops it at once.

Limits of sessions and jobs come from [service] in a settings file, and from variables such as EMEND_MAX_SESSIONS.";

pub(super) const EVAL: &str = "\
Examples:
  emend eval core --model offline --model do-nothing --model reference   Compare three agents that need no key
  emend eval core --model openai:gpt-5 --record runs --jobs 4            Run a model and keep its responses
  emend eval core --replay runs --output html > report.html              Score the kept responses again
  emend eval rustlings:target/eval/rustlings --model claude --allow shell  Broken programs; the agent may run commands

A replay measures the harness, not a model: any request that differs from its recording fails, and durations are those
of the recording. docs/evals.md explains the measures.

Exit status: 0 if all tasks ran, also if none was solved; 1 if a run differs from its recording; 4 if the provider failed
in a task, because its score then says nothing about the model.";

pub(super) const ATTACH: &str = "\
A line that you type starts a job, or goes to the running job. Ctrl-D or /quit detaches; the job goes on. Ctrl-C cancels
the running job. /help lists the commands.";

pub(super) const RUN: &str = "\
Examples:
  emend run \"rename parse to parse_all\"
  emend run --model openai:gpt-5 --allow 'shell:cargo *' \"make the tests pass\"
  emend run --review \"tidy README.md\"        Decide on each change before it is written
  git diff | emend run --stdin \"review this diff\"
  summary=$(emend run \"list the TODO comments\")    Only the final answer is on standard output
  emend run --output json \"list the TODO comments\"  Print the result for another program
  emend run --continue \"now fix the first one\"";

pub(super) const RUN_LONG: &str = "\
Examples:
  emend run \"rename parse to parse_all\"
  emend run --model openai:gpt-5 --allow 'shell:cargo *' \"make the tests pass\"
  emend run --review \"tidy README.md\"        Decide on each change before it is written
  git diff | emend run --stdin \"review this diff\"
  summary=$(emend run \"list the TODO comments\")    Only the final answer is on standard output
  emend run --output json \"list the TODO comments\"  Print the result for another program
  emend run --continue \"now fix the first one\"

Exit status:
  0    Success
  1    The run failed, or a call was refused because nobody could be asked
  2    Invalid command line
  3    Invalid setup: API key missing or rejected, project directory or setting invalid
  4    The provider or the network failed, or the conversation does not fit the model
  5    A limit stopped the run, e.g. --max-turns
  130  Interrupted (Ctrl-C); other signals: 128 and the number of the signal

If a reader closes standard output early, as `| head -1` does, the run continues without output.

Environment variables for keys and settings: see emend --help";

pub(super) const COMPLETIONS: &str = "\
Examples:
  emend completions bash > ~/.local/share/bash-completion/completions/emend
  emend completions zsh > \"${fpath[1]}/_emend\"
  emend completions fish > ~/.config/fish/completions/emend.fish";

pub(super) const PATCH: &str = "\
Examples:
  git diff | emend patch --root ../other-checkout
  emend patch --check change.patch    Show the result without writing

Formats:
  v4a      *** Begin Patch … *** Update File: PATH … *** End Patch
  unified  Unified diff, with or without Git headers. Each hunk must match at its stated line.
  safe     {\"file_path\", \"unified_diff\", \"base_content_sha256\"}
           The hash must match the file. Wrong line numbers are corrected.
           The JSON output contains the resulting file content.
  replace  {\"file_path\", \"old_string\", \"new_string\", \"replace_all\"}
  lines    {\"file_path\", \"edits\": [{\"operation\", \"start_line\", \"end_line\", \"new_text\",
           \"expected_hash\"}], \"expected_hash\"}
           Operations are replace, insert and delete. The hashes are optional.
Without --format the format is detected: JSON by its fields, other text by the first line that only
v4a or only unified uses.

Either all files are written or none. If the command is killed halfway, the next emend command that
reads or changes the files of the project completes or reverts the patch, such as patch, run, chat,
review, undo and checkpoints. config, diff, sessions, tools list and patch --check leave it.

Exit status:
  0  Success (with --check: the patch applies)
  1  The patch was rejected. No file was written, unless the message says otherwise.
  2  Invalid command line";

pub(super) const DIFF: &str = "\
Example:
  emend diff old.txt new.txt > change.patch

Exit status (as with diff):
  0  The files are equal
  1  The files differ
  2  A file cannot be read, or the command line is invalid";

pub(super) const TRUNCATE: &str = "\
Example:
  cargo test 2>&1 | emend truncate --tool shell";

pub(super) const REVIEW: &str = "\
Changes wait for review if the agent ran with --review. For each hunk, answer:
  y  accept: write the change to the file
  n  reject: discard the change
  s  skip: decide later
  p  split this hunk, and decide on its parts
  a  accept this hunk and all that follow
  d  reject this hunk and all that follow
  q  quit: decide on the rest later

While another command holds the project, for example emend serve, the changes are shown and cannot be decided.";

pub(super) const ROLLBACK: &str = "\
Examples:
  emend checkpoints          List runs with their IDs
  emend rollback 3 --check   Show which changes would be undone
  emend rollback 3           Undo run 3 and all later runs
  emend rollback 3 --scoped  Undo run 3 and keep later edits
  emend rollback 3 --hard    Restore the files as they were before run 3, without your own edits since
  emend redo                 Restore them";

pub(super) const TOOLS_CALL: &str = "\
Example:
  emend tools call read_file '{\"file_path\": \"README.md\"}'";

pub(super) const MODELS: &str = "\
Prices are US dollars per million tokens. To use a model: emend --model PROVIDER:MODEL";

pub(super) const DECODE: &str = "\
Example:
  emend debug decode --api anthropic-messages response.sse

The exit status is 0 even if the response is an error of the provider.";

pub(super) const ENCODE: &str = "\
Example:
  echo '{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": [{\"kind\": \"text\", \"text\": \"hi\"}]}]}' |
    emend debug encode --api openai-chat

No request is sent and no API key is needed.";

//! The page `docs/tools.md`, which the tables of the tools and the profiles generate.

use super::quoting_tests::canonical_tools;
use super::tool_names::{self, Offer, OutputLayout, ProfileTool};
use crate::tool::{ResultForm, ToolRegistry};
use crate::tools::{ProjectToolLimits, project_tools};

/// Writes the names that one family has for a tool, its parameters and their values, if they are not the canonical ones.
fn cell(rows: &[ProfileTool], canonical: &str) -> String {
    let Some(row) = rows.iter().find(|row| row.names.canonical == canonical) else { return "—".to_owned() };
    let exposed = row.names.exposed;
    if row.offer == Offer::Instead {
        return format!("— (`{exposed}` instead)");
    }
    let renamed = row.names.params.iter().chain(row.names.values);
    let renamed = renamed.map(|(own, exposed)| format!("<br>{own} → `{exposed}`"));
    let output = if row.output == OutputLayout::ExitCodeFirst { "<br>exit code first" } else { "" };
    format!("`{exposed}`{}{output}", renamed.collect::<String>())
}

/// Writes one line for each tool: its effect, what follows from that, and its output limits.
fn effects(tools: &ToolRegistry) -> String {
    let line = |name: &str| {
        let (_, tool) = tools.get(name)?;
        let yes = |flag: bool| if flag { "yes" } else { "no" };
        let limits = tool.output_limits();
        let lines = limits.lines_max.map_or_else(String::new, |lines_max| format!(", {lines_max} lines"));
        let (effect, concurrent, interruptible) = (tool.effect(), yes(tool.concurrent()), yes(tool.interruptible()));
        let (chars_max, mode) = (limits.chars_max, limits.mode);
        Some(format!(
            "| {name} | {effect:?} | {concurrent} | {interruptible} | {mode:?}, {chars_max} characters{lines} |\n"
        ))
    };
    tools.names().filter_map(line).collect()
}

#[test]
fn the_page_of_tools_says_what_each_family_calls_them() {
    const HEADER: &str = "\
# The tools

`crates/emend-agent/src/profile/host_tests.rs` generates this page. Do not edit it.

## Effects and output limits

Approval defaults, concurrency and interruption follow from a tool's effect. The exceptions are reads of whole files, which
are not concurrent because the session counts them, and `web_fetch`, which is concurrent and interruptible because a request
that only fetches changes nothing.

A session cuts a result to these output limits before the model sees it. It may override them by the canonical name of the
tool. `emend tools call` prints the whole result; `emend truncate` shows the effect of the limits.

On a local disk, only files of at most 64 MiB are read as a whole, by reads and by edits. The error for a larger file names
its size. `grep` searches files of any size.

| tool | effect | concurrent | interruptible | output |
|---|---|---|---|---|
";
    const NATIVE: &str = "
## The tool of native hosts

`outline` is in the command line and in `emend serve`, with `--outline`; the browser does not have it
([0060](decisions/0060-outlines.md)). Its name is the same in all families. With `file_path` it shows the definitions of one
source file as lines `12-40 fn name`, nested ones indented; with `symbol` too, only those whose name begins with it. With
`symbol` alone it shows where the project defines the name, the whole name first, and without declarations of C that have no
body. Case matters only if the symbol has an upper-case letter. The data is `symbols: [{name, kind, first_line, last_line,
depth}]` with `file_path` and `truncated`; a search has the `file_path` in each symbol.

| tool | effect | concurrent | interruptible | output |
|---|---|---|---|---|
| outline | Reads | yes | yes | HeadTail, 50000 characters |
";
    const NAMES: &str = "
## Names by family of models

`tool_names.rs` holds these names. A parameter that is not listed keeps its name. `safe_patch` and `edit_lines` have the
same name in all families. Gemini edits by `safe_patch` instead of `replace` unless the host says otherwise. Results are
text for OpenAI and Anthropic; for Gemini they are `{\"ok\": true, \"data\": {\"output\"}}` or `{\"ok\": false, \"error\":
{\"code\", \"message\", \"suggestions\"}}`.

| tool | OpenAI | Anthropic | Gemini |
|---|---|---|---|
";
    const PROJECT: &str = "
## Project tools

`emend_agent::tools::project_tools` is a set of its own for a service in which the user reviews all edits. Names,
parameters and results are the same for all families. The model reads a text with line numbers; programs read the data.

| tool | parameters | data of the result |
|---|---|---|
| search_project | query, glob, limit | `results: [{file_path, start_line, end_line, snippet}]`, `truncated` |
| read_file | file_path, start_line, end_line, max_bytes | `file_path`, `content`, `start_line`, `end_line`, `truncated`, `hash`, `total_lines`, `version` |
| list_files | prefix, glob | `files`, `truncated` |
| clarify_user | question, options, fields: [{name, label, options, required}] | `question`, `options`, `fields` |
| propose_edits | edits: [{edit_id, file_path, operation, start_line, end_line, new_text, new_path, expected_hash, rationale}] | `edits`: as given; `states: [{file_path, hash, version, deleted}]`; `files`; `diagnostics` |

`search_project` compares literal words, also as parts of longer words. Results with the exact phrase in one line or in the
path come first. Each file shows its best lines before any file shows more. Files are ordered by BM25 (k1 = 1.2, b = 0.75):
a word weighs more if it is frequent in the file, if few files have it, and if the file is short. A word in the path counts
as one in the text. Equal results are ordered by path and line. `.git`, hidden files, ignored files, and paths that rules
hide are left out; pending edits are found. The order is the same with and without an index, and on all hosts.

The number of files, their lengths in bytes and the number of files with a word are exact, with two limits. A search ends
after 20,000 matching lines, and files after that point have no counts. Of a line of more than 1,000 bytes only the part
around its first match counts. Binary files count as files, although they have no words.

`operation` is `replace`, `insert`, `delete`, `create`, `delete_file` or `rename`. All line numbers are those before the
call. `insert` inserts before `start_line`; one past the last line appends. All edits of a call apply or none. Edits that
overlap are refused. `expected_hash` is the hash of the file or of the lines to change; without it, the file must be as it
was last shown, and so must the lines around the edit. Otherwise the result is `stale` with the current text. A file that
was never read can be renamed but not deleted. In a review, the `edit` of a change is `CALL/EDIT_ID`.

`clarify_user` ends the run, and the next message of the user is the answer: text, an option, or a line `NAME: ANSWER` for
each field. `no_user_answer` stands for a question or a field that the user skips. One question can be open at a time.

| tool | effect | concurrent | interruptible | output |
|---|---|---|---|---|
";
    let ids = ["openai", "anthropic", "gemini"];
    assert_eq!(ids.map(tool_names::result_form), [ResultForm::Text, ResultForm::Text, ResultForm::Envelope]);
    let families = ids.map(tool_names::of);
    let mut tools: Vec<&str> = families.iter().flat_map(|rows| rows.iter().map(|row| row.names.canonical)).collect();
    tools.sort_unstable();
    tools.dedup();
    let row = |tool: &&str| format!("| {tool} | {} |\n", families.map(|rows| cell(rows, tool)).join(" | "));
    let names: String = tools.iter().map(row).collect();
    let project = effects(&project_tools(ProjectToolLimits::default()));
    let page = [HEADER, &effects(&canonical_tools()), NATIVE, NAMES, &names, PROJECT, &project].concat();
    expect_test::expect_file!["../../../../docs/tools.md"].assert_eq(&page);
}

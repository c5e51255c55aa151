//! `grep`: lines of files that match a regular expression.

use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::arguments::{counted, flag_argument, number_argument, schema, target_of_search, text_argument};
use crate::approval::Target;
use crate::environment::{FileMatches, FilePath};
use crate::search::Matcher;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

/// Results that are shown if the call sets no maximum.
const RESULTS_DEFAULT: usize = 100;

/// Searches file contents.
pub struct Grep;

impl Grep {
    /// The default output limits of the tool.
    pub const OUTPUT_LIMITS: OutputLimits = OutputLimits { chars_max: 20_000, mode: Mode::Tail, lines_max: Some(200) };
}

impl Tool for Grep {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "grep".to_owned(),
            description: "Searches file contents with a regular expression. Skips binary files, hidden files and files that \
                          `.gitignore` excludes. Output modes: `{value:grep.content}` gives `path:line:text` (`path-line-text` for \
                          lines of context), `{value:grep.files}` gives one path per line, `{value:grep.count}` gives `path:count`. \
                          Results are ordered by path and line."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {"type": "string", "minLength": 1, "description": "Regular expression, matched within lines."},
                    "path": {"type": "string", "description": "File or directory to search. Default `.`."},
                    "glob_filter": {"type": "string", "description": "Only files that match this glob, e.g. `*.rs` or `src/**/*.ts`."},
                    "case_insensitive": {"type": "boolean", "description": "Default false."},
                    "output_mode": {"enum": ["content", "files", "count"], "description": "Default `{value:grep.content}`."},
                    "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines before and after each match. Default 0."},
                    "before": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines before each match. Default: as many as {param:grep.context}."},
                    "after": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines after each match. Default: as many as {param:grep.context}."},
                    "max_results": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Matching lines ({value:grep.content}) or files. Default 100."},
                    "offset": {"type": "integer", "minimum": 0, "description": "Results to skip first. Default 0."}
                }
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Reads
    }

    fn output_limits(&self) -> OutputLimits {
        Self::OUTPUT_LIMITS
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// The path of a search is subject to path rules. A search takes no canvas lease, so [`paths`](Tool::paths) is empty.
    fn target(&self, arguments: &Map<String, Value>) -> Target {
        target_of_search(arguments)
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let case_insensitive = flag_argument(arguments, "case_insensitive");
            let matcher = Matcher::load(text_argument(arguments, "pattern"), case_insensitive).await?;
            let mode = arguments.get("output_mode").and_then(Value::as_str).unwrap_or("content");
            let page = Page {
                offset: number_argument(arguments, "offset").unwrap_or(0),
                max: number_argument(arguments, "max_results").unwrap_or(RESULTS_DEFAULT),
                offset_parameter: context.names.param("grep", "offset"),
            };
            let around = number_argument(arguments, "context").unwrap_or(0);
            let (before, after) = (
                number_argument(arguments, "before").unwrap_or(around),
                number_argument(arguments, "after").unwrap_or(around),
            );
            // The modes that count files need all matches. One match beyond the page shows that there are more.
            let (context_lines, max_matches) =
                if mode == "content" { (before.max(after), page.end().saturating_add(1)) } else { (0, usize::MAX) };
            let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".");
            let glob = arguments.get("glob_filter").and_then(Value::as_str);
            let found = context.workspace.grep(matcher, path, glob, context_lines, max_matches).await?;
            Ok(match mode {
                "files" => per_file(&found, page, |file| on_one_line(&file.path)),
                "count" => per_file(&found, page, |file| format!("{}:{}", on_one_line(&file.path), file.match_count())),
                _ => content(&found, page, before, after),
            })
        })
    }
}

/// The range of results that is shown.
#[derive(Clone, Copy)]
struct Page<'a> {
    /// The number of results that are skipped.
    offset: usize,
    /// The most results that are shown.
    max: usize,
    /// The exposed name of the parameter that sets the offset.
    offset_parameter: &'a str,
}

impl Page<'_> {
    fn end(self) -> usize {
        self.offset.saturating_add(self.max)
    }
}

fn content(found: &[FileMatches], page: Page<'_>, before: usize, after: usize) -> ToolOutput {
    let (mut lines, mut matches, mut n_matches) = (Vec::new(), Vec::new(), 0);
    for file in found {
        // Line numbers of the matches that are shown.
        let mut shown: Vec<usize> = Vec::new();
        for line in file.lines.iter().filter(|line| line.is_match) {
            if (page.offset..page.end()).contains(&n_matches) {
                shown.push(line.line);
                matches.push(json!({ "file_path": file.path, "line": line.line, "text": line.text }));
            }
            n_matches += 1;
        }
        let mut previous = None;
        for line in &file.lines {
            let next = shown.partition_point(|number| *number < line.line);
            let is_shown = if line.is_match {
                shown.get(next) == Some(&line.line)
            } else {
                let leads_up = shown.get(next).is_some_and(|number| number - line.line <= before);
                let follows = next.checked_sub(1).is_some_and(|last| line.line - shown[last] <= after);
                leads_up || follows
            };
            if !is_shown {
                continue;
            }
            if before + after > 0 && previous.is_some_and(|previous| line.line > previous + 1) {
                lines.push("--".to_owned());
            }
            previous = Some(line.line);
            let mark = if line.is_match { ':' } else { '-' };
            lines.push(format!("{}{mark}{}{mark}{}", on_one_line(&file.path), line.line, line.text));
        }
    }
    finish(lines, "matches", matches, page, n_matches)
}

fn per_file(found: &[FileMatches], page: Page<'_>, shown: impl Fn(&FileMatches) -> String) -> ToolOutput {
    let on_page = || found.iter().skip(page.offset).take(page.max);
    let files = on_page().map(|file| json!({ "file_path": file.path, "count": file.match_count() })).collect();
    finish(on_page().map(shown).collect(), "files", files, page, found.len())
}

/// Adds a line that says how the page relates to all `n_results` results.
fn finish(mut lines: Vec<String>, what: &str, shown: Vec<Value>, page: Page<'_>, n_results: usize) -> ToolOutput {
    let offset_parameter = page.offset_parameter;
    let more = n_results > page.end();
    if n_results == 0 {
        lines.push("No matches.".to_owned());
    } else if shown.is_empty() {
        lines.push(format!("There are only {n_results} results, and {} were skipped.", page.offset));
    } else if more {
        let (offset, max) = (page.end(), page.max);
        lines.push(format!(
            "[{} shown, and there are more; narrow the search or continue with {offset_parameter} {offset}]",
            counted(max, "result")
        ));
    }
    ToolOutput::new(lines.join("\n"), json!({ what: shown, "truncated": more }))
}
/// Returns a path on one line: a path with a line feed is quoted, because each line begins with a path.
fn on_one_line(path: &FilePath) -> String {
    if path.as_str().contains('\n') { Value::from(path.as_str()).to_string() } else { path.to_string() }
}

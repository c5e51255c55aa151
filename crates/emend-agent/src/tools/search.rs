//! `grep` and `glob`.

use emend_edit::order::sort_by;
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::{counted, flag_argument, number_argument, text_argument};
use crate::code::Code;
use crate::search::{FileMatches, Matcher};
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

/// Results shown when no maximum is given (S2 §3.3).
const RESULTS_DEFAULT: usize = 100;

/// Searches file contents.
pub struct Grep;

impl Tool for Grep {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "grep".to_owned(),
            description: "Searches file contents with a regular expression. Skips binary files, `.git` and what \
                          `.gitignore` excludes. Output modes: `content` gives `path:line:text`, `files` one path per \
                          line, `count` gives `path:count`."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {"type": "string", "minLength": 1, "description": "Regular expression, matched within lines."},
                    "path": {"type": "string", "description": "File or directory to search. Default `.`."},
                    "glob_filter": {"type": "string", "description": "Only files that match, e.g. `*.rs` or `src/**/*.ts`."},
                    "case_insensitive": {"type": "boolean", "description": "Default false."},
                    "output_mode": {"enum": ["content", "files", "count"], "description": "Default `content`."},
                    "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines around each match. Default 0."},
                    "max_results": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Matching lines (content) or files. Default 100."},
                },
            }),
        }
    }

    fn interruptible(&self) -> bool {
        true
    }

    fn concurrent(&self) -> bool {
        true
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let matcher =
                Matcher::new(text_argument(arguments, "pattern"), flag_argument(arguments, "case_insensitive"))
                    .map_err(|error| ToolError::new(Code::InvalidArgument, error.to_string()))?;
            let mode = arguments.get("output_mode").and_then(Value::as_str).unwrap_or("content");
            let max = number_argument(arguments, "max_results").unwrap_or(RESULTS_DEFAULT);
            let found = context
                .workspace
                .grep(
                    matcher,
                    arguments.get("path").and_then(Value::as_str).unwrap_or("."),
                    arguments.get("glob_filter").and_then(Value::as_str),
                    if mode == "content" { number_argument(arguments, "context").unwrap_or(0) } else { 0 },
                    // One more than asked for tells whether there are more. The other modes need every file.
                    if mode == "content" { max + 1 } else { usize::MAX },
                )
                .await?;
            Ok(match mode {
                "files" => per_file(&found, max, |file| file.path.to_string()),
                "count" => per_file(&found, max, |file| format!("{}:{}", file.path, count(file))),
                _ => content(&found, max),
            })
        })
    }
}

fn count(file: &FileMatches) -> usize {
    file.lines.iter().filter(|line| line.is_match).count()
}

fn content(found: &[FileMatches], max: usize) -> ToolOutput {
    let (mut lines, mut matches, mut more) = (Vec::new(), Vec::new(), false);
    'files: for file in found {
        let mut previous = None;
        for line in &file.lines {
            if line.is_match && matches.len() == max {
                more = true;
                break 'files;
            }
            if previous.is_some_and(|previous| line.line > previous + 1) && file.lines.iter().any(|line| !line.is_match)
            {
                lines.push("--".to_owned());
            }
            previous = Some(line.line);
            let mark = if line.is_match { ':' } else { '-' };
            lines.push(format!("{}{mark}{}{mark}{}", file.path, line.line, line.text));
            if line.is_match {
                matches.push(json!({ "file_path": file.path, "line": line.line, "text": line.text }));
            }
        }
    }
    finish(lines, json!({ "matches": matches, "truncated": more }), more.then_some(max))
}

fn per_file(found: &[FileMatches], max: usize, shown: impl Fn(&FileMatches) -> String) -> ToolOutput {
    let lines: Vec<String> = found.iter().take(max).map(shown).collect();
    let files: Vec<Value> =
        found.iter().take(max).map(|file| json!({ "file_path": file.path, "count": count(file) })).collect();
    let more = found.len() > max;
    finish(lines, json!({ "files": files, "truncated": more }), more.then_some(max))
}

fn finish(mut lines: Vec<String>, data: Value, cut_at: Option<usize>) -> ToolOutput {
    if lines.is_empty() {
        lines.push("No matches.".to_owned());
    }
    if let Some(max) = cut_at {
        lines.push(format!("[only the first {max} are shown; narrow the search or raise max_results]"));
    }
    ToolOutput::new(lines.join("\n"), data)
}

/// Finds files by name.
pub struct Glob;

impl Tool for Glob {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "glob".to_owned(),
            description:
                "Finds files by a pattern such as `**/*.ts`, newest first. Skips `.git` and what `.gitignore` \
                          excludes."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {"type": "string", "minLength": 1},
                    "path": {"type": "string", "description": "Base directory. Default `.`."},
                },
            }),
        }
    }

    fn interruptible(&self) -> bool {
        true
    }

    fn concurrent(&self) -> bool {
        true
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".");
            let mut found = context.workspace.glob(path, text_argument(arguments, "pattern")).await?;
            sort_by(&mut found, |a, b| {
                b.metadata.modified_ms.cmp(&a.metadata.modified_ms).then_with(|| a.path.cmp(&b.path))
            });
            let lines: Vec<String> = found.iter().map(|entry| entry.path.to_string()).collect();
            let text = if lines.is_empty() { "No files match.".to_owned() } else { lines.join("\n") };
            Ok(ToolOutput::new(text, json!({ "files": lines, "summary": counted(lines.len(), "file") })))
        })
    }
}

//! `read_file` of the project tools: lines of a text file.

use emend_edit::text::{BOM, split_eol, split_lines};
use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::limits::ProjectToolLimits;
use crate::error_code::Code;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::tools::arguments::{counted, number_argument, schema, text_argument};

/// Reads lines of a file.
pub(super) struct ReadLines(pub(super) ProjectToolLimits);

/// The requested part of a file.
struct Range {
    start_line: usize,
    end_line: Option<usize>,
    max_bytes: usize,
}

/// The part of a file that is shown.
struct Shown {
    /// The text, without the byte order mark of the file.
    content: String,
    start_line: usize,
    end_line: usize,
    /// Whether the file has more of the requested lines.
    truncated: bool,
    /// Whether the last line is cut.
    cut: bool,
}

impl Tool for ReadLines {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "read_file".to_owned(),
            description: "Reads lines of a text file of the project. The first line of the result names the file, its \
                          SHA-256 and the lines shown. Then come the lines as `NUMBER | CONTENT`."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["file_path"],
                "additionalProperties": false,
                "properties": {
                    "file_path": {"type": "string", "minLength": 1, "description": "Path under the project root."},
                    "start_line": {"type": "integer", "minimum": 1, "description": "First line, from 1. Default 1."},
                    "end_line": {"type": "integer", "minimum": 1, "description": "Last line, inclusive."},
                    "max_bytes": {"type": "integer", "minimum": 1, "description": "Most bytes to show."}
                }
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Reads
    }

    /// The session counts reads: the version that a read shows depends on the order of the calls.
    fn concurrent(&self) -> bool {
        false
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        vec![text_argument(arguments, "file_path").to_owned()]
    }

    /// The tool limits its own output: line numbers at most multiply the text by ten.
    fn output_limits(&self) -> OutputLimits {
        let chars_max = self.0.max_read_bytes_cap.saturating_mul(10);
        OutputLimits { chars_max, mode: Mode::HeadTail, lines_max: None }
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let path = text_argument(arguments, "file_path");
            let start_line = number_argument(arguments, "start_line").unwrap_or(1);
            let max_bytes = number_argument(arguments, "max_bytes").unwrap_or(self.0.max_read_bytes_default);
            let range = Range {
                start_line,
                end_line: number_argument(arguments, "end_line"),
                max_bytes: max_bytes.min(self.0.max_read_bytes_cap),
            };
            if let Some(end_line) = range.end_line.filter(|end_line| *end_line < start_line) {
                return Err(invalid(format!("end_line {end_line} is before start_line {start_line}. Swap them.")));
            }
            let mut shown = None;
            let lines_max = self.0.max_read_lines_default;
            let read = context.workspace.read_if(&context.reads, path, |text| {
                let part = part_of(text, &range, lines_max);
                // A line that is cut does not count as read: an edit of it would be blind.
                let lines = part.as_ref().map(|part| part.start_line - 1..part.end_line - usize::from(part.cut));
                shown = part;
                lines
            });
            match (read.await?, shown) {
                (Some(view), Some(shown)) => {
                    let n_lines = split_lines(&view.text).len();
                    let data = json!({
                        "file_path": view.path,
                        "content": shown.content,
                        "start_line": shown.start_line,
                        "end_line": shown.end_line,
                        "truncated": shown.truncated,
                        "hash": view.hash.to_string(),
                        "total_lines": n_lines,
                        "version": view.version,
                    });
                    let head = format!("[{} | version {} | {}", view.path, view.version, view.hash);
                    Ok(ToolOutput::new(text_of(&head, &shown, n_lines), data))
                }
                _ => {
                    let n_lines = context.workspace.text(path).await?.map_or(0, |text| split_lines(&text).len());
                    let has = counted(n_lines, "line");
                    Err(invalid(format!(
                        "start_line {start_line} is past the end of {path}, which has {has}. Read an earlier line."
                    )))
                }
            }
        })
    }
}

fn invalid(message: String) -> ToolError {
    ToolError::new(Code::InvalidArgument, message)
}

/// Returns the part of `text` that a call shows; `None` if it starts past the end.
fn part_of(text: &str, range: &Range, lines_max: usize) -> Option<Shown> {
    let lines = split_lines(text);
    let start_line = range.start_line;
    if start_line > lines.len().max(1) {
        return None;
    }
    let default_end = start_line.saturating_add(lines_max - 1);
    let requested = range.end_line.unwrap_or(usize::MAX).min(lines.len());
    let end = range.end_line.unwrap_or(default_end).min(lines.len());
    let mut shown =
        Shown { content: String::new(), start_line, end_line: start_line - 1, truncated: false, cut: false };
    for (index, line) in lines[start_line - 1..end].iter().enumerate() {
        // The byte order mark is part of the file, not of its first line.
        let line = if start_line + index == 1 { line.strip_prefix(BOM).unwrap_or(line) } else { line };
        let left = range.max_bytes - shown.content.len();
        if line.len() > left {
            if shown.content.is_empty() {
                let boundary = (0..=left).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
                shown.content.push_str(&line[..boundary]);
                (shown.end_line, shown.cut) = (start_line, true);
            }
            break;
        }
        shown.content.push_str(line);
        shown.end_line = start_line + index;
    }
    shown.truncated = shown.cut || shown.end_line < requested;
    Some(shown)
}

/// Returns the lines as the model sees them, below a line that begins with `head`.
fn text_of(head: &str, shown: &Shown, n_lines: usize) -> String {
    let lines = match n_lines {
        0 => "empty file".to_owned(),
        _ => format!("lines {}-{} of {n_lines}", shown.start_line, shown.end_line),
    };
    let mut text = format!("{head} | {lines}]");
    let width = shown.end_line.to_string().len();
    for (index, line) in split_lines(&shown.content).iter().enumerate() {
        text.push_str(&format!("\n{:>width$} | {}", shown.start_line + index, split_eol(line).0));
    }
    if shown.cut {
        text.push_str(&format!("\n[line {} is cut; set max_bytes higher]", shown.end_line));
    } else if shown.truncated {
        text.push_str(&format!("\n[truncated; continue with start_line {}]", shown.end_line + 1));
    }
    text
}

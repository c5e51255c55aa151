//! `read_file`: text with line numbers, or an image.

use std::ops::Range;

use emend_edit::ContentHash;
use emend_edit::text::{BOM, split_eol, split_lines};
use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, MediaData, ToolDefinition};
use serde_json::{Map, Value, json};

use super::arguments::{counted, number_argument, schema, text_argument};
use crate::error_code::Code;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolNames, ToolOutput};
use crate::workspace::{FileView, WorkspaceError};

/// Lines that are shown if the call sets no limit.
pub(super) const LINES_DEFAULT: usize = 2000;

/// The most bytes of an image: providers accept 5 MiB of base64.
pub(crate) const IMAGE_BYTES_MAX: usize = 5 * 1024 * 1024 / 4 * 3;

/// Reads a file with line numbers, its version and its hash.
pub struct ReadFile;

impl ReadFile {
    /// The default output limits of the tool.
    pub const OUTPUT_LIMITS: OutputLimits = OutputLimits { chars_max: 50_000, mode: Mode::HeadTail, lines_max: None };
}

impl Tool for ReadFile {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "read_file".to_owned(),
            description: "Reads a text file, or shows an image (PNG, JPEG, GIF, WebP). The first line names the file, a version \
                          that counts this session's reads and writes, the SHA-256 of the whole file and the lines shown. Then come the \
                          lines as `NUMBER | CONTENT`. Copy text for edits from CONTENT only."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["file_path"],
                "properties": {
                    "file_path": {"type": "string", "description": "Path under the working directory."},
                    "offset": {"type": "integer", "minimum": 1, "description": "First line to show, from 1. Default 1."},
                    "limit": {"type": "integer", "minimum": 1, "description": "Most lines to show. Default 2000."}
                }
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Reads
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        vec![text_argument(arguments, "file_path").to_owned()]
    }

    fn output_limits(&self) -> OutputLimits {
        Self::OUTPUT_LIMITS
    }

    /// The session counts reads: the version that a read shows depends on the order of the calls.
    fn concurrent(&self) -> bool {
        false
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let offset = number_argument(arguments, "offset").unwrap_or(1);
            let limit = number_argument(arguments, "limit").unwrap_or(LINES_DEFAULT);
            let path = text_argument(arguments, "file_path");
            match context.workspace.read(&context.reads, path, offset, limit).await {
                Ok(view) => show(&view, offset, limit, &context.names),
                Err(error @ WorkspaceError::NotText { .. }) => show_image(context, path, error.into()).await,
                Err(error) => Err(error.into()),
            }
        })
    }
}

fn show(view: &FileView, offset: usize, limit: usize, names: &ToolNames) -> Result<ToolOutput, ToolError> {
    let lines = split_lines(&view.text);
    let n_lines = lines.len();
    if offset > n_lines.max(1) {
        let parameter = names.param("read_file", "offset");
        return Err(ToolError::new(
            Code::InvalidArgument,
            format!("{parameter} {offset} is past the end of {}, which has {}", view.path, counted(n_lines, "line")),
        ));
    }
    let last = n_lines.min(offset.saturating_sub(1).saturating_add(limit));
    let shown = offset - 1..last;
    Ok(ToolOutput::new(text_of(view, &lines, shown.clone(), names), data_of(view, &lines, shown)))
}

/// Writes a range (from 0) of the file's lines as the model sees them, below a line that names the file.
pub(super) fn text_of(view: &FileView, lines: &[&str], shown: Range<usize>, names: &ToolNames) -> String {
    let (n_lines, offset, last) = (lines.len(), shown.start + 1, shown.end);
    let range = if n_lines == 0 { "empty file".to_owned() } else { format!("lines {offset}-{last} of {n_lines}") };
    let mut text = format!("[{} | version {} | {} | {range}", view.path, view.version, view.hash);
    if view.text.contains("\r\n") {
        text.push_str(" | CRLF line endings");
    }
    if lines.last().is_some_and(|line| split_eol(line).1.is_empty()) {
        text.push_str(" | no newline at the end");
    }
    text.push(']');
    let width = last.to_string().len();
    for (index, line) in lines[shown].iter().enumerate() {
        let number = offset + index;
        let content = split_eol(line).0;
        // The byte order mark is part of the file, not of its first line.
        let content = if number == 1 { content.strip_prefix(BOM).unwrap_or(content) } else { content };
        text.push_str(&format!("\n{number:>width$} | {content}"));
    }
    if last < n_lines {
        let (rest, parameter) = (counted(n_lines - last, "more line"), names.param("read_file", "offset"));
        text.push_str(&format!("\n[{rest}; continue with {parameter} {}]", last + 1));
    }
    text
}

/// Returns the same range as JSON.
pub(super) fn data_of(view: &FileView, lines: &[&str], shown: Range<usize>) -> Value {
    json!({
        "file_path": view.path,
        "version": view.version,
        "sha256": view.hash.hex(),
        "content": lines[shown.clone()].concat(),
        "start_line": shown.start + 1,
        "end_line": shown.end,
        "total_lines": lines.len(),
    })
}

/// Shows a file that is not text, or fails with `why` if it is not an image.
async fn show_image(context: &ToolContext, path: &str, why: ToolError) -> Result<ToolOutput, ToolError> {
    let (path, bytes) = context.workspace.read_bytes(path).await?;
    let Some(media_type) = image_type(&bytes) else { return Err(why) };
    let size = counted(bytes.len(), "byte");
    if bytes.len() > IMAGE_BYTES_MAX {
        let message =
            format!("{path} is an image of {size}; models accept at most {IMAGE_BYTES_MAX} bytes. Make it smaller.");
        return Err(ToolError::new(Code::Unsupported, message));
    }
    let hash = ContentHash::of(&bytes);
    let version = context.reads.note(&path, hash, 0, 0);
    let data = json!({
        "file_path": path,
        "version": version,
        "sha256": hash.hex(),
        "media_type": media_type,
        "bytes": bytes.len(),
    });
    let image = MediaData { media_type: Some(media_type.to_owned()), ..MediaData::from_file(path.as_str(), &bytes) };
    Ok(ToolOutput::new(format!("[{path} | version {version} | {hash} | {media_type}, {size}]"), data).with_image(image))
}

/// Returns the media type of an image in a format that all providers accept. The content decides, because file names may
/// be wrong.
pub(crate) fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let webp = || bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        _ if webp() => Some("image/webp"),
        _ => None,
    }
}

//! `read_many_files`: several files in one call, by path or by glob.
//!
//! Files that do not fit into the output are named instead of truncated, so that the session counts only shown lines as
//! read.

use std::collections::BTreeSet;

use emend_edit::text::split_lines;
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::arguments::{counted, schema};
use super::read_file::{LINES_DEFAULT, data_of, text_of};
use crate::environment::FilePath;
use crate::error_code::Code;
use crate::search::glob::GlobPattern;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

/// The most files that are read.
const FILES_MAX: usize = 200;
/// The most files without space that are named.
const NAMED_MAX: usize = 20;
/// Characters reserved for the lines that name files.
const MARGIN_CHARS: usize = 2_000;

/// Reads several files.
pub struct ReadManyFiles;

impl Tool for ReadManyFiles {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "read_many_files".to_owned(),
            description: "Reads several text files in one call, each as `{tool:read_file}` shows it. Globs and directories \
                          skip `.git`, hidden files and files that `.gitignore` excludes. A file that cannot be read is reported \
                          in its place. Files that do not fit are named at the end."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["include"],
                "properties": {
                    "include": {"type": "array", "items": {"type": "string", "minLength": 1}, "description": "Paths of files or directories, or globs such as `src/**/*.ts`.", "minItems": 1},
                    "exclude": {"type": "array", "items": {"type": "string", "minLength": 1}, "description": "Globs of files to leave out, e.g. `*.test.ts`."}
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
        texts(arguments, "include").map(str::to_owned).collect()
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let chosen = choose(arguments, context).await?;
            let mut chars_left = context.output_limits.chars_max;
            chars_left = chars_left.saturating_sub(MARGIN_CHARS);
            let (mut texts, mut files, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
            for (index, path) in chosen.iter().enumerate() {
                let outcome = if index < FILES_MAX { read(context, path, chars_left).await } else { Ok(None) };
                match outcome {
                    Ok(Some((text, data))) => {
                        chars_left = chars_left.saturating_sub(text.chars().count());
                        texts.push(text);
                        files.push(data);
                    }
                    Ok(None) => left_out.push(path.as_str()),
                    Err(error) => {
                        let text = format!("[{path} | not read: {}]", error.text());
                        chars_left = chars_left.saturating_sub(text.chars().count());
                        texts.push(text);
                        files.push(json!({ "file_path": path, "error": error.info() }));
                    }
                }
            }
            if !left_out.is_empty() {
                let named = left_out[..left_out.len().min(NAMED_MAX)].join(", ");
                let more = if left_out.len() > NAMED_MAX { ", …" } else { "" };
                let count = counted(left_out.len(), "file");
                texts.push(format!("[{count} did not fit: {named}{more}. Read them separately.]"));
            }
            Ok(ToolOutput::new(texts.join("\n\n"), json!({ "files": files, "left_out": left_out })))
        })
    }
}

/// Reads the part of a file that fits, or returns `None` if not even one line fits.
async fn read(context: &ToolContext, path: &str, chars_max: usize) -> Result<Option<(String, Value)>, ToolError> {
    // The line that names the file, and the line that names the next offset.
    let overhead = path.chars().count() + 200;
    let mut n_shown = 0;
    let fits = |text: &str| {
        let lines = split_lines(text);
        // A line number takes less than twelve characters.
        let sizes = lines.iter().take(LINES_DEFAULT).scan(overhead, |chars, line| {
            *chars += line.chars().count() + 12;
            Some(*chars)
        });
        n_shown = sizes.take_while(|chars| *chars <= chars_max).count();
        (overhead <= chars_max && (n_shown > 0 || lines.is_empty())).then_some(0..n_shown)
    };
    let view = context.workspace.read_if(&context.reads, path, fits).await?;
    Ok(view.map(|view| {
        let lines = split_lines(&view.text);
        (text_of(&view, &lines, 0..n_shown, &context.names), data_of(&view, &lines, 0..n_shown))
    }))
}

/// Returns the requested files in their order, each once.
async fn choose(arguments: &Map<String, Value>, context: &ToolContext) -> Result<Vec<String>, ToolError> {
    let malformed = |error: crate::search::glob::GlobError| ToolError::new(error.code(), error.to_string());
    let exclude: Vec<GlobPattern> =
        texts(arguments, "exclude").map(GlobPattern::new).collect::<Result<_, _>>().map_err(malformed)?;
    let (mut chosen, mut known) = (Vec::new(), BTreeSet::new());
    for wanted in texts(arguments, "include") {
        for path in expand(wanted, context).await? {
            let is_excluded = exclude.iter().any(|glob| glob.is_match_or_name(&path));
            if !is_excluded && known.insert(path.clone()) {
                chosen.push(path);
            }
        }
    }
    if chosen.is_empty() {
        let wanted: Vec<&str> = texts(arguments, "include").collect();
        return Err(ToolError::new(Code::NotFound, format!("No file matches {}.", wanted.join(", "))));
    }
    Ok(chosen)
}

/// Returns the files that a path or a glob names.
async fn expand(wanted: &str, context: &ToolContext) -> Result<Vec<String>, ToolError> {
    let owned = |found: Vec<FilePath>| found.into_iter().map(|path| path.as_str().to_owned()).collect::<Vec<_>>();
    // A file may be called `[id].ts`.
    if let Some(path) = context.workspace.file_at(wanted).await {
        return Ok(vec![path.as_str().to_owned()]);
    }
    if wanted.contains(['*', '?', '[', '{']) {
        return Ok(owned(context.workspace.glob_paths(".", wanted).await?));
    }
    match context.workspace.glob_paths(wanted, "**").await {
        Ok(found) => Ok(owned(found)),
        // The error appears in the place of the file's text.
        Err(_) => Ok(vec![wanted.to_owned()]),
    }
}

fn texts<'a>(arguments: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    arguments.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

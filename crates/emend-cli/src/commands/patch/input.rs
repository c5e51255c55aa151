//! Parses a patch in any of its formats, and detects the format.

use emend_agent::error_code::Code;
use emend_edit::patch::line_edits::{LineEdit, LineEdits};
use emend_edit::patch::unified::{self, DiffMode};
use emend_edit::patch::v4a;
use emend_edit::patch::{Change, Diagnostic, Patch};
use emend_edit::{ContentHash, ErrorCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::PatchFormat;
use crate::failure::Failure;

/// Message for a hash that does not match the file. The format `safe` prescribes this text and the next two.
pub(super) const STATE_MISMATCH: &str = "State Mismatch: File has changed on disk since it was last read.";

/// Message for a diff whose lines are not in the file.
pub(super) const INVALID_DIFF: &str = "Invalid Diff: The provided diff content does not match the file's content. The \
                                       context or lines to be removed may be incorrect.";

/// Message for success.
pub(super) const APPLIED: &str = "Patch applied successfully.";

/// A parsed patch.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) patch: Patch,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Hash of the content that the patch was made for, in the format `safe`.
    pub(super) base_hash: Option<ContentHash>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replace {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Safe {
    file_path: String,
    unified_diff: String,
    base_content_sha256: ContentHash,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    file_path: String,
    edits: Vec<LineEdit>,
    #[serde(default)]
    expected_hash: Option<ContentHash>,
}

/// Detects the format of `text`: JSON by its fields, other text by the first line that only one format uses.
pub(super) fn detect(text: &str) -> Result<PatchFormat, Failure> {
    let unclear = |what: &str| {
        let message =
            format!("cannot detect the format of the patch: {what}; use --format v4a, unified, safe, replace or lines");
        Failure::new(Code::InvalidArgument, message)
    };
    if let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(text) {
        let has = |name| fields.contains_key(name);
        let fitting = [
            (PatchFormat::Safe, has("unified_diff")),
            (PatchFormat::Replace, has("old_string") || has("new_string")),
            (PatchFormat::Lines, has("edits")),
        ];
        let mut fitting = fitting.into_iter().filter(|(_, fits)| *fits).map(|(format, _)| format);
        return match (fitting.next(), fitting.next()) {
            (Some(format), None) => Ok(format),
            (Some(_), Some(_)) => Err(unclear("it has the fields of several formats")),
            // A JSON object may contain a v4a patch as a string. The v4a parser extracts it.
            _ if text.contains("*** Begin Patch") => Ok(PatchFormat::V4a),
            _ => Err(unclear("it is JSON without `old_string`, `unified_diff` or `edits`")),
        };
    }
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_header = line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if is_header || line.starts_with("diff --git ") || line.starts_with("@@ -") {
            return Ok(PatchFormat::Unified);
        }
        let begins = ["*** Begin Patch", "*** Update File: ", "*** Add File: ", "*** Delete File: "];
        if begins.iter().any(|marker| line.trim_start().starts_with(marker)) {
            return Ok(PatchFormat::V4a);
        }
    }
    if text.contains("*** Begin Patch") {
        return Ok(PatchFormat::V4a);
    }
    Err(unclear("it has neither `*** Begin Patch` nor `--- a/path` and `+++ b/path`, and is not a JSON object"))
}

/// Parses `text` in the given format.
pub(super) fn parse(format: PatchFormat, text: &str) -> Result<Input, Failure> {
    let plain = |(patch, diagnostics)| Input { patch, diagnostics, base_hash: None };
    match format {
        PatchFormat::V4a => v4a::parse(text).map(plain).map_err(|error| refused(error.code(), &error)),
        PatchFormat::Unified => {
            unified::parse(text, DiffMode::Strict).map(plain).map_err(|error| refused(error.code(), &error))
        }
        PatchFormat::Safe => {
            let Safe { file_path, unified_diff, base_content_sha256 } = fields(text, "safe")?;
            let (patch, diagnostics) = unified::parse_for(&file_path, &unified_diff, DiffMode::Located)
                .map_err(|error| refused(error.code(), &error))?;
            Ok(Input { patch, diagnostics, base_hash: Some(base_content_sha256) })
        }
        PatchFormat::Replace => {
            let Replace { file_path, old_string: old, new_string: new, replace_all } = fields(text, "replace")?;
            Ok(plain((Patch::of(file_path, Change::Replace { old, new, replace_all }), Vec::new())))
        }
        PatchFormat::Lines => {
            let Lines { file_path, edits, expected_hash } = fields(text, "lines")?;
            let change = Change::Lines(LineEdits { edits, expected_hash });
            Ok(plain((Patch::of(file_path, change), Vec::new())))
        }
    }
}

fn refused(code: ErrorCode, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(code.into(), error.to_string())
}

fn fields<T: DeserializeOwned>(text: &str, format: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let example = match format {
            "replace" => r#"{"file_path": "a.txt", "old_string": "old", "new_string": "new"}"#,
            "safe" => r#"{"file_path": "a.txt", "unified_diff": "@@ …", "base_content_sha256": "…"}"#,
            _ => r#"{"file_path": "a.txt", "edits": [{"operation": "replace", "start_line": 1, "new_text": "new"}]}"#,
        };
        let message = format!("not a valid patch in the format `{format}`: {error}; expected e.g. {example}");
        Failure::new(Code::InvalidArgument, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<PatchFormat>) {
        assert_eq!(detect(text).ok(), expected, "{text}");
    }

    #[test]
    fn formats_are_told_by_what_only_they_have() {
        use PatchFormat::*;
        check("*** Begin Patch\n*** Delete File: a\n*** End Patch\n", Some(V4a));
        check("  *** Begin Patch\n--- a\n+++ b\n", Some(V4a));
        check("```\n*** Update File: a\n@@\n-a\n+b\n", Some(V4a));
        check("apply_patch <<'EOF'\n*** Begin Patch\n", Some(V4a));
        check(r#"{"input": "*** Begin Patch\n*** End Patch"}"#, Some(V4a));
        check(r#"{"cmd": ["apply_patch", "*** Begin Patch"#, Some(V4a));
        check("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-*** Begin Patch\n+b\n", Some(Unified));
        check("diff --git a/x b/y\nrename from x\nrename to y\n", Some(Unified));
        check("Subject: [PATCH]\n\n--- a/x\n+++ b/x\n", Some(Unified));
        check("@@ -1 +1 @@\n-a\n+b\n", Some(Unified));
        check(r#"{"file_path": "a", "old_string": "--- a\n+++ b", "new_string": ""}"#, Some(Replace));
        check(r#"{"file_path": "a", "unified_diff": "", "base_content_sha256": ""}"#, Some(Safe));
        check(r#" {"file_path": "a", "edits": []}"#, Some(Lines));
        check(r#"{"edits": [], "old_string": ""}"#, None);
        check(r#"{"file_path": "a"}"#, None);
        check("--- a/x\nsome text\n", None);
        check("hello\n", None);
        check("[]", None);
    }
}

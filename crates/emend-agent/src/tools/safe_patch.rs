//! `safe_patch`: a unified diff over exactly the text that it was made for.
//!
//! The hash works as a lock: it must be the hash of the current file. Line numbers and counts of the diff may be wrong,
//! because hunks are located by their lines. Every result, also an error, shows the current file.

use emend_edit::ErrorCode;
use emend_edit::patch::unified::{self, DiffMode};
use emend_edit::patch::{Diagnostic, EditError, HunkReason, PlannedFile, plan};
use emend_edit::size::compact_sort::map_of;
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::arguments::{schema, text_argument};
use super::preview;
use crate::error_code::Code;
use crate::fixed_texts::{INVALID_DIFF, PATCH_APPLIED, PATCH_FAILED};
use crate::tool::{Preview, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::workspace::{FileView, FileWrite, Precondition, Rejection, WrittenFile};

/// Applies a unified diff to the file whose hash it names.
pub struct SafePatch;

impl Tool for SafePatch {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "safe_patch".to_owned(),
            description: "Changes a file by a unified diff, several changes in one call. Use it for all changes of files.\n\
                          1. Work from the newest text of the file that you were shown: the one with the highest version \
                          number. If you were shown none, call {tool:read_file} first.\n\
                          2. {param:safe_patch.base_content_sha256} is the sha256 shown with that version. It works as a lock: if the \
                          file has changed since, nothing is written and the result shows the current file.\n\
                          3. Copy context and removed lines exactly, without line numbers, and give about 10 unchanged \
                          lines around each change. The numbers after `@@` may be wrong: hunks are located by their lines.\n\
                          4. To create a file, give the sha256 of the empty string and a diff of added lines only.\n\
                          Every result shows the whole file with its new version and sha256, so do not read it again."
                .to_owned(),
            parameters: schema(r#"{
                "type": "object",
                "required": ["file_path", "unified_diff", "base_content_sha256"],
                "properties": {
                    "file_path": {"type": "string", "description": "Path under the working directory."},
                    "unified_diff": {
                        "type": "string",
                        "description": "Hunks that begin with `@@`. Each line of a hunk starts with ` `, `-` or `+`. File headers may be omitted."
                    },
                    "base_content_sha256": {
                        "type": "string",
                        "description": "The sha256 of the text that the diff was made for, as it was shown to you."
                    }
                }
            }"#),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        vec![text_argument(arguments, "file_path").to_owned()]
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(async move {
            let (path, diff) = (text_argument(arguments, "file_path"), text_argument(arguments, "unified_diff"));
            let base = Precondition::Exact(text_argument(arguments, "base_content_sha256"));
            if !context.workspace.is_verified(&context.reads, path, &base).await {
                return Preview::Futile;
            }
            let Ok(before) = context.workspace.text(path).await else { return Preview::Futile };
            match patched(path, diff, before.as_deref()) {
                Ok((file, _)) => preview::of_plan(&[file], Some(diff)),
                Err(_) => Preview::Futile,
            }
        })
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let path = text_argument(arguments, "file_path");
            let base = Precondition::Exact(text_argument(arguments, "base_content_sha256"));
            let diff = text_argument(arguments, "unified_diff");
            let planned = |before: Option<&str>| {
                let planned = patched(path, diff, before)?;
                let write = FileWrite {
                    path: path.to_owned(),
                    text: planned.0.after.clone(),
                    moved_from: None,
                    steps: Vec::new(),
                };
                Ok((vec![write], planned))
            };
            let outcome: Result<_, Rejection<ToolError>> =
                context.workspace.write_verified(&context.write(), path, base, planned).await;
            let (written, (file, diagnostics)) = outcome.map_err(|rejection| refused(rejection.into()))?;
            Ok(done(written, file, &diagnostics))
        })
    }
}

/// The error for a diff with git's mode lines. A review shows texts, so the user could not decide on a change of a mode.
const MODE_CHANGE: &str = "The diff changes whether the file is executable, which this tool cannot do. Omit the lines \
                           with a mode. To change the mode, run chmod.";

/// Applies the diff in memory.
pub(super) fn patched(
    path: &str,
    diff: &str,
    before: Option<&str>,
) -> Result<(PlannedFile, Vec<Diagnostic>), ToolError> {
    let invalid = |code: ErrorCode, why: String| ToolError::new(code.into(), format!("{INVALID_DIFF}\n{why}"));
    let (patch, mut diagnostics) =
        unified::parse_for(path, diff, DiffMode::Located).map_err(|error| invalid(error.code(), error.to_string()))?;
    let files = map_of([(path.to_owned(), before.map(str::to_owned))]);
    let planned = plan(&patch, &files).map_err(|error| match is_our_fault(&error) {
        true => our_fault(&error),
        false => invalid(error.code(), error.to_string()).with_suggestions(error.suggestions()),
    })?;
    let Some(file) = planned.into_iter().next() else {
        return Err(invalid(ErrorCode::InvalidArgument, "The diff changes nothing.".to_owned()));
    };
    if file.executable.is_some() {
        return Err(invalid(ErrorCode::Unsupported, MODE_CHANGE.to_owned()));
    }
    diagnostics.extend(file.diagnostics.iter().cloned());
    Ok((file, diagnostics))
}

/// Returns whether a located and corrected hunk could not be applied. Only the strict check gives these reasons.
fn is_our_fault(error: &EditError) -> bool {
    let EditError::Hunk { error, .. } = error else { return false };
    matches!(
        error.reason,
        HunkReason::NotInPlace { .. }
            | HunkReason::PastEnd { .. }
            | HunkReason::Overlap { .. }
            | HunkReason::OpenEnd { .. }
    )
}

fn our_fault(error: &EditError) -> ToolError {
    ToolError::new(Code::Internal, format!("{PATCH_FAILED}\n{error}"))
}

fn done(written: Vec<WrittenFile>, file: PlannedFile, diagnostics: &[Diagnostic]) -> ToolOutput {
    let mut lines = vec![PATCH_APPLIED.to_owned()];
    lines.extend(diagnostics.iter().map(|diagnostic| format!("Note: {}", diagnostic.message)));
    let view = written.into_iter().next().map(|written| FileView {
        path: written.path,
        text: file.after.unwrap_or_default(),
        hash: written.hash,
        version: written.version,
    });
    let state = view.map_or(Value::Null, |view| view.state());
    let data = json!({
        "success": true,
        "message": PATCH_APPLIED,
        "latest_file_state": state,
        "diagnostics": diagnostics,
    });
    lines.extend(crate::workspace::latest_state_text(&data));
    ToolOutput::new(lines.join("\n"), data)
}

/// Adds the fields to an error that all results of this tool have.
fn refused(mut error: ToolError) -> ToolError {
    if let Some(Value::Object(data)) = &mut error.data {
        let message = error.message.lines().next().unwrap_or_default();
        data.insert("success".to_owned(), Value::Bool(false));
        data.insert("message".to_owned(), Value::from(message));
    }
    error
}

#[cfg(test)]
mod tests {
    use emend_edit::ContentHash;
    use emend_edit::patch::HunkError;
    use emend_llm::Shared;
    use futures::executor::block_on;

    use super::*;
    use crate::environment::ExecutionEnvironment;
    use crate::environment::memory::MemFs;
    use crate::test_support::{Standstill, covers, tool_context};
    use crate::workspace::{Mode, ReadTracker, Workspace};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn hunk(reason: HunkReason) -> EditError {
        EditError::Hunk { path: "a".to_owned(), error: HunkError { hunk: 1, n_hunks: 1, patch_line: 1, reason } }
    }

    #[test]
    fn a_diff_that_fails_after_its_correction_is_an_internal_error_that_shows_the_unchanged_file() {
        covers("verified.internal_error");
        let files = Shared::new(MemFs::from_fixture("//- a.txt\none\n"));
        let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
        let workspace = Shared::new(Workspace::new(environment, Mode::Direct, Shared::new(Standstill(0))));
        let context = tool_context(&workspace, &Shared::new(ReadTracker::default()));
        let hash = ContentHash::of(b"one\n").hex();
        let planned = |_: Option<&str>| Err(our_fault(&hunk(HunkReason::PastEnd { line: 9, n_lines: 1 })));
        let outcome: Result<(Vec<WrittenFile>, ()), Rejection<ToolError>> =
            block_on(workspace.write_verified(&context.write(), "a.txt", Precondition::Exact(&hash), planned));
        let error = refused(outcome.unwrap_err().into());
        assert_eq!((error.code, error.message.lines().next()), (Code::Internal, Some(PATCH_FAILED)));
        let data = error.data.unwrap();
        assert_eq!((&data["success"], &data["message"]), (&json!(false), &json!(PATCH_FAILED)));
        let state = json!({"file_path": "a.txt", "version": 1, "sha256": hash, "content": "one\n"});
        assert_eq!(data["latest_file_state"], state);
        assert_eq!(files.get("a.txt").as_deref(), Some(&b"one\n"[..]));
    }

    #[test]
    fn a_place_that_was_found_and_does_not_hold_is_our_fault() {
        assert!(is_our_fault(&hunk(HunkReason::PastEnd { line: 9, n_lines: 1 })));
        assert!(is_our_fault(&hunk(HunkReason::OpenEnd { line: 9 })));
        assert!(!is_our_fault(&hunk(HunkReason::NotFound { nearest: Vec::new() })));
        assert!(!is_our_fault(&hunk(HunkReason::NoContext)));
        assert!(!is_our_fault(&EditError::Empty));
    }
}

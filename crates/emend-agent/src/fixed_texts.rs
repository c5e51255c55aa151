//! The texts that the design documents give word for word. Models and programs may have learned them, so they never
//! change; what we have to add goes on a line of its own after them.

/// `safe_patch`: the file is not the one the diff was made for (S3 §5).
pub const STATE_MISMATCH: &str = "State Mismatch: File has changed on disk since it was last read.";
/// `safe_patch`: the diff does not fit the file it was made for (S3 §5).
pub const INVALID_DIFF: &str = "Invalid Diff: The provided diff content does not match the file's content. The context or \
                                lines to be removed may be incorrect.";
/// `safe_patch`: the diff was located and still could not be applied (S3 §5).
pub const PATCH_FAILED: &str =
    "Internal Error: The corrected patch failed to apply. Please review the diff for subtle errors.";
/// `safe_patch`: done (S3 §5).
pub const PATCH_APPLIED: &str = "Patch applied successfully.";
/// Stands where the project's documents were cut (S2 §6.5).
pub const DOCUMENTS_CUT: &str = "[Project instructions truncated at 32KB]";

pub use crate::environment::command::timeout_text;

/// Returns what a model is told that goes in circles (S2 §2.10).
#[must_use]
pub fn loop_detected(window: usize) -> String {
    format!("Loop detected: the last {window} tool calls follow a repeating pattern. Try a different approach.")
}

#[cfg(test)]
mod tests {
    use emend_edit::truncate::{Mode, truncate_chars, truncate_lines};

    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Each text as it stands in its document, line breaks aside.
    #[test]
    fn every_text_is_the_documents_own() {
        let head_tail = truncate_chars("abcd", 2, Mode::HeadTail).unwrap();
        let tail = truncate_chars("abcd", 2, Mode::Tail).unwrap();
        let lines = truncate_lines("1\n2\n3\n4", 2).unwrap();
        let texts = [
            (STATE_MISMATCH.to_owned(), "State Mismatch: File has changed on disk since it was last read."),
            (
                INVALID_DIFF.to_owned(),
                "Invalid Diff: The provided diff content does not match the file's content. The context or lines to be removed may be incorrect.",
            ),
            (
                PATCH_FAILED.to_owned(),
                "Internal Error: The corrected patch failed to apply. Please review the diff for subtle errors.",
            ),
            (PATCH_APPLIED.to_owned(), "Patch applied successfully."),
            (DOCUMENTS_CUT.to_owned(), "[Project instructions truncated at 32KB]"),
            (
                loop_detected(10),
                "Loop detected: the last 10 tool calls follow a repeating pattern. Try a different approach.",
            ),
            (
                head_tail,
                "a\n\n[WARNING: Tool output was truncated. 2 characters were removed from the middle. The full output is available in the event stream. If you need to see specific parts, re-run the tool with more targeted parameters.]\n\nd",
            ),
            (
                tail,
                "[WARNING: Tool output was truncated. First 2 characters were removed. The full output is available in the event stream.]\n\ncd",
            ),
            (lines, "1\n[... 2 lines omitted ...]\n4"),
            (
                crate::environment::command::timeout_text(10_000, "timeout_ms"),
                "[ERROR: Command timed out after 10000ms. Partial output is shown above.\nYou can retry with a longer timeout by setting the timeout_ms parameter.]",
            ),
        ];
        for (text, expected) in texts {
            assert_eq!(text, expected);
        }
    }
}

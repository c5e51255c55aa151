//! Texts that never change, because models and programs may have learned them. Additions go on a separate line after
//! them.

/// `safe_patch`: the diff was made for another state of the file.
pub const STATE_MISMATCH: &str = "State Mismatch: File has changed on disk since it was last read.";
/// `safe_patch`: the diff does not match the file that it was made for.
pub const INVALID_DIFF: &str = "Invalid Diff: The provided diff content does not match the file's content. The context or \
                                lines to be removed may be incorrect.";
/// `safe_patch`: the diff was located but could not be applied.
pub const PATCH_FAILED: &str =
    "Internal Error: The corrected patch failed to apply. Please review the diff for subtle errors.";
/// `safe_patch`: success.
pub const PATCH_APPLIED: &str = "Patch applied successfully.";
/// Marks the truncation of project documents.
pub const DOCUMENTS_CUT: &str = "[Project instructions truncated at 32KB]";

pub use crate::environment::command::timeout_text;

/// Returns the warning for a model that repeats its calls.
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

    /// Each text in its original form, without line breaks.
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

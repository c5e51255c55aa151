//! Truncates an output to the part that the model sees: by characters first, then by lines.
//!
//! Models may have learned the markers, so these do not change. A character is a Unicode scalar value, so no cut splits a
//! character. The limits come from the caller. So do the choice of a field in a structured result and the full output for
//! the event stream.

use serde::{Deserialize, Serialize};

/// The part of an output that the cut by characters keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Keeps the first and the last half, and removes the middle.
    HeadTail,
    /// Keeps the end.
    Tail,
}

/// The limits of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Maximum number of characters kept, markers excluded.
    pub chars_max: usize,
    /// The part that is kept.
    pub mode: Mode,
    /// Maximum number of lines kept; `None` for no limit.
    pub lines_max: Option<usize>,
}

impl Default for OutputLimits {
    /// 30,000 characters, head and tail.
    fn default() -> Self {
        Self { chars_max: 30_000, mode: Mode::HeadTail, lines_max: None }
    }
}

/// An output as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncated {
    /// The text, with a marker wherever something was removed.
    pub text: String,
    /// Whether anything was removed.
    pub truncated: bool,
}

/// Truncates `output` to the given limits.
///
/// ```
/// use emend_edit::truncate::{OutputLimits, truncate_output};
/// let limits = OutputLimits { lines_max: Some(256), ..OutputLimits::default() };
/// let seen = truncate_output(&"x\n".repeat(300), limits);
/// assert!(seen.truncated && seen.text.contains("\n[... 45 lines omitted ...]\n"));
/// ```
#[must_use]
pub fn truncate_output(output: &str, limits: OutputLimits) -> Truncated {
    let by_chars = truncate_chars(output, limits.chars_max, limits.mode);
    let by_lines =
        limits.lines_max.and_then(|lines_max| truncate_lines(by_chars.as_deref().unwrap_or(output), lines_max));
    match by_lines.or(by_chars) {
        Some(text) => Truncated { text, truncated: true },
        None => Truncated { text: output.to_owned(), truncated: false },
    }
}

/// Cuts `text` to `chars_max` characters plus a marker. Returns `None` if it fits.
///
/// With an odd limit, head and tail together are one character shorter than the limit.
#[must_use]
pub fn truncate_chars(text: &str, chars_max: usize, mode: Mode) -> Option<String> {
    // A scalar value takes at least one byte, so a short text needs no count.
    if text.len() <= chars_max {
        return None;
    }
    let chars_removed = text.chars().count().checked_sub(chars_max).filter(|&removed| removed > 0)?;
    Some(match mode {
        Mode::HeadTail => {
            let (head, tail) = (first_chars(text, chars_max / 2), last_chars(text, chars_max / 2));
            format!(
                "{head}\n\n[WARNING: Tool output was truncated. {chars_removed} characters were removed from the \
                 middle. The full output is available in the event stream. If you need to see specific parts, re-run \
                 the tool with more targeted parameters.]\n\n{tail}"
            )
        }
        Mode::Tail => format!(
            "[WARNING: Tool output was truncated. First {chars_removed} characters were removed. The full output is \
             available in the event stream.]\n\n{}",
            last_chars(text, chars_max)
        ),
    })
}

/// Cuts `text` to its first and last lines, `lines_max` together. Returns `None` if it fits.
///
/// Lines are separated by `\n`, so an empty line follows a final `\n`.
#[must_use]
pub fn truncate_lines(text: &str, lines_max: usize) -> Option<String> {
    let n_lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
    if n_lines <= lines_max {
        return None;
    }
    let n_head = lines_max / 2;
    let n_tail = lines_max - n_head;
    let head = match n_head {
        0 => "",
        n => text.match_indices('\n').nth(n - 1).map_or(text, |(at, _)| &text[..at]),
    };
    let tail = match n_tail {
        0 => "",
        n => text.rmatch_indices('\n').nth(n - 1).map_or(text, |(at, _)| &text[at + 1..]),
    };
    Some(format!("{head}\n[... {} lines omitted ...]\n{tail}", n_lines - lines_max))
}

fn first_chars(text: &str, n_chars: usize) -> &str {
    text.char_indices().nth(n_chars).map_or(text, |(at, _)| &text[..at])
}

fn last_chars(text: &str, n_chars: usize) -> &str {
    match n_chars {
        0 => "",
        n => text.char_indices().rev().nth(n - 1).map_or(text, |(at, _)| &text[at..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const READING: OutputLimits = OutputLimits { chars_max: 50_000, mode: Mode::HeadTail, lines_max: None };
    const COMMAND: OutputLimits = OutputLimits { chars_max: 30_000, mode: Mode::HeadTail, lines_max: Some(256) };
    const SEARCH: OutputLimits = OutputLimits { chars_max: 20_000, mode: Mode::Tail, lines_max: Some(200) };
    const WRITING: OutputLimits = OutputLimits { chars_max: 1_000, mode: Mode::Tail, lines_max: None };

    #[test]
    fn short_outputs_are_untouched() {
        for limits in [READING, COMMAND, SEARCH, WRITING, OutputLimits::default()] {
            let OutputLimits { chars_max, lines_max, .. } = limits;
            for output in ["", "a\r\nb\r\n", &"é".repeat(chars_max), &"\n".repeat(lines_max.map_or(1, |n| n - 1))] {
                assert_eq!(truncate_output(output, limits), Truncated { text: output.to_owned(), truncated: false });
            }
        }
    }

    #[test]
    fn the_middle_goes_with_its_exact_count() {
        covers("truncate.characters truncate.marker");
        let output = format!("{}{}{}", "h".repeat(25_000), "é".repeat(7), "t".repeat(25_000));
        let expected = format!(
            "{}\n\n[WARNING: Tool output was truncated. 7 characters were removed from the middle. The full output is \
             available in the event stream. If you need to see specific parts, re-run the tool with more targeted \
             parameters.]\n\n{}",
            "h".repeat(25_000),
            "t".repeat(25_000)
        );
        assert_eq!(truncate_output(&output, READING), Truncated { text: expected, truncated: true });
    }

    #[test]
    fn tail_mode_keeps_the_end() {
        let output = format!("{}{}", "a".repeat(5), "ż".repeat(1_000));
        let expected = format!(
            "[WARNING: Tool output was truncated. First 5 characters were removed. The full output is available in \
             the event stream.]\n\n{}",
            "ż".repeat(1_000)
        );
        assert_eq!(truncate_output(&output, WRITING).text, expected);
    }

    #[test]
    fn lines_are_cut_after_characters() {
        covers("truncate.characters truncate.lines");
        let numbered: String = (1..=300).map(|n| format!("{n}\n")).collect();
        let seen = truncate_output(&numbered, COMMAND).text;
        // 300 lines and the empty one after the last `\n`; 128 from each end stay.
        assert!(seen.starts_with("1\n2\n") && seen.contains("\n128\n[... 45 lines omitted ...]\n174\n"), "{seen}");
        assert!(seen.ends_with("\n300\n"));
        // Two huge lines are caught by the first step alone.
        let wide = format!("{}\n{}", "a".repeat(10_000_000), "b".repeat(10_000_000));
        let seen = truncate_output(&wide, COMMAND).text;
        assert!(seen.contains("19970001 characters were removed") && !seen.contains("lines omitted"));
        assert!(seen.chars().count() < 30_300);
    }

    #[test]
    fn a_session_may_set_its_own_limits() {
        covers("truncate.configurable");
        let limits = OutputLimits { chars_max: 4, ..COMMAND };
        let seen = truncate_output("abcdefgh", limits).text;
        assert!(seen.starts_with("ab\n\n[WARNING") && seen.ends_with("]\n\ngh"));
        let limits = OutputLimits { lines_max: Some(3), ..OutputLimits::default() };
        assert_eq!(truncate_output("1\n2\n3\n4\n5", limits).text, "1\n[... 2 lines omitted ...]\n4\n5");
    }

    #[test]
    fn tiny_limits_leave_the_marker() {
        assert!(truncate_chars("ab", 0, Mode::Tail).unwrap().ends_with("stream.]\n\n"));
        assert!(truncate_chars("ab", 1, Mode::HeadTail).unwrap().starts_with("\n\n[WARNING"));
        assert_eq!(truncate_lines("a\nb", 0).unwrap(), "\n[... 2 lines omitted ...]\n");
        assert_eq!(truncate_lines("a\nb", 1).unwrap(), "\n[... 1 lines omitted ...]\nb");
        assert_eq!(truncate_lines("a", 1), None);
    }
}

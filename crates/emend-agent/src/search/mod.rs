//! The matcher of grep on every host: the same pattern gives the same lines in memory and on disk.
//!
//! A pattern is matched against one line at a time. A line ends at LF, CRLF or CR, as in `emend_edit::text`.
//! Environments walk the tree; this module decides which lines of a file match.
//!
//! The search takes linear time in the size of the file. The whole file is one haystack, so that literal prefilters run
//! at full speed. The pattern is rewritten first, so that no match can extend beyond the line in which it starts.
//!
//! A browser's module without the feature `regex` has no regex engine. Its matchers search for plain text themselves, and leave
//! other patterns to another module (`elsewhere`).

#[cfg(any(test, all(target_family = "wasm", not(feature = "regex"))))]
pub mod elsewhere;
#[cfg(any(feature = "regex", not(target_family = "wasm")))]
pub(crate) mod engine;
mod error;
pub mod glob;
mod lines;
#[cfg(any(test, target_family = "wasm"))]
mod literal;
#[cfg(any(feature = "regex", not(target_family = "wasm")))]
mod pattern;
mod unicode;

use serde::Serialize;

#[cfg(any(test, all(target_family = "wasm", not(feature = "regex"))))]
use elsewhere::Elsewhere;
#[cfg(any(feature = "regex", not(target_family = "wasm")))]
use engine::Regex;
pub use error::{MatcherError, PatternError};
use lines::Line;
#[cfg(any(test, target_family = "wasm"))]
use literal::Required;

/// Number of bytes at the start of a file that are checked for NUL, which marks a binary file.
pub const BINARY_PROBE_BYTES: usize = 8 * 1024;

/// A compiled grep pattern.
#[derive(Clone, Debug)]
pub struct Matcher {
    pattern: String,
    case_insensitive: bool,
    finder: Finder,
    /// The pattern that the engine runs, for indexes.
    #[cfg(not(target_family = "wasm"))]
    hir: regex_syntax::hir::Hir,
}

/// Finds the matches of a pattern.
#[derive(Clone, Debug)]
#[cfg_attr(
    all(test, target_family = "wasm"),
    expect(clippy::large_enum_variant, reason = "only tests have both variants, and a matcher has one of them")
)]
enum Finder {
    #[cfg(any(feature = "regex", not(target_family = "wasm")))]
    Engine {
        regex: Regex,
        /// Literal to search for before the engine runs.
        #[cfg(any(test, target_family = "wasm"))]
        required: Option<Required>,
    },
    /// The pattern is plain text.
    #[cfg(all(target_family = "wasm", not(feature = "regex")))]
    Text(Required),
    /// Another module runs the pattern.
    #[cfg(any(test, all(target_family = "wasm", not(feature = "regex"))))]
    Elsewhere(emend_llm::Shared<Elsewhere>),
}

/// Number of lines of a file that may contain the literal without a match. After that, the engine alone is faster.
#[cfg(all(any(test, target_family = "wasm"), any(feature = "regex", not(target_family = "wasm"))))]
const FALSE_LINES_MAX: usize = 16;

/// One line of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineMatch {
    /// 1-based line number.
    pub line: usize,
    /// Text of the line without its line ending; invalid UTF-8 is replaced by U+FFFD.
    pub text: String,
    /// Whether the line matches; false for a context line.
    pub is_match: bool,
}

/// Limits for the result of [`Matcher::search`] in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Maximum number of matching lines.
    pub max_matches: usize,
    /// Lines of context before and after each match.
    pub context_lines: usize,
    /// Maximum bytes of the text of a line. A longer line is reduced to the part around its match, with `…` at each
    /// cut.
    pub max_line_bytes: usize,
}

impl SearchLimits {
    /// Default of the maximum line length in bytes.
    pub const MAX_LINE_BYTES: usize = 1_000;
}

/// Returns a pattern that matches `text` itself.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for char in text.chars() {
        if MEANINGFUL.contains(char) {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern
}

/// Characters with a meaning in a pattern. Each stands for itself behind a backslash.
const MEANINGFUL: &str = r"\.+*?()|[]{}^$#&-~";

/// Returns whether `content` looks binary: a NUL in its first 8 KiB.
#[must_use]
pub fn is_binary(content: &[u8]) -> bool {
    memchr::memchr(0, &content[..content.len().min(BINARY_PROBE_BYTES)]).is_some()
}

impl Matcher {
    /// Compiles `pattern`, a regular expression in the syntax of the `regex` crate.
    ///
    /// The pattern is matched against one line at a time: `^` and `\A` match at the start of a line, `$` and `\z` at
    /// its end. Nothing matches a line ending.
    ///
    /// # Errors
    ///
    /// Returns a [`PatternError`] if the pattern does not compile, or if it cannot match within one line (`a
    /// b`).
    #[cfg(any(feature = "regex", not(target_family = "wasm")))]
    pub fn new(pattern: &str, case_insensitive: bool) -> Result<Self, PatternError> {
        let hir = pattern::within_lines(pattern, case_insensitive)?;
        let regex = Regex::new(&hir).map_err(|error| PatternError { reason: error.to_string() })?;
        #[cfg(any(test, target_family = "wasm"))]
        let required = Required::of(&hir);
        let finder = Finder::Engine {
            regex,
            #[cfg(any(test, target_family = "wasm"))]
            required,
        };
        Ok(Self {
            pattern: pattern.to_owned(),
            case_insensitive,
            finder,
            #[cfg(not(target_family = "wasm"))]
            hir,
        })
    }

    /// As `new`. A browser loads the regex engine for it if the pattern needs one.
    ///
    /// # Errors
    ///
    /// As `new`, or the engine cannot be loaded.
    #[cfg(any(feature = "regex", not(target_family = "wasm")))]
    #[expect(clippy::unused_async, reason = "a browser waits for the engine")]
    pub async fn load(pattern: &str, case_insensitive: bool) -> Result<Self, MatcherError> {
        Ok(Self::new(pattern, case_insensitive)?)
    }

    /// Compiles `pattern`. The regex engine is loaded if the pattern needs one.
    ///
    /// # Errors
    ///
    /// The pattern does not compile, it cannot match within one line, or the engine cannot be loaded.
    #[cfg(all(target_family = "wasm", not(feature = "regex")))]
    pub async fn load(pattern: &str, case_insensitive: bool) -> Result<Self, MatcherError> {
        let finder = match Required::of_text(pattern, case_insensitive) {
            Some(text) => Finder::Text(text),
            None => Finder::Elsewhere(elsewhere::load(pattern, case_insensitive).await?),
        };
        Ok(Self { pattern: pattern.to_owned(), case_insensitive, finder })
    }

    /// Returns the parsed pattern with all flags resolved. No match of it contains a line ending. Absent in a browser,
    /// which has no index of files.
    #[cfg(not(target_family = "wasm"))]
    #[must_use]
    pub fn hir(&self) -> &regex_syntax::hir::Hir {
        &self.hir
    }

    /// Returns the pattern as the caller gave it.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns whether the matcher ignores case.
    #[must_use]
    pub fn is_case_insensitive(&self) -> bool {
        self.case_insensitive
    }

    /// Returns the matching lines of `content` with context, in line order. A binary file has no matches.
    #[must_use]
    pub fn search(&self, content: &[u8], limits: SearchLimits) -> Vec<LineMatch> {
        // One match more than the limit: the context after the last match ends where the next match begins.
        let hits = self.hits(content, limits.max_matches.saturating_add(1));
        if hits.is_empty() {
            return Vec::new();
        }
        let mut found = with_context(content, &hits, limits);
        truncate_matches(&mut found, limits.max_matches, limits.context_lines);
        found
    }

    /// Returns the position of the first match of each of the first `max` matching lines; none if `content` is binary.
    #[must_use]
    pub fn match_starts(&self, content: &[u8], max: usize) -> Vec<usize> {
        self.hits(content, max).into_iter().map(|hit| hit.first_match).collect()
    }

    /// Reports that a search failed. Its result was incomplete.
    ///
    /// # Errors
    ///
    /// The module that runs the pattern failed.
    pub fn checked(&self) -> Result<(), MatcherError> {
        #[cfg(any(test, all(target_family = "wasm", not(feature = "regex"))))]
        if let Finder::Elsewhere(elsewhere) = &self.finder {
            return elsewhere.checked();
        }
        Ok(())
    }

    /// Returns the first `max` matching lines; none if `content` is binary.
    fn hits(&self, content: &[u8], max: usize) -> Vec<Hit> {
        let mut counter = lines::Counter::new(content);
        #[cfg(any(test, all(target_family = "wasm", not(feature = "regex"))))]
        if let Finder::Elsewhere(elsewhere) = &self.finder {
            let starts = elsewhere.match_starts(content, max).into_iter();
            return starts.map_while(|start| Hit::around(content, start, &mut counter)).collect();
        }
        let mut hits: Vec<Hit> = Vec::new();
        let (mut from, mut n_false) = (0, 0);
        while hits.len() < max && from < content.len() {
            let Some(start) = self.find(content, from, &mut n_false) else { break };
            // Checked only after a hit: most files have none and are read once.
            if hits.is_empty() && is_binary(content) {
                break;
            }
            if lines::is_inside_crlf(content, start) {
                // Only a pattern with empty matches gets here; the line before has been tried.
                from = start + 1;
                continue;
            }
            let Some(hit) = Hit::around(content, start, &mut counter) else { break };
            from = hit.line.next;
            hits.push(hit);
        }
        hits
    }

    /// Returns the start of the first match at or after `from`, which is the start of a line. `n_false` counts the
    /// lines of this file that contain the literal without a match.
    #[cfg_attr(
        any(not(any(test, target_family = "wasm")), all(target_family = "wasm", not(feature = "regex"))),
        expect(unused_variables, reason = "only an engine with a literal before it counts lines")
    )]
    fn find(&self, content: &[u8], from: usize, n_false: &mut usize) -> Option<usize> {
        match &self.finder {
            #[cfg(not(any(test, target_family = "wasm")))]
            Finder::Engine { regex } => regex.find_start(content, from..content.len()),
            #[cfg(all(any(test, target_family = "wasm"), any(feature = "regex", not(target_family = "wasm"))))]
            Finder::Engine { regex, required } => find_with(regex, required.as_ref(), content, from, n_false),
            #[cfg(all(target_family = "wasm", not(feature = "regex")))]
            Finder::Text(text) => text.find(content, from),
            #[cfg(any(test, all(target_family = "wasm", not(feature = "regex"))))]
            Finder::Elsewhere(_) => None,
        }
    }
}

/// As [`Matcher::find`], with the literal before the engine.
#[cfg(all(any(test, target_family = "wasm"), any(feature = "regex", not(target_family = "wasm"))))]
fn find_with(
    regex: &Regex,
    required: Option<&Required>,
    content: &[u8],
    mut from: usize,
    n_false: &mut usize,
) -> Option<usize> {
    let Some(required) = required else { return regex.find_start(content, from..content.len()) };
    while *n_false < FALSE_LINES_MAX {
        let at = required.find(content, from)?;
        if required.is_whole {
            return Some(at);
        }
        let line = Line::around(content, at)?;
        if let Some(start) = regex.find_start(content, line.start.max(from)..line.end) {
            return Some(start);
        }
        *n_false += 1;
        from = line.next;
    }
    regex.find_start(content, from..content.len())
}

/// A matching line.
struct Hit {
    number: usize,
    line: Line,
    /// Position of its first match in the file.
    first_match: usize,
}

impl Hit {
    /// Returns the hit of a match. Each match must be behind the one before.
    fn around(content: &[u8], start: usize, counter: &mut lines::Counter<'_>) -> Option<Self> {
        let line = Line::around(content, start)?;
        Some(Self { number: counter.number_at(line.start), line, first_match: start })
    }
}

/// Truncates a result to its first `max_matches` matches and their context.
pub(crate) fn truncate_matches(lines: &mut Vec<LineMatch>, max_matches: usize, context_lines: usize) {
    if max_matches == 0 {
        lines.clear();
        return;
    }
    let Some((last, _)) = lines.iter().enumerate().filter(|(_, line)| line.is_match).nth(max_matches - 1) else {
        return;
    };
    let last_line = lines[last].line;
    let context = lines[last + 1..]
        .iter()
        .take_while(|line| !line.is_match && line.line <= last_line.saturating_add(context_lines))
        .count();
    lines.truncate(last + 1 + context);
}

fn with_context(content: &[u8], hits: &[Hit], limits: SearchLimits) -> Vec<LineMatch> {
    let mut found: Vec<LineMatch> = Vec::new();
    for (index, hit) in hits.iter().enumerate() {
        // The context before a match starts after the last listed line, so that no line is listed twice.
        let listed = found.last().map_or(0, |line| line.line);
        let before = limits.context_lines.min(hit.number - 1 - listed);
        for (distance, line) in lines::before(content, hit.line.start, before).into_iter().enumerate() {
            found.push(context_line(content, hit.number - before + distance, line, limits));
        }
        found.push(LineMatch {
            line: hit.number,
            text: excerpt(hit.line.text(content), hit.first_match - hit.line.start, limits.max_line_bytes),
            is_match: true,
        });
        let next = hits.get(index + 1).map_or(usize::MAX, |next| next.number);
        let after = limits.context_lines.min(next - 1 - hit.number);
        for (distance, line) in lines::after(content, hit.line.next).take(after).enumerate() {
            found.push(context_line(content, hit.number + 1 + distance, line, limits));
        }
    }
    found
}

fn context_line(content: &[u8], number: usize, line: Line, limits: SearchLimits) -> LineMatch {
    LineMatch { line: number, text: excerpt(line.text(content), 0, limits.max_line_bytes), is_match: false }
}

/// Returns at most `max` bytes of `line`, with those at `at` if they fit. Never splits a character.
fn excerpt(line: &[u8], at: usize, max: usize) -> String {
    if line.len() <= max {
        return String::from_utf8_lossy(line).into_owned();
    }
    // A quarter of the limit is for text before the match.
    let start = at.saturating_sub(max / 4).min(line.len() - max);
    let start = (start..line.len()).take(CHAR_BYTES_MAX).find(|&index| is_boundary(line, index)).unwrap_or(start);
    let end = start.saturating_add(max).min(line.len());
    let end = (start..=end).rev().take(CHAR_BYTES_MAX).find(|&index| is_boundary(line, index)).unwrap_or(end);
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{}{after}", String::from_utf8_lossy(&line[start..end]))
}

/// Maximum bytes of a UTF-8 character.
const CHAR_BYTES_MAX: usize = 4;

fn is_boundary(line: &[u8], index: usize) -> bool {
    line.get(index).is_none_or(|&byte| byte & 0b1100_0000 != 0b1000_0000)
}

#[cfg(test)]
mod tests;

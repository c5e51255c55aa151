//! The one matcher behind grep on every host: same pattern, same lines, in memory and on disk.
//!
//! A pattern is matched against one line at a time; a line ends at LF, CRLF or CR, as in `emend_edit::text`. Walking
//! a tree belongs to the environments; this file decides which lines of one file match.
//!
//! Searching is linear in the file. The whole file is one haystack, so that literal prefilters run at full speed, and
//! the pattern is rewritten beforehand so that no match can reach past the line it starts in.

pub(crate) mod engine;
pub mod glob;
mod lines;
mod literal;
mod pattern;
mod unicode;

use serde::Serialize;

use engine::Regex;
use lines::Line;
use literal::Required;

/// A file whose first bytes, this many, hold a NUL is binary.
pub const BINARY_PROBE_BYTES: usize = 8 * 1024;

/// A compiled grep pattern.
#[derive(Clone, Debug)]
pub struct Matcher {
    pattern: String,
    case_insensitive: bool,
    regex: Regex,
    /// What is looked for before the engine is asked.
    required: Option<Required>,
}

/// How many lines of a file may hold the required text without a match: after so many the engine is faster alone.
const FALSE_LINES_MAX: usize = 16;

/// A pattern that does not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern is not a valid regular expression: {reason}")]
pub struct PatternError {
    /// What the regex compiler said.
    pub reason: String,
}

/// One line of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineMatch {
    /// 1-based line number.
    pub line: usize,
    /// The line without its ending; invalid UTF-8 is replaced.
    pub text: String,
    /// Whether the line matches; `false` for a line of context.
    pub is_match: bool,
}

/// The matching lines of one file, with context, in line order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileMatches {
    /// The file.
    pub path: crate::environment::FilePath,
    /// Its lines.
    pub lines: Vec<LineMatch>,
}

/// How much of one file [`Matcher::search`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Stop after so many matching lines.
    pub max_matches: usize,
    /// Lines of context before and after each match.
    pub context_lines: usize,
    /// Bytes of a line's text; of a longer line the part around the match is shown, `…` where something was cut.
    pub max_line_bytes: usize,
}

impl SearchLimits {
    /// What a line's text may take when nobody says otherwise.
    pub const MAX_LINE_BYTES: usize = 1_000;

    /// Returns what `query` asks of its first file; of later ones it asks for fewer matches.
    #[must_use]
    pub fn of(query: &crate::environment::GrepQuery) -> Self {
        Self {
            max_matches: query.max_results,
            context_lines: query.context_lines,
            max_line_bytes: Self::MAX_LINE_BYTES,
        }
    }
}

/// Returns whether `content` looks binary: a NUL in its first 8 KiB.
#[must_use]
pub fn is_binary(content: &[u8]) -> bool {
    memchr::memchr(0, &content[..content.len().min(BINARY_PROBE_BYTES)]).is_some()
}

impl Matcher {
    /// Compiles `pattern`, a regular expression in the syntax of the `regex` crate.
    ///
    /// It is matched against one line at a time: `^`, `\A` match at a line's start, `$`, `\z` at its end, and nothing
    /// matches a line ending.
    ///
    /// # Errors
    ///
    /// [`PatternError`] if it does not compile, or if it can match nothing within one line (`a\nb`).
    pub fn new(pattern: &str, case_insensitive: bool) -> Result<Self, PatternError> {
        let hir = pattern::within_lines(pattern, case_insensitive)?;
        let regex = Regex::new(&hir).map_err(|error| PatternError { reason: error.to_string() })?;
        let required = if cfg!(any(test, target_family = "wasm")) { Required::of(&hir) } else { None };
        Ok(Self { pattern: pattern.to_owned(), case_insensitive, regex, required })
    }

    /// Returns the pattern as it was given.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns whether it ignores case.
    #[must_use]
    pub fn is_case_insensitive(&self) -> bool {
        self.case_insensitive
    }

    /// Returns the lines of `content` that match, with context, in line order; nothing if `content` is binary.
    #[must_use]
    pub fn search(&self, content: &[u8], limits: SearchLimits) -> Vec<LineMatch> {
        // One more than asked for: context after the last match ends where the next match would begin.
        let hits = self.hits(content, limits.max_matches.saturating_add(1));
        if hits.is_empty() {
            return Vec::new();
        }
        let mut found = with_context(content, &hits, limits);
        truncate(&mut found, limits.max_matches, limits.context_lines);
        found
    }

    /// Returns the first `max` lines that match, none if `content` is binary.
    fn hits(&self, content: &[u8], max: usize) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        let mut counter = lines::Counter::new(content);
        let (mut from, mut n_false) = (0, 0);
        while hits.len() < max && from < content.len() {
            let Some(start) = self.find(content, from, &mut n_false) else { break };
            // Asked only here: most files hold no match and are never looked at twice.
            if hits.is_empty() && is_binary(content) {
                break;
            }
            if lines::is_inside_crlf(content, start) {
                // Only a pattern that may match nothing lands here; the line before had its chance.
                from = start + 1;
                continue;
            }
            let Some(line) = Line::around(content, start) else { break };
            hits.push(Hit { number: counter.number_at(line.start), line, first_match: start });
            from = line.next;
        }
        hits
    }

    /// Returns where the first match at or behind `from`, the start of a line, starts. `n_false` counts the lines of
    /// this file that held the required text for nothing.
    fn find(&self, content: &[u8], mut from: usize, n_false: &mut usize) -> Option<usize> {
        let Some(required) = &self.required else { return self.regex.find_start(content, from..content.len()) };
        while *n_false < FALSE_LINES_MAX {
            let at = required.find(content, from)?;
            if required.is_whole {
                return Some(at);
            }
            let line = Line::around(content, at)?;
            if let Some(start) = self.regex.find_start(content, line.start.max(from)..line.end) {
                return Some(start);
            }
            *n_false += 1;
            from = line.next;
        }
        self.regex.find_start(content, from..content.len())
    }
}

/// A line that matches.
struct Hit {
    number: usize,
    line: Line,
    /// Where in the file its first match starts.
    first_match: usize,
}

impl FileMatches {
    /// Cuts the result to its first `max_matches` matches, as if [`Matcher::search`] had been asked for no more.
    pub fn truncate(&mut self, max_matches: usize, context_lines: usize) {
        truncate(&mut self.lines, max_matches, context_lines);
    }

    /// Returns how many lines match.
    #[must_use]
    pub fn match_count(&self) -> usize {
        self.lines.iter().filter(|line| line.is_match).count()
    }
}

fn truncate(lines: &mut Vec<LineMatch>, max_matches: usize, context_lines: usize) {
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
        // No line is listed twice: context before starts after what is listed already.
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

/// Returns at most `max` bytes of `line`, among them, if there is room, those at `at`; never splits a character.
fn excerpt(line: &[u8], at: usize, max: usize) -> String {
    if line.len() <= max {
        return String::from_utf8_lossy(line).into_owned();
    }
    // A quarter of the room shows what stands before the match.
    let start = at.saturating_sub(max / 4).min(line.len() - max);
    let start = (start..line.len()).take(CHAR_BYTES_MAX).find(|&index| is_boundary(line, index)).unwrap_or(start);
    let end = start.saturating_add(max).min(line.len());
    let end = (start..=end).rev().take(CHAR_BYTES_MAX).find(|&index| is_boundary(line, index)).unwrap_or(end);
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{}{after}", String::from_utf8_lossy(&line[start..end]))
}

/// How far apart two characters of valid UTF-8 can start.
const CHAR_BYTES_MAX: usize = 4;

fn is_boundary(line: &[u8], index: usize) -> bool {
    line.get(index).is_none_or(|&byte| byte & 0b1100_0000 != 0b1000_0000)
}

#[cfg(test)]
mod tests;

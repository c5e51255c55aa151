//! Parses unified diffs: plain ones and git's, of one file or several.
//!
//! A strict diff is parsed by its counts. In located mode the counts are ignored, and a hunk continues as long as its
//! lines look like those of a hunk. A line that is not understood is an error and never skipped.

use crate::diff::LineKind;
use crate::patch::change::{Change, FileEdit, Patch};
use crate::patch::model::{Diagnostic, HunkLines};
use crate::patch::unified::model::{DiffMode, FileKind, UnifiedEdit, UnifiedHunk};
use crate::patch::unified::parse_error::UnifiedParseError;

/// Parses a diff whose headers name its files. Also returns notes about mistakes that were accepted.
///
/// # Errors
/// Fails if the text is not a diff, or if it contains anything that cannot be applied.
pub fn parse(text: &str, mode: DiffMode) -> Result<(Patch, Vec<Diagnostic>), UnifiedParseError> {
    let (files, diagnostics) = Reader::new(text, mode).read()?;
    let mut patch = Patch::default();
    for file in files {
        patch.edits.push(file.into_edit(mode)?);
    }
    Ok((patch, diagnostics))
}

/// Parses a diff for the one file at `path`. File names in its headers are ignored, and headers are optional.
///
/// # Errors
/// Fails as [`parse`] does, and if the diff is for several files.
pub fn parse_for(path: &str, text: &str, mode: DiffMode) -> Result<(Patch, Vec<Diagnostic>), UnifiedParseError> {
    let (files, diagnostics) = Reader::new(text, mode).read()?;
    let mut names: Vec<&Option<String>> = files.iter().map(|file| file.name()).collect();
    names.dedup();
    if names.len() > 1 {
        return Err(UnifiedParseError::SeveralFiles { path: path.to_owned(), n_files: names.len() });
    }
    let kind = files.first().map_or(FileKind::Update, File::kind);
    let executable = files.iter().rev().find_map(|file| file.executable);
    let hunks = files.into_iter().flat_map(|file| file.hunks).collect();
    let edit = UnifiedEdit { mode, kind, rename_to: None, executable, hunks };
    Ok((Patch::of(path, Change::Unified(edit)), diagnostics))
}

/// One file as its headers describe it.
#[derive(Debug, Default)]
struct File {
    line: usize,
    /// The names after `---` and `+++`. The inner `None` is `/dev/null`.
    old: Option<Option<String>>,
    new: Option<Option<String>>,
    /// Whether `diff --git` names `b/` first.
    has_swapped_header: bool,
    /// The name that `diff --git` gives on both sides, for changes without hunks.
    git_name: Option<String>,
    is_new: bool,
    is_deleted: bool,
    executable: Option<bool>,
    rename_from: Option<String>,
    rename_to: Option<String>,
    hunks: Vec<UnifiedHunk>,
}

impl File {
    fn kind(&self) -> FileKind {
        match () {
            () if self.is_new || self.old == Some(None) => FileKind::Create,
            () if self.is_deleted || self.new == Some(None) => FileKind::Delete,
            () => FileKind::Update,
        }
    }

    fn name(&self) -> &Option<String> {
        match (&self.new, &self.old) {
            (Some(Some(_)), _) => self.new.as_ref().unwrap_or(&None),
            (_, Some(old)) => old,
            _ => &self.git_name,
        }
    }

    /// Returns whether the diff was made by `git diff -R`: the header of git says so, or both names do.
    fn is_swapped(&self) -> bool {
        let (old, new) = (self.old.as_ref().and_then(Option::as_deref), self.new.as_ref().and_then(Option::as_deref));
        let names = || Some(old?.strip_prefix("b/")? == new?.strip_prefix("a/")?);
        self.has_swapped_header || names() == Some(true)
    }

    fn into_edit(self, mode: DiffMode) -> Result<FileEdit, UnifiedParseError> {
        let kind = self.kind();
        let strip = |name: &str, prefix: &str| name.strip_prefix(prefix).unwrap_or(name).to_owned();
        // The prefixes `a/` and `b/` are git's only if every side with a name has its prefix. `git diff -R` swaps them.
        let prefixed = |name: &Option<Option<String>>, prefix: &str| {
            name.as_ref().is_none_or(|name| name.as_ref().is_none_or(|name| name.starts_with(prefix)))
        };
        let (a, b) = if self.is_swapped() { ("b/", "a/") } else { ("a/", "b/") };
        let is_git = prefixed(&self.old, a) && prefixed(&self.new, b);
        let side = |name: &Option<Option<String>>, prefix: &str| {
            name.clone().flatten().map(|name| if is_git { strip(&name, prefix) } else { name })
        };
        let (old, new) = (side(&self.old, a), side(&self.new, b));
        let (from, to) = match (self.rename_from, self.rename_to) {
            (Some(from), Some(to)) => (Some(from), Some(to)),
            _ => (old.or_else(|| self.git_name.clone()), new.or(self.git_name)),
        };
        let path = match kind {
            FileKind::Create => to.clone().or(from),
            _ => from.or_else(|| to.clone()),
        };
        let path = path.ok_or(UnifiedParseError::NoFile { line: self.line })?;
        let rename_to = to.filter(|to| kind == FileKind::Update && *to != path);
        let Self { executable, hunks, .. } = self;
        Ok(FileEdit { path, change: Change::Unified(UnifiedEdit { mode, kind, rename_to, executable, hunks }) })
    }
}

struct Reader<'a> {
    mode: DiffMode,
    text: &'a str,
    /// Offset of the next line, and its number from 0.
    next: usize,
    at: usize,
    files: Vec<File>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, mode: DiffMode) -> Self {
        Self { mode, text, next: 0, at: 0, files: Vec::new(), diagnostics: Vec::new() }
    }

    fn read(mut self) -> Result<(Vec<File>, Vec<Diagnostic>), UnifiedParseError> {
        let mut fence: Option<&str> = None;
        while let Some(whole) = first_line(&self.text[self.next..]) {
            let line = whole.trim_end();
            if line.starts_with("@@") {
                self.hunk(whole)?;
                continue;
            }
            if is_commit(line) || (is_signature(whole) && !self.files.is_empty()) {
                self.skip_prose();
                continue;
            }
            let opens = self.files.is_empty() && fence.is_none() && line.starts_with("```");
            if opens || fence == Some(line) {
                fence = opens.then(|| &line[..line.len() - line.trim_start_matches('`').len()]);
                if opens {
                    let message = "send the diff without a Markdown code fence around it".to_owned();
                    self.diagnostics.push(Diagnostic { code: "fenced", message, line: Some(self.at + 1) });
                }
            } else if !line.is_empty() && !self.header(line)? {
                return Err(UnifiedParseError::UnexpectedLine {
                    line: self.at + 1,
                    text: line.chars().take(80).collect(),
                });
            }
            self.advance(whole);
        }
        let is_empty = |file: &File| {
            let says_more = file.rename_to.is_some() || file.executable.is_some();
            file.hunks.is_empty() && file.kind() == FileKind::Update && !says_more
        };
        if self.files.is_empty() || self.files.iter().all(is_empty) {
            return Err(UnifiedParseError::NoDiff);
        }
        Ok((self.files, self.diagnostics))
    }

    /// Skips the text around the diff of a commit: author, date, message and statistics before it, the signature of a
    /// mail after it.
    fn skip_prose(&mut self) {
        while let Some(line) = first_line(&self.text[self.next..]) {
            self.advance(line);
            let rest = &self.text[self.next..];
            if rest.starts_with("diff --git ") || first_line(rest).is_some_and(is_commit) {
                return;
            }
        }
    }

    /// Parses one line of a file header. Returns false if the line is not one.
    fn header(&mut self, line: &'a str) -> Result<bool, UnifiedParseError> {
        let number = self.at + 1;
        if let Some(names) = line.strip_prefix("diff --git ") {
            let has_swapped_header = names.trim_start_matches('"').starts_with("b/");
            self.files.push(File { line: number, git_name: git_name(names), has_swapped_header, ..File::default() });
            return Ok(true);
        }
        if let Some(name) = line.strip_prefix("--- ") {
            // Without `diff --git` this line starts a file.
            if self.files.last().is_none_or(|file| file.old.is_some() || !file.hunks.is_empty()) {
                self.files.push(File { line: number, ..File::default() });
            }
            self.file().old = Some(header_name(name));
            return Ok(true);
        }
        if let Some(name) = line.strip_prefix("+++ ") {
            self.file().new = Some(header_name(name));
            return Ok(true);
        }
        if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
            return Err(UnifiedParseError::Binary { line: number });
        }
        if line.starts_with("copy from ") || line.starts_with("copy to ") {
            return Err(UnifiedParseError::Copy { line: number });
        }
        if let Some(name) = line.strip_prefix("rename from ") {
            self.file().rename_from = Some(unquote(name));
        } else if let Some(name) = line.strip_prefix("rename to ") {
            self.file().rename_to = Some(unquote(name));
        } else if let Some(mode) = line.strip_prefix("new file mode ") {
            // A new file is not executable unless the diff states it.
            let executable = executable(mode, number)?.filter(|executable| *executable);
            let file = self.file();
            (file.is_new, file.executable) = (true, executable);
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            self.file().executable = executable(mode, number)?;
        } else if line.starts_with("deleted file mode ") {
            self.file().is_deleted = true;
        } else {
            let ignored = ["index ", "old mode ", "similarity index ", "dissimilarity index ", "Index: ", "====="];
            return Ok(ignored.iter().any(|prefix| line.starts_with(prefix)));
        }
        Ok(true)
    }

    fn file(&mut self) -> &mut File {
        if self.files.is_empty() {
            self.files.push(File { line: self.at + 1, ..File::default() });
        }
        let last = self.files.len() - 1;
        &mut self.files[last]
    }

    fn hunk(&mut self, whole: &str) -> Result<(), UnifiedParseError> {
        let header_line = self.at + 1;
        let header = whole.trim_end();
        let ranges = ranges(header);
        if ranges.is_none() && self.mode == DiffMode::Strict {
            return Err(UnifiedParseError::BadHunk { line: header_line, text: header.to_owned() });
        }
        self.file();
        self.advance(whole);
        let (lines, n_old, n_new) = self.body(ranges);
        if lines.is_empty() {
            return Err(UnifiedParseError::BadHunk { line: header_line, text: header.to_owned() });
        }
        if let Some(stated) = ranges {
            let sides = [("old", stated.n_old, n_old), ("new", stated.n_new, n_new)];
            for (side, stated, found) in sides.into_iter().filter(|(_, stated, found)| stated != found) {
                if self.mode == DiffMode::Strict {
                    return Err(UnifiedParseError::WrongCount { line: header_line, side, stated, found });
                }
                let message = format!("the hunk states {stated} {side} lines but has {found}");
                self.diagnostics.push(Diagnostic { code: "wrong_count", message, line: Some(header_line) });
            }
        }
        let old_start = ranges.map(|ranges| ranges.old_start);
        self.file().hunks.push(UnifiedHunk { old_start, lines, patch_line: header_line });
        Ok(())
    }

    /// Parses the lines of a hunk. Returns them and the number of old and new ones.
    fn body(&mut self, stated: Option<Ranges>) -> (HunkLines, usize, usize) {
        // Room for a short hunk. A hunk that states many lines may not have them.
        const ROOM_LINES: usize = 16;
        let (mut n_old, mut n_new) = (0, 0);
        let mut lines: Vec<(LineKind, usize, usize)> = Vec::with_capacity(ROOM_LINES);
        let begin = self.next;
        while let Some(line) = first_line(&self.text[self.next..]) {
            let marker = line.as_bytes().first();
            if marker == Some(&b'\\') {
                if let Some((_, start, end)) = lines.last_mut()
                    && self.text[begin + *start..begin + *end].ends_with('\n')
                {
                    *end -= 1;
                }
                self.advance(line);
                continue;
            }
            let within = stated.is_some_and(|stated| n_old < stated.n_old || n_new < stated.n_new);
            if !within && (self.mode == DiffMode::Strict || self.starts_header()) {
                break;
            }
            let kind = match marker {
                Some(b' ' | b'\n' | b'\r') => LineKind::Context,
                Some(b'-') => LineKind::Removed,
                Some(b'+') => LineKind::Added,
                _ => break,
            };
            let start = self.next - begin;
            let has_marker = !matches!(marker, Some(b'\n' | b'\r'));
            // The last line of the diff may lack its own line ending. Only the marker below it states that the file
            // lacks it.
            let end = start + line.len() + usize::from(!line.ends_with('\n'));
            lines.push((kind, start + usize::from(has_marker), end));
            n_old += usize::from(kind != LineKind::Added);
            n_new += usize::from(kind != LineKind::Removed);
            self.advance(line);
        }
        let text = &self.text[begin..self.next];
        let text = if text.ends_with('\n') { text.to_owned() } else { [text, "\n"].concat() };
        (HunkLines::within(text, lines), n_old, n_new)
    }

    /// Moves on to the line after `line`, which is the next one.
    fn advance(&mut self, line: &str) {
        self.next += line.len();
        self.at += 1;
    }

    /// Returns whether the next lines start a hunk or a file, although they may look like lines of a hunk.
    fn starts_header(&self) -> bool {
        let rest = &self.text[self.next..];
        let after = |rest: &'a str| &rest[first_line(rest).map_or(0, str::len)..];
        let starts_file = || {
            let second = after(rest);
            second.starts_with("+++ ") && after(second).starts_with("@@")
        };
        let ends_mail = || {
            is_signature(first_line(rest).unwrap_or_default())
                && after(rest).starts_with(|char: char| char.is_ascii_digit())
        };
        rest.starts_with("@@")
            || ends_mail()
            || first_line(rest).is_some_and(is_commit)
            || rest.starts_with("diff --git ")
            || (rest.starts_with("--- ") && starts_file())
    }
}

/// Returns whether a line starts a commit: `From HASH DATE` of `git format-patch`, `commit HASH` of `git show`.
fn is_commit(line: &str) -> bool {
    let hash = line.strip_prefix("From ").or_else(|| line.strip_prefix("commit "));
    let hash = hash.and_then(|rest| rest.split_ascii_whitespace().next()).unwrap_or_default();
    matches!(hash.len(), 40 | 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a line starts the signature of a mail.
fn is_signature(line: &str) -> bool {
    line.trim_end_matches(['\r', '\n']) == "-- "
}

/// Returns the first line of `text` with its line ending, or `None` at the end.
fn first_line(text: &str) -> Option<&str> {
    let end = memchr::memchr(b'\n', text.as_bytes()).map_or(text.len(), |at| at + 1);
    (end > 0).then(|| &text[..end])
}

/// Parses the mode of a regular file as git writes it: `100644`, or `100755` for an executable one.
fn executable(mode: &str, line: usize) -> Result<Option<bool>, UnifiedParseError> {
    match mode.trim().strip_prefix("100").map(|bits| u32::from_str_radix(bits, 8)) {
        Some(Ok(bits)) => Ok(Some(bits & 0o100 != 0)),
        _ => Err(UnifiedParseError::FileMode { line, mode: mode.trim().to_owned() }),
    }
}

#[derive(Clone, Copy)]
struct Ranges {
    old_start: usize,
    n_old: usize,
    n_new: usize,
}

/// Parses `@@ -start,count +start,count @@`. A count of 1 may be omitted.
fn ranges(header: &str) -> Option<Ranges> {
    let (old_start, n_old, rest) = range(header.strip_prefix("@@ -")?)?;
    let (_, n_new, rest) = range(rest.strip_prefix('+')?)?;
    rest.starts_with("@@").then_some(Ranges { old_start, n_old, n_new })
}

/// Parses `start,count` or `start` and the whitespace after it, which must not be empty. Also returns the rest.
fn range(text: &str) -> Option<(usize, usize, &str)> {
    let (start, rest) = number(text)?;
    let (count, rest) = rest.strip_prefix(',').map_or(Some((1, rest)), number)?;
    let after = rest.trim_start();
    (after.len() < rest.len()).then_some((start, count, after))
}

fn number(text: &str) -> Option<(usize, &str)> {
    let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(n_digits);
    Some((digits.parse().ok()?, rest))
}

/// Returns the name after `---` or `+++` without a timestamp; `None` for `/dev/null`.
fn header_name(text: &str) -> Option<String> {
    let name = unquote(text.split('\t').next().unwrap_or(text).trim_end());
    (name != "/dev/null").then_some(name)
}

/// Returns the name in `a/name b/name`, or in `b/name a/name`, if both are equal.
fn git_name(names: &str) -> Option<String> {
    if let Some(rest) = names.strip_prefix('"') {
        let end = rest.find("\" ")? + 1;
        let name = unquote(&names[..=end]);
        return name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).map(str::to_owned);
    }
    let middle = names.len() / 2;
    let (old, new) = (names.get(..middle)?, names.get(middle..)?.strip_prefix(' ')?);
    let pair = |a: &str, b: &str| old.strip_prefix(a).filter(|name| new.strip_prefix(b) == Some(*name));
    pair("a/", "b/").or_else(|| pair("b/", "a/")).map(str::to_owned)
}

/// Decodes a name that git quoted: `"a\303\251\t"`. Returns a name unchanged if it has no quotes or is not UTF-8
/// inside.
fn unquote(name: &str) -> String {
    let Some(quoted) = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(digit @ b'0'..=b'7') => {
                let digits = [Some(digit), rest.next(), rest.next()];
                let value = digits.into_iter().flatten().fold(0u32, |value, digit| value * 8 + u32::from(digit & 7));
                bytes.push(u8::try_from(value & 255).unwrap_or_default());
            }
            Some(other) => bytes.push(other),
            None => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| name.to_owned())
}

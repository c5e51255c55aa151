//! `search_project`: a ranked search for literal words in the paths and the contents of the project's files.

use std::cmp::Reverse;

use emend_edit::size::compact_sort::sort_by;
use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::bm25::Corpus;
use super::limits::ProjectToolLimits;
use crate::environment::{DirEntry, FileMatches, FilePath};
use crate::error_code::Code;
use crate::search::glob::GlobPattern;
use crate::search::{LineMatch, Matcher, escape};
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::tools::arguments::{number_argument, schema, text_argument};
use crate::workspace::Workspace;

/// Lines shown before and after a line that matches.
const CONTEXT_LINES: usize = 2;

/// The most matching lines that are ranked. Lines beyond them come last by path.
const MATCHES_MAX: usize = 20_000;

/// The most different words of a query: each is counted in each line that has one of them.
const WORDS_MAX: usize = 64;

/// Lines shown of a file of which only the path matches.
const HEAD_LINES: usize = 5;

/// Searches paths and contents.
pub(super) struct SearchProject(pub(super) ProjectToolLimits);

impl Tool for SearchProject {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "search_project".to_owned(),
            description:
                "Searches the paths and the text of the project's files for words, best results first: the exact \
                          phrase, then the files in which the words are frequent and in few other files. The words are \
                          literal. Case matters only if the query has an upper-case letter. Skips binary files, hidden \
                          files and files that `.gitignore` excludes."
                    .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["query"],
                "additionalProperties": false,
                "properties": {
                    "query": {"type": "string", "minLength": 1, "description": "Words, separated by spaces."},
                    "glob": {"type": "string", "description": "Only files whose path or name matches, e.g. `*.md` or `notes/**/*.md`."},
                    "limit": {"type": "integer", "minimum": 1, "description": "Most results."}
                }
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Reads
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// The tool limits the number of results, their lines, and the length of each line.
    fn output_limits(&self) -> OutputLimits {
        let lines_max = self.0.max_search_results_cap.saturating_mul(self.0.max_search_snippet_lines + 2);
        OutputLimits { chars_max: lines_max.saturating_mul(1_100), mode: Mode::HeadTail, lines_max: None }
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let query = text_argument(arguments, "query");
            let limit = number_argument(arguments, "limit");
            let glob = arguments.get("glob").and_then(Value::as_str);
            search(&context.workspace, self.0, query, glob, limit).await
        })
    }
}

/// Searches the project, for the model and for the user.
pub(crate) async fn search(
    workspace: &Workspace,
    limits: ProjectToolLimits,
    query: &str,
    glob: Option<&str>,
    limit: Option<usize>,
) -> Result<ToolOutput, ToolError> {
    let query = Query::new(query)?;
    let limit = limit.unwrap_or(limits.max_search_results_default).min(limits.max_search_results_cap);
    let lines_max = limits.max_search_snippet_lines.max(1);
    let matcher = query.matcher().await?;
    let found = workspace.grep(matcher, ".", glob, CONTEXT_LINES, MATCHES_MAX).await?;
    let files = files(workspace, glob).await?;
    let mut results = ranked(&query, found, &files, lines_max);
    sort_by(&mut results, |a, b| b.rank.cmp(&a.rank).then_with(|| a.place().cmp(&b.place())));
    let n_more = results.len().saturating_sub(limit);
    results.truncate(limit);
    for result in results.iter_mut().filter(|result| result.lines.is_empty()) {
        result.lines = head_of(workspace, &result.path, lines_max.min(HEAD_LINES)).await;
    }
    Ok(output(&results, n_more))
}

/// The words of a query.
struct Query {
    phrase: String,
    words: Vec<String>,
    ignores_case: bool,
}

/// The rank of a result; the larger the better, the first field that differs decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    has_phrase: bool,
    /// Number of better results of the same file, negated: one file does not fill the list.
    after_others: Reverse<usize>,
    /// Weight of the file.
    weight: u64,
}

/// A part of a file that may become a result.
struct Candidate {
    path: FilePath,
    rank: Rank,
    /// Consecutive lines; empty until the file is read if only the path matches.
    lines: Vec<LineMatch>,
}

impl Candidate {
    fn place(&self) -> (&FilePath, usize) {
        (&self.path, self.lines.first().map_or(0, |line| line.line))
    }
}

impl Query {
    fn new(query: &str) -> Result<Self, ToolError> {
        let ignores_case = !query.chars().any(char::is_uppercase);
        let mut words: Vec<String> = Vec::new();
        for word in query.split_whitespace() {
            if !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        }
        if words.is_empty() {
            return Err(ToolError::new(Code::InvalidArgument, "The query has no words. Give at least one."));
        }
        if words.len() > WORDS_MAX {
            let message = format!("The query has {} words; at most {WORDS_MAX} are allowed.", words.len());
            return Err(ToolError::new(Code::InvalidArgument, message));
        }
        Ok(Self { phrase: query.split_whitespace().collect::<Vec<_>>().join(" "), words, ignores_case })
    }

    /// Returns a matcher of lines with at least one of the words.
    async fn matcher(&self) -> Result<Matcher, ToolError> {
        let words: Vec<String> = self.words.iter().map(|word| escape(word)).collect();
        Ok(Matcher::load(&words.join("|"), self.ignores_case).await?)
    }

    /// Returns `text` in the case in which the words are compared.
    fn folded(&self, text: &str) -> String {
        if self.ignores_case { text.to_lowercase() } else { text.to_owned() }
    }

    /// Returns for each word how often the folded texts contain it.
    fn counts_in(&self, texts: &[String]) -> Vec<usize> {
        let count = |word: &String| texts.iter().map(|text| text.matches(word.as_str()).count()).sum();
        self.words.iter().map(count).collect()
    }

    fn has_phrase(&self, texts: &[String]) -> bool {
        texts.iter().any(|text| text.contains(&self.phrase))
    }
}

/// A file with a match in its text or in its path, which counts as one more line of it.
struct Document {
    path: FilePath,
    length: u64,
    counts: Vec<usize>,
    /// A file of which only the path matches has one part, without lines.
    parts: Vec<Part>,
}

struct Part {
    has_phrase: bool,
    counts: Vec<usize>,
    lines: Vec<LineMatch>,
}

/// Returns the files of the project that `glob` matches, with their sizes, in order.
pub(crate) async fn files(workspace: &Workspace, glob: Option<&str>) -> Result<Vec<DirEntry>, ToolError> {
    let glob = glob.map(GlobPattern::new).transpose();
    let glob = glob.map_err(|error| ToolError::new(error.code(), error.to_string()))?;
    let mut files = workspace.glob(".", "**").await?;
    files.retain(|file| glob.as_ref().is_none_or(|glob| glob.is_match_or_name(file.path.as_str())));
    Ok(files)
}

/// Returns all results with their ranks.
fn ranked(query: &Query, found: Vec<FileMatches>, files: &[DirEntry], lines_max: usize) -> Vec<Candidate> {
    let mut documents: Vec<Document> = Vec::new();
    for file in files {
        if found.binary_search_by(|found| found.path.cmp(&file.path)).is_err() {
            let path = FileMatches { path: file.path.clone(), lines: Vec::new() };
            let document = document(query, path, file.metadata.size, lines_max);
            // Most files have no match, and a project can have many.
            if document.counts.iter().any(|&count| count > 0) {
                documents.push(document);
            }
        }
    }
    for matches in found {
        let at = files.binary_search_by(|file| file.path.cmp(&matches.path));
        // A file that is not listed any more was deleted a moment ago.
        let length = at.map_or(0, |at| files[at].metadata.size);
        documents.push(document(query, matches, length, lines_max));
    }
    let n_files_with: Vec<usize> = (0..query.words.len())
        .map(|word| documents.iter().filter(|document| document.counts[word] > 0).count())
        .collect();
    let total_length = files.iter().map(|file| file.metadata.size).sum();
    let corpus = Corpus::new(files.len(), total_length, &n_files_with);
    documents.into_iter().flat_map(|document| candidates(&corpus, document)).collect()
}

/// Cuts the matching lines of a file into parts and counts the words in them.
fn document(query: &Query, file: FileMatches, length: u64, lines_max: usize) -> Document {
    let path = [query.folded(file.path.as_str())];
    let phrase_in_path = query.has_phrase(&path);
    let mut counts = query.counts_in(&path);
    let mut parts = Vec::new();
    for lines in snippets(&file.lines, lines_max) {
        let lines = &file.lines[lines];
        let folded: Vec<String> = lines.iter().map(|line| query.folded(&line.text)).collect();
        let part = Part {
            has_phrase: phrase_in_path || query.has_phrase(&folded),
            counts: query.counts_in(&folded),
            lines: lines.to_vec(),
        };
        counts.iter_mut().zip(&part.counts).for_each(|(sum, count)| *sum += count);
        parts.push(part);
    }
    if parts.is_empty() {
        parts.push(Part { has_phrase: phrase_in_path, counts: counts.clone(), lines: Vec::new() });
    }
    Document { path: file.path, length, counts, parts }
}

/// Ranks the parts of a file.
fn candidates(corpus: &Corpus, document: Document) -> Vec<Candidate> {
    let Document { path, length, counts, mut parts } = document;
    let rank = |part: &Part| (part.has_phrase, corpus.weight_of_part(&part.counts));
    // The sort is stable, so equal parts stay in the order of their lines.
    sort_by(&mut parts, |a, b| rank(b).cmp(&rank(a)));
    let weight = corpus.weight(&counts, length);
    let candidate = |(n_better, part): (usize, Part)| {
        let rank = Rank { has_phrase: part.has_phrase, after_others: Reverse(n_better), weight };
        Candidate { path: path.clone(), rank, lines: part.lines }
    };
    parts.into_iter().enumerate().map(candidate).collect()
}

/// Returns ranges of consecutive lines, each with a match and at most `lines_max` lines.
fn snippets(lines: &[LineMatch], lines_max: usize) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    let mut start = 0;
    for end in 1..=lines.len() {
        let goes_on = end < lines.len() && lines[end].line == lines[end - 1].line + 1;
        if goes_on && end - start < lines_max {
            continue;
        }
        if lines[start..end].iter().any(|line| line.is_match) {
            ranges.push(start..end);
        }
        start = end;
    }
    ranges
}

/// Returns the first lines of a file; none of a file that is not text.
async fn head_of(workspace: &Workspace, path: &FilePath, n_lines: usize) -> Vec<LineMatch> {
    let text = workspace.text(path.as_str()).await.ok().flatten().unwrap_or_default();
    let lines = emend_edit::text::lines(&text).take(n_lines).enumerate();
    let shown = |line: &str| -> String {
        emend_edit::text::split_eol(line).0.chars().take(crate::search::SearchLimits::MAX_LINE_BYTES).collect()
    };
    lines.map(|(index, line)| LineMatch { line: index + 1, text: shown(line), is_match: false }).collect()
}

/// Writes the results for the model and as data.
fn output(results: &[Candidate], n_more: usize) -> ToolOutput {
    let (mut text, mut data) = (Vec::new(), Vec::new());
    for result in results {
        let start_line = result.lines.first().map_or(1, |line| line.line);
        let end_line = result.lines.last().map_or(0, |line| line.line);
        let snippet: Vec<&str> = result.lines.iter().map(|line| line.text.as_str()).collect();
        let width = end_line.to_string().len();
        text.push(format!("[{} | lines {start_line}-{end_line}]", result.path));
        text.extend(result.lines.iter().map(|line| format!("{:>width$} | {}", line.line, line.text)));
        data.push(json!({
            "file_path": result.path,
            "start_line": start_line,
            "end_line": end_line,
            "snippet": snippet.join("\n"),
        }));
    }
    if results.is_empty() {
        text.push("Nothing matches. Try fewer or other words.".to_owned());
    } else if n_more > 0 {
        text.push(format!("[{n_more} more; add words or a glob, or raise the limit]"));
    }
    ToolOutput::new(text.join("\n"), json!({ "results": data, "truncated": n_more > 0 }))
}

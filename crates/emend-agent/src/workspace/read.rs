//! Reading: files, listings and searches, all with pending edits applied.

use std::ops::Range;

use emend_edit::text::split_lines;

use super::error::WorkspaceError;
use super::file_view::FileView;
use super::read_tracker::ReadTracker;
use super::state::Workspace;
use crate::environment::FileMatches;
use crate::environment::{Access, DirEntry, EntryKind, EnvError, FilePath, GrepQuery, Metadata};
use crate::search::glob::GlobPattern;
use crate::search::{Matcher, SearchLimits};

impl Workspace {
    /// Reads a file and records that the session has read `limit` lines from line `offset` (from 1).
    ///
    /// # Errors
    ///
    /// The path cannot be resolved, does not exist, or is not a text file.
    pub async fn read(
        &self,
        reads: &ReadTracker,
        path: &str,
        offset: usize,
        limit: usize,
    ) -> Result<FileView, WorkspaceError> {
        let (path, text) = self.lookup(path).await?;
        let n_lines = split_lines(&text).len();
        let from = offset.saturating_sub(1).min(n_lines);
        Ok(Self::shown(reads, path, text, from..n_lines.min(from.saturating_add(limit))))
    }

    /// Reads a file and records the lines (from 0) that `choose` selects in its text as read; `None` records nothing.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub async fn read_if(
        &self,
        reads: &ReadTracker,
        path: &str,
        choose: impl FnOnce(&str) -> Option<Range<usize>>,
    ) -> Result<Option<FileView>, WorkspaceError> {
        let (path, text) = self.lookup(path).await?;
        Ok(choose(&text).map(|lines| Self::shown(reads, path, text, lines)))
    }

    fn shown(reads: &ReadTracker, path: FilePath, text: String, lines: Range<usize>) -> FileView {
        let hash = reads.hash(&text);
        let version = reads.note(&path, hash, lines.start, lines.end);
        FileView { path, text, hash, version }
    }

    /// Returns the file that `path` names; `None` for a directory or an unreadable path.
    pub async fn file_at(&self, path: &str) -> Option<FilePath> {
        let path = self.environment().resolve(path, Access::Write).await.ok()?;
        let pending = self.state().files.get(&path).map(|entry| entry.log.visible_text().is_some());
        match pending {
            Some(true) => Some(path),
            // The user may have made a file where the agent has removed one.
            Some(false) => self.visible(&path).await.ok()?.map(|_| path),
            None => {
                let found = self.environment().metadata(&path).await.ok()??;
                (found.kind == EntryKind::File).then_some(path)
            }
        }
    }

    /// Reads a binary file, such as an image. Pending edits never apply to one.
    ///
    /// # Errors
    ///
    /// The path cannot be resolved or is not a file.
    pub async fn read_bytes(&self, path: &str) -> Result<(FilePath, Vec<u8>), WorkspaceError> {
        let path = self.environment().resolve(path, Access::Read).await?;
        let bytes = self.environment().read(&path).await?;
        Ok((path, bytes))
    }

    /// Reads a file and records its first lines, as many as `n_shown` returns, as read. Returns that number too.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub async fn read_start(
        &self,
        reads: &ReadTracker,
        path: &str,
        n_shown: impl FnOnce(&[&str]) -> usize,
    ) -> Result<(FileView, usize), WorkspaceError> {
        let (path, text) = self.lookup(path).await?;
        let hash = reads.hash(&text);
        let n_shown = n_shown(&split_lines(&text));
        let version = reads.note(&path, hash, 0, n_shown);
        Ok((FileView { path, text, hash, version }, n_shown))
    }

    /// Returns the visible text of a file; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// The path leaves the root or is not a text file.
    pub async fn text(&self, path: &str) -> Result<Option<String>, WorkspaceError> {
        let path = self.environment().resolve(path, Access::Write).await?;
        self.visible_to_reader(&path).await
    }

    /// Returns the saved text; `None` if there is no file on disk.
    ///
    /// # Errors
    ///
    /// As [`text`](Self::text).
    pub async fn saved_text(&self, path: &str) -> Result<Option<String>, WorkspaceError> {
        let path = self.environment().resolve(path, Access::Write).await?;
        self.disk_text(&path).await
    }

    /// Resolves a path for reading. The file may exist only as a pending edit.
    async fn lookup(&self, path: &str) -> Result<(FilePath, String), WorkspaceError> {
        let missing = match self.environment().resolve(path, Access::Read).await {
            Ok(path) => match self.visible_to_reader(&path).await? {
                Some(text) => return Ok((path, text)),
                // Deleted by a pending edit.
                None => EnvError::NotFound { path: path.to_string(), suggestions: Vec::new() },
            },
            Err(error) => error,
        };
        if matches!(missing, EnvError::NotFound { .. })
            && let Ok(path) = self.environment().resolve(path, Access::Write).await
            && let Some(text) = self.visible_to_reader(&path).await?
        {
            return Ok((path, text));
        }
        Err(missing.into())
    }

    /// Lists a directory down to `depth` levels.
    ///
    /// # Errors
    ///
    /// The path is not a directory under the root.
    pub async fn list(&self, path: &str, depth: usize) -> Result<Vec<DirEntry>, WorkspaceError> {
        self.refresh().await?;
        let directory = self.environment().resolve(path, Access::List).await?;
        let mut entries = self.environment().list(&directory, depth).await?;
        for file in self.overlay().into_iter().filter(|file| file.path.is_under(&directory)) {
            let below = relative(&directory, &file.path).split('/').count();
            if below <= depth {
                replace_sorted(&mut entries, &file.path, file.entry());
            }
        }
        Ok(entries)
    }

    /// Returns the files under `path` that match `glob`.
    ///
    /// # Errors
    ///
    /// The path cannot be resolved, or the glob is malformed.
    pub async fn glob(&self, path: &str, glob: &str) -> Result<Vec<DirEntry>, WorkspaceError> {
        self.refresh().await?;
        let directory = self.environment().resolve(path, Access::List).await?;
        let mut entries = self.environment().glob(&directory, glob).await?;
        let wanted = GlobPattern::new(glob)?;
        for file in self.overlay().into_iter().filter(|file| file.path.is_under(&directory)) {
            let at = entries.partition_point(|entry| entry.path < file.path);
            let is_found = entries.get(at).is_some_and(|entry| entry.path == file.path);
            // The environment knows whether a file on disk is ignored.
            if is_found || file.is_new && wanted.is_match(relative(&directory, &file.path)) {
                replace_sorted(&mut entries, &file.path, file.entry());
            }
        }
        Ok(entries)
    }

    /// Returns the paths of the files under `path` that match `glob`, without sizes and times.
    ///
    /// # Errors
    ///
    /// As [`glob`](Self::glob).
    pub async fn glob_paths(&self, path: &str, glob: &str) -> Result<Vec<FilePath>, WorkspaceError> {
        self.refresh().await?;
        let directory = self.environment().resolve(path, Access::List).await?;
        let mut paths = self.environment().glob_paths(&directory, glob).await?;
        let wanted = GlobPattern::new(glob)?;
        for file in self.overlay().into_iter().filter(|file| file.path.is_under(&directory)) {
            match (file.text, paths.binary_search(&file.path)) {
                (None, Ok(at)) => {
                    paths.remove(at);
                }
                (Some(_), Err(at)) if file.is_new && wanted.is_match(relative(&directory, &file.path)) => {
                    paths.insert(at, file.path);
                }
                _ => {}
            }
        }
        Ok(paths)
    }

    /// Returns matching lines of the visible texts, sorted by path then line.
    ///
    /// # Errors
    ///
    /// The path cannot be resolved.
    pub async fn grep(
        &self,
        matcher: Matcher,
        path: &str,
        glob: Option<&str>,
        context_lines: usize,
        max_results: usize,
    ) -> Result<Vec<FileMatches>, WorkspaceError> {
        self.refresh().await?;
        let root = self.environment().resolve(path, Access::Read).await?;
        let overlay: Vec<OverlayFile> = self.overlay().into_iter().filter(|file| file.path.is_under(&root)).collect();
        let query = GrepQuery {
            matcher,
            path: root.clone(),
            glob: glob.map(str::to_owned),
            exclude: overlay.iter().map(|file| file.path.clone()).collect(),
            max_results,
            context_lines,
        };
        let wanted = glob.map(GlobPattern::new).transpose()?;
        let mut found = self.environment().grep(&query).await?;
        for file in overlay {
            let Some(text) = file.text else { continue };
            if wanted.as_ref().is_some_and(|glob| !glob.is_match_or_name(relative(&root, &file.path))) {
                continue;
            }
            let limits =
                SearchLimits { max_matches: max_results, context_lines, max_line_bytes: SearchLimits::MAX_LINE_BYTES };
            let lines = query.matcher.search(text.as_bytes(), limits);
            if !lines.is_empty() {
                let at = found.partition_point(|other| other.path < file.path);
                found.insert(at, FileMatches { path: file.path, lines });
            }
        }
        query.matcher.checked()?;
        // Each source returned up to the limit of both together.
        let mut left = max_results;
        for file in &mut found {
            file.truncate(left, context_lines);
            left -= file.match_count();
        }
        found.retain(|file| !file.lines.is_empty());
        Ok(found)
    }

    /// Returns the edited files whose visible text differs from the environment's, without hidden ones.
    pub(super) fn overlay(&self) -> Vec<OverlayFile> {
        let state = self.state();
        let visible = state.files.iter().filter(|(path, _)| !self.environment.hides(path));
        let edited = visible.filter_map(|(path, entry)| {
            let text = entry.log.visible_text();
            let modified_ms = entry.log.entries().last().map_or(0, |entry| entry.at_ms);
            let is_new = !entry.log.was_on_disk();
            let is_saved = entry.log.is_saved_text(text.as_deref());
            (!is_saved).then(|| OverlayFile { path: path.clone(), text, is_new, modified_ms })
        });
        edited.collect()
    }
}

/// Returns the part of `path` below `directory`; the name if both are the same file.
fn relative<'a>(directory: &FilePath, path: &'a FilePath) -> &'a str {
    if path == directory { path.name() } else { path.as_str()[directory.as_str().len()..].trim_start_matches('/') }
}

pub(super) struct OverlayFile {
    pub(super) path: FilePath,
    pub(super) text: Option<String>,
    is_new: bool,
    modified_ms: u64,
}

impl OverlayFile {
    /// Returns the entry of the file for a listing; `None` if it is deleted.
    fn entry(&self) -> Option<DirEntry> {
        let size = self.text.as_ref()?.len() as u64;
        let metadata = Metadata { kind: EntryKind::File, size, modified_ms: self.modified_ms };
        Some(DirEntry { path: self.path.clone(), metadata })
    }
}

/// Inserts an entry into a listing sorted by path, or replaces the one with the same path. Insertion compiles to less
/// code than a sort, and edited files are few.
fn replace_sorted(entries: &mut Vec<DirEntry>, path: &FilePath, entry: Option<DirEntry>) {
    let at = entries.partition_point(|other| other.path < *path);
    let n_old = usize::from(entries.get(at).is_some_and(|other| other.path == *path));
    entries.splice(at..at + n_old, entry);
}

//! Writes that rest on a known state of their file: who is refused with that state, and who is let through (DESIGN
//! §4.1, S3 §4).
//!
//! Edits that find their own place in the text need none of this: they go through [`Workspace::write`].

use std::ops::Range;

use emend_edit::ContentHash;
use emend_edit::text::split_lines;
use serde_json::{Value, json};

use super::{Applied, FileView, FileWrite, Seen, Workspace};
use crate::environment::{Access, FilePath};
use crate::error_code::Code;
use crate::fixed_texts::STATE_MISMATCH;
use crate::tool::{ToolContext, ToolError};

/// What a write of one file rests on.
#[derive(Clone, Debug)]
pub enum Base<'a> {
    /// Every line of the text, as this session was last shown it. A hash that the call names has to fit as well.
    Whole(Option<ContentHash>),
    /// These lines (from 0) of the text, as this session was last shown it or as the hash says.
    Lines(Option<ContentHash>, Vec<Range<usize>>),
    /// What the edit's own hashes say; the engine checks them.
    Hashed,
    /// The text whose SHA-256 this is, whoever has seen it; that of no bytes stands for no file, too. Every refusal
    /// shows the file as it is.
    Exact(&'a str),
}

impl Workspace {
    /// Carries out the agent's edit of one file, if that is in the state the edit was made for.
    ///
    /// # Errors
    ///
    /// As [`write`](Workspace::write); and `stale` if the file is in another state. Whatever is `stale`, and every
    /// refusal of a write on an [exact](Base::Exact) base, brings `latest_file_state`: the refusal is a read.
    pub async fn write_verified(
        &self,
        context: &ToolContext,
        path: &str,
        base: Base<'_>,
        plan: impl FnOnce(Option<&str>) -> Result<Vec<FileWrite>, ToolError>,
    ) -> Result<Vec<Applied>, ToolError> {
        let _writing = self.writing.lock().await;
        let (texts, resolved) = self.read_all(&[path.to_owned()]).await?;
        let text = texts.get(path).and_then(Option::as_deref);
        let Some(file) = resolved.get(path) else {
            return Err(ToolError::new(Code::Internal, format!("{path} was not resolved before it was written")));
        };
        let outcome = match check(&context.seen, file, text, &base).and_then(|()| plan(text)) {
            Ok(writes) => self.land(context, &texts, &resolved, writes).await,
            Err(error) => Err(error),
        };
        let error = match outcome {
            Err(error) if matches!(base, Base::Exact(_)) || error.code == Code::Stale => error,
            outcome => return outcome,
        };
        let error = showing(error, &FileView::of(&context.seen, file, text));
        let missing = self.environment().resolve(path, Access::Read).await.err();
        match missing.filter(|_| text.is_none() && error.suggestions.is_empty()) {
            Some(missing) => Err(error.with_suggestions(missing.suggestions())),
            None => Err(error),
        }
    }
}

impl Workspace {
    /// Returns whether a write on this base would be let through as things are now. Counts as no read.
    pub async fn is_verified(&self, seen: &Seen, path: &str, base: &Base<'_>) -> bool {
        let Ok((texts, resolved)) = self.read_all(&[path.to_owned()]).await else { return false };
        let text = texts.get(path).and_then(Option::as_deref);
        resolved.get(path).is_some_and(|file| check(seen, file, text, base).is_ok())
    }
}

fn check(seen: &Seen, file: &FilePath, text: Option<&str>, base: &Base<'_>) -> Result<(), ToolError> {
    let hash = ContentHash::of(text.unwrap_or_default().as_bytes());
    let (named, ranges) = match base {
        Base::Exact(named) => {
            return match named.parse() {
                Ok(named) if hash == named => Ok(()),
                Ok(_) if text.is_none() => {
                    let why = format!("{STATE_MISMATCH}\nThere is no {file}: its state is that of an empty file.");
                    Err(ToolError::new(Code::Stale, why))
                }
                Ok(_) => Err(ToolError::new(Code::Stale, STATE_MISMATCH)),
                Err(error) => {
                    let error: emend_edit::text::ParseHashError = error;
                    Err(ToolError::new(Code::Stale, format!("{STATE_MISMATCH}\n{error}.")))
                }
            };
        }
        Base::Hashed => return Ok(()),
        Base::Whole(named) => {
            let n_lines = text.map_or(0, |text| split_lines(text).len());
            (named, Vec::from([Range { start: 0, end: n_lines }]))
        }
        Base::Lines(named, ranges) => (named, ranges.clone()),
    };
    let shown = seen.hash_of(file);
    let reason = match (named.or(shown), text) {
        // Nobody has to have read what is not there.
        (None, None) => return Ok(()),
        (None, Some(_)) => "exists and was not read",
        (Some(known), None) if known != hash => "no longer exists",
        (Some(known), _) if known != hash => "has changed since it was read",
        (Some(_), None) => return Ok(()),
        (Some(_), Some(_)) if ranges.iter().any(|range| !seen.has_range(file, hash, range.start, range.end)) => {
            "has lines here that were never read"
        }
        (Some(_), Some(_)) if matches!(base, Base::Lines(None, _)) && seen.is_written_in_this_message(file) => {
            "was changed by an earlier call of the same message, so its lines may have other numbers now"
        }
        (Some(_), Some(_)) => return Ok(()),
    };
    let message =
        format!("{file} {reason}; nothing was written. Its current state is below: call again if you still want to.");
    Err(ToolError::new(Code::Stale, message))
}

/// Adds the state of a file to a refusal.
fn showing(error: ToolError, view: &FileView) -> ToolError {
    let mut data = match error.data {
        Some(Value::Object(data)) => data,
        _ => serde_json::Map::new(),
    };
    data.insert(LATEST.to_owned(), view.state());
    ToolError { data: Some(Value::Object(data)), ..error }
}

/// Where refusals and answers hold the state of their file (S3 §4.2).
const LATEST: &str = "latest_file_state";

/// Returns the state of a file that a refusal holds, as the model reads it.
pub(crate) fn latest_state_text(data: &Value) -> Option<String> {
    let state = data.get(LATEST)?;
    let text = |key: &str| state[key].as_str().unwrap_or_default();
    Some(format!(
        "[{} | version {} | sha256:{}]\n{}",
        text("file_path"),
        state["version"],
        text("sha256"),
        text("content")
    ))
}

impl FileView {
    /// Notes that the session sees the whole of a file, and returns it. A file that is not there is seen as an empty
    /// one.
    pub(crate) fn of(seen: &Seen, path: &FilePath, text: Option<&str>) -> Self {
        let text = text.unwrap_or_default();
        let hash = ContentHash::of(text.as_bytes());
        let version = seen.note(path, hash, 0, split_lines(text).len());
        Self { path: path.clone(), text: text.to_owned(), hash, version }
    }

    /// Returns the file as data, under the names of S3 §4.1.
    #[must_use]
    pub fn state(&self) -> Value {
        json!({ "file_path": self.path, "version": self.version, "sha256": self.hash.hex(), "content": self.text })
    }
}

//! The operations on the canvas, for tools and for the service: check out, renew, check in, search, read and edit.
//!
//! Every result and every failure names the revision of the canvas: the SHA-256 of the text that the user sees. Lines are
//! numbered from 1 and belong to one revision.

use emend_edit::ContentHash;
use emend_edit::patch::line_edits::{LineEdit, LineEdits};
use emend_edit::patch::unified::{self, DiffMode};
use emend_edit::patch::{Change, Patch};
use emend_edit::size::compact_sort::map_of;
use emend_edit::text::split_lines;

use super::lease_id::LeaseId;
use super::sections::{AddressError, item, section};
use crate::canvas::{LeaseError, Ticket};
use crate::environment::FilePath;
use crate::error_code::Code;
use crate::search::{Matcher, MatcherError, SearchLimits, escape};
use crate::tool::ToolError;
use crate::tools::canvas_replies::{
    CanvasEdited, CanvasLines, CanvasMatch, CanvasMatches, CheckOut, CheckedIn, Renewed,
};
use crate::tools::patching::planned_writes;
use crate::workspace::{Precondition, Rejection, Workspace, WriteContext};

/// Maximum number of matching lines of a search.
const MATCHES_MAX: usize = 200;

/// Why an operation failed. Nothing changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct CanvasFailure {
    /// Stable code.
    pub code: Code,
    /// The problem and the next step.
    pub message: String,
    /// Revision of the canvas; empty if no file is open.
    pub revision_id: String,
}

/// Lines of the canvas that a caller names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Lines by number, from 1, both inclusive.
    Lines(usize, usize),
    /// A section, or a list item of it.
    Section(String, Option<usize>),
}

/// An edit of the canvas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CanvasEdit {
    /// A unified diff, whose hunks stand exactly at their lines.
    Diff(String),
    /// Edits by line number.
    Lines(Vec<LineEdit>),
}

/// The canvas of a workspace under its lease.
pub struct CanvasDesk<'a> {
    workspace: &'a Workspace,
    now_ms: u64,
    /// Whether operations need a lease.
    enforced: bool,
}

/// The open canvas.
struct Open {
    path: FilePath,
    text: String,
    revision_id: String,
}

impl<'a> CanvasDesk<'a> {
    /// Returns the desk at a time. Without `enforced`, reads and edits need no check-out.
    #[must_use]
    pub fn new(workspace: &'a Workspace, now_ms: u64, enforced: bool) -> Self {
        Self { workspace, now_ms, enforced }
    }

    async fn open(&self) -> Result<Open, CanvasFailure> {
        let closed = |code, message: String| CanvasFailure { code, message, revision_id: String::new() };
        let path = self.workspace.canvas().path();
        let path = path.ok_or_else(|| closed(Code::NotFound, "no file is open in the canvas".to_owned()))?;
        let text = self.workspace.text(path.as_str()).await;
        let text = text.map_err(|error| closed(error.code(), error.to_string()))?.unwrap_or_default();
        let revision_id = revision_of(&text);
        Ok(Open { path, text, revision_id })
    }

    /// Waits for the canvas of other servers: a change of the lease needs a turn of the root.
    #[cfg(not(target_family = "wasm"))]
    async fn turn(&self, open: &Open) -> Result<Option<impl Drop + use<'a>>, CanvasFailure> {
        let turn = self.workspace.canvas_turn().await;
        turn.map_err(|error| open.failed(error.code(), error.to_string()))
    }

    /// Returns the revision of the canvas.
    ///
    /// # Errors
    ///
    /// No file is open, or it cannot be read.
    pub async fn revision_id(&self) -> Result<String, CanvasFailure> {
        Ok(self.open().await?.revision_id)
    }

    /// Returns the failure of a request that was refused before it reached the canvas.
    pub async fn refused(&self, code: Code, message: &str) -> CanvasFailure {
        let revision_id = self.revision_id().await.unwrap_or_default();
        CanvasFailure { code, message: message.to_owned(), revision_id }
    }

    /// Takes the lease for a caller that knows the present epoch.
    ///
    /// # Errors
    ///
    /// `LOCK_NOT_AVAILABLE` while another caller holds it.
    pub async fn check_out(&self) -> Result<CheckOut, CanvasFailure> {
        let open = self.open().await?;
        #[cfg(not(target_family = "wasm"))]
        let _turn = self.turn(&open).await?;
        let ticket = self.workspace.canvas().with_lease(|lease| lease.check_out(lease.epoch(), self.now_ms));
        let ticket = ticket.map_err(|error| open.lease(error))?;
        Ok(self.held(&open, ticket))
    }

    /// Returns the check-out of a lease that the session has taken.
    ///
    /// # Errors
    ///
    /// No file is open, or it cannot be read.
    pub async fn checked_out(&self, ticket: Ticket) -> Result<CheckOut, CanvasFailure> {
        Ok(self.held(&self.open().await?, ticket))
    }

    fn held(&self, open: &Open, ticket: Ticket) -> CheckOut {
        let until = self.workspace.canvas().with_lease(|lease| lease.held_until(self.now_ms));
        CheckOut {
            lease_id: LeaseId(ticket).to_string(),
            revision_id: open.revision_id.clone(),
            revision_id_at_checkout: open.revision_id.clone(),
            canvas_epoch: ticket.epoch,
            expires_at: until.unwrap_or(self.now_ms),
            file_path: open.path.to_string(),
            n_lines: split_lines(&open.text).len(),
        }
    }

    /// Renews a lease.
    ///
    /// # Errors
    ///
    /// `LOCK_NOT_OWNED`, `LEASE_EXPIRED` or `STALE_EPOCH`.
    pub async fn renew(&self, lease_id: &str) -> Result<Renewed, CanvasFailure> {
        let open = self.open().await?;
        let ticket = open.ticket(lease_id)?;
        #[cfg(not(target_family = "wasm"))]
        let _turn = self.turn(&open).await?;
        let renewed = self.workspace.canvas().with_lease(|lease| lease.renew(ticket, self.now_ms));
        let expires_at = renewed.map_err(|error| open.lease(error))?;
        Ok(Renewed { expires_at, revision_id: open.revision_id })
    }

    /// Releases a lease.
    ///
    /// # Errors
    ///
    /// `LOCK_NOT_OWNED` if the id is malformed.
    pub async fn check_in(&self, lease_id: &str) -> Result<CheckedIn, CanvasFailure> {
        let open = self.open().await?;
        let ticket = open.ticket(lease_id)?;
        #[cfg(not(target_family = "wasm"))]
        let _turn = self.turn(&open).await?;
        let released = self.workspace.canvas().with_lease(|lease| lease.check_in(ticket));
        Ok(CheckedIn { released, revision_id: open.revision_id })
    }

    /// Returns the canvas if the caller may use it; the use renews the lease. Where no lease is needed, the id of a lease
    /// that is not in force counts as none.
    async fn used(&self, lease_id: Option<&str>) -> Result<(Open, Option<Ticket>), CanvasFailure> {
        let open = self.open().await?;
        let held = match lease_id.and_then(LeaseId::parse) {
            Some(LeaseId(ticket)) => {
                #[cfg(not(target_family = "wasm"))]
                let _turn = self.turn(&open).await?;
                let renewed = self.workspace.canvas().with_lease(|lease| lease.renew(ticket, self.now_ms));
                renewed.map(|_| ticket)
            }
            None => Err(LeaseError::NotOwned),
        };
        match held {
            Err(error) if self.enforced => Err(open.lease(error)),
            held => Ok((open, held.ok())),
        }
    }

    /// Finds lines.
    ///
    /// # Errors
    ///
    /// A code of the lease, or `invalid_argument` for a regular expression that cannot be read.
    pub async fn grep(
        &self,
        lease_id: Option<&str>,
        query: &str,
        is_regex: bool,
    ) -> Result<CanvasMatches, CanvasFailure> {
        let (open, _) = self.used(lease_id).await?;
        let pattern = if is_regex { query.to_owned() } else { escape(query) };
        let failed = |error: MatcherError| open.failed(error.code, error.message);
        let matcher = Matcher::load(&pattern, false).await.map_err(failed)?;
        let limits = SearchLimits {
            max_matches: MATCHES_MAX + 1,
            context_lines: 0,
            max_line_bytes: SearchLimits::MAX_LINE_BYTES,
        };
        let found = matcher.search(open.text.as_bytes(), limits);
        matcher.checked().map_err(failed)?;
        let truncated = found.len() > MATCHES_MAX;
        let shown = found.into_iter().take(MATCHES_MAX);
        let found = shown.map(|line| CanvasMatch { line: line.line, text: line.text }).collect();
        Ok(CanvasMatches { matches: found, truncated, revision_id: open.revision_id })
    }

    /// Reads lines.
    ///
    /// # Errors
    ///
    /// A code of the lease, `not_found` or `ambiguous` for a section, or `invalid_argument` for lines that do not exist.
    pub async fn read(&self, lease_id: Option<&str>, place: &Place) -> Result<CanvasLines, CanvasFailure> {
        let (open, _) = self.used(lease_id).await?;
        let lines = split_lines(&open.text);
        let range = match place {
            Place::Lines(start, end) => {
                if *start == 0 || end < start || *start > lines.len() {
                    let message =
                        format!("the canvas has lines 1 to {}; {start} to {end} are not lines of it", lines.len());
                    return Err(open.failed(Code::InvalidArgument, message));
                }
                start - 1..(*end).min(lines.len())
            }
            Place::Section(address, number) => {
                let found = section(&lines, address);
                let found =
                    found.and_then(|range| number.map_or(Ok(range.clone()), |number| item(&lines, range, number)));
                found.map_err(|error| open.failed(code_of(&error), error.to_string()))?
            }
        };
        Ok(CanvasLines {
            text: lines[range.clone()].concat(),
            start_line: range.start + 1,
            end_line: range.end,
            n_lines: lines.len(),
            revision_id: open.revision_id,
        })
    }

    /// Reads the whole canvas.
    ///
    /// # Errors
    ///
    /// A code of the lease.
    pub async fn read_all(&self, lease_id: Option<&str>) -> Result<CanvasLines, CanvasFailure> {
        let (open, _) = self.used(lease_id).await?;
        let n_lines = split_lines(&open.text).len();
        Ok(CanvasLines { text: open.text, start_line: 1, end_line: n_lines, n_lines, revision_id: open.revision_id })
    }

    /// Edits the canvas: all of the edit, or nothing. The edit names the revision that it was made for.
    ///
    /// # Errors
    ///
    /// A code of the lease; `stale` if the canvas has another revision; `PATCH_REJECTED` if a hunk does not stand at its
    /// line.
    pub async fn edit(
        &self,
        context: &WriteContext<'_>,
        lease_id: Option<&str>,
        base_revision_id: &str,
        edit: &CanvasEdit,
    ) -> Result<CanvasEdited, CanvasFailure> {
        let (open, ticket) = self.used(lease_id).await?;
        let path = open.path.as_str().to_owned();
        let base = base_revision_id.strip_prefix("sha256:").unwrap_or(base_revision_id);
        let patch = patch_of(&path, edit).map_err(|message| open.failed(Code::PatchRejected, message))?;
        let planned = |text: Option<&str>| planned_writes(&patch, &map_of([(path.clone(), text.map(str::to_owned))]));
        let context = WriteContext { lease: ticket.or(context.lease), ..*context };
        let outcome: Result<_, Rejection<ToolError>> =
            self.workspace.write_verified(&context, &path, Precondition::Exact(base), planned).await;
        // The canvas may have changed meanwhile: the reply names the revision after the attempt.
        let after = self.open().await?;
        match outcome {
            Ok((_, planned)) => Ok(CanvasEdited {
                ok: true,
                applied_hunks: planned.iter().map(|file| file.hunks.len()).sum(),
                new_revision_id: after.revision_id.clone(),
                n_lines: split_lines(&after.text).len(),
                revision_id: after.revision_id,
            }),
            Err(rejection) => {
                let error = ToolError::from(rejection);
                let code = match error.code {
                    Code::Conflict | Code::InvalidArgument | Code::NotFound | Code::Ambiguous => Code::PatchRejected,
                    code => code,
                };
                let message = match code {
                    Code::Stale => {
                        "the canvas has another revision than base_revision_id; read the lines again".to_owned()
                    }
                    _ => error.message,
                };
                Err(after.failed(code, message))
            }
        }
    }
}

fn patch_of(path: &str, edit: &CanvasEdit) -> Result<Patch, String> {
    match edit {
        CanvasEdit::Lines(edits) => {
            Ok(Patch::of(path, Change::Lines(LineEdits { edits: edits.clone(), expected_hash: None })))
        }
        CanvasEdit::Diff(diff) => {
            let (patch, _) = unified::parse_for(path, diff, DiffMode::Strict).map_err(|error| error.to_string())?;
            match patch.edits.as_slice() {
                [edit] if matches!(&edit.change, Change::Unified(edit) if edit.rename_to.is_none()) => Ok(patch),
                _ => Err("the diff must change the text of the canvas only".to_owned()),
            }
        }
    }
}

impl Open {
    fn failed(&self, code: Code, message: impl Into<String>) -> CanvasFailure {
        CanvasFailure { code, message: message.into(), revision_id: self.revision_id.clone() }
    }

    fn lease(&self, error: LeaseError) -> CanvasFailure {
        self.failed(error.code(), error.to_string())
    }

    fn ticket(&self, lease_id: &str) -> Result<Ticket, CanvasFailure> {
        LeaseId::parse(lease_id).map(|LeaseId(ticket)| ticket).ok_or_else(|| self.lease(LeaseError::NotOwned))
    }
}

fn code_of(error: &AddressError) -> Code {
    match error {
        AddressError::NotAHeading { .. } => Code::InvalidArgument,
        AddressError::NoSection { .. } | AddressError::NoItem { .. } => Code::NotFound,
        AddressError::Ambiguous { .. } => Code::Ambiguous,
    }
}

/// Returns the revision of a text.
fn revision_of(text: &str) -> String {
    ContentHash::of(text.as_bytes()).to_string()
}

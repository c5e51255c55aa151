//! The canvas over requests: the same operations as the canvas tools, for a caller with a lease of its own.
//!
//! The canvas belongs to the workspace. The session in the path gets the events, and its review has the edits.

use emend_edit::ContentHash;
use emend_edit::patch::line_edits::{LineEdit, LineOperation};
use emend_llm::CancelToken;
use serde_json::{Value, json};

use crate::error_code::Code;
use crate::service::api::{ApiError, ApiRequest, ApiResponse, ApiResult, Operation, OperationInfo, body, reply};
use crate::service::canvas_bodies::{
    CanvasBody, CanvasEditRequest, CanvasGrepRequest, CanvasLeaseRequest, CanvasLineOperation, CanvasOpenRequest,
    CanvasPatchRequest, CanvasPromoteRequest, CanvasReadRequest, CanvasUserEdit,
};
use crate::service::handlers::review::{check_outside_git, file};
use crate::service::inner::Inner;
use crate::tools::{
    CanvasDesk, CanvasEdit, CanvasEdited, CanvasFailure, CanvasLines, CanvasMatches, CheckOut, CheckedIn, Place,
    Renewed,
};
use crate::workspace::{Mode, Promotion, ReadTracker, WriteContext};

impl From<CanvasFailure> for ApiError {
    fn from(failure: CanvasFailure) -> Self {
        let data = json!({ "revision_id": failure.revision_id });
        Self::new(failure.code, failure.message).with_data(data)
    }
}

impl Inner {
    fn desk(&self) -> CanvasDesk<'_> {
        CanvasDesk::new(&self.workspace, self.now().0, true)
    }

    async fn canvas(&self) -> ApiResult<CanvasBody> {
        // Another server may have changed it, or must learn of a change here.
        self.workspace.refresh().await?;
        let state = self.workspace.canvas().state(self.now().0);
        let revision_id = match state.path {
            Some(_) => Some(self.desk().revision_id().await?),
            None => None,
        };
        Ok(CanvasBody {
            file_path: state.path.map(|path| path.to_string()),
            held: state.held,
            epoch: state.epoch,
            expires_at: state.expires_at,
            draft_hash: revision_id.clone(),
            revision_id,
            artefact_hash: self.artefact_hash().await?,
            unsaved: self.workspace.canvas().path().is_some_and(|path| self.workspace.unsaved().contains(&path)),
        })
    }

    /// Returns the hash of the saved text of the canvas.
    async fn artefact_hash(&self) -> ApiResult<Option<String>> {
        let Some(path) = self.workspace.canvas().path() else { return Ok(None) };
        let text = self.workspace.saved_text(path.as_str()).await?;
        Ok(text.map(|text| ContentHash::of(text.as_bytes()).to_string()))
    }

    /// Saves the draft that the user saw. A message of the user takes the canvas back; otherwise a lease is respected.
    pub(in crate::service) async fn promote(&self, id: &str, draft_hash: &str, is_message: bool) -> ApiResult<()> {
        let _deciding = self.begin_decision().await;
        let (code, why) = match self.workspace.promote_canvas(draft_hash, is_message).await? {
            Promotion::Done { wrote: false } => return Ok(()),
            Promotion::Done { wrote: true } => {
                self.settle("save").await?;
                return self.canvas_event(id, "promote").await.map(drop);
            }
            Promotion::OtherDraft => {
                (Code::Stale, "the canvas has another draft than draft_hash; look at it and send its hash")
            }
            Promotion::Held => (Code::LockNotAvailable, "an agent edits the canvas; take it back, or wait"),
            Promotion::Closed => (Code::NotFound, "no file is open in the canvas"),
        };
        let mut error = ApiError::from(self.desk().refused(code, why).await);
        self.name_hashes(&mut error.data).await;
        Err(error)
    }

    /// Adds the hashes of draft and artefact to the data of a reply that names a revision.
    async fn name_hashes(&self, data: &mut Value) {
        let revision_id = data["revision_id"].as_str().filter(|id| !id.is_empty() && data["draft_hash"].is_null());
        let Some(revision_id) = revision_id.map(str::to_owned) else { return };
        // The reply to an edit that was made stays one, also if the saved text cannot be read.
        data["artefact_hash"] = self.artefact_hash().await.ok().flatten().into();
        data["draft_hash"] = revision_id.into();
    }

    /// Stores an event about the canvas.
    async fn canvas_event(&self, session_id: &str, what: &str) -> ApiResult<CanvasBody> {
        let canvas = self.canvas().await?;
        let data = json!({ "by": what, "canvas": canvas });
        self.change(session_id, |_, changes| {
            changes.session_event("canvas.updated", data);
            Ok(())
        })
        .await?;
        Ok(canvas)
    }
}

/// Adds the hashes of draft and artefact to a reply, or an error, that names a revision.
pub(super) async fn with_hashes(inner: &Inner, mut done: ApiResult<ApiResponse>) -> ApiResult<ApiResponse> {
    inner
        .name_hashes(match &mut done {
            Ok(response) => &mut response.body,
            Err(error) => &mut error.data,
        })
        .await;
    done
}

/// Carries out an operation on the canvas.
pub(super) async fn handle(
    inner: &Inner,
    info: &OperationInfo,
    id: &str,
    request: &ApiRequest,
) -> ApiResult<ApiResponse> {
    match info.operation {
        Operation::GetCanvas => reply(info, &get(inner, id).await?),
        Operation::CanvasOpen => reply(info, &open(inner, id, request).await?),
        Operation::CanvasCheckOut => reply(info, &check_out(inner, id).await?),
        Operation::CanvasRenewLease => reply(info, &renew(inner, id, request).await?),
        Operation::CanvasCheckIn => reply(info, &check_in(inner, id, request).await?),
        Operation::CanvasGrep => reply(info, &grep(inner, id, request).await?),
        Operation::CanvasReadLines => reply(info, &read_lines(inner, id, request).await?),
        Operation::CanvasReadAll => reply(info, &read_all(inner, id, request).await?),
        Operation::CanvasApplyPatch => reply(info, &apply_patch(inner, id, request).await?),
        Operation::CanvasEditLines => reply(info, &edit_lines(inner, id, request).await?),
        Operation::CanvasTakeBack => reply(info, &take_back(inner, id).await?),
        Operation::CanvasUserEdit => reply(info, &user_edit(inner, id, request).await?),
        Operation::CanvasPromote => reply(info, &promote(inner, id, request).await?),
        _ => Err(ApiError::new(Code::Internal, "this operation is not one of the canvas")),
    }
}

async fn get(inner: &Inner, id: &str) -> ApiResult<CanvasBody> {
    inner.session(id).await?;
    inner.canvas().await
}

async fn open(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<CanvasBody> {
    let CanvasOpenRequest { file_path } = body(request)?;
    inner.session(id).await?;
    inner.check_canvas()?;
    let path = match file_path {
        Some(path) => {
            let file = file(inner, &path).await?;
            let text = inner.workspace.text(&path).await?;
            text.ok_or_else(|| ApiError::unknown("file", &path))?;
            Some(file)
        }
        None => None,
    };
    {
        #[cfg(not(target_family = "wasm"))]
        let _turn = inner.workspace.canvas_turn().await?;
        inner.workspace.canvas().open(path);
    }
    inner.canvas_event(id, "open").await
}

async fn check_out(inner: &Inner, id: &str) -> ApiResult<CheckOut> {
    inner.session(id).await?;
    let out = inner.desk().check_out().await?;
    inner.canvas_event(id, "check_out").await?;
    Ok(out)
}

async fn renew(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<Renewed> {
    let CanvasLeaseRequest { lease_id } = body(request)?;
    inner.session(id).await?;
    Ok(inner.desk().renew(&lease_id).await?)
}

async fn check_in(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<CheckedIn> {
    let CanvasLeaseRequest { lease_id } = body(request)?;
    inner.session(id).await?;
    let done = inner.desk().check_in(&lease_id).await?;
    inner.canvas_event(id, "check_in").await?;
    Ok(done)
}

async fn grep(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<CanvasMatches> {
    let CanvasGrepRequest { lease_id, query, regex } = body(request)?;
    inner.session(id).await?;
    Ok(inner.desk().grep(Some(&lease_id), &query, regex).await?)
}

async fn read_lines(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<CanvasLines> {
    let wanted: CanvasReadRequest = body(request)?;
    inner.session(id).await?;
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let place = match (wanted.section, wanted.start_line) {
        (Some(section), None) => Place::Section(section, wanted.item.map(size)),
        (None, Some(start)) => Place::Lines(size(start), size(wanted.end_line.unwrap_or(start))),
        _ => {
            let message = "name either start_line and end_line, or section";
            return Err(inner.desk().refused(Code::InvalidArgument, message).await.into());
        }
    };
    Ok(inner.desk().read(Some(&wanted.lease_id), &place).await?)
}

async fn read_all(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<CanvasLines> {
    let CanvasLeaseRequest { lease_id } = body(request)?;
    inner.session(id).await?;
    Ok(inner.desk().read_all(Some(&lease_id)).await?)
}

async fn apply_patch(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<CanvasEdited> {
    let CanvasPatchRequest { lease_id, base_revision_id, patch } = body(request)?;
    edit(inner, id, &lease_id, &base_revision_id, CanvasEdit::Diff(patch)).await
}

async fn edit_lines(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<CanvasEdited> {
    let CanvasEditRequest { lease_id, base_revision_id, edits } = body(request)?;
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let edits = edits.into_iter().map(|edit| LineEdit {
        operation: match edit.operation {
            CanvasLineOperation::Replace => LineOperation::Replace,
            CanvasLineOperation::Insert => LineOperation::Insert,
            CanvasLineOperation::Delete => LineOperation::Delete,
        },
        start_line: size(edit.start_line),
        end_line: edit.end_line.map(size),
        new_text: edit.new_text,
        expected_hash: None,
    });
    let edits = CanvasEdit::Lines(edits.collect());
    edit(inner, id, &lease_id, &base_revision_id, edits).await
}

async fn edit(inner: &Inner, id: &str, lease_id: &str, base: &str, edit: CanvasEdit) -> ApiResult<CanvasEdited> {
    inner.session(id).await?;
    // Edits of the canvas are pending: the user decides, and saving is the user's.
    let workspace = inner.workspace.in_mode(Mode::Staged);
    let (reads, cancel) = (ReadTracker::default(), CancelToken::new());
    let run_id = workspace.begin_shared_run().await?;
    // Before the edit: after a crash, its hunks are in the review of the session.
    let runs: Vec<u64> = workspace.runs().into_iter().map(|run| run.run_id).collect();
    inner
        .change(id, |session, _| {
            // Runs without changes, such as of refused edits, are forgotten.
            session.canvas_runs.retain(|run| runs.contains(run));
            session.canvas_runs.push(run_id);
            Ok(())
        })
        .await?;
    let context =
        WriteContext { run_id, call_id: "canvas", lease: None, may_write: true, reads: &reads, cancel: &cancel };
    let desk = CanvasDesk::new(&workspace, inner.now().0, true);
    let done = desk.edit(&context, Some(lease_id), base, &edit).await?;
    inner.canvas_event(id, "edit").await?;
    Ok(done)
}

async fn take_back(inner: &Inner, id: &str) -> ApiResult<CanvasBody> {
    inner.session(id).await?;
    inner.workspace.canvas().take_back();
    inner.canvas_event(id, "take_back").await
}

async fn user_edit(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<CanvasBody> {
    let CanvasUserEdit { content, base, save } = body(request)?;
    inner.session(id).await?;
    inner.workspace.refresh().await?;
    let path = inner.workspace.canvas().path();
    let path = path.ok_or_else(|| ApiError::new(Code::NotFound, "no file is open in the canvas"))?;
    check_outside_git(inner, path.as_str()).await?;
    inner.saving(save).user_edit(path.as_str(), Some(&content), base.as_deref()).await?;
    inner.settle("user_edit").await?;
    inner.canvas_event(id, "user_edit").await
}

async fn promote(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<CanvasBody> {
    let CanvasPromoteRequest { draft_hash } = body(request)?;
    inner.session(id).await?;
    inner.promote(id, &draft_hash, false).await?;
    inner.canvas().await
}

//! Comments on lines: they keep their snippet, become stale with the lines, and go out as one instruction.

use emend_llm::Shared;
use serde_json::json;

use crate::error_code::Code;
use crate::service::api::{ApiError, ApiRequest, ApiResult, body};
use crate::service::bodies::{CommentList, CommentRequest, RunReply, ToolConfig};
use crate::service::driver::{self, JobOrigin, NewJob};
use crate::service::inner::Inner;
use crate::service::records::Comment;
use crate::service::text::{lines_of, of_comments, place_of};

/// Returns the comments at the present places of their lines. Those whose lines have changed are stale.
async fn listed(inner: &Inner, mut comments: Vec<Comment>) -> CommentList {
    for comment in &mut comments {
        let text = inner.workspace.text(&comment.file_path).await.ok().flatten().unwrap_or_default();
        let place = place_of(&text, &comment.snippet, comment.start_line);
        comment.stale = place.is_none();
        if let Some((start, end)) = place {
            (comment.start_line, comment.end_line) = (start, end);
        }
    }
    let unsent = comments.iter().filter(|comment| !comment.sent).count() as u64;
    CommentList { comments, unsent }
}

pub(super) async fn list(inner: &Inner, id: &str) -> ApiResult<CommentList> {
    Ok(listed(inner, inner.session(id).await?.comments).await)
}

pub(super) async fn add(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<CommentList> {
    let wanted: CommentRequest = body(request)?;
    inner.check_text(&wanted.text)?;
    if wanted.text.trim().is_empty() {
        return Err(ApiError::new(Code::InvalidArgument, "the comment is empty"));
    }
    if wanted.start_line == 0 || wanted.end_line < wanted.start_line {
        return Err(ApiError::new(Code::InvalidArgument, "lines count from 1, and end_line is not before start_line"));
    }
    // The model gets the lines with the comment.
    let text = inner.text_for_agent(&inner.session(id).await?, &wanted.file_path).await?;
    let text = text.ok_or_else(|| ApiError::unknown("file", &wanted.file_path))?;
    let snippet = lines_of(&text, Some(wanted.start_line), Some(wanted.end_line));
    if snippet.is_empty() {
        let message = format!("{} has no line {}", wanted.file_path, wanted.start_line);
        return Err(ApiError::new(Code::InvalidArgument, message));
    }
    let comment = Comment {
        comment_id: inner.new_id("cm_"),
        file_path: wanted.file_path,
        start_line: wanted.start_line,
        end_line: wanted.end_line,
        snippet,
        text: wanted.text,
        sent: false,
        stale: false,
        created_at: inner.now(),
    };
    let (_, committed) = inner
        .change(id, |session, changes| {
            changes.text = format!("{}\n", comment.text);
            changes.session_event("comment.added", json!({ "comment": comment }));
            session.comments.push(comment);
            Ok(())
        })
        .await?;
    Ok(listed(inner, committed.session.comments).await)
}

pub(super) async fn remove(inner: &Inner, id: &str, comment_id: &str) -> ApiResult<CommentList> {
    let (_, committed) = inner
        .change(id, |session, changes| {
            let before = session.comments.len();
            session.comments.retain(|comment| comment.comment_id != comment_id);
            if session.comments.len() == before {
                return Err(ApiError::unknown("comment", comment_id));
            }
            changes.session_event("comment.removed", json!({ "comment_id": comment_id }));
            Ok(())
        })
        .await?;
    Ok(listed(inner, committed.session.comments).await)
}

pub(super) async fn send(inner: &Shared<Inner>, id: &str) -> ApiResult<RunReply> {
    let session = inner.session(id).await?;
    let CommentList { comments, .. } = listed(inner, session.comments).await;
    if comments.is_empty() {
        return Err(ApiError::new(Code::Conflict, "there is no comment to send"));
    }
    let unsent: Vec<Comment> = comments.into_iter().filter(|comment| !comment.sent).collect();
    if unsent.is_empty() {
        return Err(ApiError::new(Code::Conflict, "every comment was sent"));
    }
    let instruction = of_comments(&unsent);
    let new = NewJob {
        session_id: id,
        instruction: &instruction,
        context_rows: Vec::new(),
        tool_config: ToolConfig::default(),
        draft_hash: None,
        origin: JobOrigin::Comments(unsent.into_iter().map(|comment| comment.comment_id).collect()),
    };
    let job = driver::start(inner, new).await?;
    Ok(RunReply { job_id: job.job_id, status: job.status, cursor: session.cursor })
}

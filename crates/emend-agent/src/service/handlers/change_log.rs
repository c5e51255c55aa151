//! The change log: every change of a file with its patch, its reverse patch and its status.

use crate::service::api::{ApiRequest, ApiResult, parameter};
use crate::service::checkpoint_bodies::{ChangeLogBody, ChangeLogEntry};
use crate::service::inner::Inner;
use crate::service::patches::reversed;

pub(super) async fn get(inner: &Inner, request: &ApiRequest) -> ApiResult<ChangeLogBody> {
    let wanted = parameter(request, "file_path");
    let runs: Vec<u64> = inner.workspace.runs().into_iter().map(|run| run.run_id).collect();
    let mut changes = Vec::new();
    for file in inner.workspace.bundle(&runs).files {
        let path = file.file_path.to_string();
        if wanted.is_some_and(|wanted| wanted != path) {
            continue;
        }
        let hash = file.base_file_hash.to_string();
        changes.extend(file.hunks.into_iter().map(|hunk| {
            ChangeLogEntry {
                id: hunk.hunk_id,
                file_path: path.clone(),
                origin: serde_json::to_value(hunk.origin)
                    .ok()
                    .and_then(|name| Some(name.as_str()?.to_owned()))
                    .unwrap_or_default(),
                reverse_patch: reversed(&hunk.patch),
                forward_patch: hunk.patch,
                status: match hunk.accepted {
                    None => "pending",
                    Some(true) => "accepted",
                    Some(false) => "rejected",
                }
                .to_owned(),
                file_hash_before: hash.clone(),
            }
        }));
    }
    Ok(ChangeLogBody { changes })
}

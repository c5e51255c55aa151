//! Permissions: the calls that the user always allows in a session, since the answer `allow_always`.

use emend_llm::Shared;
use serde_json::json;

#[cfg(not(target_family = "wasm"))]
use crate::error_code::Code;
use crate::service::api::{ApiError, ApiResult};
use crate::service::bodies::{Permission, PermissionList};
use crate::service::inner::Inner;
use crate::service::records::SessionRecord;

fn listed(session: &SessionRecord) -> PermissionList {
    PermissionList { permissions: session.grants.iter().map(Permission::of).collect() }
}

pub(super) async fn list(inner: &Inner, id: &str) -> ApiResult<PermissionList> {
    Ok(listed(&inner.session(id).await?))
}

pub(super) async fn withdraw(inner: &Shared<Inner>, id: &str, permission_id: &str) -> ApiResult<PermissionList> {
    let slot = inner.slot(id);
    #[cfg(not(target_family = "wasm"))]
    {
        let is_here = slot.running.lock().is_some();
        if !is_here && super::follow_ups::job_elsewhere(inner, &inner.session(id).await?).await?.is_some() {
            let message = "a job of this session runs on another server; wait for its end or cancel it";
            return Err(ApiError::new(Code::Busy, message));
        }
    }
    // The open agent first: it stores the permissions that it knows with its next events.
    let agent = slot.agent.lock().clone();
    if let Some(agent) = agent {
        agent.session.withdraw_grant(permission_id);
    }
    let (_, committed) = inner
        .change(id, |session, changes| {
            let before = session.grants.len();
            session.grants.retain(|grant| grant.id() != permission_id);
            if session.grants.len() == before {
                return Err(ApiError::unknown("permission", permission_id));
            }
            changes.session_event("permission.withdrawn", json!({ "permission_id": permission_id }));
            Ok(())
        })
        .await?;
    Ok(listed(&committed.session))
}

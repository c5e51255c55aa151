//! The operations on the canvas in a build without the feature `canvas`: refused.

use crate::error_code::Code;
use crate::service::api::{ApiError, ApiRequest, ApiResponse, ApiResult, OperationInfo};
use crate::service::inner::{Inner, NO_CANVAS};

/// Refuses an operation on the canvas.
pub(super) async fn handle(
    inner: &Inner,
    _info: &OperationInfo,
    id: &str,
    _request: &ApiRequest,
) -> ApiResult<ApiResponse> {
    inner.session(id).await?;
    Err(ApiError::new(Code::Unsupported, NO_CANVAS))
}

/// Leaves a reply as it is: there is no draft to name.
pub(super) async fn with_hashes(_inner: &Inner, done: ApiResult<ApiResponse>) -> ApiResult<ApiResponse> {
    done
}

impl Inner {
    /// Refuses to promote a draft.
    pub(in crate::service) async fn promote(&self, _id: &str, _draft_hash: &str, _is_message: bool) -> ApiResult<()> {
        Err(ApiError::new(Code::Unsupported, NO_CANVAS))
    }
}

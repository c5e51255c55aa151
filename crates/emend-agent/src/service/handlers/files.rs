//! The files of the project for the user: a list by pages, and a search.

use serde_json::Value;

use crate::service::api::{ApiRequest, ApiResult, number, page_limit, parameter};
use crate::service::bodies::{FileEntry, FileList};
use crate::service::inner::Inner;
use crate::tools;

/// Default and maximum number of files of a page.
const PAGE: u64 = 1_000;
const PAGE_MAX: u64 = 10_000;

pub(super) async fn list(inner: &Inner, request: &ApiRequest) -> ApiResult<FileList> {
    let limit = page_limit(request, PAGE, PAGE_MAX)?;
    let prefix = parameter(request, "prefix").unwrap_or_default();
    let after = parameter(request, "after").unwrap_or_default();
    let found = tools::files(&inner.workspace, glob(request)).await?;
    let is_wanted = |path: &str| path.starts_with(prefix) && path > after;
    let mut files: Vec<FileEntry> = found
        .into_iter()
        .filter(|file| is_wanted(file.path.as_str()))
        .take(limit + 1)
        .map(|file| FileEntry { file_path: file.path.to_string(), n_bytes: file.metadata.size })
        .collect();
    let has_more = files.len() > limit;
    files.truncate(limit);
    let next = files.last().filter(|_| has_more).map(|file| file.file_path.clone());
    Ok(FileList { files, next })
}

/// Returns the glob of a request; none if it is empty, as an empty field of a form.
fn glob(request: &ApiRequest) -> Option<&str> {
    parameter(request, "glob").filter(|glob| !glob.is_empty())
}

pub(super) async fn search(inner: &Inner, request: &ApiRequest) -> ApiResult<Value> {
    let query = parameter(request, "query").unwrap_or_default();
    let limit = number(request, "limit")?.map(|_| page_limit(request, 1, u64::MAX)).transpose()?;
    let limits = inner.limits.of_project_tools();
    let found = tools::search(&inner.workspace, limits, query, glob(request), limit).await?;
    // A `SearchReply`: the tool makes its data with these fields.
    Ok(found.data)
}

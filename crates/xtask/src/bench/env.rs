//! Environments: files in memory, measured by `emend-bench` (`tests/bench`), and searches of the disk.

use anyhow::Result;

use super::native::native_rows;
use super::row::Row;
use super::search;
use crate::repo::Repo;

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    let mut rows = native_rows(repo, &["env"])?.1;
    rows.extend(search::rows(repo)?);
    Ok(rows)
}

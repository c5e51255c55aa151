//! The index of a project of 1,000, 10,000 and 100,000 files, measured by `emend-bench`: searches with it, without it and
//! by `rg` in turns.

use anyhow::Result;

use super::native::native_rows;
use super::row::Row;
use crate::repo::Repo;

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    let folder = repo.path("target/bench");
    std::fs::create_dir_all(&folder)?;
    let mut rows = Vec::new();
    // A process for each size, so that the memory of one does not count for the next.
    for n_files in ["1000", "10000", "100000"] {
        rows.extend(native_rows(repo, &["index", &folder.to_string_lossy(), n_files])?.1);
    }
    Ok(rows)
}

//! The task set `core` with recorded responses: the scores of the controls, and equal results natively and in Chromium.

use anyhow::Result;

use super::context::Context;
use super::counts::Counts;
use crate::{build, eval};

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    let emend = build::command_line(repo)?;
    eval::check_controls(repo, &emend)?;
    eval::check_refusal(repo, &emend)?;
    context.build_package()?;
    let n_runs = eval::in_chromium(repo, &emend)?;
    // The scores of the controls, the refusal, and each run in Chromium.
    Ok(Counts::passed(2 + n_runs))
}

//! Evaluations: task sets as data, two agents as controls, scores, and reports.
//!
//! The crate runs no session. A host gives each task its own copy of the files, runs its agent on the instruction, and
//! passes the events and the resulting files to [`judge`]. `emend eval` is such a host, and so is a page with the npm
//! package: both get their scores from the same code.
//!
//! | module | contents |
//! |---|---|
//! | [`tree`], [`task`] | files of a task, and task sets in TOML |
//! | [`run_log`], [`judge`] | the record of a run, and its score |
//! | [`script`] | `do-nothing` and `reference`, two agents whose scores are known |
//! | [`recording`] | recorded runs, for replay |
//! | [`score`], [`report`] | sums over tasks, as a table, JSON lines or a page |
//! | [`sets`], [`sources`] | the built-in set, and tasks from other projects |
#![forbid(unsafe_code)]

pub mod judge;
pub mod recording;
pub mod report;
pub mod run_log;
pub mod score;
pub mod script;
pub mod sets;
pub mod sources;
pub mod statistics;
pub mod task;
pub mod tree;

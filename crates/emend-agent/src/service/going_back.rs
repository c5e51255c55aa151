//! Parts of a session record for rollbacks and rewinds: those in progress, the last one, and checkpoints of purged jobs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::checkpoint_bodies::{RollbackBody, RolledBackFileBody};
use super::records::{JobRecord, JobStatus};
use super::time::Timestamp;

/// A rollback that is being carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RollingBack {
    /// Id of the job whose checkpoint it restores.
    pub job_id: String,
    /// The request.
    pub request: RollbackBody,
    /// The expected effect.
    pub files: Vec<RolledBackFileBody>,
}

/// A rewind, or the undo of one, that is being carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewinding {
    /// Whether it is the undo of a rewind.
    pub is_undo: bool,
    /// Id of the first job that is taken back.
    pub job_id: String,
    /// Whether the conversation changes.
    pub conversation: bool,
    /// Number of messages of the conversation before the job.
    pub n_kept: u64,
    /// Number of messages after them.
    pub n_removed: u64,
    /// Whether the files change.
    pub files: bool,
    /// Workspace runs of the jobs.
    pub runs: Vec<u64>,
}

/// A rewind of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rewound {
    /// Id of the first job that was taken back.
    pub job_id: String,
    /// Number of messages that were removed from the conversation.
    pub removed_messages: u64,
    /// Whether files were changed back.
    pub files: bool,
    /// Workspace runs that were taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<u64>,
}

/// The part of a purged job that its checkpoint needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgedJob {
    /// Id of the job.
    pub job_id: String,
    /// Id of the checkpoint.
    pub checkpoint_id: String,
    /// Time of the start.
    pub created_at: Timestamp,
    /// Workspace runs of the job.
    pub runs: Vec<u64>,
}

impl PurgedJob {
    /// Returns what is left of a job, if it has a checkpoint with files.
    pub(super) fn of(job: &JobRecord, known: &BTreeSet<u64>) -> Option<Self> {
        let runs: Vec<u64> = job.runs.iter().copied().filter(|run| known.contains(run)).collect();
        let checkpoint_id = job.checkpoint_id.clone().filter(|_| !runs.is_empty())?;
        let created_at = job.started_at.unwrap_or(job.created_at);
        Some(Self { job_id: job.job_id.clone(), checkpoint_id, created_at, runs })
    }

    /// Returns a record of the job with the fields that a checkpoint needs.
    #[must_use]
    pub fn job(self, session_id: &str) -> JobRecord {
        let Self { job_id, checkpoint_id, created_at, runs } = self;
        JobRecord {
            job_id,
            session_id: session_id.to_owned(),
            status: JobStatus::Completed,
            created_at,
            checkpoint_id: Some(checkpoint_id),
            runs,
            ..JobRecord::default()
        }
    }
}

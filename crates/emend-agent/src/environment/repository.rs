//! The git repository of the root.

/// The state of a repository at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitSnapshot {
    /// The current branch; `None` if no branch is checked out or it is unknown.
    pub branch: Option<String>,
    /// Number of modified and untracked files, if counted.
    pub n_changed: Option<(usize, usize)>,
    /// First lines of the latest commit messages, newest first.
    pub recent_commits: Vec<String>,
}

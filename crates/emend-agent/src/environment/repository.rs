//! The state of the git repository that the root is in.

/// A repository at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitSnapshot {
    /// The current branch; `None` if none is checked out or it is not known.
    pub branch: Option<String>,
    /// Files that differ from the last commit and files that git does not know, if they were counted.
    pub n_changed: Option<(usize, usize)>,
    /// The first lines of the latest commits' messages, newest first.
    pub recent_commits: Vec<String>,
}

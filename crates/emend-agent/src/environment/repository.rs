//! What a prompt says of the repository: a snapshot from the session's start. The model can ask for more by itself.

use crate::environment::{ExecutionEnvironment, FilePath};

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

/// The most commits that are shown, and the most characters of each.
const COMMITS_MAX: usize = 10;
const COMMIT_CHARS_MAX: usize = 80;

impl GitSnapshot {
    /// Writes the lines of the environment block.
    pub(crate) fn describe(&self, prompt: &mut String) {
        prompt.push_str(&format!("Git branch: {}\n", self.branch.as_deref().unwrap_or("none")));
        if let Some((n_modified, n_untracked)) = self.n_changed {
            prompt.push_str(&format!("Git status: {n_modified} modified, {n_untracked} untracked\n"));
        }
        if !self.recent_commits.is_empty() {
            let commits = self.recent_commits.iter().take(COMMITS_MAX);
            let commits: Vec<String> = commits.map(|line| line.chars().take(COMMIT_CHARS_MAX).collect()).collect();
            prompt.push_str(&format!("Recent commits: {}\n", commits.join(" | ")));
        }
    }
}

/// Reads what the files of a repository at the root tell without git: the branch.
pub async fn from_files(environment: &dyn ExecutionEnvironment) -> Option<GitSnapshot> {
    let directory = FilePath::root().join(".git");
    environment.metadata(&directory).await.ok()??;
    let head = environment.read(&directory.join("HEAD")).await.unwrap_or_default();
    let head = String::from_utf8_lossy(&head);
    let branch = head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned);
    Some(GitSnapshot { branch, ..GitSnapshot::default() })
}

//! The repository in the system prompt, as it was at the start of the session.

use crate::environment::{ExecutionEnvironment, FilePath, GitSnapshot};

/// Maximum number of commits, and maximum characters of each.
const COMMITS_MAX: usize = 10;
const COMMIT_CHARS_MAX: usize = 80;

/// Appends the lines about the repository to the environment block.
pub(super) fn describe(git: &GitSnapshot, prompt: &mut String) {
    prompt.push_str(&format!("Git branch: {}\n", git.branch.as_deref().unwrap_or("none")));
    if let Some((n_modified, n_untracked)) = git.n_changed {
        prompt.push_str(&format!("Git status: {n_modified} modified, {n_untracked} untracked\n"));
    }
    if !git.recent_commits.is_empty() {
        let commits = git.recent_commits.iter().take(COMMITS_MAX);
        let commits: Vec<String> = commits.map(|line| line.chars().take(COMMIT_CHARS_MAX).collect()).collect();
        prompt.push_str(&format!("Recent commits: {}\n", commits.join(" | ")));
    }
}

/// Reads the branch from the files of a repository at the root, without git.
pub async fn from_files(environment: &dyn ExecutionEnvironment) -> Option<GitSnapshot> {
    let directory = FilePath::root().join(".git");
    environment.metadata(&directory).await.ok()??;
    let head = environment.read(&directory.join("HEAD")).await.unwrap_or_default();
    let head = String::from_utf8_lossy(&head);
    let branch = head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned);
    Some(GitSnapshot { branch, ..GitSnapshot::default() })
}

//! The names of files that programs run or obey by themselves, and those that the state of a project adds to them.

use std::path::Path;

use emend_host::ObeyedFiles;

/// Names of files and directories, in any directory and in upper or lower case. A directory stands for all that is in it.
pub(crate) const NAMES: [&str; 113] = [
    // The rules themselves, and what Emend keeps for an undo.
    ".emend.toml",
    ".config/emend",
    ".local/state/emend",
    // Settings of shells, also those that a shell loads when it enters a directory.
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".xonshrc",
    ".inputrc",
    ".config/fish",
    ".config/powershell",
    ".config/nushell",
    ".config/xonsh",
    ".config/elvish",
    ".elvish",
    ".mkshrc",
    ".bash_completion",
    ".pam_environment",
    ".envrc",
    ".autoenv",
    ".autoenv.zsh",
    ".env.fish",
    ".direnvrc",
    ".config/direnv",
    ".mise.toml",
    "mise.toml",
    "mise.*.toml",
    ".mise.*.toml",
    ".mise",
    ".config/mise",
    ".autoenv_leave.zsh",
    ".env.leave",
    // Programs that start with a session, and access from elsewhere.
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".xsessionrc",
    ".config/autostart",
    ".config/systemd",
    ".tmux.conf",
    ".config/tmux",
    ".screenrc",
    ".ssh",
    // Version control and its hooks.
    ".gitconfig",
    ".config/git",
    ".git",
    ".gitmodules",
    ".gitattributes",
    ".hg",
    ".hgrc",
    ".jj/config",
    ".jj/repo/config",
    ".sl/config",
    ".svn",
    ".jj/repo/config.toml",
    ".githooks",
    ".husky",
    ".pre-commit-config.yaml",
    "lefthook.*",
    ".lefthook.*",
    ".lefthook",
    "lefthook-local.*",
    ".overcommit.yml",
    ".simple-git-hooks.json",
    "captainhook.json",
    "grumphp.yml",
    // Tasks and settings of editors.
    ".idea",
    ".run",
    ".fleet",
    ".vscode",
    "*.code-workspace",
    ".zed",
    ".config/zed",
    ".vscodium",
    "*.sublime-project",
    "*.sublime-build",
    ".theia",
    ".devcontainer",
    ".devcontainer.json",
    ".vimrc",
    ".vimrc.local",
    ".local.vimrc",
    ".lvimrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".vim",
    ".config/nvim",
    ".helix",
    ".config/helix",
    ".vs",
    ".emacs",
    ".emacs.d",
    ".config/emacs",
    ".dir-locals.el",
    ".dir-locals-2.el",
    // Settings of other coding agents, which name programs to run.
    ".mcp.json",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".kiro",
    ".roo",
];

/// The files of one project that are protected because of its state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Obeyed(Option<ObeyedFiles>);

impl Obeyed {
    /// Returns the files of the project in `root`, a directory of this machine.
    pub(crate) fn of(root: &Path) -> Self {
        let below = NAMES.iter().copied().filter(|name| name.contains('/')).collect();
        Self(ObeyedFiles::of(root, is_known_name, below))
    }

    /// Returns whether programs run or obey the file at this path, because of its name or of the state of the project.
    pub(crate) fn contains(&self, path: &str) -> bool {
        Self::is_named(path) || self.is_of_project(path)
    }

    /// Returns whether programs run or obey the file because of the state of the project.
    pub(crate) fn is_of_project(&self, path: &str) -> bool {
        self.0.as_ref().is_some_and(|files| files.contains(path))
    }

    /// Returns whether the name of the file tells that programs run or obey it.
    pub(crate) fn is_named(path: &str) -> bool {
        has_known_name(&path.to_ascii_lowercase())
    }

    /// Returns a project whose repository is in `data` and whose hooks are in this directory, and its files.
    #[cfg(test)]
    pub(crate) fn with_hooks(directory: &str) -> (tempfile::TempDir, Self) {
        let project = tempfile::tempdir().expect("a directory for the project");
        let settings = format!("[core]\nhooksPath = {directory}\n");
        std::fs::write(project.path().join(".git"), "gitdir: data\n").expect("a repository");
        std::fs::create_dir(project.path().join("data")).expect("a directory for the repository");
        std::fs::write(project.path().join("data/config"), settings).expect("settings");
        let obeyed = Self::of(project.path());
        (project, obeyed)
    }
}

/// The name of a file without which a directory is not a repository: with it, settings beside it name programs for git to
/// run. Directories of this name are of no interest to git.
const REPOSITORY: &str = "head";

/// Returns whether a part of the path, in lower case, is in [`NAMES`], or its last part is that of a repository.
fn has_known_name(path: &str) -> bool {
    let mut rest = Some(path);
    while let Some(parts) = rest {
        let starts = |known: &&str| {
            let n_parts = known.split('/').count();
            let end = parts.match_indices('/').nth(n_parts - 1).map_or(parts.len(), |(at, _)| at);
            is_name(known, &parts[..end])
        };
        if parts == REPOSITORY || NAMES.iter().any(starts) {
            return true;
        }
        rest = parts.split_once('/').map(|(_, rest)| rest);
    }
    false
}

/// Returns whether programs obey a file or directory with this name. It is asked for many files, so that globs would be
/// too slow.
fn is_known_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|known| is_name(known, &name))
}

/// Returns whether the text, in lower case, is this known name. A `*` stands for any text.
fn is_name(known: &str, name: &str) -> bool {
    known.split_once('*').map_or(name == known, |(start, end)| {
        name.len() >= known.len() - 1 && name.starts_with(start) && name.ends_with(end)
    })
}

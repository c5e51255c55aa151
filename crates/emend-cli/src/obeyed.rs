//! The names of files that programs run or obey by themselves, and those that the state of a project adds to them.

use std::path::Path;

use emend_host::ObeyedFiles;

/// Names of files and directories, in any directory and in upper or lower case. A directory stands for all that is in it.
pub(crate) const NAMES: [&str; 84] = [
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
    ".envrc",
    ".autoenv",
    ".autoenv.zsh",
    ".env.fish",
    ".direnvrc",
    ".config/direnv",
    ".mise.toml",
    "mise.toml",
    // Programs that start with a session, and access from elsewhere.
    ".xprofile",
    ".xinitrc",
    ".config/autostart",
    ".config/systemd",
    ".tmux.conf",
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
    ".jj/repo/config",
    ".jj/repo/config.toml",
    ".githooks",
    ".husky",
    ".pre-commit-config.yaml",
    "lefthook.*",
    ".lefthook.*",
    "lefthook-local.*",
    // Tasks and settings of editors.
    ".idea",
    ".run",
    ".fleet",
    ".vscode",
    "*.code-workspace",
    ".zed",
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
pub(crate) struct Obeyed {
    /// Directories in which git reads settings or hooks, besides `.git`.
    pub(crate) directories: Vec<String>,
    pub(crate) files: Option<ObeyedFiles>,
}

impl Obeyed {
    /// Returns the files of the project in `root`, a directory of this machine.
    pub(crate) fn of(root: &Path) -> Self {
        let below = NAMES.iter().copied().filter(|name| name.contains('/')).collect();
        Self {
            directories: emend_host::settings_directories(root),
            files: ObeyedFiles::of(root, is_protected_name, below),
        }
    }

    #[cfg(test)]
    pub(crate) fn of_directories(directories: &[&str]) -> Self {
        Self { directories: directories.iter().map(|&directory| directory.to_owned()).collect(), files: None }
    }
}

/// Returns whether programs obey a file with this name. It is asked for many files, so that globs would be too slow.
fn is_protected_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|known| match known.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => name == *known,
    })
}

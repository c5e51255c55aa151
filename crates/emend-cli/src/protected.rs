//! Files that programs run or obey by themselves: a write to one is asked about even where edits are free.
//!
//! git, editors, shells and coding agents read these files without a command of the user. Files of build tools, such as
//! `Makefile` or `.cargo/config.toml`, are not here: they take effect when the user builds, as the source code does.

use std::path::Path;
use std::sync::LazyLock;

use emend_agent::approval::{Action, Rule, RuleError, ToolEffect};
use emend_agent::search::glob::GlobPattern;

use crate::settings::literal_glob;

/// Names of files and directories, in any directory and in upper or lower case. A directory stands for all that is in it.
const NAMES: [&str; 68] = [
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
    ".inputrc",
    ".config/fish",
    ".config/powershell",
    ".envrc",
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
    ".ssh",
    // Version control and its hooks.
    ".gitconfig",
    ".config/git",
    ".git",
    ".gitmodules",
    ".hg",
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
    ".cursor",
    ".gemini",
];

/// The name of a file without which a directory is not a repository: with it, settings beside it name programs for git to
/// run. Directories of this name are of no interest to git.
const REPOSITORY: &str = "head";

static GLOBS: LazyLock<Vec<GlobPattern>> =
    LazyLock::new(|| patterns(&[]).iter().filter_map(|text| glob(text)).collect());

fn glob(text: &str) -> Option<GlobPattern> {
    GlobPattern::new(text).ok()
}

/// Returns the patterns of all protected files. `more` are directories of this project.
fn patterns(more: &[String]) -> Vec<String> {
    let named = NAMES.iter().flat_map(|name| {
        let name = any_case(name);
        [format!("**/{name}"), format!("**/{name}/**")]
    });
    let more = more.iter().map(|directory| literal_glob(directory));
    let more = more.flat_map(|directory| [format!("{directory}/**"), directory]);
    let repository = format!("**/{}", any_case(REPOSITORY));
    named.chain([repository]).chain(more).collect()
}

/// Returns a glob for the name in upper and lower case: some file systems ignore it.
fn any_case(name: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphabetic() {
        true => format!("[{}{}]", letter.to_ascii_lowercase(), letter.to_ascii_uppercase()),
        false => letter.to_string(),
    };
    name.chars().map(letter).collect()
}

/// Returns the rules that ask before a write to a protected file. `more` are directories of this project.
pub(crate) fn rules(more: &[String]) -> Result<Vec<Rule>, RuleError> {
    let ask = |pattern: &String| Rule::for_effect_on(Action::Ask, ToolEffect::Writes, pattern);
    patterns(more).iter().map(ask).collect()
}

/// Returns whether this path is a protected file.
pub(crate) fn is_protected(path: &str, more: &[String]) -> bool {
    let is_below = |directory: &String| Path::new(path).starts_with(directory);
    GLOBS.iter().any(|glob| glob.is_match(path)) || more.iter().any(is_below)
}

/// The most alternatives of a pattern that are looked at. A pattern with more names nothing.
const ALTERNATIVES_MAX: usize = 1_000;

/// Returns whether this pattern for paths is about protected files alone: `.git/hooks/*` is, `src/**` is not.
pub(crate) fn is_named_by(pattern: &str, more: &[String]) -> bool {
    // A negated pattern is about all other files.
    !pattern.starts_with('!') && all_are_protected(pattern, more, &mut { ALTERNATIVES_MAX })
}

/// Returns whether each alternative of a pattern is protected. Braces inside of others make an alternative that names nothing.
/// `n_left` is the number of alternatives that may still be looked at: it doubles with each pair of braces.
fn all_are_protected(pattern: &str, more: &[String], n_left: &mut usize) -> bool {
    let braces = pattern.split_once('{').and_then(|(start, rest)| Some((start, rest.split_once('}')?)));
    let Some((start, (inside, end))) = braces else {
        *n_left = n_left.saturating_sub(1);
        return *n_left > 0 && is_protected(pattern, more);
    };
    if inside.contains('{') || end.contains('}') && !end.contains('{') {
        return false;
    }
    inside.split(',').all(|part| all_are_protected(&format!("{start}{part}{end}"), more, n_left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_a_protected_file_only_by_its_name() {
        assert_eq!(GLOBS.len(), 2 * NAMES.len() + 1);
        for path in [
            ".git",
            ".git/**",
            "a/.GIT/hooks/x",
            ".vscode/*.json",
            "x.code-workspace",
            "t/HEAD",
            "hooks/a",
            ".Config/Emend/config.toml",
            "home/.bashrc",
            ".git/{config,hooks/**}",
            "{.git,.hg}/{a,b}",
        ] {
            assert!(is_named_by(path, &["hooks".to_owned()]), "{path}");
        }
        let many = ".git/".to_owned() + &"{a,b}".repeat(40);
        for path in [
            many.as_str(),
            "src/Head/index.ts",
            "**",
            "*",
            "src/**",
            "*.json",
            "**/*",
            "overhead",
            ".gitignore",
            "a/hooks",
            ".g*/config",
            "!a/.git/b",
            "{x/.git/b,**}",
            "{x,{.git/b,**}}",
            "{.git/a,b}/{c,.git}",
        ] {
            assert!(!is_named_by(path, &["hooks".to_owned()]), "{path}");
        }
    }
}

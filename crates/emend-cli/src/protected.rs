//! Files that programs run or obey by themselves: a write to one is asked about even where edits are free.
//!
//! git, editors, shells and coding agents read these files without a command of the user. Files of build tools, such as
//! `Makefile` or `.cargo/config.toml`, are not here: they take effect when the user builds, as the source code does.

use std::path::Path;
use std::sync::LazyLock;

use emend_agent::approval::{Action, PathTest, Rule, RuleError, ToolEffect};
use emend_agent::search::glob::GlobPattern;
use emend_host::ObeyedFiles;
use emend_llm::Shared;

use crate::obeyed::{NAMES, Obeyed};
use crate::settings::literal_glob;

/// The name of a file without which a directory is not a repository: with it, settings beside it name programs for git to
/// run. Directories of this name are of no interest to git.
const REPOSITORY: &str = "head";

struct OfProject(ObeyedFiles);

impl PathTest for OfProject {
    fn is_about(&self, path: &str) -> bool {
        self.0.contains(path)
    }
}

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
pub(crate) fn rules(more: &Obeyed) -> Result<Vec<Rule>, RuleError> {
    let ask = |pattern: &String| Rule::for_effect_on(Action::Ask, ToolEffect::Writes, pattern);
    let mut rules = patterns(&more.directories).iter().map(ask).collect::<Result<Vec<_>, _>>()?;
    rules.extend(more.files.as_ref().map(|files| {
        let files = Shared::new(OfProject(files.clone()));
        Rule::for_effect_where(Action::Ask, ToolEffect::Writes, "(files that programs obey)", files)
    }));
    Ok(rules)
}

/// Returns whether this path is a protected file.
pub(crate) fn is_protected(path: &str, more: &Obeyed) -> bool {
    let is_below = |directory: &String| Path::new(path).starts_with(directory);
    GLOBS.iter().any(|glob| glob.is_match(path))
        || more.directories.iter().any(is_below)
        || more.files.as_ref().is_some_and(|files| files.contains(literal_part(path)))
}

/// Returns a path as it is, and of a pattern the directory in which all its files are.
fn literal_part(pattern: &str) -> &str {
    let Some(at) = pattern.find(['*', '?', '[']).filter(|_| !Path::new(pattern).exists()) else { return pattern };
    pattern[..at].rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The most alternatives of a pattern that are looked at. A pattern with more names nothing.
const ALTERNATIVES_MAX: usize = 1_000;

/// Returns whether this pattern for paths is about protected files alone: `.git/hooks/*` is, `src/**` is not.
pub(crate) fn is_named_by(pattern: &str, more: &Obeyed) -> bool {
    // A negated pattern is about all other files.
    !pattern.starts_with('!') && all_are_protected(pattern, more, &mut { ALTERNATIVES_MAX })
}

/// Returns whether each alternative of a pattern is protected. Braces inside of others make an alternative that names nothing.
/// `n_left` is the number of alternatives that may still be looked at: it doubles with each pair of braces.
fn all_are_protected(pattern: &str, more: &Obeyed, n_left: &mut usize) -> bool {
    let braces = pattern.split_once('{').and_then(|(start, rest)| Some((start, rest.split_once('}')?)));
    let Some((start, (inside, end))) = braces else {
        let is_left = *n_left > 0;
        *n_left = n_left.saturating_sub(1);
        return is_left && is_protected(pattern, more);
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
        let hooks = Obeyed::of_directories(&["hooks"]);
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
            "docs/.gitattributes",
            ".lvimrc",
            ".local.vimrc",
            ".vimrc.local",
            ".screenrc",
            ".login",
            ".xonshrc",
            ".autoenv",
            ".autoenv.zsh",
            ".env.fish",
            ".hgrc",
            ".jj/repo/config",
            ".jj/repo/config.toml",
            ".codex/config.toml",
            ".kiro/settings/mcp.json",
            ".roo/mcp.json",
        ] {
            assert!(is_named_by(path, &hooks), "{path}");
        }
        let many = ".git/".to_owned() + &"{a,b}".repeat(12);
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
            assert!(!is_named_by(path, &hooks), "{path}");
        }
    }
}

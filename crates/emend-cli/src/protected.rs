//! Files that programs run or obey by themselves: a write to one is asked about even where edits are free.
//!
//! git, editors, shells and coding agents read these files without a command of the user. Files of build tools, such as
//! `Makefile` or `.cargo/config.toml`, are not here: they take effect when the user builds, as the source code does.

use std::path::Path;

use emend_agent::approval::{Action, PathTest, Rule, ToolEffect};
use emend_llm::Shared;

use crate::obeyed::Obeyed;

impl PathTest for Obeyed {
    fn is_about(&self, path: &str) -> bool {
        self.contains(path)
    }
}

/// Returns the rule that asks before a write to a protected file. `more` are those of this project.
pub(crate) fn rule(more: &Obeyed) -> Rule {
    let files = Shared::new(more.clone());
    Rule::for_effect_where(Action::Ask, ToolEffect::Writes, "(files that programs run or obey)", files)
}

/// Returns whether the path is a protected file, or the pattern is about files in a protected directory.
pub(crate) fn is_protected(path: &str, more: &Obeyed) -> bool {
    Obeyed::is_named(path) || more.is_of_project(literal_part(path))
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
    use std::collections::HashMap;

    use super::*;
    use crate::obeyed::NAMES;

    #[test]
    fn a_pattern_names_a_protected_file_only_by_its_name() {
        let (_project, hooks) = Obeyed::with_hooks("hooks");
        // The npm package has the same rule, tested with the same patterns.
        let patterns: HashMap<String, Vec<String>> =
            serde_json::from_str(include_str!("../../../tests/protected/patterns.json")).expect("the file is JSON");
        for path in patterns["protected"].iter().chain(&patterns["protected_in_a_project"]) {
            assert!(is_named_by(path, &hooks), "{path}");
        }
        for name in NAMES {
            let name = name.replace('*', "x");
            for path in [name.clone(), format!("a/{}/b", name.to_uppercase()), format!("a/b/{name}")] {
                assert!(is_named_by(&path, &Obeyed::default()), "{path}");
            }
        }
        let many = ".git/".to_owned() + &"{a,b}".repeat(12);
        assert!(!is_named_by(&many, &hooks));
        for path in &patterns["others"] {
            assert!(!is_named_by(path, &hooks), "{path}");
        }
    }
}

//! Settings of git that a process passes in the environment. They override the files of a repository.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

const COUNT: &str = "GIT_CONFIG_COUNT";

/// A repository must be named or lie in `.git`. Otherwise any directory with the files of a repository is one, and its
/// settings name programs that git runs; an agent that may only write texts could write them.
const NO_BARE: (&str, &str) = ("safe.bareRepository", "explicit");

/// Adds settings after those that `variables` have. Without effect if git would not read them.
pub(crate) fn add(variables: &mut BTreeMap<OsString, OsString>, settings: &[(&str, &str)]) {
    let known = variables.get(OsStr::new(COUNT)).filter(|count| !count.is_empty());
    // git refuses to run with any other count.
    let Ok(n_known) = known.map_or(Ok(0), |count| count.to_str().unwrap_or_default().parse::<usize>()) else { return };
    for (at, (key, value)) in (n_known..).zip(settings) {
        variables.insert(format!("GIT_CONFIG_KEY_{at}").into(), (*key).into());
        variables.insert(format!("GIT_CONFIG_VALUE_{at}").into(), (*value).into());
    }
    variables.insert(COUNT.into(), (n_known + settings.len()).to_string().into());
}

/// Adds the settings for commands of an agent, unless the user has made the choice there.
pub(crate) fn add_for_commands(variables: &mut BTreeMap<OsString, OsString>) {
    let is_choice = |(name, value): (&OsString, &OsString)| {
        let name = name.to_string_lossy();
        name.starts_with("GIT_CONFIG_KEY_") && value.eq_ignore_ascii_case(NO_BARE.0)
    };
    if !variables.iter().any(is_choice) {
        add(variables, &[NO_BARE]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &[(&str, &str)], expected: &[(&str, &str)]) {
        let pairs = |list: &[(&str, &str)]| -> BTreeMap<OsString, OsString> {
            list.iter().map(|(name, value)| (name.into(), value.into())).collect()
        };
        let mut variables = pairs(before);
        add_for_commands(&mut variables);
        assert_eq!(variables, pairs(expected));
    }

    #[test]
    fn settings_follow_those_of_the_user() {
        let (count, key, value) = ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0");
        check(&[], &[(count, "1"), (key, "safe.bareRepository"), (value, "explicit")]);
        let own = [(key, "core.pager"), (value, "cat")];
        let ours = [("GIT_CONFIG_KEY_1", "safe.bareRepository"), ("GIT_CONFIG_VALUE_1", "explicit")];
        check(&[&own[..], &[(count, "1")]].concat(), &[&own[..], &ours, &[(count, "2")]].concat());
        let choice = [(count, "1"), (key, "safe.barerepository"), (value, "all")];
        check(&choice, &choice);
        check(&[(count, "many")], &[(count, "many")]);
    }
}

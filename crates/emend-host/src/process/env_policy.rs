//! Which variables of this process a command gets to see (S2 §4.2).
//!
//! This keeps keys out of what a model is shown by accident. It is no wall: a command may read files that hold others.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// What a command inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// Everything but what looks like a secret.
    #[default]
    Harmless,
    /// Everything, secrets too.
    All,
    /// Only what nearly every program needs, such as `PATH` and `HOME`.
    Core,
    /// Nothing.
    None,
}

/// Which variables a command gets to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvPolicy {
    /// What it inherits.
    pub inherit: Inherit,
    /// Names that pass where secrets are left out, e.g. `CI_TOKEN`.
    pub keep: Vec<String>,
    /// Names that never pass.
    pub drop: Vec<String>,
}

/// Variables that pass by name, whatever they look like.
const CORE: [&str; 15] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TEMP",
    "TMP",
    "TZ",
    "PWD",
    "SystemRoot",
    "ComSpec",
];

/// Where languages keep their tools and packages.
const TOOLS: [&str; 18] = [
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "NVM_DIR",
    "NODE_PATH",
    "PYENV_ROOT",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "JAVA_HOME",
    "RBENV_ROOT",
    "GEM_HOME",
    "DENO_DIR",
    "DOTNET_ROOT",
    "ANDROID_HOME",
];

/// What tells git which repository it is in, wherever it runs; hooks of git's are run with some of it.
const REPOSITORY: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// How names of secrets end, in upper case; the word alone counts too.
const SECRET: [&str; 9] =
    ["API_KEY", "SECRET", "TOKEN", "PASSWORD", "CREDENTIAL", "PASSWD", "CREDENTIALS", "ACCESS_KEY", "PRIVATE_KEY"];

/// The same where they need not be words of their own, such as `PGPASSWORD`.
const SECRET_WITHIN: [&str; 2] = ["PASSWORD", "PASSWD"];

fn is_core(name: &str) -> bool {
    CORE.contains(&name) || TOOLS.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_")
}

/// Returns whether a variable of that name is taken for a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    SECRET.iter().any(|end| name.strip_suffix(end).is_some_and(|start| start.is_empty() || start.ends_with('_')))
        || SECRET_WITHIN.iter().any(|end| name.ends_with(end))
}

/// Returns whether a variable names where a provider is together with a password or a key for it.
fn is_address_with_secret(name: &str, value: &OsStr) -> bool {
    name.ends_with("_BASE_URL") && value.to_string_lossy().contains(['@', '?'])
}

impl EnvPolicy {
    /// Returns the policy for commands in a copy of the project, whose git must not work on the repository of the original.
    pub(crate) fn in_copy(mut self) -> Self {
        self.drop.extend(REPOSITORY.map(str::to_owned));
        self
    }

    /// Returns what a command sees of `variables`.
    pub(crate) fn of(&self, variables: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
        variables.filter(|(name, value)| name.to_str().is_some_and(|name| self.passes(name, value))).collect()
    }

    fn passes(&self, name: &str, value: &OsStr) -> bool {
        if self.drop.iter().any(|dropped| dropped == name) {
            return false;
        }
        self.keep.iter().any(|kept| kept == name)
            || match self.inherit {
                Inherit::All => true,
                Inherit::Harmless => is_core(name) || !(is_secret(name) || is_address_with_secret(name, value)),
                Inherit::Core => is_core(name),
                Inherit::None => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::covers;

    const NAMES: [&str; 15] = [
        "PATH",
        "HOME",
        "LC_ALL",
        "CARGO_HOME",
        "EDITOR",
        "OPENAI_API_KEY",
        "my_secret",
        "GITHUB_TOKEN",
        "Db_Password",
        "PGPASSWORD",
        "GCP_CREDENTIAL",
        "TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "TOKENIZERS",
        "MONKEY",
    ];

    #[track_caller]
    fn check(policy: &EnvPolicy, expected: &[&str]) {
        let variables = NAMES.iter().map(|name| (OsString::from(name), OsString::from("value")));
        let seen = policy.of(variables);
        let seen: Vec<&str> = NAMES.into_iter().filter(|name| seen.contains_key(&OsString::from(name))).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn secrets_stay_here_unless_they_are_asked_for() {
        covers("environment.secrets");
        let harmless = ["PATH", "HOME", "LC_ALL", "CARGO_HOME", "EDITOR", "TOKENIZERS", "MONKEY"];
        check(&EnvPolicy::default(), &harmless);
        check(&EnvPolicy { inherit: Inherit::All, ..EnvPolicy::default() }, &NAMES);
        let core = ["PATH", "HOME", "LC_ALL", "CARGO_HOME"];
        check(&EnvPolicy { inherit: Inherit::Core, ..EnvPolicy::default() }, &core);
        check(&EnvPolicy { inherit: Inherit::None, ..EnvPolicy::default() }, &[]);
        let own = EnvPolicy {
            inherit: Inherit::Core,
            keep: vec!["GITHUB_TOKEN".to_owned()],
            drop: vec!["CARGO_HOME".to_owned()],
        };
        check(&own, &["PATH", "HOME", "LC_ALL", "GITHUB_TOKEN"]);
    }

    #[test]
    fn git_in_a_copy_is_not_told_of_the_original() {
        let variables = ["GIT_DIR", "GIT_INDEX_FILE", "GIT_AUTHOR_NAME"];
        let variables = || variables.map(|name| (OsString::from(name), OsString::from("value"))).into_iter();
        assert_eq!(EnvPolicy::default().of(variables()).len(), 3);
        let seen = EnvPolicy::default().in_copy().of(variables());
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["GIT_AUTHOR_NAME"]);
    }

    #[test]
    fn an_address_with_a_password_or_a_key_is_a_secret() {
        #[track_caller]
        fn check(value: &str, passes: bool) {
            let variables = [(OsString::from("OPENAI_BASE_URL"), OsString::from(value))].into_iter();
            assert_eq!(EnvPolicy::default().of(variables).len(), usize::from(passes), "{value}");
        }
        check("https://a.b/v1", true);
        check("https://me:pass@a.b/v1", false);
        check("https://a.b/v1?key=x", false);
    }
}

//! Selects the environment variables that commands inherit from this process.
//!
//! The policy keeps keys out of command output that a model sees by accident. It does not protect against a command that
//! looks for keys: it may read them from files. On Windows, names are compared without regard to case.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The set of environment variables that commands inherit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// All variables, except those whose name or value looks like a secret.
    #[default]
    Harmless,
    /// All variables, including secrets.
    All,
    /// Only variables that most programs and toolchains need, such as `PATH`, `HOME` and `CARGO_HOME`.
    Core,
    /// No variables.
    None,
}

/// The environment variables that commands inherit. A name in both lists is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvPolicy {
    /// The variables without the exceptions below.
    pub inherit: Inherit,
    /// Names that are inherited in any case, e.g. `CI_TOKEN`.
    pub keep: Vec<String>,
    /// Names that are never inherited.
    pub drop: Vec<String>,
}

/// Variables that most programs need.
const CORE: [&str; 13] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TEMP", "TMP", "TZ", "PWD"];

/// Variables that most programs need on Windows.
const WINDOWS: [&str; 22] = [
    "ALLUSERSPROFILE",
    "APPDATA",
    "CommonProgramFiles",
    "COMPUTERNAME",
    "ComSpec",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "ProgramData",
    "ProgramFiles",
    "ProgramFiles(x86)",
    "ProgramW6432",
    "PUBLIC",
    "SystemDrive",
    "SystemRoot",
    "USERNAME",
    "USERPROFILE",
    "windir",
];

/// Directories of toolchains and packages.
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

/// Variables that point git to a repository regardless of the working directory. Git sets some of them for its hooks.
#[cfg(any(unix, test))]
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

/// Last words of secrets' names, in upper case. The word alone counts too.
const SECRET: [&str; 17] = [
    "KEY",
    "ACCESS_KEY_ID",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
    "PAT",
    "SK",
    "PASS",
    "PWD",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
    "JWT",
];

/// Endings of secrets' names that need not be separate words, as in `PGPASSWORD`.
const SECRET_WITHIN: [&str; 3] = ["PASSWORD", "PASSWD", "APIKEY"];

/// Beginnings of keys that providers of models and of code give out.
const KEYS: [&str; 10] =
    ["sk-", "sk_live_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AIzaSy"];

/// Variables that end like a secret's name.
const HARMLESS: [&str; 1] = ["OLDPWD"];

fn is_core(name: &str) -> bool {
    let lists = [&CORE[..], &TOOLS, &WINDOWS];
    lists.into_iter().flatten().any(|known| is_same(known, name)) || name.starts_with("LC_") || name.starts_with("XDG_")
}

/// Returns whether two names are the same variable on this system.
fn is_same(name: &str, other: &str) -> bool {
    if cfg!(windows) { name.eq_ignore_ascii_case(other) } else { name == other }
}

/// Returns whether a variable with this name counts as a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    if HARMLESS.contains(&name.as_str()) {
        return false;
    }
    SECRET.iter().any(|end| name.strip_suffix(end).is_some_and(|start| start.is_empty() || start.ends_with('_')))
        || SECRET_WITHIN.iter().any(|end| name.ends_with(end))
}

/// Returns whether a value is an address or connection string that contains a password, or a provider's address with
/// any addition.
fn holds_secret(name: &str, value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let has_password = value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', ',']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
    });
    has_password
        || KEYS.iter().any(|key| value.starts_with(key))
        || value.to_lowercase().replace("pwd=", "password=").contains("password=")
        || name.ends_with("_BASE_URL") && value.contains(['@', '?'])
}

impl EnvPolicy {
    /// Returns the policy for commands in a copy of the project, where git must not use the original repository.
    #[cfg(any(unix, test))]
    pub(crate) fn in_copy(mut self) -> Self {
        self.drop.extend(REPOSITORY.map(str::to_owned));
        self
    }

    /// Returns the variables that a command inherits.
    pub(crate) fn of(&self, variables: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
        variables.filter(|(name, value)| name.to_str().is_some_and(|name| self.passes(name, value))).collect()
    }

    fn passes(&self, name: &str, value: &OsStr) -> bool {
        if self.drop.iter().any(|dropped| is_same(dropped, name)) {
            return false;
        }
        self.keep.iter().any(|kept| is_same(kept, name))
            || match self.inherit {
                Inherit::All => true,
                Inherit::Harmless => is_core(name) || !(is_secret(name) || holds_secret(name, value)),
                Inherit::Core => is_core(name),
                Inherit::None => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::covers;

    const NAMES: [&str; 26] = [
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
        "GH_PAT",
        "STRIPE_SK",
        "AWS_ACCESS_KEY_ID",
        "SIGNING_KEY",
        "DB_PASS",
        "DB_PWD",
        "GPG_PASSPHRASE",
        "REDISCLI_AUTH",
        "OLDPWD",
        "SSH_AUTH_SOCK",
        "TASK",
    ];

    #[track_caller]
    fn check(policy: &EnvPolicy, expected: &[&str]) {
        let variables = NAMES.iter().map(|name| (OsString::from(name), OsString::from("value")));
        let seen = policy.of(variables);
        let seen: Vec<&str> = NAMES.into_iter().filter(|name| seen.contains_key(&OsString::from(name))).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn secrets_are_inherited_only_on_request() {
        covers("environment.secrets");
        let harmless = [
            "PATH",
            "HOME",
            "LC_ALL",
            "CARGO_HOME",
            "EDITOR",
            "TOKENIZERS",
            "MONKEY",
            "OLDPWD",
            "SSH_AUTH_SOCK",
            "TASK",
        ];
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
    fn names_differ_by_case_except_on_windows() {
        #[track_caller]
        fn check(policy: &EnvPolicy, name: &str, passes: bool) {
            assert_eq!(policy.passes(name, OsStr::new("value")), passes, "{name}");
        }
        let core =
            EnvPolicy { inherit: Inherit::Core, keep: vec!["CI_Token".to_owned()], drop: vec!["TMP".to_owned()] };
        for name in ["PATH", "CI_Token", "SystemRoot"] {
            check(&core, name, true);
        }
        check(&core, "TMP", false);
        for name in ["Path", "ci_token", "SYSTEMROOT"] {
            check(&core, name, cfg!(windows));
        }
        check(&EnvPolicy { inherit: Inherit::All, ..core }, "tmp", !cfg!(windows));
    }

    #[test]
    fn git_in_a_copy_does_not_see_the_original_repository() {
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

    #[test]
    fn a_value_with_a_password_is_a_secret() {
        #[track_caller]
        fn check(value: &str, passes: bool) {
            let variables = [(OsString::from("DATABASE_URL"), OsString::from(value))].into_iter();
            assert_eq!(EnvPolicy::default().of(variables).len(), usize::from(passes), "{value}");
        }
        check("postgres://u:pw@h/x", false);
        check("mongodb+srv://u:p%40w@h1,h2/x?w=1", false);
        check("redis://:pw@h:6379", false);
        check("a=http://h b=amqp://u:pw@h", false);
        check("jdbc:postgresql://h/x?user=u&password=pw", false);
        check("Server=h;User=u;Pwd=pw;", false);
        check("sk-proj-abc", false);
        check("github_pat_abc", false);
        check("sketch", true);
        check("postgres://u@h:5432/x", true);
        check("https://h:8080/a:b@c", true);
        check("http://h/?next=a@b", true);
        check("user:pw@h", true);
    }
}

//! The places outside of a project that lead into it: settings of the user that programs read in every project, and
//! variables of the environment that name programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::git_settings::Setting;

/// Variables whose value is the path of a file or directory that a program obeys.
const PATHS: [&str; 7] =
    ["BASH_ENV", "ENV", "ZDOTDIR", "INPUTRC", "PYTHONSTARTUP", "GIT_TEMPLATE_DIR", "GIT_EXEC_PATH"];
/// Variables whose value is a command, or the options of one.
const COMMANDS: [&str; 15] = [
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "SSH_ASKPASS",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "NODE_OPTIONS",
];

/// Places of the user: directories and files, and the programs that variables name.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserPlaces {
    /// The user's own directory, and those of settings and state.
    pub(crate) directories: Vec<UserDirectory>,
    /// Files of settings that git reads in every repository.
    pub(crate) git_files: Vec<PathBuf>,
    /// Settings of git in variables.
    pub(crate) git_settings: Vec<Setting>,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) commands: Vec<String>,
}

/// A directory whose files are known by another path.
#[derive(Clone, Debug)]
pub(crate) struct UserDirectory {
    pub(crate) place: PathBuf,
    /// The path that it stands for, with a `/` at the end, such as `.config/`; empty for the user's own directory.
    pub(crate) prefix: &'static str,
}

impl UserPlaces {
    /// Returns the places that these variables and the user's own directory tell.
    pub(crate) fn of(home: Option<&Path>, variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let at_home = |name: &str| home.map(|home| home.join(name));
        let config = variable("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| at_home(".config"));
        let state = variable("XDG_STATE_HOME").map(PathBuf::from).or_else(|| at_home(".local/state"));
        let directories = [(at_home(""), ""), (config.clone(), ".config/"), (state, ".local/state/")];
        let directories =
            directories.into_iter().filter_map(|(place, prefix)| Some(UserDirectory { place: place?, prefix }));
        let system = match (variable("GIT_CONFIG_NOSYSTEM"), variable("GIT_CONFIG_SYSTEM")) {
            (Some(no), _) if !matches!(no.as_str(), "0" | "false" | "no" | "off") => None,
            (_, named) => Some(named.map_or_else(|| PathBuf::from("/etc/gitconfig"), PathBuf::from)),
        };
        let global = match variable("GIT_CONFIG_GLOBAL") {
            Some(named) => vec![PathBuf::from(named)],
            None => config.map(|config| config.join("git/config")).into_iter().chain(at_home(".gitconfig")).collect(),
        };
        let count: usize = variable("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok()).unwrap_or_default();
        let setting = |number: usize| {
            let key = variable(&format!("GIT_CONFIG_KEY_{number}"))?.to_ascii_lowercase();
            let (section, name) = (key.split('.').next()?, key.rsplit('.').next()?);
            let value = variable(&format!("GIT_CONFIG_VALUE_{number}"))?;
            Some(Setting { section: section.to_owned(), name: name.to_owned(), value })
        };
        Self {
            directories: directories.collect(),
            git_files: system.into_iter().chain(global).collect(),
            git_settings: (0..count.min(1_000)).filter_map(setting).collect(),
            paths: PATHS.iter().filter_map(|name| variable(name)).map(PathBuf::from).collect(),
            commands: COMMANDS.iter().filter_map(|name| variable(name)).collect(),
        }
    }

    /// Returns the places of this process.
    pub(crate) fn of_process() -> Self {
        let text = |value: &OsStr| value.to_str().map(str::to_owned);
        Self::of(std::env::home_dir().as_deref(), |name| text(&std::env::var_os(name)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_name_the_settings_of_git_as_git_reads_them() {
        let places = |variables: &[(&str, &str)]| {
            let variable = |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
            UserPlaces::of(Some(Path::new("/home/u")), |name| variable(name).map(str::to_owned))
        };
        let files = |variables: &[(&str, &str)]| {
            places(variables).git_files.iter().map(|file| file.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(files(&[]), ["/etc/gitconfig", "/home/u/.config/git/config", "/home/u/.gitconfig"]);
        assert_eq!(files(&[("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/g")]), ["/g"]);
        assert_eq!(files(&[("GIT_CONFIG_SYSTEM", "/s"), ("XDG_CONFIG_HOME", "/c")])[..2], ["/s", "/c/git/config"]);
        let counted = places(&[
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "Core.HooksPath"),
            ("GIT_CONFIG_VALUE_0", "h"),
            ("GIT_CONFIG_KEY_1", "filter.x.y.Clean"),
            ("GIT_CONFIG_VALUE_1", "c"),
            ("GIT_CONFIG_KEY_2", "core.editor"),
            ("GIT_CONFIG_VALUE_2", "not counted"),
        ]);
        let found: Vec<_> =
            counted.git_settings.iter().map(|found| [&found.section, &found.name, &found.value]).collect();
        assert_eq!(found, [["core", "hookspath", "h"], ["filter", "clean", "c"]]);
    }
}

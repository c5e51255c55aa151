//! The first script on a far side: the directory, its project, the system and its programs.

use super::far::{FarError, Runner};
use super::script::{quote, run_script};

/// Finds the root of the project as on this machine: that of the git repository, or else the directory itself. The home
/// directory and `/` are a root only of a project that starts there. A repository of a third user does not count.
const PROBE: &str = r#"LC_ALL=C
export LC_ALL
[ -e "$emend_directory" ] || exit 2
cd -P -- "$emend_directory" 2>/dev/null || { [ -d "$emend_directory" ] && exit 3; exit 4; }
emend_here=$(pwd -P)
emend_home=$(cd -P -- "${HOME:-/}" 2>/dev/null && pwd -P)
emend_owner() {
  set -- $(ls -ldn -- "$1")
  echo "$3"
}
emend_root=$emend_here
emend_look=$emend_here
while [ "$emend_look" != / ] && [ "$emend_look" != "$emend_home" ]; do
  if [ -e "$emend_look/.git" ] && [ ! -L "$emend_look/.git" ]; then
    case " $(emend_owner "$emend_here") $(id -u) 0 " in
      *" $(emend_owner "$emend_look/.git") "*)
        emend_root=$emend_look
        break
        ;;
    esac
  fi
  emend_look=${emend_look%/*}
  emend_look=${emend_look:-/}
done
emend_shell=sh
for emend_found in /bin/bash /usr/bin/bash /usr/local/bin/bash; do
  if [ -x "$emend_found" ]; then emend_shell=bash; fi
done
emend_marks=sums
if stat --printf %.9Y / >/dev/null 2>&1; then emend_marks=times; fi
printf '%s\n' "$emend_here" "$emend_root" "$(uname -s)" "$(uname -r)" "$emend_shell" "$(umask)" "$emend_marks"
"#;

/// The answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// The directory with all links followed.
    pub(super) directory: String,
    /// The root of its project.
    pub(super) root: String,
    /// `linux` or `darwin`.
    pub(super) platform: &'static str,
    /// Name and version of the system.
    pub(super) os_version: String,
    /// Whether commands run in bash.
    pub(super) is_bash: bool,
    /// Permission bits of a new file.
    pub(super) new_mode: u32,
    /// Whether `stat` tells times in nanoseconds.
    pub(super) has_fine_times: bool,
}

/// Examines `directory` on the far side.
pub(super) fn probe(runner: &dyn Runner, directory: &str) -> Result<Probe, FarError> {
    let script = format!("emend_directory={}\n{PROBE}", quote(directory));
    let answer = run_script(runner, &script, b"")?;
    match answer.status {
        0 => {}
        2 => return Err(FarError::Missing),
        3 => return Err(FarError::Denied),
        4 => return Err(FarError::Unfit("it is not a directory".to_owned())),
        status => return Err(FarError::Other(format!("the first script there ended with status {status}"))),
    }
    let text = String::from_utf8(answer.output).map_err(|_| FarError::Unfit("its path is not UTF-8".to_owned()))?;
    let lines: Vec<&str> = text.lines().collect();
    let [directory, root, system, release, shell, umask, marks] = lines[..] else {
        return Err(FarError::Other("the first script there has an answer of another form".to_owned()));
    };
    Ok(Probe {
        directory: directory.to_owned(),
        root: root.to_owned(),
        platform: if system == "Darwin" { "darwin" } else { "linux" },
        os_version: format!("{system} {release}"),
        is_bash: shell == "bash",
        new_mode: 0o666 & !u32::from_str_radix(umask, 8).unwrap_or(0o022),
        has_fine_times: marks == "times",
    })
}

//! Steps on files by scripts, for containers, which have no file protocol.
//!
//! Each script enters the directory of a path and checks that it is the one named, so that a directory that is swapped
//! for a link leads nowhere. Paths go to the script line by line, so names with a line break are left out. Only programs
//! that BusyBox has, too, are used.

use std::sync::Arc;

use emend_agent::environment::FilePath;

use super::far::{Attributes, Far, FarError, Found, Kind, Listed, Runner, temporary_name};
use super::script::{quote, run_script};

/// Defines `emend_in PATH`, which enters the directory of a path and fails if the way there has a link, and sets
/// `emend_name`, the name in it.
const ENTER: &str = r#"LC_ALL=C
export LC_ALL
emend_in() {
  emend_name=${1##*/}
  case $1 in
    */*) emend_above=${1%/*} ;;
    *) emend_above= ;;
  esac
  emend_above=$emend_prefix${emend_above:+/$emend_above}
  cd -P -- "${emend_above:-/}" 2>/dev/null && [ "$(pwd -P)" = "${emend_above:-/}" ]
}
"#;

/// Prints the entry of each path, or `-`. A link is followed by a line with its target.
const LOOK: &str = r#"while IFS= read -r emend_path; do
  emend_full=$emend_prefix/$emend_path
  emend_full=${emend_full%/}
  emend_full=${emend_full:-/}
  if emend_stat=$(stat -c '%f %s %Y %h %u %g' -- "$emend_full" 2>&1); then
    printf '%s\n' "$emend_stat"
    if [ -L "$emend_full" ]; then readlink -- "$emend_full"; fi
  else
    case $emend_stat in
      *denied*) echo denied ;;
      *) echo - ;;
    esac
  fi
done
"#;

/// Prints the entries of each directory after a line `+`, or `-` for an unreadable directory.
const LIST: &str = r#"emend_break='
'
while IFS= read -r emend_path; do
  if emend_in "$emend_path/" && [ -r . ]; then
    echo +
    find . ! -name . -prune ! -name "*$emend_break*" -exec stat -c '%f %s %Y %h %u %g %n' -- {} + 2>/dev/null
  else
    echo -
  fi
done
"#;

/// Prints each file after a line with its size, or a line with the reason why it cannot be read.
const READ: &str = r#"while IFS= read -r emend_path; do
  if ! emend_in "$emend_path" || [ ! -e "./$emend_name" ]; then echo missing
  elif [ -L "./$emend_name" ] || [ ! -f "./$emend_name" ]; then echo unfit
  elif [ ! -r "./$emend_name" ]; then echo denied
  else
    emend_size=$(stat -c %s -- "./$emend_name")
    if [ "$emend_size" = 0 ]; then emend_size=$(head -c 1048576 <"./$emend_name" | wc -c); fi
    if [ "$emend_size" -gt "$emend_max" ]; then emend_size=$emend_max; fi
    echo "$emend_size"
    head -c "$emend_size" <"./$emend_name"
    echo .
  fi
done
"#;

/// Writes a file from standard input. The content counts only if all bytes have arrived.
const PUT: &str = r#"emend_in "$emend_path" || exit 2
if [ -d "./$emend_name" ] || [ -L "./$emend_name" ]; then exit 4; fi
if [ "$emend_replaces" = 1 ] && [ -e "./$emend_name" ] && [ ! -w "./$emend_name" ]; then exit 3; fi
trap 'rm -f -- "./$emend_temporary"' EXIT
umask 077
set -C
: >"./$emend_temporary" || { [ -w . ] && exit 6; exit 3; }
set +C
cat >"./$emend_temporary" || exit 5
[ "$(wc -c <"./$emend_temporary")" -eq "$emend_size" ] || exit 7
if [ -n "$emend_owner" ]; then
  chown "$emend_owner" "./$emend_temporary" 2>/dev/null || chgrp "${emend_owner#*:}" "./$emend_temporary" 2>/dev/null
fi
chmod "$emend_mode" "./$emend_temporary" || exit 6
sync "./$emend_temporary" 2>/dev/null
mv -f -- "./$emend_temporary" "./$emend_name" || exit 6
"#;

/// The files below one directory of a container.
pub(super) struct ExecFiles {
    pub(super) runner: Arc<dyn Runner>,
    /// The root without a slash at its end, so empty for `/`.
    pub(super) prefix: String,
    /// Marks the temporary files of this process.
    pub(super) run: u64,
    /// Permission bits of a new file there.
    pub(super) new_mode: u32,
}

impl ExecFiles {
    /// Runs a script with one path per line. Paths with a line break must be left out before.
    fn each(&self, script: &str, paths: &[&FilePath]) -> Result<Vec<u8>, FarError> {
        let lines: String = paths.iter().map(|path| format!("{}\n", path.as_str())).collect();
        let answer = run_script(&*self.runner, &self.with_prefix(script), lines.as_bytes())?;
        match answer.status {
            0 => Ok(answer.output),
            status => Err(FarError::Other(format!("a script ended with status {status}"))),
        }
    }

    fn with_prefix(&self, script: &str) -> String {
        format!("emend_prefix={}\n{ENTER}{script}", quote(&self.prefix))
    }

    /// Runs a script on one path and returns its error by its status.
    fn one(&self, path: &FilePath, settings: &str, script: &str, input: &[u8]) -> Result<(), FarError> {
        if path.as_str().contains('\n') {
            return Err(FarError::Unfit("names with a line break are not supported here".to_owned()));
        }
        let script = self.with_prefix(&format!("emend_path={}\n{settings}\n{script}", quote(path.as_str())));
        let answer = run_script(&*self.runner, &script, input)?;
        Err(match answer.status {
            0 => return Ok(()),
            2 => FarError::Missing,
            3 => FarError::Denied,
            4 => FarError::Unfit("it is not a regular file".to_owned()),
            5 => FarError::Full("the content could not be written; the disk may be full".to_owned()),
            7 => FarError::Lost("the connection was lost before all of the content had arrived".to_owned()),
            _ => FarError::Other(String::from_utf8_lossy(&answer.output).trim().to_owned()),
        })
    }
}

impl Far for ExecFiles {
    fn look(&self, paths: &[FilePath]) -> Vec<Result<Option<Found>, FarError>> {
        let asked: Vec<&FilePath> = paths.iter().filter(|path| !path.as_str().contains('\n')).collect();
        let output = match self.each(LOOK, &asked) {
            Ok(output) => output,
            Err(error) => return paths.iter().map(|_| Err(error.clone())).collect(),
        };
        let mut lines = output.split(|&byte| byte == b'\n');
        let answer = |path: &FilePath| {
            if path.as_str().contains('\n') {
                return Ok(None);
            }
            match lines.next().and_then(|line| std::str::from_utf8(line).ok()) {
                Some("-") => Ok(None),
                Some("denied") => Err(FarError::Denied),
                Some(line) => {
                    let (mut found, _) = parse(line).ok_or_else(unreadable)?;
                    if matches!(found.kind, Kind::Link(_)) {
                        let target = lines.next().and_then(|line| std::str::from_utf8(line).ok());
                        found.kind = Kind::Link(target.map(str::to_owned));
                    }
                    Ok(Some(found))
                }
                None => Err(unreadable()),
            }
        };
        paths.iter().map(answer).collect()
    }

    fn list(&self, directories: &[FilePath]) -> Result<Vec<Listed>, FarError> {
        let asked: Vec<&FilePath> = directories.iter().collect();
        let output = self.each(LIST, &asked)?;
        let mut listed: Vec<Listed> = Vec::with_capacity(directories.len());
        for line in output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            // A name that is not UTF-8 is left out.
            let Ok(line) = std::str::from_utf8(line) else { continue };
            match (line, listed.last_mut()) {
                ("+", _) => listed.push(Some(Vec::new())),
                ("-", _) => listed.push(None),
                (line, Some(Some(entries))) => {
                    let parsed = parse(line).and_then(|(found, name)| Some((name?.strip_prefix("./")?, found)));
                    let (name, found) = parsed.ok_or_else(unreadable)?;
                    entries.push((name.to_owned(), found));
                }
                _ => return Err(unreadable()),
            }
        }
        if listed.len() == directories.len() { Ok(listed) } else { Err(unreadable()) }
    }

    fn read(&self, paths: &[FilePath], n_bytes_max: u64) -> Vec<Result<Vec<u8>, FarError>> {
        let all = |error: FarError| paths.iter().map(|_| Err(error.clone())).collect();
        if paths.iter().any(|path| path.as_str().contains('\n')) {
            return all(FarError::Missing);
        }
        let asked: Vec<&FilePath> = paths.iter().collect();
        let script = format!("emend_max={n_bytes_max}\n{READ}");
        let output = match self.each(&script, &asked) {
            Ok(output) => output,
            Err(error) => return all(error),
        };
        let mut rest = output.as_slice();
        let mut read = Vec::with_capacity(paths.len());
        for _ in paths {
            let Some(end) = rest.iter().position(|&byte| byte == b'\n') else { return all(unreadable()) };
            let line = std::str::from_utf8(&rest[..end]).unwrap_or_default().trim();
            rest = &rest[end + 1..];
            read.push(match line {
                "missing" => Err(FarError::Missing),
                "unfit" => Err(FarError::Unfit("it is not a regular file".to_owned())),
                "denied" => Err(FarError::Denied),
                size => {
                    let content = size.parse::<usize>().ok().and_then(|size| rest.split_at_checked(size));
                    match content.and_then(|(content, after)| Some((content, after.strip_prefix(b".\n")?))) {
                        Some((content, after)) => {
                            rest = after;
                            Ok(content.to_vec())
                        }
                        // It became shorter while it was read, so nothing after it can be told apart.
                        None => return all(FarError::Other("it changes while it is read".to_owned())),
                    }
                }
            });
        }
        read
    }

    fn put(&self, path: &FilePath, content: &[u8], attributes: Attributes) -> Result<(), FarError> {
        let owner = attributes.owner.map_or_else(String::new, |(user, group)| format!("{user}:{group}"));
        let settings = format!(
            "emend_temporary={}\nemend_owner={owner}\nemend_mode={:o}\nemend_size={}\nemend_replaces={}",
            quote(&temporary_name(path.name(), self.run)),
            attributes.mode.unwrap_or(self.new_mode),
            content.len(),
            u8::from(attributes.replaces),
        );
        self.one(path, &settings, PUT, content)
    }

    fn make_directory(&self, path: &FilePath) -> Result<(), FarError> {
        let script = "emend_in \"$emend_path\" || exit 2\n\
                      mkdir -- \"./$emend_name\" 2>&1 || { [ -d \"./$emend_name\" ] && exit 0; [ -w . ] || exit 3; exit 6; }";
        self.one(path, "", script, b"")
    }

    fn remove_file(&self, path: &FilePath) -> Result<(), FarError> {
        let script = "emend_in \"$emend_path\" || exit 2\n[ -e \"./$emend_name\" ] || exit 2\n\
                      [ -d \"./$emend_name\" ] && exit 4\n\
                      rm -f -- \"./$emend_name\" 2>&1 || { [ -w . ] || exit 3; exit 6; }";
        self.one(path, "", script, b"")
    }

    fn remove_directory(&self, path: &FilePath) -> Result<(), FarError> {
        let script = "emend_in \"$emend_path\" || exit 2\nrmdir -- \"./$emend_name\" 2>&1 || exit 6";
        self.one(path, "", script, b"")
    }
}

/// Reads `MODE SIZE TIME LINKS USER GROUP [NAME]`.
fn parse(line: &str) -> Option<(Found, Option<&str>)> {
    let mut fields = line.splitn(7, ' ');
    let mode = u32::from_str_radix(fields.next()?, 16).ok()?;
    let mut number = || fields.next()?.parse::<u64>().ok();
    let (size, modified_s, n_links) = (number()?, number()?, number()?);
    let owner = (u32::try_from(number()?).ok()?, u32::try_from(number()?).ok()?);
    let found = Found { owner: Some(owner), n_links: Some(n_links), ..Found::of_mode(mode, size, modified_s) };
    Some((found, fields.next()))
}

fn unreadable() -> FarError {
    FarError::Other("the container's programs answer in another form; it needs `stat`, `find` and `head`".to_owned())
}

//! Finds out whether programs run or obey a file because of the state of a project: settings of git name it, it belongs
//! to a repository under another name than `.git`, or a link with a known name, in the project or at the user's, leads to
//! it.
//!
//! Only the directories from the root down to the file are looked at, and read only if they changed since the last look,
//! so that a look costs little. Nothing here starts a process, waits for a pipe or fails: a file that cannot be read names
//! nothing.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::git_settings::{Setting, parse, programs};
use crate::stat_cache::StatCache;
use crate::user_places::{UserDirectory, UserPlaces};

/// Upper limit of a file of settings that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Upper limit of the number of files of settings that one repository includes.
const FILES_MAX: usize = 64;
/// Upper limit of the number of links and directories in directories with known names that are looked at.
const ENTRIES_MAX: usize = 4_000;
/// Upper limit of the number of submodules that are looked at.
const SUBMODULES_MAX: usize = 64;
/// Upper limit of the number of links that lead to each other, as in Linux.
const LINKS_MAX: usize = 40;

/// The files of a project that programs run or obey because of the state of the project.
#[derive(Clone, Debug)]
pub struct ObeyedFiles {
    root: PathBuf,
    is_known: fn(&str) -> bool,
    known_below: Vec<&'static str>,
    /// The links and directories in directories.
    entries: Arc<StatCache<Vec<Entry>>>,
    /// The settings in files.
    settings: Arc<StatCache<Vec<Setting>>>,
    user: Arc<UserPlaces>,
}

/// A link, or a directory.
#[derive(Debug)]
struct Entry {
    name: OsString,
    is_link: bool,
}

impl ObeyedFiles {
    /// Returns the files of the project in `root`; `None` if that directory does not exist.
    ///
    /// `is_known` tells whether programs run or obey a file with this name, in any directory. `known_below` are the known
    /// names that have several parts, such as `.config/git`.
    #[must_use]
    pub fn of(root: &Path, is_known: fn(&str) -> bool, known_below: Vec<&'static str>) -> Option<Self> {
        Self::with_user(root, is_known, known_below, UserPlaces::of_process())
    }

    fn with_user(
        root: &Path,
        is_known: fn(&str) -> bool,
        known_below: Vec<&'static str>,
        mut user: UserPlaces,
    ) -> Option<Self> {
        let root = root.canonicalize().ok()?;
        // Directories do not become links while the program runs, files may.
        user.directories.retain_mut(|directory| match directory.place.canonicalize() {
            Ok(place) => {
                directory.place = place;
                true
            }
            Err(_) => false,
        });
        for file in &mut user.git_files {
            *file = root.join(&*file);
            if let Some((parent, name)) = file.parent().zip(file.file_name())
                && let Ok(parent) = parent.canonicalize()
            {
                *file = parent.join(name);
            }
        }
        let (entries, settings, user) = (Arc::default(), Arc::default(), Arc::new(user));
        Some(Self { root, is_known, known_below, entries, settings, user })
    }

    /// Returns whether programs run or obey the file at `path`: relative to the root, without `.`, `..` and links.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        let mut look = Look { files: self, written: Path::new(path), is_found: false, n_entries: 0, n_submodules: 0 };
        look.user();
        if self.root.join(".git").symlink_metadata().is_err() {
            let above = self.root.ancestors().skip(1).find(|above| above.join(".git").symlink_metadata().is_ok());
            above.into_iter().for_each(|above| look.repository(above));
        }
        let mut directory = self.root.clone();
        look.directory(&directory);
        for part in look.written.components() {
            directory.push(part);
            if look.is_found || !directory.is_dir() {
                break;
            }
            look.directory(&directory);
        }
        look.is_found
    }
}

/// A search for the reason why one file is obeyed.
struct Look<'a> {
    files: &'a ObeyedFiles,
    written: &'a Path,
    is_found: bool,
    n_entries: usize,
    n_submodules: usize,
}

impl Look<'_> {
    /// Notes that programs obey `place`, and all that is in it.
    fn obeyed(&mut self, place: &Path) {
        let is_written =
            || self.is_written(&without_dots(place)) || !self.has_no_link(place) && self.is_written(&real(place));
        self.is_found = self.is_found || is_written();
    }

    /// Returns whether no link leads to a place in the project. The path of the project has none.
    fn has_no_link(&self, place: &Path) -> bool {
        let Ok(below) = place.strip_prefix(&self.files.root) else { return false };
        let mut path = self.files.root.clone();
        below.components().all(|part| {
            path.push(part);
            matches!(part, Component::Normal(_)) && !path.is_symlink()
        })
    }

    /// Returns the links and directories in a directory.
    fn entries(&self, directory: &Path) -> Arc<Vec<Entry>> {
        let entry = |entry: fs::DirEntry| {
            let kind = entry.file_type().ok().filter(|kind| kind.is_symlink() || kind.is_dir())?;
            Some(Entry { name: entry.file_name(), is_link: kind.is_symlink() })
        };
        let read = || fs::read_dir(directory).into_iter().flatten().flatten().filter_map(entry).collect();
        self.files.entries.get(directory, read)
    }

    fn is_written(&self, place: &Path) -> bool {
        let Ok(below) = place.strip_prefix(&self.files.root) else { return false };
        let (mut written, mut n_parts) = (self.written.components(), 0);
        // Some file systems ignore the case.
        let is_below = below.components().all(|part| {
            n_parts += 1;
            written.next().is_some_and(|other| part.as_os_str().eq_ignore_ascii_case(other.as_os_str()))
        });
        // A root that is obeyed, as a directory of hooks is, makes only its own files programs.
        is_below && (n_parts > 0 || self.written.components().count() == 1)
    }

    /// Looks at the places of the user that lead into the project.
    fn user(&mut self) {
        let UserPlaces { directories, git_files, paths, commands, .. } = &*Arc::clone(&self.files.user);
        for UserDirectory { place, prefix } in directories {
            self.user_directory(place, prefix);
        }
        let root = self.files.root.clone();
        let may_lead_here = |file: &&PathBuf| file.starts_with(&root) || file.is_symlink();
        for path in git_files.iter().filter(may_lead_here).chain(paths) {
            self.obeyed(&root.join(path));
        }
        for program in commands.iter().flat_map(|command| programs(command)) {
            self.obeyed(&root.join(expanded(&program)));
        }
    }

    /// Looks at the links with known names in a directory of the user, which stands for the path `prefix`.
    fn user_directory(&mut self, directory: &Path, prefix: &str) {
        let files = self.files;
        let known = |name: &OsStr| {
            let below = files.known_below.iter().filter_map(|known| known.strip_prefix(prefix));
            below.filter(|known| name.eq_ignore_ascii_case(first_part(known))).collect::<Vec<_>>()
        };
        // Links of this directory, or all in it if it is in the project itself.
        let is_inside = directory.starts_with(&files.root);
        for Entry { name, is_link } in self.entries(directory).iter().filter(|entry| is_inside || entry.is_link) {
            let is_known = prefix.is_empty() && name.to_str().is_some_and(files.is_known);
            if *is_link && is_known {
                self.obeyed(&directory.join(name));
            }
            known(name).into_iter().for_each(|known| self.obeyed(&directory.join(known)));
        }
    }

    /// Looks at a directory above the written file.
    fn directory(&mut self, directory: &Path) {
        if is_git_directory(directory) {
            self.is_found = true;
            return;
        }
        self.repository(directory);
        let mut first_parts = Vec::new();
        for Entry { name, is_link } in self.entries(directory).iter() {
            let is_named = |known: &&&str| name.eq_ignore_ascii_case(first_part(known));
            first_parts.extend(self.files.known_below.iter().find(is_named).map(|known| first_part(known)));
            // The parts of a repository are looked at by themselves.
            let is_repository = name.eq_ignore_ascii_case(".git");
            if !name.to_str().is_some_and(self.files.is_known) || is_repository && !is_link {
                continue;
            }
            let path = directory.join(name);
            self.obeyed(&path);
            if !is_repository {
                self.links_in(&path, 2);
            }
        }
        for name in self.files.known_below.clone() {
            if first_parts.contains(&first_part(name)) {
                let path = directory.join(name);
                self.obeyed(&path);
                self.links_in(&path, 2);
            }
        }
    }

    /// Looks at the targets of the links in a directory that programs obey.
    fn links_in(&mut self, directory: &Path, n_levels: usize) {
        for Entry { name, is_link } in self.entries(directory).iter() {
            self.n_entries += 1;
            if self.is_found || self.n_entries > ENTRIES_MAX {
                return;
            }
            match is_link {
                true => self.obeyed(&directory.join(name)),
                false if n_levels > 1 => self.links_in(&directory.join(name), n_levels - 1),
                false => {}
            }
        }
    }

    /// Looks at the repository whose files are in `top`, if there is one.
    fn repository(&mut self, top: &Path) {
        let git = top.join(".git");
        let Ok(metadata) = git.metadata() else { return };
        let own = match metadata.is_dir() {
            true => git,
            false => {
                let text = read(&git).unwrap_or_default();
                let Some(place) = text.trim().strip_prefix("gitdir:") else { return };
                top.join(place.trim())
            }
        };
        let common = read(&own.join("commondir")).map_or_else(|| own.clone(), |place| own.join(place.trim()));
        // Both are the same, except in the repository of a worktree.
        for directory in [&own, &common].into_iter().take(if own == common { 1 } else { 2 }) {
            self.obeyed(directory);
            for part in ["", "hooks", "info"] {
                self.links_in(&directory.join(part), 1);
            }
        }
        self.settings(top, &own, &[common.join("config"), own.join("config.worktree")]);
        // Worktrees and submodules have hooks and settings of their own, which may be anywhere in the project.
        let worktrees = common.join("worktrees");
        for Entry { name, is_link } in self.entries(&worktrees).iter() {
            let own = worktrees.join(name);
            let top = read(&own.join("gitdir")).and_then(|file| Some(Path::new(file.trim()).parent()?.to_owned()));
            if let Some(top) = top.filter(|_| !is_link) {
                self.settings(&top, &own, &[common.join("config"), own.join("config.worktree")]);
            }
        }
        let modules = top.join(".gitmodules");
        let modules = self.files.settings.get(&modules, || parse(&read(&modules).unwrap_or_default()));
        let paths = modules.iter().filter(|found| found.section == "submodule" && found.name == "path");
        for found in paths {
            self.n_submodules += 1;
            if self.is_found || self.n_submodules > SUBMODULES_MAX {
                return;
            }
            self.repository(&top.join(&found.value));
        }
    }

    /// Looks at the settings in these files, and in those that they include under any condition.
    fn settings(&mut self, top: &Path, own: &Path, of_repository: &[PathBuf]) {
        let user = Arc::clone(&self.files.user);
        let mut files = [user.git_files.as_slice(), of_repository].concat();
        let mut settings = vec![Arc::new(user.git_settings.clone())];
        let mut at = 0;
        while at < files.len().min(FILES_MAX) {
            let file = &files[at];
            let found = self.files.settings.get(file, || parse(&read(file).unwrap_or_default()));
            let directory = files[at].parent().unwrap_or(top).to_owned();
            at += 1;
            let includes = |found: &&Setting| is_include(found);
            for place in found.iter().filter(includes).map(|found| directory.join(expanded(&found.value))) {
                self.obeyed(&place);
                if !files.contains(&place) {
                    files.push(place);
                }
            }
            settings.push(found);
        }
        // Programs start where the files of the repository are.
        let is_worktree = |found: &&Setting| found.section == "core" && found.name == "worktree";
        let elsewhere = settings
            .iter()
            .flat_map(|found| found.iter())
            .filter(is_worktree)
            .map(|found| own.join(expanded(&found.value)));
        let starts: Vec<PathBuf> = elsewhere.chain([top.to_owned()]).collect();
        for Setting { section, name, value } in settings.iter().flat_map(|found| found.iter()) {
            for start in starts.iter().filter(|_| !value.is_empty()) {
                if names_path(section, name) {
                    let place = start.join(expanded(value));
                    self.obeyed(&place);
                    self.links_in(&place, 1);
                } else if let Some(command) = command(section, name, value) {
                    programs(command).iter().for_each(|program| self.obeyed(&start.join(expanded(program))));
                }
            }
        }
    }
}

fn first_part(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

fn is_include(found: &Setting) -> bool {
    matches!(found.section.as_str(), "include" | "includeif") && found.name == "path" && !found.value.is_empty()
}

/// Returns whether the value of a setting is the path of files that name programs or are run.
fn names_path(section: &str, name: &str) -> bool {
    matches!((section, name), ("core", "hookspath" | "attributesfile") | ("init", "templatedir"))
}

/// Returns the command in the value of a setting, if git runs it.
fn command<'a>(section: &str, name: &str, value: &'a str) -> Option<&'a str> {
    match (section, name) {
        // A command, or options of git with settings.
        ("alias", _) => value.strip_prefix('!').or_else(|| value.starts_with('-').then_some(value)),
        ("credential", "helper") => Some(value.strip_prefix('!').unwrap_or(value)),
        ("core", "fsmonitor" | "sshcommand" | "editor" | "pager" | "askpass" | "gitproxy" | "alternaterefscommand")
        | ("pager", _)
        | ("sequence", "editor")
        | ("interactive", "difffilter")
        | ("diff", "external" | "command" | "textconv")
        | ("merge", "driver")
        | ("filter", "clean" | "smudge" | "process")
        | ("gpg", "program" | "defaultkeycommand")
        | ("difftool" | "mergetool", "cmd" | "path")
        | ("browser" | "man", "cmd" | "path")
        | ("trailer", "command" | "cmd")
        | ("sendemail", "sendmailcmd" | "tocmd" | "cccmd" | "headercmd" | "smtpserver")
        | ("remote", "uploadpack" | "receivepack" | "vcs")
        | ("uploadpack", "packobjectshook")
        | ("gc", "recentobjectshook")
        | ("imap", "tunnel")
        | ("tar" | "hook", "command")
        | ("guitool", "cmd") => Some(value),
        // Another program carries the traffic.
        ("remote", "url" | "pushurl") => value.strip_prefix("ext::"),
        // An update of a submodule, or its command.
        ("submodule", "update") => value.strip_prefix('!'),
        _ => None,
    }
}

/// Returns whether git takes this directory for a repository, for the part of one that belongs to a worktree, or would take
/// it for one if the empty directories were there, which git itself does not keep.
fn is_git_directory(directory: &Path) -> bool {
    let head = directory.join("HEAD");
    let has = |name: &str| directory.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("objects") && has("refs") || has("commondir") || is_head(&head))
}

/// Returns whether a file names a branch or a commit, as the file `HEAD` of a repository does.
fn is_head(file: &Path) -> bool {
    let is_branch = |target: PathBuf| target.starts_with("refs");
    file.read_link().is_ok_and(is_branch) || read(file).is_some_and(|text| names_commit(&text))
}

fn names_commit(text: &str) -> bool {
    let text = text.trim();
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash || text.strip_prefix("ref:").is_some_and(|branch| branch.trim_start().starts_with("refs/"))
}

/// Returns the path with a user's directory in the place of `~` or `~name`, and git's in the place of `%(prefix)`.
fn expanded(path: &str) -> PathBuf {
    let of_tilde = |rest: &str| {
        let (user, below) = rest.split_once('/')?;
        Some(if user.is_empty() { std::env::home_dir()? } else { home_of(user)? }.join(below))
    };
    if let Some(below) = path.strip_prefix("%(prefix)/") {
        return Path::new("/usr").join(below);
    }
    path.strip_prefix('~').and_then(of_tilde).unwrap_or_else(|| PathBuf::from(path))
}

/// Returns the directory of a user in the list of users, if there is one.
fn home_of(user: &str) -> Option<PathBuf> {
    let users = read(Path::new("/etc/passwd"))?;
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == user)?;
    fields.get(5).map(PathBuf::from)
}

/// Returns the text of a regular file of a moderate size.
fn read(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut options = OpenOptions::new();
    // A pipe in the place of the file must not be waited for.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().try_into().unwrap_or_default(),
    );
    let file = options.read(true).open(path).ok()?;
    let mut content = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut content).ok()?;
    Some(String::from_utf8_lossy(&content).into_owned())
}

/// Returns the path without `.` and `..`.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            _ => plain.push(part),
        }
    }
    plain
}

/// Returns the path without links, also if nothing exists at it yet.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let (mut real, mut n_links) = (PathBuf::new(), 0);
    let mut rest: Vec<PathBuf> = parts_from_last(path);
    while let Some(part) = rest.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => drop(real.pop()),
            Some(Component::CurDir) | None => {}
            Some(_) => real.push(&part),
        }
        if n_links < LINKS_MAX
            && let Ok(target) = real.read_link()
        {
            n_links += 1;
            real.pop();
            rest.extend(parts_from_last(&target));
        }
    }
    real
}

fn parts_from_last(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests;

//! A copy of the root, in which commands run without changing the original.
//!
//! Files are copied (by reference where the file system supports it) with their times, so that build tools do not rebuild
//! everything. Directories that `.gitignore` excludes are linked, because dependencies and build products are large and
//! not reviewed. A repository at the root is copied without its objects, which the copy borrows, so that a command's changes
//! to branches and index stay in the copy. The root's absolute path in a command leads into the copy as well; a program that
//! knows it from elsewhere reaches the original.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use emend_agent::environment::gitignore::IgnoreRules;
use emend_agent::environment::{EnvError, FilePath};

use crate::files::{RootFiles, describe};
use crate::state::{StateDir, create_private};

/// A copy of the root. Dropping it removes the copy.
#[derive(Debug)]
pub(super) struct Scratch {
    /// A directory that contains only the copy.
    around: PathBuf,
    root: PathBuf,
    /// The directories shared with the original.
    linked: Vec<PathBuf>,
}

impl Scratch {
    /// Copies the root. An ignored directory that contains one of the `written` files is copied instead of linked.
    pub(super) fn of(files: &RootFiles, state: Option<&StateDir>, written: &[FilePath]) -> Result<Self, EnvError> {
        let failed = |error: io::Error| describe("the copy of the project in which commands run", &error);
        let home = state.map_or_else(std::env::temp_dir, |state| state.directory().join("scratch"));
        let own = format!("emend-{}-", std::process::id());
        if state.is_some() {
            sweep(&home, &own);
        }
        create_private(&home).map_err(failed)?;
        let around = fresh(&home, &own).map_err(failed)?;
        let around = around.canonicalize().map_err(failed)?;
        let from = files.real_root();
        let root = around.join(from.file_name().unwrap_or(OsStr::new("root")));
        let mut scratch = Self { around, root, linked: Vec::new() };
        let mut copy = Copy { from, to: &scratch.root, written, linked: Vec::new() };
        copy.all().map_err(failed)?;
        scratch.linked = copy.linked;
        Ok(scratch)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn linked(&self) -> &[PathBuf] {
        &self.linked
    }

    /// Returns a command in which the absolute path of `original` is that of the copy. A path that a shell would not read
    /// as it stands is left alone.
    pub(super) fn command(&self, original: &str, command: &str) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
        let Some(copy) = self.root.to_str().filter(|copy| copy.bytes().all(is_plain)) else {
            return command.to_owned();
        };
        if original.len() < 2 {
            return command.to_owned();
        }
        let (mut text, mut rest) = (String::new(), command);
        while let Some((before, after)) = rest.split_once(original) {
            text.push_str(before);
            let continues = after.bytes().next().is_some_and(|byte| byte != b'/' && is_plain(byte));
            let is_whole = !continues && !before.bytes().next_back().is_some_and(is_plain);
            text.push_str(if is_whole { copy } else { original });
            rest = after;
        }
        text + rest
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Links in the copy are removed, not followed. A later run removes the rest if this fails.
        let _ = fs::remove_dir_all(&self.around);
    }
}

/// Creates a new directory, with a name that this process has not used before. An existing one is never used: another
/// user may have put it into the directory for temporary files.
fn fresh(home: &Path, own: &str) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let path = home.join(format!("{own}{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes copies of killed processes. The state is locked, so no other process uses the directory.
fn sweep(home: &Path, own: &str) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(own) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

struct Copy<'a> {
    from: &'a Path,
    to: &'a Path,
    written: &'a [FilePath],
    linked: Vec<PathBuf>,
}

impl Copy<'_> {
    /// Copies directory by directory. Iterative, because a tree may be deeper than the stack.
    fn all(&mut self) -> io::Result<()> {
        let mut ahead = vec![(FilePath::root(), IgnoreRules::default())];
        while let Some((path, above)) = ahead.pop() {
            ahead.extend(self.directory(&path, &above)?);
        }
        Ok(())
    }

    /// Copies a directory without its subdirectories. Returns these with the ignore rules above them.
    fn directory(&mut self, path: &FilePath, above: &IgnoreRules) -> io::Result<Vec<(FilePath, IgnoreRules)>> {
        let mut inner_ones = Vec::new();
        let (from, to) = (self.from.join(path.as_str()), self.to.join(path.as_str()));
        fs::create_dir(&to)?;
        let gitignore = fs::symlink_metadata(from.join(".gitignore")).is_ok_and(|found| found.is_file());
        let gitignore = gitignore.then(|| fs::read(from.join(".gitignore")).ok()).flatten();
        let rules = above.enter(path, gitignore.as_deref());
        for entry in entries(&from)? {
            let (source, target, file_type) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
            // Ignore rules cannot match a name that is not UTF-8.
            let inner = entry.file_name().to_str().map(|name| path.join(name));
            let is_git = entry.file_name() == ".git";
            if file_type.is_symlink() {
                self.link(path, &source, &target)?;
            } else if file_type.is_dir() && is_git {
                repository(&source, &target)?;
            } else if let Some(inner) = inner.filter(|_| file_type.is_dir()) {
                let is_written = self.written.iter().any(|path| path.is_under(&inner));
                if is_written || !rules.ignores(&inner, true) {
                    inner_ones.push((inner, rules.clone()));
                } else {
                    symlink(&source, &target)?;
                    self.linked.push(source);
                }
            } else if file_type.is_dir() {
                everything(&source, &target)?;
            } else if file_type.is_file() && !is_git {
                // A `.git` file points to a repository elsewhere, which must not be changed.
                file(&source, &target)?;
            }
        }
        Ok(inner_ones)
    }

    /// Copies a link in `directory`.
    ///
    /// An absolute link into the root then leads into the copy. A relative link that leaves the root keeps its target.
    fn link(&self, directory: &FilePath, source: &Path, target: &Path) -> io::Result<()> {
        let Some(leads_to) = fs::read_link(source).map(Some).or_else(missing)? else { return Ok(()) };
        let climbs = |leads_to: &str| FilePath::clean(&format!("{directory}/{leads_to}")).is_none();
        let leads_to = if let Ok(rest) = leads_to.strip_prefix(self.from) {
            self.to.join(rest)
        } else if leads_to.is_relative() && leads_to.to_str().is_some_and(climbs) {
            self.from.join(directory.as_str()).join(leads_to)
        } else {
            leads_to
        };
        symlink(leads_to, target)
    }
}

/// Returns `None` for an error that means "not readable" or "no longer there".
fn missing<T>(error: io::Error) -> io::Result<Option<T>> {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound => Ok(None),
        _ => Err(error),
    }
}

/// Returns the entries of a directory; none if it is not readable.
fn entries(directory: &Path) -> io::Result<Vec<fs::DirEntry>> {
    let found = fs::read_dir(directory).and_then(Iterator::collect);
    found.map(Some).or_else(missing).map(Option::unwrap_or_default)
}

fn file(source: &Path, target: &Path) -> io::Result<()> {
    if fs::copy(source, target).map(Some).or_else(missing)?.is_none() {
        return Ok(());
    }
    let modified = fs::metadata(source).and_then(|metadata| metadata.modified());
    if let Ok(modified) = modified {
        // If the time cannot be set, build tools rebuild more.
        let _ = File::open(target).and_then(|file| file.set_modified(modified));
    }
    Ok(())
}

/// Copies a directory with all its content. Links keep their targets.
fn everything(source: &Path, target: &Path) -> io::Result<()> {
    let mut ahead = vec![(source.to_owned(), target.to_owned())];
    while let Some((source, target)) = ahead.pop() {
        fs::create_dir(&target)?;
        for entry in entries(&source)? {
            let (from, to, file_type) = (entry.path(), target.join(entry.file_name()), entry.file_type()?);
            if file_type.is_dir() {
                ahead.push((from, to));
            } else if file_type.is_symlink() {
                symlink(fs::read_link(&from)?, to)?;
            } else if file_type.is_file() {
                file(&from, &to)?;
            }
        }
    }
    Ok(())
}

/// Copies a `.git` directory. Its objects are borrowed from the original.
fn repository(source: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir(target)?;
    for entry in entries(source)? {
        let (from, to, file_type) = (entry.path(), target.join(entry.file_name()), entry.file_type()?);
        let is_lock = entry.path().extension().is_some_and(|extension| extension == "lock");
        if entry.file_name() == "objects" {
            let info = to.join("info");
            fs::create_dir_all(&info)?;
            let mut place = from.into_os_string();
            place.push("\n");
            fs::write(info.join("alternates"), place.as_encoded_bytes())?;
        } else if file_type.is_dir() {
            everything(&from, &to)?;
        } else if file_type.is_file() && !is_lock {
            file(&from, &to)?;
        }
    }
    Ok(())
}

//! Finds the repository of a directory, and reads its state for the system prompt by running git. Nothing here changes a
//! repository.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use emend_agent::environment::GitSnapshot;

use crate::git_config;

/// Time limit for each git command. In a huge repository the prompt lacks what git could not answer in time.
const PATIENCE: Duration = Duration::from_secs(2);
/// Number of commits in the prompt, as an option of `git log`.
const COMMITS: &str = "-7";
/// Upper limit of the output that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// Returns the root of the project in which a program was started in `start`, a directory: that of its git repository, or
/// else `start` itself. The path is canonical.
///
/// The user's home directory and `/` are the root only of a program that starts there: they hold much more than one
/// project. A repository of another user than that of `start` does not count, because its settings and documents would.
///
/// # Errors
///
/// The directory does not exist or cannot be examined.
pub fn project_root(start: &Path) -> io::Result<PathBuf> {
    let start = start.canonicalize()?;
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let is_within = |directory: &&Path| directory.parent().is_some() && home.as_deref() != Some(*directory);
    let root = start.ancestors().take_while(is_within).find(|directory| holds_repository(directory, &start));
    Ok(root.map_or_else(|| start.clone(), Path::to_owned))
}

fn holds_repository(directory: &Path, start: &Path) -> bool {
    let Ok(git) = std::fs::symlink_metadata(directory.join(".git")) else { return false };
    !git.is_symlink() && std::fs::metadata(start).is_ok_and(|start| is_trusted(&git, &start))
}

/// Returns whether a repository belongs to the owner of the directory in which the user works, to the user, or to the
/// administrator.
#[cfg(unix)]
fn is_trusted(git: &std::fs::Metadata, start: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    [start.uid(), rustix::process::geteuid().as_raw(), 0].contains(&git.uid())
}

#[cfg(not(unix))]
fn is_trusted(_git: &std::fs::Metadata, _start: &std::fs::Metadata) -> bool {
    true
}

/// Returns the state of the repository that contains `root`; `None` if there is no repository or no git.
pub(crate) fn snapshot(root: &Path) -> Option<GitSnapshot> {
    look(root, PATIENCE)
}

fn look(root: &Path, patience: Duration) -> Option<GitSnapshot> {
    let repository = Repository::of(root, patience)?;
    // Both commands run at the same time because the user waits for both. If `status` fails there is no repository; if
    // `log` fails the prompt lacks the commits.
    thread::scope(|scope| {
        let commits = scope.spawn(|| repository.ask(&["log", COMMITS, "--format=%s", "--no-show-signature"]));
        let status = [
            "status",
            "--porcelain=v1",
            "--branch",
            "--untracked-files=normal",
            // Git would run inside submodules, with their settings.
            "--ignore-submodules=dirty",
        ];
        let status = repository.ask(&status)?;
        let commits = commits.join().ok().flatten().unwrap_or_default();
        Some(parse(&status, &commits))
    })
}

/// A repository whose files belong to the project that names it.
struct Repository<'a> {
    root: &'a Path,
    patience: Duration,
    /// Settings in the environment, which override those of the repository.
    variables: BTreeMap<OsString, OsString>,
}

impl<'a> Repository<'a> {
    /// Returns the repository that contains `root`, an existing directory.
    ///
    /// `None` if its files are elsewhere and do not name the project: a `.git` file, a setting or a link that came with
    /// the project's files must not show another repository of the user to the provider.
    fn of(root: &'a Path, patience: Duration) -> Option<Self> {
        let ask = |arguments: &[&str]| ask(root, patience, &BTreeMap::new(), arguments);
        let places = ask(&["rev-parse", "--show-toplevel", "--git-dir", "--git-common-dir"])?;
        let places: Vec<PathBuf> =
            places.lines().map(|line| root.join(line).canonicalize()).collect::<Result<_, _>>().ok()?;
        let [top, own, common] = &places[..] else { return None };
        if !root.canonicalize().is_ok_and(|root| root.starts_with(top)) {
            return None;
        }
        let settings = ask(&["config", "--null", "--list"])?;
        let settings: Vec<(&str, &str)> =
            settings.split('\0').filter_map(|entry| entry.split_once('\n').or(Some((entry, "")))).collect();
        // The main repository of a worktree knows its worktrees, and that of a submodule the directory of its files.
        let names_back = || {
            let is_top = |place: PathBuf| place.canonicalize().is_ok_and(|place| place == *top);
            let worktree = std::fs::read_to_string(own.join("gitdir")).ok();
            let worktree =
                worktree.is_some_and(|file| Path::new(file.trim()).parent().is_some_and(|top| is_top(top.into())));
            let of_settings = settings.iter().rfind(|(key, _)| *key == "core.worktree");
            worktree || of_settings.is_some_and(|(_, place)| is_top(own.join(place)))
        };
        let is_at_home = own.starts_with(top) || names_back();
        let is_whole = common.starts_with(top) || own.starts_with(common);
        let stays = |inside: &Path, name: &str| match inside.join(name).canonicalize() {
            Ok(place) => place.starts_with(inside),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let has_links =
            !stays(own, "HEAD") || ["refs", "objects", "packed-refs"].iter().any(|name| !stays(common, name));
        if !is_at_home || !is_whole || has_links {
            return None;
        }
        // Filters are programs that git runs to compare a file with the commit. Without them, some files may count as
        // changed that are not.
        let filters = settings.iter().filter_map(|(key, _)| {
            let (name, setting) = key.strip_prefix("filter.")?.rsplit_once('.')?;
            (!name.is_empty()).then_some((*key, if setting == "required" { "false" } else { "" }))
        });
        let filters: Vec<(&str, &str)> = filters.collect();
        let is_setting = |(name, _): &(OsString, OsString)| name.to_string_lossy().starts_with("GIT_CONFIG_");
        let mut variables: BTreeMap<_, _> = std::env::vars_os().filter(is_setting).collect();
        git_config::add(&mut variables, &filters);
        Some(Self { root, patience, variables })
    }

    fn ask(&self, arguments: &[&str]) -> Option<String> {
        ask(self.root, self.patience, &self.variables, arguments)
    }
}

fn parse(status: &str, commits: &str) -> GitSnapshot {
    let mut snapshot = GitSnapshot { n_changed: Some((0, 0)), ..GitSnapshot::default() };
    let (mut n_modified, mut n_untracked) = (0, 0);
    for line in status.lines() {
        match line.strip_prefix("## ") {
            Some(branch) => snapshot.branch = branch_of(branch),
            None if line.starts_with("??") => n_untracked += 1,
            None => n_modified += 1,
        }
    }
    snapshot.n_changed = Some((n_modified, n_untracked));
    snapshot.recent_commits = commits.lines().map(str::to_owned).collect();
    snapshot
}

/// Returns the branch from the text after `## `, e.g. `main...origin/main [ahead 1]`.
fn branch_of(head: &str) -> Option<String> {
    let head = head.strip_prefix("No commits yet on ").unwrap_or(head);
    let branch = head.split("...").next().unwrap_or_default();
    (branch != "HEAD (no branch)").then(|| branch.to_owned())
}

/// Runs git and returns its output; `None` if it fails, exceeds `patience` or prints something that is not UTF-8.
fn ask(
    root: &Path,
    patience: Duration,
    variables: &BTreeMap<OsString, OsString>,
    arguments: &[&str],
) -> Option<String> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(root)
        // A project's own settings must not run programs because someone asked for its state.
        .args(["-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "--no-optional-locks", "--no-pager"])
        .envs(variables)
        // Objects that are missing here are not fetched: the repository names the program for that.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdout = child.stdout.take()?.take(ANSWER_BYTES_MAX);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut answer = Vec::new();
        let outcome = stdout.read_to_end(&mut answer).map(|_| answer);
        // After a timeout the receiver is gone.
        let _ = sender.send(outcome);
    });
    let answer = receiver.recv_timeout(patience);
    if answer.is_err() {
        // If it cannot be killed, `wait` below waits for its own end.
        let _ = child.kill();
    }
    let succeeded = child.wait().is_ok_and(|status| status.success());
    let answer = answer.ok()?.ok()?;
    succeeded.then(|| String::from_utf8(answer).ok())?
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A limit that a busy machine does not reach.
    const LONG: Duration = Duration::from_secs(60);

    #[track_caller]
    fn check(status: &str, branch: Option<&str>, n_changed: (usize, usize)) {
        let snapshot = parse(status, "");
        assert_eq!((snapshot.branch.as_deref(), snapshot.n_changed), (branch, Some(n_changed)));
    }

    #[test]
    fn the_state_is_parsed_from_the_output_of_git() {
        check("## main...origin/main [ahead 1]\n M a\nA  b\n?? c\n", Some("main"), (2, 1));
        check("## fix/one\n", Some("fix/one"), (0, 0));
        check("## No commits yet on trunk\n?? a b\n", Some("trunk"), (0, 1));
        check("## HEAD (no branch)\nR  a -> b\n", None, (1, 0));
        assert_eq!(parse("## m\n", "Two\nOne\n").recent_commits, ["Two", "One"]);
    }

    fn git(root: &Path, arguments: &[&str]) -> bool {
        let mut command = Command::new("git");
        command.arg("-C").arg(root).args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    #[test]
    fn a_repository_is_found_from_any_of_its_directories() {
        let around = TempDir::new().unwrap();
        let root = around.path();
        assert_eq!(look(root, LONG), None, "no repository yet");
        assert!(git(root, &["init", "--initial-branch=trunk"]), "git is required by the tests");
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("src/a"), "1\n").unwrap();
        assert!(git(root, &["add", "."]) && git(root, &["commit", "-m", "Begin"]));
        fs::write(root.join("src/a"), "2\n").unwrap();
        fs::write(root.join("new"), "").unwrap();
        let expected = GitSnapshot {
            branch: Some("trunk".to_owned()),
            n_changed: Some((1, 1)),
            recent_commits: vec!["Begin".to_owned()],
        };
        assert_eq!(look(root, LONG), Some(expected.clone()));
        assert_eq!(look(&root.join("src"), LONG), Some(expected));
    }

    #[test]
    fn the_project_of_a_directory_is_its_repository() {
        let around = TempDir::new().unwrap();
        let root = around.path().canonicalize().unwrap();
        let check = |start: &str, expected: &str| {
            assert_eq!(project_root(&root.join(start)).unwrap(), root.join(expected), "{start}");
        };
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        check("a/b", "a/b");
        fs::create_dir(root.join("a/.git")).unwrap();
        check("a/b/c", "a");
        check("a", "a");
        check(".", "");
        // A worktree or submodule has a file.
        fs::write(root.join("a/b/.git"), "gitdir: ../.git/modules/b\n").unwrap();
        check("a/b/c", "a/b");
        assert!(project_root(&root.join("missing")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_repository_of_another_user_does_not_count() {
        let around = TempDir::new().unwrap();
        let root = around.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/.git")).unwrap();
        if std::os::unix::fs::chown(root.join("a/.git"), Some(12_345), None).is_err() {
            println!("skipped: only the administrator can give files away");
            return;
        }
        fs::create_dir(root.join("a/b")).unwrap();
        assert_eq!(project_root(&root.join("a/b")).unwrap(), root.join("a/b"));
    }

    #[cfg(unix)]
    #[test]
    fn reading_the_state_runs_no_program_of_the_project() {
        let around = TempDir::new().unwrap();
        let (root, sub) = (around.path().join("p"), around.path().join("sub"));
        let ran = around.path().join("ran");
        fs::create_dir(&sub).unwrap();
        fs::write(sub.join("s.txt"), "1\n").unwrap();
        assert!(git(&sub, &["init"]) && git(&sub, &["add", "."]) && git(&sub, &["commit", "-m", "a"]));
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a.txt"), "1\n").unwrap();
        let source = sub.to_str().unwrap();
        let add = ["-c", "protocol.file.allow=always", "submodule", "add", source, "sub"];
        assert!(git(&root, &["init"]) && git(&root, &add));
        assert!(git(&root, &["add", "."]) && git(&root, &["commit", "-m", "a"]));
        let program = format!("touch {}; cat", ran.display());
        for place in [root.clone(), root.join("sub")] {
            for (key, program) in [
                ("core.fsmonitor", format!("touch {}; false", ran.display())),
                ("filter.a=b.clean", program.clone()),
                ("filter.p.process", program.clone()),
                ("filter.p.required", "true".to_owned()),
            ] {
                assert!(git(&place, &["config", key, &program]));
            }
            let file = if place == root { "a.txt" } else { "s.txt" };
            fs::write(place.join(file), "2\n").unwrap();
        }
        fs::write(root.join(".gitattributes"), "*.txt filter=a=b\n*.bin filter=p\n").unwrap();
        fs::write(root.join(".git/modules/sub/info/attributes"), "*.txt filter=a=b\n").unwrap();
        let check = |what: &str| {
            assert_eq!(look(&root, LONG).and_then(|found| found.n_changed), Some((1, 1)), "{what}");
            assert!(!ran.exists(), "{what}");
            // Positive control: without our settings, git runs the program.
            assert!(git(&root, &["status"]));
            assert!(ran.exists(), "{what}");
            fs::remove_file(&ran).unwrap();
        };
        check("fsmonitor");
        for place in [&root, &root.join("sub")] {
            assert!(git(place, &["config", "--unset", "core.fsmonitor"]));
        }
        fs::write(root.join("a.txt"), "3\n").unwrap();
        check("filters");
        assert!(git(&root, &["config", "--unset", "filter.a=b.clean"]));
        fs::write(root.join("sub/s.txt"), "3\n").unwrap();
        check("filters of a submodule");
    }

    #[cfg(unix)]
    #[test]
    fn files_of_a_project_show_no_other_repository() {
        let around = TempDir::new().unwrap();
        let (secret, root) = (around.path().join("secret"), around.path().join("p"));
        for place in [&secret, &root] {
            fs::create_dir(place).unwrap();
            assert!(git(place, &["init"]) && git(place, &["commit", "--allow-empty", "-m", "Subject"]));
        }
        let commits = |root: &Path| look(root, LONG).map(|found| found.recent_commits);
        assert_eq!(commits(&root), Some(vec!["Subject".to_owned()]));
        // The main repository of a worktree knows it.
        let tree = around.path().join("tree");
        assert!(git(&secret, &["worktree", "add", tree.to_str().unwrap()]));
        assert_eq!(commits(&tree), Some(vec!["Subject".to_owned()]));

        let of_secret = secret.join(".git");
        let file = root.join(".git");
        let kept = around.path().join("kept");
        fs::rename(&file, &kept).unwrap();
        fs::write(&file, format!("gitdir: {}\n", of_secret.display())).unwrap();
        assert_eq!(commits(&root), None, "a file that names it");
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&of_secret, &file).unwrap();
        assert_eq!(commits(&root), None, "a link");
        fs::remove_file(&file).unwrap();
        fs::rename(&kept, &file).unwrap();
        fs::write(file.join("commondir"), of_secret.to_str().unwrap()).unwrap();
        assert_eq!(commits(&root), None, "a common directory");
        fs::remove_file(file.join("commondir")).unwrap();
        for name in ["refs", "objects"] {
            fs::remove_dir_all(file.join(name)).unwrap();
            std::os::unix::fs::symlink(of_secret.join(name), file.join(name)).unwrap();
        }
        assert_eq!(commits(&root), None, "links to its parts");
        fs::remove_dir_all(&file).unwrap();
        assert!(git(&root, &["init"]) && git(&root, &["config", "core.worktree", secret.to_str().unwrap()]));
        assert_eq!(commits(&root), None, "files elsewhere");
    }
}

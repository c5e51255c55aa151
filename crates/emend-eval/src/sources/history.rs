//! Fixes of this repository: the files before a fix, and the tests of the fix hidden.
//!
//! `sets/history.toml` lists the fixes by commit. `sets/history.py` derives and verifies them: the tests compile and fail
//! before the fix, and pass with it. The agent gets the files of the parent without the repository, so that no later
//! commit shows the solution.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde::Deserialize;

use crate::task::{Check, Goal, Kind, SetError, Task, TaskSet, digest_of, tests_start};
use crate::tree::{Content, Tree};

/// The fixes of the set.
const FIXES: &str = include_str!("../../sets/history.toml");

/// Time for building and running the tests of a fix. A first build includes all dependencies.
const BUILD_TIMEOUT_MS: u64 = 1_200_000;

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    fix: Vec<Fix>,
}

/// A fix with its tests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fix {
    commit: String,
    /// The crate whose tests run.
    #[serde(rename = "crate")]
    package: String,
    /// Names of the tests that are new or changed. A test runs if its name contains one of them.
    tests: Vec<String>,
    /// The hidden files with tests, if those of the other changed files do not compile on the parent.
    files: Option<Vec<String>>,
    /// The number of tests that run.
    passed: usize,
}

/// Reads the set from the repository in `directory`.
pub(super) fn read(directory: &Path) -> Result<TaskSet, SetError> {
    read_fixes(directory, FIXES)
}

fn read_fixes(directory: &Path, fixes: &str) -> Result<TaskSet, SetError> {
    let malformed = |reason: String| SetError::Malformed { file: "history.toml".to_owned(), reason };
    let listed: Listed = toml::from_str(fixes).map_err(|error| malformed(error.to_string()))?;
    let mut repository = Repository { directory, contents: HashMap::new() };
    let mut tasks = Vec::new();
    for fix in listed.fix {
        let id = fix.commit.get(..10).unwrap_or(&fix.commit).to_owned();
        let task = repository.task(&id, &fix).map_err(|reason| SetError::Task { id: id.clone(), reason })?;
        tasks.push(task);
    }
    Ok(TaskSet { name: "history".to_owned(), shell: true, digest: digest_of(fixes), tasks })
}

struct Repository<'a> {
    directory: &'a Path,
    /// Contents by object. Commits share most of them.
    contents: HashMap<String, Content>,
}

impl Repository<'_> {
    fn task(&mut self, id: &str, fix: &Fix) -> Result<Task, String> {
        let message = self.git(&["log", "-1", "--format=%B", &fix.commit])?;
        let before = self.tree(&format!("{}^", fix.commit))?;
        let after = self.tree(&fix.commit)?;
        let changed = before.differences(&after);
        let (mut files, mut tests, mut solution) = (Tree::default(), Tree::default(), before.clone());
        for path in &changed {
            let Some(text) = after.text(path) else {
                if !after.0.contains_key(path) {
                    solution.0.remove(path);
                }
                continue;
            };
            // An agent cannot write other contents than texts.
            solution.0.insert(path.clone(), text.as_bytes().into());
            if !path.starts_with(&format!("crates/{}/src/", fix.package)) || !path.ends_with(".rs") {
                continue;
            }
            if fix.files.as_ref().is_some_and(|files| !files.contains(path)) {
                continue;
            }
            if is_test_file(path) {
                files.0.insert(path.clone(), text.as_bytes().into());
            } else if let Some(start) = tests_start(text).filter(|_| before.0.contains_key(path)) {
                tests.0.insert(path.clone(), text.as_bytes()[start..].into());
            }
        }
        let (package, names) = (&fix.package, fix.tests.join(" "));
        let is_library = before.0.contains_key(&format!("crates/{package}/src/lib.rs"));
        let target = if is_library { "--lib" } else { "--bins" };
        let run = format!("cargo test --offline --quiet -p {package} {target} -- {names} > .output 2>&1");
        let command = format!(
            "{run}; status=$?; tail -c 4000 .output; [ $status = 0 ] && grep -q 'test result: ok. {} passed' .output",
            fix.passed
        );
        let instruction = format!(
            "Make the change that this message of a commit describes, in the crate {package}. Hidden tests check it.\n\n{}",
            message.trim()
        );
        let goal = Goal::Check(Check { command, files, tests, directory: String::new(), timeout_ms: BUILD_TIMEOUT_MS });
        let answer = "Done.".to_owned();
        let kind = Kind::Program;
        Ok(Task { id: id.to_owned(), kind, instruction, files: before, user_edit: None, goal, solution, answer })
    }

    /// Returns the regular files of a commit.
    fn tree(&mut self, commit: &str) -> Result<Tree, String> {
        let listed = self.git(&["ls-tree", "-r", "-z", commit])?;
        let mut objects: BTreeMap<String, String> = BTreeMap::new();
        for entry in listed.split('\0').filter(|entry| !entry.is_empty()) {
            let (head, path) = entry.split_once('\t').ok_or_else(|| format!("git ls-tree printed {entry:?}"))?;
            let mut words = head.split(' ');
            // Links and submodules are left out.
            if words.next().is_some_and(|mode| mode.starts_with("100")) {
                objects.insert(path.to_owned(), words.next_back().unwrap_or_default().to_owned());
            }
        }
        let missing = objects.values().filter(|object| !self.contents.contains_key(*object)).cloned().collect();
        self.load(missing)?;
        let content = |(path, object): (String, String)| Some((path, Content::clone(self.contents.get(&object)?)));
        Ok(Tree(objects.into_iter().filter_map(content).collect()))
    }

    /// Reads objects with one process.
    fn load(&mut self, objects: Vec<String>) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("git cat-file: {error}");
        let mut git = self.command(&["cat-file", "--batch"]);
        let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("git cat-file has no input or output".to_owned());
        };
        let names = objects.clone();
        // Writing and reading at the same time, because pipes hold little.
        let writer = thread::spawn(move || names.iter().try_for_each(|name| writeln!(input, "{name}")));
        let mut output = BufReader::new(output);
        for object in objects {
            let mut head = String::new();
            output.read_line(&mut head).map_err(failed)?;
            let size = head.trim().rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
            let mut content = vec![0; size.ok_or_else(|| format!("git cat-file printed {head:?}"))? + 1];
            output.read_exact(&mut content).map_err(failed)?;
            // A line feed follows each object.
            content.pop();
            self.contents.insert(object, content.into());
        }
        let written = writer.join().map_err(|_| "git cat-file: the writer panicked".to_owned())?;
        written.map_err(failed)?;
        child.wait().map_err(failed)?;
        Ok(())
    }

    fn git(&self, arguments: &[&str]) -> Result<String, String> {
        let name = arguments.first().copied().unwrap_or_default();
        let output = self.command(arguments).output().map_err(|error| format!("git {name}: {error}"))?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(format!("git {name}: {}; give a complete clone of the Emend repository", error.trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.directory).args(arguments);
        git
    }
}

/// Returns whether a file has only tests and what they use, as `history.py` decides.
fn is_test_file(path: &str) -> bool {
    let stem = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    ["tests", "testing", "test_support"].iter().any(|end| stem.ends_with(end)) || path.contains("/tests/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commits all files of `text`, in a new repository if there is none. Returns the commit.
    fn commit(directory: &Path, text: &str, message: &str) -> String {
        Tree::parse(text).unwrap().write(directory).unwrap();
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
            let output = Command::new("git").arg("-C").arg(directory).args(identity).args(arguments).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "--quiet"]);
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "-m", message]);
        git(&["rev-parse", "HEAD"])
    }

    #[test]
    fn a_fix_becomes_a_task_with_hidden_tests() {
        if Command::new("git").arg("--version").output().is_err() {
            println!("skipped: 1 test (there is no git)");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let program = |value: u8, tests: &str| {
            let tests = format!("#[cfg(test)]\nmod tests {{\n    {tests}\n}}\n");
            format!(
                "//- crates/a/src/lib.rs\nfn two() -> u8 {{\n    {value}\n}}\n\n{tests}//- crates/a/src/x_tests.rs\n// {tests}"
            )
        };
        commit(directory.path(), &(program(1, "// old") + "//- README.md\nA\n"), "Begin");
        let fix = commit(directory.path(), &program(2, "// new"), "Return two\n\nNot one.");
        let fixes = format!("[[fix]]\ncommit = \"{fix}\"\ncrate = \"a\"\ntests = [\"is_two\"]\npassed = 1\n");
        let set = read_fixes(directory.path(), &fixes).unwrap();
        let task = &set.tasks[0];
        assert!(task.instruction.ends_with("\n\nReturn two\n\nNot one."), "{}", task.instruction);
        let text = |tree: &Tree| tree.text("crates/a/src/lib.rs").unwrap().to_owned();
        assert!(text(&task.files).contains("    1\n") && text(&task.files).contains("// old"));
        assert!(text(&task.solution).contains("    2\n"));
        assert_eq!(task.files.text("README.md"), Some("A\n"));
        let Goal::Check(check) = &task.goal else { panic!("{:?}", task.goal) };
        // The tests of the fix meet the program of the agent, here the unchanged one.
        let checked = check.tree(&task.files);
        assert!(text(&checked).contains("    1\n") && text(&checked).contains("// new"));
        assert!(checked.text("crates/a/src/x_tests.rs").unwrap().contains("// new"));
        assert!(check.command.contains("-p a --lib -- is_two") && check.command.contains("ok. 1 passed"));
        // Only one of the files with tests is hidden.
        let one = format!("{fixes}files = [\"crates/a/src/x_tests.rs\"]\n");
        let set = read_fixes(directory.path(), &one).unwrap();
        let Goal::Check(check) = &set.tasks[0].goal else { panic!() };
        let checked = check.tree(&set.tasks[0].files);
        assert!(
            text(&checked).contains("// old") && checked.text("crates/a/src/x_tests.rs").unwrap().contains("// new")
        );
    }

    #[test]
    fn an_unknown_commit_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let fixes = "[[fix]]\ncommit = \"0123456789abcdef\"\ncrate = \"a\"\ntests = []\npassed = 1\n";
        let error = read_fixes(directory.path(), fixes).unwrap_err().to_string();
        assert!(error.starts_with("task 0123456789: git "), "{error}");
    }

    #[test]
    fn the_listed_fixes_are_complete() {
        let listed: Listed = toml::from_str(FIXES).unwrap();
        let mut commits: Vec<&str> = listed.fix.iter().map(|fix| fix.commit.as_str()).collect();
        assert!(listed.fix.iter().all(|fix| fix.commit.len() == 40 && !fix.tests.is_empty() && fix.passed > 0));
        commits.sort_unstable();
        commits.dedup();
        assert_eq!(commits.len(), listed.fix.len(), "a commit is listed twice");
    }
}

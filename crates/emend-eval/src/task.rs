//! Tasks and task sets, read from TOML.

use std::collections::BTreeSet;

use emend_edit::ContentHash;
use serde::{Deserialize, Serialize};

use crate::tree::{Tree, TreeError};

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One file has to change.
    SingleFile,
    /// Several files have to change.
    MultiFile,
    /// The instruction has several meanings; the agent has to ask.
    Ambiguous,
    /// The task cannot be done; the agent has to say why.
    Impossible,
    /// Nothing has to change; the agent has to say so.
    AlreadyDone,
    /// The user edits the same file while the agent works.
    UserEdit,
    /// A program has to pass tests.
    Program,
}

impl Kind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::SingleFile,
        Self::MultiFile,
        Self::Ambiguous,
        Self::Impossible,
        Self::AlreadyDone,
        Self::UserEdit,
        Self::Program,
    ];

    /// Returns the name in task sets and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SingleFile => "single-file",
            Self::MultiFile => "multi-file",
            Self::Ambiguous => "ambiguous",
            Self::Impossible => "impossible",
            Self::AlreadyDone => "already-done",
            Self::UserEdit => "user-edit",
            Self::Program => "program",
        }
    }
}

/// An edit that the user makes as soon as the agent has seen the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserEdit {
    /// The edited file. The edit follows the first tool call whose arguments contain this path.
    pub path: String,
    /// The whole new text.
    pub text: String,
}

/// A command that decides whether a task is solved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The command line.
    pub command: String,
    /// Files that replace those of the agent before the command runs, such as hidden tests.
    pub files: Tree,
    /// Tests of Rust programs by file. They replace those of the agent, from the line `#[cfg(test)]` to the end of the file.
    pub tests: Tree,
    /// Directory of the command, relative to the copy.
    pub directory: String,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
}

impl Check {
    /// Returns the files in which the command runs: the result of the agent with the hidden files and tests.
    #[must_use]
    pub fn tree(&self, result: &Tree) -> Tree {
        let mut tree = result.with(&self.files);
        for (path, tests) in &self.tests.0 {
            let program = tree.text(path).unwrap_or_default();
            let program = &program[..tests_start(program).unwrap_or(program.len())];
            let text = [program.as_bytes(), tests].concat();
            tree.0.insert(path.clone(), text.into());
        }
        tree
    }
}

/// Returns the position of the line that begins the tests of a Rust program.
#[must_use]
pub fn tests_start(program: &str) -> Option<usize> {
    let mut at = 0;
    let mut lines = program.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let is_module = |next: &&str| next.starts_with("mod ") && next.trim_end().ends_with('{');
        if line.trim_end() == "#[cfg(test)]" && lines.peek().is_some_and(is_module) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// The result that solves a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Exactly these files.
    Files(Tree),
    /// Unchanged files, and an answer with one text of each group. Case does not matter.
    Answer(Vec<Vec<String>>),
    /// A command that succeeds.
    Check(Check),
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Unique name within the set: letters, digits and `-`.
    pub id: String,
    /// The kind.
    pub kind: Kind,
    /// The message to the agent.
    pub instruction: String,
    /// The files before the task.
    pub files: Tree,
    /// The edit of the user, if there is one.
    pub user_edit: Option<UserEdit>,
    /// The result that solves the task.
    pub goal: Goal,
    /// A reference solution: the files that solve the task, for goals with files or a check.
    pub solution: Tree,
    /// The answer of the reference solution.
    pub answer: String,
}

impl Task {
    /// Returns the files that an agent that does nothing leaves behind, once the user has made their edit.
    #[must_use]
    pub fn base(&self) -> Tree {
        let edit = self.user_edit.iter().map(|edit| (edit.path.clone(), edit.text.clone().into_bytes().into()));
        self.files.with(&Tree(edit.collect()))
    }
}

/// A set of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSet {
    /// The name.
    pub name: String,
    /// Whether the agent may run commands. Without them a set has the same tools in a terminal and in a page.
    pub shell: bool,
    /// Digest of the tasks, the version of the set in reports.
    pub digest: String,
    /// The tasks, in order.
    pub tasks: Vec<Task>,
}

/// The reason why a set cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// A file is not TOML of the expected form.
    #[error("{file}: {reason}")]
    Malformed {
        /// The file.
        file: String,
        /// The error of the parser.
        reason: String,
    },
    /// A task is wrong.
    #[error("task {id}: {reason}")]
    Task {
        /// The task.
        id: String,
        /// The problem and the next step.
        reason: String,
    },
    /// A file or directory cannot be used.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// One file of a set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetFile {
    kind: Kind,
    #[serde(default)]
    shell: bool,
    #[serde(default)]
    task: Vec<TaskEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskEntry {
    id: String,
    instruction: String,
    files: String,
    /// The files that differ after the task.
    expected: Option<String>,
    /// Files that do not exist after the task.
    #[serde(default)]
    deleted: Vec<String>,
    user_edit: Option<String>,
    /// Groups of alternatives.
    answer: Option<Vec<Vec<String>>>,
    /// The answer of the reference solution.
    reference: Option<String>,
    check: Option<CheckEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckEntry {
    command: String,
    #[serde(default)]
    files: String,
    #[serde(default)]
    directory: String,
    #[serde(default = "usual_timeout")]
    timeout_ms: u64,
}

/// Time for the check of a task, in milliseconds, unless the set names another.
pub const TIMEOUT_MS: u64 = 120_000;

fn usual_timeout() -> u64 {
    TIMEOUT_MS
}

impl TaskSet {
    /// Reads a set from the texts of its files, each with its name.
    ///
    /// # Errors
    ///
    /// [`SetError`] names the file or task and the problem.
    pub fn parse(name: &str, files: &[(String, String)]) -> Result<Self, SetError> {
        let mut set = Self { name: name.to_owned(), shell: false, digest: String::new(), tasks: Vec::new() };
        let mut whole = String::new();
        for (file, text) in files {
            let malformed =
                |error: toml::de::Error| SetError::Malformed { file: file.clone(), reason: error.to_string() };
            let read: SetFile = toml::from_str(text).map_err(malformed)?;
            set.shell |= read.shell;
            for entry in read.task {
                set.tasks.push(entry.into_task(read.kind)?);
            }
            whole.push_str(text);
        }
        set.digest = digest_of(&whole);
        set.check()?;
        Ok(set)
    }

    /// Checks the rules for ids and answers.
    fn check(&self) -> Result<(), SetError> {
        let mut ids = BTreeSet::new();
        for task in &self.tasks {
            let wrong = |reason: &str| SetError::Task { id: task.id.clone(), reason: reason.to_owned() };
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if task.id.is_empty() || !task.id.chars().all(is_plain) {
                return Err(wrong("its id must consist of letters, digits, `-` and `_`"));
            }
            if !ids.insert(&task.id) {
                return Err(wrong("another task has the same id"));
            }
            if let Goal::Answer(groups) = &task.goal {
                let said = task.instruction.to_lowercase();
                let is_new = |group: &Vec<String>| group.iter().all(|text| !said.contains(&text.to_lowercase()));
                if !groups.iter().any(is_new) {
                    return Err(wrong(
                        "an answer that repeats the instruction would solve it; require a fact of the files",
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Returns the first digits of a text's hash, enough to tell versions apart.
#[must_use]
pub fn digest_of(text: &str) -> String {
    ContentHash::of(text.as_bytes()).hex()[..12].to_owned()
}

impl TaskEntry {
    fn into_task(self, kind: Kind) -> Result<Task, SetError> {
        let id = self.id.clone();
        let wrong = |reason: &str| SetError::Task { id: id.clone(), reason: reason.to_owned() };
        let files = Tree::parse(&self.files)?;
        let user_edit = match &self.user_edit {
            None => None,
            Some(text) => match Tree::parse(text)?.0.pop_first() {
                Some((path, _)) if !files.0.contains_key(&path) => return Err(wrong("the user edits an unknown file")),
                Some((path, text)) => Some(UserEdit { path, text: String::from_utf8_lossy(&text).into_owned() }),
                None => return Err(wrong("`user_edit` names no file")),
            },
        };
        let mut solution = files.clone();
        if let Some(edit) = &user_edit {
            solution.0.insert(edit.path.clone(), edit.text.clone().into_bytes().into());
        }
        if let Some(expected) = &self.expected {
            solution = solution.with(&Tree::parse(expected)?);
        }
        for path in &self.deleted {
            if solution.0.remove(path).is_none() {
                return Err(wrong("`deleted` names an unknown file"));
            }
        }
        let goal = match (self.answer, self.check) {
            (Some(_), Some(_)) => return Err(wrong("it has an answer and a check; keep one of them")),
            (Some(groups), None) if solution == files => Goal::Answer(groups),
            (Some(_), None) => return Err(wrong("files change in a task with an answer; leave out `expected`")),
            (None, Some(check)) if check.timeout_ms == 0 => {
                return Err(wrong("no check ends within 0 ms; leave out `timeout_ms`"));
            }
            (None, Some(check)) => Goal::Check(Check {
                command: check.command,
                files: Tree::parse(&check.files)?,
                tests: Tree::default(),
                directory: check.directory,
                timeout_ms: check.timeout_ms,
            }),
            (None, None) if solution == files => return Err(wrong("nothing changes; give `expected` or `answer`")),
            (None, None) => Goal::Files(solution.clone()),
        };
        let answer = self.reference.unwrap_or_else(|| "Done.".to_owned());
        let instruction = self.instruction.trim().to_owned();
        Ok(Task { id: self.id, kind, instruction, files, user_edit, goal, solution, answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TaskSet, String> {
        TaskSet::parse("s", &[("f.toml".to_owned(), text.to_owned())]).map_err(|error| error.to_string())
    }

    fn one(fields: &str) -> Result<TaskSet, String> {
        parse(&format!(
            "kind = \"single-file\"\n[[task]]\nid = \"t\"\ninstruction = \"Do x\"\nfiles = \"//- a\\nx\\n\"\n{fields}"
        ))
    }

    #[test]
    fn a_task_is_read() {
        let set = one("expected = \"//- b\\ny\\n\"\ndeleted = [\"a\"]").unwrap();
        assert_eq!(set.tasks[0].goal, Goal::Files(Tree::parse("//- b\ny\n").unwrap()));
        assert_eq!((set.digest.len(), set.shell), (12, false));
        let set = one("user_edit = \"//- a\\nuser\\n\"\nexpected = \"//- b\\ny\\n\"").unwrap();
        assert_eq!(set.tasks[0].solution, Tree::parse("//- a\nuser\n//- b\ny\n").unwrap());
        assert_eq!(set.tasks[0].base(), Tree::parse("//- a\nuser\n").unwrap());
    }

    #[test]
    fn hidden_tests_replace_those_of_the_agent() {
        let program = "fn two() -> u8 {\n    2\n}\n\n#[cfg(test)]\nuse std::fmt;\n";
        let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn is_two() {}\n}\n";
        assert_eq!(tests_start(program), None, "an import for tests does not begin their module");
        let whole = format!("{program}{tests}");
        assert_eq!(tests_start(&whole), Some(program.len()));
        let (command, directory) = (String::new(), String::new());
        let files = Tree::of("hidden.rs", "x");
        let check = Check { command, directory, files, tests: Tree::of("a.rs", tests), timeout_ms: 1 };
        for result in [
            program.to_owned(),
            whole.clone(),
            format!("{program}#[cfg(test)]\nmod other {{}}\n").replace("{}", "{\n}"),
        ] {
            let tree = check.tree(&Tree::of("a.rs", &result));
            assert_eq!((tree.text("a.rs"), tree.text("hidden.rs")), (Some(whole.as_str()), Some("x")));
        }
    }

    #[test]
    fn wrong_tasks_are_named() {
        #[track_caller]
        fn check(fields: &str, expected: &str) {
            assert_eq!(one(fields).unwrap_err(), format!("task t: {expected}"));
        }
        check("", "nothing changes; give `expected` or `answer`");
        check("deleted = [\"b\"]", "`deleted` names an unknown file");
        check("check = { command = \"x\", timeout_ms = 0 }", "no check ends within 0 ms; leave out `timeout_ms`");
        check("user_edit = \"//- b\\nx\\n\"", "the user edits an unknown file");
        let repeated = "an answer that repeats the instruction would solve it; require a fact of the files";
        check("answer = [[\"X\"]]", repeated);
        assert!(one("answer = [[\"X\"], [\"fact\"]]").is_ok());
        assert!(parse("kind = \"other\"").unwrap_err().starts_with("f.toml: "));
    }
}

//! Exercises in the layout of aider's polyglot benchmark: `LANGUAGE/exercises/practice/NAME`, as Exercism publishes them.
//!
//! `.meta/config.json` names the files of the solution and of the tests. The agent gets all files but `.meta` and the
//! tests. The tests replace files of the same name before the check, which runs the language's own test command.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::task::{Check, Goal, Kind, SetError, Task, TaskSet, digest_of};
use crate::tree::{Content, Tree, TreeError};

/// Test commands by language. Their programs have to be installed.
const COMMANDS: [(&str, &str); 6] = [
    ("cpp", "cmake -S . -B build -DEXERCISM_RUN_ALL_TESTS=1 && cmake --build build"),
    ("go", "go test ./..."),
    ("java", "./gradlew test"),
    ("javascript", "npm install --silent && sed -i 's/\\bxtest(/test(/g' *.spec.js && npm test"),
    ("python", "python3 -m pytest -q"),
    ("rust", "cargo test -- --include-ignored"),
];

/// Time for the tests of an exercise, as in aider's harness.
const TEST_TIMEOUT_MS: u64 = 180_000;

/// `.meta/config.json`.
#[derive(Deserialize)]
struct Config {
    files: Files,
}

#[derive(Deserialize)]
struct Files {
    solution: Vec<String>,
    test: Vec<String>,
    #[serde(default)]
    example: Vec<String>,
}

/// Reads all exercises below `directory` in languages with a known test command.
pub(super) fn read(directory: &Path) -> Result<TaskSet, SetError> {
    let mut tasks = Vec::new();
    let mut whole = String::new();
    for (language, command) in COMMANDS {
        for exercise in exercises(&directory.join(language).join("exercises/practice"))? {
            let task = task(language, command, &exercise)?;
            whole.push_str(&task.instruction);
            whole.push_str(&task.files.digest());
            tasks.push(task);
        }
    }
    if tasks.is_empty() {
        let reason = "it has no directory LANGUAGE/exercises/practice with exercises".to_owned();
        return Err(SetError::Malformed { file: directory.display().to_string(), reason });
    }
    Ok(TaskSet { name: "polyglot".to_owned(), shell: true, digest: digest_of(&whole), tasks })
}

/// Returns the directories of the exercises of a language, by name; none if the language is absent.
fn exercises(practice: &Path) -> Result<Vec<PathBuf>, SetError> {
    if !practice.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(practice).map_err(|error| failed(practice, error))?;
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.retain(|path| path.join(".meta/config.json").is_file());
    found.sort();
    Ok(found)
}

fn task(language: &str, command: &str, exercise: &Path) -> Result<Task, SetError> {
    let config = exercise.join(".meta/config.json");
    let text = fs::read_to_string(&config).map_err(|error| failed(&config, error))?;
    let malformed = |error: serde_json::Error| SetError::Malformed {
        file: config.display().to_string(),
        reason: error.to_string(),
    };
    let Config { files: named } = serde_json::from_str(&text).map_err(malformed)?;
    let all = Tree::read(exercise, &|name| matches!(name, "node_modules" | "target" | "build"))?;
    let is_hidden = |path: &str| path.starts_with(".meta/") || named.test.iter().any(|test| test == path);
    let part = |keeps: &dyn Fn(&str) -> bool| {
        let kept = all.0.iter().filter(|(path, _)| keeps(path));
        Tree(kept.map(|(path, content)| (path.clone(), Content::clone(content))).collect())
    };
    let files = part(&|path| !is_hidden(path) && !path.starts_with(".docs/"));
    let hidden = part(&|path| named.test.iter().any(|test| test == path));
    let examples = named.solution.iter().zip(&named.example);
    let examples = examples.filter_map(|(path, example)| Some((path.clone(), Content::clone(all.0.get(example)?))));
    let solution = files.with(&Tree(examples.collect()));
    let name = exercise.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Task {
        id: format!("{language}-{name}"),
        kind: Kind::Program,
        instruction: instruction(&all, &named.solution),
        files,
        user_edit: None,
        goal: Goal::Check(Check {
            command: command.to_owned(),
            files: hidden,
            tests: Tree::default(),
            directory: String::new(),
            timeout_ms: TEST_TIMEOUT_MS,
        }),
        solution,
        answer: "Done.".to_owned(),
    })
}

/// Returns the instruction: the documents of the exercise, and the files to change.
fn instruction(all: &Tree, solution: &[String]) -> String {
    let documents = ["introduction.md", "instructions.md", "instructions.append.md"];
    let texts = documents.iter().filter_map(|name| all.text(&format!(".docs/{name}")));
    let texts: Vec<&str> = texts.map(str::trim).collect();
    let files = solution.join(", ");
    format!(
        "{}\n\nImplement this in {files}. Keep the names of functions and classes that are there: hidden tests use them. \
         Use only the standard library.",
        texts.join("\n\n")
    )
}

fn failed(path: &Path, source: std::io::Error) -> SetError {
    SetError::Tree(TreeError::Io { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exercise_becomes_a_task_with_hidden_tests() {
        let directory = tempfile::tempdir().unwrap();
        let exercise = "python/exercises/practice/two";
        let text = format!(
            "//- {exercise}/.meta/config.json\n{{\"files\": {{\"solution\": [\"two.py\"], \"test\": [\"two_test.py\"], \
             \"example\": [\".meta/example.py\"]}}}}\n//- {exercise}/.meta/example.py\ndef two():\n    return 2\n\
             //- {exercise}/.docs/instructions.md\n# Two\n\nReturn two.\n//- {exercise}/two.py\ndef two():\n    pass\n\
             //- {exercise}/two_test.py\nassert True\n//- python/exercises/practice/other/README.md\n"
        );
        Tree::parse(&text).unwrap().write(directory.path()).unwrap();
        let set = read(directory.path()).unwrap();
        assert_eq!((set.tasks.len(), set.tasks[0].id.as_str()), (1, "python-two"));
        let task = &set.tasks[0];
        assert_eq!(task.files, Tree::of("two.py", "def two():\n    pass\n"));
        assert_eq!(task.solution, Tree::of("two.py", "def two():\n    return 2\n"));
        assert!(
            task.instruction.starts_with("# Two\n\nReturn two.\n\nImplement this in two.py."),
            "{}",
            task.instruction
        );
        let Goal::Check(check) = &task.goal else { panic!("{:?}", task.goal) };
        assert_eq!(check.files, Tree::of("two_test.py", "assert True\n"));
    }

    #[test]
    fn a_directory_without_exercises_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert!(read(directory.path()).unwrap_err().to_string().contains("LANGUAGE/exercises/practice"));
    }
}

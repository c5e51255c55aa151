//! The exercises of the crate `rustlings`: broken programs of one file.
//!
//! A program is solved if it compiles, its tests pass and it runs. Tests that the solution does not change replace those
//! of the agent before they run, so that deleted or weakened tests solve nothing. The solutions are not part of the copy.

use std::fs;
use std::path::{Path, PathBuf};

use crate::task::{Check, Goal, Kind, SetError, TIMEOUT_MS, Task, TaskSet, digest_of, tests_start};
use crate::tree::{Tree, TreeError};

/// The file of the agent.
const PROGRAM: &str = "src/main.rs";

/// Directory of the exercises in which warnings of Clippy are errors.
const CLIPPY: &str = "22_clippy";

/// The exercise that shows a program and breaks nothing.
const UNBROKEN: &str = "intro1";

const INSTRUCTION: &str = "The program in src/main.rs is an exercise. Its comments say how to complete it. Change src/main.rs \
                           so that it compiles, its tests pass and it runs to its end. Do not change the tests, unless the \
                           comments ask for it.";

/// Reads the exercises below `directory`, the unpacked crate.
pub(super) fn read(directory: &Path) -> Result<TaskSet, SetError> {
    let mut files = Vec::new();
    collect(&directory.join("exercises"), &mut files)?;
    files.sort();
    let mut whole = String::new();
    let mut tasks = Vec::new();
    for file in files {
        let below = file.strip_prefix(directory.join("exercises")).unwrap_or(&file).to_owned();
        let (exercise, solution) = (text(&file)?, text(&directory.join("solutions").join(&below))?);
        let id = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if id != UNBROKEN {
            whole.push_str(&exercise);
            whole.push_str(&solution);
            tasks.push(task(id, &exercise, &solution, below.starts_with(CLIPPY)));
        }
    }
    if tasks.is_empty() {
        let reason = "it has no exercises; give the directory of the unpacked crate".to_owned();
        return Err(SetError::Malformed { file: directory.display().to_string(), reason });
    }
    Ok(TaskSet { name: "rustlings".to_owned(), shell: true, digest: digest_of(&whole), tasks })
}

fn task(id: String, exercise: &str, solution: &str, is_strict: bool) -> Task {
    // Some exercises ask for a change of the tests.
    let kept_tests = tests_of(exercise).filter(|tests| tests_of(solution) == Some(*tests));
    let check = Check {
        command: command(solution.matches("#[test]").count(), is_strict),
        files: Tree::default(),
        tests: kept_tests.map_or_else(Tree::default, |tests| Tree::of(PROGRAM, tests)),
        directory: String::new(),
        timeout_ms: TIMEOUT_MS,
    };
    Task {
        id,
        kind: Kind::Program,
        instruction: INSTRUCTION.to_owned(),
        files: Tree::of(PROGRAM, exercise),
        user_edit: None,
        goal: Goal::Check(check),
        solution: Tree::of(PROGRAM, solution),
        answer: "Done.".to_owned(),
    }
}

/// Returns the tests of a program, from the line that begins their module.
fn tests_of(program: &str) -> Option<&str> {
    tests_start(program).map(|at| &program[at..])
}

/// Returns the command that checks a program with `n_tests` tests.
fn command(n_tests: usize, is_strict: bool) -> String {
    let compile = "rustc --edition 2024";
    let mut steps = Vec::new();
    if n_tests > 0 {
        steps.push(format!("{compile} --test {PROGRAM} -o .tests"));
        // The number of tests counts, too: deleted tests pass.
        steps.push("(./.tests > .output; status=$?; cat .output; exit $status)".to_owned());
        steps.push(format!("grep -q 'test result: ok. {n_tests} passed' .output"));
    }
    if is_strict {
        steps.push(format!("clippy-driver --edition 2024 -D warnings {PROGRAM} -o .strict"));
    }
    steps.push(format!("{compile} {PROGRAM} -o .program"));
    steps.push("./.program".to_owned());
    steps.join(" && ")
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), SetError> {
    for entry in fs::read_dir(directory).map_err(|error| failed(directory, error))? {
        let path = entry.map_err(|error| failed(directory, error))?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn text(file: &Path) -> Result<String, SetError> {
    fs::read_to_string(file).map_err(|error| failed(file, error))
}

fn failed(path: &Path, source: std::io::Error) -> SetError {
    SetError::Tree(TreeError::Io { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXERCISE: &str = "fn two() -> u8 {\n    // TODO\n}\n\nfn main() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn is_two() {\n        assert_eq!(super::two(), 2);\n    }\n}\n";

    fn crate_with(exercise: &str, solution: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let tree = format!(
            "//- exercises/00_intro/intro1.rs\nfn main() {{}}\n//- solutions/00_intro/intro1.rs\nfn main() {{}}\n\
             //- exercises/01_a/one.rs\n{exercise}//- solutions/01_a/one.rs\n{solution}"
        );
        Tree::parse(&tree).unwrap().write(directory.path()).unwrap();
        directory
    }

    #[test]
    fn an_exercise_becomes_a_task_without_its_solution() {
        let directory = crate_with(EXERCISE, &EXERCISE.replace("// TODO", "2"));
        let set = read(directory.path()).unwrap();
        assert_eq!((set.tasks.len(), set.tasks[0].id.as_str(), set.shell), (1, "one", true));
        let task = &set.tasks[0];
        assert_eq!(task.files.0.keys().collect::<Vec<_>>(), [PROGRAM]);
        assert!(!task.files.text(PROGRAM).unwrap().contains("    2\n"));
        let Goal::Check(check) = &task.goal else { panic!("{:?}", task.goal) };
        assert_eq!(check.tests.text(PROGRAM), tests_of(EXERCISE));
        assert!(check.command.contains("ok. 1 passed"), "{}", check.command);
    }

    #[test]
    fn tests_that_the_solution_changes_are_not_replaced() {
        let directory = crate_with(EXERCISE, &EXERCISE.replace("assert_eq!(super::two(), 2)", "assert!(true)"));
        let set = read(directory.path()).unwrap();
        let Goal::Check(check) = &set.tasks[0].goal else { panic!() };
        assert_eq!(check.tests, Tree::default());
        assert!(check.command.starts_with("rustc --edition 2024 --test src/main.rs"), "{}", check.command);
    }

    #[test]
    fn a_directory_without_exercises_is_named() {
        let directory = tempfile::tempdir().unwrap();
        assert!(read(directory.path()).unwrap_err().to_string().contains("exercises"));
    }
}

//! The built-in sets, of our own: `core` with 40 small tasks, and `small` with 30 that are easy enough for a tiny model.
//! They need no program but the agent.

use crate::task::{SetError, TaskSet};

/// The files of the set.
const CORE: [(&str, &str); 6] = [
    ("1-single-file.toml", include_str!("../sets/core/1-single-file.toml")),
    ("2-multi-file.toml", include_str!("../sets/core/2-multi-file.toml")),
    ("3-ambiguous.toml", include_str!("../sets/core/3-ambiguous.toml")),
    ("4-impossible.toml", include_str!("../sets/core/4-impossible.toml")),
    ("5-already-done.toml", include_str!("../sets/core/5-already-done.toml")),
    ("6-user-edit.toml", include_str!("../sets/core/6-user-edit.toml")),
];

/// The files of the set `small`.
const SMALL: [(&str, &str); 4] = [
    ("1-rename.toml", include_str!("../sets/small/1-rename.toml")),
    ("2-list-item.toml", include_str!("../sets/small/2-list-item.toml")),
    ("3-typo.toml", include_str!("../sets/small/3-typo.toml")),
    ("4-constant.toml", include_str!("../sets/small/4-constant.toml")),
];

/// Returns the set `core`.
///
/// # Errors
///
/// [`SetError`] if the set is wrong, which a test rules out.
pub fn core() -> Result<TaskSet, SetError> {
    built_in("core", &CORE)
}

/// Returns the set `small`.
///
/// # Errors
///
/// [`SetError`] if the set is wrong, which a test rules out.
pub fn small() -> Result<TaskSet, SetError> {
    built_in("small", &SMALL)
}

fn built_in(name: &str, files: &[(&str, &str)]) -> Result<TaskSet, SetError> {
    let files: Vec<(String, String)> =
        files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    TaskSet::parse(name, &files)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::judge::judge;
    use crate::run_log::{CallLog, RunLog};
    use crate::task::{Goal, Kind};

    fn log(text: &str, tools: &[&str]) -> RunLog {
        let call = |tool: &&str| CallLog { tool: (*tool).to_owned(), ok: true, code: None };
        let calls = tools.iter().map(call).collect();
        RunLog { text: text.to_owned(), calls, reason: "natural".to_owned(), ..RunLog::default() }
    }

    #[test]
    fn the_set_has_forty_tasks_of_six_kinds() {
        let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
        for task in core().unwrap().tasks {
            *counts.entry(task.kind).or_default() += 1;
        }
        let expected = [
            (Kind::SingleFile, 12),
            (Kind::MultiFile, 8),
            (Kind::Ambiguous, 5),
            (Kind::Impossible, 5),
            (Kind::AlreadyDone, 5),
            (Kind::UserEdit, 5),
        ];
        assert_eq!(counts, expected.into());
    }

    #[test]
    fn the_small_set_has_thirty_tasks_with_one_short_file() {
        let tasks = small().unwrap().tasks;
        assert_eq!(tasks.len(), 30);
        for task in tasks {
            let texts: Vec<&[u8]> = task.files.0.values().map(|content| &content[..]).collect();
            assert!(texts.len() == 1 && texts[0].len() <= 60, "{}: {}", task.id, texts[0].len());
            let path = task.files.0.keys().next().unwrap();
            assert!(task.instruction.contains(path.as_str()), "{}: the instruction must name {path}", task.id);
            assert_eq!(task.solution.0.len(), 1, "{}", task.id);
        }
    }

    #[test]
    fn a_reference_solves_each_task_and_idle_agents_solve_none() {
        for task in core().unwrap().tasks.into_iter().chain(small().unwrap().tasks) {
            let base = task.base();
            let solved = |after, log: &RunLog| judge(&task, &base, after, log, None).solved;
            assert!(solved(&task.solution, &log(&task.answer, &["read_file"])), "{}: the reference", task.id);
            for text in ["Done.", "", "I cannot do that.", "Nothing was changed.", "Should I do it?", &task.instruction]
            {
                assert!(!solved(&base, &log(text, &[])), "{}: no call, and the answer {text:?}", task.id);
            }
            // The same after a look, with an answer that says nothing about the files.
            for text in ["Done.", "I cannot do that.", "Should I do it?", &task.instruction] {
                assert!(!solved(&base, &log(text, &["read_file"])), "{}: a look, and the answer {text:?}", task.id);
            }
            if matches!(task.goal, Goal::Files(_)) {
                assert!(!solved(&base, &log(&task.answer, &["read_file"])), "{}: files must change", task.id);
            }
        }
    }
}

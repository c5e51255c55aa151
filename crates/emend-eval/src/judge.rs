//! The score of one run.
//!
//! A task with expected files is solved by exactly these files, byte for byte. A task in which nothing may change is solved
//! only by an answer: the agent has looked at the files and says a fact of them. So an agent that does nothing solves no
//! task, and an agent that refuses everything without looking does not either.

use std::collections::BTreeSet;

use emend_edit::diff::diff_lines;

use crate::run_log::RunLog;
use crate::task::{Goal, Kind, Task};
use crate::tree::Tree;

/// Words with which a model admits that it did not do everything. Any other answer counts as a claim of success.
const ADMISSIONS: [&str; 16] = [
    "could not",
    "couldn't",
    "cannot",
    "can't",
    "unable",
    "failed",
    "not finished",
    "incomplete",
    "nothing was changed",
    "not found",
    "found no",
    "does not exist",
    "did not",
    "didn't",
    "not sure",
    "gave up",
];

/// The output of the command that checks a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOutcome {
    /// Whether the command succeeded.
    pub success: bool,
    /// The end of its output, for the second attempt.
    pub output: String,
}

/// The score of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the task is solved.
    pub solved: bool,
    /// Whether the agent changed files in another way than expected, and claims success. The worst outcome: nobody looks
    /// again.
    pub silently_wrong: bool,
    /// Hunks of the agent that the expected files have too, and all hunks of the agent; none for goals without files.
    pub hunks: Option<(usize, usize)>,
    /// The reason why the task is not solved. It is part of the second message and gives away no solution.
    pub problem: Option<String>,
}

/// Scores a run that left `after` behind. `check` is the outcome of the command, for tasks that have one. `base` has the
/// files as the user left them: with the user's edit if it was made.
#[must_use]
pub fn judge(task: &Task, base: &Tree, after: &Tree, log: &RunLog, check: Option<&CheckOutcome>) -> Verdict {
    let is_changed = after != base;
    let mut hunks = None;
    let problem = match &task.goal {
        Goal::Files(expected) => {
            hunks = Some(shared_hunks(base, expected, after));
            let differing = after.differences(expected);
            (!differing.is_empty())
                .then(|| format!("The files are not the expected ones. They differ in: {}.", differing.join(", ")))
        }
        Goal::Answer(_) if is_changed => Some("The result is not the expected one.".to_owned()),
        Goal::Answer(groups) => {
            let is_asked = task.kind != Kind::Ambiguous || log.asks();
            (!is_asked || !answers(log, groups)).then(|| "The answer is not the expected one.".to_owned())
        }
        Goal::Check(_) => match check {
            Some(outcome) if outcome.success => None,
            Some(outcome) => Some(format!("The check failed. The end of its output:\n{}", outcome.output.trim_end())),
            None => Some("The check did not run.".to_owned()),
        },
    };
    let silently_wrong = problem.is_some() && is_changed && claims_success(log);
    Verdict { solved: problem.is_none(), silently_wrong, hunks, problem }
}

/// Returns the message for the second attempt.
#[must_use]
pub fn second_message(task: &Task, problem: &str) -> String {
    format!("{problem}\n\nThe task again:\n{}", task.instruction)
}

/// Returns whether the model says, or lets the user believe, that it has done the task.
#[must_use]
pub fn claims_success(log: &RunLog) -> bool {
    let answer = log.answer().to_lowercase();
    log.reason == "natural" && !log.asks() && !ADMISSIONS.iter().any(|admission| answer.contains(admission))
}

fn answers(log: &RunLog, groups: &[Vec<String>]) -> bool {
    let answer = log.answer().to_lowercase();
    let has = |text: &String| answer.contains(&text.to_lowercase());
    log.has_looked() && groups.iter().all(|group| group.iter().any(has))
}

/// One changed place: the path, the old lines, and the new text.
type Hunk = (String, usize, usize, String);

/// Returns the number of the agent's hunks that are also expected, and the number of all of them.
fn shared_hunks(base: &Tree, expected: &Tree, after: &Tree) -> (usize, usize) {
    let (expected, found) = (hunks(base, expected), hunks(base, after));
    (found.intersection(&expected).count(), found.len())
}

fn hunks(base: &Tree, after: &Tree) -> BTreeSet<Hunk> {
    let mut found = BTreeSet::new();
    for path in base.differences(after) {
        let (Some(old), Some(new)) = (base.text(&path), after.text(&path)) else {
            // Created, deleted, or not a text: one hunk.
            let content = after.0.get(&path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            found.insert((path, 0, 0, content.unwrap_or_default()));
            continue;
        };
        let lines: Vec<&str> = new.split_inclusive('\n').collect();
        for op in diff_lines(old, new) {
            let text = lines.get(op.new.clone()).map(|lines| lines.concat()).unwrap_or_default();
            found.insert((path.clone(), op.old.start, op.old.end, text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_log::CallLog;
    use crate::task::TaskSet;

    fn task(fields: &str) -> Task {
        let text = format!(
            "kind = \"single-file\"\n[[task]]\nid = \"t\"\ninstruction = \"Do x\"\nfiles = \"//- a\\n1\\n2\\n3\\n4\\n\"\n{fields}"
        );
        TaskSet::parse("s", &[("f".to_owned(), text)]).unwrap().tasks.remove(0)
    }

    fn said(text: &str, tools: &[&str]) -> RunLog {
        let call = |tool: &&str| CallLog { tool: (*tool).to_owned(), ok: true, code: None };
        let calls = tools.iter().map(call).collect();
        RunLog { text: text.to_owned(), reason: "natural".to_owned(), calls, ..RunLog::default() }
    }

    #[track_caller]
    fn check(task: &Task, after: &str, log: &RunLog, solved: bool, silently_wrong: bool) -> Verdict {
        let verdict = judge(task, &task.files, &Tree::parse(after).unwrap(), log, None);
        assert_eq!((verdict.solved, verdict.silently_wrong), (solved, silently_wrong), "{verdict:?}");
        verdict
    }

    #[test]
    fn expected_files_count_byte_for_byte() {
        let task = task("expected = \"//- a\\n1\\nx\\n3\\ny\\n\"");
        let done = said("Done.", &["edit_file"]);
        assert_eq!(check(&task, "//- a\n1\nx\n3\ny\n", &done, true, false).hunks, Some((2, 2)));
        assert_eq!(check(&task, "//- a\n1\n2\n3\n4\n", &done, false, false).hunks, Some((0, 0)), "no change");
        assert_eq!(check(&task, "//- a\n1\nx\n3\nz\n", &done, false, true).hunks, Some((1, 2)), "a wrong place");
        check(&task, "//- a\n1\nx\n3\n4\n", &said("I could not change line 4.", &["edit_file"]), false, false);
        check(&task, "//- a\n1\nx\n3\n4\n", &said("Shall I change line 4 too?", &["edit_file"]), false, false);
        let failed = RunLog { reason: "error".to_owned(), ..done };
        check(&task, "//- a\n1\nx\n3\n4\n", &failed, false, false);
    }

    #[test]
    fn an_answer_needs_a_look_and_a_fact() {
        let task = task("answer = [[\"no x\", \"not there\"], [\"4\"]]");
        let same = "//- a\n1\n2\n3\n4\n";
        check(&task, same, &said("There is NO X in the 4 lines.", &["read_file"]), true, false);
        check(&task, same, &said("There is no x in the 4 lines.", &["edit_file"]), false, false);
        check(&task, same, &said("There is no x.", &["read_file"]), false, false);
        check(&task, same, &said("Done.", &[]), false, false);
        check(&task, "//- a\n1\n", &said("There is no x in the 4 lines.", &["read_file"]), false, true);
    }

    #[test]
    fn a_check_decides_for_programs() {
        let task = task("expected = \"//- a\\n5\\n\"\ncheck = { command = \"true\" }");
        let outcome = |success| CheckOutcome { success, output: "E1\n".to_owned() };
        let verdict = |success| {
            judge(&task, &task.files, &task.solution, &said("Done.", &["edit_file"]), Some(&outcome(success)))
        };
        assert_eq!(verdict(true).problem, None);
        assert_eq!(verdict(false).problem.as_deref(), Some("The check failed. The end of its output:\nE1"));
        assert!(verdict(false).silently_wrong);
    }
}

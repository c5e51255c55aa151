//! Verdicts on the JSON lines of `emend eval`: the scores that the controls must have, and damage that no model may do.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// Texts of Cargo about a package that is not on this machine.
const MISSING_PACKAGE: [&str; 3] = ["offline was specified", "using offline mode", "no matching package named"];

/// The results of the controls on the tasks of a set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Controls {
    /// Tasks that `reference` solves and `do-nothing` does not.
    pub(crate) right: Vec<String>,
    /// Agents with tasks that they must not have solved, or not have missed.
    pub(crate) wrong: Vec<String>,
    /// Tasks whose check needs packages that are not on this machine.
    pub(crate) unbuilt: Vec<String>,
}

impl Controls {
    /// Reads the results of both controls.
    pub(crate) fn of(lines: &str) -> Result<Self> {
        let agent = |name: &'static str| tasks(lines).filter(move |task| task["model"] == name);
        let mut controls = Self::default();
        ensure!(agent("do-nothing").count() == agent("reference").count(), "a control has not run all tasks");
        for task in agent("reference") {
            let id = task["task"].as_str().context("a task without a name")?.to_owned();
            let mut twins = agent("do-nothing").filter(|other| other["task"] == task["task"]);
            let idle = twins.next().with_context(|| format!("do-nothing has not run {id}"))?;
            let problems = task["attempts"].as_array().into_iter().flatten();
            let mut problems = problems.filter_map(|attempt| attempt["problem"].as_str());
            if !idle["solved_at"].is_null() {
                controls.wrong.push(format!("do-nothing solved {id}"));
            } else if !task["solved_at"].is_null() {
                controls.right.push(id);
            } else if problems.any(|text| MISSING_PACKAGE.iter().any(|missing| text.contains(missing))) {
                controls.unbuilt.push(id);
            } else {
                controls.wrong.push(format!("reference did not solve {id}"));
            }
        }
        ensure!(
            !controls.right.is_empty() || !controls.wrong.is_empty() || !controls.unbuilt.is_empty(),
            "no task ran"
        );
        Ok(controls)
    }
}

/// Fails if an agent claimed success and left files that differ from the expected ones in another way than before.
pub(crate) fn nothing_silently_wrong(lines: &str) -> Result<()> {
    let rows: Vec<Value> = of_type(lines, "row").collect();
    ensure!(!rows.is_empty(), "the report has no agent");
    let mut wrong = Vec::new();
    for row in &rows {
        let hits = row["silently_wrong"]["hits"].as_u64();
        let hits = hits.with_context(|| format!("the row of {} does not say what is silently wrong", row["model"]))?;
        if hits > 0 {
            let form = row["tool_calls"].as_str().map_or_else(String::new, |form| format!(" with {form} tool calls"));
            wrong.push(format!("{}{form}: {hits}", row["model"].as_str().unwrap_or_default()));
        }
    }
    if !wrong.is_empty() {
        bail!("tasks with silently wrong files must be 0: {}", wrong.join(", "));
    }
    Ok(())
}

/// Returns the sums of an agent.
pub(crate) fn row(lines: &[u8], agent: &str) -> Result<Value> {
    let text = String::from_utf8_lossy(lines);
    let found = of_type(&text, "row").find(|row| row["model"] == agent);
    found.with_context(|| format!("the report has no row of {agent}"))
}

fn tasks(lines: &str) -> impl Iterator<Item = Value> + '_ {
    of_type(lines, "task")
}

fn of_type<'a>(lines: &'a str, kind: &'a str) -> impl Iterator<Item = Value> + 'a {
    let values = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    values.filter(move |value| value["type"] == kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A line of a task: the agent, the task, the attempt that solved it, and the problem of the only attempt.
    fn task(model: &str, id: &str, solved_at: Option<u8>, problem: &str) -> String {
        let attempts = [json!({ "problem": problem })];
        json!({ "type": "task", "model": model, "task": id, "solved_at": solved_at, "attempts": attempts }).to_string()
    }

    #[track_caller]
    fn check(lines: &[String], right: &[&str], wrong: &[&str], unbuilt: &[&str]) {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let expected = Controls { right: owned(right), wrong: owned(wrong), unbuilt: owned(unbuilt) };
        assert_eq!(Controls::of(&lines.join("\n")).unwrap(), expected);
    }

    #[test]
    fn the_controls_are_right_wrong_or_not_built() {
        let failed = "The check failed.\nassertion failed";
        let both = |idle: Option<u8>, reference: Option<u8>, problem: &str| {
            [task("do-nothing", "a", idle, failed), task("reference", "a", reference, problem)]
        };
        check(&both(None, Some(1), ""), &["a"], &[], &[]);
        check(&both(Some(1), Some(1), ""), &[], &["do-nothing solved a"], &[]);
        check(&both(None, None, failed), &[], &["reference did not solve a"], &[]);
        let missing = "The check failed.\nerror: attempting to make an HTTP request, but --offline was specified";
        check(&both(None, None, missing), &[], &[], &["a"]);
        // A missing package does not excuse an agent that solves a task by doing nothing.
        check(&both(Some(1), None, missing), &[], &["do-nothing solved a"], &[]);
    }

    #[test]
    fn results_without_one_of_the_controls_are_refused() {
        let refused = |lines: &[String]| Controls::of(&lines.join("\n")).unwrap_err().to_string();
        assert_eq!(refused(&[]), "no task ran");
        assert_eq!(refused(&[task("reference", "a", Some(1), "")]), "a control has not run all tasks");
        let others = [task("reference", "a", Some(1), ""), task("do-nothing", "b", None, "")];
        assert_eq!(refused(&others), "do-nothing has not run a");
    }

    #[test]
    fn one_silently_wrong_task_fails_the_run() {
        let row = |form: &str, hits: u8| {
            let share = json!({ "hits": hits, "total": 30 });
            json!({ "type": "row", "model": "m", "tool_calls": form, "silently_wrong": share }).to_string()
        };
        nothing_silently_wrong(&[row("native", 0), row("constrained", 0)].join("\n")).unwrap();
        let refused = |lines: &[String]| nothing_silently_wrong(&lines.join("\n")).unwrap_err().to_string();
        let wrong = refused(&[row("native", 0), row("constrained", 2)]);
        assert_eq!(wrong, "tasks with silently wrong files must be 0: m with constrained tool calls: 2");
        // A report without the number proves nothing.
        assert_eq!(refused(&[]), "the report has no agent");
        let without = json!({ "type": "row", "model": "m" }).to_string();
        assert_eq!(refused(&[without]), "the row of \"m\" does not say what is silently wrong");
    }
}

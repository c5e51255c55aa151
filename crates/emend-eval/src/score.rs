//! Results of tasks, and their sums for each agent.

use std::collections::BTreeMap;

use emend_llm::{Usage, get_model_info};
use serde::Serialize;
use serde_json::{Value, json};

use crate::judge::Verdict;
use crate::run_log::{CallLog, RunLog};
use crate::statistics::{Share, percentile};
use crate::task::{Kind, Task, TaskSet};
use crate::tree::Tree;

/// The version of the harness in reports.
pub const HARNESS: &str = env!("CARGO_PKG_VERSION");

/// An agent of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Contestant {
    /// The model, as `--model` names it.
    pub model: String,
    /// The edit tools, if not those of the model's family.
    pub edits: Option<String>,
    /// The form of tool calls, if the comparison names it.
    pub tool_calls: Option<String>,
}

impl std::fmt::Display for Contestant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.model)?;
        let parts: Vec<&str> = [&self.edits, &self.tool_calls].into_iter().flatten().map(String::as_str).collect();
        if parts.is_empty() { Ok(()) } else { write!(f, " ({})", parts.join(", ")) }
    }
}

/// One attempt at a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// Whether the task was solved after it.
    pub solved: bool,
    /// See [`Verdict::silently_wrong`].
    pub silently_wrong: bool,
    /// The reason of the end of the run.
    pub end: String,
    /// The error that ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the agent asked the user.
    pub asked: bool,
    /// The tool calls.
    pub calls: Vec<CallLog>,
    /// See [`Verdict::hunks`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunks: Option<(usize, usize)>,
    /// Tokens of the requests.
    pub input_tokens: u64,
    /// Tokens of the responses.
    pub output_tokens: u64,
    /// The price, if the catalogue has prices of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Duration in milliseconds.
    pub wall_ms: u64,
    /// Digest of the files after the attempt.
    pub files: String,
    /// The last text of the agent, and its question.
    pub answer: String,
    /// The reason why the task is not solved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Attempt {
    /// Returns the attempt of a run with its score. `model` is the provider's name of the model.
    #[must_use]
    pub fn new(log: &RunLog, verdict: Verdict, after: &Tree, model: &str, wall_ms: u64) -> Self {
        Self {
            solved: verdict.solved,
            silently_wrong: verdict.silently_wrong,
            end: log.reason.clone(),
            error: log.error.clone(),
            asked: log.asks(),
            calls: log.calls.clone(),
            hunks: verdict.hunks,
            input_tokens: log.usage.input_tokens,
            output_tokens: log.usage.output_tokens,
            cost_usd: cost(model, &log.usage),
            wall_ms,
            files: after.digest(),
            answer: log.answer(),
            problem: verdict.problem,
        }
    }
}

fn cost(model: &str, usage: &Usage) -> Option<f64> {
    get_model_info(model).and_then(|info| info.cost_usd(usage))
}

/// The result of one agent on one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskResult {
    /// The agent.
    #[serde(flatten)]
    pub contestant: Contestant,
    /// The task.
    pub task: String,
    /// Its kind.
    pub kind: Kind,
    /// The attempts. The second one follows in the same conversation if the first one failed.
    pub attempts: Vec<Attempt>,
}

impl TaskResult {
    /// Returns the result of `contestant` on `task`.
    #[must_use]
    pub fn new(contestant: &Contestant, task: &Task, attempts: Vec<Attempt>) -> Self {
        Self { contestant: contestant.clone(), task: task.id.clone(), kind: task.kind, attempts }
    }

    /// Returns the number of the attempt that solved the task.
    #[must_use]
    pub fn solved_at(&self) -> Option<usize> {
        self.attempts.iter().position(|attempt| attempt.solved).map(|index| index + 1)
    }

    /// Returns whether the last attempt left files that are silently wrong.
    #[must_use]
    pub fn is_silently_wrong(&self) -> bool {
        self.attempts.last().is_some_and(|attempt| attempt.silently_wrong)
    }

    fn calls(&self) -> impl Iterator<Item = &CallLog> {
        self.attempts.iter().flat_map(|attempt| &attempt.calls)
    }

    fn wall_ms(&self) -> u64 {
        self.attempts.iter().map(|attempt| attempt.wall_ms).sum()
    }
}

/// The sums of one agent over the tasks of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The agent.
    pub contestant: Contestant,
    /// Tasks solved at the first attempt.
    pub solved_first: Share,
    /// Tasks solved at the first or second attempt.
    pub solved: Share,
    /// Tasks solved by kind.
    pub by_kind: BTreeMap<Kind, Share>,
    /// Calls of all tools that the tool could read.
    pub valid_calls: Share,
    /// Edit calls that the tool could read.
    pub well_formed: Share,
    /// Well-formed edit calls that found their place.
    pub located: Share,
    /// Edit calls that were refused.
    pub refused: Share,
    /// Tasks that ended with silently wrong files.
    pub silently_wrong: Share,
    /// Hunks of the agent that are also in the expected files: those that a reviewer would accept.
    pub accepted_hunks: Share,
    /// Tasks in which an edit met a file that had changed.
    pub conflicts: Share,
    /// Tasks in which the agent asked the user.
    pub asked: Share,
    /// Tasks that ended with an error of the provider or the harness.
    pub errors: Share,
    /// Tool calls of all tasks.
    pub calls: usize,
    /// Tool calls of the solved tasks.
    pub calls_of_solved: usize,
    /// Tokens of requests.
    pub input_tokens: u64,
    /// Tokens of responses.
    pub output_tokens: u64,
    /// The price, if it is known for every attempt.
    pub cost_usd: Option<f64>,
    /// Sum of the durations of all tasks, in milliseconds.
    pub wall_ms: u64,
    /// Median of the durations of the tasks.
    pub wall_p50_ms: Option<u64>,
    /// 95th percentile of the durations of the tasks.
    pub wall_p95_ms: Option<u64>,
}

impl Row {
    /// Adds up the results of one agent.
    #[must_use]
    pub fn of(contestant: &Contestant, results: &[&TaskResult]) -> Self {
        let tasks = |is_hit: &dyn Fn(&TaskResult) -> bool| Share::of(results, |result| is_hit(result));
        let edits: Vec<&CallLog> =
            results.iter().flat_map(|result| result.calls()).filter(|call| call.is_edit()).collect();
        let attempts = || results.iter().flat_map(|result| &result.attempts);
        let hunks: Vec<(usize, usize)> = results.iter().filter_map(|result| result.attempts.last()?.hunks).collect();
        let mut by_kind: BTreeMap<Kind, Share> = BTreeMap::new();
        for result in results {
            let share = by_kind.entry(result.kind).or_default();
            share.total += 1;
            share.hits += usize::from(result.solved_at().is_some());
        }
        let walls: Vec<u64> = results.iter().map(|result| result.wall_ms()).collect();
        let is_error = |result: &TaskResult| result.attempts.iter().any(|attempt| attempt.error.is_some());
        Self {
            contestant: contestant.clone(),
            solved_first: tasks(&|result| result.solved_at() == Some(1)),
            solved: tasks(&|result| result.solved_at().is_some()),
            by_kind,
            valid_calls: Share::of(results.iter().flat_map(|result| result.calls()), |call| call.is_well_formed()),
            well_formed: Share::of(&edits, |call| call.is_well_formed()),
            located: Share::of(edits.iter().filter(|call| call.is_well_formed()), |call| call.is_located()),
            refused: Share::of(&edits, |call| !call.ok),
            silently_wrong: tasks(&TaskResult::is_silently_wrong),
            accepted_hunks: Share {
                hits: hunks.iter().map(|(hits, _)| hits).sum(),
                total: hunks.iter().map(|(_, total)| total).sum(),
            },
            conflicts: tasks(&|result| result.calls().any(|call| call.is_edit() && call.is_conflict())),
            asked: tasks(&|result| result.attempts.iter().any(|attempt| attempt.asked)),
            errors: tasks(&is_error),
            calls: results.iter().map(|result| result.calls().count()).sum(),
            calls_of_solved: results
                .iter()
                .filter(|result| result.solved_at().is_some())
                .map(|result| result.calls().count())
                .sum(),
            input_tokens: attempts().map(|attempt| attempt.input_tokens).sum(),
            output_tokens: attempts().map(|attempt| attempt.output_tokens).sum(),
            cost_usd: attempts().map(|attempt| attempt.cost_usd).sum(),
            wall_ms: walls.iter().sum(),
            wall_p50_ms: percentile(&walls, 50),
            wall_p95_ms: percentile(&walls, 95),
        }
    }

    /// Returns the tool calls for each solved task.
    #[must_use]
    pub fn calls_per_solved(&self) -> Option<f64> {
        (self.solved.hits > 0).then(|| self.calls_of_solved as f64 / self.solved.hits as f64)
    }

    /// Returns the tokens of responses for each second of the tasks. The time in which the model reads requests and tools
    /// work counts too.
    #[must_use]
    pub fn tokens_per_second(&self) -> Option<f64> {
        (self.wall_ms > 0 && self.output_tokens > 0).then(|| self.output_tokens as f64 * 1e3 / self.wall_ms as f64)
    }

    /// Returns the row as one JSON object.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let share = |share: Share| {
            let (low, high) = share.wilson();
            json!({ "hits": share.hits, "total": share.total, "low": rounded(low), "high": rounded(high) })
        };
        let by_kind: BTreeMap<&str, Value> =
            self.by_kind.iter().map(|(kind, found)| (kind.name(), share(*found))).collect();
        json!({
            "type": "row", "model": self.contestant.model, "edits": self.contestant.edits,
            "tool_calls": self.contestant.tool_calls, "valid_calls": share(self.valid_calls),
            "solved_first": share(self.solved_first), "solved": share(self.solved), "by_kind": by_kind,
            "well_formed": share(self.well_formed), "located": share(self.located), "refused": share(self.refused),
            "silently_wrong": share(self.silently_wrong), "accepted_hunks": share(self.accepted_hunks),
            "conflicts": share(self.conflicts), "asked": share(self.asked), "errors": share(self.errors),
            "calls": self.calls, "calls_per_solved": self.calls_per_solved().map(rounded),
            "input_tokens": self.input_tokens, "output_tokens": self.output_tokens, "cost_usd": self.cost_usd,
            "wall_ms": self.wall_ms, "wall_p50_ms": self.wall_p50_ms, "wall_p95_ms": self.wall_p95_ms,
            "tokens_per_second": self.tokens_per_second().map(rounded),
        })
    }
}

/// Returns a number with four decimals, so that reports do not depend on the last bits of a computation.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// The matrix of a comparison: agents and tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Name of the set.
    pub set: String,
    /// Digest of the set.
    pub digest: String,
    /// The number of attempts for each task.
    pub attempts_max: usize,
    /// Whether the responses come from recordings.
    pub is_replay: bool,
    /// The number of results of a run that was not interrupted.
    pub n_expected: usize,
    /// The results, ordered by agent and then as in the set.
    pub results: Vec<TaskResult>,
}

impl Matrix {
    /// Returns the matrix of `results`, in the order of the agents and of the set.
    #[must_use]
    pub fn new(
        set: &TaskSet,
        contestants: &[Contestant],
        attempts_max: usize,
        is_replay: bool,
        results: Vec<TaskResult>,
    ) -> Self {
        let place = |result: &TaskResult| {
            let contestant = contestants.iter().position(|contestant| *contestant == result.contestant);
            (contestant, set.tasks.iter().position(|task| task.id == result.task))
        };
        let mut results = results;
        results.sort_by_key(place);
        let n_expected = contestants.len() * set.tasks.len();
        Self { set: set.name.clone(), digest: set.digest.clone(), attempts_max, is_replay, n_expected, results }
    }

    /// Returns the agents, in order.
    #[must_use]
    pub fn contestants(&self) -> Vec<&Contestant> {
        let mut found: Vec<&Contestant> = Vec::new();
        for result in &self.results {
            if found.last() != Some(&&result.contestant) {
                found.push(&result.contestant);
            }
        }
        found
    }

    /// Returns the results of an agent.
    #[must_use]
    pub fn results_of(&self, contestant: &Contestant) -> Vec<&TaskResult> {
        self.results.iter().filter(|result| result.contestant == *contestant).collect()
    }

    /// Returns a row for each agent.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.contestants().into_iter().map(|contestant| Row::of(contestant, &self.results_of(contestant))).collect()
    }

    /// Returns the facts that every report begins with.
    #[must_use]
    pub fn head(&self) -> Value {
        let mut head = json!({
            "type": "eval", "harness": HARNESS, "set": self.set, "set_digest": self.digest,
            "attempts": self.attempts_max, "replay": self.is_replay,
        });
        if self.results.len() < self.n_expected {
            head["results_expected"] = self.n_expected.into();
        }
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, code: Option<&str>) -> CallLog {
        CallLog { tool: tool.to_owned(), ok: code.is_none(), code: code.map(str::to_owned) }
    }

    fn attempt(solved: bool, calls: Vec<CallLog>, wall_ms: u64) -> Attempt {
        let log = RunLog { calls, reason: "natural".to_owned(), ..RunLog::default() };
        let verdict = Verdict { solved, silently_wrong: !solved, hunks: Some((usize::from(solved), 1)), problem: None };
        Attempt::new(&log, verdict, &Tree::default(), "offline", wall_ms)
    }

    #[test]
    fn a_row_adds_up_its_tasks() {
        let contestant = Contestant { model: "m".to_owned(), ..Contestant::default() };
        let result = |task: &str, attempts| TaskResult {
            contestant: contestant.clone(),
            task: task.to_owned(),
            kind: Kind::SingleFile,
            attempts,
        };
        let edit = |code| call("edit_file", code);
        let results = [
            result("a", vec![attempt(true, vec![call("grep", None), edit(None)], 10)]),
            result("b", vec![attempt(false, vec![edit(Some("not_found"))], 20), attempt(true, vec![edit(None)], 30)]),
            result(
                "c",
                vec![
                    attempt(false, vec![edit(Some("stale"))], 5),
                    attempt(false, vec![edit(Some("invalid_argument"))], 5),
                ],
            ),
        ];
        let row = Row::of(&contestant, &results.iter().collect::<Vec<_>>());
        let shares = [row.solved_first, row.solved, row.well_formed, row.located, row.refused, row.silently_wrong];
        let found: Vec<(usize, usize)> = shares.iter().map(|share| (share.hits, share.total)).collect();
        assert_eq!(found, [(1, 3), (2, 3), (4, 5), (3, 4), (3, 5), (1, 3)]);
        assert_eq!((row.accepted_hunks.hits, row.accepted_hunks.total, row.conflicts.hits), (2, 3, 1));
        assert_eq!((row.calls, row.calls_per_solved()), (6, Some(2.0)));
        assert_eq!((row.wall_ms, row.wall_p50_ms, row.wall_p95_ms), (70, Some(10), Some(50)));
        assert_eq!((row.cost_usd, row.tokens_per_second()), (None, None));
        // The call that only looks counts as well.
        assert_eq!((row.valid_calls.hits, row.valid_calls.total), (5, 6));
        let timed = Row { output_tokens: 35, ..row };
        assert_eq!(timed.tokens_per_second(), Some(500.0));
    }
}

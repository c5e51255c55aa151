//! The use of models by a conversation, and its budget: a hard stop over all its runs, also after it was resumed.
//!
//! A document of the project's state directory keeps both. A conversation that a server ran has its use there, too.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use emend_agent::error_code::Code;
use emend_agent::event::EventKind;
use emend_agent::service::{Budget, ServiceStore as _, Spent};
use emend_agent::session::Session;
use emend_host::StateDir;
use emend_llm::Usage;
use serde::{Deserialize, Serialize};

use crate::budget;
use crate::failure::Failure;
use crate::project::Project;
use crate::served_sessions;
use crate::session_config::of_run;
use crate::settings::Settings;

/// Name of the document with the use and the budget of each conversation.
const DOCUMENT: &str = "budgets";

/// The part of the document about one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    spent: Spent,
    /// The budget that the user gave it, if not that of the settings.
    budget: Option<Budget>,
}

/// Counts what a conversation uses.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    session: String,
    kept: Kept,
    /// The budget in effect.
    budget: Budget,
    /// The use by the earlier runs of the same task.
    task: Spent,
    run: Option<OpenRun>,
}

/// A run that has not ended.
#[derive(Debug)]
struct OpenRun {
    began: Instant,
    used: Spent,
    /// The time of the question that waits for an answer.
    asked: Option<Instant>,
    waited: Duration,
}

impl Meter {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to count the use of another conversation.
    async fn open(&self, project: &Project, settings: &Settings, session: &str) -> Result<(), Failure> {
        let all: BTreeMap<String, Kept> = project.document(DOCUMENT)?;
        let mut kept = all.get(session).copied().unwrap_or_default();
        if let Some(record) = served(project, session).await? {
            if record.0.total_tokens > kept.spent.total_tokens {
                kept.spent = record.0;
            }
            kept.budget = kept.budget.or(Some(record.1).filter(|budget| *budget != Budget::default()));
        }
        if budget::is_given_by_option(settings) {
            kept.budget = Some(budget::of_conversations(settings));
        }
        let budget = kept.budget.unwrap_or_else(|| budget::of_conversations(settings));
        *self.state() = State { session: session.to_owned(), kept, budget, ..State::default() };
        Ok(())
    }

    /// Returns the use and the budget of a conversation.
    pub(crate) async fn of(
        &self,
        project: &Project,
        settings: &Settings,
        session: &str,
    ) -> Result<(Spent, Budget), Failure> {
        if self.state().session != session {
            self.open(project, settings, session).await?;
        }
        let state = self.state();
        Ok((state.kept.spent, state.budget))
    }

    /// Gives the next run of a conversation its limits: those of a run, and what the conversation has left. A run that goes
    /// on with a task has what the task has left.
    ///
    /// # Errors
    ///
    /// The conversation has used up its budget.
    pub(crate) async fn begin(
        &self,
        project: &Project,
        settings: &Settings,
        session: &Session,
        is_new_task: bool,
    ) -> Result<(), Failure> {
        let (spent, budget) = self.of(project, settings, session.id()).await?;
        if budget.used_up(&spent).is_some() {
            return Err(used_up(&spent, &budget));
        }
        let mut state = self.state();
        if is_new_task {
            state.task = Spent::default();
        }
        let limits = left(&state.task, &budget::of_runs(settings)).within(&left(&spent, &budget));
        session.configure(|config| config.run_budget = of_run(&limits));
        state.run =
            Some(OpenRun { began: Instant::now(), used: Spent::default(), asked: None, waited: Duration::ZERO });
        Ok(())
    }

    /// Counts an event of the run. At its end the use is kept.
    pub(crate) fn take(&self, kind: &EventKind, session: &Session, project: &Project) -> Result<(), Failure> {
        let mut state = self.state();
        let Some(run) = &mut state.run else { return Ok(()) };
        match kind {
            EventKind::ApprovalRequested(_) => run.asked = Some(Instant::now()),
            EventKind::ApprovalResolved { .. } => {
                run.waited += run.asked.take().map(|asked| asked.elapsed()).unwrap_or_default();
            }
            EventKind::SubagentEvent { event, .. } => {
                if let EventKind::ProcessingEnd { usage, .. } = &**event {
                    run.used.add(&parts(usage));
                }
            }
            EventKind::ProcessingEnd { usage, .. } => {
                run.used.add(&parts(usage));
                // The sum of the session has each response at the price of its own model, those of subagents of subagents too.
                (run.used.total_tokens, run.used.cost_usd) = session.used();
                let duration = run.began.elapsed().saturating_sub(run.waited);
                run.used.duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
                let used = run.used;
                state.run = None;
                state.task.add(&used);
                state.kept.spent.add(&used);
                keep(project, &state)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Changes the budget as words such as `tokens 200k` describe.
    pub(crate) fn change(&self, words: &str, project: &Project) -> Result<(), Failure> {
        let mut state = self.state();
        let wrong = |what: String| Failure::new(Code::InvalidArgument, format!("/budget: {what}; nothing was done"));
        state.budget = budget::changed(state.budget, words).map_err(wrong)?;
        state.kept.budget = Some(state.budget);
        keep(project, &state)
    }

    /// Returns the line about a budget that is used up.
    pub(crate) fn exhausted(&self) -> Option<String> {
        let state = self.state();
        let limit = state.budget.used_up(&state.kept.spent);
        limit.map(|_| used_up(&state.kept.spent, &state.budget).message)
    }
}

/// Keeps the use and the budget that a server counted for a conversation.
pub(crate) fn keep_served(project: &Project, session: &str, spent: Spent, budget: Budget) -> Result<(), Failure> {
    let mut all: BTreeMap<String, Kept> = project.document(DOCUMENT)?;
    all.insert(session.to_owned(), Kept { spent, budget: Some(budget) });
    project.save_document(DOCUMENT, &all)
}

fn keep(project: &Project, state: &State) -> Result<(), Failure> {
    let mut all: BTreeMap<String, Kept> = project.document(DOCUMENT)?;
    if all.get(&state.session) == Some(&state.kept) {
        return Ok(());
    }
    all.insert(state.session.clone(), state.kept);
    project.save_document(DOCUMENT, &all)
}

/// Forgets a deleted conversation.
pub(crate) fn forget(directory: &StateDir, session: &str) -> Result<(), Failure> {
    let mut all: BTreeMap<String, Kept> = directory.load(DOCUMENT)?.unwrap_or_default();
    match all.remove(session) {
        Some(_) => directory.save(DOCUMENT, &all).map_err(Failure::from),
        None => Ok(()),
    }
}

/// Returns the use and the budget of a session of the project's server.
async fn served(project: &Project, session: &str) -> Result<Option<(Spent, Budget)>, Failure> {
    if project.is_reader {
        return Ok(None);
    }
    let Some(store) = served_sessions::open(project.directory())? else { return Ok(None) };
    Ok(store.session(session).await?.map(|record| (record.spent, record.budget)))
}

/// Returns the tokens of requests and of responses.
fn parts(usage: &Usage) -> Spent {
    Spent { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens, ..Spent::default() }
}

fn used_up(spent: &Spent, budget: &Budget) -> Failure {
    let line = budget::line("used", spent, budget);
    let message = format!("the budget of the conversation is used up ({})", line.trim_end());
    let mut failure = Failure::new(Code::LimitReached, message);
    failure.suggestions = vec![
        "/budget tokens N, cost USD, time TIME or none, in the conversation".to_owned(),
        "--session-max-tokens N, --session-max-cost USD or --session-max-time TIME".to_owned(),
    ];
    failure
}

/// Returns what is left of a budget: at least the smallest amount of each limit, since 0 means unlimited.
fn left(spent: &Spent, budget: &Budget) -> Budget {
    let number = |limit: u64, used: u64| if limit == 0 { 0 } else { limit.saturating_sub(used).max(1) };
    let is_limited = budget.cost_usd > 0.0;
    Budget {
        tokens: number(budget.tokens, spent.total_tokens),
        cost_usd: if is_limited { (budget.cost_usd - spent.cost_usd).max(f64::MIN_POSITIVE) } else { 0.0 },
        duration_ms: number(budget.duration_ms, spent.duration_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_a_limit_as_long_as_there_is_one() {
        let spent = Spent { total_tokens: 30, cost_usd: 0.25, duration_ms: 900, ..Spent::default() };
        let check = |budget: Budget, expected: Budget, is_over: bool| {
            assert_eq!((left(&spent, &budget), budget.used_up(&spent).is_some()), (expected, is_over), "{budget:?}");
        };
        let of = |tokens, cost_usd, duration_ms| Budget { tokens, cost_usd, duration_ms };
        check(of(0, 0.0, 0), of(0, 0.0, 0), false);
        check(of(100, 1.0, 1_000), of(70, 0.75, 100), false);
        check(of(30, 0.0, 0), of(1, 0.0, 0), true);
        check(of(0, 0.25, 0), of(0, f64::MIN_POSITIVE, 0), true);
        check(of(0, 0.0, 500), of(0, 0.0, 1), true);
    }
}

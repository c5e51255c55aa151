//! The budget of a run: what its model calls may use before it is stopped.

use std::sync::{Mutex, MutexGuard, PoisonError};

use emend_llm::{Usage, get_model_info};

use crate::event::{BudgetKind, EventKind};

/// Limits on one run and its subagents. By default nothing is limited.
///
/// Tokens and cost are compared after each model response, so a run can exceed them by its last responses. The time
/// limit also stops a response or a command that is in progress: it cancels the run's token.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunBudget {
    /// Maximum tokens of all requests and responses; 0 = unlimited.
    pub tokens: u64,
    /// Maximum cost in US dollars at list price; 0 = unlimited. Responses of models without a known price cost nothing.
    pub cost_usd: f64,
    /// Maximum duration in milliseconds; 0 = unlimited.
    pub duration_ms: u64,
}

/// The use of the current run, shared by a session and its subagents.
#[derive(Default)]
pub(in crate::session) struct Spending(Mutex<Spent>);

#[derive(Clone, Copy, Default)]
struct Spent {
    tokens: u64,
    cost_usd: f64,
    /// Tool calls, refused ones included.
    tool_calls: u64,
}

impl Spending {
    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a run.
    pub(in crate::session) fn reset(&self) {
        *self.spent() = Spent::default();
    }

    /// Adds the usage of a response.
    pub(in crate::session) fn add(&self, model: &str, usage: &Usage) {
        let cost_usd = get_model_info(model).and_then(|info| info.cost_usd(usage)).unwrap_or_default();
        let mut spent = self.spent();
        spent.tokens += usage.input_tokens + usage.output_tokens;
        spent.cost_usd += cost_usd;
    }

    /// Returns the tokens and the cost so far.
    pub(in crate::session) fn used(&self) -> (u64, f64) {
        let spent = self.spent();
        (spent.tokens, spent.cost_usd)
    }

    /// Adds a tool call. Returns false if it exceeds `limit`; 0 = unlimited.
    pub(in crate::session) fn take_tool_call(&self, limit: u64) -> bool {
        let mut spent = self.spent();
        spent.tool_calls += 1;
        limit == 0 || spent.tool_calls <= limit
    }

    /// Returns the event of a limit on tool calls that a call exceeded.
    pub(in crate::session) fn exceeded_tool_calls(&self, limit: u64) -> Option<EventKind> {
        let used = self.spent().tool_calls;
        let (budget, is_over) = (BudgetKind::ToolCalls, limit > 0 && used > limit);
        is_over.then_some(EventKind::BudgetExceeded { budget, limit: limit as f64, used: limit as f64 })
    }

    /// Returns the event of a budget that is used up, tokens before cost.
    pub(in crate::session) fn exceeded(&self, budget: &RunBudget) -> Option<EventKind> {
        let spent = *self.spent();
        let over = |budget, limit: f64, used: f64| {
            (limit > 0.0 && used >= limit).then_some(EventKind::BudgetExceeded { budget, limit, used })
        };
        over(BudgetKind::Tokens, budget.tokens as f64, spent.tokens as f64)
            .or_else(|| over(BudgetKind::CostUsd, budget.cost_usd, spent.cost_usd))
    }
}

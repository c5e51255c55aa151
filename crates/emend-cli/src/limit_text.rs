//! The words about a run that ends at a limit.

use emend_agent::event::{BudgetKind, EventKind};

/// Returns the text about an event that ends a run at a limit.
pub(crate) fn limit_reached(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::TurnLimit { round, .. } => {
            let noun = if *round == 1 { "round" } else { "rounds" };
            format!("the limit is reached after {round} {noun} of tool calls")
        }
        EventKind::BudgetExceeded { budget: BudgetKind::Tokens, limit, used } => {
            format!("the limit of {limit} tokens is reached ({used} used)")
        }
        EventKind::BudgetExceeded { budget: BudgetKind::CostUsd, limit, used } => {
            format!("the limit of ${limit} is reached (${used:.4} spent)")
        }
        EventKind::BudgetExceeded { budget: BudgetKind::DurationMs, limit, .. } => {
            format!("the limit of {} s is reached", limit / 1000.0)
        }
        EventKind::BudgetExceeded { budget: BudgetKind::ToolCalls, limit, .. } => {
            format!("the limit of {limit} tool calls is reached")
        }
        _ => return None,
    })
}

/// Returns how to continue after an event that ends a run at a limit.
pub(crate) fn advice_at_limit(kind: &EventKind) -> String {
    match kind {
        // A limit of rounds lets at least one pass.
        EventKind::TurnLimit { round: 0, total_turns } => {
            format!("the conversation has {total_turns} responses; to continue, raise --max-responses")
        }
        _ => "to continue: emend run --continue \"go on\"".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_named() {
        let over = |budget, limit, used| limit_reached(&EventKind::BudgetExceeded { budget, limit, used }).unwrap();
        assert_eq!(over(BudgetKind::Tokens, 2e5, 200_017.0), "the limit of 200000 tokens is reached (200017 used)");
        assert_eq!(over(BudgetKind::CostUsd, 2.5, 2.517_53), "the limit of $2.5 is reached ($2.5175 spent)");
        assert_eq!(over(BudgetKind::DurationMs, 9e4, 9e4), "the limit of 90 s is reached");
        assert_eq!(over(BudgetKind::ToolCalls, 12.0, 12.0), "the limit of 12 tool calls is reached");
    }
}

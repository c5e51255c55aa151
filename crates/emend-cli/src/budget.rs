//! Budgets of a conversation: the words that change one, and the line that shows the use of models with its limits.

use emend_agent::service::{Budget, Spent};

use crate::settings::{Dollars, Duration, Limit as _, Settings, Source, Tokens};

/// Returns the limits on each run.
pub(crate) fn of_runs(settings: &Settings) -> Budget {
    Budget {
        tokens: settings.max_tokens.value.0,
        cost_usd: settings.max_cost.value.0,
        duration_ms: settings.max_time.value.ms,
    }
}

/// Returns the limits on all runs of a conversation together.
pub(crate) fn of_conversations(settings: &Settings) -> Budget {
    Budget {
        tokens: settings.session_max_tokens.value.0,
        cost_usd: settings.session_max_cost.value.0,
        duration_ms: settings.session_max_time.value.ms,
    }
}

/// Returns whether an option gives one of the limits of a conversation.
pub(crate) fn is_given_by_option(settings: &Settings) -> bool {
    let time = &settings.session_max_time.source;
    let sources = [&settings.session_max_tokens.source, &settings.session_max_cost.source, time];
    sources.into_iter().any(|source| matches!(source, Source::Flag(_)))
}

/// How a budget is changed.
pub(crate) const USAGE: &str = "tokens N, cost USD, time TIME or none";

/// Returns a budget with the change that words such as `tokens 200k` describe.
pub(crate) fn changed(budget: Budget, words: &str) -> Result<Budget, String> {
    let (name, value) = words.trim().split_once(char::is_whitespace).unwrap_or((words.trim(), ""));
    let value = value.trim();
    match name {
        "none" | "off" if value.is_empty() => Ok(Budget::default()),
        "tokens" => Ok(Budget { tokens: Tokens::of(value)?.0, ..budget }),
        "cost" => Ok(Budget { cost_usd: Dollars::of(value)?.0, ..budget }),
        "time" => Ok(Budget { duration_ms: Duration::of(value)?.ms, ..budget }),
        _ => Err(format!("expected {USAGE}, not {words:?}")),
    }
}

/// Returns a line with the use of models, each part with its limit if it has one.
pub(crate) fn line(name: &str, used: &Spent, budget: &Budget) -> String {
    let of = |limit: Option<String>| limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    let dollars = |amount: f64| format!("${amount:.4}");
    let seconds = |ms: u64| format!("{:.1} s", ms as f64 / 1e3);
    format!(
        "{name}: {}{} tokens, {}{}, {}{}\n",
        used.total_tokens,
        of((budget.tokens > 0).then(|| budget.tokens.to_string())),
        dollars(used.cost_usd),
        of((budget.cost_usd > 0.0).then(|| dollars(budget.cost_usd))),
        seconds(used.duration_ms),
        of((budget.duration_ms > 0).then(|| seconds(budget.duration_ms))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_change_one_limit_or_remove_all() {
        let before = Budget { tokens: 10, cost_usd: 1.0, duration_ms: 5 };
        for (words, expected) in [
            ("tokens 200k", Some(Budget { tokens: 200_000, ..before })),
            ("cost $2.50", Some(Budget { cost_usd: 2.5, ..before })),
            ("time  10m", Some(Budget { duration_ms: 600_000, ..before })),
            ("tokens 0", Some(Budget { tokens: 0, ..before })),
            ("none", Some(Budget::default())),
            ("none at all", None),
            ("tokens", None),
            ("cost -1", None),
            ("time ten", None),
            ("money 3", None),
            ("", None),
        ] {
            assert_eq!(changed(before, words).ok(), expected, "{words:?}");
        }
    }

    #[test]
    fn the_line_has_each_limit_that_there_is() {
        let used = Spent { total_tokens: 1200, cost_usd: 0.01, duration_ms: 1500, ..Spent::default() };
        let budget = Budget { tokens: 5000, cost_usd: 0.5, duration_ms: 0 };
        assert_eq!(line("session", &used, &budget), "session: 1200 of 5000 tokens, $0.0100 of $0.5000, 1.5 s\n");
        let budget = Budget { duration_ms: 60_000, ..Budget::default() };
        assert_eq!(line("job", &used, &budget), "job: 1200 tokens, $0.0100, 1.5 s of 60.0 s\n");
    }
}

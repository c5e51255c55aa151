//! Saved sessions by their IDs, and times as commands print them.

use emend_agent::error_code::Code;
use emend_agent::prompt::date;
use emend_agent::store::Summary;
use emend_agent::suggest::closest;

use crate::failure::Failure;

/// Returns the session with this ID. The failure suggests similar IDs.
pub(crate) fn find(saved: Vec<Summary>, id: &str) -> Result<Summary, Failure> {
    let names: Vec<String> = saved.iter().map(|summary| summary.id.clone()).collect();
    saved.into_iter().find(|summary| summary.id == id).ok_or_else(|| {
        let suggestions = closest(id, names.iter().map(String::as_str), 3);
        let message = format!("there is no saved session {id:?} in this project; `emend sessions` lists the sessions");
        Failure { code: Code::NotFound, message, suggestions }
    })
}

/// Returns how long ago a time was, or its date if that is more than a week.
pub(crate) fn age(now_ms: u64, at_ms: u64) -> String {
    let minutes = now_ms.saturating_sub(at_ms) / 60_000;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1_440 => format!("{} h ago", minutes / 60),
        1_440..2_880 => "yesterday".to_owned(),
        2_880..10_080 => format!("{} days ago", minutes / 1_440),
        _ => date(at_ms),
    }
}

/// Returns a time to the minute, in UTC.
pub(crate) fn minute(at_ms: u64) -> String {
    let minutes = at_ms / 60_000;
    format!("{} {:02}:{:02}", date(at_ms), minutes / 60 % 24, minutes % 60)
}

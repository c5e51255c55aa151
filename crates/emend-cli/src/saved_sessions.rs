//! Saved sessions by their IDs, and times as commands print them.

use emend_agent::error_code::Code;
use emend_agent::prompt::date;
use emend_agent::store::Summary;
use emend_agent::suggest::closest;

use crate::failure::Failure;

/// Length of a shown ID in bytes. Longer starts of an ID are accepted too.
const SHORT_LENGTH: usize = 8;

/// Returns the start of an ID, by which [`find`] finds the session.
pub(crate) fn short(id: &str) -> &str {
    // IDs of older versions and of other programs are shown whole.
    if is_uuid(id) { &id[..SHORT_LENGTH] } else { id }
}

/// Returns whether a word may be the ID of a session, whole or shortened. Older versions made IDs that start with
/// `sess_`.
pub(crate) fn is_session(word: &str) -> bool {
    is_uuid(word)
        || word.starts_with("sess_")
        || word.len() == SHORT_LENGTH && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_uuid(word: &str) -> bool {
    let is_right =
        |(at, byte): (usize, u8)| if matches!(at, 8 | 13 | 18 | 23) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    word.len() == 36 && word.bytes().enumerate().all(is_right)
}

/// Returns the session with this ID, or the only one whose ID starts with it. The failure suggests similar IDs.
pub(crate) fn find(saved: Vec<Summary>, id: &str) -> Result<Summary, Failure> {
    let names: Vec<String> = saved.iter().map(|summary| summary.id.clone()).collect();
    let starts = |summary: &Summary| id.len() >= SHORT_LENGTH && summary.id.starts_with(id);
    let mut found: Vec<Summary> = saved.into_iter().filter(|summary| summary.id == id || starts(summary)).collect();
    if let Some(whole) = found.iter().position(|summary| summary.id == id) {
        return Ok(found.swap_remove(whole));
    }
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        0 => {
            let suggestions = closest(id, names.iter().map(String::as_str), 3);
            let message =
                format!("there is no saved session {id:?} in this project; `emend sessions` lists the sessions");
            Err(Failure { code: Code::NotFound, message, suggestions })
        }
        n => {
            let suggestions = found.into_iter().map(|summary| summary.id).collect();
            let message = format!("the IDs of {n} sessions start with {id:?}");
            Err(Failure { code: Code::Ambiguous, message, suggestions })
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_the_start_of_its_id() {
        let ids = ["8cc344e9-4f20-44f8-9683-2c890741d52a", "8cc344e9-4f21-44f8-9683-2c890741d52a", "sess_1", "sess_12"];
        let found = |id: &str| {
            let saved = ids.iter().map(|id| Summary { id: (*id).to_owned(), ..Summary::default() }).collect();
            find(saved, id).map(|summary| summary.id).map_err(|failure| failure.code)
        };
        for (id, expected) in [
            (ids[0], Ok(ids[0])),
            ("sess_1", Ok("sess_1")),
            ("8cc344e9-4f21", Ok(ids[1])),
            ("8cc344e9", Err(Code::Ambiguous)),
            ("8cc3", Err(Code::NotFound)),
            ("", Err(Code::NotFound)),
            ("deadbeef", Err(Code::NotFound)),
        ] {
            assert_eq!(found(id), expected.map(str::to_owned), "{id}");
        }
        assert_eq!(ids.map(short), ["8cc344e9", "8cc344e9", "sess_1", "sess_12"]);
        for (word, expected) in
            [(ids[0], true), ("8cc344e9", true), ("sess_1", true), ("rename", false), ("tests", false)]
        {
            assert_eq!(is_session(word), expected, "{word}");
        }
    }
}

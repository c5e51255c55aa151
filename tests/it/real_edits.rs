//! Recorded edits of models: applied edits have the same outcome, and rejected edits are rejected or matched by a named
//! leniency.
//!
//! The rows are not part of the repository: `EMEND_CASES` names their directory, and without it they are skipped.

use std::collections::BTreeMap;

use emend_edit::patch::replace::{Strategy, replace};
use serde_json::Value;

use crate::patch_cases::{Tree, apply_v4a, read_cases, tree};

/// Rows with a different outcome than recorded, by the end of their ids, with the reason.
const DEPARTURES: &[(&str, &str)] = &[
    ("df-hidden-moon-16", "the recorded tool lost the blank line at the end of the file; Emend keeps it"),
    ("17-16-42-vllm-core-0006-trajectory-json-00", "old and new text are equal: rejected, and the file is as recorded"),
];

/// The outcome of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// Applied as recorded.
    Same,
    /// Rejected as recorded.
    Refused,
    /// Rejected in the recording, applied here by a named matching strategy.
    Forgiven(Strategy),
    /// Listed in `DEPARTURES`.
    OnPurpose,
    /// None of the above: a defect.
    Wrong,
}

fn judge(row: &Value) -> (Verdict, String) {
    let text = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("{key} of {}", row["id"]));
    let id = text("id");
    let on_purpose = DEPARTURES.iter().any(|(end, _)| id.ends_with(end));
    let applied = row["outcome"] == "ok";
    let (actual, strategy): (Result<Tree, String>, Strategy) = if row["format"] == "replace" {
        let (old, new) = (text("old_string"), text("new_string"));
        match replace(text("before"), old, new, false) {
            Ok(replaced) => (Ok([(String::new(), replaced.text)].into()), replaced.strategy),
            Err(error) => (Err(error.to_string()), Strategy::Exact),
        }
    } else {
        let actual = apply_v4a(&tree(&row["before"]), text("patch"));
        (actual.map_err(|(_, message)| message), Strategy::Exact)
    };
    let expected = match &row["after"] {
        Value::String(after) => [(String::new(), after.clone())].into(),
        after => tree(after),
    };
    let message = actual.as_ref().err().cloned().unwrap_or_default();
    let verdict = match actual {
        Ok(after) if applied && after == expected => Verdict::Same,
        Err(_) if !applied => Verdict::Refused,
        Ok(_) if !applied && strategy != Strategy::Exact => Verdict::Forgiven(strategy),
        _ if on_purpose => Verdict::OnPurpose,
        _ => Verdict::Wrong,
    };
    (verdict, message)
}

#[test]
fn no_edit_is_silently_wrong() {
    let Some(rows) = read_cases("real_edits.jsonl", 259) else { return };
    let mut table: BTreeMap<String, BTreeMap<Verdict, usize>> = BTreeMap::new();
    let (mut wrong, mut n_on_purpose) = (Vec::new(), 0);
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).expect("a row");
        let (verdict, message) = judge(&row);
        let name = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        if verdict == Verdict::Wrong {
            wrong.push(format!("{} ({}): {message}", name("id"), name("category")));
        }
        n_on_purpose += usize::from(verdict == Verdict::OnPurpose);
        let category = format!("{} {} {}", name("format"), name("outcome"), name("category"));
        *table.entry(category).or_default().entry(verdict).or_default() += 1;
    }
    for (category, verdicts) in &table {
        let verdicts: Vec<String> = verdicts.iter().map(|(verdict, n_rows)| format!("{n_rows} {verdict:?}")).collect();
        println!("{category:<58} {}", verdicts.join(", "));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(n_on_purpose, DEPARTURES.len());
}

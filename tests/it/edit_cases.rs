//! Search-and-replace cases of other agents. If these agents agree, the outcome must be theirs; a table gives the reason
//! for every other outcome.
//!
//! The cases are not part of the repository: `EMEND_CASES` names their directory, and without it they are skipped.

use std::fmt::Write;

use emend_edit::patch::plan;
use emend_edit::patch::{Change, Patch};
use serde_json::Value;

use crate::patch_cases::read_cases;

/// The outcome in Emend.
enum Outcome {
    /// An error with this code.
    Refused(&'static str),
    /// A text that contains this part.
    Contains(&'static str),
}

use Outcome::{Contains, Refused};

/// Cases on which the other agents disagree and whose outcome in Emend differs from the recorded one.
const DEPARTURES: &[(&str, Outcome, &str)] = &[
    (
        "edit-005",
        Refused("conflict"),
        "Full-width punctuation is different text, not another spelling of the same text.",
    ),
    ("edit-006", Refused("conflict"), "Compatibility-equivalent letters are different text."),
    ("edit-026", Contains("\tconsole.log(\"world\");"), "The new line gets the file's indentation."),
    ("edit-027", Refused("conflict"), "Runs of whitespace inside a line are text."),
    ("edit-029", Contains("    function nested() {"), "The new lines get the file's indentation."),
    (
        "edit-035",
        Refused("conflict"),
        "The error says that it matches once unescaped; guessing could escape too little.",
    ),
    ("edit-036", Refused("conflict"), "As above."),
    ("edit-038", Refused("conflict"), "As above."),
    ("edit-043", Contains("  if (condition) {\n    doNothing();"), "The new lines get the file's indentation."),
    ("edit-047", Refused("conflict"), "The indentation differs from line to line."),
    ("edit-057", Refused("conflict"), "Runs of whitespace inside a line are text."),
    ("edit-060", Refused("invalid_argument"), "An empty old text creates files; it never overwrites one."),
    ("edit-098", Refused("conflict"), "The indentation differs on one line only."),
    ("edit-099", Refused("conflict"), "The indentation differs on one line only."),
    ("edit-112", Refused("ambiguous"), "The first of two occurrences is a guess."),
    ("edit-114", Refused("conflict"), "A blank line that is not in the file is a difference."),
    ("edit-118", Refused("conflict"), "Whitespace inside a line is text."),
    ("edit-119", Refused("conflict"), "A missing comma is a near miss, and near misses have edited wrong places."),
    (
        "edit-122",
        Refused("conflict"),
        "Other quotes are other text, so nothing matches; the recorded outcome is `ambiguous`.",
    ),
    ("edit-128", Refused("conflict"), "It is unclear whether the new text is already indented."),
    ("edit-161", Refused("conflict"), "No second model is asked to repair the first one's search text."),
    ("edit-162", Refused("conflict"), "As above; the file already contains the new text, and the error says so."),
];

/// Returns the section of `docs/patch-cases.md` about replacements.
pub(crate) fn page() -> String {
    let mut page = String::from("\n## Replacements with a different outcome than some agents\n\n");
    page.push_str(
        "Only cases on which these agents disagree. Cases on which all agree have the same outcome in Emend.\n\n",
    );
    page.push_str("| case | Emend | reason |\n|---|---|---|\n");
    for (case, outcome, why) in DEPARTURES {
        let here = match outcome {
            Refused(code) => format!("refused: `{code}`"),
            Contains(_) => "replaced, indented like the file".to_owned(),
        };
        let _ = writeln!(page, "| {case} | {here} | {why} |");
    }
    page
}

/// Returns Emend's code for a recorded error.
fn code(recorded: &str) -> &'static str {
    match recorded {
        "not_found" => "conflict",
        "not_unique" => "ambiguous",
        "file_not_found" => "not_found",
        "no_change" | "omission_placeholder" => "invalid_argument",
        other => panic!("unknown error {other}"),
    }
}

fn run(case: &Value) -> Result<String, &'static str> {
    let text = |key: &str| case[key].as_str().map(str::to_owned);
    let (old, new) = (text("old_string").expect("an old text"), text("new_string").expect("a new text"));
    let change = Change::Replace { old, new, replace_all: case["replace_all"] == true };
    let planned = plan(&Patch::of("file", change), &[("file".to_owned(), text("content"))].into());
    planned.map_err(|error| error.code().as_str()).map(|mut files| files.remove(0).after.expect("a text"))
}

fn is_as_recorded(case: &Value, actual: &Result<String, &'static str>) -> bool {
    match (case["expected"].as_str(), case["expected_contains"].as_str(), case["error"].as_str()) {
        (Some(expected), _, _) => actual.as_deref() == Ok(expected),
        (_, Some(part), _) => actual.as_ref().is_ok_and(|text| text.contains(part)),
        (_, _, Some(error)) => *actual == Err(code(error)),
        _ => panic!("no outcome: {case}"),
    }
}

#[test]
fn every_replacement_comes_out_as_agreed_or_differs_on_purpose() {
    let Some(json) = read_cases("edit_cases.json", 104) else { return };
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let (mut n_agreed, mut n_others, mut n_departed) = (0, 0, 0);
    for case in json["cases"].as_array().expect("a list") {
        let id = case["id"].as_str().expect("an id");
        let actual = run(case);
        if let Some((_, outcome, _)) = DEPARTURES.iter().find(|(departed, ..)| *departed == id) {
            assert!(case["agreed"] == false, "{id} is agreed");
            assert!(!is_as_recorded(case, &actual), "{id} is as recorded");
            match outcome {
                Refused(code) => assert_eq!(actual, Err(*code), "{id}"),
                Contains(part) => assert!(actual.as_ref().is_ok_and(|text| text.contains(part)), "{id}: {actual:?}"),
            }
            n_departed += 1;
            continue;
        }
        assert!(is_as_recorded(case, &actual), "{id}: {actual:?}\n{case}");
        if case["agreed"] == true { n_agreed += 1 } else { n_others += 1 }
    }
    println!("{n_agreed} as agreed, {n_others} others as recorded, {n_departed} differ on purpose");
    assert_eq!(n_departed, DEPARTURES.len());
    assert!(n_agreed > 0);
}

//! v4a patches with the outcome of `codex`, restated as data: Emend has the same outcome or differs on purpose.
//!
//! The cases are not part of the repository: `EMEND_CASES` names their directory, and without it they are skipped.
//! `docs/patch-cases.md` lists the intended differences. It is generated from the tables in this file and in
//! `edit_cases.rs`; `UPDATE_EXPECT=1` updates it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use emend_edit::patch::v4a;
use emend_edit::patch::{Operation, PlannedFile, plan};
use serde_json::Value;

/// A file tree: texts by path.
pub(crate) type Tree = BTreeMap<String, String>;

/// A case whose outcome in Emend differs from the recorded one.
struct Departure {
    case: &'static str,
    here: &'static str,
    why: &'static str,
    /// Returns the expected tree, given the recorded tree, or the original tree if the recorded outcome is a rejection.
    expected: fn(Tree) -> Tree,
}

const DEPARTURES: &[Departure] = &[
    Departure {
        case: "new_trailing_newline_uses_file_style",
        here: "A file without a trailing newline that is changed further up still has none.",
        why: "Bytes outside the patch do not change.",
        expected: |recorded| recorded.into_iter().map(|(path, text)| (path, text.trim_end().to_owned())).collect(),
    },
    Departure {
        case: "delete_then_add_same_path_tool_level",
        here: "Delete and Add of one path in one patch are applied in order, in memory: the file is replaced.",
        why: "Upstream rejects it in the tool and accepts it in the library; the order shows the intention.",
        expected: |before| before.into_keys().map(|path| (path, "new\n".to_owned())).collect(),
    },
];

/// Upstream behaviour that loses or misplaces text and that no case requires. Each row has a test in `emend-edit`.
const DEFECTS: &[(&str, &str)] = &[
    (
        "A hunk that only adds lines is appended to the file, regardless of its `@@` line",
        "It is inserted below its `@@` line, and appended to the file only without such a line.",
    ),
    (
        "Two `@@` lines in a row are an error although the documentation shows them",
        "They narrow the search step by step, outermost first. A bare `@@` narrows nothing and is an error.",
    ),
    (
        "The first of several matches is used",
        "Accepted only if all hunks of the file fit in order in exactly one way; otherwise the error lists every matching line.",
    ),
    (
        "`*** End of File` falls back to no place, or to the wrong place",
        "The hunk must match the end of the file; if it matches further up, the error names the line.",
    ),
    (
        "An update always ends the file with a newline",
        "A missing trailing newline stays missing unless the last line is replaced or lines are added after it.",
    ),
    ("A blank line at the end of a file is lost", "It is kept."),
    ("A byte order mark keeps the first line from matching", "The mark is ignored for matching and kept."),
    ("`*** Add File` overwrites an existing file", "`already_exists`, unless the call allows overwriting."),
    ("`*** Move to` overwrites an existing file", "`already_exists`, unless the call allows overwriting."),
    ("`*** Move to` the same path deletes the file", "The file is edited in place; `./a` and `a` are the same path."),
    ("A rename without edits needs a hunk", "It needs no hunk."),
    (
        "A failure keeps the files that were already written",
        "All files are planned in memory first: all are written, or none.",
    ),
    ("Two operations on one path are rejected or misapplied", "They are applied in order, in memory."),
    (
        "`*** Begin Patch ***`, a code fence, or JSON around the patch is rejected",
        "Accepted with a diagnostic that shows the right form.",
    ),
    (
        "`@@ -1,3 +1,4 @@` is searched for as a line of the file",
        "Its numbers are ignored with a diagnostic; the hunk is located by its lines.",
    ),
    (
        "Loosely matched context is rewritten with the patch's spelling",
        "Context keeps its bytes, line endings included.",
    ),
    ("An anchor above the previous hunk is not found again", "The anchor still applies to the hunks below it."),
];

/// Reads the file `name` from the directory in `EMEND_CASES`, or prints the number of skipped cases.
pub(crate) fn read_cases(name: &str, n_cases: usize) -> Option<String> {
    let Some(dir) = std::env::var_os("EMEND_CASES") else {
        println!("skipped: {n_cases} cases of {name} (EMEND_CASES is not set)");
        return None;
    };
    let path = PathBuf::from(dir).join(name);
    Some(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Returns `tree` with `planned` applied.
fn carry_out(tree: &Tree, planned: &[PlannedFile]) -> Tree {
    let mut tree = tree.clone();
    for file in planned {
        if let Operation::Rename { from } = &file.operation {
            tree.remove(from);
        }
        match &file.after {
            Some(text) => tree.insert(file.path.clone(), text.clone()),
            None => tree.remove(&file.path),
        };
    }
    tree
}

/// Parses a v4a patch and applies it to `tree`, or returns the error's code and text.
pub(crate) fn apply_v4a(tree: &Tree, patch: &str) -> Result<Tree, (&'static str, String)> {
    let (patch, _) = v4a::parse(patch).map_err(|error| (error.code().as_str(), error.to_string()))?;
    let files = patch.paths().into_iter().map(|path| (path.to_owned(), tree.get(path).cloned())).collect();
    let planned = plan(&patch, &files).map_err(|error| (error.code().as_str(), error.to_string()))?;
    Ok(carry_out(tree, &planned))
}

/// Reads a tree from JSON; `null` is the empty tree.
pub(crate) fn tree(value: &Value) -> Tree {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(path, text)| (path.clone(), text.as_str().expect("a text").to_owned())).collect()
}

#[test]
fn every_patch_comes_out_as_recorded_or_differs_on_purpose() {
    let Some(json) = read_cases("apply_patch_cases.json", 78) else { return };
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let (mut n_applied, mut n_refused, mut departed) = (0, 0, Vec::new());
    for case in json["cases"].as_array().expect("a list") {
        let name = case["name"].as_str().expect("a name");
        let before = tree(&case["input"]);
        let actual = apply_v4a(&before, case["patch"].as_str().expect("a patch"));
        let refused = case["fails"] == true || case.get("error").is_some();
        if let Some(departure) = DEPARTURES.iter().find(|departure| departure.case == name) {
            let recorded = if refused { before } else { tree(&case["expected"]) };
            assert_eq!(actual, Ok((departure.expected)(recorded)), "{name}");
            departed.push(name);
        } else if refused {
            assert!(actual.is_err(), "{name}: {actual:?}");
            n_refused += 1;
        } else {
            assert_eq!(actual, Ok(tree(&case["expected"])), "{name}");
            n_applied += 1;
        }
    }
    println!("{n_applied} applied and {n_refused} refused as recorded, {} differ on purpose", departed.len());
    assert_eq!(departed.len(), DEPARTURES.len(), "{departed:?}");
    assert!(n_applied > 0 && n_refused > 0);
}

#[test]
fn the_differences_are_documented() {
    let mut page = String::from(INTRODUCTION);
    for Departure { case, here, why, .. } in DEPARTURES {
        let _ = writeln!(page, "| `{case}` | {here} | {why} |");
    }
    page.push_str("\n## Upstream behaviour that Emend avoids\n\n| upstream | Emend |\n|---|---|\n");
    for (upstream, here) in DEFECTS {
        let _ = writeln!(page, "| {upstream} | {here} |");
    }
    page.push_str(&crate::edit_cases::page());
    expect_test::expect_file!["../../docs/patch-cases.md"].assert_eq(&page);
}

const INTRODUCTION: &str = "# Patches and replacements: differences from other tools

Generated by `tests/it/patch_cases.rs`; edit the tables there. The cases restate the behaviour of other tools as inputs and
outcomes. They are read from the directory that `EMEND_CASES` names.

## v4a patches with a different outcome than upstream

Upstream is the `apply_patch` of codex, in the mode that preserves line endings if the case has such a mode.

| case | Emend | reason |
|---|---|---|
";

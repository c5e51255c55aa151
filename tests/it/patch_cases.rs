//! v4a patches and what `codex` makes of them, restated as data: all come out the same here, or differ on purpose.
//!
//! The cases are no part of the project: `EMEND_CASES` names their directory, and without it they are skipped. What
//! differs on purpose is in `docs/patch-cases.md`, which is written from the tables in this file and in
//! `edit_cases.rs`; `UPDATE_EXPECT=1` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use emend_edit::patch::v4a;
use emend_edit::patch::{Operation, PlannedFile, plan};
use serde_json::Value;

/// A file tree: path to text.
pub(crate) type Tree = BTreeMap<String, String>;

/// A case in which the right outcome here is not the recorded one.
struct Departure {
    case: &'static str,
    here: &'static str,
    why: &'static str,
    /// Makes the right tree out of the recorded one, or of the tree before if a refusal was recorded.
    expected: fn(Tree) -> Tree,
}

const DEPARTURES: &[Departure] = &[
    Departure {
        case: "new_trailing_newline_uses_file_style",
        here: "A file without a final newline that is changed further up keeps lacking it.",
        why: "Bytes that the patch does not name stay as they are.",
        expected: |recorded| recorded.into_iter().map(|(path, text)| (path, text.trim_end().to_owned())).collect(),
    },
    Departure {
        case: "delete_then_add_same_path_tool_level",
        here: "Delete and Add of one path in one patch are carried out in order, in memory: the file is replaced.",
        why: "Upstream refuses it in the tool and accepts it in the library; the order says what is meant.",
        expected: |before| before.into_keys().map(|path| (path, "new\n".to_owned())).collect(),
    },
];

/// Upstream behaviour that loses or misplaces text, and which no case asks for. Each line has a test in `emend-edit`.
const DEFECTS: &[(&str, &str)] = &[
    (
        "A hunk that only adds lines goes to the end of the file, whatever its `@@` line says",
        "It goes below its `@@` line; only without one to the end of the file.",
    ),
    (
        "Two `@@` lines in a row are an error although the documentation shows them",
        "They narrow step by step, outermost first. A bare `@@` narrows nothing and stays an error.",
    ),
    (
        "The first of several matches is taken",
        "Accepted only if all hunks of the file fit in exactly one way in order; else every matching line is named.",
    ),
    (
        "`*** End of File` falls back to nothing, or to the wrong place",
        "The hunk must be the end of the file; if it is further up, the error says where.",
    ),
    (
        "An update always ends the file with a newline",
        "A missing final newline stays missing unless the last line is replaced or followed.",
    ),
    ("A blank line at the end of a file is lost", "It stays."),
    ("A byte-order mark keeps the first line from matching", "It is ignored for matching and kept."),
    ("`*** Add File` overwrites an existing file", "`already_exists`, unless the call says overwrite."),
    ("`*** Move to` overwrites an existing file", "`already_exists`, unless the call says overwrite."),
    ("`*** Move to` the same path deletes the file", "It is an edit in place; `./a` and `a` are the same path."),
    ("A pure rename needs a hunk", "It needs none."),
    ("A failure half-way keeps the files before it", "Everything is planned in memory first: all files or none."),
    ("Two operations on one path are refused or misapplied", "They are carried out in order, in memory."),
    (
        "`*** Begin Patch ***`, a code fence, JSON around the patch are refused",
        "Accepted with a diagnostic that shows the form.",
    ),
    (
        "`@@ -1,3 +1,4 @@` is looked for as a line of the file",
        "Its numbers are ignored with a diagnostic; the hunk is found by its lines.",
    ),
    (
        "Context that matched loosely is rewritten as the patch spells it",
        "It keeps its bytes, and so does every line ending.",
    ),
    ("An anchor above the hunk before is not found again", "It still holds for the hunks below it."),
];

/// Reads `name` from the directory in `EMEND_CASES`, or says how many cases are skipped.
pub(crate) fn read_cases(name: &str, n_cases: usize) -> Option<String> {
    let Some(dir) = std::env::var_os("EMEND_CASES") else {
        println!("skipped: {n_cases} cases of {name} (EMEND_CASES is not set)");
        return None;
    };
    let path = PathBuf::from(dir).join(name);
    Some(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Returns `tree` after `planned` was carried out.
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

/// Parses a v4a patch and carries it out on `tree`, or returns the code and the text of the error.
pub(crate) fn apply_v4a(tree: &Tree, patch: &str) -> Result<Tree, (&'static str, String)> {
    let (patch, _) = v4a::parse(patch).map_err(|error| (error.code().as_str(), error.to_string()))?;
    let files = patch.paths().into_iter().map(|path| (path.to_owned(), tree.get(path).cloned())).collect();
    let planned = plan(&patch, &files).map_err(|error| (error.code().as_str(), error.to_string()))?;
    Ok(carry_out(tree, &planned))
}

/// Reads a tree from JSON; `null` is the empty one.
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
    page.push_str("\n## What upstream does and this does not\n\n| upstream | here |\n|---|---|\n");
    for (upstream, here) in DEFECTS {
        let _ = writeln!(page, "| {upstream} | {here} |");
    }
    page.push_str(&crate::edit_cases::page());
    expect_test::expect_file!["../../docs/patch-cases.md"].assert_eq(&page);
}

const INTRODUCTION: &str = "# Patches and replacements: what is different here, and why

Written by `tests/it/patch_cases.rs`; change the tables there. The cases are the behaviour of other tools, restated as
inputs and outcomes, and are read from the directory that `EMEND_CASES` names.

## v4a patches with another outcome than upstream

Upstream is the `apply_patch` of codex, in the mode that preserves line endings where a case has one.

| case | here | why |
|---|---|---|
";

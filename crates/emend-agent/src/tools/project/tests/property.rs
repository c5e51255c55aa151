//! `propose_edits` beside a plain model: lines in a vector, edited from the bottom up.

use std::cell::Cell;
use std::collections::BTreeMap;

use futures::executor::block_on;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::super::ProjectToolLimits;
use super::Desk;
use crate::test_support::cases;
use crate::workspace::Mode;

/// The files of the project by path, as lines.
type Files = BTreeMap<String, Vec<String>>;

/// An edit of the model. Lines count from 1; `end` is inclusive.
#[derive(Clone, Debug)]
struct Edit {
    path: &'static str,
    operation: &'static str,
    start: usize,
    end: usize,
    new: Vec<String>,
    target: &'static str,
}

impl Edit {
    fn is_of_lines(&self) -> bool {
        ["replace", "insert", "delete"].contains(&self.operation)
    }

    fn json(&self) -> Value {
        let text: String = self.new.iter().map(|line| format!("{line}\n")).collect();
        let mut edit = json!({"file_path": self.path, "operation": self.operation});
        let mut set = |name: &str, value: Value| edit[name] = value;
        if self.is_of_lines() {
            set("start_line", self.start.into());
            set("end_line", self.end.into());
        }
        if ["replace", "insert", "create"].contains(&self.operation) {
            set("new_text", text.into());
        }
        if self.operation == "rename" {
            set("new_path", self.target.into());
        }
        edit
    }
}

/// Returns whether two edits cannot be in one call.
fn collide(a: &Edit, b: &Edit) -> bool {
    let whole = |edit: &Edit, path: &str| {
        !edit.is_of_lines() && (edit.path == path || edit.operation == "rename" && edit.target == path)
    };
    match (a.is_of_lines(), b.is_of_lines()) {
        (false, false) => whole(a, b.path) || whole(b, a.path) || a.operation == "rename" && whole(b, a.target),
        (true, false) => whole(b, a.path) && !(b.operation == "rename" && b.path == a.path),
        (false, true) => collide(b, a),
        (true, true) if a.path != b.path => false,
        (true, true) => match (a.operation == "insert", b.operation == "insert") {
            (true, true) => false,
            (true, false) => b.start < a.start && a.start <= b.end,
            (false, true) => a.start < b.start && b.start <= a.end,
            (false, false) => a.start <= b.end && b.start <= a.end,
        },
    }
}

/// Returns the files after the edits; `None` if the call must be refused.
fn model(files: &Files, edits: &[Edit]) -> Option<Files> {
    let mut after = files.clone();
    for (at, edit) in edits.iter().enumerate() {
        if edits[..at].iter().any(|other| collide(other, edit)) {
            return None;
        }
    }
    let mut order: Vec<(usize, &Edit)> = edits.iter().enumerate().filter(|(_, edit)| edit.is_of_lines()).collect();
    // From the bottom up; at one line first the replacement, then the insertions before it, the last first.
    order.sort_by_key(|(at, edit)| (edit.start, edit.operation != "insert", *at));
    for (_, edit) in order.into_iter().rev() {
        let n_lines = files.get(edit.path)?.len();
        let lines = after.get_mut(edit.path)?;
        if edit.operation == "insert" {
            if edit.start > n_lines + 1 || edit.new.is_empty() {
                return None;
            }
            lines.splice(edit.start - 1..edit.start - 1, edit.new.clone());
        } else {
            if edit.start > edit.end || edit.end > n_lines {
                return None;
            }
            let new = if edit.operation == "delete" { Vec::new() } else { edit.new.clone() };
            lines.splice(edit.start - 1..edit.end, new);
        }
    }
    for edit in edits {
        match edit.operation {
            "create" if after.contains_key(edit.path) => return None,
            "create" => drop(after.insert(edit.path.to_owned(), edit.new.clone())),
            "delete_file" => drop(after.remove(edit.path)?),
            "rename" => {
                let lines = after.remove(edit.path)?;
                if edit.path == edit.target || after.contains_key(edit.target) {
                    return None;
                }
                after.insert(edit.target.to_owned(), lines);
            }
            _ => {}
        }
    }
    Some(after)
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = prop::sample::select(vec!["a", "a", "a", "b", "b", "b", "c"]);
    let operation = prop::sample::select(vec![
        "replace",
        "replace",
        "replace",
        "replace",
        "insert",
        "insert",
        "insert",
        "insert",
        "delete",
        "delete",
        "create",
        "delete_file",
        "rename",
    ]);
    let target = prop::sample::select(vec!["a", "b", "c", "d"]);
    let new = vec(prop::sample::select(vec!["x", "y", "one", ""]), 1..3);
    (path, operation, 1..12_usize, 0..2_usize, new, target).prop_map(|(path, operation, start, more, new, target)| {
        Edit { path, operation, start, end: start + more, new: new.into_iter().map(str::to_owned).collect(), target }
    })
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn files_of(desk: &Desk) -> Files {
    let listed = desk.data("list_files", json!({}));
    let paths = listed["files"].as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned());
    let lines = |path: &str| desk.visible(path).unwrap().lines().map(str::to_owned).collect();
    paths.map(|path| (path.clone(), lines(&path))).collect()
}

#[test]
fn edits_apply_as_in_the_plain_model_and_can_be_rejected_or_accepted() {
    let (n_applied, n_refused) = (Cell::new(0), Cell::new(0));
    let lines = || vec(prop::sample::select(vec!["one", "two", "three"]), 0..14);
    let run = proptest::test_runner::TestRunner::new(cases(1_500)).run(
        &(lines(), lines(), vec(edit(), 1..4), any::<bool>()),
        |(a, b, edits, accepts)| {
            let owned = |lines: Vec<&str>| lines.into_iter().map(str::to_owned).collect::<Vec<_>>();
            let before = Files::from([("a".to_owned(), owned(a)), ("b".to_owned(), owned(b))]);
            let desk = Desk::with("", Mode::Staged, ProjectToolLimits::default());
            for (path, lines) in &before {
                desk.files.insert(path, text(lines)).unwrap();
                desk.data("read_file", json!({"file_path": path}));
            }
            let arguments = json!({"edits": edits.iter().map(Edit::json).collect::<Vec<_>>()});
            let outcome = desk.try_call("propose_edits", arguments);
            let expected = model(&before, &edits);
            prop_assert_eq!(outcome.is_ok(), expected.is_some(), "{:?}", outcome);
            let seen = files_of(&desk);
            prop_assert_eq!(&seen, expected.as_ref().unwrap_or(&before));
            // Pending edits are not on the disk; rejected ones leave no trace, accepted ones are saved.
            for (path, lines) in &before {
                prop_assert_eq!(desk.files.get(path), Some(text(lines).into_bytes()));
            }
            let decided = if accepts {
                block_on(desk.workspace.accept_all(None))
            } else {
                block_on(desk.workspace.reject_all(None))
            };
            prop_assert!(decided.is_ok(), "{:?}", decided);
            let end = if accepts { &seen } else { &before };
            prop_assert_eq!(&files_of(&desk), end);
            for (path, lines) in end {
                prop_assert_eq!(desk.files.get(path), Some(text(lines).into_bytes()));
            }
            let counter = if expected.is_some() { &n_applied } else { &n_refused };
            counter.set(counter.get() + 1);
            Ok(())
        },
    );
    run.unwrap();
    let (n_applied, n_refused) = (n_applied.get(), n_refused.get());
    let n_cases = n_applied + n_refused;
    println!("{n_applied} of {n_cases} calls applied");
    assert!(n_applied * 5 > n_cases && n_refused * 5 > n_cases, "{n_applied} applied, {n_refused} refused");
}

//! Properties of v4a patches: a patch is applied at its only place or not at all, and parsing never panics.

use proptest::collection::vec;
use proptest::prelude::*;

use super::apply::apply_by_lines;
use super::*;
use crate::error_code::ErrorCode;
use crate::locate::leniency::Leniency;
use crate::patch::change::Change;
use crate::test_support::{Script, cases, pieces, scripts};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const EOLS: &[&str] = &["\n", "\n", "\n", "\r\n", "\r"];

fn patch_of(script: &Script) -> String {
    let mut patch = String::from("*** Begin Patch\n*** Update File: f\n");
    for hunk in script.hunks() {
        patch.push_str("@@\n");
        for (marker, content, _) in hunk.lines {
            patch.push(marker);
            patch.push_str(&content);
            patch.push('\n');
        }
    }
    patch + "*** End Patch\n"
}

fn hunks_of(patch: &str) -> Option<Vec<V4aHunk>> {
    let (mut patch, _) = parse(patch).ok()?;
    match patch.edits.pop()?.change {
        Change::Update { hunks, .. } => Some(hunks),
        _ => None,
    }
}

/// Returns the result of the script: kept lines byte for byte, new ones with the line ending of the first line.
fn after(script: &Script) -> String {
    let before = script.before();
    let first = crate::text::first_eol(&before).unwrap_or("\n");
    let mut out = String::from(script.bom());
    let mut n_lines = 0;
    let mut push = |line: &str, eol: &str, is_new: bool, out: &mut String| {
        if n_lines > 0 && is_new && !out.ends_with(['\n', '\r']) {
            out.push_str(first);
        }
        let merges = is_new && line.is_empty() && eol == "\n" && out.ends_with('\r');
        out.push_str(line);
        out.push_str(if merges { "\r\n" } else { eol });
        n_lines += 1;
    };
    for line in &script.lines {
        line.inserted.iter().for_each(|new| push(new, first, true, &mut out));
        if !line.deleted {
            push(&line.content, line.eol, false, &mut out);
        }
    }
    script.appended.iter().for_each(|new| push(new, first, true, &mut out));
    out
}

proptest! {
    #![proptest_config(cases(20_000))]

    // The lines of a script compete for places. An accepted patch must give exactly the result of the script.
    #[test]
    fn an_accepted_patch_is_applied_at_its_place(script in scripts(EOLS)) {
        let patch = patch_of(&script);
        if let Some(hunks) = hunks_of(&patch) {
            match apply(&script.before(), &hunks) {
                Ok(applied) => prop_assert_eq!(applied.text, after(&script), "{}", patch),
                Err(error) => prop_assert_eq!(error.code(), ErrorCode::Ambiguous, "{} {}", error, patch),
            }
        }
    }

    #[test]
    fn the_fast_path_agrees_with_the_general_one(
        script in scripts(&["\n"]),
        clean in any::<bool>(),
        endings in vec(prop_oneof![3 => Just(""), 1 => Just(" \t"), 1 => Just("\u{85}")], 1..6),
    ) {
        let patch = patch_of(&script);
        // Whitespace at the ends of some lines of the patch, and in half of the cases of the file.
        let (header, lines) = patch.split_at(patch.find("@@").unwrap_or_default());
        let with_ending = |(line, ending): (&str, &&str)| match line.starts_with([' ', '-', '+']) {
            true => format!("{line}{ending}\n"),
            false => format!("{line}\n"),
        };
        let patch = header.to_owned() + &lines.lines().zip(endings.iter().cycle()).map(with_ending).collect::<String>();
        let mut before = script.before();
        if clean {
            before = before.split_inclusive('\n').map(|line| format!("{}\n", line.trim_end())).collect();
        }
        if let Some(hunks) = hunks_of(&patch)
            && let Some(applied) = fast_path::apply(&before, &hunks)
        {
            prop_assert_eq!(Ok(applied), apply_by_lines(&before, &hunks));
        }
    }

    #[test]
    fn a_patch_in_pieces_parses_like_the_whole(patch in patches(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut parser = Parser::new();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(patch.len() + 1)).collect();
        at.sort_unstable();
        at.retain(|&at| patch.is_char_boundary(at));
        at.push(patch.len());
        let mut start = 0;
        let mut pushed = Ok(());
        for end in at {
            pushed = pushed.and_then(|()| parser.push(&patch[start..end]));
            start = end;
        }
        let in_pieces = pushed.and_then(|()| parser.finish());
        prop_assert_eq!(in_pieces, parse(&patch));
    }

    #[test]
    fn no_input_panics(patch in patches(), before in pieces(&["a", "b", "\n", "\r", "\u{feff}", " ", "é"])) {
        if let Some(hunks) = hunks_of(&patch) {
            let _ = apply(&before, &hunks);
        }
    }
}

/// Returns texts that look like patches.
fn patches() -> impl Strategy<Value = String> {
    let lines = pieces(&[
        "*** Begin Patch\n",
        "*** End Patch\n",
        " *** End Patch\n",
        "*** Update File: f\n",
        "*** Add File: g\n",
        "*** Delete File: h\r\n",
        "*** Move to: f2\n",
        "*** End of File\n",
        "*** Environment ID: e\n",
        "@@\n",
        "@@ a\n",
        "@@ -1,2 +3 @@\n",
        " a\n",
        "-a\n",
        "+b\n",
        "\n",
        "+\n",
        "```\n",
        "<<EOF\n",
        "EOF\n",
        "{\"x\":\"",
        "\\n",
        "\"",
    ]);
    prop_oneof![
        3 => lines.clone().prop_map(|lines| format!("*** Begin Patch\n*** Update File: f\n{lines}*** End Patch\n")),
        1 => lines,
    ]
}

#[test]
fn trailing_whitespace_that_the_file_lacks_takes_the_fast_path() {
    #[track_caller]
    fn check(before: &str, patch: &str, expected: Option<(&str, Leniency)>) {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{patch}*** End Patch\n");
        let applied = fast_path::apply(before, &hunks_of(&patch).expect("a patch"));
        let found = applied.as_ref().map(|applied| (applied.text.as_str(), applied.hunks[0].matched));
        assert_eq!(found, expected, "{patch}");
    }
    let long = "x\n".repeat(5_000);
    check("a\nb\n\n", "@@\n a \n-b\t\n+c \n", Some(("a\nc \n\n", Leniency::TrailingWhitespace)));
    check("a\nb\n", "@@\n a\n-b\n", Some(("a\n", Leniency::Exact)));
    check("f\na\nb\n", "@@ f\n-b\u{a0}\n+c\n", Some(("f\na\nc\n", Leniency::TrailingWhitespace)));
    check("a\nb\nx \n", "@@\n-b \n+c\n", None);
    check("a\nb\n\u{a0}\n", "@@\n-b \n+c\n", None);
    check(&format!("b\n{long}"), "@@\n-b \n", Some((&long, Leniency::TrailingWhitespace)));
    check(&format!("b\n{long}x \n{long}"), "@@\n-b \n", None);
}

#[test]
fn most_scripts_are_accepted() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(cases(1), rng);
    let (mut n_accepted, mut n_hunks, mut n_ambiguous) = (0, 0, 0);
    for _ in 0..2_000 {
        let script = scripts(EOLS).new_tree(&mut runner).expect("a script").current();
        let Some(hunks) = hunks_of(&patch_of(&script)) else { continue };
        match apply(&script.before(), &hunks) {
            Ok(_) => (n_accepted, n_hunks) = (n_accepted + 1, n_hunks + hunks.len()),
            Err(_) => n_ambiguous += 1,
        }
    }
    println!("{n_accepted} accepted with {n_hunks} hunks, {n_ambiguous} ambiguous");
    assert!(n_accepted > 800 && n_hunks > n_accepted && n_ambiguous > 100);
}

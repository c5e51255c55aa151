//! The byte ranges in which an edited text differs from the text before, for callers that keep the old text and only
//! need the new parts.
//!
//! The engines report the lines that each hunk covers. This module looks those lines up and compares the text between
//! them, so the result does not depend on the hunks alone.

use std::ops::Range;

use crate::patch::model::{AppliedHunk, EditedText};
use crate::text::{same_bytes, start_of_line};

/// A byte range `old` of a text that became the byte range `new` of the edited text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRange {
    /// The range in the old text.
    pub old: Range<usize>,
    /// The range in the edited text.
    pub new: Range<usize>,
}

/// Returns the ranges in which `edited` differs from `before`, from which it was made: one for each hunk. All else is
/// equal.
///
/// Returns `None` if the hunks are not in order or do not cover every difference, and for texts with CR, whose lines
/// the formats count differently.
#[must_use]
pub fn changed_ranges(before: &str, edited: &EditedText) -> Option<Vec<ChangedRange>> {
    let after = edited.text.as_str();
    let has_cr = |text: &str| memchr::memchr(b'\r', text.as_bytes()).is_some();
    if has_cr(before) || has_cr(after) {
        return None;
    }
    // The next line and byte of each text.
    let (mut old_line, mut old, mut new_line, mut new) = (0, 0, 0, 0);
    let mut ranges = Vec::with_capacity(edited.hunks.len());
    for &AppliedHunk { old_start, old_lines, new_start, new_lines, .. } in &edited.hunks {
        let n_kept = old_start.checked_sub(1 + old_line)?;
        if new_start.checked_sub(1 + new_line)? != n_kept {
            return None;
        }
        let kept = start_of_line(&before[old..], n_kept).ok()?;
        if !same(before.get(old..old + kept)?, after.get(new..new + kept)?) {
            return None;
        }
        (old, new) = (old + kept, new + kept);
        let old_end = old + start_of_line(&before[old..], old_lines).ok()?;
        let new_end = new + start_of_line(&after[new..], new_lines).ok()?;
        ranges.push(ChangedRange { old: old..old_end, new: new..new_end });
        (old_line, old, new_line, new) =
            (old_line + n_kept + old_lines, old_end, new_line + n_kept + new_lines, new_end);
    }
    same(&before[old..], &after[new..]).then_some(ranges)
}

fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && same_bytes(a.as_bytes(), b.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diff;
    use crate::patch::change::{Change, Patch};
    use crate::patch::edit_text::edit_text;
    use crate::patch::unified::DiffMode;
    use crate::patch::{unified, v4a};
    use crate::test_support::{cases, scripts};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Replaces the changed ranges of the old text by the new parts.
    fn put(before: &str, edited: &EditedText, ranges: &[ChangedRange]) -> String {
        let (mut out, mut at) = (String::new(), 0);
        for ChangedRange { old, new } in ranges {
            out.push_str(&before[at..old.start]);
            out.push_str(&edited.text[new.clone()]);
            at = old.end;
        }
        out + &before[at..]
    }

    #[track_caller]
    fn check(before: &str, patch: &Patch, expected: Option<usize>) {
        let edited = edit_text(before, patch).expect("an edit");
        let found = changed_ranges(before, &edited);
        assert_eq!(found.as_ref().map(Vec::len), expected);
        if let Some(found) = found {
            assert_eq!(put(before, &edited, &found), edited.text);
        }
    }

    #[test]
    fn each_hunk_is_one_range() {
        let v4a = |hunks: &str| {
            v4a::parse(&format!("*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n")).expect("a patch").0
        };
        let replace = |old: &str, new: &str| {
            Patch::of("f", Change::Replace { old: old.to_owned(), new: new.to_owned(), replace_all: true })
        };
        check("a\nb\nc\nd\n", &v4a("@@\n-a\n+x\n@@\n-d\n+y\n+z\n"), Some(2));
        check("a\nb\nc\n", &v4a("@@\n a \n-b\n"), Some(1));
        check("a\nb", &v4a("@@\n-b\n+ü\n"), Some(1));
        check("a\nb\na\n", &replace("a", "cc"), Some(2));
        // The line before it had no line ending and gets one, which is outside of the hunk.
        check("a\nb", &v4a("@@\n+c\n"), None);
        check("a\r\nb\r\n", &v4a("@@\n-b\n+c\n"), None);
    }

    proptest! {
        #![proptest_config(cases(2_000))]

        #[test]
        fn the_new_parts_turn_the_old_text_into_the_new_one(script in scripts(&["\n"]), other in scripts(&["\n"])) {
            let (before, after) = (script.before(), other.before());
            let names = diff::Names { old: "a/f", new: "b/f" };
            let patch = diff::unified(&before, &after, script.n_context, names);
            if let Ok((patch, _)) = unified::parse(&patch, DiffMode::Strict)
                && let Ok(edited) = edit_text(&before, &patch)
            {
                let found = changed_ranges(&before, &edited);
                prop_assert_eq!(found.map(|found| put(&before, &edited, &found)), Some(after));
            }
        }
    }
}

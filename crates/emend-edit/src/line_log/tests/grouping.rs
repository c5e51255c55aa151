//! Worked examples of the hunks that changes are grouped into.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{meta, propose, type_in};
use crate::diff::LineKind;
use crate::line_log::{DependentsPolicy, HunkLimits, HunkQuery, LineLog, Origin, Status};

/// Returns the changed lines of each hunk, such as `-a +b`.
fn shown(log: &LineLog, query: &HunkQuery<'_>) -> Vec<String> {
    let hunks = log.hunks(query.clone());
    assert_eq!(log.n_hunks(query), hunks.len());
    let mark = |kind| match kind {
        LineKind::Added => '+',
        LineKind::Removed => '-',
        LineKind::Context => ' ',
    };
    let line = |(kind, text): (LineKind, String)| format!("{}{}", mark(kind), text.trim_end());
    hunks
        .into_iter()
        .map(|hunk| {
            let lines: Vec<String> = hunk.lines.into_iter().map(|shown| line((shown.kind, shown.text))).collect();
            lines.join(" ")
        })
        .collect()
}

fn pending(log: &LineLog) -> Vec<String> {
    shown(log, &HunkQuery { context: 0, ..HunkQuery::default() })
}

fn edit(log: &mut LineLog, name: &str, text: &str) {
    log.write(Origin::Agent, meta(name), text, Status::Pending);
}

#[test]
fn a_line_of_the_user_separates_hunks_and_a_hidden_line_does_not() {
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    type_in(&mut log, "a\nmine\nc\n");
    edit(&mut log, "1", "A\nmine\nc\n");
    edit(&mut log, "2", "A\nmine\nC\n");
    assert_eq!(pending(&log), ["-a +A", "-c +C"]);

    let mut log = LineLog::new(Some("a\nb\n"));
    let ids = propose(&mut log, "a\nx\nb\n");
    log.reject(&ids, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    edit(&mut log, "1", "A\nb\n");
    edit(&mut log, "2", "A\nB\n");
    assert_eq!(pending(&log), ["-a -b +A +B"]);

    // A deleted line of the user is hidden on both sides, too.
    let mut log = LineLog::new(Some("a\nb\n"));
    type_in(&mut log, "a\nx\nb\n");
    type_in(&mut log, "a\nb\n");
    edit(&mut log, "1", "A\nb\n");
    edit(&mut log, "2", "A\nB\n");
    assert_eq!(pending(&log), ["-a -b +A +B"]);
}

#[test]
fn changes_without_effect_are_in_no_hunk() {
    let mut log = LineLog::new(Some("a\nb\n"));
    edit(&mut log, "1", "a\nx\nb\n");
    edit(&mut log, "2", "a\nb\n");
    assert_eq!(log.pending().len(), 2);
    assert_eq!(pending(&log), Vec::<String>::new());
    edit(&mut log, "3", "a\nb\nc\n");
    assert_eq!(pending(&log), ["+c"]);
}

#[test]
fn a_large_hunk_is_cut_at_the_end_of_an_edit_before_the_limit() {
    fn paragraphs(from: usize, n: usize) -> String {
        (from..from + n).map(|index| format!("p{index}\n").repeat(9) + "\n").collect()
    }
    let sizes = |log: &LineLog| -> Vec<usize> {
        log.hunks(HunkQuery { context: 0, ..HunkQuery::default() }).iter().map(|hunk| hunk.lines.len()).collect()
    };
    let mut log = LineLog::new(Some("top\n"));
    edit(&mut log, "1", &format!("top\n{}", paragraphs(0, 5)));
    edit(&mut log, "2", &format!("top\n{}{}", paragraphs(0, 5), paragraphs(5, 5)));
    assert_eq!(sizes(&log), [50, 50]);
    // One edit alone is cut at the limit.
    let mut log = LineLog::new(Some("top\n"));
    edit(&mut log, "1", &format!("top\n{}", paragraphs(0, 10)));
    assert_eq!(sizes(&log), [80, 20]);
    // An edit that ends exactly at the limit is not cut.
    let mut log = LineLog::new(Some("top\n"));
    edit(&mut log, "1", &format!("top\n{}", paragraphs(0, 8)));
    edit(&mut log, "2", &format!("top\n{}{}", paragraphs(0, 8), paragraphs(8, 4)));
    assert_eq!(sizes(&log), [80, 40]);
}

#[test]
fn the_limits_of_a_hunk_hold_for_bytes_and_can_be_set() {
    let line = |letter: &str| letter.repeat(4_999) + "\n";
    let bytes = |log: &LineLog| -> Vec<(usize, bool)> {
        let hunks = log.hunks(HunkQuery { context: 0, ..HunkQuery::default() }).into_iter();
        hunks.map(|hunk| (hunk.lines.iter().map(|line| line.text.len()).sum(), hunk.oversized)).collect()
    };
    let mut log = LineLog::new(None);
    let mut text = String::new();
    for letter in ["a", "b", "c"] {
        text += &line(letter);
        edit(&mut log, letter, &text);
    }
    assert_eq!(bytes(&log), [(5_000, false), (5_000, false), (5_000, false)]);

    let mut log = LineLog::new(Some("a\nb\n"));
    propose(&mut log, "A\nB\n");
    assert_eq!(bytes(&log), [(8, false)]);
    log.set_hunk_limits(HunkLimits { lines: 3, bytes: 100 });
    assert_eq!(bytes(&log), [(8, true)]);
    log.set_hunk_limits(HunkLimits { lines: 100, bytes: 7 });
    assert_eq!(bytes(&log), [(8, true)]);
    log.set_hunk_limits(HunkLimits { lines: 4, bytes: 8 });
    assert_eq!(bytes(&log), [(8, false)]);
}

#[test]
fn lines_around_a_hunk_are_those_of_both_texts() {
    let mut log = LineLog::new(Some("a\nb\nc\nd\ne\nf\ng\n"));
    edit(&mut log, "1", "a\nb\nc\nD\ne\nf\ng\n");
    let around = |log: &LineLog, context| shown(log, &HunkQuery { context, ..HunkQuery::default() });
    assert_eq!(around(&log, 1), [" c -d +D  e"]);
    assert_eq!(around(&log, 9), [" a  b  c -d +D  e  f  g"]);
    // A changed line is not around another hunk, and lines hidden in both texts are passed over.
    edit(&mut log, "2", "a\nb\nc\nD\ne\nf\nG\n");
    assert_eq!(around(&log, 2), [" b  c -d +D  e  f", " e  f -g +G"]);
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    type_in(&mut log, "a\nx\nb\nc\n");
    type_in(&mut log, "a\nb\nc\n");
    edit(&mut log, "1", "a\nb\nC\n");
    assert_eq!(around(&log, 2), [" a  b -c +C"]);
}

#[test]
fn a_line_gets_or_loses_its_line_ending_with_the_hunk_below_it() {
    let mut log = LineLog::new(Some("a\nb"));
    edit(&mut log, "1", "a\nb\nc");
    let lines = |log: &LineLog, status: Status| -> Vec<(LineKind, String)> {
        let hunks = log.hunks(HunkQuery { statuses: &[status], context: 0, ..HunkQuery::default() });
        hunks.into_iter().flat_map(|hunk| hunk.lines).map(|line| (line.kind, line.text)).collect()
    };
    let expected = [(LineKind::Removed, "b"), (LineKind::Added, "b\n"), (LineKind::Added, "c")];
    let expected = expected.map(|(kind, text)| (kind, text.to_owned()));
    assert_eq!(lines(&log, Status::Pending), expected);
    log.accept(&log.pending(), Origin::User, 1).unwrap();
    assert_eq!(lines(&log, Status::Accepted), expected);
}

#[test]
fn a_hunk_tells_whether_the_user_keeps_it_or_loses_lines_to_it() {
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    type_in(&mut log, "a\nmine\nc\n");
    edit(&mut log, "1", "A\nmine\nc\n");
    edit(&mut log, "2", "A\nmine\nC\n");
    let flags = |log: &LineLog| -> Vec<(bool, bool, bool)> {
        let hunks = log.hunks(HunkQuery::default()).into_iter();
        hunks.map(|hunk| (hunk.kept, hunk.kept_by_user, hunk.removes_user_lines)).collect()
    };
    assert_eq!(flags(&log), [(false, false, false), (false, false, false)]);
    edit(&mut log, "3", "A\nagent's\nC\n");
    assert_eq!(flags(&log), [(false, false, true)]);
    // An accepted edit of the agent keeps the lines that it needs, and so does the user's.
    let mut log = LineLog::new(Some("top\n"));
    edit(&mut log, "1", "top\n1\n2\n");
    let inner = log.write(Origin::Agent, meta("2"), "top\n1\nm\n2\n", Status::Pending);
    log.accept(&inner, Origin::User, 1).unwrap();
    assert!(flags(&log).iter().all(|flag| *flag == (true, false, false)), "{:?}", flags(&log));
    type_in(&mut log, "top\n1\nmine\nm\n2\n");
    assert!(flags(&log).iter().all(|flag| *flag == (true, true, false)), "{:?}", flags(&log));
}

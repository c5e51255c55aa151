//! Targets for diffs, merges, the line log, truncation and search patterns.

use emend_agent::environment::gitignore::Gitignore;
use emend_agent::search::glob::GlobPattern;
use emend_agent::search::{Matcher, SearchLimits};
use emend_edit::diff::{self, Names, compare3, merge3, word_spans};
use emend_edit::line_log::{ChangeId, ChangeMeta, DependentsPolicy, HunkQuery, LineLog, Origin, Status};
use emend_edit::patch::unified;
use emend_edit::text::split_lines;
use emend_edit::truncate::{Mode, OutputLimits, truncate_chars, truncate_lines, truncate_output};

use crate::{Target, draw, texts};

pub(crate) const DIFF: Target = Target {
    name: "diff",
    run: run_diff,
    samples: &["a\nb\nc\n\u{1e}a\nB\nc\n\u{1e}a\nb\nC\n", "x\r\ny\rz\u{1e}\u{feff}x\ny\n\u{1e}"],
    words: &["a\n", "b\r\n", "c\r"],
};

fn run_diff(data: &[u8]) {
    let [base, ours, theirs] = texts(data);
    let patch = diff::unified(&base, &ours, draw(data, 2) as usize % 5, Names { old: "a/f", new: "b/f" });
    if base != ours {
        // A unified diff only counts LF lines, so a text with lone CRs may be rejected. It must never be damaged.
        if let Ok((patch, _)) = unified::parse_for("f", &patch, unified::DiffMode::Strict)
            && let Some(emend_edit::patch::Change::Unified(edit)) = patch.edits.first().map(|edit| &edit.change)
            && let Ok(applied) = unified::apply_strict(&base, &edit.hunks)
        {
            assert_eq!(applied.text, ours);
        } else {
            assert!([&base, &ours].iter().any(|text| text.replace("\r\n", "").contains('\r')), "a diff is rejected");
        }
    }
    let merged = merge3(&base, &ours, &ours);
    assert_eq!(merged.text, ours, "both made the same change");
    assert_eq!(merge3(&base, &base, &theirs).text, theirs, "only one made a change");
    let _ = (merge3(&base, &ours, &theirs), compare3(&base, &ours, &theirs), word_spans(&ours, &theirs));
}

pub(crate) const LOG: Target = Target {
    name: "log",
    run: run_log,
    samples: &["a\nb\nc\n\u{1e}a\nB\nc\nd\n", "one\ntwo\r\nthree\u{1e}one\nthree"],
    words: &["a\n", "B\n", "\n\n"],
};

fn run_log(data: &[u8]) {
    let text = String::from_utf8_lossy(data).into_owned();
    let mut parts = text.split(crate::SEPARATOR);
    let base = parts.next().unwrap_or_default();
    let mut log = LineLog::new(Some(base));
    for (step, part) in parts.enumerate() {
        let number = draw(part.as_bytes(), step as u64);
        let by = if number.is_multiple_of(3) { Origin::User } else { Origin::Agent };
        let id = ChangeId(number / 5 % 12);
        let policy = [DependentsPolicy::Refuse, DependentsPolicy::OnlyThese, DependentsPolicy::WithDependents]
            [number as usize / 60 % 3];
        match number / 180 % 8 {
            0 => drop(log.reject(&[id], policy, by, 0)),
            1 => drop(log.accept(&[id], by, 0)),
            2 => drop(log.undo(by, 0)),
            3 => drop(log.redo(by, 0)),
            4 => drop(log.reopen(&[id], by, 0)),
            _ => {
                log.write(by, ChangeMeta::default(), part, Status::Pending);
                assert_eq!(log.visible_text().as_deref(), Some(part), "the visible text differs from the written one");
            }
        }
        let _ = log.hunks(HunkQuery::default());
        assert_eq!(log.base_text().as_deref(), Some(base));
    }
    let saved = serde_json::to_string(&log).unwrap_or_default();
    let loaded: Result<LineLog, _> = serde_json::from_str(&saved);
    assert_eq!(loaded.ok().and_then(|log| log.disk_text()), log.disk_text(), "a loaded log has another text");
}

pub(crate) const SAVED_LOG: Target = Target {
    name: "saved-log",
    run: |data| {
        if let Ok(log) = serde_json::from_slice::<LineLog>(data) {
            let _ = (log.visible_text(), log.disk_text(), log.hunks(HunkQuery::default()));
        }
    },
    samples: &[include_str!("saved_log.json")],
    words: &["0", "1", "2", "4294967295", "[]", "null", ",", "\"accepted\"", "\"rejected\""],
};

pub(crate) const TRUNCATE: Target =
    Target {
        name: "truncate", run: run_truncate, samples: &["one\ntwo\nthree\n", "ééé🦀\r\n"], words: &["\n", "🦀"]
    };

fn run_truncate(data: &[u8]) {
    let text = String::from_utf8_lossy(data).repeat(1 + data.len() % 40);
    let limit = draw(data, 5) as usize % 80;
    for mode in [Mode::HeadTail, Mode::Tail] {
        if truncate_chars(&text, limit, mode).is_none() {
            assert!(text.chars().count() <= limit);
        }
    }
    let _ = truncate_lines(&text, limit);
    for (chars_max, mode, lines_max) in
        [(30_000, Mode::HeadTail, Some(256)), (20_000, Mode::Tail, Some(200)), (1_000, Mode::Tail, None)]
    {
        let seen = truncate_output(&text, OutputLimits { chars_max, mode, lines_max });
        assert!(seen.truncated || seen.text == text);
    }
}

pub(crate) const PATTERNS: Target = Target {
    name: "patterns",
    run: run_patterns,
    samples: &["src/**/*.{rs,toml}\u{1e}src/a/b.rs", "(a|b)+?[^x]$\u{1e}aab\n", "!/build/\n*.o\n[a-z]?\u{1e}build/x.o"],
    words: &["**", "*", "?", "[", "]", "{", "}", ",", "\\", "(?m)", "(?s).", "\\n", "$", "^", "|", "\\b", "{2,9}"],
};

fn run_patterns(data: &[u8]) {
    let [pattern, subject] = texts(data);
    if let Ok(glob) = GlobPattern::new(&pattern) {
        let _ = (glob.is_match(&subject), glob.is_match_or_name(&subject));
    }
    let _ = Gitignore::parse(pattern.as_bytes()).verdict(&subject, data.len().is_multiple_of(2));
    let Ok(matcher) = Matcher::new(&pattern, data.len().is_multiple_of(3)) else { return };
    let limits = SearchLimits { max_matches: 20, context_lines: 1, max_line_bytes: 40 };
    let n_lines = split_lines(&subject).len().max(1);
    for found in matcher.search(subject.as_bytes(), limits) {
        assert!((1..=n_lines).contains(&found.line), "a match on line {} of {n_lines}", found.line);
    }
}

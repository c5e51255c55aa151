//! How many checks passed, failed and were skipped, and how other programs' outputs say so.

use std::fmt;
use std::ops::Add;

/// A number of checks, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Counts {
    pub(crate) fn passed(passed: usize) -> Self {
        Self { passed, ..Self::default() }
    }

    pub(crate) fn failed(failed: usize) -> Self {
        Self { failed, ..Self::default() }
    }

    /// Reads what Rust's test harness prints, in a terminal or in a browser, and the tests' own `skipped:` lines.
    pub(crate) fn from_libtest(text: &str) -> Self {
        text.lines().map(|line| Self::from_libtest_line(line.trim())).fold(Self::default(), Add::add)
    }

    fn from_libtest_line(line: &str) -> Self {
        if let Some(skipped) = line.strip_prefix("skipped: ") {
            return Self { skipped: leading_number(skipped).unwrap_or(1), ..Self::default() };
        }
        let Some(result) = line.strip_prefix("test result: ") else {
            return Self::default();
        };
        // "ok. 12 passed; 0 failed; 1 ignored; 0 measured; …": the verdict ends with the first full stop.
        let parts = result.split_once(". ").map_or("", |(_, parts)| parts);
        let count = |word: &str| {
            let found = parts.split("; ").find_map(|part| part.strip_suffix(word));
            found.and_then(leading_number).unwrap_or(0)
        };
        Self { passed: count(" passed"), failed: count(" failed"), skipped: count(" ignored") }
    }

    /// Reads the closing lines of Node's test runner, `# pass 3` and so on (`ℹ pass 3` on a terminal).
    pub(crate) fn from_node(text: &str) -> Self {
        let mut counts = Self::default();
        for line in text.lines() {
            let Some(line) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) else {
                continue;
            };
            match line.split_once(' ') {
                Some(("pass", number)) => counts.passed += leading_number(number).unwrap_or(0),
                Some(("fail" | "cancelled", number)) => counts.failed += leading_number(number).unwrap_or(0),
                Some(("skipped" | "todo", number)) => counts.skipped += leading_number(number).unwrap_or(0),
                _ => {}
            }
        }
        counts
    }

    /// Counts lines that begin with `ok`, `not ok` or `skip`, as the end-to-end scripts print them.
    pub(crate) fn from_lines(text: &str) -> Self {
        let count = |word: &str| text.lines().filter(|line| line.trim_start().starts_with(word)).count();
        Self { passed: count("ok "), failed: count("not ok "), skipped: count("skip ") }
    }

    /// A program that failed although no check of its own did must not pass for a success, and neither may one that
    /// checked nothing.
    pub(crate) fn of_program(self, success: bool) -> Self {
        let silent = self.failed == 0 && (!success || self.passed == 0);
        Self { failed: self.failed + usize::from(silent), ..self }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

fn leading_number(text: &str) -> Option<usize> {
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(counts: Counts, passed: usize, failed: usize, skipped: usize) {
        assert_eq!(counts, Counts { passed, failed, skipped });
    }

    #[test]
    fn reads_results_of_both_test_harnesses() {
        let native = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.2s";
        check(Counts::from_libtest(native), 12, 0, 1);
        let browser = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 filtered out; finished in 0.01s";
        check(Counts::from_libtest(&format!("{native}\n\n{browser}\n")), 14, 1, 1);
        check(Counts::from_libtest("test a::b ... ok\nno tests to run!\n"), 0, 0, 0);
    }

    #[test]
    fn counts_what_tests_say_they_skip() {
        check(Counts::from_libtest("skipped: 78 cases (EMEND_CASES is not set)\n"), 0, 0, 78);
        check(Counts::from_libtest("---- x stdout ----\n  skipped: no browser\n"), 0, 0, 1);
        check(Counts::from_libtest("3 skipped: not a report\n"), 0, 0, 0);
    }

    #[test]
    fn reads_nodes_closing_lines_in_both_forms() {
        check(Counts::from_node("# tests 4\n# pass 3\n# fail 1\n# cancelled 0\n# skipped 2\n# todo 0\n"), 3, 1, 2);
        check(Counts::from_node("ℹ pass 3\nℹ fail 0\n"), 3, 0, 0);
    }

    #[test]
    fn reads_lines_of_end_to_end_scripts() {
        check(Counts::from_lines("ok opens\nnot ok edits\n  why\nskip drag\nokay\n"), 1, 1, 1);
    }

    #[test]
    fn a_failed_program_is_a_failure_even_when_it_counted_none() {
        check(Counts::passed(3).of_program(false), 3, 1, 0);
        check(Counts::failed(2).of_program(false), 0, 2, 0);
        check(Counts::passed(3).of_program(true), 3, 0, 0);
    }

    #[test]
    fn a_program_that_checked_nothing_is_a_failure() {
        check(Counts::default().of_program(true), 0, 1, 0);
    }
}

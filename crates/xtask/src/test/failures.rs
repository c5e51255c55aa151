//! Excerpts of the output of a failed program: each failed check with its message.

/// Maximum lines of one check.
const LINES_MAX: usize = 30;
/// Maximum checks of one program.
const CHECKS_MAX: usize = 12;

/// Returns the failed checks in `text`, the output of Rust's test harness, Node's, or an end-to-end script.
///
/// Names the tests that had not ended too: Rust's test harness prints messages at its end, which a killed one never
/// reaches. Without a failed check, returns the end of the text.
pub(super) fn excerpt(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut picked = Vec::new();
    let not_ended = not_ended(&lines);
    if !not_ended.is_empty() {
        picked.push(not_ended);
    }
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED")) {
            picked.push(libtest_block(&lines, name));
        } else if line.starts_with("not ok ") || (line.starts_with("test ") && line.ends_with(" ... FAIL")) {
            picked.push(lines[at..].iter().take(LINES_MAX).copied().collect());
        }
    }
    let is_note = |line: &&str| line.starts_with("no output for ") || line.starts_with("killed after ");
    if let Some(at) = lines.iter().position(is_note) {
        picked.push(lines[at..].iter().take(LINES_MAX).copied().collect());
    }
    if picked.is_empty() {
        picked.push(lines[lines.len().saturating_sub(2 * LINES_MAX)..].to_vec());
    }
    let n_more = picked.len().saturating_sub(CHECKS_MAX);
    picked.truncate(CHECKS_MAX);
    let mut excerpt: Vec<String> = picked.concat().into_iter().map(str::to_owned).collect();
    if n_more > 0 {
        excerpt.push(format!("and {n_more} more"));
    }
    excerpt
}

/// Returns the output of one test without the frames of its backtrace, or its result alone if there is no output.
///
/// Prefers a block with a panic: a test of the same name may have passed in another binary.
fn libtest_block<'a>(lines: &[&'a str], name: &str) -> Vec<&'a str> {
    let head = format!("---- {name} stdout ----");
    let blocks = lines.iter().enumerate().filter(|(_, line)| line.trim() == head).map(|(at, _)| {
        let rest = lines[at + 1..].iter();
        let body = rest.take_while(|line| !line.starts_with("---- ") && !line.trim().starts_with("stack backtrace:"));
        std::iter::once(lines[at]).chain(body.copied()).take(LINES_MAX).collect::<Vec<_>>()
    });
    let blocks: Vec<Vec<&str>> = blocks.collect();
    let panicked = blocks.iter().find(|block| block.iter().any(|line| line.contains("panicked at")));
    let result = || lines.iter().filter(|line| is_result(line, name)).take(1).copied().collect();
    panicked.or(blocks.first()).cloned().unwrap_or_else(result)
}

/// Returns the harness's lines about tests that ran for long and have no result.
fn not_ended<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let is_without_result = |(at, line): &(usize, &&str)| {
        let name = line.strip_prefix("test ").and_then(|line| line.split_once(" has been running for over "));
        name.is_some_and(|(name, _)| !lines[at + 1..].iter().any(|line| is_result(line, name)))
    };
    lines.iter().enumerate().filter(is_without_result).map(|(_, line)| *line).take(LINES_MAX).collect()
}

/// Whether `line` is the result of the test `name`.
fn is_result(line: &str, name: &str) -> bool {
    line.strip_prefix("test ").and_then(|line| line.strip_prefix(name)).is_some_and(|line| line.starts_with(" ... "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(excerpt(text), expected);
    }

    #[test]
    fn a_failed_test_is_repeated_with_its_message() {
        check(
            "test a::good ... ok\ntest a::bad ... FAILED\n\nsuccesses:\n\n---- a::good stdout ----\nfine\n\n\
             failures:\n\n---- a::bad stdout ----\nthread 'a::bad' panicked at x.rs:1:2:\nno key\n\
             stack backtrace:\n   0: frame\n\nfailures:\n    a::bad\n",
            &["---- a::bad stdout ----", "thread 'a::bad' panicked at x.rs:1:2:", "no key"],
        );
    }

    #[test]
    fn of_two_tests_with_one_name_the_one_that_panicked_is_meant() {
        check(
            "---- t stdout ----\nfine\n---- u stdout ----\ntest t ... FAILED\n---- t stdout ----\npanicked at y\n",
            &["---- t stdout ----", "panicked at y"],
        );
    }

    #[test]
    fn a_killed_harness_names_the_tests_that_had_not_ended() {
        check(
            "test a has been running for over 60 seconds\ntest b has been running for over 60 seconds\n\
             test a ... ok\ntest c ... FAILED\n\nkilled after 1500 s, with\n7 S sh\n",
            &[
                "test b has been running for over 60 seconds",
                "test c ... FAILED",
                "killed after 1500 s, with",
                "7 S sh",
            ],
        );
    }

    #[test]
    fn scripts_say_not_ok() {
        check("ok 1 fine\nnot ok 2 bad\n  why\n", &["not ok 2 bad", "  why"]);
    }

    #[test]
    fn without_a_failed_check_the_end_is_repeated() {
        let long: String = (0..200).map(|n| format!("{n}\n")).collect();
        let found = excerpt(&long);
        assert_eq!((found.len(), &*found[0]), (60, "140"));
        check("error: could not compile\n", &["error: could not compile"]);
    }

    #[test]
    fn a_flood_of_failures_is_bounded() {
        let flood: String = (0..100).map(|n| format!("not ok {n}\n")).collect();
        let found = excerpt(&flood);
        assert!(found.len() <= LINES_MAX * CHECKS_MAX + 1);
        assert_eq!(found.last().map(String::as_str), Some("and 88 more"));
    }
}

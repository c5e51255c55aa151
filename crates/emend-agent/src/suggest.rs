//! Finds existing names that are similar to a name that does not exist.

use emend_edit::size::compact_sort::sort_by;

/// Returns at most `max` of `candidates` that are similar to `name`, best first.
///
/// Candidates that start with it (or it with them) come first, then those that contain it (or it them), then those
/// within a few typing errors. The comparison ignores the case of ASCII letters; tables for other letters would add 4
/// KiB to every page. Names without similarity are never returned.
#[must_use]
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>, max: usize) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    if name.is_empty() {
        return Vec::new();
    }
    let mut ranked: Vec<(Closeness, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((closeness(&name, &candidate.to_ascii_lowercase())?, candidate)))
        .collect();
    sort_by(&mut ranked, Ord::cmp);
    ranked.into_iter().take(max).map(|(_, candidate)| candidate.to_owned()).collect()
}

/// Rank of a candidate; smaller is more similar. The edit distance breaks ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Closeness {
    Prefix(usize),
    Substring(usize),
    Typo(usize),
}

fn closeness(name: &str, candidate: &str) -> Option<Closeness> {
    if candidate.is_empty() {
        return None;
    }
    let (name_chars, candidate_chars) = (name.chars().count(), candidate.chars().count());
    let longer_by = name_chars.abs_diff(candidate_chars);
    // A much shorter name is a substring by chance.
    let may_be_part = candidate_chars * 2 >= name_chars;
    if candidate.starts_with(name) || (may_be_part && name.starts_with(candidate)) {
        return Some(Closeness::Prefix(longer_by));
    }
    if candidate.contains(name) || (may_be_part && name.contains(candidate)) {
        return Some(Closeness::Substring(longer_by));
    }
    // Two errors in five characters: `config.json` finds `config.yaml`, but `foo.rs` does not find `bar.rs`.
    let slips_max = name_chars.max(candidate_chars) * 2 / 5;
    if longer_by > slips_max {
        return None;
    }
    let slips = edit_distance(name, candidate);
    (slips <= slips_max).then_some(Closeness::Typo(slips))
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbours between `a` and `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    // Three rows of the usual table, because swaps look two rows back.
    let mut two_back = vec![0; b.len() + 1];
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    let mut current = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        current[0] = i;
        for j in 1..=b.len() {
            let replaced = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(previous[j] + 1).min(current[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(two_back[j - 2] + 1);
            }
            current[j] = best;
        }
        std::mem::swap(&mut two_back, &mut previous);
        std::mem::swap(&mut previous, &mut current);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(name: &str, candidates: &[&str], expected: &[&str]) {
        assert_eq!(closest(name, candidates.iter().copied(), 3), expected);
    }

    #[test]
    fn prefix_comes_before_substring_before_typo() {
        check("main", &["domain.rs", "mian", "main.rs", "MAIN.md"], &["MAIN.md", "main.rs", "domain.rs"]);
        check("readme", &["README.md", "LICENSE", "a", "me"], &["README.md"]);
        check("mian.rs", &["lib.rs", "main.rs"], &["main.rs"]);
        check("config.json", &["config.yaml", "package.json"], &["config.yaml"]);
        check("main.rss", &["main.rs"], &["main.rs"]);
    }

    #[test]
    fn names_with_nothing_in_common_are_left_out() {
        check("foo.rs", &["bar.rs", ""], &[]);
        check("", &["a"], &[]);
        check("x", &[], &[]);
    }

    #[test]
    fn at_most_as_many_as_asked_for_in_a_fixed_order() {
        check("a", &["ad", "ac", "ab", "aa"], &["aa", "ab", "ac"]);
    }

    #[test]
    fn distances() {
        for (a, b, distance) in
            [("", "", 0), ("a", "", 1), ("ab", "ba", 1), ("kitten", "sitting", 3), ("straße", "strasse", 2)]
        {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
            assert_eq!(edit_distance(b, a), distance, "{b} {a}");
        }
    }
}

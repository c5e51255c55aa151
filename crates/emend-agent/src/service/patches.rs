//! Reverse patches in unified format.

/// Returns the patch that takes back what `patch` does.
pub(super) fn reversed(patch: &str) -> String {
    let mut reversed = String::with_capacity(patch.len());
    // A line without an end is followed by a line that says so; both stay together.
    let (mut removed, mut added) = (String::new(), String::new());
    let mut last_is_removed = false;
    for line in patch.split_inclusive('\n') {
        let (mark, rest) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
        match mark {
            "-" => {
                added.push('+');
                added.push_str(rest);
                last_is_removed = true;
            }
            "+" => {
                removed.push('-');
                removed.push_str(rest);
                last_is_removed = false;
            }
            "\\" if !removed.is_empty() || !added.is_empty() => {
                if last_is_removed {
                    added.push_str(line)
                } else {
                    removed.push_str(line)
                }
            }
            _ => {
                reversed.push_str(&std::mem::take(&mut removed));
                reversed.push_str(&std::mem::take(&mut added));
                match line.strip_prefix("@@ ").and_then(|rest| rest.split_once(" @@")) {
                    Some((ranges, tail)) => reversed.push_str(&header(ranges, tail)),
                    None => reversed.push_str(line),
                }
            }
        }
    }
    reversed + &removed + &added
}

/// Returns the header with its ranges exchanged.
fn header(ranges: &str, tail: &str) -> String {
    let (old, new) = ranges.split_once(' ').unwrap_or((ranges, ranges));
    format!("@@ -{} +{} @@{tail}", new.trim_start_matches('+'), old.trim_start_matches('-'))
}

#[cfg(test)]
mod tests {
    use emend_edit::diff::{Names, unified};

    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn the_reverse_of_a_patch_is_the_diff_in_the_other_direction() {
        let texts = ["", "a\n", "a\nb\nc\n", "a\nB\nc\nd", "x\n-y\n+z\n@@ \n", "a\nb", "b\n\\ c\n"];
        for old in texts {
            for new in texts {
                let names = Names { old: "a", new: "a" };
                let (there, back) = (unified(old, new, 3, names), unified(new, old, 3, names));
                let body = |patch: &str| patch.split_once("@@").map_or(String::new(), |(_, rest)| format!("@@{rest}"));
                assert_eq!(reversed(&body(&there)), body(&back), "{old:?} to {new:?}");
                assert_eq!(reversed(&reversed(&body(&there))), body(&there));
            }
        }
    }
}

//! Completes the paths of files that a message mentions: `@src/ma` and Tab.

use emend_agent::environment::FilePath;

/// Most candidates. More would scroll the conversation away.
const CANDIDATES_MAX: usize = 50;

/// Returns the position behind the `@` of the mention that ends with `begun`, the line up to the cursor.
pub(super) fn start(begun: &str) -> Option<usize> {
    let word =
        begun.rfind(char::is_whitespace).map_or(0, |at| at + begun[at..].chars().next().map_or(1, char::len_utf8));
    begun[word..].starts_with('@').then_some(word + 1)
}

/// Returns the paths that begin with `word`, then those whose file name does, as they are written in a message. Case does
/// not count.
pub(super) fn candidates(paths: &[FilePath], word: &str) -> Vec<String> {
    let word = word.to_lowercase();
    let begins = |text: &str| text.to_lowercase().starts_with(&word);
    let (by_path, others): (Vec<&FilePath>, Vec<&FilePath>) = paths.iter().partition(|path| begins(path.as_str()));
    let by_name = others.into_iter().filter(|path| !word.contains('/') && begins(path.name()));
    by_path.into_iter().chain(by_name).take(CANDIDATES_MAX).map(written).collect()
}

/// Returns a path with a backslash before each character that would end the mention.
fn written(path: &FilePath) -> String {
    let mut text = String::new();
    for char in path.as_str().chars() {
        if char.is_whitespace() || matches!(char, '"' | '`' | '<' | '>' | '|' | '\\') {
            text.push('\\');
        }
        text.push(char);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_begins_a_word() {
        for (begun, expected) in [
            ("@", Some(1)),
            ("look at @src/a", Some(9)),
            ("zwei\u{a0}@b", Some(7)),
            ("", None),
            ("a@b", None),
            ("@a and", None),
        ] {
            assert_eq!(start(begun), expected, "{begun:?}");
        }
    }

    #[test]
    fn paths_come_before_names_and_are_written_as_mentions() {
        let paths: Vec<FilePath> = ["Main.rs", "docs/main.md", "src/lib.rs", "src/two words.rs"]
            .iter()
            .filter_map(|path| FilePath::clean(path))
            .collect();
        let check = |word: &str, expected: &[&str]| assert_eq!(candidates(&paths, word), expected, "{word:?}");
        check("ma", &["Main.rs", "docs/main.md"]);
        check("src/", &["src/lib.rs", "src/two\\ words.rs"]);
        check("two", &["src/two\\ words.rs"]);
        check("x", &[]);
        check("", &["Main.rs", "docs/main.md", "src/lib.rs", "src/two\\ words.rs"]);
        let many: Vec<FilePath> = (0..99).filter_map(|number| FilePath::clean(&format!("f{number}"))).collect();
        assert_eq!(candidates(&many, "f").len(), CANDIDATES_MAX);
    }
}

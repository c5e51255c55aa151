//! Recognises lines that stand for omitted text.

/// Returns whether a line stands for omitted text, as in `...` or `// ... rest unchanged ...`.
pub(crate) fn is_placeholder(line: &str) -> bool {
    let text = line.trim();
    text == "..." || text == "…" || is_worded_placeholder(text)
}

/// Returns whether a line says in words that text was omitted. Unlike `...` alone, such a line is not valid code in
/// any language.
pub(crate) fn is_worded_placeholder(line: &str) -> bool {
    let mut text = line.trim();
    for (open, close) in [("<!--", "-->"), ("{/*", "*/}"), ("/*", "*/")] {
        text = text.strip_prefix(open).map_or(text, |rest| rest.strip_suffix(close).unwrap_or(rest).trim());
    }
    text = text.trim_start_matches(['/', '#', '-', ';', '%']).trim();
    text = text.strip_prefix('(').map_or(text, |rest| rest.strip_suffix(')').unwrap_or(rest).trim());
    let leads = text.starts_with("...") || text.starts_with('…');
    let trails = text.ends_with("...") || text.ends_with('…');
    let lowered = text.trim_matches(['.', '…', ' ', '(', ')']).to_ascii_lowercase();
    let words: Vec<&str> = lowered.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |word: &str| words.contains(&word);
    let left_out = ["rest", "unchanged", "existing", "remaining", "remainder", "omitted", "same", "previous"];
    // "Loading existing content..." is a message; "existing content..." is a placeholder.
    let says_so = leads || trails && words.first().is_some_and(|first| left_out.contains(first));
    let what = [
        "code",
        "methods",
        "method",
        "functions",
        "function",
        "file",
        "class",
        "lines",
        "content",
        "contents",
        "above",
        "before",
        "as",
        "here",
        "of",
        "unchanged",
        "implementation",
        "imports",
        "tests",
        "logic",
        "omitted",
    ];
    says_so && words.len() <= 8 && left_out.iter().any(|word| has(word)) && what.iter().any(|word| has(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn placeholders_are_distinguished_from_code() {
        for line in [
            "// ... rest of code unchanged ...",
            "    # ... existing code ...",
            "(rest of methods ...)",
            "<!-- ... remaining content ... -->",
            "/* ...unchanged code... */",
            "... (rest of the file)...",
            "-- … rest of the function …",
        ] {
            assert!(is_worded_placeholder(line), "{line}");
        }
        for line in [
            "    ...",
            "let rest = f(...existing);",
            "print(\"...\")",
            "// and so on ...",
            "const msg = \"(rest of methods ...)\";",
            "    return super().rest(*args)",
            "# Loading existing content...",
            "...rest,",
            "// ...",
        ] {
            assert!(!is_worded_placeholder(line), "{line}");
        }
        assert!(is_placeholder("  ...") && is_placeholder("…") && !is_placeholder("...args"));
    }
}

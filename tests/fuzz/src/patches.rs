//! Targets for the patch formats.

use std::collections::BTreeMap;

use emend_edit::patch::line_edits::{self, LineEdit, LineEdits, LineOperation};
use emend_edit::patch::{Change, Patch, plan, replace, unified, v4a};

use crate::{Target, draw, texts};

const FILE: &str = "fn one() {\n    1\n}\n\nfn two() {\r\n    “2”\n}\nlast";

pub(crate) const V4A: Target = Target {
    name: "v4a",
    run: run_v4a,
    samples: &[
        "a\nb\nc\n\u{1e}*** Begin Patch\n*** Update File: a\n@@ a\n b\n-c\n+d\n*** End of File\n*** End Patch\n",
        "fn one() {\n    1\n}\n\u{1e}*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn one() {\n@@\n-    1\n+    2\n }\n*** Add File: c\n+x\n+\n*** Delete File: d\n*** End Patch",
        "\u{feff}x\r\ny\r\n\u{1e}<<'EOF'\r\n*** Begin Patch ***\r\n*** Update File: a\r\n-x\r\n+z\r\n\r\n*** End Patch\r\nEOF",
        "x\n\u{1e}```diff\n*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\n```\n",
        "x\n\u{1e}{\"input\":\"*** Begin Patch\\n*** Add File: q\\n+1\\n*** End Patch\"}",
    ],
    words: &[
        "*** Begin Patch\n",
        "*** End Patch\n",
        "*** Update File: a\n",
        "*** Add File: b\n",
        "*** Delete File: c\n",
        "*** Move to: d\n",
        "*** End of File\n",
        "@@",
        "@@ ",
        "\n+",
        "\n-",
        "\n ",
        "```",
        "<<EOF\n",
        "EOF",
        "*** ",
    ],
};

fn run_v4a(data: &[u8]) {
    let [before, text] = texts(data);
    let whole = v4a::parse(&text);
    let mut parser = v4a::Parser::new();
    let mut pieces = Ok(());
    let mut rest = text.as_str();
    while !rest.is_empty() && pieces.is_ok() {
        let wanted = 1 + draw(rest.as_bytes(), 1) as usize % 17;
        let end = (wanted..=rest.len()).find(|&end| rest.is_char_boundary(end)).unwrap_or(rest.len());
        pieces = parser.push(&rest[..end]);
        rest = &rest[end..];
    }
    let streamed = pieces.and_then(|()| parser.finish());
    assert_eq!(whole, streamed, "a patch in pieces parses differently");
    if let Ok((patch, _)) = whole {
        apply(&patch, &before);
    }
}

pub(crate) const UNIFIED: Target = Target {
    name: "unified",
    run: run_unified,
    samples: &[
        "a\nb\nc\n\u{1e}--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
        "a\nb\n\u{1e}diff --git a/x b/y\nsimilarity index 50%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1,2 +1 @@\n-a\n b\n\\ No newline at end of file\n",
        "a\u{1e}--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+1\n+2\ndiff --git a/q b/q\ndeleted file mode 100644\n--- a/q\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n",
        "x\ny\nz\n\u{1e}@@ -7,2 +9,2 @@\n x\n-y\n+Y\n",
    ],
    words: &[
        "--- a/f\n",
        "+++ b/f\n",
        "@@ -1,2 +1,2 @@\n",
        "@@ -",
        " +",
        ",0",
        " @@",
        "\\ No newline at end of file\n",
        "diff --git a/f b/f\n",
        "rename to ",
        "new file mode 100644\n",
        "/dev/null",
        "\"a\\303\\251\"",
    ],
};

fn run_unified(data: &[u8]) {
    let [before, text] = texts(data);
    for mode in [unified::DiffMode::Strict, unified::DiffMode::Located] {
        for parsed in [unified::parse(&text, mode), unified::parse_for("f", &text, mode)] {
            let Ok((patch, _)) = parsed else { continue };
            apply(&patch, &before);
            for edit in &patch.edits {
                let Change::Unified(edit) = &edit.change else { continue };
                let strict = unified::apply_strict(&before, &edit.hunks);
                // A search needs old lines. A hunk that only inserts is placed by its stated line alone.
                let located = unified::apply_located(&before, &edit.hunks);
                if let (Ok(strict), Ok(located)) = (strict, located) {
                    assert_eq!(located.text, strict.text, "a hunk at its stated line is moved");
                }
            }
        }
    }
}

pub(crate) const REPLACE: Target = Target {
    name: "replace",
    run: run_replace,
    samples: &[
        "a\n  b\nc\n\u{1e}b\u{1e}B",
        "if x:\n    y\n    z\n\u{1e}y\nz\u{1e}Y\nZ",
        "“q”\r\nr\r\n\u{1e}\"q\"\nr\u{1e}s",
    ],
    words: &["...", "// ... existing code ...", "    ", "\u{a0}", "“", "\\n", "\\\""],
};

fn run_replace(data: &[u8]) {
    let [before, old, new] = texts(data);
    for replace_all in [false, true] {
        if let Ok(replaced) = replace::replace(&before, &old, &new, replace_all) {
            assert_ne!(replaced.text, before, "a replacement changes nothing");
        }
    }
}

pub(crate) const LINES: Target = Target {
    name: "lines",
    run: run_lines,
    samples: &["a\nb\nc\n\u{1e}1 2 x\u{1e}", "a\r\nb\u{1e}3 3 z\u{1e}", "\u{1e}1 1 q\u{1e}"],
    words: &["0", "1", "2", "3", "18446744073709551615"],
};

fn run_lines(data: &[u8]) {
    let [before, edits] = texts(data);
    let operations = [LineOperation::Replace, LineOperation::Insert, LineOperation::Delete];
    let mut words = edits.split(' ');
    let mut list = Vec::new();
    while let Some(start_line) = words.next().and_then(|word| word.parse().ok()) {
        let end_line = words.next().and_then(|word| word.parse().ok());
        let new_text = words.next().unwrap_or_default().to_owned();
        let operation = operations[draw(new_text.as_bytes(), 3) as usize % 3];
        list.push(LineEdit { operation, start_line, end_line, new_text, expected_hash: None });
    }
    let n_edits = list.len();
    if let Ok(applied) = line_edits::apply(&before, &LineEdits { edits: list, expected_hash: None }) {
        assert_eq!(applied.hunks.len(), n_edits);
    }
}

/// Applies a patch to files that all contain `before` or `FILE`. The patch must either change something or be
/// rejected.
fn apply(patch: &Patch, before: &str) {
    for text in [before, FILE] {
        let files: BTreeMap<String, Option<String>> =
            patch.paths().into_iter().map(|path| (path.to_owned(), Some(text.to_owned()))).collect();
        for files in [files, BTreeMap::new()] {
            match plan(patch, &files) {
                Ok(planned) => assert!(!planned.is_empty(), "a patch that changes nothing is accepted"),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

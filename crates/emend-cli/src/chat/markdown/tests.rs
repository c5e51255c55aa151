//! The layout of Markdown, which must not depend on how the text is cut into pieces.

use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn check(text: &str, width: usize, expected: &Expect) {
    expected.assert_eq(&render(text, Painter::OFF, width).join("\n"));
}

const ALL: &str = "# Title\n\nSome *long* text with **bold** words, `code` and a [link](https://example.org).\n\n\
                   - one\n- two that is rather long as well\n  1. inner\n  2. more\n- [x] done\n\n\
                   ```rust\nfn main() {}\n\n\tlong_line_of_code_that_is_not_broken();\n```\n\n\
                   > quoted text\n> goes on\n\n| a | b |\n|---|---|\n| 1 | two |\n\n---\n\nEnd <b>.\n";

#[test]
fn blocks_are_laid_out() {
    check(
        ALL,
        30,
        &expect![[r#"
            Title

            Some long text with bold
            words, code and a link
            (https://example.org).

            • one
            • two that is rather long as
              well
              1. inner
              2. more
            • [x] done

            rust
              fn main() {}

                  long_line_of_code_that_i
                  ↪ s_not_broken();

            │ quoted text goes on

            a  b
            1  two

            ──────────────────────────────

            End <b>."#]],
    );
}

#[test]
fn twenty_columns_are_enough() {
    check(
        "A paragraph with averyveryverylongwordindeed in it.\n\n1. item of a list",
        20,
        &expect![[r#"
        A paragraph with
        averyveryverylongwor
        dindeed in it.

        1. item of a list"#]],
    );
    check(
        "日本語の長い文章です",
        8,
        &expect![[r#"
        日本語の
        長い文章
        です"#]],
    );
}

#[test]
fn styles_are_painted() {
    let lines = render("# T\n\n**b** `c` ~~d~~", Painter::new(true), 40);
    expect![[r#"
        ^[1m^[4mT^[0m

        ^[1mb^[0m ^[36mc^[0m ^[9md^[0m"#]]
    .assert_eq(&lines.join("\n").replace('\x1b', "^"));
}

#[test]
fn nothing_the_model_writes_moves_the_cursor() {
    let text = "a\x1b[2Jb\u{202e}\n\n```\n\x1b]0;title\x07\n```\n\n| \x1bx |\n|---|\n\n[\x1b[1m](\x1b)";
    let lines = render(text, Painter::OFF, 40).join("\n");
    assert!(!lines.contains(['\x1b', '\x07', '\u{202e}']), "{lines:?}");
}

#[test]
fn a_text_looks_the_same_however_it_streams() {
    let whole = {
        let mut stream = Stream::default();
        let mut lines = stream.push(ALL, Painter::OFF, 30);
        lines.extend(stream.finish(Painter::OFF, 30));
        lines
    };
    for n_chars in [1, 2, 3, 7, 50] {
        let mut stream = Stream::default();
        let mut lines = Vec::new();
        for piece in ALL.chars().collect::<Vec<_>>().chunks(n_chars) {
            lines.extend(stream.push(&piece.iter().collect::<String>(), Painter::OFF, 30));
        }
        lines.extend(stream.finish(Painter::OFF, 30));
        assert_eq!(lines, whole, "in pieces of {n_chars}");
    }
    assert_eq!(whole, render(ALL, Painter::OFF, 30), "in one piece");
}

#[test]
fn finished_blocks_are_shown_before_the_text_ends() {
    let mut stream = Stream::default();
    assert_eq!(stream.push("One paragraph.\n\nAnother", Painter::OFF, 40), ["One paragraph."]);
    assert_eq!(stream.unfinished(40), ["Another"]);
    assert_eq!(stream.push(" goes on.\n", Painter::OFF, 40), Vec::<String>::new());
    assert_eq!(stream.finish(Painter::OFF, 40), ["", "Another goes on."]);
}

/// Returns the bytes that were looked at for a text that arrives in pieces of 16 bytes and is drawn after each.
fn work(text: &str) -> usize {
    let mut stream = Stream::default();
    let mut rest = text;
    while !rest.is_empty() {
        let mut cut = rest.len().min(16);
        while !rest.is_char_boundary(cut) {
            cut += 1;
        }
        stream.push(&rest[..cut], Painter::OFF, 80);
        rest = &rest[cut..];
    }
    stream.work.get()
}

#[test]
fn long_blocks_take_work_in_proportion_to_their_length() {
    let code = |n_lines: usize| format!("```\n{}", "let x = 1;\n".repeat(n_lines));
    let list = |n_lines: usize| "- an item of a list\n".repeat(n_lines);
    for make in [&code as &dyn Fn(usize) -> String, &list] {
        let (short, long) = (work(&make(2_000)), work(&make(20_000)));
        assert!(long < 15 * short, "{short} {long}");
    }
    let mut stream = Stream::default();
    stream.push(&"word ".repeat(40_000), Painter::OFF, 80);
    stream.unfinished(80);
    assert!(stream.work.get() <= UNFINISHED_BYTES, "{}", stream.work.get());
}

#[test]
fn code_and_tables_fit_narrow_terminals() {
    let text = "```\n    let total = first_number + second_number;\n```\n\n| name | meaning |\n|---|---|\n| alpha | the first of all letters |\n";
    expect_test::expect![[r#"
              let total = first_
              ↪ number + second_
              ↪ number;

        name   meaning
        alpha  the first of all
               letters"#]]
    .assert_eq(&render(text, Painter::OFF, 24).join("\n"));
}

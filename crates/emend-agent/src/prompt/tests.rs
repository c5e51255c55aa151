//! Tests of prompts over files in memory.

use expect_test::expect;
use futures::executor::block_on;
use serde_json::json;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::environment::FilePath;
use crate::environment::memory::MemFs;
use crate::test_support::covers;

#[test]
fn dates_are_those_of_the_calendar() {
    assert_eq!(date(0), "1970-01-01");
    assert_eq!(date(951_782_400_000), "2000-02-29");
    assert_eq!(date(1_795_219_200_000), "2026-11-21");
    assert_eq!(date(4_107_542_400_000), "2100-03-01");
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn layers_come_in_the_order_of_their_weight() {
    covers("prompt.instructions prompt.environment prompt.tools prompt.user_instructions");
    let facts = Facts {
        working_directory: "/work/app".to_owned(),
        platform: "linux".to_owned(),
        os_version: "Linux 6.1".to_owned(),
        date: "2026-11-21".to_owned(),
        git: Some(GitSnapshot {
            branch: Some("main".to_owned()),
            n_changed: Some((2, 1)),
            recent_commits: names(&["Fix the parser", "Begin"]),
        }),
    };
    let tool = ToolDefinition {
        name: "grep".to_owned(),
        description: "Searches files. Skips binary ones.".to_owned(),
        parameters: json!({}),
    };
    let path = FilePath::clean("AGENTS.md").unwrap();
    let layers = Layers {
        base: "You are Emend.\n",
        facts: &facts,
        model: "claude-opus-4-6",
        open_file: Some("src/a.rs"),
        tools: &[tool],
        documents: &[ProjectDocument { path, text: "Use tabs.\n".to_owned() }],
        instructions: Some("Answer in French."),
    };
    expect![[r#"
        You are Emend.

        <environment>
        Working directory: /work/app
        Is git repository: true
        Git branch: main
        Git status: 2 modified, 1 untracked
        Recent commits: Fix the parser | Begin
        Platform: linux
        OS version: Linux 6.1
        Today's date: 2026-11-21
        Model: Claude Opus 4.6
        Knowledge cutoff: 2025-05
        </environment>

        <tools>
        - grep: Searches files.
        </tools>

        <project_instructions path="AGENTS.md">
        Use tabs.
        </project_instructions>

        Open file: src/a.rs

        <user_instructions>
        Answer in French.
        </user_instructions>
    "#]]
    .assert_eq(&layers.assemble());
    let bare = Layers { tools: &[], documents: &[], instructions: None, open_file: None, model: "own", ..layers };
    let facts = Facts { git: None, platform: "wasm".to_owned(), ..facts.clone() };
    expect![[r#"
        You are Emend.

        <environment>
        Working directory: /work/app
        Is git repository: false
        Platform: wasm
        OS version: Linux 6.1
        Today's date: 2026-11-21
        Model: own
        </environment>
    "#]]
    .assert_eq(&Layers { facts: &facts, ..bare }.assemble());
}

#[test]
fn a_repository_in_memory_tells_its_branch() {
    covers("prompt.environment");
    let facts = |fixture: &str| block_on(Facts::of(&MemFs::from_fixture(fixture), 0));
    assert_eq!(facts("//- a.md\nx\n").git, None);
    let on_branch = facts("//- .git/HEAD\nref: refs/heads/fix/one\n").git.unwrap();
    assert_eq!(on_branch.branch.as_deref(), Some("fix/one"));
    assert_eq!(facts("//- .git/HEAD\n0123abc\n").git, Some(GitSnapshot::default()));
}

/// Returns `path: text` of each document on the path to `to`.
fn check(fixture: &str, to: &str, wanted: &[&str], expected: &[&str]) {
    let files = MemFs::from_fixture(fixture);
    let found = block_on(discover(&files, &FilePath::clean(to).unwrap(), &names(wanted)));
    let found: Vec<String> =
        found.iter().map(|document| format!("{}: {}", document.path, document.text.trim_end())).collect();
    assert_eq!(found, expected);
}

#[test]
fn documents_are_found_from_the_root_down_and_only_the_profiles() {
    covers("prompt.documents prompt.document_names prompt.document_limit");
    let fixture = "//- AGENTS.md\nroot\n//- CLAUDE.md\nclaude\n//- GEMINI.md\ngemini\n//- src/AGENTS.md\nsrc\n\
                   //- src/deep/AGENTS.md\ndeep\n//- other/AGENTS.md\nother\n//- .codex/instructions.md\ncodex\n";
    check(fixture, "", &["AGENTS.md", "CLAUDE.md"], &["AGENTS.md: root", "CLAUDE.md: claude"]);
    let deeper = ["AGENTS.md: root", "GEMINI.md: gemini", "src/AGENTS.md: src", "src/deep/AGENTS.md: deep"];
    check(fixture, "src/deep", &["AGENTS.md", "GEMINI.md"], &deeper);
    let codex = ["AGENTS.md: root", ".codex/instructions.md: codex"];
    check(fixture, "", &["AGENTS.md", ".codex/instructions.md"], &codex);
    check(fixture, "", &[], &[]);
    check("//- AGENTS.md/x\ndirectory\n//- CLAUDE.md\n \n", "", &["AGENTS.md", "CLAUDE.md"], &[]);
}

#[test]
fn documents_are_cut_at_32_kilobytes_together() {
    covers("prompt.document_limit");
    let (large, rest) = ("é".repeat(16_000), "x".repeat(2_000));
    let fixture = format!("//- AGENTS.md\n{large}\n//- src/AGENTS.md\n{rest}\n//- src/deep/AGENTS.md\nnever\n");
    let files = MemFs::from_fixture(&fixture);
    let to = FilePath::clean("src/deep").unwrap();
    let found = block_on(discover(&files, &to, &names(&["AGENTS.md"])));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].text.len(), 32_001);
    assert_eq!(found[1].text, format!("{}\n[Project instructions truncated at 32KB]", "x".repeat(767)));
    let fixture = format!("//- AGENTS.md\n{}\n", "é".repeat(20_000));
    let cut = block_on(discover(&MemFs::from_fixture(&fixture), &FilePath::root(), &names(&["AGENTS.md"])));
    assert!(cut[0].text.starts_with("éé") && cut[0].text.ends_with("é\n[Project instructions truncated at 32KB]"));
}

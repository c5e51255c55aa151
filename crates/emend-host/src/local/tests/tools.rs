//! The reading tools in memory and on disk: the model gets the same results.

use std::time::{Duration, UNIX_EPOCH};

use emend_agent::environment::memory::MemFs;
use emend_agent::session::call_tool;
use emend_agent::tools::core_tools;
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::{Clock, Shared};
use serde_json::{Value, json};

use super::*;
use crate::SystemClock;

const TREE: &str = "//- src/a.rs\none\nfn alpha() {}\nthree\nfn beta() {}\n//- src/deep/b.rs\nfn Alpha() {}\n\
    //- notes.md\nfn alpha\n//- target/built.rs\nfn alpha() {}\n//- .hidden.rs\nfn alpha() {}\n//- .gitignore\ntarget\n";

fn answers(environment: Shared<dyn ExecutionEnvironment>, calls: &[(&str, Value)]) -> Vec<String> {
    let clock: Shared<dyn Clock> = Shared::new(SystemClock);
    let workspace = Shared::new(Workspace::new(environment, Mode::Staged, clock));
    let answer = |(name, arguments): &(&str, Value)| {
        let outcome = block_on(call_tool(&core_tools(), &workspace, name, arguments.clone()));
        match outcome {
            Ok(output) => format!("{}\n{:?}", output.text, output.image),
            Err(error) => format!("{} {}", error.code.as_str(), error.text()),
        }
    };
    calls.iter().map(answer).collect()
}

#[test]
fn reading_tools_answer_the_same_in_memory_and_on_disk() {
    let png = b"\x89PNG\r\n\x1a\n\0\0";
    let (disk, memory) = (Disk::new(|_| TREE.to_owned()), MemFs::from_fixture(TREE));
    fs::write(disk.root().join("logo.png"), png).unwrap();
    memory.insert("logo.png", png).unwrap();
    // In memory each write has a later time than the previous one.
    for (index, (path, _)) in parse_fixture(TREE).into_iter().enumerate() {
        let file = fs::File::options().write(true).open(disk.root().join(path)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000 + index as u64)).unwrap();
    }
    let calls = [
        ("grep", json!({"pattern": "alpha", "context": 1})),
        ("grep", json!({"pattern": "alpha", "case_insensitive": true, "output_mode": "count", "glob_filter": "*.rs"})),
        ("grep", json!({"pattern": "fn", "max_results": 2, "offset": 1})),
        ("grep", json!({"pattern": "fn", "output_mode": "files", "path": "src"})),
        ("grep", json!({"pattern": "x", "path": "scr"})),
        ("glob", json!({"pattern": "**/*.rs"})),
        ("glob", json!({"pattern": "**/*.rs", "path": "src"})),
        ("list_dir", json!({"depth": 3})),
        ("list_dir", json!({"path": "notes.md"})),
        ("read_file", json!({"file_path": "src/a.rs", "offset": 2, "limit": 1})),
        ("read_file", json!({"file_path": "logo.png"})),
        ("read_file", json!({"file_path": "note.md"})),
        ("read_file", json!({"file_path": "src"})),
        ("read_many_files", json!({"include": ["src", "*.md", "logo.png", "gone"], "exclude": ["b.rs"]})),
    ];
    let (found, expected) = (answers(Shared::new(disk.environment()), &calls), answers(Shared::new(memory), &calls));
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "{:?}", calls[index]);
    }
    assert!(expected[5].starts_with("src/deep/b.rs\nsrc/a.rs\n"), "the newest first: {}", expected[5]);
    assert!(expected[10].contains("image/png"), "{}", expected[10]);
}

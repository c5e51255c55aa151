//! The tools, called as a model calls them, over files in memory.

mod effects;
mod move_file;
mod preview;
mod read;
mod search;
mod web;

use emend_edit::ContentHash;
use emend_llm::{Clock, Shared};
use expect_test::Expect;
use futures::executor::block_on;
use serde_json::Value;

use super::core_tools;
use crate::environment::ExecutionEnvironment;
use crate::environment::memory::MemFs;
use crate::session::call_tool;
use crate::session::tests::TickingClock;
use crate::tool::{ToolError, ToolOutput, ToolRegistry};
use crate::workspace::{Mode, Workspace};

/// Tools over some files.
pub(super) struct Bench {
    pub(super) files: Shared<MemFs>,
    pub(super) workspace: Shared<Workspace>,
    pub(super) tools: ToolRegistry,
}

impl Bench {
    pub(super) fn new(fixture: &str) -> Self {
        Self::over(MemFs::from_fixture(fixture))
    }

    pub(super) fn over(files: MemFs) -> Self {
        let files = Shared::new(files);
        let clock: Shared<dyn Clock> = Shared::new(TickingClock::default());
        let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
        let workspace = Shared::new(Workspace::new(environment, Mode::Staged, clock));
        Self { files, workspace, tools: core_tools() }
    }

    pub(super) fn try_call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        block_on(call_tool(&self.tools, &self.workspace, name, arguments))
    }

    /// Returns what the model would read.
    pub(super) fn call(&self, name: &str, arguments: Value) -> String {
        match self.try_call(name, arguments) {
            Ok(output) => output.text,
            Err(error) => format!("[{}] {}", error.code.as_str(), error.text()),
        }
    }

    #[track_caller]
    pub(super) fn check(&self, name: &str, arguments: Value, expected: &Expect) {
        let text = self.call(name, arguments);
        let mut shown = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("sha256:") {
            shown.push_str(before);
            shown.push_str("sha256:…");
            rest = after.trim_start_matches(|char: char| char.is_ascii_hexdigit());
            let hash = &after[..after.len() - rest.len()];
            assert_eq!(hash, self.hash_of(named_in(before)), "{before}");
        }
        expected.assert_eq(&(shown + rest + "\n"));
    }

    /// Returns the hash of a file as the model sees it. Binary files have no pending edits.
    fn hash_of(&self, path: &str) -> String {
        let visible = block_on(self.workspace.text(path)).ok().flatten().map(String::into_bytes);
        ContentHash::of(&visible.or_else(|| self.files.get(path)).expect(path)).hex()
    }
}

/// Returns the path in a line `[PATH | …` or `Moved … to PATH …`, the last one of `text`.
fn named_in(text: &str) -> &str {
    let line = text.rsplit('\n').next().unwrap_or_default();
    let start = line.split(" | ").next().unwrap_or_default();
    let moved_to = || start.rsplit_once(" to ").map(|(_, path)| path.split(',').next().unwrap_or_default());
    start.strip_prefix('[').or_else(moved_to).unwrap_or_else(|| panic!("no path before a hash: {line}"))
}

//! Changes of the canvas as hidden messages: a diff against the text that the model was told last.

use std::collections::BTreeMap;

use emend_edit::diff::{Names, unified};
use emend_llm::runtime::Mutex;

use crate::workspace::Workspace;

/// First line of every message.
const HEADER: &str = "Canvas update (do not display to user). Apply this diff to your internal canvas state:";

/// Lines of context around a change.
const CONTEXT_LINES: usize = 3;

/// The text of the canvas as one conversation knows it.
#[derive(Debug, Default)]
pub struct CanvasNotes {
    /// The text by the path of its file. Empty before the first update.
    known: Mutex<BTreeMap<String, String>>,
}

impl CanvasNotes {
    /// Returns the notes of a conversation that knows a text, as [`known`](Self::known) returned it.
    #[must_use]
    pub fn knowing(known: BTreeMap<String, String>) -> Self {
        Self { known: Mutex::new(known) }
    }

    /// Returns the text that the conversation knows, by the path of its file.
    #[must_use]
    pub fn known(&self) -> BTreeMap<String, String> {
        self.known.lock().clone()
    }

    /// Forgets the text: the conversation has changed.
    pub fn forget(&self) {
        self.known.lock().clear();
    }

    /// Returns a message with the change of the canvas since the last call; `None` without a change, at the first call, and
    /// after another file was opened.
    ///
    /// Call it before each user message, and at the end of each turn.
    pub async fn update(&self, workspace: &Workspace) -> Option<String> {
        let path = workspace.canvas().path()?;
        let text = workspace.text(path.as_str()).await.ok().flatten().unwrap_or_default();
        let before = {
            let mut known = self.known.lock();
            let before = known.remove(path.as_str());
            known.clear();
            known.insert(path.to_string(), text.clone());
            before?
        };
        (before != text).then(|| message(path.as_str(), &before, &text))
    }
}

/// Returns the message for a change: the header, and the diff in a fence that is longer than any inside.
fn message(path: &str, before: &str, after: &str) -> String {
    let (old, new) = (format!("a/{path}"), format!("b/{path}"));
    let diff = unified(before, after, CONTEXT_LINES, Names { old: &old, new: &new });
    // Fences are looked for anywhere in a line, because each line of a diff begins with a mark.
    let mut longest = 2;
    for line in diff.lines() {
        let mut run = 0;
        for byte in line.bytes() {
            run = if byte == b'`' { run + 1 } else { 0 };
            longest = longest.max(run);
        }
    }
    let fence = "`".repeat(longest + 1);
    let end = if diff.ends_with('\n') { "" } else { "\n" };
    format!("{HEADER}\n{fence}diff\n{diff}{end}{fence}")
}

#[cfg(test)]
mod tests {
    use emend_llm::Shared;
    use futures::executor::block_on;

    use super::*;
    use crate::environment::memory::MemFs;
    use crate::environment::{ExecutionEnvironment, FilePath};
    use crate::test_support::Standstill;
    use crate::workspace::Mode;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn each_change_is_told_once_in_a_fence_of_its_own() {
        block_on(async {
            let files = Shared::new(MemFs::from_fixture("//- a.md\none\ntwo\n//- b.md\nx\n"));
            let environment = files as Shared<dyn ExecutionEnvironment>;
            let workspace = Workspace::new(environment, Mode::Staged, Shared::new(Standstill(0)));
            let notes = CanvasNotes::default();
            assert_eq!(notes.update(&workspace).await, None, "no file is open");
            workspace.canvas().open(FilePath::clean("a.md"));
            assert_eq!(notes.update(&workspace).await, None, "the model reads the first text by its tools");
            workspace.user_edit("a.md", Some("one\n```\n2\n"), None).await.unwrap();
            assert_eq!(
                notes.update(&workspace).await.unwrap(),
                "Canvas update (do not display to user). Apply this diff to your internal canvas state:\n````diff\n--- a/a.md\n\
                 +++ b/a.md\n@@ -1,2 +1,3 @@\n one\n-two\n+```\n+2\n````"
            );
            assert_eq!(notes.update(&workspace).await, None);
            workspace.canvas().open(FilePath::clean("b.md"));
            assert_eq!(notes.update(&workspace).await, None, "another file is another canvas");
        });
    }
}

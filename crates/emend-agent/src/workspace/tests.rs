//! Tests of edits, reviews and the disk, over files in memory.

mod answers;
mod applying;
mod bundles;
mod decisions;
mod effects;
#[cfg(not(target_family = "wasm"))]
mod host_tests;
mod interleaving;
mod partial;
mod redoing;
mod unread;

use emend_edit::line_log::DependentsPolicy;
use emend_llm::Shared;
use futures::executor::block_on;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::environment::memory::MemFs;
use crate::environment::{ExecutionEnvironment, FilePath};
use crate::error_code::Code;
use crate::session::tests::TickingClock;
use crate::test_support::{covers, tool_context};
use crate::tool::ToolContext;

struct World {
    files: Shared<MemFs>,
    workspace: Shared<Workspace>,
    reads: Shared<ReadTracker>,
}

impl World {
    fn new(fixture: &str, mode: Mode) -> Self {
        let files = Shared::new(MemFs::from_fixture(fixture));
        let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
        Self::over(files, environment, mode)
    }

    /// Starts a workspace over an environment whose files are `files`.
    fn over(files: Shared<MemFs>, environment: Shared<dyn ExecutionEnvironment>, mode: Mode) -> Self {
        let workspace = Shared::new(Workspace::new(environment, mode, Shared::new(TickingClock::default())));
        workspace.begin_run();
        Self { files, workspace, reads: Shared::new(ReadTracker::default()) }
    }

    fn context(&self) -> ToolContext {
        tool_context(&self.workspace, &self.reads)
    }

    fn agent(&self, path: &str, text: Option<&str>) -> Result<Vec<WrittenFile>, WorkspaceError> {
        self.agent_all(&[(path, text)])
    }

    fn agent_all(&self, files: &[(&str, Option<&str>)]) -> Result<Vec<WrittenFile>, WorkspaceError> {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let writes = files
            .iter()
            .map(|(path, text)| FileWrite {
                path: (*path).to_owned(),
                text: text.map(str::to_owned),
                moved_from: None,
                steps: Vec::new(),
            })
            .collect();
        let context = self.context();
        let written = block_on(self.workspace.write(&context.write(), &paths, |_| Ok((writes, ()))));
        written.map(|(written, ())| written)
    }

    fn user(&self, path: &str, text: &str) {
        block_on(self.workspace.user_edit(path, Some(text), None)).unwrap();
    }

    fn visible(&self, path: &str) -> Option<String> {
        block_on(self.workspace.text(path)).unwrap()
    }

    fn disk(&self, path: &str) -> Option<String> {
        self.files.get(path).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn ids(&self) -> Vec<String> {
        self.workspace.review().files.into_iter().flat_map(|file| file.hunks).map(|hunk| hunk.id).collect()
    }

    fn accept(&self, index: usize) {
        block_on(self.workspace.accept(&self.ids()[index..=index])).unwrap();
    }

    fn reject(&self, index: usize) -> Result<Review, ReviewError> {
        block_on(self.workspace.reject(&self.ids()[index..=index], DependentsPolicy::Refuse))
    }
}

const TEN: &str = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn staged_edits_are_visible_at_once_and_on_disk_when_accepted() {
    covers("review.hunk");
    let world = World::new(&format!("//- a.txt\n{TEN}"), Mode::Staged);
    world.agent("a.txt", Some("zero\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n")).unwrap();
    assert_eq!(world.disk("a.txt"), some(TEN));
    assert_eq!(world.ids().len(), 2);
    world.accept(1);
    assert_eq!(world.disk("a.txt"), some("0\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n"));
    world.reject(0).unwrap();
    assert_eq!(world.visible("a.txt"), some("0\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n"));
    assert!(world.ids().is_empty());
}

#[test]
fn direct_edits_are_on_disk_at_once_and_can_be_undone_beside_the_users_own() {
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Direct);
    world.agent("a.txt", Some("ONE\ntwo\n")).unwrap();
    assert_eq!(world.disk("a.txt"), some("ONE\ntwo\n"));
    world.files.insert("a.txt", "ONE\ntwo\nmine\n").unwrap();
    assert_eq!(block_on(world.workspace.undo_runs(&[1])).unwrap().restored.len(), 1);
    assert_eq!(world.disk("a.txt"), some("one\ntwo\nmine\n"));
}

#[test]
fn a_line_the_user_typed_inside_a_hunk_survives_its_rejection() {
    covers("review.user_lines review.reject");
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Staged);
    world.agent("a.txt", Some("one\nA\nB\ntwo\n")).unwrap();
    world.user("a.txt", "one\nA\nmine\nB\ntwo\n");
    assert_eq!(world.disk("a.txt"), some("one\nA\nmine\nB\ntwo\n"), "kept because the user edited inside it");
    assert!(world.workspace.review().files[0].hunks.iter().any(|hunk| hunk.kept_by_user));
    assert_eq!(world.reject(0).map_err(|error| error.code()), Err(Code::Conflict));
    block_on(world.workspace.reject(&world.ids(), DependentsPolicy::OnlyThese)).unwrap();
    assert_eq!(world.visible("a.txt"), some("one\nmine\ntwo\n"));
}

#[test]
fn creating_and_deleting_are_decided_like_any_edit() {
    covers("review.hunk review.reject");
    let world = World::new("//- old.txt\nold\n", Mode::Staged);
    world.agent_all(&[("new.txt", Some("new\n")), ("old.txt", None)]).unwrap();
    assert_eq!((world.disk("new.txt"), world.disk("old.txt")), (None, some("old\n")));
    assert_eq!((world.visible("new.txt"), world.visible("old.txt")), (some("new\n"), None));
    let review = world.workspace.review();
    let operations: Vec<&str> = review.files.iter().map(|file| file.operation).collect();
    assert_eq!(operations, ["create", "delete"]);
    block_on(world.workspace.accept_all(None)).unwrap();
    assert_eq!((world.disk("new.txt"), world.disk("old.txt")), (some("new\n"), None));
}

#[test]
fn every_decision_can_be_undone_and_redone() {
    covers("review.undo");
    let world = World::new("//- a.txt\none\n", Mode::Staged);
    world.agent("a.txt", Some("ONE\n")).unwrap();
    world.accept(0);
    assert_eq!(world.disk("a.txt"), some("ONE\n"));
    block_on(world.workspace.undo()).unwrap();
    assert_eq!(world.disk("a.txt"), some("one\n"));
    assert_eq!(world.ids().len(), 1, "it waits again");
    block_on(world.workspace.redo()).unwrap();
    assert_eq!(world.disk("a.txt"), some("ONE\n"));
    let nothing = block_on(world.workspace.redo()).map_err(|error| error.code());
    assert_eq!(nothing.map(|_| ()), Err(Code::NotFound));
}

#[test]
fn what_another_program_wrote_is_taken_in_before_anything_else() {
    let world = World::new(&format!("//- a.txt\n{TEN}"), Mode::Staged);
    world.agent("a.txt", Some("zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")).unwrap();
    world.files.insert("a.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n").unwrap();
    assert_eq!(world.visible("a.txt"), some("zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n"));
    world.reject(0).unwrap();
    assert_eq!(world.disk("a.txt"), some("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n"));
}

#[test]
fn a_whole_file_is_overwritten_only_if_it_was_seen_as_it_is() {
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Direct);
    let overwrite = || {
        let write = FileWrite { path: "a.txt".to_owned(), text: some("new\n"), moved_from: None, steps: Vec::new() };
        let planned = |_: Option<&str>| Ok((vec![write], ()));
        let (context, base) = (world.context(), Precondition::Whole(None));
        let written = block_on(world.workspace.write_verified(&context.write(), "a.txt", base, planned));
        written.map_err(|rejection: Rejection<WorkspaceError>| (rejection.error.code(), rejection.latest))
    };
    let (code, latest) = overwrite().unwrap_err();
    assert_eq!(code, Code::Stale);
    assert_eq!(latest.unwrap().text, "one\ntwo\n");
    assert_eq!(world.disk("a.txt"), some("one\ntwo\n"));
    world.files.insert("a.txt", "one\n2\n").unwrap();
    assert_eq!(overwrite().unwrap_err().0, Code::Stale, "it changed after it was shown");
    overwrite().unwrap();
    assert_eq!(world.disk("a.txt"), some("new\n"));
    overwrite().unwrap();
}

#[test]
fn pending_edits_show_in_listings_and_searches() {
    let world = World::new("//- a.txt\nalpha\n//- b.txt\nbeta\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("gamma\n")), ("c.txt", Some("alpha\n")), ("b.txt", None)]).unwrap();
    let matcher = crate::search::Matcher::new("alpha|beta|gamma", false).unwrap();
    for (max_results, expected) in [(100, &["a.txt:gamma", "c.txt:alpha"][..]), (1, &["a.txt:gamma"]), (0, &[])] {
        let found = block_on(world.workspace.grep(matcher.clone(), ".", None, 0, max_results)).unwrap();
        let lines: Vec<String> = found.iter().map(|file| format!("{}:{}", file.path, file.lines[0].text)).collect();
        assert_eq!(lines, expected);
    }
    let names = |entries: Vec<crate::environment::DirEntry>| -> Vec<String> {
        entries.into_iter().map(|entry| entry.path.to_string()).collect()
    };
    assert_eq!(names(block_on(world.workspace.list(".", 1)).unwrap()), ["a.txt", "c.txt"]);
    assert_eq!(names(block_on(world.workspace.glob(".", "*.txt")).unwrap()), ["a.txt", "c.txt"]);
    let paths = block_on(world.workspace.glob_paths(".", "*.txt")).unwrap();
    assert_eq!(paths.iter().map(crate::environment::FilePath::as_str).collect::<Vec<_>>(), ["a.txt", "c.txt"]);
}

#[test]
fn a_users_edit_of_an_older_text_keeps_what_the_agent_changed_elsewhere() {
    let world = World::new(&format!("//- a.txt\n{TEN}"), Mode::Staged);
    world.agent("a.txt", Some("zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")).unwrap();
    let typed = "0\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n";
    block_on(world.workspace.user_edit("a.txt", Some(typed), Some(TEN))).unwrap();
    assert_eq!(world.visible("a.txt"), some("zero\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n"));
    assert_eq!(world.disk("a.txt"), some(typed));
}

#[test]
fn a_snapshot_goes_on_where_it_left_off() {
    let world = World::new("//- a.txt\none\n", Mode::Staged);
    world.agent("a.txt", Some("ONE\n")).unwrap();
    let saved = serde_json::to_string(&world.workspace.snapshot()).unwrap();
    let again = Workspace::new(
        Shared::clone(&world.files) as Shared<dyn ExecutionEnvironment>,
        Mode::Staged,
        Shared::new(TickingClock::default()),
    );
    again.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    assert_eq!(again.review(), world.workspace.review());
    block_on(again.accept_all(None)).unwrap();
    assert_eq!(world.disk("a.txt"), some("ONE\n"));
}

#[test]
fn undoing_a_run_leaves_what_the_user_put_next_to_it_in_place() {
    covers("rollback.scoped");
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Direct);
    world.agent("a.txt", Some("one\nTWO\n")).unwrap();
    world.files.insert("a.txt", "one\nTWO\nmine\n").unwrap();
    block_on(world.workspace.undo_runs(&[1])).unwrap();
    assert_eq!(world.disk("a.txt"), some("one\ntwo\nmine\n"));
}

#[test]
fn undoing_a_run_does_not_bring_back_lines_beside_what_the_user_made_of_them() {
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Direct);
    world.agent("a.txt", Some("one\nTWO\n")).unwrap();
    world.files.insert("a.txt", "one\ntwo\n").unwrap();
    block_on(world.workspace.undo_runs(&[1])).unwrap();
    assert_eq!(world.disk("a.txt"), some("one\ntwo\n"), "the user had taken it back by hand");
    world.agent("a.txt", Some("one\nTWO\n")).unwrap();
    world.files.insert("a.txt", "one\nzwei\n").unwrap();
    block_on(world.workspace.undo_runs(&[1])).unwrap();
    assert_eq!(world.disk("a.txt"), some("one\nzwei\n"), "the user's line stands");
}

#[test]
fn undoing_a_deletion_leaves_a_file_that_the_user_wrote_anew() {
    covers("rollback.rewritten");
    for (anew, undone) in [(Some("mine\n"), Some("mine\n")), (Some(""), Some("")), (None, Some("one\n"))] {
        let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Direct);
        world.agent_all(&[("a.txt", None), ("b.txt", Some("BEE\n"))]).unwrap();
        if let Some(text) = anew {
            world.files.insert("a.txt", text).unwrap();
        }
        let outcome = block_on(world.workspace.undo_runs(&[1])).unwrap();
        assert_eq!(world.disk("a.txt").as_deref(), undone, "{anew:?}");
        assert_eq!(outcome.kept.len(), usize::from(anew.is_some()), "{anew:?}");
        assert_eq!(world.disk("b.txt"), some("bee\n"), "{anew:?}");
    }
    // An edit before the deletion is of the old file, too.
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Direct);
    world.agent("a.txt", Some("ONE\ntwo\n")).unwrap();
    world.agent("a.txt", None).unwrap();
    world.files.insert("a.txt", "mine\n").unwrap();
    let outcome = block_on(world.workspace.undo_runs(&[1])).unwrap();
    assert_eq!((world.disk("a.txt"), outcome.kept.len()), (some("mine\n"), 1));
}

#[test]
fn runs_are_listed_shown_taken_back_and_brought_back() {
    covers("rollback.run");
    let world = World::new("//- a.txt\none\ntwo\n//- b.txt\nbee\n", Mode::Direct);
    world.agent("a.txt", Some("ONE\ntwo\n")).unwrap();
    world.workspace.begin_run();
    world.agent_all(&[("a.txt", Some("ONE\nTWO\n")), ("c.txt", Some("new\n"))]).unwrap();
    world.user("b.txt", "buzz\n");
    let listed = || {
        let runs = world.workspace.runs().into_iter();
        runs.map(|run| (run.run_id, run.files.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "), run.is_on))
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(), [(1, "a.txt".to_owned(), true), (2, "a.txt c.txt".to_owned(), true)]);
    let texts = |runs: &[u64], path: Option<&str>| {
        let path = path.map(|path| FilePath::clean(path).unwrap());
        let texts = block_on(world.workspace.texts_of_runs(runs, path.as_ref())).unwrap().into_iter();
        texts.map(|text| (text.path.to_string(), text.before, text.after)).collect::<Vec<_>>()
    };
    let row = |path: &str, before: Option<&str>, after: &str| {
        (path.to_owned(), before.map(str::to_owned), Some(after.to_owned()))
    };
    let second = row("a.txt", Some("ONE\ntwo\n"), "ONE\nTWO\n");
    assert_eq!(texts(&[2], None), [second.clone(), row("c.txt", None, "new\n")]);
    assert_eq!(texts(&[2], Some("a.txt")), [second]);
    assert_eq!(texts(&[1, 2], Some("a.txt")), [row("a.txt", Some("one\ntwo\n"), "ONE\nTWO\n")]);

    let disks = || ["a.txt", "b.txt", "c.txt"].map(|path| world.disk(path).unwrap_or_else(|| "-".to_owned()));
    block_on(world.workspace.undo_runs(&[2])).unwrap();
    block_on(world.workspace.undo_runs(&[1])).unwrap();
    assert_eq!(disks(), ["one\ntwo\n", "buzz\n", "-"]);
    assert_eq!(listed(), [(1, "a.txt".to_owned(), false), (2, "a.txt c.txt".to_owned(), false)]);
    assert_eq!(block_on(world.workspace.redo_runs()).unwrap().restored.len(), 1);
    assert_eq!(disks(), ["ONE\ntwo\n", "buzz\n", "-"]);
    assert_eq!(block_on(world.workspace.redo_runs()).unwrap().restored.len(), 2);
    assert_eq!(disks(), ["ONE\nTWO\n", "buzz\n", "new\n"]);
    let nothing = block_on(world.workspace.redo_runs()).map_err(|error| error.code());
    assert_eq!(nothing.map(|redone| redone.restored.len()), Err(Code::NotFound), "what the user did last is an edit");
    block_on(world.workspace.undo_runs(&[1, 2])).unwrap();
    assert_eq!(disks(), ["one\ntwo\n", "buzz\n", "-"]);
    world.user("a.txt", "mine\n");
    assert!(block_on(world.workspace.redo_runs()).is_err(), "the user went on");
}

#[test]
fn undoing_a_run_is_a_decision_like_others_and_is_undone_before_them() {
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Direct);
    world.user("a.txt", "one\ntwo\nmine\n");
    world.agent("a.txt", Some("ONE\ntwo\nmine\n")).unwrap();
    block_on(world.workspace.undo_runs(&[1])).unwrap();
    block_on(world.workspace.undo()).unwrap();
    assert_eq!(world.disk("a.txt"), some("ONE\ntwo\nmine\n"));
    block_on(world.workspace.undo()).unwrap();
    assert_eq!(world.disk("a.txt"), some("ONE\ntwo\n"));
}

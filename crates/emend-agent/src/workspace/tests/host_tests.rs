//! Processes that are killed after saving the line logs: the next one goes on with what is on the disk. A page has no such
//! predecessor.

mod moved;
mod shown;

use futures::executor::block_on;

use super::super::snapshot::{Expected, ExpectedLog};
use super::super::steps::Step;
use super::super::{ApplyOptions, FinishedStep, Missed, RunChanges, SaveSnapshot, Snapshot, Workspace};
use super::*;

/// Keeps every snapshot.
#[derive(Default)]
struct Saved(emend_llm::runtime::Mutex<Vec<Snapshot>>);

impl SaveSnapshot for Saved {
    fn save(&self, _: &Snapshot, whole: &dyn Fn() -> Snapshot) -> Result<(), crate::environment::EnvError> {
        self.0.lock().push(whole());
        Ok(())
    }
}

/// Returns a workspace in its first run whose logs `saver` saves.
fn saving<S: SaveSnapshot + 'static>(mode: Mode, saver: &Shared<S>) -> World {
    let mut world = World::new(FIXTURE, mode);
    let files = Shared::clone(&world.files) as Shared<dyn ExecutionEnvironment>;
    let workspace = Workspace::new(files, mode, Shared::new(TickingClock::default()));
    world.workspace = Shared::new(workspace.with_saver(Shared::clone(saver) as Shared<dyn SaveSnapshot>));
    world.workspace.begin_run();
    world
}

const PATHS: [&str; 4] = ["a.txt", "b.txt", "c.txt", "d.txt"];
const FIXTURE: &str = "//- a.txt\none\ntwo\n//- b.txt\nbee\n//- c.txt\nsea\n";

/// The texts on the disk.
type Disk = [Option<String>; 4];

fn disk(world: &World) -> Disk {
    PATHS.map(|path| world.disk(path))
}

/// Starts a process that finds these files and this snapshot.
fn next_process(disk: &Disk, snapshot: Snapshot) -> World {
    let files: String = PATHS
        .iter()
        .zip(disk)
        .filter_map(|(path, text)| text.as_ref().map(|text| format!("//- {path}\n{text}")))
        .collect();
    let world = World::new(&files, Mode::Direct);
    world.workspace.restore(snapshot).unwrap();
    block_on(world.workspace.catch_up());
    world
}

fn edit(world: &World) {
    let texts = [("a.txt", Some("ONE\ntwo\n")), ("b.txt", None), ("d.txt", Some("new\n"))];
    world.agent_all(&texts).unwrap();
}

fn undo(world: &World) {
    block_on(world.workspace.undo_runs(&[1])).unwrap();
}

fn redo(world: &World) {
    block_on(world.workspace.redo_runs()).unwrap();
}

/// The outcome of an attempt to redo an undone run: the texts on the disk then, if there was something to redo.
fn redone(world: &World) -> Option<Disk> {
    block_on(world.workspace.redo_runs()).is_ok().then(|| disk(world))
}

/// Checks that a process killed in the last of `steps` leaves the run as the disk has it, and that all can be undone or
/// redone as if the process had not been killed.
#[track_caller]
fn check_killed(steps: &[fn(&World)]) {
    let all = steps;
    let (last, steps) = all.split_last().unwrap();
    let saved = Shared::new(Saved::default());
    let world = saving(Mode::Direct, &saved);
    let original = disk(&world);
    steps.iter().for_each(|step| step(&world));
    let is_on = |runs: Vec<RunChanges>| runs.iter().any(|run| run.is_on);
    let before = (disk(&world), is_on(world.workspace.runs()));
    saved.0.lock().clear();
    last(&world);
    let after = (disk(&world), is_on(world.workspace.runs()));
    assert_ne!(before, after);
    let first = saved.0.lock().first().cloned().unwrap();
    for ((disk_found, run_is_on), steps) in [(before, steps), (after, all)] {
        let same = World::new(FIXTURE, Mode::Direct);
        steps.iter().for_each(|step| step(&same));
        let next = next_process(&disk_found, first.clone());
        assert_eq!(next.workspace.runs().len(), same.workspace.runs().len(), "a lost edit is not a run");
        assert_eq!(redone(&next), redone(&same));

        let next = next_process(&disk_found, first.clone());
        assert_eq!(is_on(next.workspace.runs()), run_is_on);
        assert_eq!(disk(&next), disk_found);
        undo(&next);
        assert_eq!(disk(&next), original);
        if run_is_on {
            redo(&next);
            assert_eq!(disk(&next), disk_found);
        }
    }
}

#[test]
fn an_interrupted_edit_undo_or_redo_can_be_undone() {
    covers("review.undo");
    check_killed(&[edit]);
    check_killed(&[edit, undo]);
    check_killed(&[edit, undo, redo]);
    check_killed(&[edit, undo, redo, undo]);
}

/// Keeps the last snapshot as a document that grows by changes.
#[derive(Default)]
struct Grown(emend_llm::runtime::Mutex<Option<Snapshot>>);

impl SaveSnapshot for Grown {
    fn save(&self, changes: &Snapshot, whole: &dyn Fn() -> Snapshot) -> Result<(), crate::environment::EnvError> {
        let mut document = self.0.lock();
        match &mut *document {
            Some(document) => document.apply(changes.clone()).unwrap(),
            None => *document = Some(whole()),
        }
        Ok(())
    }
}

#[test]
fn what_is_saved_during_a_write_keeps_the_logs_of_the_write() {
    covers("review.save");
    for is_whole in [false, true] {
        let saved = Shared::new(Grown::default());
        let world = saving(Mode::Staged, &saved);
        // Two hunks, of which one is accepted: the disk then has neither the old nor the visible text.
        world.agent("a.txt", Some("zero\none\ntwo\nthree\n")).unwrap();
        world.workspace.persist().unwrap();
        let path = FilePath::clean("a.txt").unwrap();
        let before = disk(&world);
        let accepted = next_process(&before, world.workspace.snapshot());
        accepted.accept(0);
        assert_eq!(accepted.disk("a.txt").as_deref(), Some("zero\none\ntwo\n"));
        let log = accepted.workspace.state().files[&path].log.clone();
        // The write of the acceptance has begun, and an event of a job is stored.
        let logs = vec![ExpectedLog { path: &path, log: &log, moved_from: None, waits: false }];
        let step = Step::new(vec![path.clone()]);
        world.workspace.save_expecting(&Expected { logs, step: Some(&step) }).unwrap();
        if is_whole {
            *saved.0.lock() = None;
        }
        world.workspace.persist().unwrap();
        let during = saved.0.lock().clone().unwrap();
        for (found, n_pending) in [(&before, 2), (&disk(&accepted), 1)] {
            let next = next_process(found, during.clone());
            assert_eq!(next.visible("a.txt").as_deref(), Some("zero\none\ntwo\nthree\n"), "whole: {is_whole}");
            assert_eq!(next.ids().len(), n_pending, "whole: {is_whole}");
            assert_eq!(disk(&next), *found);
        }
    }
}

#[test]
fn an_acceptance_that_a_crash_prevented_is_pending_although_the_file_was_changed_then() {
    covers("review.save");
    let saved = Shared::new(Saved::default());
    let world = kept(&saved);
    world.agent("a.txt", Some("ONE\ntwo\n")).unwrap();
    saved.0.lock().clear();
    let before = disk(&world);
    block_on(world.workspace.accept_all(None)).unwrap();
    let first = saved.0.lock().first().cloned().unwrap();
    for (found, n_pending) in [(before, 1), (disk(&world), 0)] {
        let mut later = found;
        later[0] = later[0].take().map(|text| text + "three\n");
        let next = next_process(&later, first.clone());
        assert_eq!(next.visible("a.txt").as_deref(), Some("ONE\ntwo\nthree\n"));
        assert_eq!(next.ids().len(), n_pending);
        assert_eq!(block_on(next.workspace.undo()).is_ok(), n_pending == 0, "a lost acceptance is not a step");
    }
}

#[test]
fn a_text_that_the_user_restores_between_two_processes_is_a_rejection() {
    let saved = Shared::new(Saved::default());
    let world = saving(Mode::Staged, &saved);
    let original = disk(&world);
    edit(&world);
    block_on(world.workspace.accept_all(None)).unwrap();
    world.workspace.persist().unwrap();
    let snapshot = saved.0.lock().last().cloned().unwrap();
    let next = next_process(&original, snapshot);
    for path in PATHS {
        assert_eq!(next.visible(path), next.disk(path));
    }
    assert_eq!(next.ids(), Vec::<String>::new());
    block_on(next.workspace.accept_all(None)).unwrap();
    assert_eq!(disk(&next), original);
}

#[test]
fn an_edit_that_a_crash_took_back_was_not_made_by_its_call() {
    covers("service.resumed");
    let saved = Shared::new(Saved::default());
    let world = saving(Mode::Direct, &saved);
    let run = world.workspace.last_run();
    let before = disk(&world);
    edit(&world);
    let after = disk(&world);
    let calls = |world: &World| world.workspace.files_of_call(run, "call").len();
    assert_eq!((calls(&world), world.workspace.files_of_call(run + 1, "call").len()), (3, 0));
    assert_eq!(world.workspace.files_of_call(run, "cal").len(), 0, "a part of the id");
    let snapshot = saved.0.lock().first().cloned().unwrap();
    assert_eq!(calls(&next_process(&after, snapshot.clone())), 3);
    assert_eq!(calls(&next_process(&before, snapshot)), 0, "nothing reached the disk");
    undo(&world);
    assert_eq!(calls(&world), 3, "an undo by the user does not let the call run again");
}

/// Returns a workspace in staged mode whose snapshots are kept.
fn kept(saved: &Shared<Saved>) -> World {
    saving(Mode::Staged, saved)
}

/// Returns the files that wait for a save in a process that finds these files and this snapshot.
fn waiting(world: &World) -> Vec<String> {
    world.workspace.keep_waiting();
    world.workspace.unsaved().iter().map(ToString::to_string).collect()
}

#[test]
fn an_interrupted_save_loses_no_unsaved_edit() {
    covers("review.save");
    let saved = Shared::new(Saved::default());
    let world = kept(&saved);
    let deferring = world.workspace.deferring_saves();
    for text in ["1\ntwo\n", "1\n2\n"] {
        block_on(deferring.user_edit("a.txt", Some(text), None)).unwrap();
        let next = next_process(&disk(&world), saved.0.lock().last().cloned().unwrap());
        assert_eq!(waiting(&next), ["a.txt"]);
        assert_eq!(next.visible("a.txt").as_deref(), Some(text));
    }
    world.agent("a.txt", Some("1\n2\nthree\n")).unwrap();
    let before = disk(&world);
    assert_eq!(before[0].as_deref(), Some("one\ntwo\n"));
    saved.0.lock().clear();
    block_on(world.workspace.save(None, false)).unwrap();
    let (first, after) = (saved.0.lock().first().cloned().unwrap(), disk(&world));
    assert_eq!(after[0].as_deref(), Some("1\n2\n"));
    for (found, expected) in [(&before, vec!["a.txt"]), (&after, vec![])] {
        let next = next_process(found, first.clone());
        assert_eq!(waiting(&next), expected);
        assert_eq!(next.visible("a.txt").as_deref(), Some("1\n2\nthree\n"));
        assert_eq!(next.ids().len(), 1, "the agent's line is pending");
        block_on(next.workspace.save(None, false)).unwrap();
        assert_eq!(disk(&next), after);
    }
}

#[test]
fn an_interrupted_application_is_taken_back_with_its_rejections() {
    covers("service.resumed");
    let saved = Shared::new(Saved::default());
    let world = kept(&saved);
    world.agent_all(&[("a.txt", Some("ONE\ntwo\n")), ("c.txt", Some("SEA\n"))]).unwrap();
    let (before, hunks) = (disk(&world), world.ids());
    assert_eq!(hunks.len(), 2);
    saved.0.lock().clear();
    let apply = |world: &World| {
        block_on(world.workspace.apply(&[1], &world.ids()[..1], &ApplyOptions::default())).unwrap();
    };
    apply(&world);
    let (first, after) = (saved.0.lock().first().cloned().unwrap(), disk(&world));
    assert_eq!((after[0].as_deref(), after[2].as_deref()), (Some("ONE\ntwo\n"), Some("sea\n")));
    // The rejection changes no file, so the files alone do not show that it did not happen.
    let next = next_process(&before, first.clone());
    assert_eq!((next.ids(), disk(&next)), (hunks, before));
    assert!(block_on(next.workspace.undo()).is_err(), "the user has decided nothing");
    apply(&next);
    assert_eq!(disk(&next), after);
    let next = next_process(&after, first);
    assert_eq!((next.ids(), disk(&next)), (Vec::new(), after));
}

#[test]
fn an_interrupted_decision_on_an_unsaved_file_loses_no_edit() {
    let saved = Shared::new(Saved::default());
    let world = kept(&saved);
    world.agent("a.txt", Some("one\ntwo\nthree\n")).unwrap();
    block_on(world.workspace.deferring_saves().user_edit("a.txt", Some("1\ntwo\nthree\n"), None)).unwrap();
    saved.0.lock().clear();
    block_on(world.workspace.accept_all(None)).unwrap();
    let next = next_process(&disk(&world), saved.0.lock().first().cloned().unwrap());
    assert_eq!((waiting(&next), next.ids()), (vec!["a.txt".to_owned()], Vec::<String>::new()));
    block_on(next.workspace.undo()).unwrap();
    assert_eq!(next.ids().len(), 1, "the decision is a step that can be undone");
    assert_eq!(next.disk("a.txt").as_deref(), Some("one\ntwo\n"));
    block_on(next.workspace.save(None, false)).unwrap();
    assert_eq!(next.disk("a.txt").as_deref(), Some("1\ntwo\n"));
}

#[test]
fn a_change_of_another_program_after_an_explicit_save_doubles_no_line() {
    covers("review.save");
    for is_undone in [false, true] {
        let saved = Shared::new(Saved::default());
        let world = kept(&saved);
        let deferring = world.workspace.deferring_saves();
        block_on(deferring.user_edit("a.txt", Some("one\n2\n"), None)).unwrap();
        block_on(world.workspace.save(None, false)).unwrap();
        // Another program changes another line, or puts the old text back.
        let text = if is_undone { "one\ntwo\n" } else { "1\n2\n" };
        let mut files = disk(&world);
        assert_eq!(files[0].as_deref(), Some("one\n2\n"));
        files[0] = Some(text.to_owned());
        let next = next_process(&files, saved.0.lock().last().cloned().unwrap());
        assert_eq!(next.visible("a.txt").as_deref(), Some(text));
        assert_eq!(waiting(&next), Vec::<String>::new());
    }
}

#[test]
fn a_direct_edit_of_an_unsaved_file_leaves_it_saved_for_the_next_process() {
    let saved = Shared::new(Saved::default());
    let mut world = kept(&saved);
    block_on(world.workspace.deferring_saves().user_edit("a.txt", Some("one\n2\n"), None)).unwrap();
    world.workspace = Shared::new(world.workspace.in_mode(Mode::Direct));
    world.agent("a.txt", Some("one\n2\nthree\n")).unwrap();
    let mut files = disk(&world);
    assert_eq!(files[0].as_deref(), Some("one\n2\nthree\n"));
    files[0] = Some("1\n2\nthree\n".to_owned());
    let next = next_process(&files, saved.0.lock().last().cloned().unwrap());
    assert_eq!(next.visible("a.txt").as_deref(), Some("1\n2\nthree\n"));
}

/// Returns the step that the next process finds if this one is killed in the last of `steps`, before and after the files
/// are changed.
fn finished(mode: Mode, steps: &[fn(&World)]) -> [Option<FinishedStep>; 2] {
    let saved = Shared::new(Saved::default());
    let world = saving(mode, &saved);
    let (last, steps) = steps.split_last().unwrap();
    steps.iter().for_each(|step| step(&world));
    let before = disk(&world);
    saved.0.lock().clear();
    last(&world);
    let (after, snapshot) = (disk(&world), saved.0.lock().first().cloned().unwrap());
    [before, after].map(|found| {
        let files: String = PATHS
            .iter()
            .zip(&found)
            .filter_map(|(path, text)| text.as_ref().map(|text| format!("//- {path}\n{text}")))
            .collect();
        let next = World::new(&files, mode);
        next.workspace.restore(snapshot.clone()).unwrap();
        block_on(next.workspace.catch_up())
    })
}

#[test]
fn a_killed_step_of_the_user_is_named_if_it_reached_its_files() {
    let accept = |world: &World| drop(block_on(world.workspace.accept_all(None)).unwrap());
    let undo_last = |world: &World| drop(block_on(world.workspace.undo()).unwrap());
    let redo_last = |world: &World| drop(block_on(world.workspace.redo()).unwrap());
    let type_in = |world: &World| world.user("c.txt", "mine\n");
    assert_eq!(finished(Mode::Direct, &[edit]), [None, None], "the agent's edit is not a step of the user");
    assert_eq!(finished(Mode::Direct, &[edit, undo]), [None, Some(FinishedStep::RunsUndone(vec![1]))]);
    assert_eq!(finished(Mode::Direct, &[edit, undo, redo]), [None, Some(FinishedStep::StepUndone)]);
    assert_eq!(finished(Mode::Direct, &[type_in]), [None, Some(FinishedStep::Other)]);
    assert_eq!(finished(Mode::Staged, &[edit, accept]), [None, Some(FinishedStep::Other)]);
    assert_eq!(finished(Mode::Staged, &[edit, accept, undo_last]), [None, Some(FinishedStep::StepUndone)]);
    assert_eq!(finished(Mode::Staged, &[edit, accept, undo_last, redo_last]), [None, Some(FinishedStep::Other)]);
}

#[test]
fn a_step_that_a_crash_took_back_is_a_new_revision_of_all_its_files() {
    let saved = Shared::new(Saved::default());
    let world = kept(&saved);
    world.agent_all(&[("a.txt", Some("ONE\ntwo\n")), ("c.txt", Some("SEA\n"))]).unwrap();
    let before = disk(&world);
    saved.0.lock().clear();
    block_on(world.workspace.apply(&[1], &world.ids()[..1], &ApplyOptions::default())).unwrap();
    let snapshot = saved.0.lock().first().cloned().unwrap();
    assert_eq!(snapshot.expected().iter().map(FilePath::as_str).collect::<Vec<_>>(), ["a.txt", "c.txt"]);
    world.workspace.persist().unwrap();
    assert_eq!(saved.0.lock().last().unwrap().expected(), []);
    let revision = snapshot.revision();
    let next = next_process(&before, snapshot);
    let changed = next.workspace.changes_since(revision);
    assert_eq!(changed.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["a.txt", "c.txt"]);
}

/// Keeps the number of files in each saved change.
#[derive(Default)]
struct Sizes(emend_llm::runtime::Mutex<Vec<usize>>);

impl SaveSnapshot for Sizes {
    fn save(&self, changes: &Snapshot, _: &dyn Fn() -> Snapshot) -> Result<(), crate::environment::EnvError> {
        self.0.lock().push(serde_json::to_value(changes).unwrap()["files"].as_object().unwrap().len());
        Ok(())
    }
}

#[test]
fn each_step_saves_its_own_files_once() {
    let sizes = Shared::new(Sizes::default());
    let world = saving(Mode::Direct, &sizes);
    let saved = || std::mem::take(&mut *sizes.0.lock());
    let _ = saved();
    edit(&world);
    assert_eq!(saved(), [3]);
    world.user("c.txt", "mine\n");
    assert_eq!(saved(), [1]);
    world.workspace.persist().unwrap();
    assert_eq!(saved(), [0], "everything was saved");
    // A file that waited is saved again with the text that the disk has now.
    block_on(world.workspace.deferring_saves().user_edit("c.txt", Some("waits\n"), None)).unwrap();
    assert_eq!(saved(), [1]);
    block_on(world.workspace.save(None, false)).unwrap();
    assert_eq!(saved(), [1, 1]);
    world.workspace.persist().unwrap();
    assert_eq!(saved(), [0]);
}

/// Saves nothing.
struct Broken;

impl SaveSnapshot for Broken {
    fn save(&self, _: &Snapshot, _: &dyn Fn() -> Snapshot) -> Result<(), crate::environment::EnvError> {
        Err(crate::environment::EnvError::Io { path: "state".to_owned(), reason: "the disk is full".to_owned() })
    }
}

#[test]
fn a_write_whose_log_cannot_be_saved_says_that_nothing_was_changed() {
    let world = saving(Mode::Direct, &Shared::new(Broken));
    let before = disk(&world);
    let error = world.agent("a.txt", Some("ONE\n")).unwrap_err().to_string();
    assert!(error.contains("the disk is full; nothing was changed"), "{error}");
    assert_eq!(disk(&world), before);
    let error = world.workspace.persist().unwrap_err().to_string();
    assert!(error.contains("the disk is full") && !error.contains("nothing was changed"), "{error}");
}

#[test]
fn a_direct_edit_inside_a_pending_edit_waits_with_it() {
    let before = "1\n2\n3\n4\n5\n6\n";
    // The pending text of one session, the text after the direct edit of another one, and the disk then.
    let pending = "1\n2\nnew one\nnew two\nnew three\n3\n4\n5\n6\n";
    let changed = "1\n2\nthree and a half\n4\n5\n6\n";
    let table = [
        ("inside", pending, "1\n2\nnew one\nbetween\nnew two\nnew three\n3\n4\n5\n6\n", before),
        ("a line of it", pending, "1\n2\nnew one\nTWO\nnew three\n3\n4\n5\n6\n", before),
        ("all of it", pending, before, before),
        ("a replaced line", changed, "1\n2\nthree\n4\n5\n6\n", before),
        ("beside it", pending, "1\n2\nnew one\nnew two\nnew three\n3\n4\n5\nsix\n", "1\n2\n3\n4\n5\nsix\n"),
        ("in both places", pending, "1\n2\nnew one\nTWO\nnew three\n3\n4\n5\nsix\n", before),
    ];
    for (place, pending, direct, on_disk) in table {
        let world = World::new(&format!("//- a.txt\n{before}"), Mode::Staged);
        world.agent("a.txt", Some(pending)).unwrap();
        let other = World { workspace: Shared::new(world.workspace.in_mode(Mode::Direct)), ..world };
        let run = other.workspace.begin_run();
        other.agent("a.txt", Some(direct)).unwrap();
        assert_eq!(other.visible("a.txt"), some(direct), "{place}");
        assert_eq!(other.disk("a.txt"), some(on_disk), "{place}");
        // An edit that waits is in the review of the run that made it.
        let waits = other.workspace.runs_with_pending().contains(&run);
        assert_eq!(waits, direct != before && on_disk == before, "{place}");
        block_on(other.workspace.accept_all(None)).unwrap();
        assert_eq!(other.disk("a.txt"), some(direct), "{place}");
    }
    // The user's own edit still keeps its surroundings, and the direct edit joins them.
    let world = World::new(&format!("//- a.txt\n{before}"), Mode::Staged);
    world.agent("a.txt", Some(pending)).unwrap();
    world.user("a.txt", "1\n2\nnew one\nmine\nnew two\nnew three\n3\n4\n5\n6\n");
    let kept = world.disk("a.txt").unwrap();
    assert!(kept.contains("mine"));
    let other = World { workspace: Shared::new(world.workspace.in_mode(Mode::Direct)), ..world };
    other.workspace.begin_run();
    other.agent("a.txt", Some(&other.visible("a.txt").unwrap().replace("mine", "ours"))).unwrap();
    assert_eq!(other.disk("a.txt"), Some(kept.replace("mine", "ours")));
}

/// Keeps the whole of the first save, and the changes of the later ones.
#[derive(Default)]
struct Lines(emend_llm::runtime::Mutex<Vec<Snapshot>>);

impl SaveSnapshot for Lines {
    fn save(&self, changes: &Snapshot, whole: &dyn Fn() -> Snapshot) -> Result<(), crate::environment::EnvError> {
        let mut lines = self.0.lock();
        let line = if lines.is_empty() { whole() } else { changes.clone() };
        lines.push(line);
        Ok(())
    }
}

#[test]
fn a_server_takes_in_the_deltas_of_a_process_that_had_the_root_for_itself() {
    let lines = Shared::new(Lines::default());
    let world = saving(Mode::Direct, &lines);
    for text in ["one\n2\n", "1\n2\n", "1\n2\n3\n"] {
        world.agent("a.txt", Some(text)).unwrap();
    }
    let lines = std::mem::take(&mut *lines.0.lock());
    let json = |snapshot: &Snapshot| serde_json::to_value(snapshot).unwrap();
    assert!(lines[1..].iter().all(|line| json(line)["files"]["a.txt"].get("delta").is_some()));
    // They are read back from a disk.
    let mut lines: Vec<Snapshot> = lines.iter().map(|line| serde_json::from_value(json(line)).unwrap()).collect();
    let server = World::new(FIXTURE, Mode::Direct);
    let missed = Missed { whole: Some(lines.remove(0)), later: lines.clone() };
    server.workspace.take_in(missed).unwrap();
    assert_eq!(json(&server.workspace.snapshot()), json(&world.workspace.snapshot()));
    // Without the log before it, a delta is refused.
    let error = World::new(FIXTURE, Mode::Direct).workspace.take_in(Missed { whole: None, later: lines }).unwrap_err();
    assert!(error.to_string().contains("a.txt: the saved log is damaged: bad file without a log"), "{error}");
}

/// Keeps the size in bytes of each file of each save, and whether it is a delta.
#[derive(Default)]
struct Deltas(emend_llm::runtime::Mutex<Vec<(usize, bool)>>);

impl SaveSnapshot for Deltas {
    fn save(&self, changes: &Snapshot, _: &dyn Fn() -> Snapshot) -> Result<(), crate::environment::EnvError> {
        let changes = serde_json::to_value(changes).unwrap();
        let files = changes["files"].as_object().unwrap().values();
        self.0.lock().extend(files.map(|file| (file.to_string().len(), file.get("delta").is_some())));
        Ok(())
    }
}

#[test]
fn a_log_that_was_saved_is_saved_again_as_a_delta() {
    let deltas = Shared::new(Deltas::default());
    let world = saving(Mode::Direct, &deltas);
    let saved = || std::mem::take(&mut *deltas.0.lock());
    let text = |word: &str| {
        (0..500).map(|line| format!("{line} {}\n", if line == 250 { word } else { "x" })).collect::<String>()
    };
    world.agent("a.txt", Some(&text("a"))).unwrap();
    assert!(matches!(saved()[..], [(5_000.., false)]));
    for word in ["b", "c", "d"] {
        world.agent("a.txt", Some(&text(word))).unwrap();
        let saved = saved();
        assert!(matches!(saved[..], [(..1_000, true)]), "{saved:?}");
    }
    world.user("a.txt", &text("mine"));
    let saved = saved();
    assert!(matches!(saved[..], [(..1_000, true)]), "{saved:?}");
}

//! Writes during which the user or another program acts, at every point of the write.

use std::pin::pin;

use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::join;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::canvas::Ticket;
use crate::environment::memory::Quota;
use crate::test_support::{Interleaved, covers};

const LETTERS: &str = "a\nb\nc\nd\ne\n";
const MODES: [Mode; 2] = [Mode::Direct, Mode::Staged];

/// Returns a workspace over interleaved files, with its environment.
fn interleaved(fixture: &str, mode: Mode) -> (World, Shared<Interleaved>) {
    let files = Shared::new(MemFs::from_fixture(fixture));
    let environment = Interleaved::new(&files, 1);
    (World::over(files, Shared::clone(&environment) as Shared<dyn ExecutionEnvironment>, mode), environment)
}

/// Opens a file in the editor and checks it out for the agent.
fn check_out(workspace: &Workspace, path: &str) -> Ticket {
    workspace.canvas().open(FilePath::clean(path));
    workspace.canvas().with_lease(|lease| lease.check_out(lease.epoch(), 0)).unwrap()
}

/// Writes files for the agent: in each, `new` replaces `old`.
async fn replace(
    world: &World,
    lease: Option<Ticket>,
    paths: &[&str],
    (old, new): (&str, &str),
) -> Result<(), WorkspaceError> {
    let context = ToolContext { lease, ..world.context() };
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let plan = |texts: &Texts| {
        let write = |path: &String| {
            let text = texts[path].as_ref().map(|text| text.replace(old, new));
            FileWrite { path: path.clone(), text, moved_from: None, steps: Vec::new() }
        };
        Ok((paths.iter().map(write).collect(), ()))
    };
    world.workspace.write(&context.write(), &paths, plan).await.map(|_| ())
}

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn a_canvas_that_the_user_takes_back_during_a_write_stays_as_it_was() {
    covers("canvas.user_first");
    for mode in MODES {
        for point in 0.. {
            let (world, environment) = interleaved(&format!("//- canvas.txt\n{LETTERS}//- other.txt\n{LETTERS}"), mode);
            let lease = Some(check_out(&world.workspace, "canvas.txt"));
            let workspace = Shared::clone(&world.workspace);
            environment.at(point, move || {
                workspace.canvas().take_back();
            });
            let outcome = block_on(replace(&world, lease, &["other.txt", "canvas.txt"], ("b", "B")));
            if !environment.has_acted() {
                assert_eq!((outcome, world.workspace.runs().len()), (Ok(()), 1));
                assert!(point > 10, "{mode:?}: the write has {point} points");
                break;
            }
            let at = format!("{mode:?}, point {point} of {:?}", environment.passed());
            assert_eq!(outcome.map_err(|error| error.code()), Err(Code::StaleEpoch), "{at}");
            for path in ["canvas.txt", "other.txt"] {
                assert_eq!((world.disk(path), world.visible(path)), (some(LETTERS), some(LETTERS)), "{at}");
            }
            assert!(world.workspace.review().files.is_empty() && world.workspace.runs().is_empty(), "{at}");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn an_edit_that_cannot_be_taken_back_is_recorded() {
    let mut n_recorded = 0;
    for point in 0.. {
        // The text of the agent is shorter. When another program has used the room, the old one no longer fits.
        let quota = Quota { bytes: Some(LETTERS.len() as u64), files: None };
        let files = MemFs::from_fixture(&format!("//- canvas.txt\n{LETTERS}")).with_quota(quota);
        let files = Shared::new(files);
        let environment = Interleaved::new(&files, 1);
        let world = World::over(files, Shared::clone(&environment) as Shared<dyn ExecutionEnvironment>, Mode::Direct);
        let lease = Some(check_out(&world.workspace, "canvas.txt"));
        let (workspace, files) = (Shared::clone(&world.workspace), Shared::clone(&world.files));
        environment.at(point, move || {
            workspace.canvas().take_back();
            // Refused as long as the old text is there.
            let _ = files.write(&FilePath::clean("other.txt").unwrap(), b"1234").now_or_never();
        });
        let outcome = block_on(replace(&world, lease, &["canvas.txt"], ("b\nc\n", "")));
        if !environment.has_acted() {
            assert_eq!(outcome, Ok(()));
            break;
        }
        let at = format!("point {point} of {:?}", environment.passed());
        let code = outcome.unwrap_err().code();
        if code == Code::StaleEpoch {
            assert_eq!((world.disk("canvas.txt"), world.workspace.runs().len()), (some(LETTERS), 0), "{at}");
            continue;
        }
        n_recorded += 1;
        assert_eq!(
            (world.disk("canvas.txt"), world.visible("canvas.txt")),
            (some("a\nd\ne\n"), some("a\nd\ne\n")),
            "{at}"
        );
        world.files.remove(&FilePath::clean("other.txt").unwrap()).now_or_never().unwrap().unwrap();
        block_on(world.workspace.undo_runs(&[world.workspace.last_run()])).unwrap();
        assert_eq!(world.disk("canvas.txt"), some(LETTERS), "{at}");
    }
    assert!(n_recorded > 0);
}

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn a_line_that_the_user_types_during_a_write_is_kept() {
    covers("canvas.user_first");
    for mode in MODES {
        for point in 0.. {
            let (world, environment) = interleaved(&format!("//- canvas.txt\n{LETTERS}"), mode);
            let lease = Some(check_out(&world.workspace, "canvas.txt"));
            let (types, typed) = oneshot::channel();
            let types = std::sync::Mutex::new(Some(types));
            environment.at(point, move || types.lock().unwrap().take().unwrap().send(()).unwrap());
            let user = async {
                if typed.await.is_ok() {
                    world.workspace.user_edit("canvas.txt", Some("a\nb\nc\nd\nmine\n"), Some(LETTERS)).await.unwrap();
                }
            };
            let agent = async {
                let outcome = replace(&world, lease, &["canvas.txt"], ("b", "B")).await;
                let has_acted = environment.has_acted();
                // The user of the last round types nothing.
                if !has_acted {
                    environment.at(usize::MAX, || {});
                }
                (outcome, has_acted)
            };
            let ((outcome, has_acted), ()) = block_on(join(agent, user));
            if !has_acted {
                assert_eq!(outcome, Ok(()));
                break;
            }
            let at = format!("{mode:?}, point {point} of {:?}", environment.passed());
            let (visible, disk) = match (outcome.map_err(|error| error.code()), mode) {
                (Err(Code::StaleEpoch), _) => ("a\nb\nc\nd\nmine\n", "a\nb\nc\nd\nmine\n"),
                (Ok(()), Mode::Direct) => ("a\nB\nc\nd\nmine\n", "a\nB\nc\nd\nmine\n"),
                (Ok(()), Mode::Staged) => ("a\nB\nc\nd\nmine\n", "a\nb\nc\nd\nmine\n"),
                other => panic!("{at}: {other:?}"),
            };
            assert_eq!((world.visible("canvas.txt"), world.disk("canvas.txt")), (some(visible), some(disk)), "{at}");
        }
    }
}

#[test]
fn a_file_that_another_program_writes_during_a_write_keeps_that_text() {
    covers("edit.foreign_text");
    const THEIRS: &str = "a\nb\nc\nd\ntheirs\n";
    for mode in MODES {
        for is_known in [false, true] {
            let mut n_refused = 0;
            for point in 0.. {
                let (world, environment) = interleaved(&format!("//- a.txt\n{LETTERS}"), mode);
                if is_known {
                    block_on(replace(&world, None, &["a.txt"], ("c", "c"))).unwrap();
                }
                let files = Shared::clone(&world.files);
                environment.at(point, move || {
                    files.insert("a.txt", THEIRS).unwrap();
                });
                let outcome = block_on(replace(&world, None, &["a.txt"], ("b", "B")));
                let passed = environment.passed();
                // A program that writes between the last comparison and the replacement is overwritten: a file in memory
                // has no atomic exchange. The comparison is the last read before it.
                let end = passed.iter().position(|name| *name == "write").map_or(passed.len(), |write| write - 1);
                if point >= end {
                    break;
                }
                let at = format!("{mode:?}, known: {is_known}, point {point} of {passed:?}");
                let (visible, disk) = match (outcome.map_err(|error| error.code()), mode) {
                    (Err(Code::Stale), _) => {
                        n_refused += 1;
                        (THEIRS, THEIRS)
                    }
                    (Ok(()), Mode::Direct) => ("a\nB\nc\nd\ntheirs\n", "a\nB\nc\nd\ntheirs\n"),
                    (Ok(()), Mode::Staged) => ("a\nB\nc\nd\ntheirs\n", THEIRS),
                    other => panic!("{at}: {other:?}"),
                };
                assert_eq!((world.visible("a.txt"), world.disk("a.txt")), (some(visible), some(disk)), "{at}");
            }
            assert!(n_refused > 3, "{mode:?}, known: {is_known}: {n_refused} writes were refused");
        }
    }
}

/// Decides on or takes back the edit of the first run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Accept,
    Reject,
    UndoRun,
    Undo,
    RollBack(RollbackMode),
}

impl Act {
    async fn on(self, world: &World) -> Result<(), Code> {
        let workspace = &world.workspace;
        let done = match self {
            Self::Accept => workspace.accept_all(None).await.map(drop),
            Self::Reject => workspace.reject_all(None).await.map(drop),
            Self::Undo => workspace.undo().await.map(drop),
            Self::UndoRun => {
                let undone = workspace.undo_runs(&[1]).await.map_err(|error| error.code())?;
                return if undone.kept.is_empty() { Ok(()) } else { Err(Code::Stale) };
            }
            Self::RollBack(mode) => {
                let request = RollbackRequest { mode, runs: vec![1], ..RollbackRequest::default() };
                workspace.rollback(&request).await.map(drop)
            }
        };
        done.map_err(|error| error.code())
    }
}

#[test]
fn a_text_that_another_program_writes_during_a_decision_or_an_undo_is_kept() {
    covers("edit.foreign_text");
    const OLD: &str = "a\nb\nc\nd\ntheirs\n";
    const NEW: &str = "a\nB\nc\nd\ntheirs\n";
    let scoped = RollbackMode::ScopedSelected;
    for (act, mode, theirs, expected) in [
        (Act::Accept, Mode::Staged, OLD, NEW),
        (Act::Reject, Mode::Staged, OLD, OLD),
        (Act::RollBack(scoped), Mode::Staged, OLD, OLD),
        (Act::UndoRun, Mode::Direct, NEW, OLD),
        (Act::RollBack(scoped), Mode::Direct, NEW, OLD),
        // The step that is undone is the undo of the run.
        (Act::Undo, Mode::Direct, OLD, NEW),
        // Later changes of other programs go, too, and come back with the undo of the rollback.
        (Act::RollBack(RollbackMode::HardAll), Mode::Direct, NEW, LETTERS),
    ] {
        let mut n_done = 0;
        for point in 0.. {
            let (world, environment) = interleaved(&format!("//- a.txt\n{LETTERS}"), mode);
            block_on(replace(&world, None, &["a.txt"], ("b", "B"))).unwrap();
            if act == Act::Undo {
                block_on(world.workspace.undo_runs(&[1])).unwrap();
            }
            let files = Shared::clone(&world.files);
            environment.at(point, move || {
                files.insert("a.txt", theirs).unwrap();
            });
            let mut outcome = block_on(act.on(&world));
            let passed = environment.passed();
            // As above: a write after the last comparison is too late.
            let end = passed.iter().position(|name| *name == "write").map_or(passed.len(), |write| write - 1);
            if point >= end {
                break;
            }
            let at = format!("{act:?} {mode:?}, point {point} of {passed:?}");
            if outcome.is_err() {
                assert_eq!((outcome, world.disk("a.txt")), (Err(Code::Stale), some(theirs)), "{at}");
                outcome = block_on(act.on(&world));
            }
            n_done += 1;
            assert_eq!(
                (outcome, world.disk("a.txt"), world.visible("a.txt")),
                (Ok(()), some(expected), some(expected)),
                "{at}"
            );
            if expected == LETTERS {
                block_on(world.workspace.undo()).unwrap();
                assert_eq!(world.disk("a.txt"), some(theirs), "{at}");
            }
        }
        assert!(n_done > 1, "{act:?} {mode:?}: {n_done} points");
    }
}

#[test]
fn a_rejected_write_shows_the_file_as_it_is_after_the_rejection() {
    covers("edit.stale edit.foreign_text");
    const THEIRS: &str = "theirs\n";
    let old = emend_edit::ContentHash::of(LETTERS.as_bytes()).hex();
    for mode in MODES {
        let mut n_rejected = 0;
        for point in 0.. {
            let (world, environment) = interleaved(&format!("//- a.txt\n{LETTERS}"), mode);
            let files = Shared::clone(&world.files);
            environment.at(point, move || {
                files.insert("a.txt", THEIRS).unwrap();
            });
            let write =
                FileWrite { path: "a.txt".to_owned(), text: some("ours\n"), moved_from: None, steps: Vec::new() };
            let (context, base) = (world.context(), Precondition::Exact(&old));
            let planned = |_: Option<&str>| Ok((vec![write], ()));
            let written: Result<_, Rejection<WorkspaceError>> =
                block_on(world.workspace.write_verified(&context.write(), "a.txt", base, planned));
            let passed = environment.passed();
            let end = passed.iter().position(|name| *name == "write").map_or(passed.len(), |write| write - 1);
            if point >= end {
                break;
            }
            let at = format!("{mode:?}, point {point} of {passed:?}");
            // A change after the last read of a rejected write is too late to be shown.
            let Err(rejection) = written else { continue };
            n_rejected += 1;
            assert_eq!(rejection.error.code(), Code::Stale, "{at}");
            assert_eq!(rejection.latest.map(|view| view.text), some(THEIRS), "{at}");
            assert_eq!(world.disk("a.txt"), some(THEIRS), "{at}");
        }
        assert!(n_rejected > 5, "{mode:?}: {n_rejected} writes were rejected");
    }
}

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn an_edit_of_the_user_takes_back_the_canvas_only() {
    covers("canvas.user_first");
    for mode in MODES {
        let world = World::new(&format!("//- canvas.txt\n{LETTERS}//- other.txt\n{LETTERS}"), mode);
        let ticket = check_out(&world.workspace, "canvas.txt");
        world.user("other.txt", "mine\n");
        assert_eq!(block_on(replace(&world, Some(ticket), &["canvas.txt"], ("b", "B"))), Ok(()));
        world.user("canvas.txt", "a\nmine\n");
        let refused = block_on(replace(&world, Some(ticket), &["canvas.txt"], ("a", "A")));
        assert!(matches!(refused, Err(WorkspaceError::Lease { .. })), "{refused:?}");
        assert_eq!(world.visible("canvas.txt"), some("a\nmine\n"));
    }
}

#[test]
fn a_cancelled_run_does_not_wait_for_a_write_of_the_user_that_hangs() {
    covers("loop.cancel");
    for mode in MODES {
        let (world, _) = interleaved(&format!("//- a.txt\n{LETTERS}"), mode);
        let mut hanging = pin!(world.workspace.user_edit("a.txt", Some("mine\n"), None));
        while world.workspace.writing.try_lock().is_some() {
            assert!(hanging.as_mut().now_or_never().is_none());
        }
        let context = world.context();
        let paths = ["a.txt".to_owned()];
        let nothing = |_: &Texts| Ok((Vec::new(), ()));
        let verified = |_: Option<&str>| Ok::<_, WorkspaceError>((Vec::new(), ()));
        let exact = Precondition::Exact("");
        let context = context.write();
        let mut write = pin!(world.workspace.write(&context, &paths, nothing));
        let mut exact = pin!(world.workspace.write_verified(&context, "a.txt", exact, verified));
        assert!(write.as_mut().now_or_never().is_none());
        assert!(exact.as_mut().now_or_never().is_none());
        context.cancel.cancel();
        assert_eq!(write.now_or_never().map(|done| done.map(|_| ())), Some(Err(WorkspaceError::Cancelled)));
        let rejected = exact.now_or_never().map(|done| done.map(|_| ()).map_err(|rejection| rejection.error));
        assert_eq!(rejected, Some(Err(WorkspaceError::Cancelled)));
        assert_eq!(block_on(hanging).map(|_| ()), Ok(()), "the user's write goes on");
        assert_eq!(world.disk("a.txt").as_deref(), Some("mine\n"));
    }
}

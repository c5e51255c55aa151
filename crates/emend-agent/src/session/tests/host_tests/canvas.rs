//! The canvas of servers that share a root: one lease for all, also while the user decides and no server waits.

use super::*;
use crate::approval::{Action as Rights, Approval, ApprovalRequest, Approver, Policy, Rule};

#[test]
fn the_canvas_and_its_lease_are_those_of_all_servers_of_a_root() {
    covers("canvas.exclusive canvas.preempt");
    let world = World::new(NOTES, Vec::new(), Setup::default());
    let logs = Logs::default();
    let [a, b] = [workspace(&world, &logs), workspace(&world, &logs.of_other())];
    a.canvas().open(crate::environment::FilePath::clean("notes.md"));
    block_on(a.refresh()).unwrap();
    let desk = |workspace: &Shared<Workspace>, now_ms| {
        let workspace = Shared::clone(workspace);
        move |call: &str, lease: &str| {
            let desk = crate::tools::CanvasDesk::new(&workspace, now_ms, true);
            let (reads, cancel) = (crate::workspace::ReadTracker::default(), CancelToken::new());
            let run_id = block_on(workspace.begin_shared_run()).unwrap();
            let context = crate::workspace::WriteContext {
                run_id,
                call_id: "canvas",
                lease: None,
                may_write: true,
                reads: &reads,
                cancel: &cancel,
            };
            block_on(async {
                match call {
                    "check_out" => desk.check_out().await.map(|out| out.lease_id),
                    "check_in" => desk.check_in(lease).await.map(|done| done.released.to_string()),
                    _ => {
                        let base = desk.revision_id().await?;
                        let lines = emend_edit::patch::line_edits::LineEdit {
                            operation: emend_edit::patch::line_edits::LineOperation::Replace,
                            start_line: 1,
                            end_line: Some(1),
                            new_text: call.to_owned(),
                            expected_hash: None,
                        };
                        let edit = crate::tools::CanvasEdit::Lines(vec![lines]);
                        desk.edit(&context, Some(lease), &base, &edit).await.map(|done| done.revision_id)
                    }
                }
            })
            .map_err(|failure| failure.code.as_str())
        }
    };
    let (on_a, on_b) = (desk(&a, 0), desk(&b, 0));
    let lease = on_a("check_out", "").unwrap();
    assert_eq!(on_b("check_out", ""), Err("LOCK_NOT_AVAILABLE"));
    // A client of the lease may reach either server.
    on_b("ONE", &lease).unwrap();
    assert_eq!(world.disk("notes.md"), "ONE\ntwo\nthree\n");
    // The user types on the other server: the edit that comes later changes nothing.
    block_on(b.user_edit("notes.md", Some("mine\n"), None)).unwrap();
    assert_eq!(on_a("late", &lease), Err("STALE_EPOCH"));
    assert_eq!(world.disk("notes.md"), "mine\n");
    // The lease of the one server ends on the other.
    let lease = on_b("check_out", "").unwrap();
    assert_eq!(on_a("check_out", ""), Err("LOCK_NOT_AVAILABLE"));
    assert_eq!(on_a("check_in", &lease).as_deref(), Ok("true"));
    assert_eq!(on_b("late", &lease), Err("LOCK_NOT_OWNED"));
    on_a("check_out", "").unwrap();
    // A message of a user on the other server takes the canvas back, and that run may have it.
    let options = SessionOptions {
        workspace: Shared::clone(&b),
        ..world.options(vec![Answer::Call(vec![edit("mine", "theirs")]), Answer::Say("Done.")])
    };
    let session = Session::with_id(options, "s".to_owned());
    let events: Vec<Event> = block_on(session.submit("edit it", CancelToken::new()).unwrap().collect());
    assert_eq!(world.disk("notes.md"), "theirs\n", "{events:#?}");
    block_on(a.refresh()).unwrap();
    let state = a.canvas().state(0);
    assert!(!state.held && state.epoch == b.canvas().state(0).epoch, "{state:?}");
}

/// A user who does not decide while this process waits.
struct Undecided;

impl Approver for Undecided {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(std::future::pending())
    }
}

/// A user who has decided.
struct Decided;

impl Approver for Decided {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(std::future::ready(Approval::Allow))
    }
}

#[test]
fn an_edit_of_the_canvas_waits_for_the_user_without_a_server() {
    covers("canvas.exclusive canvas.preempt service.resumed");
    for (meanwhile, text, code) in [
        ("nothing", "one\n2\nthree\n", "ok"),
        ("the user types", "mine\n", "STALE_EPOCH"),
        ("another agent", "one\ntwo\nthree\n", "LOCK_NOT_OWNED"),
    ] {
        let mut world = World::new(NOTES, Vec::new(), Setup::default());
        let logs = Logs::default();
        let [a, b] = [workspace(&world, &logs), workspace(&world, &logs.of_other())];
        a.canvas().open(crate::environment::FilePath::clean("notes.md"));
        block_on(a.refresh()).unwrap();
        let store = Shared::new(MemStore::new());
        let with = |world: &mut World, workspace: &Shared<Workspace>, answers, approver: Shared<dyn Approver>| {
            let mut tools = tools();
            for tool in crate::tools::canvas_tools(workspace, true) {
                tools.register(tool);
            }
            let mut options = SessionOptions { tools, workspace: Shared::clone(workspace), ..world.options(answers) };
            let rules = vec![Rule::parse(Rights::Ask, "canvas_edit_lines").unwrap()];
            options.config.policy = Policy { rules, otherwise: Rights::Allow };
            options.config.approver = Some(approver);
            options
        };
        let base = emend_edit::ContentHash::of(b"one\ntwo\nthree\n").to_string();
        let edits = json!([{ "operation": "replace", "start_line": 2, "new_text": "2\n" }]);
        let request = json!({ "lease_id": "lease_1_2", "base_revision_id": base, "edits": edits });
        let answers = vec![
            Answer::Call(vec![("canvas_check_out", json!({}))]),
            Answer::Call(vec![("canvas_edit_lines", request)]),
        ];
        let options = with(&mut world, &a, answers, Shared::new(Undecided));
        let session = Session::with_id(options, "s".to_owned()).with_store(Shared::clone(&store) as Shared<dyn Store>);
        let steps: Shared<Steps> = Shared::default();
        session.keep_steps(Some(Shared::clone(&steps) as Shared<dyn StepKeeper>));
        let mut run = session.submit("do it", CancelToken::new()).unwrap();
        let mut is_asked = false;
        while let Some(event) = run.next().now_or_never() {
            is_asked |= matches!(event.unwrap().kind, EventKind::ApprovalRequested(_));
        }
        assert!(is_asked);
        let run_id = session.last_run();
        drop((run, session));
        block_on(b.refresh()).unwrap();
        assert!(!b.canvas().state(0).held, "nobody edits during the wait");
        match meanwhile {
            "the user types" => drop(block_on(b.user_edit("notes.md", Some("mine\n"), None)).unwrap()),
            "another agent" => {
                let turn = block_on(b.canvas_turn()).unwrap();
                b.canvas().with_lease(|lease| lease.check_out(lease.epoch(), 0)).unwrap();
                drop(turn);
            }
            _ => {}
        }
        let options = with(&mut world, &b, vec![Answer::Say("Done.")], Shared::new(Decided));
        let session = block_on(Session::resume_run(options, Shared::clone(&store) as Shared<dyn Store>, "s")).unwrap();
        session.keep_steps(Some(steps));
        let events: Vec<Event> = block_on(session.continue_run(run_id, CancelToken::new()).unwrap().collect());
        let events: String = events.iter().map(|event| line(&event.kind) + "\n").collect();
        assert!(events.contains(&format!("TOOL_CALL_END canvas_edit_lines {code}")), "{meanwhile}: {events}");
        assert_eq!(world.disk("notes.md"), text, "{meanwhile}: {events}");
    }
}

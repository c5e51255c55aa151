//! A call that waits for the decision of the user: the canvas is free meanwhile, and the agent has it again afterwards.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use futures::FutureExt as _;

use super::leases::{leases, world};
use super::*;
use crate::approval::{Action as Rights, Approval, ApprovalRequest, Approver, Policy, Rule};
use crate::test_support::{Action, covers};
use crate::tools::canvas_tools;

/// A user who decides after ten minutes, in which something happens.
struct Unhurried {
    clock: Shared<TickingClock>,
    meanwhile: Box<dyn Action>,
    decision: Approval,
}

impl Approver for Unhurried {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        self.clock.advance(600_000);
        self.meanwhile.happen();
        Box::pin(std::future::ready(self.decision.clone()))
    }
}

/// Lets a session ask a user about each call of a tool.
fn ask_about(world: &World, tool: &str, meanwhile: Box<dyn Action>, decision: Approval) {
    let approver = Shared::new(Unhurried { clock: Shared::clone(&world.clock), meanwhile, decision });
    world.session.configure(|config| {
        config.policy = Policy { rules: vec![Rule::parse(Rights::Ask, tool).unwrap()], otherwise: Rights::Allow };
        config.approver = Some(approver);
    });
}

/// An edit of a line under the first lease of the session.
fn canvas_edit(number: usize, text: &str, base: &str) -> Answer {
    let edits = json!([{ "operation": "replace", "start_line": number, "new_text": text }]);
    let base = emend_edit::ContentHash::of(base.as_bytes()).to_string();
    let arguments = json!({ "lease_id": "lease_1_2", "base_revision_id": base, "edits": edits });
    Answer::Call(vec![("canvas_edit_lines", arguments)])
}

/// Runs a session with the canvas tools that asks the user about each edit. Returns the events and the text on the disk.
fn asked(
    decision: Approval,
    edits: Vec<Answer>,
    meanwhile: impl Fn(&Workspace, u64) + MaybeSend + MaybeSync + 'static,
) -> (String, World) {
    let mut world = world(Vec::new());
    let workspace = Shared::clone(&world.session.core.workspace);
    let mut tools = tools();
    for tool in canvas_tools(&workspace, true) {
        tools.register(tool);
    }
    let check_out = Answer::Call(vec![("canvas_check_out", json!({}))]);
    let answers = [check_out].into_iter().chain(edits).chain([Answer::Say("Done.")]);
    world.restart(tools, answers.collect());
    let clock = Shared::clone(&world.clock);
    let meanwhile = Box::new(move || {
        let now_ms = clock.now_ms();
        assert!(!workspace.canvas().state(now_ms).held, "nobody edits during the wait");
        meanwhile(&workspace, now_ms);
    });
    ask_about(&world, "canvas_edit_lines", meanwhile, decision);
    (world.turn("do it"), world)
}

fn is_held(world: &World) -> bool {
    world.session.core.workspace.canvas().state(world.clock.now_ms()).held
}

const TEXT: &str = "one\ntwo\nthree\n";

#[test]
fn an_edit_that_the_user_allows_after_ten_minutes_is_made() {
    covers("canvas.expiry approval.policy");
    // The lease of the check-out holds for the second edit, too.
    let edits = vec![canvas_edit(1, "1\n", TEXT), canvas_edit(2, "2\n", "1\ntwo\nthree\n")];
    let (events, world) = asked(Approval::Allow, edits, |_, _| ());
    assert_eq!(world.disk("notes.md"), "1\n2\nthree\n", "{events}");
    let states = ["held", "released", "held", "released", "held", "released"];
    assert_eq!(leases(&events), states, "{events}");
    assert!(!is_held(&world));
}

#[test]
fn a_user_who_types_before_the_decision_has_the_canvas() {
    covers("canvas.preempt approval.policy");
    let (events, world) = asked(Approval::Allow, vec![canvas_edit(1, "1\n", TEXT)], |workspace, _| {
        workspace.user_edit("notes.md", Some("one\ntwo\nmine\n"), None).now_or_never().unwrap().unwrap();
    });
    assert_eq!(world.disk("notes.md"), "one\ntwo\nmine\n", "{events}");
    assert_eq!(leases(&events), ["held", "released"], "{events}");
    assert!(events.contains("TOOL_CALL_END canvas_edit_lines STALE_EPOCH"), "{events}");
    assert!(!is_held(&world));
}

#[test]
fn an_agent_that_took_the_canvas_before_the_decision_keeps_it() {
    covers("canvas.exclusive approval.policy");
    for is_given_back in [false, true] {
        let (events, world) = asked(Approval::Allow, vec![canvas_edit(1, "1\n", TEXT)], move |workspace, now_ms| {
            let canvas = workspace.canvas();
            let ticket = canvas.with_lease(|lease| lease.check_out(lease.epoch(), now_ms)).unwrap();
            canvas.with_lease(|lease| if is_given_back { lease.check_in(ticket) } else { false });
        });
        assert_eq!(world.disk("notes.md"), TEXT, "{events}");
        assert_eq!(leases(&events), ["held", "released"], "{events}");
        assert!(events.contains("TOOL_CALL_END canvas_edit_lines LOCK_NOT_OWNED"), "{events}");
        assert_ne!(is_held(&world), is_given_back, "the end of the run leaves it to the other agent");
    }
}

#[test]
fn an_edit_that_the_user_denies_leaves_the_lease_to_the_agent() {
    covers("canvas.lease_end approval.policy");
    let grep = Answer::Call(vec![("canvas_grep", json!({ "lease_id": "lease_1_2", "query": "two" }))]);
    let denied = Approval::Deny { reason: None };
    let (events, world) = asked(denied, vec![canvas_edit(1, "1\n", TEXT), grep], |_, _| ());
    assert_eq!(world.disk("notes.md"), TEXT);
    assert!(events.contains("TOOL_CALL_END canvas_grep ok"), "{events}");
    assert_eq!(leases(&events), ["held", "released", "held", "released"], "{events}");
}

#[test]
fn an_edit_by_another_tool_takes_the_lease_anew_after_the_decision() {
    covers("canvas.expiry approval.policy");
    let world =
        world(vec![Answer::Call(vec![edit("one", "1")]), Answer::Call(vec![edit("two", "2")]), Answer::Say("Done.")]);
    ask_about(&world, "edit_file", Box::new(|| ()), Approval::Allow);
    let events = world.turn("do it");
    assert_eq!(world.disk("notes.md"), "1\n2\nthree\n");
    assert_eq!(leases(&events), ["held", "released", "held", "released"], "{events}");
}

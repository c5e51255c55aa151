//! The next message of a conversation tells the model what the user decided since the last one.

use std::fs;

use crate::review::answer;
use crate::support::Project;
use crate::terminal::Terminal;

fn project() -> Project {
    Project::new(&[("a.txt", b"alpha\n1\n2\n3\n4\n5\n6\n7\n8\n9\nalpha\n"), ("b.txt", b"beta\n")])
}

/// Continues the conversation and returns what the model gets beside the answers of tools.
fn next_request(project: &Project) -> String {
    let record = project.path("../record.json");
    let args = ["run", "hello", "--continue", "--record", record.to_str().unwrap()];
    project.run(&args).assert_ok();
    fs::read_to_string(record).unwrap()
}

#[test]
fn the_model_is_told_of_decisions_in_another_command() {
    #[track_caller]
    fn check(review: bool, decide: &dyn Fn(&Project), told: &[&str], untold: &[&str]) {
        let project = project();
        let mut run = vec!["run", "rename alpha to omega"];
        run.extend(review.then_some("--review"));
        answer(&project, &run, "").assert_ok();
        decide(&project);
        let request = next_request(&project);
        for words in told {
            assert_eq!(request.matches(words).count(), 1, "{words}: {request}");
        }
        for words in untold {
            assert_eq!(request.matches(words).count(), 0, "{words}: {request}");
        }
        // Once is enough: the conversation holds it.
        let request = next_request(&project);
        for words in told {
            assert_eq!(request.matches(words).count(), 1, "{words}: {request}");
        }
    }
    const HEAD: &str = "the user reviewed your edits";
    check(false, &|_| (), &[], &[HEAD]);
    check(true, &|_| (), &[], &[HEAD]);
    let decide = |answers: &'static str| {
        move |project: &Project| {
            answer(project, &["review"], answers).assert_ok();
        }
    };
    check(true, &decide("y\nn\n"), &["a.txt: accepted 1 edit, rejected 1 edit", "+omega"], &[]);
    check(true, &decide("n\nn\n"), &["a.txt: rejected 2 edits"], &["accepted"]);
    let undo = |project: &Project| {
        project.run(&["undo"]).assert_ok();
    };
    check(false, &undo, &["a.txt: rejected 2 edits", HEAD], &[]);
    let undo_and_redo = |project: &Project| {
        undo(project);
        project.run(&["redo"]).assert_ok();
    };
    check(false, &undo_and_redo, &[], &[HEAD]);
}

#[test]
fn the_model_is_told_once_of_undo_and_redo_in_the_conversation() {
    let project = project();
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("rename beta to gamma").wait_for_prompt(2);
    terminal.enter("/undo").wait_for_prompt(3).enter("/redo").wait_for_prompt(4);
    terminal.enter("hello").wait_for_prompt(5).press("\u{4}");
    assert_eq!(terminal.end(), 0);
    assert_eq!(project.read("b.txt"), "gamma\n");
    let request = next_request(&project);
    for told in ["I undid your last changes in b.txt", "I redid your changes in b.txt"] {
        assert_eq!(request.matches(told).count(), 1, "{told}: {request}");
    }
    assert!(!request.contains("the user reviewed your edits"), "{request}");
}

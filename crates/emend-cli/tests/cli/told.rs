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
    let record = project.path(".record.json");
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
fn the_net_effect_of_undo_and_redo_in_a_conversation_is_told_also_after_its_end() {
    #[track_caller]
    fn check(commands: &[&str], told: Option<&str>) {
        let project = project();
        let mut terminal = Terminal::start(&project, &[]);
        terminal.wait_for_prompt(1).enter("rename beta to gamma").wait_for_prompt(2);
        for (n, command) in commands.iter().enumerate() {
            terminal.enter(command).wait_for_prompt(n + 3);
        }
        terminal.press("\u{4}");
        assert_eq!(terminal.end(), 0);
        let request = next_request(&project);
        let n_told = request.matches("Since your last edit, the user").count();
        assert_eq!(n_told, usize::from(told.is_some()), "{commands:?}: {request}");
        assert!(told.is_none_or(|told| request.contains(told)), "{commands:?}: {request}");
    }
    check(&["/undo"], Some("b.txt: rejected 1 edit"));
    check(&["/undo", "/redo"], None);
    check(&["/undo", "hello"], Some("b.txt: rejected 1 edit"));
}

#[test]
fn undos_of_what_is_not_text_are_told() {
    let project = project();
    let args = ["run", "run printf 'a\\0' > b.bin; ln -s a.txt link", "--allow", "shell"];
    project.run(&args).assert_ok();
    project.run(&["undo"]).assert_ok();
    let request = next_request(&project);
    assert!(request.contains("b.bin: undid your change") && request.contains("link: undid your change"), "{request}");
    project.run(&["redo"]).assert_ok();
    let request = next_request(&project);
    assert_eq!(request.matches("link: redid your change").count(), 1, "{request}");
}

#[test]
fn a_conversation_is_told_of_its_own_edits_alone() {
    let project = project();
    let id_of = |outcome: &crate::support::Outcome| {
        let end: serde_json::Value = serde_json::from_str(outcome.assert_ok().stdout.trim_end()).unwrap();
        end["session_id"].as_str().unwrap().to_owned()
    };
    let first = id_of(&project.run(&["run", "rename alpha to omega", "--output", "json"]));
    let other = id_of(&project.run(&["run", "rename beta to gamma", "--output", "json"]));
    project.run(&["undo"]).assert_ok();
    let record = project.path(".record.json");
    let request = |session: &str| {
        let args = ["run", "hello", "--resume", session, "--record", record.to_str().unwrap()];
        project.run(&args).assert_ok();
        fs::read_to_string(&record).unwrap()
    };
    assert!(!request(&first).contains("the user reviewed your edits"));
    assert!(request(&other).contains("b.txt: rejected 1 edit"));
}

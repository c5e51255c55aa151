//! Saved sessions: the model that made them and the session from which they were forked.

use serde_json::{Value, json};

use crate::support::Project;

/// Returns the saved sessions, last used first.
#[track_caller]
fn list(project: &Project) -> Vec<Value> {
    let listed = project.run(&["sessions", "list", "--json"]);
    listed.assert_ok().stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn project() -> Project {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    project
}

#[test]
fn a_fork_begins_at_an_entry_that_the_conversation_has() {
    let project = project();
    let origin = list(&project).remove(0);
    let (id, n_entries) = (origin["id"].as_str().unwrap(), origin["n_turns"].as_u64().unwrap());
    for beyond in [n_entries + 1, 99] {
        let outcome = project.run(&["run", "rename omega to psi", "--fork", id, "--turns", &beyond.to_string()]);
        let expected =
            format!("error [invalid_argument]: --turns {beyond}: the conversation has only {n_entries} entries\n");
        assert_eq!((outcome.status, outcome.stderr.contains(&expected)), (2, true), "{}", outcome.stderr);
        assert_eq!(project.read("a.txt"), "omega\n");
        assert_eq!(list(&project), std::slice::from_ref(&origin));
    }
    project.run(&["run", "rename omega to psi", "--fork", id, "--turns", &n_entries.to_string()]).assert_ok();
    assert_eq!(list(&project)[0]["forked_from"], json!({ "id": id, "n_turns": n_entries }));
}

#[test]
fn a_fork_has_a_title_of_its_own() {
    let project = project();
    let id = list(&project)[0]["id"].as_str().unwrap().to_owned();
    project.run(&["run", "rename omega to psi", "--fork", &id]).assert_ok();
    let table = project.run(&["sessions"]);
    let titles = table.assert_ok().stdout.lines().skip(1).map(|row| row.rsplit("  ").next().unwrap());
    assert_eq!(titles.collect::<Vec<_>>(), ["rename alpha to omega (fork)", "rename alpha to omega"]);
}

#[test]
fn a_session_of_the_offline_model_names_no_other_provider() {
    let project = project();
    let model = |session: &Value| (session["provider"].clone(), session["model"].clone());
    assert_eq!(model(&list(&project)[0]), (json!("offline"), json!("offline")));
    let id = list(&project)[0]["id"].as_str().unwrap().to_owned();
    // Older versions saved the provider whose wire format the offline model has.
    let directory = project.lock().directory().join("sessions");
    let saved = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_file());
    let path = saved.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen(r#""provider":"offline""#, r#""provider":"anthropic""#, 1)).unwrap();
    assert_eq!(model(&list(&project)[0]), (json!("offline"), json!("offline")));
    for args in [&["sessions"][..], &["sessions", "show", &id], &["sessions", "show", &id, "--json"]] {
        let outcome = project.run(args);
        assert!(!outcome.assert_ok().stdout.contains("anthropic"), "{args:?}: {}", outcome.stdout);
    }
}

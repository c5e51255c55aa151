//! Several processes that use one store: the one whose command runs, a later one, and readers.

use super::*;

#[test]
fn a_command_that_outlives_its_killed_process_for_a_moment_is_undone() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    let run = open.workspace.begin_run();
    block_on(open.environment.keeper().unwrap().keep(run)).unwrap();
    let running = fs::read_to_string(project.kept().join("running.json")).unwrap();
    let mark = serde_json::from_str::<Value>(&running).unwrap()["mark"].as_str().unwrap().to_owned();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "echo x > a.txt; sleep 0.5; rm b.bin"]).env("EMEND_COMMAND", format!("other {mark}"));
    let mut command = command.current_dir(project.root()).spawn().unwrap();
    // Reaped at once: in earnest the command is not a child of the later process.
    let reaped = std::thread::spawn(move || command.wait().unwrap());
    drop(open);
    let open = project.open();
    assert_eq!(open.workspace.last_run(), run);
    open.undo();
    assert!(reaped.join().unwrap().success());
    check_same(&before, &project.tree());
}

#[test]
fn commands_carry_the_mark_of_the_keeper() {
    for mode in [Mode::Direct, Mode::Staged] {
        let project = Project::usual();
        let open = project.open_in(mode);
        let output = open.call("shell", json!({ "command": "echo \"$EMEND_COMMAND\"" })).unwrap();
        assert!(output.text.contains(" kept-") || output.text.starts_with("kept-"), "{mode:?}: {}", output.text);
    }
}

#[test]
fn a_reader_records_nothing_while_a_command_runs() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    let run = open.workspace.begin_run();
    let keeper = open.environment.keeper().unwrap();
    block_on(keeper.keep(run)).unwrap();
    fs::write(project.path("a.txt"), "x\n").unwrap();
    let kept = tree_of(&project.kept());
    let state = project.kept().parent().unwrap().to_owned();
    let mut reader = Keeper::for_reading(&state);
    assert_eq!(reader.runs(&project.files()), []);
    assert!(reader.keep(&project.files(), (9, 0)).is_err() && reader.redo(&project.files()).is_err());
    assert_eq!(difference(&kept, &tree_of(&project.kept())), None);
    fs::remove_file(project.path("b.bin")).unwrap();
    assert_eq!(block_on(keeper.record(&BTreeSet::new(), &BTreeSet::new())).unwrap().len(), 2);
    assert_eq!(reader.runs(&project.files())[0].files.len(), 2);
    open.undo();
    check_same(&before, &project.tree());
    assert!(!reader.runs(&project.files())[0].is_on);
}

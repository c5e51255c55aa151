//! The tool `outline`, called by the user and by a model.

use serde_json::{Value, json};

use crate::support::Project;

#[test]
fn a_call_prints_the_definitions_as_data() {
    let project =
        Project::new(&[("src/a.rs", b"struct A;\nimpl A {\n    fn new() -> A { A }\n}\n"), ("b.py", b"new = 1\n")]);
    #[track_caller]
    fn check(project: &Project, arguments: Value, expected: &[&str]) {
        let outcome = project.run(&["tools", "call", "outline", &arguments.to_string()]);
        let printed: Value = serde_json::from_str(&outcome.assert_ok().stdout).unwrap();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let line = |symbol: &Value| {
            let path = symbol.get("file_path").map_or_else(String::new, |path| text(path) + ":");
            format!("{path}{} {} {}", symbol["first_line"], text(&symbol["kind"]), text(&symbol["name"]))
        };
        let symbols = printed["data"]["symbols"].as_array().unwrap();
        assert_eq!(symbols.iter().map(line).collect::<Vec<_>>(), expected);
    }
    check(&project, json!({"file_path": "src/a.rs"}), &["1 struct A", "2 impl A", "3 fn new"]);
    check(&project, json!({"symbol": "new"}), &["b.py:1 var new", "src/a.rs:3 fn new"]);
    let refused = project.run(&["tools", "call", "outline", "{}"]);
    assert_eq!((refused.status, refused.stdout.contains("Give file_path or symbol.")), (1, true), "{}", refused.stdout);
}

#[test]
fn an_outline_shows_no_file_that_rules_hide() {
    let files: &[(&str, &[u8])] = &[("a.py", b"def shown(): pass\n"), ("secrets.py", b"def shown_secret(): pass\n")];
    let project = Project::new(files);
    let calls = [("outline", json!({"symbol": "shown"})), ("outline", json!({"file_path": "secrets.py"}))];
    let options = ["--outline", "--deny", "*:secrets.py"];
    let events = project.run_calls(&calls, &options).assert_ok().stdout.clone();
    assert!(events.contains("a.py:1-1 fn shown") && !events.contains("shown_secret"), "{events}");
    let events = project.run_calls(&calls, &["--outline"]).stdout;
    assert!(events.contains("secrets.py:1-1 fn shown_secret"), "without the rule: {events}");
    let events = project.run_calls(&calls, &[]).stdout;
    assert!(events.contains("unknown_tool"), "without the option: {events}");
    let refused = project.run(&["run", "x", "--deny", "outlin:*.py"]);
    assert!(refused.stderr.contains("did you mean outline?"), "{}", refused.stderr);
}

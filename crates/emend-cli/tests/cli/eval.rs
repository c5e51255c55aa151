//! `emend eval`: agents with known scores, recordings, and the scores of models from a server.

use serde_json::{Value, json};

use crate::support::{Outcome, Project, answer_each, scripted};

/// Three tasks of different kinds.
const SOME: [&str; 6] = ["--task", "rename-function", "--task", "two-logos", "--task", "user-edits-the-same-line"];

fn lines(outcome: &Outcome) -> Vec<Value> {
    outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the solved tasks and all tasks of each agent, in the order of the report.
fn solved(lines: &[Value]) -> Vec<(String, u64, u64)> {
    let rows = lines.iter().filter(|line| line["type"] == "row");
    let share = |row: &Value, name: &str| row["solved"][name].as_u64().unwrap();
    rows.map(|row| (row["model"].as_str().unwrap().to_owned(), share(row, "hits"), share(row, "total"))).collect()
}

fn agents() -> Vec<&'static str> {
    ["offline", "do-nothing", "reference"].iter().flat_map(|agent| ["--model", *agent]).collect()
}

#[test]
fn the_controls_have_their_scores_in_the_whole_set() {
    let project = Project::new(&[]);
    let outcome = project.run(&[&["eval", "core", "--output", "jsonl", "--jobs", "2"], agents().as_slice()].concat());
    let found = solved(&lines(outcome.assert_ok()));
    assert_eq!((&*found[1].0, found[1].1, found[1].2), ("do-nothing", 0, 40));
    assert_eq!((&*found[2].0, found[2].1, found[2].2), ("reference", 40, 40));
    assert!(found[0].1 > 0 && found[0].1 < 40, "{found:?}");
    assert!(project.state_is_untouched(), "tasks have states of their own");
    let small = project.run(&["eval", "small", "--output", "jsonl", "--model", "do-nothing", "--model", "reference"]);
    let expected = [("do-nothing".to_owned(), 0, 30), ("reference".to_owned(), 30, 30)];
    assert_eq!(solved(&lines(small.assert_ok())), expected);
}

#[test]
fn a_replay_repeats_the_recording_byte_for_byte() {
    let project = Project::new(&[]);
    let run = |options: &[&str]| project.run(&[&["eval", "core", "--output", "jsonl"], &SOME[..], options].concat());
    let recorded = run(&[&["--record", "runs"], agents().as_slice()].concat());
    assert_eq!(
        solved(&lines(recorded.assert_ok())),
        [("offline", 1, 3), ("do-nothing", 0, 3), ("reference", 3, 3)].map(|(name, hits, total)| (
            name.to_owned(),
            hits,
            total
        ))
    );
    let first = run(&[&["--replay", "runs"], agents().as_slice()].concat());
    let second = run(&[&["--replay", "runs", "--jobs", "3"], agents().as_slice()].concat());
    assert_eq!(first.assert_ok().stdout, second.assert_ok().stdout);
    let without_head = |outcome: &Outcome| outcome.stdout.split_once('\n').unwrap().1.to_owned();
    assert_eq!(without_head(&recorded), without_head(&first), "durations are those of the recording");
    let all = run(&["--replay", "runs"]);
    assert_eq!(solved(&lines(all.assert_ok())).len(), 3, "all recordings of the directory");
}

#[test]
fn a_replay_refuses_other_requests_and_other_sets() {
    let project = Project::new(&[]);
    let run = |options: &[&str]| {
        project.run(&[&["eval", "core", "--task", "fix-typo", "--model", "reference"], options].concat())
    };
    run(&["--record", "runs"]).assert_ok();
    run(&["--replay", "runs"]).assert_ok();
    let original = project.read("runs/reference.json");
    let write = |text: &str| std::fs::write(project.path("runs/reference.json"), text).unwrap();

    let mut changed: Value = serde_json::from_str(&original).unwrap();
    let request = &mut changed["tasks"]["fix-typo"]["cassette"]["exchanges"][0]["request"];
    *request = serde_json::from_str(&request.to_string().replace("recieve", "relieve")).unwrap();
    request["digest"] = "sha256:0".into();
    write(&changed.to_string());
    let refused = run(&["--replay", "runs"]);
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("is not the one in the cassette"), "{}", refused.stderr);

    let mut longer: Value = serde_json::from_str(&original).unwrap();
    let exchanges = longer["tasks"]["fix-typo"]["cassette"]["exchanges"].as_array_mut().unwrap();
    let mut last = exchanges.last().unwrap().clone();
    last["ordinal"] = 9.into();
    exchanges.push(last);
    write(&longer.to_string());
    let refused = run(&["--replay", "runs"]);
    assert!(
        refused.status == 1 && refused.stderr.contains("1 recorded responses were not requested"),
        "{}",
        refused.stderr
    );

    write(&original.replace("\"set_digest\":\"", "\"set_digest\":\"0"));
    let refused = run(&["--replay", "runs"]);
    assert!(refused.status == 3 && refused.stderr.contains("it was made with the set core 0"), "{}", refused.stderr);
}

/// Recorded responses may have cost money.
#[test]
fn a_recording_is_not_replaced_by_another_or_by_one_with_less() {
    let project = Project::new(&[("own.toml", OWN.as_bytes())]);
    let record = |options: &[&str]| project.run(&[&["eval", "core", "--record", "runs"], options].concat());
    let some = ["--model", "reference", "--task", "fix-typo", "--task", "two-logos"];
    record(&some).assert_ok();
    let original = project.read("runs/reference.json");
    let refuses = |options: &[&str], text: &str| {
        let refused = record(options);
        assert!(refused.status != 0 && refused.stderr.contains(text), "{}: {}", refused.status, refused.stderr);
        assert_eq!(project.read("runs/reference.json"), original);
    };
    refuses(&some[..4], "runs/reference.json has a task that this run does not record; choose another directory");
    let own = project.run(&["eval", "own.toml", "--record", "runs", "--model", "reference"]);
    assert!(own.stderr.contains("is a recording of the set core"), "{}", own.stderr);
    let two = ["--model", "openai_compatible:a/b", "--model", "openai_compatible:a_b"];
    refuses(&two, "openai_compatible:a/b and openai_compatible:a_b would both be recorded to");
    // All of its tasks and more.
    record(&[&some[..], &["--task", "rename-function"]].concat()).assert_ok();
    assert_ne!(project.read("runs/reference.json"), original);

    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(project.path("own.toml"), project.path("runs/offline.json")).unwrap();
        let refused = record(&["--model", "offline", "--task", "fix-typo"]);
        assert!(refused.stderr.contains("runs/offline.json is not a file"), "{}", refused.stderr);
        assert_eq!(project.read("own.toml"), OWN);
    }
    std::fs::write(project.path("runs/do-nothing.json"), "mine").unwrap();
    let refused = record(&["--model", "do-nothing", "--task", "fix-typo"]);
    assert!(refused.stderr.contains("runs/do-nothing.json is not a recording"), "{}", refused.stderr);
    assert_eq!(project.read("runs/do-nothing.json"), "mine");
}

/// A set with one task, in which a line has to change.
const OWN: &str = "kind = \"single-file\"\n[[task]]\nid = \"one\"\ninstruction = \"Make the second line 2.\"\n\
                   files = \"//- a.txt\\none\\ntwo\\nthree\\n\"\nexpected = \"//- a.txt\\none\\n2\\nthree\\n\"\n";

#[test]
fn a_wrong_place_and_a_refused_edit_are_counted() {
    let project = Project::new(&[("own.toml", OWN.as_bytes())]);
    let edit = |old: &str| ("edit_file", json!({"file_path": "a.txt", "old_string": old, "new_string": "2"}));
    let run = |calls: &[(&str, Value)], options: &[&str]| {
        let args = [&["eval", "own.toml", "--model", "openai_compatible:m", "--output", "jsonl"], options].concat();
        let outcome = project.run_with(&args, &[("OPENAI_COMPATIBLE_BASE_URL", &scripted(calls))]);
        lines(outcome.assert_ok()).pop().unwrap()
    };
    let hits = |row: &Value, names: [&str; 6]| names.map(|name| row[name]["hits"].as_u64().unwrap());
    let measures = ["solved_first", "solved", "silently_wrong", "well_formed", "located", "refused"];
    assert_eq!(hits(&run(&[edit("two")], &[]), measures), [1, 1, 0, 1, 1, 0]);
    assert_eq!(hits(&run(&[edit("three")], &["--attempts", "1"]), measures), [0, 0, 1, 1, 1, 0]);
    assert_eq!(hits(&run(&[edit("four")], &["--attempts", "1"]), measures), [0, 0, 0, 1, 0, 1]);
    assert_eq!(hits(&run(&[("edit_file", json!({"file": 3}))], &["--attempts", "1"]), measures), [0, 0, 0, 0, 0, 1]);
    // A recording needs no server, and repeats the result.
    let recorded = run(&[edit("three")], &["--record", "runs"]);
    let args = ["eval", "own.toml", "--replay", "runs", "--output", "jsonl"];
    assert_eq!(lines(project.run(&args).assert_ok()).pop(), Some(recorded));
    let row = run(&[("clarify_user", json!({"question": "Which one?"}))], &["--attempts", "1"]);
    assert_eq!((row["asked"]["hits"].as_u64(), row["calls"].as_u64()), (Some(1), Some(1)));
}

#[test]
fn each_model_runs_with_each_form_of_tool_calls() {
    let project = Project::new(&[("own.toml", OWN.as_bytes())]);
    // A model that writes a call only where the server forces it to.
    let call =
        json!({ "tool": "edit_file", "arguments": { "file_path": "a.txt", "old_string": "two", "new_string": "2" } });
    let (url, _requests) = answer_each(move |request| {
        let text = match (request.contains("json_schema"), request.contains("Result of edit_file")) {
            (false, _) => "I would change the second line.".to_owned(),
            (true, false) => call.to_string(),
            (true, true) => json!({ "answer": "Done." }).to_string(),
        };
        let chunk = json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": "stop" }] });
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        format!("{head}data: {chunk}\n\ndata: [DONE]\n\n")
    });
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let options = ["eval", "own.toml", "--output", "jsonl", "--attempts", "1"];
    let forms = ["--model", "openai_compatible:m", "--tool-calls", "native", "--tool-calls", "constrained"];
    let outcome = project.run_with(&[&options[..], &forms, &["--record", "runs"]].concat(), &variables);
    let rows =
        |outcome: &Outcome| -> Vec<Value> { lines(outcome).into_iter().filter(|line| line["type"] == "row").collect() };
    let found = rows(outcome.assert_ok());
    let measures = found.iter().map(|row| (&row["tool_calls"], &row["valid_calls"]["total"], &row["solved"]["hits"]));
    let expected = [(json!("native"), json!(0), json!(0)), (json!("constrained"), json!(1), json!(1))];
    assert_eq!(measures.collect::<Vec<_>>(), expected.iter().map(|(a, b, c)| (a, b, c)).collect::<Vec<_>>());
    // Each form has a recording of its own, and the recording knows its form.
    let names: Vec<String> =
        ["native", "constrained"].map(|form| format!("runs/openai_compatible_m+{form}.json")).into();
    assert!(names.iter().all(|name| project.path(name).is_file()), "{names:?}");
    let mut replayed = rows(project.run(&[&options[..], &["--replay", "runs"]].concat()).assert_ok());
    replayed.reverse();
    assert_eq!(replayed, found);
    let controls = project.run(&["eval", "own.toml", "--model", "reference", "--tool-calls", "constrained"]);
    assert_eq!(controls.status, 2, "{}", controls.stderr);
    assert!(controls.stderr.contains("reference has its own form of tool calls"), "{}", controls.stderr);
}

#[test]
fn a_provider_that_fails_is_not_a_score() {
    let project = Project::new(&[("own.toml", OWN.as_bytes())]);
    let args = ["eval", "own.toml", "--model", "openai_compatible:m", "--retries", "0"];
    let run = |options: &[&str]| {
        let variables = [("OPENAI_COMPATIBLE_BASE_URL", "http://127.0.0.1:9")];
        let outcome = project.run_with(&[&args[..], options].concat(), &variables);
        assert_eq!(outcome.status, 4, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("tasks that ended with an error: 1;"), "{}", outcome.stderr);
        outcome
    };
    let outcome = run(&["--record", "runs"]);
    assert!(outcome.stdout.contains("tasks with an error"), "{}", outcome.stdout);
    // A replay has to end with the recorded error.
    run(&["--replay", "runs"]);
}

#[test]
#[cfg(unix)]
fn a_check_runs_on_a_copy_with_hidden_files() {
    let set = "kind = \"program\"\nshell = true\n[[task]]\nid = \"one\"\ninstruction = \"Write 2 into a.txt.\"\n\
               files = \"//- a.txt\\n1\\n\"\nexpected = \"//- a.txt\\n2\\n\"\n\
               check = { command = \"test \\\"$OPENAI_API_KEY$A_TOOL\\\" = here && cmp a.txt wanted.txt\", \
               files = \"//- wanted.txt\\n2\\n\" }\n";
    let project = Project::new(&[("own.toml", set.as_bytes())]);
    let models = ["--model", "do-nothing", "--model", "reference"];
    // The check runs programs of the agent, which get no keys.
    let variables = [("OPENAI_API_KEY", "sk-of-the-test"), ("A_TOOL", "here")];
    let outcome = project.run_with(&[&["eval", "own.toml", "--output", "jsonl"], &models[..]].concat(), &variables);
    let lines = lines(outcome.assert_ok());
    assert_eq!(solved(&lines), [("do-nothing".to_owned(), 0, 1), ("reference".to_owned(), 1, 1)]);
    let problem = lines[1]["attempts"][1]["problem"].as_str().unwrap();
    assert!(problem.starts_with("The check failed.") && problem.contains("differ"), "{problem}");
    // The listing shows the files of the agent: no hidden ones.
    let listed = project.run(&["eval", "own.toml", "--list", "--output", "jsonl"]);
    assert!(!listed.assert_ok().stdout.contains("wanted.txt\":"), "{}", listed.stdout);
}

#[test]
fn reports_have_three_formats() {
    let project = Project::new(&[]);
    let run = |output: &str| {
        let args = ["eval", "core", "--task", "fix-typo", "--model", "reference", "--output", output];
        project.run(&args).assert_ok().stdout.clone()
    };
    let table = run("table");
    assert!(table.starts_with("emend ") && table.contains("solved at first attempt   100 % (21–100)\n"), "{table}");
    let once = ["eval", "core", "--task", "fix-typo", "--model", "reference", "--attempts", "1"];
    let once = project.run(&once).assert_ok().stdout.clone();
    assert!(once.contains("1 task, 1 attempt\n") && !once.contains("second attempt"), "{once}");
    let html = run("html");
    assert!(html.starts_with("<!doctype html>") && html.contains("<svg") && !html.contains("<script"), "{html}");
    assert_eq!(run("jsonl").lines().count(), 3);
    let listed = project.run(&["eval", "--list"]);
    assert_eq!(listed.assert_ok().stdout.lines().count(), 40);
}

#[test]
fn wrong_arguments_are_named() {
    let project = Project::new(&[]);
    #[track_caller]
    fn check(outcome: &Outcome, status: i32, text: &str) {
        assert!(outcome.status == status && outcome.stderr.contains(text), "{}: {}", outcome.status, outcome.stderr);
    }
    check(&project.run(&["eval", "core", "--task", "x"]), 2, "the set core has no task \"x\"; --list lists its tasks");
    check(&project.run(&["eval", "nothing.toml"]), 2, "cannot use the set nothing.toml");
    check(&project.run(&["eval", "rustlings:none"]), 2, "none/exercises");
    check(&project.run(&["eval", "core", "--replay", "."]), 3, "there is no recording; make one with --record");
    check(&project.run(&["eval", "core", "--judge", "x"]), 2, "--replay");
    let fallback = ["eval", "core", "--fallback-model", "offline", "--record", "runs"];
    check(&project.run(&fallback), 2, "recordings hold the responses of one model");
    let replayed = ["eval", "core", "--replay", "runs", "--edits", "safe_patch"];
    check(&project.run(&replayed), 2, "--edits and --tool-calls choose recordings only together with --model");
    std::fs::create_dir(project.path("empty")).unwrap();
    check(&project.run(&["eval", "empty"]), 2, "the set empty has no tasks");
    let edits = ["eval", "core", "--model", "reference", "--edits", "safe_patch"];
    check(&project.run(&edits), 2, "reference has its own edit tools");
}

/// A package with the least that a page needs.
const PACKAGE: [(&str, &[u8]); 2] = [
    ("node_modules/emend/package.json", b"{\"name\":\"emend\",\"exports\":{\".\":\"./index.js\"}}"),
    ("node_modules/emend/index.js", b"export {};"),
];

#[test]
fn a_page_needs_recordings_a_package_and_a_browser() {
    let own = "kind = \"program\"\n[[task]]\nid = \"one\"\ninstruction = \"Do it.\"\nfiles = \"//- a\\n1\\n\"\n\
               expected = \"//- a\\n2\\n\"\ncheck = { command = \"true\" }\n";
    let project = Project::new(&[("own.toml", own.as_bytes()), ("other/package.json", b"{\"name\":\"other\"}")]);
    let run = |options: &[&str]| {
        project.run_with(&[&["eval", "core", "--backend", "browser"], options].concat(), &[("CHROMIUM", "/no/browser")])
    };
    #[track_caller]
    fn check(outcome: &Outcome, text: &str) {
        assert!(outcome.status == 2 && outcome.stderr.contains(text), "{}: {}", outcome.status, outcome.stderr);
    }
    check(&run(&[]), "takes all responses from recordings; give --replay DIR");
    project.run(&["eval", "core", "--model", "do-nothing", "--record", "runs"]).assert_ok();
    check(&run(&["--replay", "runs"]), "needs the npm package emend: node_modules/emend/package.json");
    check(&run(&["--replay", "runs", "--package", "other"]), "other is not the package emend");
    for (path, text) in PACKAGE {
        std::fs::create_dir_all(project.path("node_modules/emend")).unwrap();
        std::fs::write(project.path(path), text).unwrap();
    }
    check(&run(&["--replay", "runs"]), "CHROMIUM: /no/browser is not a program");
    check(&run(&["--replay", "runs", "--browser", "none"]), "--browser: none is not a program");
    check(&run(&["--replay", "runs", "--judge", "x"]), "cannot be used with");
    let program = ["eval", "own.toml", "--model", "do-nothing", "--attempts", "1", "--record", "own"];
    project.run(&program).assert_ok();
    let program = ["eval", "own.toml", "--backend", "browser", "--replay", "own"];
    check(&project.run(&program), "the task one needs a command, and a page runs none");
}

/// A program in place of the browser: it keeps its address and waits for the file `gone`.
#[cfg(unix)]
const BROWSER: &str = "#!/bin/sh\nfor last; do :; done\nprintf %s \"$last\" > address.part\nmv address.part address\n\
                       while ! [ -e gone ]; do sleep 0.05; done\necho no display >&2\nexit 7\n";

/// Sends a request as a page of `origin` does. Returns the body of the response.
#[cfg(unix)]
fn http(host: &str, method: &str, path: &str, origin: &str, body: &str) -> String {
    use std::io::{Read as _, Write as _};

    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}");
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[test]
#[cfg(unix)]
fn the_runs_of_a_page_are_compared_with_their_recordings_and_scored() {
    use std::os::unix::fs::PermissionsExt as _;

    use crate::support::PATIENCE;

    let mut files = vec![("browser", BROWSER.as_bytes())];
    files.extend(PACKAGE);
    let project = Project::new(&files);
    std::fs::set_permissions(project.path("browser"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let task = ["--task", "fix-typo", "--model", "do-nothing"];
    project.run(&[&["eval", "core", "--record", "runs"], &task[..]].concat()).assert_ok();
    let native = project.run(&[&["eval", "core", "--replay", "runs", "--output", "jsonl"], &task[..]].concat());
    let options =
        ["eval", "core", "--replay", "runs", "--backend", "browser", "--browser", "browser", "--output", "jsonl"];
    // Plays the page with `play`, which gets the work and a function that posts.
    type Play<'a> = &'a dyn Fn(&Value, &dyn Fn(&str, &Value));
    let run = |play: Play<'_>| {
        let _ = std::fs::remove_file(project.path("address"));
        std::thread::scope(|scope| {
            let outcome = scope.spawn(|| project.run(&[&options[..], &task[..]].concat()));
            let until = std::time::Instant::now() + PATIENCE;
            while !project.path("address").is_file() {
                assert!(std::time::Instant::now() < until && !outcome.is_finished(), "the browser does not start");
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            let url = project.read("address");
            let origin = url.trim_end_matches('/');
            let host = origin.trim_start_matches("http://");
            let work: Value = serde_json::from_str(&http(host, "GET", "/work", origin, "")).unwrap();
            play(&work, &|path, value| drop(http(host, "POST", path, origin, &value.to_string())));
            outcome.join().unwrap()
        })
    };
    // Sends the run of a page that makes no request.
    let recorded: Value = serde_json::from_str(&project.read("runs/do-nothing.json")).unwrap();
    let send = |work: &Value, post: &dyn Fn(&str, &Value), change: &dyn Fn(&mut Value)| {
        let one = &work[0];
        let attempt = |message: &Value| {
            let done = json!({ "kind": "ASSISTANT_TEXT_END", "data": { "text": "Done." } });
            json!({ "message": message, "events": [done], "files": one["task"]["files"], "user_edit_made": false, "requests": [] })
        };
        let attempts: Vec<Value> = one["messages"].as_array().unwrap().iter().map(attempt).collect();
        let mut run = json!({ "model": one["model"], "edits": null, "task": one["task"]["id"], "attempts": attempts });
        change(&mut run);
        post("/run", &run);
        post("/end", &json!({}));
    };
    assert!(!recorded["tasks"]["fix-typo"]["messages"].as_array().unwrap().is_empty());
    let without_requests = run(&|work, post| {
        assert_eq!(work.as_array().map(Vec::len), Some(1));
        assert_eq!(work[0]["responses"].as_array().map(Vec::len), Some(2), "{work}");
        send(work, post, &|_| ());
    });
    assert_eq!(without_requests.status, 1, "{}", without_requests.stderr);
    assert!(without_requests.stderr.contains("2 recorded responses were not requested"), "{}", without_requests.stderr);
    let rows = |outcome: &Outcome| lines(outcome).pop().unwrap();
    assert_eq!(rows(&without_requests)["solved"], rows(&native)["solved"], "the runs are scored all the same");
    let other_message = run(&|work, post| send(work, post, &|run| run["attempts"][0]["message"] = "Hello".into()));
    assert!(other_message.stderr.contains("are not those that the scores lead to"), "{}", other_message.stderr);
    let broken = run(&|_, post| post("/failure", &"TypeError: no such module".into()));
    assert!(broken.status != 0 && broken.stderr.contains("the page failed: TypeError: no such"), "{}", broken.stderr);
    let incomplete = run(&|_, post| post("/end", &json!({})));
    assert!(incomplete.stderr.contains("the page made 0 of 1 runs"), "{}", incomplete.stderr);
    let ended = run(&|_, _| std::fs::write(project.path("gone"), "").unwrap());
    assert!(ended.stderr.contains("the browser ended with exit status: 7: no display"), "{}", ended.stderr);
}

//! The table of settings in `docs/settings.md`: each setting is accepted as an option, in a file and as a variable, and
//! the new ones have an effect.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Outcome, Project, answer, answer_each, stall};

const PAGE: &str = include_str!("../../../../docs/settings.md");

/// A value of each setting as text, and as `emend config` prints it.
fn samples() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("env", "ssh:box:/srv/app", json!("ssh:box:/srv/app")),
        ("model", "anthropic:m", json!("anthropic:m")),
        ("effort", "low", json!("low")),
        ("profile", "gemini", json!("gemini")),
        ("edits", "edit_lines", json!("edit_lines")),
        ("subagents", "true", json!(true)),
        ("outline", "true", json!(true)),
        ("instructions", "Be brief.", json!("Be brief.")),
        ("max_tool_rounds", "7", json!(7)),
        ("max_tokens", "20k", json!(20_000)),
        ("max_cost", "1.5", json!(1.5)),
        ("max_time", "2m", json!("120s")),
        ("session_max_tokens", "30k", json!(30_000)),
        ("session_max_cost", "2.5", json!(2.5)),
        ("session_max_time", "3m", json!("180s")),
        ("review", "true", json!(true)),
        ("read_only", "true", json!(true)),
        ("allow", "shell:ls *", json!("shell:ls *")),
        ("ask", "write_file", json!("write_file")),
        ("deny", "web_fetch", json!("web_fetch")),
        ("sandbox", "true", json!(true)),
        ("sandbox_write", "/opt/x", json!("/opt/x")),
        ("web", "true", json!(true)),
        ("fallback_model", "openai:m", json!("openai:m")),
        ("fallback_attempts", "3", json!(3)),
        ("fallback_after", "30s", json!("30s")),
        ("tool_calls", "constrained", json!("constrained")),
        ("provider_options", r#"{"openai":{"store":false}}"#, json!({"openai": {"store": false}})),
        ("web_search", "true", json!(true)),
        ("beta", "some-beta", json!("some-beta")),
        ("safety", "HARM=LOW", json!("HARM=LOW")),
        ("streaming", "off", json!(false)),
        ("retries", "0", json!(0)),
        ("context_window", "32k", json!(32_000)),
        ("compaction", "none", json!("none")),
        ("system_prompt", "You edit.", json!("You edit.")),
        ("documents", "NOTES.md", json!("NOTES.md")),
        ("parallel_tools", "off", json!(false)),
        ("loop_window", "4", json!(4)),
        ("max_responses", "9", json!(9)),
        ("max_tool_calls", "12", json!(12)),
        ("max_schema_retries", "3", json!(3)),
        ("hide_secrets", "true", json!(true)),
        ("max_subagents", "2", json!(2)),
        ("max_subagent_depth", "2", json!(2)),
        ("output_chars", "shell=500", json!("shell=500")),
        ("output_lines", "grep=5", json!("grep=5")),
        ("command_timeout", "20s", json!("20s")),
        ("max_command_timeout", "20m", json!("1200s")),
        ("env_inherit", "core", json!("core")),
        ("env_keep", "CI_TOKEN", json!("CI_TOKEN")),
        ("env_drop", "DEBUG", json!("DEBUG")),
        ("index", "off", json!(false)),
        ("web_app", "dist", json!("dist")),
    ]
}

/// Returns the names in the cells of each line of the page: setting, option, key in files, variable. `None` for a cell
/// with a reason.
fn lines() -> Vec<(String, [Option<String>; 3])> {
    let table = PAGE.lines().filter(|line| line.starts_with("| ")).skip(1);
    table
        .map(|line| {
            let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
            let name = |cell: &str| Some(cell.strip_prefix('`')?.strip_suffix('`')?.to_owned());
            (cells[0].to_owned(), [name(cells[3]), name(cells[4]), name(cells[5])])
        })
        .collect()
}

/// Returns the value and the source of a setting as `emend config` prints them.
fn shown(outcome: &Outcome, name: &str) -> (Value, String) {
    let stdout = &outcome.assert_ok().stdout;
    let lines = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let line = lines.rev().find(|line| line["name"] == name).unwrap_or_default();
    (line["value"].clone(), line["source"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn the_defaults_are_shown_with_their_values() {
    let project = Project::new(&[]);
    let plain = project.run(&["config", "--json", "--model", "offline"]);
    for (name, expected) in [
        ("fallback_attempts", json!(2)),
        ("retries", json!(2)),
        ("loop_window", json!(10)),
        ("max_schema_retries", json!(5)),
        ("max_subagents", json!(8)),
        ("max_subagent_depth", json!(1)),
        ("command_timeout", json!("10s")),
        ("max_command_timeout", json!("600s")),
        ("documents", json!("AGENTS.md")),
        ("context_window", Value::Null),
        ("max_tokens", Value::Null),
        ("routing.agent_mode", json!("hybrid_auto")),
        ("routing.hybrid_max_local_attempts", json!(2)),
        ("routing.hybrid_remote_on_schema_fail", json!(true)),
    ] {
        assert_eq!(shown(&plain, name), (expected, "default".to_owned()), "{name}");
    }
    // They are those of the model and of other settings.
    let args = ["config", "--json", "--model", "claude-sonnet-4-5", "--max-command-timeout", "100s"];
    let claude = project.run_with(&args, &[("EMEND_FALLBACK_ATTEMPTS", "3")]);
    for (name, expected) in [
        ("command_timeout", json!("100s")),
        ("documents", json!("CLAUDE.md")),
        ("context_window", json!(200_000)),
        ("edits", json!("own")),
        ("routing.hybrid_max_local_attempts", json!(3)),
    ] {
        assert_eq!(shown(&claude, name), (expected, "default".to_owned()), "{name}");
    }
    // No line of the table leaves the value open.
    let table = project.run(&["config"]).assert_ok().stdout.clone();
    let (settings, _) = table.split_once("\nyour file").unwrap();
    assert!(settings.lines().any(|line| line.split_whitespace().eq(["max_cost", "no", "limit", "default"])), "{table}");
    assert!(settings.lines().all(|line| line.split_whitespace().nth(1) != Some("-")), "{table}");
}

#[test]
fn every_setting_is_accepted_as_option_in_a_file_and_as_variable() {
    let samples = samples();
    let (mut options, mut file, mut variables) =
        (vec!["config".to_owned(), "--json".to_owned()], String::new(), vec![]);
    let mut settings = Vec::new();
    for (name, cells) in lines() {
        let [Some(option), Some(key), Some(variable)] = cells else { continue };
        let (_, text, value) = samples.iter().find(|sample| sample.0 == name).unwrap_or_else(|| panic!("{name}"));
        options.push(option.clone());
        options.extend((*text != "true").then(|| (*text).to_owned()));
        file.push_str(&format!("{key} = {}\n", Value::from(*text)));
        variables.push((variable.clone(), *text));
        settings.push((name, value, option, variable));
    }
    assert_eq!(settings.len(), samples.len());
    let project = Project::new(&[("config/emend/config.toml", file.as_bytes())]);
    let home = project.path("config");
    let by_option = project.run(&options.iter().map(String::as_str).collect::<Vec<_>>());
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let by_variable = project.run_with(&["config", "--json"], &variables);
    let by_file = project.run_with(&["config", "--json"], &[("XDG_CONFIG_HOME", home.to_str().unwrap())]);
    for (name, value, option, variable) in settings {
        assert_eq!(shown(&by_option, &name), (value.clone(), option), "{name}");
        assert_eq!(shown(&by_variable, &name), (value.clone(), variable), "{name}");
        let (found, source) = shown(&by_file, &name);
        assert!(found == *value && source.ends_with("config.toml"), "{name}: {found} {source}");
    }
}

#[test]
fn no_cell_of_the_table_is_empty() {
    for line in PAGE.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert!(cells.len() == 9 && cells.iter().all(|cell| !cell.is_empty()), "{line}");
        for number in cells.iter().filter_map(|cell| cell.strip_prefix('(')?.strip_suffix(')')?.parse::<usize>().ok()) {
            assert!(PAGE.contains(&format!("\n{number}. ")), "{line}");
        }
    }
}

#[test]
fn an_agent_that_only_reads_has_no_other_tools() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let calls = [("write_file", json!({"file_path": "a.txt", "content": "x"})), ("shell", json!({"command": "ls"}))];
    let outcome = project.run_calls(&calls, &["--read-only", "--allow", "*"]);
    assert_eq!(project.read("a.txt"), "alpha\n");
    assert!(outcome.stdout.contains("unknown_tool"), "{}", outcome.stdout);
    let calls = [("read_file", json!({"file_path": "a.txt"}))];
    let outcome = project.run_calls(&calls, &["--read-only"]);
    assert!(outcome.assert_ok().stdout.contains("alpha"), "{}", outcome.stdout);
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A response of the Chat Completions API with this text.
fn says(text: &str) -> String {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
    format!("{OK}data: {chunk}\n\ndata: [DONE]\n\n")
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.rsplit_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn another_model_responds_if_the_first_fails() {
    let refused = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (url, requests) =
        answer_each(move |request| if body(request)["model"] == "a" { refused.to_owned() } else { says("Second.") });
    let args = ["run", "go", "--model", "openai_compatible:a", "--fallback-model", "openai_compatible:b"];
    let args = [&args[..], &["--fallback-attempts", "1"]].concat();
    let outcome = Project::new(&[]).run_with(&args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
    assert_eq!(outcome.assert_ok().stdout, "Second.\n", "{}", outcome.stderr);
    assert!(outcome.stderr.contains("The fallback model responds (openai_compatible)."), "{}", outcome.stderr);
    let models: Vec<Value> = requests.try_iter().map(|request| body(&request)["model"].clone()).collect();
    assert_eq!(models, ["a", "b"]);
}

#[test]
fn a_model_without_tool_calls_writes_them_as_objects() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let (url, requests) = answer_each(|request| {
        let is_first = !request.contains("Result of read_file");
        let call = json!({"tool": "read_file", "arguments": {"file_path": "a.txt"}});
        says(&if is_first { call } else { json!({"answer": "It says alpha."}) }.to_string())
    });
    let args = ["run", "go", "--model", "openai_compatible:m", "--tool-calls", "constrained"];
    let outcome = project.run_with(&args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
    assert_eq!(outcome.assert_ok().stdout, "It says alpha.\n", "{}", outcome.stderr);
    let requests: Vec<Value> = requests.try_iter().map(|request| body(&request)).collect();
    assert!(requests[0]["tools"].is_null() && requests[0]["response_format"]["type"] == "json_schema");
    assert!(requests[1].to_string().contains("alpha"));
}

#[test]
fn settings_of_requests_reach_the_provider() {
    let project = Project::new(&[
        ("NOTES.md", b"Notes for agents."),
        ("AGENTS.md", b"Another document."),
        (
            "config/emend/config.toml",
            b"system_prompt = \"You only edit.\"\ndocuments = \"NOTES.md\"\n[provider_options.openai_compatible]\nseed = 7\n",
        ),
    ]);
    let (url, requests) = answer(says("Done."));
    let home = project.path("config");
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str()), ("XDG_CONFIG_HOME", home.to_str().unwrap())];
    project.run_with(&["run", "go", "--model", "openai_compatible:m"], &variables).assert_ok();
    let sent = body(&requests.recv().unwrap());
    assert_eq!(sent["seed"], 7);
    let prompt = sent["messages"][0].to_string();
    assert!(prompt.contains("You only edit.") && prompt.contains("Notes for agents."), "{prompt}");
    assert!(!prompt.contains("Another document."), "{prompt}");
    let sse = answer("HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}".to_owned());
    let args = ["run", "go", "--model", "anthropic:m", "--beta", "b-1", "--web-search"];
    project.run_with(&args, &[("ANTHROPIC_BASE_URL", &sse.0), ("ANTHROPIC_API_KEY", "k")]);
    let request = sse.1.recv().unwrap();
    assert!(request.to_lowercase().contains("anthropic-beta: b-1"), "{request}");
    assert!(body(&request)["tools"].to_string().contains("web_search_20250305"), "{request}");
}

#[test]
fn secrets_are_hidden_and_tool_calls_are_limited_as_set() {
    let project = Project::new(&[(".env", b"KEY=hunter2\n"), ("a.txt", b"KEY of a\n")]);
    let run = |options: &[&str]| {
        let mut process = project.command(&["run", "go", "--json", "--model", "openai_compatible:m"]);
        let calls = [".env", "a.txt"].map(|path| ("read_file", json!({ "file_path": path })));
        let url = crate::support::scripted(&calls);
        Outcome::of(process.args(options).env("OPENAI_COMPATIBLE_BASE_URL", url).output().unwrap()).stdout
    };
    let (shown, hidden, limited) = (run(&[]), run(&["--hide-secrets"]), run(&["--max-tool-calls", "1"]));
    assert!(shown.contains("hunter2") && shown.contains("KEY of a"), "{shown}");
    assert!(!hidden.contains("hunter2") && hidden.contains("KEY of a"), "{hidden}");
    assert!(limited.contains("\"budget\":\"tool_calls\"") && !limited.contains("KEY of a"), "{limited}");
}

#[test]
fn a_request_has_the_effort_and_the_tools_that_are_set() {
    fn sent(options: &[&str]) -> Value {
        let (url, requests) = answer(says("Done."));
        let args = [&["run", "go", "--model", "openai_compatible:m"], options].concat();
        Project::new(&[]).run_with(&args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]).assert_ok();
        body(&requests.recv().unwrap())
    }
    fn tools(sent: &Value) -> BTreeSet<&str> {
        sent["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
    }
    #[track_caller]
    fn check(options: &[&str], effort: Value, more: &[&str]) {
        let (usual, changed) = (sent(&[]), sent(options));
        assert_eq!(changed["reasoning_effort"], effort, "{options:?}");
        let added: Vec<&str> = tools(&changed).difference(&tools(&usual)).copied().collect();
        assert_eq!(added, more, "{options:?}");
        assert!(tools(&usual).is_subset(&tools(&changed)), "{options:?}");
    }
    check(&["--effort", "low"], json!("low"), &[]);
    check(&["--subagents"], Value::Null, &["close_agent", "send_input", "spawn_agent", "wait"]);
    check(&["--web"], Value::Null, &["web_fetch"]);
    check(&["--outline"], Value::Null, &["outline"]);
}

#[test]
fn another_model_responds_after_the_time_that_is_set() {
    let (silent, _requested) = stall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: wait\n\n");
    let (url, _requests) = answer(says("Second."));
    let variables = [
        ("ANTHROPIC_API_KEY", "key"),
        ("ANTHROPIC_BASE_URL", silent.as_str()),
        ("OPENAI_COMPATIBLE_BASE_URL", url.as_str()),
    ];
    // Without the setting, the run ends at the limit of its time.
    let args = ["run", "go", "--model", "anthropic:m", "--fallback-model", "openai_compatible:b", "--max-time", "20s"];
    let begun = Instant::now();
    let outcome = Project::new(&[]).run_with(&[&args[..], &["--fallback-after", "2s"]].concat(), &variables);
    assert_eq!(outcome.assert_ok().stdout, "Second.\n", "{}", outcome.stderr);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[cfg(unix)]
#[test]
fn a_large_project_has_an_index_unless_it_is_switched_off() {
    fn index(state: &std::path::Path) -> Option<std::path::PathBuf> {
        let projects = std::fs::read_dir(state.join("emend")).ok()?;
        projects.map(|project| project.unwrap().path().join("index")).find(|index| index.exists())
    }
    let names: Vec<String> = (0..2_000).map(|number| format!("{number}.txt")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"alpha\n"[..])).collect();
    for (switch, has_index, wait) in [("on", true, crate::support::PATIENCE), ("off", false, Duration::from_secs(2))] {
        let project = Project::in_memory(&files);
        let state = project.state().to_owned();
        // The first search starts the work on the index.
        let url = crate::support::scripted_when(&[("grep", json!({"pattern": "alpha"}))], move |request| {
            let begun = Instant::now();
            while request.contains("tool_call_id") && index(&state).is_none() && begun.elapsed() < wait {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let args = ["run", "go", "--model", "openai_compatible:m", "--index", switch];
        project.run_with(&args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]).assert_ok();
        assert_eq!(index(project.state()).is_some(), has_index, "{switch}");
    }
}

#[cfg(unix)]
#[test]
fn limits_and_variables_of_commands_are_as_set() {
    let project = Project::new(&[]);
    let run = |options: &[&str], command: &str| {
        let mut process = project.command(&["run", "go", "--json", "--model", "openai_compatible:m", "--allow", "*"]);
        let url = crate::support::scripted(&[("shell", json!({ "command": command }))]);
        let process = process.args(options).env("OPENAI_COMPATIBLE_BASE_URL", url);
        let process = process.env("DEMO_TOKEN", "kept-value").env("DEMO", "dropped-value").env("TZ", "UTC-3");
        Outcome::of(process.output().unwrap()).stdout
    };
    for (set, expected) in [
        ("harmless", [false, true, true]),
        ("all", [true, true, true]),
        ("core", [false, false, true]),
        ("none", [false, false, false]),
    ] {
        let shown = run(&["--env-inherit", set], "echo $DEMO_TOKEN; echo $DEMO; echo zone=$TZ");
        let is_shown = ["kept-value", "dropped-value", "zone=UTC-3"].map(|value| shown.contains(value));
        assert_eq!(is_shown, expected, "{set}: {shown}");
    }
    let plain = run(&[], "echo $DEMO_TOKEN; echo $DEMO");
    assert!(!plain.contains("kept-value") && plain.contains("dropped-value"), "{plain}");
    let changed = run(&["--env-keep", "DEMO_TOKEN", "--env-drop", "DEMO"], "echo $DEMO_TOKEN; echo $DEMO");
    assert!(changed.contains("kept-value") && !changed.contains("dropped-value"), "{changed}");
    let late = run(&["--command-timeout", "1s"], "sleep 20");
    assert!(late.contains("timed out"), "{late}");
}

#[test]
fn the_model_sees_as_much_of_an_output_as_is_set() {
    let text: String = (1..=400).map(|number| format!("{number}\n")).collect();
    let seen = |options: &[&str]| {
        let (url, requests) = answer_each(|request| {
            let call = json!({"index": 0, "id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{\"file_path\": \"a.txt\"}"}});
            let chunk =
                json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
            if request.contains("tool_call_id") {
                says("Done.")
            } else {
                format!("{OK}data: {chunk}\n\ndata: [DONE]\n\n")
            }
        });
        let args = [&["run", "go", "--model", "openai_compatible:m"], options].concat();
        let project = Project::new(&[("a.txt", text.as_bytes())]);
        project.run_with(&args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]).assert_ok();
        body(&requests.try_iter().last().unwrap())["messages"].as_array().unwrap().last().unwrap().to_string()
    };
    for (options, is_whole) in
        [(&[][..], true), (&["--output-chars", "read_file=300"], false), (&["--output-lines", "read_file=20"], false)]
    {
        let shown = seen(options);
        assert_eq!(shown.contains("| 200"), is_whole, "{options:?}: {shown}");
        assert!(shown.contains("| 400"), "{options:?}: {shown}");
    }
}

#[test]
fn wrong_values_are_named() {
    #[track_caller]
    fn check(args: &[&str], expected: &str) {
        let outcome = Project::new(&[]).run(&[&["config"], args].concat());
        assert!(outcome.status != 0 && outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
    check(&["--output-chars", "shel=1"], "unknown tool \"shel\"; did you mean shell?");
    check(&["--safety", "HARM"], "expected CATEGORY=THRESHOLD");
    check(&["--provider-options", "{\"openai\": 1}"], "the value of \"openai\" is not an object");
    check(&["--provider-options", "[]"], "expected a JSON object");
    check(&["--fallback-attempts", "3"], "--fallback-model");
}

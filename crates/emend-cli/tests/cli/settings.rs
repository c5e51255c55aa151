//! Settings: precedence of the sources, limits of project files, and errors.

use crate::support::{Outcome, Project, answer};

fn project(own: &str, of_project: &str) -> Project {
    Project::new(&[
        ("a.txt", b"alpha\n"),
        ("config/emend/config.toml", own.as_bytes()),
        (".emend.toml", of_project.as_bytes()),
    ])
}

fn run(project: &Project, args: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let mut command = project.command(args);
    command.env("XDG_CONFIG_HOME", project.path("config")).envs(variables.iter().copied());
    Outcome::of(command.output().unwrap())
}

#[test]
fn flags_win_over_the_environment_over_the_project_over_the_user() {
    let project = project(
        "model = \"anthropic:from-file\"\neffort = \"low\"\nprofile = \"gemini\"\nallow = [\"shell:cargo *\"]\nweb = true\n",
        "effort = \"high\"\nprofile = \"openai\"\nreview = true\nask = [\"write_file\"]\ndeny = [\"shell:rm *\"]\n",
    );
    let outcome = run(&project, &["config", "--profile", "none", "--deny", "web_fetch"], &[("EMEND_EFFORT", "max")]);
    let shown = outcome.assert_ok().stdout.replace(project.root.path().to_str().unwrap(), "ROOT");
    expect_test::expect![[r#"
        env                  this machine         default
        model                anthropic:from-file  ROOT/config/emend/config.toml
        effort               max                  EMEND_EFFORT
        profile              none                 --profile
        edits                Emend's own tools    default
        subagents            false                default
        outline              false                default
        instructions         none                 default
        max_tool_rounds      100                  default
        max_tokens           no limit             default
        max_cost             no limit             default
        max_time             no limit             default
        session_max_tokens   no limit             default
        session_max_cost     no limit             default
        session_max_time     no limit             default
        review               true                 ./.emend.toml
        read_only            false                default
        allow                shell:cargo *        ROOT/config/emend/config.toml
        ask                  write_file           ./.emend.toml
        deny                 shell:rm *           ./.emend.toml
        deny                 web_fetch            --deny
        sandbox              false                default
        sandbox_write        none                 default
        web                  true                 ROOT/config/emend/config.toml
        fallback_model       none                 default
        fallback_attempts    2                    default
        fallback_after       no limit             default
        tool_calls           native               default
        provider_options     none                 default
        web_search           false                default
        beta                 none                 default
        safety               none                 default
        streaming            true                 default
        retries              2                    default
        context_window       unknown              default
        compaction           prune                default
        system_prompt        by family            default
        documents            AGENTS.md            default
        parallel_tools       true                 default
        loop_window          10                   default
        max_responses        no limit             default
        max_tool_calls       no limit             default
        max_schema_retries   5                    default
        hide_secrets         false                default
        max_subagents        8                    default
        max_subagent_depth   1                    default
        output_chars         by tool              default
        output_lines         by tool              default
        command_timeout      10s                  default
        max_command_timeout  600s                 default
        env_inherit          harmless             default
        env_keep             none                 default
        env_drop             none                 default
        index                true                 default
        web_app              none                 default

        service.max_tool_calls_per_job             12           default
        service.max_search_results_default         20           default
        service.max_search_results_cap             50           default
        service.max_search_snippet_lines           20           default
        service.max_read_bytes_default             65536        default
        service.max_read_lines_default             800          default
        service.poll_interval_ms                   2000         default
        service.max_schema_retries                 5            default
        service.max_hunk_lines                     80           default
        service.max_hunk_bytes                     8192         default
        service.max_sessions                       25           default
        service.max_jobs_per_session               40           default
        service.max_events_per_job                 3000         default
        service.completed_ttl_hours                72           default
        service.max_reruns                         2            default
        service.max_follow_ups                     20           default
        service.max_running_jobs                   16           default
        service.max_text_bytes                     1048576      default
        routing.agent_mode                         hybrid_auto  default
        routing.hybrid_max_local_attempts          2            default
        routing.hybrid_remote_on_schema_fail       true         default
        routing.hybrid_remote_on_context_overflow  true         default
        routing.hybrid_remote_on_timeout_ms        no limit     default

        your file     ROOT/config/emend/config.toml
        project file  ./.emend.toml

        anthropic           key: none; set ANTHROPIC_API_KEY
        openai              key: none; set OPENAI_API_KEY
        gemini              key: none; set GEMINI_API_KEY
        openai_compatible   key: none, address: none; set OPENAI_COMPATIBLE_BASE_URL
    "#]]
    .assert_eq(&shown);
    let outcome = run(&project, &["config", "--json"], &[("EMEND_WEB", "0"), ("EMEND_ALLOW", "shell:a\nshell:b")]);
    let lines: Vec<serde_json::Value> =
        outcome.assert_ok().stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| lines.iter().filter(|line| line["name"] == name).collect::<Vec<_>>();
    assert_eq!((&of("web")[0]["value"], of("web")[0]["source"].as_str()), (&false.into(), Some("EMEND_WEB")));
    assert_eq!(of("allow").len(), 3);
}

#[test]
fn values_of_tables_are_listed_with_their_sources() {
    let project = project(
        "[service]\nmax_sessions = 30\nmax_follow_ups = 7\n[routing]\nagent_mode = \"local\"\n",
        "[service]\nmax_sessions = 3\nmax_follow_ups = 9\n",
    );
    let variables = [("EMEND_MAX_RERUNS", "1"), ("EMEND_HYBRID_REMOTE_ON_TIMEOUT_MS", "900")];
    let outcome = run(&project, &["config"], &variables);
    let text = outcome.assert_ok().stdout.replace(project.root.path().to_str().unwrap(), "ROOT");
    let source_of = |name: &str| {
        let line =
            text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    for (name, expected) in [
        ("service.max_sessions", "3 ./.emend.toml"),
        // A project only lowers limits.
        ("service.max_follow_ups", "7 ROOT/config/emend/config.toml"),
        ("service.max_reruns", "1 EMEND_MAX_RERUNS"),
        ("service.max_running_jobs", "16 default"),
        ("routing.agent_mode", "local ROOT/config/emend/config.toml"),
        ("routing.hybrid_remote_on_timeout_ms", "900 EMEND_HYBRID_REMOTE_ON_TIMEOUT_MS"),
        ("routing.hybrid_max_local_attempts", "2 default"),
    ] {
        assert_eq!(source_of(name), expected, "{name}");
    }
    let rows = run(&project, &["config", "--json"], &variables);
    let row = r#"{"name":"routing.agent_mode","value":"local","source":"#;
    assert!(rows.assert_ok().stdout.contains(row), "{}", rows.stdout);
}

/// A response of a model that calls a tool in every response.
fn endless() -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"read_file","arguments":"{\"file_path\": \"no.md\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1000,"completion_tokens":10,"total_tokens":1010}}"#;
    format!("{head}data: {call}\n\ndata: [DONE]\n\n")
}

#[test]
fn a_model_that_never_ends_is_stopped_with_a_status_of_its_own() {
    #[track_caller]
    fn check(args: &[&str], of_project: &str, stop: &str) {
        let project = project("", of_project);
        let (url, _requests) = answer(endless());
        let args = [&["run", "go", "--model", "openai_compatible:m"], args].concat();
        let outcome = run(&project, &args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (5, ""), "{}", outcome.stderr);
        let line = format!("  stopped: {stop}; to continue: emend run --continue \"go on\"\n");
        assert!(outcome.stderr.contains(&line), "{}", outcome.stderr);
    }
    check(&["--max-turns", "2"], "", "the limit is reached after 2 rounds of tool calls");
    check(&["--max-turns", "30"], "max_tool_rounds = 3\n", "the limit is reached after 30 rounds of tool calls");
    check(&[], "max_tool_rounds = 3\n", "the limit is reached after 3 rounds of tool calls");
    check(&["--max-tokens", "2k"], "", "the limit of 2000 tokens is reached (2020 used)");
    check(&["--max-time", "1s", "--max-turns", "0"], "", "the limit of 1 s is reached");
    // The limit of responses is one of the conversation, so that a continuation with the same limit stops at once.
    let project_of_two = project("", "");
    let args = ["run", "go", "--model", "openai_compatible:m", "--max-responses", "2"];
    for (args, advice) in [
        (args.to_vec(), "after 2 rounds of tool calls; to continue: emend run --continue \"go on\"\n"),
        (
            [&args[..], &["--continue"]].concat(),
            "after 0 rounds of tool calls; the conversation has 2 responses; to continue, raise --max-responses\n",
        ),
    ] {
        let (url, _requests) = answer(endless());
        let outcome = run(&project_of_two, &args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
        assert_eq!((outcome.status, outcome.stderr.contains(advice)), (5, true), "{}", outcome.stderr);
    }
    let (url, _requests) = answer(endless());
    let project = project("", "");
    let args = ["run", "go", "--model", "openai_compatible:m", "--max-cost", "1", "--max-turns", "12"];
    let outcome = run(&project, &args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
    assert!(outcome.stderr.contains("warning: The price of this model is unknown"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("warning: the model repeats its tool calls"), "{}", outcome.stderr);
}

#[test]
fn a_conversation_that_does_not_fit_ends_a_run_with_a_status_of_its_own() {
    let body = r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#;
    let length = body.len();
    let (url, _requests) =
        answer(format!("HTTP/1.1 400 Bad Request\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"));
    let project = project("", "");
    let args = ["run", "go", "--model", "openai_compatible:m"];
    let outcome = run(&project, &args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (4, ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("no longer fits the model"), "{}", outcome.stderr);
}

#[test]
fn a_long_wait_that_the_provider_asks_for_is_named() {
    let limited =
        "HTTP/1.1 429 Too Many Requests\r\nretry-after: 600\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (url, _requests) = answer(limited.to_owned());
    let args = ["run", "go", "--model", "openai_compatible:m"];
    let outcome = run(&project("", ""), &args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
    assert_eq!((outcome.status, outcome.stderr.contains("asks to wait 600 s.")), (4, true), "{}", outcome.stderr);
}

#[test]
fn the_model_gets_the_users_instructions_before_those_of_the_option() {
    let project = project("", "");
    std::fs::write(project.path("config/emend/AGENTS.md"), "Speak plainly.\n").unwrap();
    std::fs::write(project.path("more.md"), "Be brief.\n").unwrap();
    for given in ["Be brief.", "@more.md"] {
        let not_found = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let (url, requests) = answer(not_found.to_owned());
        let args = ["run", "go", "--model", "openai_compatible:m", "--instructions", given];
        run(&project, &args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
        let request = requests.recv().unwrap();
        assert!(request.contains("Speak plainly.\\n\\nBe brief."), "{request}");
    }
    let outcome = run(&project, &["run", "go", "--instructions", "@none.md"], &[]);
    assert_eq!((outcome.status, outcome.stderr.contains("none.md does not exist")), (3, true), "{}", outcome.stderr);
}

#[test]
fn a_file_that_the_users_settings_name_is_beside_them() {
    let project = project("instructions = \"@own.md\"\n", "");
    // A file of the project does not take its place.
    std::fs::write(project.path("own.md"), "Of the project.\n").unwrap();
    let outcome = run(&project, &["run", "go"], &[]);
    let expected = format!("{} does not exist", project.path("config/emend/own.md").display());
    assert_eq!((outcome.status, outcome.stderr.contains(&expected)), (3, true), "{}", outcome.stderr);
    std::fs::write(project.path("config/emend/own.md"), "Of the user.\n").unwrap();
    let (url, requests) = answer("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned());
    run(&project, &["run", "go", "--model", "openai_compatible:m"], &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
    let request = requests.recv().unwrap();
    assert!(request.contains("Of the user.") && !request.contains("Of the project."), "{request}");
}

#[test]
fn a_run_uses_the_model_of_a_conversation_and_names_it() {
    let project = project("", "");
    let variables = [
        ("ANTHROPIC_API_KEY", "marked-key"),
        ("ANTHROPIC_BASE_URL", "http://marked-user@127.0.0.1:1/v1?marked=query"),
        ("EMEND_MODLE", "x"),
    ];
    let outcome = run(&project, &["run", "go", "--max-time", "1s"], &variables);
    assert!(outcome.stderr.contains("emend: the model is anthropic:"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("EMEND_MODLE is not a setting"), "{}", outcome.stderr);
    let outcome = run(&project, &["config"], &variables);
    let (_, keys) = outcome.assert_ok().stdout.split_once("project file").unwrap();
    expect_test::expect![[r#"
          ./.emend.toml

        anthropic           key: ANTHROPIC_API_KEY, address: http://127.0.0.1:1/v1 (ANTHROPIC_BASE_URL)
        openai              key: none; set OPENAI_API_KEY
        gemini              key: none; set GEMINI_API_KEY
        openai_compatible   key: none, address: none; set OPENAI_COMPATIBLE_BASE_URL
    "#]]
    .assert_eq(keys);
    assert!(!outcome.stdout.contains("marked"), "{}", outcome.stdout);
}

#[test]
fn a_project_file_can_restrict_the_agent_and_not_give_it_more_rights() {
    let project = project("", "deny = [\"edit_file\"]\n");
    let outcome = run(&project, &["run", "rename alpha to omega", "--allow", "edit_file"], &[]);
    assert!(outcome.assert_ok().stdout.contains("The user's rules do not allow"), "{}", outcome.stdout);
    assert_eq!(project.read("a.txt"), "alpha\n");
    for text in ["allow = [\"shell\"]", "model = \"anthropic:m\"", "web = true", "review = false"] {
        std::fs::write(project.path(".emend.toml"), text).unwrap();
        let outcome = run(&project, &["run", "run touch x"], &[]);
        assert_eq!(outcome.status, 3, "{text}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(".emend.toml: a project file can"), "{text}: {}", outcome.stderr);
        assert!(!project.path("x").exists());
    }
}

#[test]
fn errors_name_unknown_settings_and_invalid_values() {
    #[track_caller]
    fn check(own: &str, variables: &[(&str, &str)], expected: &str) {
        let outcome = run(&project(own, ""), &["config"], variables);
        assert_eq!((outcome.status, outcome.stderr.contains(expected)), (3, true), "{}", outcome.stderr);
    }
    check("modle = \"offline\"", &[], "unknown setting \"modle\"; did you mean \"model\"?");
    check("openai_api_key = \"sk\"", &[], "API keys are read from environment variables only");
    check("model = \"nobody:m\"", &[], "model: unknown provider \"nobody\"");
    check("model = ", &[], "config.toml: TOML parse error at line 1");
    check("", &[("EMEND_REVIEW", "perhaps")], "EMEND_REVIEW: review: expected true or false, not \"perhaps\"");
}

#[cfg(unix)]
#[test]
fn a_fifo_as_settings_file_is_refused_without_blocking() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let pipe = project.path(".emend.toml");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let outcome = run(&project, &["run", "rename alpha to omega"], &[]);
    assert_eq!((outcome.status, outcome.stderr.contains("not a regular file")), (3, true), "{}", outcome.stderr);
}

#[test]
fn a_model_call_is_repeated_as_often_as_set() {
    for (args, n_requests) in [(&[][..], 3), (&["--retries", "0"], 1), (&["--retries", "4"], 5)] {
        let head = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 2\r\nconnection: close";
        let (url, requests) = answer(format!("{head}\r\n\r\n{{}}"));
        let args = [&["run", "go", "--model", "openai_compatible:m"], args].concat();
        let outcome = run(&project("", ""), &args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
        assert_eq!((outcome.status, requests.try_iter().count()), (4, n_requests), "{args:?}: {}", outcome.stderr);
    }
}

#[test]
fn the_cost_of_a_model_with_a_known_price_is_printed_and_limited() {
    let known = emend_llm::list_models(Some("openai")).find(|model| model.input_cost_per_million > Some(0.0)).unwrap();
    let model = format!("openai_compatible:{}", known.id);
    let printed = |args: &[&str]| {
        let (url, requests) = answer(endless());
        let args = [&["run", "go", "--output", "json", "--model", &model], args].concat();
        let outcome = run(&project("", ""), &args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
        let result: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        (outcome.status, requests.try_iter().count() as f64, result["cost_usd"].as_f64().unwrap(), outcome.stderr)
    };
    let usage = emend_llm::Usage { input_tokens: 1_000, output_tokens: 10, ..emend_llm::Usage::default() };
    let each = known.cost_usd(&usage).unwrap();
    let (_, n_requests, cost, _) = printed(&["--max-turns", "3"]);
    assert!(n_requests > 2.0 && (cost - n_requests * each).abs() < each / 100.0, "{cost}: {n_requests} of {each}");
    let limit = format!("{:.6}", 1.5 * each);
    let (status, n_requests, _, stderr) = printed(&["--max-cost", &limit]);
    assert_eq!((status, n_requests), (5, 2.0), "{stderr}");
}

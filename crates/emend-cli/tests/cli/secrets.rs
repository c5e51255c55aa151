//! Marked secrets in the environment and in files: neither the output of the program nor its files contain them,
//! unless a command of the user prints them. `tests/it/secrets` tests responses of providers.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{Outcome, Project, answer, covers, scripted, serve};

const KEY: &str = "Zq7KxWpJ2m-93bTtR1v9";
const QUERY: &str = "Qs9FwGz4Td-27hPpX3k8";
const PASSWORD: &str = "Pw5MjCk6Vn-84rSsB2f7";
const OTHER: &str = "Ot2VnHc8Ry-46gJjL7q5";
const FILE: &str = "Ev2RdHx7Jg-62wLlK4t3";
/// Text that every kind of output must contain.
const CONTROL: &str = "plain-control";

/// The wire formats: environment variable, model, end of the path.
const PROVIDERS: [(&str, &str, &str); 4] = [
    ("ANTHROPIC", "anthropic:claude-sonnet-4-5", "/messages"),
    ("OPENAI", "openai:gpt-x", "/responses"),
    ("OPENAI_COMPATIBLE", "openai_compatible:m", "/chat/completions"),
    ("GEMINI", "gemini:gemini-x", ":streamGenerateContent"),
];

fn project() -> Project {
    let settings = format!("SETTING={FILE}\n");
    let notes = format!("{CONTROL} alpha\n");
    let files = [(".env", &settings), (".env.local", &settings), ("config/.env", &settings), ("notes.md", &notes)];
    Project::new(&files.map(|(path, content)| (path, content.as_bytes())))
}

/// Runs the program with a secret in every variable that may contain one. All providers are at `url`.
fn run(project: &Project, args: &[&str], url: &str) -> Outcome {
    let mut command = project.command(args);
    let base_url = url.replace("http://", &format!("http://me:{PASSWORD}@")) + "/v1?sig=" + QUERY;
    for (provider, ..) in PROVIDERS {
        command.env(format!("{provider}_API_KEY"), KEY).env(format!("{provider}_BASE_URL"), &base_url);
    }
    for name in ["GITHUB_TOKEN", "DB_PASSWORD", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "my_secret"] {
        command.env(name, OTHER);
    }
    Outcome::of(command.output().unwrap())
}

/// Appends the content of all files below `folder`, except the project's files that are kept for undo. Those only this
/// user may read.
fn all_below(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_below(&path, found);
        } else if path.ends_with("kept/pack-0") {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0);
        } else {
            found.push_str(&format!("== {}\n{}\n", path.display(), String::from_utf8_lossy(&fs::read(&path).unwrap())));
        }
    }
}

/// Everything that the program wrote.
struct Outlets {
    stdout: String,
    stderr: String,
    cassette: String,
    state: String,
}

impl Outlets {
    fn of(project: &Project, outcome: Outcome, cassette: &Path) -> Self {
        let (Outcome { stdout, stderr, .. }, mut state) = (outcome, String::new());
        all_below(project.state(), &mut state);
        Self { stdout, stderr, cassette: fs::read_to_string(cassette).unwrap(), state }
    }

    fn named(&self) -> [(&'static str, &str); 4] {
        let Self { stdout, stderr, cassette, state } = self;
        [("output", stdout), ("debug lines", stderr), ("cassette", cassette), ("state directory", state)]
    }

    #[track_caller]
    fn assert_clean(&self, control: &str, what: &str) {
        for (outlet, text) in self.named() {
            assert!(text.contains(control), "{what}: {outlet} lacks {control:?}: {text}");
            for secret in [KEY, QUERY, PASSWORD, OTHER, FILE] {
                assert!(!text.contains(&secret[..8]), "{what}: {outlet} holds {secret}: {text}");
            }
        }
    }
}

#[test]
fn a_run_shows_no_secret_of_the_environment_or_of_files() {
    covers("secrets.outlets environment.secrets");
    for (json, task) in [
        (&["--json"][..], "rename alpha to omega"),
        (&[], "rename alpha to omega"),
        // Control: a command can print a variable that it inherits.
        (&["--allow", "shell"], "run env; ls -a; echo plain-control alpha PATH=$PATH"),
        (&["--allow", "shell", "--json"], "run env; cat missing; echo plain-control alpha PATH=$PATH; exit 3"),
    ] {
        let (project, recording) = (project(), tempfile::tempdir().unwrap());
        let cassette = recording.path().join("cassette.json");
        let record = ["run", task, "--debug", "--model", "offline", "--record", cassette.to_str().unwrap()];
        let outcome = run(&project, &[&record, json].concat(), "http://127.0.0.1:1");
        outcome.assert_ok();
        let shows_path = outcome.stderr.contains("PATH=/");
        assert_eq!(shows_path, task.starts_with("run"), "{}", outcome.stderr);
        Outlets::of(&project, outcome, &cassette).assert_clean("alpha", task);
        let shown = run(&project, &["sessions", "list", "--json"], "http://127.0.0.1:1").stdout;
        let id = shown.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        for args in [
            &["run", "rename alpha to omega", "--debug", "--resume", id][..],
            &["run", "rename omega to alpha", "--debug", "--fork", id],
        ] {
            let outcome = run(&project, args, "http://127.0.0.1:1");
            let shown = run(&project, &["sessions", "show", id], "http://127.0.0.1:1");
            let state = Outlets { cassette: shown.stdout, ..Outlets::of(&project, outcome, &cassette) };
            state.assert_clean("alpha", &args.join(" "));
        }
    }
}

#[test]
fn secrets_that_a_command_prints_are_shown() {
    let (project, recording) = (project(), tempfile::tempdir().unwrap());
    let cassette = recording.path().join("cassette.json");
    let cassette_path = cassette.to_str().unwrap();
    let model = ["--model", "offline", "--record", cassette_path];
    let args = [&["run", "run cat .env", "--json", "--debug", "--allow", "shell"][..], &model].concat();
    let outlets = Outlets::of(&project, run(&project, &args, "http://127.0.0.1:1"), &cassette);
    for (outlet, text) in outlets.named() {
        assert!(text.contains(FILE), "{outlet}: {text}");
    }
}

#[test]
fn errors_of_providers_are_quoted_without_secrets() {
    covers("secrets.outlets");
    let echo = format!("{CONTROL} {KEY} {QUERY} {PASSWORD} Zq7KxWpJ****R1v9");
    let head = |status: &str| format!("HTTP/1.1 {status}\r\nconnection: close\r\nx-echo: {echo}\r\n\r\n");
    let refusal =
        head("401 Unauthorized") + &format!("{{\"error\": {{\"message\": \"{echo}\", \"code\": \"{KEY}\"}}}}");
    let failure = head("400 Bad Request") + &echo;
    for (_, model, path) in PROVIDERS {
        for answered in [&refusal, &failure] {
            let (url, requested) = answer(answered.clone());
            let (project, recording) = (project(), tempfile::tempdir().unwrap());
            let cassette = recording.path().join("cassette.json");
            let args =
                ["run", "look at @notes.md", "--model", model, "--debug", "--record", cassette.to_str().unwrap()];
            let outcome = run(&project, &args, &url);
            assert_ne!(outcome.status, 0, "{model}: {}", outcome.stdout);
            assert!(outcome.stderr.contains("It says: plain-control [redacted]"), "{model}: {}", outcome.stderr);
            let request = requested.recv().unwrap();
            assert!(request.contains(path) && request.contains(QUERY), "the control: {request}");
            let outlets = Outlets::of(&project, outcome, &cassette);
            // Without a response standard output is empty.
            Outlets { stdout: CONTROL.to_owned() + &outlets.stdout, ..outlets }.assert_clean(CONTROL, model);
        }
        // An invalid address, and only one closed connection, since retries take time.
        let closed = model.starts_with("anthropic").then(|| serve(b""));
        for url in closed.into_iter().chain(["http://not an address".to_owned()]) {
            let project = project();
            let outcome = run(&project, &["run", "hello", "--model", model, "--debug"], &url);
            assert_ne!(outcome.status, 0, "{model}: {}", outcome.stdout);
            let mut state = CONTROL.to_owned();
            all_below(project.state(), &mut state);
            let cassette = CONTROL.to_owned();
            let (stdout, stderr) = (CONTROL.to_owned() + &outcome.stdout, CONTROL.to_owned() + &outcome.stderr);
            Outlets { stdout, stderr, cassette, state }.assert_clean(CONTROL, &format!("{model} at {url}"));
        }
    }
}

#[test]
fn a_command_cannot_read_the_keys_of_the_program() {
    let mut project = Project::new(&[("a.txt", b"a\n")]);
    if !project.give_to_nobody() {
        println!("as this user, not as nobody");
    }
    let look = "grep -zao 'COMPATIBLE_API_KEY=.*' /proc/$PPID/environ; echo looked";
    let url = scripted(&[("shell", json!({ "command": look }))]);
    let args = ["run", "go", "--model", "openai_compatible:m", "--allow", "shell", "--output", "stream-json"];
    let keys = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str()), ("OPENAI_COMPATIBLE_API_KEY", KEY)];
    let outcome = project.run_with(&args, &keys);
    assert!(outcome.stdout.contains("looked") && !outcome.stdout.contains(KEY), "{}", outcome.stdout);
}

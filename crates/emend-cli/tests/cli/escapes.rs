//! Control characters of models and commands reach no terminal, whichever stream is one.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use crate::support::{Project, answer_each, scripted, serve};

/// Runs the program with these streams on a terminal and the others redirected. Returns what the terminal received.
fn received(project: &Project, args: &[&str], url: &str, (stdout, stderr): (bool, bool)) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let open = || File::options().read(true).write(true).open(&name).unwrap();
    let end = |is_terminal: bool| if is_terminal { Stdio::from(open()) } else { Stdio::null() };
    let mut command = project.command(args);
    command.env("OPENAI_COMPATIBLE_BASE_URL", url).env("TERM", "xterm").env("NO_COLOR", "1");
    let mut child = command.stdin(Stdio::null()).stdout(end(stdout)).stderr(end(stderr)).spawn().unwrap();
    drop(command);
    let (mut terminal, mut bytes, mut buffer) = (File::from(terminal), Vec::new(), [0; 4096]);
    // Reading fails once the program has ended.
    while let Ok(n_bytes @ 1..) = terminal.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..n_bytes]);
    }
    child.wait().unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

const HARM: &str = "\u{1b}]0;pwned\u{7}\u{1b}[31m\u{9b}31m\u{202e}";

/// Serves a model that says harmful text, runs a command with harmful output, and says harmful text again.
fn model() -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let command = json!({ "command": "printf '\\033]0;pwned\\007\\033[31m out\\n'; touch \"$(printf 'a\\033[31m')\"" });
    let function = json!({ "name": "shell", "arguments": command.to_string() });
    let call = json!({ "index": 0, "id": "c", "type": "function", "function": function });
    let chunk = |delta: serde_json::Value, reason: &str| {
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        format!("{head}data: {chunk}\n\ndata: [DONE]\n\n")
    };
    let first = chunk(json!({ "content": format!("first {HARM}"), "tool_calls": [call] }), "tool_calls");
    let last = chunk(json!({ "content": format!("last {HARM}\n") }), "stop");
    let (url, _requests) =
        answer_each(move |request| if request.contains("tool_call_id") { last.clone() } else { first.clone() });
    url
}

#[test]
fn no_control_character_reaches_a_terminal_whichever_stream_is_redirected() {
    let (project, url) = (Project::new(&[("a.txt", b"a\n")]), model());
    let run = ["run", "go", "--model", "openai_compatible:m", "--allow", "shell"];
    for (streams, expected) in [((true, false), "last "), ((false, true), "first "), ((true, true), "last ")] {
        for options in [&[][..], &["-p"], &["--debug"], &["--output", "json"], &["--output", "stream-json"]] {
            let shown = received(&project, &[&run[..], options].concat(), &url, streams);
            let is_raw = |char: char| char.is_control() && !"\r\n\t".contains(char) || char == '\u{202e}';
            assert!(!shown.contains(is_raw), "{streams:?} {options:?}: {shown:?}");
            let is_json = options.contains(&"--output");
            assert!(
                shown.contains(expected) || is_json || options == ["--debug"],
                "{streams:?} {options:?}: {shown:?}"
            );
        }
    }
    // A failure, saved conversations and the names of files are shown too.
    let listed = project.run(&["sessions", "list", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(listed.stdout.lines().next().unwrap()).unwrap();
    let id = summary["id"].as_str().unwrap();
    for args in [&["sessions", "show", id][..], &["sessions", "show", id, "--json"], &["checkpoints"], &["undo"]] {
        let shown = received(&project, args, &url, (true, true));
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{7}']) && shown.len() > 5, "{args:?}: {shown:?}");
    }
    let printed = project.run_with(&run, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
    assert!(printed.stdout.contains(HARM), "output to a program is unchanged: {:?}", printed.stdout);
}

#[test]
fn text_for_people_is_safe_in_a_pipe_too() {
    let (project, url) = (Project::new(&[("a.txt", b"a\n")]), model());
    let run = ["run", "go", "--model", "openai_compatible:m", "--allow", "shell"];
    let url = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let check = |what: &str, text: &str| {
        let is_raw = |char: char| char.is_control() && !"\n\t".contains(char) || char == '\u{202e}';
        assert!(!text.contains(is_raw) && text.contains("\\u{1b}"), "{what}: {text:?}");
    };
    let refused = serve(
        b"HTTP/1.1 400 Bad Request\r\ncontent-length: 44\r\nconnection: close\r\n\r\n{\"error\":{\"message\":\"\\u001b]0;pwned\\u0007\"}}",
    );
    let failed = project.run_with(&run, &[("OPENAI_COMPATIBLE_BASE_URL", &refused)]);
    check("an error of the provider", &failed.stderr);
    std::fs::write(project.path(".emend.toml"), "deny = [\"shell:\\u001b]0;pwned\\u0007\\u202e\"]\n").unwrap();
    check("config", &project.run(&["config"]).stdout);
    project.run_with(&run, &url).assert_ok();
    check("checkpoints", &project.run(&["checkpoints"]).stdout);
    let listed = project.run(&["sessions", "list", "--json"]).stdout;
    let summary: serde_json::Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    check("sessions", &project.run(&["sessions", "show", summary["id"].as_str().unwrap()]).stdout);
    check("undo", &project.run(&["undo"]).stdout);
    // A line break in a name does not begin a line of this program.
    let write = ("write_file", json!({ "file_path": "b\nemend: all is well", "content": "x\n" }));
    let review = ["run", "go", "--model", "openai_compatible:m", "--review"];
    let outcome = project.run_with(&review, &[("OPENAI_COMPATIBLE_BASE_URL", &scripted(&[write]))]);
    assert!(outcome.stderr.contains("write_file b\\nemend: all is well"), "{}", outcome.stderr);
    let outcome = project.run(&["run", "rename x to y"]);
    assert!(outcome.stderr.contains("1 pending hunk of b\\nemend: all is well;"), "{}", outcome.stderr);
}

//! Commands of the agent: approval, sandbox, review, undo, and their end with the program.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;

use crate::support::{Outcome, Project, covers, gated};

fn project() -> Project {
    Project::new(&[("a.txt", b"one\ntwo\n"), ("b.txt", b"bee\n"), (".gitignore", b"out/\n")])
}

const CHANGE: &str = "run sed -i s/two/TWO/ a.txt && rm b.txt && echo new > c.txt";

#[test]
fn without_a_terminal_a_command_is_refused_with_the_option_that_allows_it() {
    let project = project();
    let before = project.tree();
    let outcome = project.run(&["run", "run touch 'x y'"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("shell was refused: "), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("--allow 'shell:touch '\\''x y'\\'''"), "{}", outcome.stdout);
    assert_eq!(project.tree(), before);
}

#[test]
fn the_advised_options_make_a_command_line_run() {
    let project = project();
    let task = "run echo hi; touch 'x y' && cat a.txt | wc -l";
    let refused = project.run(&["run", task]);
    let advice = refused.stdout.split_once("run emend with ").expect("advice").1;
    let advice = advice[..advice.rfind("'.").unwrap() + 1].to_owned();
    assert_eq!(advice.matches("--allow ").count(), 4, "{advice}");
    // A shell reads the options as a user would paste them.
    let line = format!("\"$0\" run \"$1\" {advice}");
    let emend = project.command(&[]);
    let mut shell = Command::new("bash");
    shell.args(["-c", &line]).arg(emend.get_program()).arg(task).current_dir(project.root.path());
    for (name, value) in emend.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        shell.env(name, value);
    }
    Outcome::of(shell.output().unwrap()).assert_ok();
    assert!(project.path("x y").exists());
    let hidden = project.run(&["run", "run eval \"$TASK\""]);
    let said = &hidden.stdout;
    assert!(!said.contains("--allow") && said.contains("does not show all that it does"), "{said}");
}

#[test]
fn an_allowed_command_prints_its_output_and_its_changes_can_be_undone() {
    covers("command.review");
    let project = project();
    let before = project.tree();
    let outcome = project.run(&["run", CHANGE, "--allow", "shell"]);
    outcome.assert_ok();
    assert_eq!(project.read("a.txt"), "one\nTWO\n");
    assert_eq!(project.read("c.txt"), "new\n");
    assert!(!project.path("b.txt").exists());
    project.run(&["undo"]).assert_ok();
    assert_eq!(project.tree(), before);
    let outcome = project.run(&["run", "run echo out; echo err >&2; exit 3", "--allow", "shell"]);
    outcome.assert_ok();
    for line in ["→ shell echo out", "  | out\n", "  | err\n", "  exit code 3 after "] {
        assert!(outcome.stderr.contains(line), "{line:?} in {}", outcome.stderr);
    }
}

#[test]
fn a_confined_command_cannot_write_beside_the_project() {
    // Every user can write to /var/tmp, so only the sandbox can prevent it.
    let outside = tempfile::TempDir::new_in("/var/tmp").unwrap();
    let harm = format!("run touch {}/x; touch inside", outside.path().display());
    let project = project();
    let outcome = project.run(&["run", &harm, "--allow", "shell", "--sandbox"]);
    let is_lacking = outcome.stderr.contains("is not available here");
    if is_lacking {
        println!("skipped: this kernel cannot confine commands");
        assert_eq!(outcome.status, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("run without --sandbox"), "{}", outcome.stderr);
    } else {
        assert!(project.path("inside").exists() && !outside.path().join("x").exists(), "{}", outcome.stdout);
    }
    // Without the sandbox, or with --sandbox-write, it can.
    for flags in [&[][..], &["--sandbox", "--sandbox-write", outside.path().to_str().unwrap()]] {
        if is_lacking && !flags.is_empty() {
            continue;
        }
        project.run(&[&["run", &harm, "--allow", "shell"], flags].concat()).assert_ok();
        fs::remove_file(outside.path().join("x")).unwrap();
    }
}

#[test]
fn the_shell_tool_works_under_every_profile() {
    for profile in ["openai", "anthropic", "gemini"] {
        let project = project();
        let outcome = project.run(&["run", "run touch x", "--allow", "shell:touch x", "--profile", profile]);
        outcome.assert_ok();
        assert!(project.path("x").exists(), "{profile}: {}", outcome.stdout);
    }
}

#[test]
fn patterns_allow_and_refuse_parts_of_commands() {
    let runs = |task: &str, flags: &[&str]| {
        let project = project();
        let outcome = project.run(&[&["run", task], flags].concat());
        // Nobody could be asked about some of them.
        assert!(outcome.status <= 1, "{}", outcome.stderr);
        (project.path("x").exists(), outcome.stdout)
    };
    assert!(runs("run touch x", &["--allow", "shell:touch *"]).0);
    assert!(!runs("run touch x; echo $(rm a.txt)", &["--allow", "shell:touch *"]).0);
    assert!(!runs("run touch x && rm a.txt", &["--allow", "shell:touch *"]).0);
    let (ran, stdout) = runs("run touch x", &["--allow", "shell", "--deny", "shell:touch *"]);
    assert!(!ran && stdout.contains("deny shell:touch *"), "{stdout}");
    let wrong = project().run(&["run", "run touch x", "--allow", "shell:"]);
    assert_eq!(wrong.status, 2, "{}", wrong.stderr);
}

#[test]
fn with_review_a_command_runs_in_a_copy() {
    let project = project();
    let before = project.tree();
    let outcome = project.run(&["run", CHANGE, "--allow", "shell", "--review"]);
    outcome.assert_ok();
    assert_eq!(project.tree(), before);
    let mut child = project.command(&["review"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a\n").unwrap();
    Outcome::of(child.wait_with_output().unwrap()).assert_ok();
    assert_eq!((project.read("a.txt"), project.read("c.txt")), ("one\nTWO\n".to_owned(), "new\n".to_owned()));
    assert!(!project.path("b.txt").exists());
}

#[test]
fn commands_do_not_inherit_secret_variables() {
    covers("environment.secrets");
    let project = project();
    let mut command = project.command(&["run", "run env", "--allow", "shell", "--json", "--model", "offline"]);
    command.env("OPENAI_API_KEY", "sk-marked").env("db_password", "sk-marked").env("HARMLESS", "seen");
    let outcome = Outcome::of(command.output().unwrap());
    outcome.assert_ok();
    assert!(outcome.stdout.contains("HARMLESS=seen"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("sk-marked"), "{}", outcome.stdout);
}

/// Waits until a file exists.
#[track_caller]
fn wait_for(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
fn is_alive(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z') && !rest.starts_with('X'))
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_the_command_and_its_processes() {
    covers("error.shutdown");
    let command = "(trap '' TERM; echo $BASHPID > id; mv id ids; while :; do sleep 1; done) & wait";
    let (task, arguments) = (format!("run {command}"), serde_json::json!({ "command": command }).to_string());
    let run = ["run", &task, "--allow", "shell"];
    let call = ["tools", "call", "shell", &arguments];
    for (args, signal, status) in
        [(&run, "-INT", 130), (&run, "-TERM", 143), (&run, "-HUP", 129), (&call, "-INT", 130), (&call, "-TERM", 143)]
    {
        let project = project();
        let mut emend = project.command(args);
        let child = emend.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(&project.path("ids"));
        let id = project.read("ids");
        assert!(is_alive(&id));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let outcome = Outcome::of(child.wait_with_output().unwrap());
        assert_eq!(outcome.status, status, "{args:?} {signal}: {}{}", outcome.stdout, outcome.stderr);
        assert!(!is_alive(&id), "{args:?} {signal}");
    }
}

#[test]
fn a_shell_gets_the_status_of_a_signal_that_cannot_be_handled() {
    for (signal, status) in [("-QUIT", 131), ("-KILL", 137)] {
        let project = project();
        let emend = project.command(&["run", "run touch begun; while :; do sleep 1; done", "--allow", "shell"]);
        let mut shell = Command::new("bash");
        // The inner shell becomes the program. The outer one waits for it.
        shell.args(["-c", "ulimit -c 0; bash -c 'echo $$ > id; exec \"$@\"' bash \"$@\"; exit $?", "bash"]);
        shell.arg(emend.get_program()).args(emend.get_args()).current_dir(project.root.path());
        for (name, value) in emend.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(&project.path("begun"));
        assert!(Command::new("kill").args([signal, project.read("id").trim()]).status().unwrap().success());
        let outcome = Outcome::of(child.wait_with_output().unwrap());
        assert_eq!(outcome.status, status, "{signal}: {}{}", outcome.stdout, outcome.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nohup_keeps_the_program_alive() {
    let project = project();
    let mut shell = Command::new("sh");
    let emend = project.command(&["run", "run echo $PPID > id; mv id ids; while [ ! -e go ]; do sleep 0.01; done"]);
    shell.arg("-c").arg("trap '' HUP; exec \"$@\"").arg("sh").arg(emend.get_program()).args(emend.get_args());
    for (name, value) in emend.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.current_dir(project.root.path()).args(["--allow", "shell"]);
    let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&project.path("ids"));
    assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
    fs::write(project.path("go"), "").unwrap();
    Outcome::of(child.wait_with_output().unwrap()).assert_ok();
}

/// The program on a terminal, with standard output redirected.
struct OnTerminal {
    child: Child,
    terminal: File,
    shown: String,
    stdout: File,
}

impl OnTerminal {
    fn start(project: &Project, args: &[&str]) -> Self {
        Self::open(project, args, &[])
    }

    /// Starts the program with these environment variables.
    fn open(project: &Project, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let end = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
        let stdout = tempfile::tempfile().unwrap();
        let mut command = project.command(args);
        command.envs(variables.iter().copied()).stdin(end()).stdout(stdout.try_clone().unwrap()).stderr(end());
        let child = command.spawn().unwrap();
        Self { child, terminal: File::from(terminal), shown: String::new(), stdout }
    }

    /// Reads until `text` was printed, or to the end.
    fn read_until(&mut self, text: &str) {
        let mut buffer = [0; 4096];
        while !self.shown.contains(text) {
            // Reading fails once the program has ended.
            let n_bytes = self.terminal.read(&mut buffer).unwrap_or_default();
            if n_bytes == 0 {
                break;
            }
            self.shown.push_str(&String::from_utf8_lossy(&buffer[..n_bytes]));
        }
    }

    #[track_caller]
    fn answer(&mut self, line: &str) {
        self.read_until("reason to refuse: ");
        assert!(self.shown.contains("reason to refuse: "), "{}", self.shown);
        self.shown.clear();
        self.terminal.write_all(line.as_bytes()).unwrap();
    }

    fn end(mut self) -> (i32, String) {
        self.read_until("\u{0}never shown");
        self.stdout.rewind().unwrap();
        self.stdout.read_to_string(&mut self.shown).unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), self.shown)
    }
}

#[test]
fn with_piped_output_questions_appear_on_the_terminal() {
    let project = project();
    let mut emend = OnTerminal::start(&project, &["run", "run touch allowed"]);
    emend.read_until("reason to refuse: ");
    assert!(emend.shown.contains("? shell wants to run:\r\n    touch allowed\r\n"), "{}", emend.shown);
    emend.answer("y\n");
    let (status, shown) = emend.end();
    assert!(status == 0 && project.path("allowed").exists(), "{shown}");

    let mut emend = OnTerminal::start(&project, &["run", "run touch refused"]);
    emend.answer("\n");
    emend.answer("not today\n");
    let (status, shown) = emend.end();
    assert!(status == 0 && !project.path("refused").exists(), "{shown}");
    assert!(shown.contains("Reason: not today"), "{shown}");
}

#[test]
fn a_line_that_was_typed_before_a_question_does_not_answer_it() {
    let project = project();
    let url = gated(project.path("go"), &[("shell", serde_json::json!({"command": "touch x"}))]);
    let args = ["run", "go", "--model", "openai_compatible:m"];
    let mut emend = OnTerminal::open(&project, &args, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
    emend.terminal.write_all(b"y\n").unwrap();
    // The terminal echoes the line when a program can read it.
    emend.read_until("y\r\n");
    fs::write(project.path("go"), "").unwrap();
    emend.answer("n\n");
    let (status, shown) = emend.end();
    assert!(status == 0 && shown.contains("Done.") && !project.path("x").exists(), "{shown}");
}

#[test]
fn an_interrupt_during_a_question_ends_the_run() {
    let project = project();
    let mut emend = OnTerminal::start(&project, &["run", "run touch x"]);
    emend.read_until("reason to refuse: ");
    let id = emend.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let (status, shown) = emend.end();
    assert_eq!(status, 130, "{shown}");
    assert!(!project.path("x").exists());
}

#[test]
fn approval_questions_and_answers_are_events() {
    let outcome = project().run(&["run", "run touch x", "--json"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    let events: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| events.iter().find(|event| event["kind"] == kind).unwrap()["data"].clone();
    assert_eq!(of("APPROVAL_REQUESTED")["detail"]["command"], "touch x");
    assert_eq!(of("APPROVAL_RESOLVED")["decision"], "denied");
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_in_the_background_of_a_terminal_is_not_stopped() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let end = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
    let emend = project.command(&["run", "rename alpha to omega"]);
    let mut shell = Command::new("setsid");
    // With job control, the program gets a process group in the background.
    shell.args(["--ctty", "bash", "-c", "set -m; \"$@\" & wait $!; echo status=$?", "bash"]);
    shell.arg(emend.get_program()).args(emend.get_args()).current_dir(project.root.path());
    for (name, value) in emend.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let mut child = shell.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    let (mut terminal, mut shown, mut buffer) = (File::from(terminal), String::new(), [0; 4096]);
    while !shown.contains("status=") {
        let n_bytes = terminal.read(&mut buffer).unwrap_or_default();
        assert_ne!(n_bytes, 0, "{shown}");
        shown.push_str(&String::from_utf8_lossy(&buffer[..n_bytes]));
    }
    assert!(shown.contains("status=0"), "{shown}");
    assert_eq!(project.read("a.txt"), "omega\n");
    child.wait().unwrap();
}

#[test]
fn progress_in_a_pipe_has_no_escape_sequences() {
    let project = Project::new(&[("a.txt", b"one\n")]);
    let task = "run printf '\\033]0;title\\007'";
    for more in [&[][..], &["--debug"]] {
        let outcome = project.run(&[&["run", task, "--allow", "shell"][..], more].concat());
        assert!(!outcome.assert_ok().stderr.contains(['\u{1b}', '\u{7}']), "{more:?}: {:?}", outcome.stderr);
        assert!(
            outcome.stderr.contains("u{1b}]0;title") || outcome.stderr.contains("u001b]0;title"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn a_command_that_was_refused_was_not_run() {
    let project = Project::new(&[("a.txt", b"one\n")]);
    let outcome = project.run(&["run", "run touch b.txt"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    let said = &outcome.stdout;
    assert!(said.contains("`touch b.txt` was not run. ") && !said.contains("permission_denied"), "{said}");
}

#[test]
fn an_undo_names_the_command_during_which_a_file_changed() {
    let project = Project::new(&[("a.txt", b"one\n"), ("b.txt", b"bee\n")]);
    // Another program, which Emend cannot tell from the command.
    let task = "run sleep 0; echo two >> a.txt";
    project.run(&["run", task, "--allow", "shell"]).assert_ok();
    let undone = project.run(&["undo"]).assert_ok().stdout.clone();
    assert!(undone.contains("restored a.txt\nchanged while the command ran: a.txt\n"), "{undone}");
    // The name of a run of several commands does not say which one.
    let call = ("shell", serde_json::json!({"command": "echo three >> a.txt; echo x > c.txt"}));
    project.run_calls(&[call], &["--allow", "shell"]).assert_ok();
    let undone = project.run(&["undo"]).assert_ok().stdout.clone();
    assert!(undone.contains("changed while `echo three >> a.txt; echo x > c.txt` ran: a.txt, c.txt\n"), "{undone}");
    assert!(undone.contains("another program") && undone.contains("`emend redo`"), "{undone}");
}

#[test]
fn a_file_name_with_a_line_feed_is_one_name() {
    let project = Project::new(&[("one\ntwo.txt", b"alpha\n")]);
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    assert_eq!(project.read("one\ntwo.txt"), "omega\n");
}

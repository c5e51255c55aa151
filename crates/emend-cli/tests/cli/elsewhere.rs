//! Projects elsewhere: `--env` with a script in place of `docker` that runs its commands on this machine, and with a real
//! SSH server. `emend serve` works on them, too.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use emend_tests::sshd::{Sshd, print_missing};
use serde_json::{Value, json};

use crate::serve::{RENAME, Server, apply};
use crate::support::Project;

const DOCKER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    container)
      echo 0123456789abcdef
      exit 0
      ;;
    /bin/sh) exec "$@" ;;
  esac
  shift
done
exit 1
"#;

struct Elsewhere {
    project: Project,
    place: String,
    path: String,
}

impl Elsewhere {
    fn new() -> Self {
        let project = Project::new(&[("app/src/x.rs", b"fn a() {}\na();\n"), ("bin/docker", DOCKER.as_bytes())]);
        let docker = project.path("bin/docker");
        fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).unwrap();
        let place = format!("docker:box:{}", project.path("app").display());
        let path = format!("{}:{}", docker.parent().unwrap().display(), std::env::var("PATH").unwrap());
        Self { project, place, path }
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> crate::support::Outcome {
        let variables = [&[("PATH", self.path.as_str())], variables].concat();
        self.project.run_with(arguments, &variables)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.project.path("app/src/x.rs")).unwrap()
    }
}

#[test]
fn a_run_elsewhere_is_undone_elsewhere() {
    let it = Elsewhere::new();
    let run = it.run(&["run", "--env", &it.place, "--model", "offline", "rename a to b"], &[]);
    run.assert_ok();
    assert!(run.stderr.contains(&format!("the project is at {}", it.place)), "{}", run.stderr);
    assert_eq!(it.text(), "fn b() {}\nb();\n");
    // The variable names the same project, and the directory of this machine is another one.
    let elsewhere = it.run(&["sessions"], &[("EMEND_ENV", &it.place)]);
    assert!(elsewhere.assert_ok().stdout.contains("rename a to b"), "{}", elsewhere.stdout);
    let here = it.run(&["sessions"], &[]);
    assert!(!here.assert_ok().stdout.contains("rename a to b"), "{}", here.stdout);
    it.run(&["undo", "--env", &it.place], &[]).assert_ok();
    assert_eq!(it.text(), "fn a() {}\na();\n");
    // The note after a run names the command with the place: without it, another project would be reviewed.
    let held = it.run(&["run", "--env", &it.place, "--review", "--model", "offline", "rename a to b"], &[]);
    let command = format!("to decide: emend review --env '{}'", it.place);
    assert!(held.assert_ok().stderr.contains(&command), "{}", held.stderr);
}

#[test]
fn a_wrong_place_is_an_error_of_the_settings() {
    let it = Elsewhere::new();
    for (place, expected) in [("box:/srv", "expected ssh:HOST:DIR"), ("docker:box:/not/there", "does not exist")] {
        let outcome = it.run(&["run", "--env", place, "--model", "offline", "rename a to b"], &[]);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("[configuration]"), "{}", outcome.stderr);
    }
    let outcome = it.run(&["run", "--env", &it.place, "--sandbox", "--model", "offline", "rename a to b"], &[]);
    assert!(outcome.stderr.contains("cannot be confined"), "{}", outcome.stderr);
    assert_eq!(it.text(), "fn a() {}\na();\n");
}

/// A program in a directory of its own, and the variable PATH with which it is found first.
fn program(project: &Project, name: &str, script: &str) -> String {
    let path = project.path("bin").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", project.path("bin").display(), std::env::var("PATH").unwrap())
}

const OLD: &str = "The colour of the sky.\nSecond line.\n";
const NEW: &str = "The color of the sky.\nSecond line.\n";

/// Runs jobs on a server whose files are at `place`: the directory `far` as this machine sees it.
fn check_serve(place: &str, path: &str, far: &std::path::Path) {
    // A file of the same name where the server runs must not be touched.
    let project = Project::new(&[("notes.md", b"colour here\n")]);
    let text = || fs::read_to_string(far.join("notes.md")).unwrap();
    let start = || Server::start_with(&project, &["--env", place], &[("PATH", path)]);
    let mut server = start();
    let (session, state) = server.run(RENAME);
    assert_eq!(state["status"], "awaiting_review", "{place}: {state}");
    assert_eq!(text(), OLD, "{place}: nothing is written before the review");
    // The review outlives the server.
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let server = start();
    let job = state["job_id"].as_str().unwrap();
    let state = server.ok("GET", &format!("/api/agent/jobs/{job}"), &Value::Null);
    server.ok("POST", "/api/agent/apply", &apply(&session, &state));
    assert_eq!(text(), NEW, "{place}: the accepted hunk");
    let state = server.ok("GET", &format!("/api/agent/jobs/{job}"), &Value::Null);
    let rollback = format!("/api/agent/checkpoints/{}/rollback", state["checkpoint_id"].as_str().unwrap());
    server.ok("POST", &rollback, &json!({ "mode": "hard_all", "save": true }));
    assert_eq!(text(), OLD, "{place}: the rollback");
    // An edit without review, by a session in the mode `direct`.
    let (_, state) = server.run_in(&json!({ "mode": "direct" }), "rename sky to sea in notes.md");
    assert_eq!(state["status"], "completed", "{place}: {state}");
    assert_eq!(text(), OLD.replace("sky", "sea"), "{place}");
    assert_eq!(project.read("notes.md"), "colour here\n", "{place}");
}

#[test]
fn a_server_edits_reviews_accepts_and_rolls_back_in_a_container() {
    let it = Project::new(&[("far/notes.md", OLD.as_bytes())]);
    let path = program(&it, "docker", DOCKER);
    check_serve(&format!("docker:box:{}", it.path("far").display()), &path, &it.path("far"));
}

#[test]
fn a_server_edits_reviews_accepts_and_rolls_back_over_ssh() {
    let Some(sshd) = Sshd::start() else { return print_missing() };
    let it = Project::new(&[("far/notes.md", OLD.as_bytes())]);
    let folders = std::env::var_os("PATH").unwrap();
    let ssh = std::env::split_paths(&folders).map(|folder| folder.join("ssh")).find(|file| file.is_file()).unwrap();
    let settings = sshd.client_settings();
    let script = format!("#!/bin/sh\nexec {} -F {} \"$@\"\n", ssh.display(), settings.display());
    let path = program(&it, "ssh", &script);
    sshd.open(it.root.path());
    check_serve(&format!("ssh:box:{}", it.path("far").display()), &path, &it.path("far"));
}

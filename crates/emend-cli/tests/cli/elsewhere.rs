//! Projects elsewhere: `--env` with a script in place of `docker` that runs its commands on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

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

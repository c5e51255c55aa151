//! The question whether the user trusts a folder, and the warning about too large ones.

use crate::support::Project;
use crate::terminal::Terminal;

const CTRL_D: &str = "\u{4}";

fn open(project: &Project, args: &[&str], home: &str) -> Terminal {
    Terminal::open_untrusted(project, args, (100, 80), &[("HOME", home)])
}

#[test]
fn the_first_conversation_in_a_folder_asks_for_trust_once() {
    let project = Project::new(&[("AGENTS.md", b"Be kind.\n"), ("sub/a.txt", b"a\n")]);
    std::fs::create_dir(project.path(".git")).unwrap();
    let mut refusing = open(&project, &[], "/nowhere");
    refusing.wait_for("Do you trust the files in").wait_for("[n]o:").press("n\r");
    assert_eq!(refusing.end(), 1);
    let mut first = open(&project, &[], "/nowhere");
    first
        .wait_for("[n]o:")
        .press("perhaps\r")
        .wait_until("the question again", |screen| screen.matches("[n]o:").count() == 2);
    first.press("y\r").wait_for_prompt(1).press(CTRL_D);
    assert_eq!(first.end(), 0);
    // The answer holds for the whole project.
    let mut second = open(&project, &["--root", "sub"], "/nowhere");
    second.wait_for_prompt(1);
    assert!(!second.shown().contains("trust"), "{}", second.shown());
    second.press(CTRL_D);
    assert_eq!(second.end(), 0);
}

#[test]
fn a_task_asks_nothing() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let mut terminal = open(&project, &["run", "rename alpha to omega"], "/nowhere");
    terminal.wait_for("omega");
    assert_eq!(terminal.end(), 0);
    assert_eq!(project.read("a.txt"), "omega\n");
}

#[test]
fn the_home_directory_causes_a_warning_every_time() {
    let project = Project::new(&[]);
    let home = project.root.path().to_str().unwrap();
    for is_first in [true, false] {
        let mut terminal = open(&project, &[], home);
        terminal.wait_for("This is your home directory");
        if is_first {
            terminal.wait_for("[n]o:").press("y\r");
        }
        terminal.wait_for_prompt(1).press(CTRL_D);
        assert_eq!(terminal.end(), 0);
    }
}

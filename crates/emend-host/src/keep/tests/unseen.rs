//! Paths that a walk does not reach or that change while it runs: large ignored directories, directories without read
//! permission, and files that another program writes at the same time.

use super::super::Loaded;
use super::super::node::Content;
use super::super::scan::{CROWD, is_settled, scan};
use super::*;
use crate::test_support::as_nobody;

/// Creates files that hold their number.
fn fill(project: &Project, directory: &str, n_files: usize) {
    fs::create_dir_all(project.path(directory)).unwrap();
    (0..n_files).for_each(|at| fs::write(project.path(&format!("{directory}/{at}")), format!("{at}\n")).unwrap());
}

/// Runs a command and undoes it. All files from before the command must be there again, and none may be named.
#[track_caller]
fn check_restored(project: &Project, mode: Mode, command: &str) {
    let before = project.tree();
    let open = project.open_in(mode);
    let data = open.shell(command);
    assert_eq!(data["not_undoable"], json!([]), "{command}");
    assert_eq!(open.undo().kept, [], "{command}");
    let mut after = project.tree();
    after.retain(|path, _| before.contains_key(path));
    assert_eq!(difference(&before, &after), None, "{command}");
}

#[test]
fn a_directory_that_a_command_makes_large_is_undone() {
    let more = format!("touch $(seq -f out/more%g {CROWD})");
    for change in ["echo x > out/5; echo longer > out/6", "rm out/5", "chmod 600 out/7", "rm out/5; ln -s 6 out/5"] {
        for mode in [Mode::Direct, Mode::Staged] {
            let project = Project::usual();
            fill(&project, "out", 10);
            fill(&project, "out/in", 10);
            check_restored(&project, mode, &format!("{change}; rm -r out/in; {more}"));
        }
    }
}

#[test]
fn a_large_directory_that_a_command_ignores_is_undone() {
    let project = Project::usual();
    fill(&project, "many", CROWD + 10);
    check_restored(&project, Mode::Direct, "echo many >> .gitignore; echo x > many/5; rm many/6; chmod 600 many/7");
}

#[test]
fn files_of_large_directories_with_similar_names_are_not_taken_for_new() {
    let project = Project::usual();
    for directory in ["out", "out-of-order", "out.d"] {
        fill(&project, directory, CROWD + 1);
    }
    fs::write(project.path(".gitignore"), "out*/\n").unwrap();
    check_restored(&project, Mode::Direct, "rm .gitignore; echo x > a.txt");
    let data = project.open().shell("echo none > .gitignore; rm out-of-order/5");
    assert_eq!(data["not_undoable"], json!(["out-of-order"]));
}

#[test]
fn a_large_directory_that_changes_or_becomes_small_is_named() {
    for (command, expected) in [
        ("rm out/in/*", json!(["out"])),
        ("rm -r out/in", json!(["out"])),
        ("touch out/in/more", json!(["out"])),
        ("echo none > .gitignore", json!([])),
    ] {
        let project = Project::usual();
        fill(&project, "out/in", CROWD + 1);
        let data = project.open().shell(command);
        assert_eq!(data["not_undoable"], expected, "{command}");
    }
}

#[test]
fn a_link_in_place_of_a_directory_leads_the_undo_nowhere() {
    let project = Project::usual();
    fill(&project, "out/in", 10);
    fill(&project, "elsewhere", 10);
    let more = format!("touch $(seq -f out/more%g {CROWD})");
    check_restored(&project, Mode::Direct, &format!("rm -r out/in; ln -s ../elsewhere out/in; {more}"));
}

fn allow(project: &Project, path: &str, mode: u32) {
    fs::set_permissions(project.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn files_that_a_command_makes_readable_are_not_taken_for_new() {
    // 0: the directory cannot be listed. 0o400: its files are listed without their kinds and sizes.
    for mode in [0o000, 0o400] {
        for directory in ["closed", "out/closed"] {
            as_nobody(|| {
                let project = Project::usual();
                fill(&project, directory, 3);
                allow(&project, directory, mode);
                let open = project.open();
                open.shell(&format!("chmod 700 {directory}; echo x > a.txt"));
                open.undo();
                assert_eq!(fs::read_to_string(project.path("a.txt")).unwrap(), "one\ntwo\n");
                assert_eq!(mode_of(&project, directory), mode, "{directory}");
                allow(&project, directory, 0o700);
                for number in 0..3 {
                    let found = fs::read_to_string(project.path(&format!("{directory}/{number}"))).unwrap();
                    assert_eq!(found, format!("{number}\n"), "{directory}, mode {mode:o}");
                }
            });
        }
    }
}

#[test]
fn an_unreadable_directory_that_a_command_deletes_is_named() {
    as_nobody(|| {
        let project = Project::usual();
        fill(&project, "closed", 3);
        allow(&project, "closed", 0o000);
        let open = project.open();
        let data = open.shell("chmod 700 closed; rm -r closed");
        assert_eq!(data["not_undoable"], json!(["closed"]));
    });
}

#[test]
fn a_directory_that_a_command_makes_unreadable_is_undone() {
    for (directory, command) in [("deep", "chmod 000 deep"), ("deep/er", "chmod 000 deep/er"), ("out", "chmod 000 out")]
    {
        as_nobody(|| {
            let project = Project::usual();
            let before = project.tree();
            let open = project.open();
            let data = open.shell(&format!("{command}; echo x > a.txt"));
            // Files in it may have been changed before.
            assert_eq!(data["not_undoable"], json!([directory]), "{command}");
            assert_eq!(mode_of(&project, directory), 0, "{command}");
            open.undo();
            assert_eq!(difference(&before, &project.tree()), None, "{command}");
        });
    }
}

fn mode_of(project: &Project, path: &str) -> u32 {
    fs::symlink_metadata(project.path(path)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_file_with_the_time_of_the_walk_is_read_again() {
    const SECOND: i64 = 1_000_000_000;
    for (changed, expected) in [
        (100 * SECOND - 60_000_000, true),
        (100 * SECOND - 40_000_000, false),
        (100 * SECOND + 1, false),
        // File systems that store whole seconds, or even numbers of them.
        (99 * SECOND, false),
        (98 * SECOND, true),
    ] {
        assert_eq!(is_settled(changed, 100 * SECOND), expected, "{changed}");
    }
}

#[test]
fn a_change_in_a_directory_that_a_command_makes_unreadable_is_named() {
    as_nobody(|| {
        let project = Project::usual();
        let mut expected = project.tree();
        let open = project.open();
        let data = open.shell("echo x > deep/er/c.txt; chmod 000 deep");
        assert_eq!((&data["changed"], &data["not_undoable"]), (&json!(["deep"]), &json!(["deep"])));
        open.undo();
        expected.get_mut("deep/er/c.txt").unwrap().1 = "x\n".to_owned();
        assert_eq!(difference(&expected, &project.tree()), None);
    });
}

/// A keeper that is open.
struct Kept {
    project: Project,
    files: RootFiles,
    loaded: Loaded,
}

impl Kept {
    fn new() -> Self {
        let project = Project::usual();
        let directory = project.around.path().join("state/one/kept");
        fs::create_dir_all(&directory).unwrap();
        let files = project.files();
        let loaded = Loaded::open(&directory, &files, false).unwrap();
        Self { project, files, loaded }
    }
}

#[test]
fn a_file_that_grows_after_the_walk_is_kept_whole() {
    let mut kept = Kept::new();
    let mut tree = scan(&kept.files, kept.loaded.state).unwrap();
    fs::write(kept.project.path("a.txt"), "a longer text\n").unwrap();
    fs::write(kept.project.path("b.bin"), "b\0").unwrap();
    kept.loaded.read_contents(&kept.files, &mut tree).unwrap();
    for (name, expected) in [("a.txt", "a longer text\n"), ("b.bin", "b\0"), ("key", "secret\n")] {
        let entry = tree.iter().find(|entry| entry.path.as_str() == name).unwrap();
        let Content::File { blob: Some(blob), .. } = entry.content else { panic!("{name} is not kept") };
        assert_eq!(kept.loaded.pack.read(&blob).unwrap(), expected.as_bytes(), "{name}");
        assert_eq!(entry.stamp.size, expected.len() as u64, "{name}");
    }
}

//! Storms over an ignored directory with about as many entries as the keeper keeps one by one.
//!
//! Beyond this number its files are not kept: a file that a command overwrites in place stays as the command left it.
//! All files that no command overwrites in place, and all lines of the user, are there at the end, or the directory is
//! named as not restored.

use std::fs;

use super::super::scan::CROWD;
use super::super::tests::Tree;
use super::{Histogram, Storm};

/// The name of the ignored directory, and its directory with many files.
const IGNORED: &str = "out";
pub(super) const MANY: &str = "out/deps";

/// The last characters of the names of files that commands overwrite or delete in place.
const TOUCHED: [char; 4] = ['1', '3', '5', 'o'];

/// The ignored directory of a storm.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// The directory had too many entries before or after a command.
    pub(super) was_reached: bool,
    /// Lines that the user wrote into the directory.
    lines: Vec<String>,
}

/// Returns whether a path is an ignored directory or below one.
fn is_ignored(path: &str) -> bool {
    path.split('/').any(|name| name == IGNORED)
}

impl Crowd {
    /// Looks at the project before or after a command.
    pub(super) fn look(&mut self, tree: &Tree, seen: &mut Histogram) {
        let has_rule = tree.get(".gitignore").is_some_and(|(_, text)| text.contains("out/"));
        let n_entries = tree.keys().filter(|path| is_ignored(path)).count();
        self.was_reached |= has_rule && n_entries >= CROWD;
        seen.most_ignored = seen.most_ignored.max(n_entries);
    }

    pub(super) fn note_line(&mut self, path: &str, line: &str) {
        if is_ignored(path) {
            self.lines.push(line.to_owned());
        }
    }

    /// Returns whether a difference of a path between start and end is as documented.
    pub(super) fn excuses(&self, path: &str, start: &Tree, end: &Tree) -> bool {
        let is_touched = !start.contains_key(path) || path.ends_with(TOUCHED);
        // A directory keeps its place and may have lost entries.
        let is_there = start.get(path).is_some_and(|(_, text)| text == "directory") && end.contains_key(path);
        self.was_reached && is_ignored(path) && (is_touched || is_there)
    }

    /// Returns whether so many copies of a line are as documented.
    pub(super) fn excuses_line(&self, line: &str, n_times: usize, is_named: impl Fn(&str) -> bool) -> bool {
        match n_times {
            0 => self.was_reached && self.lines.iter().any(|own| own == line) && is_named(IGNORED),
            // A copy that a command made in the directory stays.
            _ => self.was_reached,
        }
    }
}

impl Storm {
    /// Fills the ignored directory, up to the limit or beyond it.
    pub(super) fn fill_crowd(&mut self) {
        fs::create_dir_all(self.project.path(MANY)).unwrap();
        let n_files = CROWD - 100 + [0, 90, 200, 2_000][self.numbers.below(4)];
        (0..n_files).for_each(|at| {
            fs::write(self.project.path(&format!("{MANY}/f{at:04}")), format!("{at}\n")).unwrap();
        });
        self.crowd = Some(Crowd::default());
    }

    /// Returns a command on the ignored directory, which it creates if it does not exist.
    pub(super) fn crowd_command(&mut self) -> String {
        let change = match self.numbers.below(10) {
            0 => "touch $(seq -f out/deps/n%g 250)",
            1 => "rm out/deps/*1",
            2 => "rm -r out/deps",
            3 => "chmod 600 out/deps/*3; echo agent > a.txt",
            4 => "mv out/deps loose",
            5 => "echo .env > .gitignore",
            6 => "printf '.env\\nout/\\n' > .gitignore; rm -f b.bin",
            7 => "rm -r out; mkdir -p out/deps; touch $(seq -f out/deps/f%04g 2100)",
            8 => "rm out/deps/*; touch out/deps/n2",
            _ => "sed -i '1s/^/agent /' out/deps/*5; rm -r deep",
        };
        format!("[ -d {MANY} ] && {{ {change}; }} || {{ mkdir -p {MANY}; touch $(seq -f {MANY}/n%g 1990); }}")
    }

    /// Returns whether the directory with many files exists.
    pub(super) fn has_crowd(&self) -> bool {
        self.crowd.is_some() && self.project.path(MANY).is_dir()
    }
}

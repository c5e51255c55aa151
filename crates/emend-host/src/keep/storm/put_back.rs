//! The part of the storms in which a command puts back what earlier runs changed, and in which a command puts hard links
//! to files outside of the project in the place of texts.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use emend_agent::workspace::Mode;

use super::{Histogram, Storm, TEXTS};

/// A file outside of the project that has a hard link in it.
#[derive(Debug)]
pub(super) struct Outside {
    path: PathBuf,
    /// The mode bits and contents that commands gave it.
    states: BTreeSet<(u32, String)>,
}

impl Outside {
    fn state(&self) -> (u32, String) {
        let mode = fs::metadata(&self.path).unwrap().permissions().mode() & 0o7777;
        (mode, String::from_utf8_lossy(&fs::read(&self.path).unwrap()).into_owned())
    }
}

impl Storm {
    /// Changes a text in one or more runs, and puts it back as it was in a further one.
    pub(super) fn put_back(&mut self, seen: &mut Histogram) {
        let path = self.numbers.pick(&TEXTS);
        let file = self.project.path(path);
        let is_file = fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
        if self.mode == Mode::Staged || !is_file {
            return;
        }
        let saved = self.project.path(&format!("../saved-{}", self.steps.len()));
        fs::copy(&file, &saved).unwrap();
        let saved = saved.display();
        for _ in 0..=self.numbers.below(2) {
            match self.numbers.below(4) {
                0 => self.edit(),
                1 => self.run(&format!("mv {path} away"), seen),
                2 => self.run(&format!("rm -rf {path}"), seen),
                _ => {
                    let command = self.numbers.command();
                    self.run(&command, seen);
                }
            }
        }
        let back = match self.numbers.below(3) {
            0 => format!("mv away {path} || cp {saved} {path}"),
            1 => format!("rm -rf {path}; cp -p {saved} {path}"),
            _ => format!("cp {saved} {path}"),
        };
        self.run(&back, seen);
        seen.put_back += 1;
    }

    /// Puts a hard link to a file outside of the project in the place of a text.
    pub(super) fn link_outside(&mut self, seen: &mut Histogram) {
        if self.mode == Mode::Staged {
            return;
        }
        let path = self.numbers.pick(&TEXTS);
        let outside = self.project.path(&format!("../outside-{}", self.steps.len()));
        fs::write(&outside, format!("outside {}\n", self.numbers.below(1000))).unwrap();
        let mode = [0o644, 0o600, 0o755][self.numbers.below(3)];
        fs::set_permissions(&outside, fs::Permissions::from_mode(mode)).unwrap();
        let command = format!("ln -f {} {path}", outside.display());
        self.outside.push(Outside { path: outside, states: BTreeSet::new() });
        self.note_outside();
        self.run(&command, seen);
        seen.links_outside += 1;
    }

    /// Notes the states of the files outside. Commands may have changed them through a link.
    pub(super) fn note_outside(&mut self) {
        for outside in &mut self.outside {
            let state = outside.state();
            outside.states.insert(state);
        }
    }

    /// Checks that an undo or a redo has given no file outside a state that no command had given it.
    pub(super) fn check_outside(&mut self) {
        for outside in &self.outside {
            let state = outside.state();
            if !outside.states.contains(&state) {
                self.errors.push(format!("{} outside of the project is {state:?}", outside.path.display()));
            }
        }
    }
}

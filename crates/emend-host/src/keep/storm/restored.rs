//! Storms in which the user restores what a command changed, and a later command changes it again.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use emend_agent::workspace::{Mode, RollbackMode, RollbackRequest};
use futures::executor::block_on;

use super::super::tests::Tree;
use super::{Histogram, Storm};

/// Returns the paths of texts that differ between two trees.
fn changed_texts(before: &Tree, after: &Tree) -> Vec<String> {
    let is_text = |side: Option<&(u32, String)>| {
        side.is_none_or(|(_, text)| {
            text != "directory" && !text.starts_with("link to") && !text.contains(['\0', '\u{fffd}'])
        })
    };
    let differs = |path: &&String| before.get(*path).map(|(_, text)| text) != after.get(*path).map(|(_, text)| text);
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().filter(differs);
    changed.filter(|path| is_text(before.get(*path)) && is_text(after.get(*path))).cloned().collect()
}

/// Maximum number of redos after a rollback.
const REDOS_MAX: usize = 3;

impl Storm {
    /// Runs a command, lets the user restore the texts that it changed, as `git checkout` does, and runs it again.
    pub(super) fn repeat_command(&mut self, seen: &mut Histogram) {
        if self.n_many > 0 || self.crowd.is_some() {
            return;
        }
        let command = self.numbers.command();
        let before = self.project.tree();
        self.run(&command, seen);
        if self.mode == Mode::Staged {
            self.steps.push("accept".to_owned());
            if let Err(error) = block_on(self.open().workspace.accept_all(None)) {
                self.errors.push(format!("accept: {error}"));
            }
        }
        let after = self.project.tree();
        let mut restored = 0;
        for path in changed_texts(&before, &after) {
            let file = self.project.path(&path);
            match before.get(&path) {
                None => {
                    fs::remove_file(&file).unwrap();
                    // With the directory that was made for it.
                    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                    if !before.contains_key(directory) {
                        let _ = fs::remove_dir(file.parent().unwrap());
                    }
                }
                Some((mode, text)) => {
                    let Ok(()) = fs::create_dir_all(file.parent().unwrap()) else { continue };
                    // Git makes the file anew. Writing into a hard link would change the text at another path, too.
                    let _ = fs::remove_file(&file);
                    fs::write(&file, text).unwrap();
                    fs::set_permissions(&file, fs::Permissions::from_mode(*mode)).unwrap();
                }
            }
            restored += 1;
            self.steps.push(format!("user: restores {path}"));
        }
        let before = self.project.tree();
        self.run(&command, seen);
        seen.repeated += usize::from(restored > 0);
        if self.mode == Mode::Direct {
            self.check_preview(&before);
        }
    }

    /// Checks that the preview of an undo of the last run has each text that it changed since `before`. One with hard links
    /// may have no line log, and is named with the changes beside texts.
    fn check_preview(&mut self, before: &Tree) {
        let changed = changed_texts(before, &self.project.tree());
        let workspace = &self.open().workspace;
        let shown = block_on(workspace.texts_of_runs(&[workspace.last_run()], None)).unwrap();
        let others = block_on(workspace.other_changes_of_runs(&[workspace.last_run()])).unwrap();
        let is_linked = |path: &String| fs::metadata(self.project.path(path)).is_ok_and(|found| found.nlink() > 1);
        let is_shown = |path: &String| {
            path.starts_with("out/")
                || shown.iter().any(|text| text.path.as_str() == path)
                || is_linked(path) && others.iter().any(|other| other.path.as_str() == path)
        };
        let missing: Vec<String> = changed.into_iter().filter(|path| !is_shown(path)).collect();
        if !missing.is_empty() {
            self.errors.push(format!("the preview does not show {missing:?}"));
        }
    }

    /// Rolls runs back, hard or one run alone, and redoes that: all lines of the user are there again.
    pub(super) fn rollback_and_back(&mut self, seen: &mut Histogram) {
        let runs: Vec<u64> = self.runs().into_iter().map(|run| run.run_id).collect();
        if self.mode == Mode::Staged || runs.is_empty() {
            return;
        }
        let at = self.numbers.below(runs.len());
        let (mode, runs) = match self.numbers.below(3) {
            0 => (RollbackMode::ScopedSelected, runs[at..=at].to_vec()),
            _ => (RollbackMode::HardAll, runs[at..].to_vec()),
        };
        let step = format!("rollback {mode:?} of {runs:?}");
        self.steps.push(step.clone());
        let before = self.project.tree();
        let request = RollbackRequest { mode, runs, ..RollbackRequest::default() };
        let done = match block_on(self.open().workspace.rollback(&request)) {
            Ok(done) => done,
            Err(error) => return self.errors.push(format!("{step}: {error}")),
        };
        if self.project.tree() == before {
            return;
        }
        *(if mode == RollbackMode::HardAll { &mut seen.hard } else { &mut seen.scoped }) += 1;
        self.steps.push("redo of it".to_owned());
        let mut is_whole = done.kept.is_empty() && done.files.iter().all(|file| !file.refused);
        // Texts and other paths may have been undone apart before, and are redone apart.
        for n_redone in 0..REDOS_MAX {
            let redone = match mode {
                RollbackMode::HardAll => block_on(self.open().workspace.redo_runs()).map(|redone| redone.kept),
                RollbackMode::ScopedSelected => block_on(self.open().workspace.undo_whole()).map(|_| Vec::new()),
            };
            match redone {
                Ok(kept) => is_whole &= kept.is_empty(),
                Err(_) if n_redone > 0 => break,
                Err(error) => return self.errors.push(format!("redo of {step}: {error}")),
            }
            if mode == RollbackMode::ScopedSelected || self.project.tree() == before {
                break;
            }
        }
        // A path that stayed as it was may have changed in part.
        let after = self.project.tree();
        if is_whole && after != before {
            let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let differ = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
            let differ: Vec<String> =
                differ.map(|path| format!("{path}: {:?}, before {:?}", after.get(path), before.get(path))).collect();
            self.errors.push(format!("redo of {step} gives another tree: {differ:#?}"));
        }
    }

    /// Undoes the last two runs one by one and redoes them one by one.
    pub(super) fn redo_pair(&mut self, seen: &mut Histogram) {
        if self.mode == Mode::Staged {
            return;
        }
        let runs: Vec<u64> = self.runs().into_iter().filter(|run| run.is_on).map(|run| run.run_id).collect();
        let [.., first, last] = runs[..] else { return };
        let mut trees = vec![self.project.tree()];
        for run in [last, first] {
            // Paths that the user has changed since do not come back.
            if !self.undo(&[run], seen) {
                return;
            }
            trees.push(self.project.tree());
        }
        trees.pop();
        for (run, tree) in [first, last].into_iter().zip(trees.into_iter().rev()) {
            self.steps.push(format!("redo of {run}"));
            if let Err(error) = block_on(self.open().workspace.redo_runs()) {
                return self.errors.push(format!("redo of {run}: {error}"));
            }
            if self.project.tree() != tree {
                return self.errors.push(format!("redo of {run} gives another tree"));
            }
        }
        seen.redone_pairs += 1;
    }
}

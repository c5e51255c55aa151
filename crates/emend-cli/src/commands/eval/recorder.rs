//! The files of `--record`. Recorded responses may have cost money, so a run replaces a recording only by one that has all of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use emend_agent::error_code::Code;
use emend_eval::recording::Recording;
use emend_eval::score::{Contestant, HARNESS};
use emend_eval::task::TaskSet;

use super::bench::Outcome;
use super::entries::Entry;
use crate::failure::Failure;

/// Refuses a run whose recordings would replace others: those of another agent, of another set, or with further tasks.
pub(super) fn check(directory: &Path, set: &TaskSet, entries: &[Entry]) -> Result<(), Failure> {
    let mut agents: BTreeMap<String, &Contestant> = BTreeMap::new();
    for Entry { contestant, .. } in entries {
        let name = Recording::file_name(contestant);
        let path = directory.join(&name);
        if let Some(other) = agents.insert(name, contestant) {
            let message = format!(
                "{other} and {contestant} would both be recorded to {}; record them to directories of their own",
                path.display()
            );
            return Err(Failure::new(Code::InvalidArgument, message));
        }
        let refused = |why: &str| {
            let message = format!("{} {why}; choose another directory, or delete it", path.display());
            Err(Failure::new(Code::Conflict, message))
        };
        let kind = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(&path, &error)),
            Ok(found) => found.file_type(),
        };
        if !kind.is_file() {
            return refused("is not a file");
        }
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        let Ok(recording) = Recording::from_json(&text) else { return refused("is not a recording") };
        if recording.contestant() != *contestant {
            return refused(&format!("is a recording of {}", recording.contestant()));
        }
        if recording.set.0 != set.name {
            return refused(&format!("is a recording of the set {}", recording.set.0));
        }
        let lost = recording.tasks.keys().filter(|id| !set.tasks.iter().any(|task| task.id == **id)).count();
        if lost > 0 {
            let what = if lost == 1 { "a task".to_owned() } else { format!("{lost} tasks") };
            return refused(&format!("has {what} that this run does not record"));
        }
    }
    Ok(())
}

/// Writes one recording for each agent. The recording of a run that was interrupted replaces none that has other tasks: it gets
/// a name of its own, which is told.
pub(super) fn write(directory: &Path, set: &TaskSet, entries: &[Entry], outcomes: &[Outcome]) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    for entry in entries {
        let of_entry = outcomes.iter().filter(|outcome| outcome.result.contestant == entry.contestant);
        let task = |outcome: &Outcome| Some((outcome.result.task.clone(), outcome.recording.clone()?));
        let recording = Recording {
            harness: HARNESS.to_owned(),
            set: (set.name.clone(), set.digest.clone()),
            model: entry.contestant.model.clone(),
            edits: entry.contestant.edits.clone(),
            tool_calls: entry.contestant.tool_calls.clone(),
            tasks: of_entry.filter_map(task).collect(),
        };
        if recording.tasks.is_empty() {
            continue;
        }
        let mut path = directory.join(Recording::file_name(&entry.contestant));
        let before = fs::read_to_string(&path).ok().and_then(|text| Recording::from_json(&text).ok());
        if before.is_some_and(|before| before.tasks.keys().any(|id| !recording.tasks.contains_key(id))) {
            path.set_extension("json.interrupted");
            let n_tasks = recording.tasks.len();
            writeln!(
                io::stderr(),
                "emend: {n_tasks} recorded tasks of {} are in {}",
                entry.contestant,
                path.display()
            )?;
        }
        replace(&path, &recording.to_json()).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

/// Replaces a file in one step.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    let mut file = tempfile::Builder::new().prefix(".emend-").tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::IoError, format!("cannot write recordings to {}: {error}", path.display()))
}

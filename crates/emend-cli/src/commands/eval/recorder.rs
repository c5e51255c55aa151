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
        if let Some(path) = store(directory, &recording)? {
            let (n_tasks, contestant) = (recording.tasks.len(), &entry.contestant);
            writeln!(io::stderr(), "emend: {n_tasks} recorded tasks of {contestant} are in {}", path.display())?;
        }
    }
    Ok(())
}

/// Writes a recording unless it has no tasks. Returns the path if it is beside a recording that has other tasks.
fn store(directory: &Path, recording: &Recording) -> Result<Option<PathBuf>, Failure> {
    if recording.tasks.is_empty() {
        return Ok(None);
    }
    let path = directory.join(Recording::file_name(&recording.contestant()));
    let before = fs::read_to_string(&path).ok().and_then(|text| Recording::from_json(&text).ok());
    let has_all = before.is_none_or(|before| before.tasks.keys().all(|id| recording.tasks.contains_key(id)));
    let mut file =
        tempfile::Builder::new().prefix(".emend-").tempfile_in(directory).map_err(|error| failed(&path, &error))?;
    file.write_all(recording.to_json().as_bytes()).map_err(|error| failed(&path, &error))?;
    if has_all {
        file.persist(&path).map_err(|refused| failed(&path, &refused.error))?;
        return Ok(None);
    }
    // Earlier interrupted runs keep their files, too.
    for n in 1_u32.. {
        let number = if n == 1 { String::new() } else { format!("-{n}") };
        let aside = path.with_extension(format!("json.interrupted{number}"));
        match file.persist_noclobber(&aside) {
            Ok(_) => return Ok(Some(aside)),
            Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => file = taken.file,
            Err(refused) => return Err(failed(&aside, &refused.error)),
        }
    }
    Ok(None)
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::IoError, format!("cannot write recordings to {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use emend_eval::recording::RecordedTask;
    use emend_llm::cassette::Cassette;

    use super::*;

    fn recording(tasks: &[&str], message: &str) -> Recording {
        let task = RecordedTask {
            messages: vec![message.to_owned()],
            wall_ms: vec![1],
            error: None,
            cassette: Cassette {
                emend_cassette: 1,
                clock_ms: 0,
                seed: 0,
                root: "/project".to_owned(),
                exchanges: Vec::new(),
            },
        };
        Recording {
            harness: HARNESS.to_owned(),
            set: ("own".to_owned(), "sha256:0".to_owned()),
            model: "m".to_owned(),
            edits: None,
            tool_calls: None,
            tasks: tasks.iter().map(|id| ((*id).to_owned(), task.clone())).collect(),
        }
    }

    #[test]
    fn an_interrupted_run_replaces_no_recording_and_none_of_another_interrupted_run() {
        let directory = tempfile::tempdir().unwrap();
        let stored = |tasks: &[&str], message: &str| {
            let path = store(directory.path(), &recording(tasks, message)).unwrap();
            path.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        };
        let read = |name: &str| {
            let text = fs::read_to_string(directory.path().join(name)).unwrap();
            Recording::from_json(&text).unwrap()
        };
        assert_eq!(stored(&["a", "b"], "whole"), None);
        assert_eq!(stored(&[], "none"), None);
        assert_eq!(stored(&["a"], "first").as_deref(), Some("m.json.interrupted"));
        assert_eq!(stored(&["b"], "second").as_deref(), Some("m.json.interrupted-2"));
        assert_eq!(read("m.json"), recording(&["a", "b"], "whole"));
        assert_eq!(read("m.json.interrupted"), recording(&["a"], "first"));
        assert_eq!(read("m.json.interrupted-2"), recording(&["b"], "second"));
        assert_eq!(stored(&["a", "b", "c"], "more"), None);
        assert_eq!(read("m.json"), recording(&["a", "b", "c"], "more"));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "no temporary file is left");
    }
}

//! Task sets by name: the built-in one, files in TOML, and tasks from directories of other projects.

mod history;
mod polyglot;
mod rustlings;

use std::fs;
use std::path::Path;

use crate::sets;
use crate::task::{SetError, TaskSet};

/// Opens a set: `core`; `small`; `rustlings:DIR` with the unpacked crate; `history:DIR` with a clone of this repository;
/// `polyglot:DIR` with exercises in the layout of aider's benchmark; or a file or directory with tasks in TOML.
///
/// # Errors
///
/// [`SetError`] names the file or task and the problem.
pub fn open(name: &str) -> Result<TaskSet, SetError> {
    match name.split_once(':') {
        None if name == "core" => sets::core(),
        None if name == "small" => sets::small(),
        Some(("history", directory)) => history::read(Path::new(directory)),
        Some(("polyglot", directory)) => polyglot::read(Path::new(directory)),
        Some(("rustlings", directory)) => rustlings::read(Path::new(directory)),
        _ => own(Path::new(name)),
    }
}

/// Reads the set in a file, or in all TOML files of a directory by name.
fn own(path: &Path) -> Result<TaskSet, SetError> {
    let malformed = |file: &Path, error: std::io::Error| SetError::Malformed {
        file: file.display().to_string(),
        reason: error.to_string(),
    };
    let mut files = Vec::new();
    if path.is_dir() {
        for entry in fs::read_dir(path).map_err(|error| malformed(path, error))? {
            files.push(entry.map_err(|error| malformed(path, error))?.path());
        }
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
    } else {
        files.push(path.to_owned());
    }
    let read = |file: &std::path::PathBuf| {
        let text = fs::read_to_string(file).map_err(|error| malformed(file, error))?;
        Ok((file.display().to_string(), text))
    };
    let texts: Vec<(String, String)> = files.iter().map(read).collect::<Result<_, SetError>>()?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    TaskSet::parse(&name, &texts)
}

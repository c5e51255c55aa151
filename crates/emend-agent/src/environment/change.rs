//! A change of one file, as one step of a change of several.

#[cfg(not(target_family = "wasm"))]
use super::error::EnvError;
use super::path::FilePath;

/// The new state of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Path of the file, as [`resolve`](crate::environment::ExecutionEnvironment::resolve) returned it.
    pub path: FilePath,
    /// The present content; `None` if the file must not exist. Other content is not overwritten.
    pub before: Option<Vec<u8>>,
    /// The new content; `None` removes the file.
    pub after: Option<Vec<u8>>,
    /// For a moved file: the file whose mode bits the new one takes.
    pub mode_of: Option<FilePath>,
    /// Whether the file becomes executable; `None` keeps its mode. Ignored by environments without mode bits.
    pub executable: Option<bool>,
    /// Whether a read-only file is changed, too: the user undoes or redoes the change of a command to it.
    pub over_read_only: bool,
}

/// Work that must succeed before files change, such as saving what an undo needs. It does not wait for the environment.
#[cfg(not(target_family = "wasm"))]
pub trait FirstStep: Send + Sync {
    /// Does the work.
    ///
    /// # Errors
    ///
    /// The work failed; the files stay as they are.
    fn run(&self) -> Result<(), EnvError>;
}

#[cfg(not(target_family = "wasm"))]
impl<F: Fn() -> Result<(), EnvError> + Send + Sync> FirstStep for F {
    fn run(&self) -> Result<(), EnvError> {
        self()
    }
}

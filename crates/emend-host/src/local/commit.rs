//! Changes of several files together, and the recovery of changes that an earlier run left unfinished.

use std::io;

use emend_agent::environment::{FileChange, FilePath};

use super::LocalEnvironment;
use crate::commit::{self, CommitError, Observer, Recovered};
use crate::state::StateDir;

impl LocalEnvironment {
    /// Commits `changes`, all or none.
    ///
    /// `observe` is called before each system call, for tests; otherwise pass `&mut |_| Ok(())`. Unlike
    /// [`change`](emend_agent::environment::ExecutionEnvironment::change), a commit of one file is journaled too.
    ///
    /// # Errors
    ///
    /// [`CommitError`]; no file has changed unless the variant says so.
    pub fn commit(
        &self,
        state: &StateDir,
        changes: &[FileChange],
        observe: &mut Observer<'_>,
    ) -> Result<(), CommitError> {
        commit::commit(&self.files, state, changes, observe)
    }

    /// Checks whether `changes` could be committed, as far as possible without writing anything.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    pub fn check_commit(&self, changes: &[FileChange]) -> Result<(), CommitError> {
        commit::check_commit(&self.files, changes)
    }

    /// Returns whether an earlier run left a commit unfinished, without locking or writing anything.
    #[must_use]
    pub fn has_unfinished_commit(&self) -> bool {
        StateDir::holds(self.root(), commit::DOCUMENT)
    }

    /// Completes or rolls back the commit that an earlier run left unfinished. Returns `None` if there is none.
    ///
    /// # Errors
    ///
    /// `Refused` or `Unfinished` if the disk fails; the commit is then still unfinished.
    pub fn recover(&self, state: &StateDir, observe: &mut Observer<'_>) -> Result<Option<Recovered>, CommitError> {
        // A removed file takes the directories with it that were created for it.
        self.files.store_notes(state.directory());
        commit::recover(&self.files, state, observe)
    }

    /// Removes temporary files that killed processes left beside these paths.
    pub fn remove_abandoned<'a>(&self, paths: impl IntoIterator<Item = &'a FilePath>) {
        paths.into_iter().for_each(|path| self.files.remove_abandoned(path));
    }

    /// Returns the run whose command was running when an earlier process was killed, until its changes are recorded. `state`
    /// is locked, the state of this root.
    #[must_use]
    pub fn interrupted_command(&self, state: &StateDir) -> Option<u64> {
        #[cfg(unix)]
        return crate::keep::Keeper::new(state.directory()).running();
        #[cfg(not(unix))]
        {
            let _ = state;
            None
        }
    }

    /// Records the changes of a command during which an earlier process was killed, as the first use of the keeper does.
    /// `state` is locked, the state of this root.
    ///
    /// # Errors
    ///
    /// The files cannot be read, or the state cannot be written.
    pub fn record_interrupted(&self, state: &StateDir) -> io::Result<()> {
        #[cfg(unix)]
        return crate::keep::Keeper::new(state.directory()).record_interrupted(&self.files);
        #[cfg(not(unix))]
        {
            let _ = state;
            Ok(())
        }
    }
}

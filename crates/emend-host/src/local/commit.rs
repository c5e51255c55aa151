//! Changes of several files together, and the recovery of changes that an earlier run left unfinished.

use emend_agent::environment::FileChange;

use super::LocalEnvironment;
use crate::commit::{self, CommitError, Observer, Recovered};
use crate::state::StateDir;

impl LocalEnvironment {
    /// Carries out `changes`, all or none. `observe` is told of each system call before it is made; pass
    /// `&mut |_| Ok(())` unless you are a test.
    ///
    /// # Errors
    ///
    /// [`CommitError`]; no file has changed except where it says so.
    pub fn commit(
        &self,
        state: &StateDir,
        changes: &[FileChange],
        observe: &mut Observer<'_>,
    ) -> Result<(), CommitError> {
        commit::commit(&self.files, state, changes, observe)
    }

    /// Says whether `changes` could be carried out, as far as that can be known without writing anything.
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

    /// Completes or takes back the commit that an earlier run left unfinished, if one did.
    ///
    /// # Errors
    ///
    /// `Refused` or `Unfinished` if the disk fails; the commit is still unfinished then.
    pub fn recover(&self, state: &StateDir, observe: &mut Observer<'_>) -> Result<Option<Recovered>, CommitError> {
        commit::recover(&self.files, state, observe)
    }
}

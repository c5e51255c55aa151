//! Changes several files by single writes and removals, for environments that have no atomic commit.

use emend_llm::BoxFuture;

use super::change::FileChange;
use super::error::EnvError;
use super::execution_environment::ExecutionEnvironment;
use super::path::FilePath;

/// Changes files one after the other. If a change fails, all files are restored, the failed one included: a write that
/// is not atomic may have left half of it. A moved file gets the mode bits of a new file.
///
/// # Errors
///
/// As [`change`](ExecutionEnvironment::change); `Io` with the files that could not be restored and the cause.
#[must_use]
pub fn change_one_by_one<'a>(
    environment: &'a dyn ExecutionEnvironment,
    changes: &'a [FileChange],
) -> BoxFuture<'a, Result<(), EnvError>> {
    Box::pin(change_all(environment, changes))
}

async fn change_all(environment: &dyn ExecutionEnvironment, changes: &[FileChange]) -> Result<(), EnvError> {
    let mut olds: Vec<Option<Vec<u8>>> = Vec::new();
    for (n_done, change) in changes.iter().enumerate() {
        let outcome = match environment.read_existing(&change.path).await {
            Ok(old) if old != change.before => Err(EnvError::Changed { path: change.path.to_string() }),
            Ok(old) => {
                olds.push(old);
                put(environment, &change.path, change.after.as_deref()).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            return Err(put_back(environment, changes, &olds, n_done, error).await);
        }
    }
    Ok(())
}

/// Restores the files of the first `changes`, of which `n_done` were written completely; returns the error to report.
async fn put_back(
    environment: &dyn ExecutionEnvironment,
    changes: &[FileChange],
    olds: &[Option<Vec<u8>>],
    n_done: usize,
    error: EnvError,
) -> EnvError {
    let mut stuck = Vec::new();
    for (place, (change, old)) in changes.iter().zip(olds).enumerate().rev() {
        match environment.read_existing(&change.path).await {
            Ok(now) if now == *old => continue,
            // Another program has written the file since.
            Ok(now) if place < n_done && now != change.after => continue,
            _ => {}
        }
        if put(environment, &change.path, old.as_deref()).await.is_err() {
            stuck.push(change.path.as_str());
        }
    }
    if stuck.is_empty() {
        return error;
    }
    EnvError::Io { path: stuck.join(", "), reason: format!("could not be put back as it was, after: {error}") }
}

async fn put(environment: &dyn ExecutionEnvironment, path: &FilePath, content: Option<&[u8]>) -> Result<(), EnvError> {
    match content {
        Some(content) => environment.write(path, content).await,
        None => environment.remove(path).await,
    }
}

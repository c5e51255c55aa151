//! The case for changes after a first step. A browser has no such step.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::cases::change;
use super::{Outcome, expect, expect_code, list, read, succeed};
use crate::environment::{EnvError, ExecutionEnvironment, FilePath};

pub(super) async fn changes_after_the_first_step(environment: &dyn ExecutionEnvironment) -> Outcome {
    let edit = change("data/no-end.txt", Some("needle"), Some("thread"));
    let create = change("fresh/deep/new.txt", None, Some("new"));
    let remove = change("data/empty.txt", Some(""), None);
    let before = list(environment, ".", 9).await?;
    let refused = || Err(EnvError::Unsupported { what: "this step" });
    for changes in [vec![edit.clone()], vec![create.clone()], vec![remove.clone()], vec![edit.clone(), create.clone()]]
    {
        let what = format!("{} changes from {} on after a failed step", changes.len(), changes[0].path);
        expect_code(&what, environment.change_after(&refused, &changes).await, "unsupported")?;
        expect(format!("files after {what}"), list(environment, ".", 9).await?, before.clone())?;
        expect("content after a failed step", read(environment, "data/no-end.txt").await?, b"needle".to_vec())?;
    }
    let n_calls = AtomicUsize::new(0);
    let counted = || {
        n_calls.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    let stale = change("data/no-end.txt", Some("something else"), Some("thread"));
    expect_code("a stale change", environment.change_after(&counted, &[stale]).await, "stale")?;
    expect("content after a stale change", read(environment, "data/no-end.txt").await?, b"needle".to_vec())?;
    n_calls.store(0, Ordering::SeqCst);
    for changes in [&[edit][..], &[create], &[remove]] {
        succeed("a change after a step", environment.change_after(&counted, changes).await)?;
    }
    expect("calls of the first step", n_calls.load(Ordering::SeqCst), 3)?;
    expect("the changed file", read(environment, "data/no-end.txt").await?, b"thread".to_vec())?;
    expect("the new file", read(environment, "fresh/deep/new.txt").await?, b"new".to_vec())?;
    let removed = environment.metadata(&FilePath::root().join("data/empty.txt")).await;
    expect("the removed file", succeed("metadata", removed)?.is_some(), false)
}

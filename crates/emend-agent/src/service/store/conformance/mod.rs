//! The suite that every [`ServiceStore`] must pass.
//!
//! [`check`] needs a way to open empty stores. [`check_shared`] takes several handles of one empty store, for stores that
//! several connections or processes share. [`check_failure`] takes a store that refuses some commits.
#![allow(clippy::unwrap_used, reason = "a failure of the store fails the test that runs the suite")]

mod cases;
mod concurrent;
mod failure;
mod model;
mod random;
mod samples;

use std::future::Future;

use emend_llm::Shared;

pub use concurrent::check_shared;
pub use failure::{StoreDump, check_failure, dump};

use super::ServiceStore;

/// Checks stores that `open` returns; each must be empty.
///
/// # Panics
///
/// Panics if the store breaks a rule of the trait.
pub async fn check<F: Future<Output = Shared<S>>, S: ServiceStore>(open: impl Fn() -> F) {
    cases::numbers_have_no_gaps(&*open().await).await;
    cases::pages_and_searches(&*open().await).await;
    cases::old_events_are_dropped(&*open().await).await;
    cases::jobs_keep_their_order(&*open().await).await;
    cases::removed_sessions_are_gone(&*open().await).await;
    cases::only_readers_of_a_removed_session_miss_events(&*open().await).await;
    for seed in 1..=random::SEEDS {
        random::changes_are_those_of_the_model(&*open().await, seed).await;
    }
    let store = open().await;
    check_shared(&[Shared::clone(&store), store]).await;
}

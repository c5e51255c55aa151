//! Random changes, compared with the model after each.

use super::model::Model;
use super::samples::{Dice, event, job, session};
use crate::service::records::{JobStatus, SessionStatus};
use crate::service::store::{Commit, EventScope, ServiceStore, SessionQuery};
use crate::service::time::Timestamp;

/// Number of seeds.
pub(super) const SEEDS: u64 = 6;

const STEPS: usize = 150;

const TEXTS: [&str; 15] = [
    "The quick brown fox\n",
    "ÄHNLICH wie Straße, ẞ und İstanbul",
    "100% of a_b\\c",
    "\"quoted\" 'single' \"\"",
    "日本語のテキスト検索",
    "𝒳𝒴𝒵 astral",
    "nul \0 and \u{ffff} and \u{fffd}",
    "a AND b OR NOT c NEAR(d) *",
    "ΟΔΟΣ οδός",
    "a",
    "",
    "ab",
    "e\u{301}té",
    "--; DROP TABLE sessions",
    "\"runs\":[1,2,3,4,5]",
];

const STATUSES: [JobStatus; 7] = [
    JobStatus::Queued,
    JobStatus::Running,
    JobStatus::WaitingForUser,
    JobStatus::AwaitingReview,
    JobStatus::Completed,
    JobStatus::Failed,
    JobStatus::Cancelled,
];

fn session_id(dice: &mut Dice) -> String {
    (*dice.pick(&["s0", "s1", "S1", "s10", "ä", "s 2"])).to_owned()
}

/// Jobs belong to one session, so their ids contain its id.
fn job_id(dice: &mut Dice, session_id: &str) -> String {
    format!("{session_id}/{}", dice.below(4))
}

fn commit(dice: &mut Dice) -> Commit {
    let id = session_id(dice);
    let mut record = session(&id, dice.below(5) as u64, TEXTS[dice.below(TEXTS.len())]);
    record.status = if dice.often(3) { SessionStatus::Archived } else { SessionStatus::Active };
    record.cursor = dice.below(99) as u64;
    let jobs = (0..dice.below(3))
        .map(|_| {
            let mut record = job(&job_id(dice, &id), &id, *dice.pick(&STATUSES));
            record.instruction = (*dice.pick(&TEXTS)).to_owned();
            record.runs = (0..dice.below(3)).map(|_| dice.below(6) as u64).collect();
            record
        })
        .collect();
    let events = (0..dice.below(6))
        .map(|n| {
            let job_id = match dice.below(6) {
                0 => None,
                // A job of another session, or of none.
                1 => Some("s0/0".to_owned()),
                _ => Some(job_id(dice, &id)),
            };
            event(&format!("e{n}"), job_id.as_deref())
        })
        .collect();
    let mut purged_jobs: Vec<String> = (0..dice.below(3) / 2).map(|_| job_id(dice, &id)).collect();
    purged_jobs.extend(dice.often(1).then(|| "s1/1".to_owned()));
    Commit {
        work: None,
        at: Timestamp(dice.below(1_000_000) as u64),
        session: record,
        jobs,
        events,
        text: (*dice.pick(&TEXTS)).to_owned(),
        purged_jobs,
        events_per_job_max: if dice.often(4) { dice.below(5) as u64 } else { 0 },
    }
}

/// Returns a part of a text, sometimes in other case, sometimes a text that is nowhere.
fn wanted(dice: &mut Dice) -> String {
    let chars: Vec<char> = dice.pick(&TEXTS).chars().collect();
    let start = dice.below(chars.len());
    let text: String = chars[start..].iter().take(1 + dice.below(7)).collect();
    match dice.below(6) {
        0 => text.to_uppercase(),
        1 => text.to_lowercase(),
        2 => format!("{text}{}", dice.pick(&["z", "%", "_", "\"", " "])),
        _ => text,
    }
}

fn query(dice: &mut Dice) -> SessionQuery {
    SessionQuery {
        text: if dice.often(7) { wanted(dice) } else { String::new() },
        status: dice.often(3).then_some(SessionStatus::Archived),
        after: dice.often(4).then(|| (Timestamp(dice.below(6) as u64), session_id(dice))),
        limit: dice.below(4),
    }
}

fn scope(dice: &mut Dice) -> EventScope {
    let id = session_id(dice);
    match dice.below(3) {
        0 => EventScope::All,
        1 => EventScope::Session(id),
        _ => EventScope::Job(job_id(dice, &id)),
    }
}

pub(super) async fn changes_are_those_of_the_model(store: &dyn ServiceStore, seed: u64) {
    let (mut dice, mut model) = (Dice::new(seed), Model::default());
    for step in 0..STEPS {
        let case = format!("seed {seed}, step {step}");
        if dice.often(1) {
            let id = session_id(&mut dice);
            assert_eq!(store.remove_session(&id).await, Ok(model.remove_session(&id)), "{case}: removal of {id}");
        } else {
            let commit = commit(&mut dice);
            let shown = format!("{case}: {commit:?}");
            assert_eq!(store.commit(commit.clone()).await, Ok(model.commit(commit)), "{shown}");
        }
        for _ in 0..3 {
            let scope = scope(&mut dice);
            let (after, limit) = (dice.below(40) as u64, dice.below(9));
            let expected = model.events(&scope, after, limit);
            assert_eq!(store.events(&scope, after, limit).await, Ok(expected), "{case}: {scope:?} after {after}");
        }
        for _ in 0..4 {
            let query = query(&mut dice);
            assert_eq!(store.sessions(&query).await, Ok(model.sessions(&query)), "{case}: {query:?}");
        }
        let id = session_id(&mut dice);
        assert_eq!(store.session(&id).await, Ok(model.session(&id)), "{case}: {id}");
        assert_eq!(store.jobs(&id).await, Ok(model.jobs(|job| job.session_id == id)), "{case}: jobs of {id}");
        let open = model.jobs(|job| !job.status.is_terminal());
        assert_eq!(store.open_jobs().await, Ok(open), "{case}: open jobs");
        let runs = [dice.below(6) as u64, dice.below(6) as u64];
        let of_runs = model.jobs(|job| job.runs.iter().any(|run| runs.contains(run)));
        assert_eq!(store.jobs_of_runs(&runs).await, Ok(of_runs), "{case}: jobs of runs {runs:?}");
        let id = job_id(&mut dice, &id);
        assert_eq!(store.job(&id).await, Ok(model.job(&id)), "{case}: job {id}");
    }
}

//! Sessions of a host: a run whose process was killed goes on in another one that is open already, and a message during a run is
//! saved before it is told.

#[cfg(feature = "canvas")]
mod canvas;

use std::collections::BTreeMap;

use futures::FutureExt;

use super::*;
use crate::environment::EnvError;
use crate::session::StepKeeper;
use crate::store::{MemStore, Store, StoreError};
use crate::test_support::{Interleaved, covers, wait};
use crate::workspace::{Missed, RootEntry, RootGate, RootRight, SaveSnapshot, Snapshot};

/// The line logs of a root, as one process reads and saves them.
#[derive(Clone, Default)]
struct Logs {
    saved: Shared<Mutex<Vec<Snapshot>>>,
    n_seen: Shared<Mutex<usize>>,
}

impl Logs {
    /// Returns the logs as another process reads and saves them.
    fn of_other(&self) -> Self {
        Self { saved: Shared::clone(&self.saved), n_seen: Shared::default() }
    }
}

struct Right;

impl RootRight for Right {}

impl RootGate for Logs {
    fn enter(&self, reload: bool) -> BoxFuture<'_, Result<RootEntry, EnvError>> {
        let (saved, mut n_seen) = (self.saved.lock().unwrap(), self.n_seen.lock().unwrap());
        let whole = saved.iter().filter(|_| reload).cloned().reduce(|mut whole, later| {
            whole.apply(later).unwrap();
            whole
        });
        let missed = Missed { later: if reload { Vec::new() } else { saved[*n_seen..].to_vec() }, whole };
        *n_seen = saved.len();
        Box::pin(async { Ok(RootEntry { missed, right: Box::new(Right) as Box<dyn RootRight> }) })
    }

    fn fenced(&self, _: &str) -> Shared<dyn RootGate> {
        Shared::new(self.clone())
    }
}

impl SaveSnapshot for Logs {
    fn save(&self, changes: &Snapshot, _: &dyn Fn() -> Snapshot) -> Result<(), EnvError> {
        let (mut saved, mut n_seen) = (self.saved.lock().unwrap(), self.n_seen.lock().unwrap());
        saved.push(changes.clone());
        *n_seen = saved.len();
        Ok(())
    }
}

/// Steps that a killed process leaves behind.
#[derive(Default)]
struct Steps {
    known: Mutex<BTreeMap<String, Value>>,
    /// The first step of this kind of which the process never learns that it is recorded.
    killed_at: Option<&'static str>,
}

impl StepKeeper for Steps {
    fn recorded(&self, step: &str) -> Option<Value> {
        self.known.lock().unwrap().get(step).cloned()
    }

    fn record(&self, step: String, result: Value) -> BoxFuture<'_, ()> {
        match self.killed_at {
            // A result of a call is lost with the process.
            Some("tool:") if step.starts_with("tool:") => return Box::pin(std::future::pending()),
            Some(kind) if step.starts_with(kind) => {
                self.known.lock().unwrap().insert(step, result);
                return Box::pin(std::future::pending());
            }
            _ => drop(self.known.lock().unwrap().insert(step, result)),
        }
        Box::pin(async {})
    }
}

fn workspace(world: &World, logs: &Logs) -> Shared<Workspace> {
    over(Shared::clone(&world.files) as Shared<dyn ExecutionEnvironment>, logs)
}

fn over(files: Shared<dyn ExecutionEnvironment>, logs: &Logs) -> Shared<Workspace> {
    let workspace = Workspace::new(files, Mode::Direct, Shared::new(TickingClock::default()));
    let (gate, saver) = (Shared::new(logs.clone()), Shared::new(logs.clone()));
    Shared::new(workspace.with_gate(gate).with_saver(saver))
}

#[test]
fn an_edit_whose_process_was_killed_before_its_result_is_not_made_again() {
    covers("service.resumed");
    let world = World::new(NOTES, Vec::new(), Setup::default());
    let logs = Logs::default();
    let killed = workspace(&world, &logs);
    let other = workspace(&world, &logs.of_other());
    // The other process serves other jobs already, so it has read the line logs once.
    block_on(other.refresh()).unwrap();
    let store = Shared::new(MemStore::new());
    let with = |workspace: &Shared<Workspace>, answers| SessionOptions {
        workspace: Shared::clone(workspace),
        ..world.options(answers)
    };

    let options = with(&killed, vec![Answer::Call(vec![edit("two", "2\ntwo")])]);
    let session = Session::with_id(options, "s".to_owned()).with_store(Shared::clone(&store) as Shared<dyn Store>);
    let steps = Shared::new(Steps { killed_at: Some("tool:"), ..Steps::default() });
    session.keep_steps(Some(Shared::clone(&steps) as Shared<dyn StepKeeper>));
    let mut run = session.submit("do it", CancelToken::new()).unwrap();
    while run.next().now_or_never().is_some() {}
    let run_id = session.last_run();
    drop((run, session));
    let edited = "one\n2\ntwo\nthree\n";
    assert_eq!(world.disk("notes.md"), edited);

    let options = with(&other, vec![Answer::Say("Done.")]);
    let session = block_on(Session::resume_run(options, store, "s")).unwrap();
    let known = Mutex::new(std::mem::take(&mut *steps.known.lock().unwrap()));
    session.keep_steps(Some(Shared::new(Steps { known, killed_at: None })));
    let events: Vec<Event> = block_on(session.continue_run(run_id, CancelToken::new()).unwrap().collect());
    assert_eq!(world.disk("notes.md"), edited, "{events:#?}");
    assert!(
        world.last_results()[0].starts_with("Done: notes.md. The server was replaced"),
        "{:?}",
        world.last_results()
    );
}

#[test]
fn a_run_that_is_dropped_during_a_change_of_files_leaves_its_edit_known() {
    covers("service.resumed");
    let world = World::new(NOTES, Vec::new(), Setup::default());
    let logs = Logs::default();
    let slow = Interleaved::new(&world.files, 1);
    let dropped = over(slow, &logs);
    let other = workspace(&world, &logs.of_other());
    block_on(other.refresh()).unwrap();
    let answers = vec![Answer::Call(vec![edit("two", "2")])];
    let options = SessionOptions { workspace: Shared::clone(&dropped), ..world.options(answers) };
    let session = Session::with_id(options, "s".to_owned());
    let mut run = session.submit("do it", CancelToken::new()).unwrap();
    let before = world.disk("notes.md");
    while world.disk("notes.md") == before {
        let _ = run.next().now_or_never();
    }
    // The file is written, and the call has not returned.
    let run_id = session.last_run();
    drop(run);
    block_on(other.refresh()).unwrap();
    assert_eq!(other.files_of_call(run_id, "call_1_0").len(), 1, "the edit is known as that of the call");
    // The process that dropped it reads it again, too.
    block_on(dropped.refresh()).unwrap();
    assert_eq!(dropped.files_of_call(run_id, "call_1_0").len(), 1);
}

#[test]
fn a_response_is_not_asked_for_again_although_an_earlier_one_has_the_same_text() {
    covers("service.resumed");
    let world = World::new(NOTES, Vec::new(), Setup::default());
    let store = Shared::new(MemStore::new());
    let session = Session::with_id(world.options(vec![Answer::Say("Done."), Answer::Say("Done.")]), "s".to_owned())
        .with_store(Shared::clone(&store) as Shared<dyn Store>);
    let _: Vec<Event> = block_on(session.submit("first", CancelToken::new()).unwrap().collect());
    let steps = Shared::new(Steps { killed_at: Some("llm:"), ..Steps::default() });
    session.keep_steps(Some(Shared::clone(&steps) as Shared<dyn StepKeeper>));
    let mut run = session.submit("second", CancelToken::new()).unwrap();
    while run.next().now_or_never().is_some() {}
    let run_id = session.last_run();
    drop((run, session));

    // No answer is left: another request to the model would fail.
    let session = block_on(Session::resume_run(world.options(Vec::new()), store, "s")).unwrap();
    let known = Mutex::new(std::mem::take(&mut *steps.known.lock().unwrap()));
    session.keep_steps(Some(Shared::new(Steps { known, killed_at: None })));
    let _: Vec<Event> = block_on(session.continue_run(run_id, CancelToken::new()).unwrap().collect());
    let texts: Vec<String> = session.entries().iter().map(|entry| entry.message.text()).collect();
    assert_eq!(texts, ["first", "Done.", "second", "Done."]);
}

#[test]
fn calls_that_a_process_left_without_a_result_have_one_before_the_next_message() {
    covers("service.resumed");
    let world = World::new(NOTES, Vec::new(), Setup::default());
    let store = Shared::new(MemStore::new());
    let options = world.options(vec![Answer::Call(vec![edit("two", "2")])]);
    let session = Session::with_id(options, "s".to_owned()).with_store(Shared::clone(&store) as Shared<dyn Store>);
    session.keep_steps(Some(Shared::new(Steps { killed_at: Some("tool:"), ..Steps::default() })));
    let mut run = session.submit("first", CancelToken::new()).unwrap();
    while run.next().now_or_never().is_some() {}
    drop((run, session));
    let options = world.options(vec![Answer::Say("Done.")]);
    let session = block_on(Session::resume_run(options, store, "s")).unwrap();
    // The model refuses a conversation with an open call: see `assert_history_is_valid`.
    let _: Vec<Event> = block_on(session.submit("second", CancelToken::new()).unwrap().collect());
    assert_eq!(session.entries().len(), 5);
}

/// A store that does not append at once.
struct Slow(Shared<MemStore>);

impl Store for Slow {
    fn append<'a>(&'a self, name: &'a str, lines: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            wait(3).await;
            self.0.append(name, lines).await
        })
    }

    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        self.0.load(name)
    }

    fn names(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.0.names()
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.remove(name)
    }
}

#[test]
fn a_message_during_a_run_is_saved_before_it_is_told_to_be_in_the_conversation() {
    covers("session.saved");
    let world = World::new(NOTES, vec![Answer::Call(vec![read()]), Answer::Say("Done.")], Setup::default());
    let store = Shared::new(MemStore::new());
    let _ = world.session.clone().with_store(Shared::new(Slow(Shared::clone(&store))));
    world.when(1, |session| session.steer("in French, please").unwrap());
    let mut run = world.session.submit("do it", CancelToken::new()).unwrap();
    let mut n_told = 0;
    while let Some(event) = block_on(run.next()) {
        if let EventKind::SteeringInjected { content } = event.kind {
            let saved = block_on(store.load(world.session.id())).unwrap().unwrap_or_default();
            assert!(saved.contains(&content));
            n_told += 1;
        }
    }
    assert_eq!(n_told, 1);
}

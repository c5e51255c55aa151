//! Two processes on one root: a run whose process was killed goes on in a process that is open already.

use std::collections::BTreeMap;

use futures::FutureExt;

use super::*;
use crate::environment::EnvError;
use crate::session::StepKeeper;
use crate::store::{MemStore, Store};
use crate::test_support::covers;
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
    fn enter(&self, _: bool) -> BoxFuture<'_, Result<RootEntry, EnvError>> {
        let (saved, mut n_seen) = (self.saved.lock().unwrap(), self.n_seen.lock().unwrap());
        let missed = Missed { whole: None, later: saved[*n_seen..].to_vec() };
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

/// Steps that a killed process leaves behind: it never learns that a result of a call was recorded.
#[derive(Default)]
struct Steps {
    known: Mutex<BTreeMap<String, Value>>,
    is_of_killed: bool,
}

impl StepKeeper for Steps {
    fn recorded(&self, step: &str) -> Option<Value> {
        self.known.lock().unwrap().get(step).cloned()
    }

    fn record(&self, step: String, result: Value) -> BoxFuture<'_, ()> {
        if self.is_of_killed && step.starts_with("tool:") {
            return Box::pin(std::future::pending());
        }
        self.known.lock().unwrap().insert(step, result);
        Box::pin(async {})
    }
}

fn workspace(world: &World, logs: &Logs) -> Shared<Workspace> {
    let files = Shared::clone(&world.files) as Shared<dyn ExecutionEnvironment>;
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
    let steps = Shared::new(Steps { is_of_killed: true, ..Steps::default() });
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
    session.keep_steps(Some(Shared::new(Steps { known, is_of_killed: false })));
    let events: Vec<Event> = block_on(session.continue_run(run_id, CancelToken::new()).unwrap().collect());
    assert_eq!(world.disk("notes.md"), edited, "{events:#?}");
    assert!(
        world.last_results()[0].starts_with("Done: notes.md. The server was replaced"),
        "{:?}",
        world.last_results()
    );
}

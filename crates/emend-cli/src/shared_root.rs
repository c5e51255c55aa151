//! A project that several servers change in turn: each turn reads the line logs of the others first.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use emend_agent::environment::EnvError;
use emend_agent::workspace::{Missed, RootEntry, RootGate, RootRight, SaveSnapshot, Snapshot};
use emend_host::{ChangeLock, LocalEnvironment, SharedDocument, StateDir, UnderWay};
use emend_llm::{BoxFuture, MaybeSend, MaybeSync, Shared};

/// The turn of this server, until it is dropped.
pub(crate) trait TurnOfRoot: MaybeSend + MaybeSync {
    /// Returns whether no other server can have its turn. One that was paused or cut off loses it.
    fn is_held(&self) -> bool;
}

/// Orders servers on several computers. A lost claim gets no turn.
pub(crate) trait TakeTurns: MaybeSend + MaybeSync {
    fn turn<'a>(&'a self, claim: Option<&'a str>) -> BoxFuture<'a, Result<Box<dyn TurnOfRoot>, EnvError>>;
}

/// The gate of a root. Servers on one computer also lock a file, because a connection to the database can break during
/// a change.
#[derive(Clone)]
pub(crate) struct SharedRoot {
    turns: Shared<dyn TakeTurns>,
    document: Arc<SharedDocument>,
    state: Arc<StateDir>,
    environment: Arc<LocalEnvironment>,
    /// The changes of files that are under way in the project.
    under_way: UnderWay,
    claim: Option<String>,
    present: Present,
}

struct Held {
    lock: ChangeLock,
    turn: Box<dyn TurnOfRoot>,
}

/// The right that was given last, for checks of it at the last moment before a change.
#[derive(Clone, Default)]
pub(crate) struct Present(Arc<Mutex<Weak<Held>>>);

impl Present {
    fn set(&self, held: &Arc<Held>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(held);
    }

    /// Refuses a change of a server that was paused or cut off during its turn: another one may have had turns since.
    fn check(&self) -> Result<(), EnvError> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        match held {
            Some(held) if !(held.lock.is_current() && held.turn.is_held()) => {
                let reason = "this server stood still, and others have gone on; nothing was changed, try again";
                Err(EnvError::Io { path: "the project".to_owned(), reason: reason.to_owned() })
            }
            _ => Ok(()),
        }
    }
}

struct Right {
    held: Option<Arc<Held>>,
    under_way: UnderWay,
}

impl RootRight for Right {}

impl Drop for Right {
    /// A run that is dropped during a change of files leaves that change behind: the turn ends after it.
    fn drop(&mut self) {
        self.under_way.hold(self.held.take());
    }
}

impl SharedRoot {
    pub(crate) fn new(
        turns: Shared<dyn TakeTurns>,
        document: Arc<SharedDocument>,
        state: Arc<StateDir>,
        environment: LocalEnvironment,
        under_way: UnderWay,
        present: Present,
    ) -> Self {
        Self { turns, document, state, environment: Arc::new(environment), under_way, claim: None, present }
    }
}

fn failed(error: impl std::fmt::Display) -> EnvError {
    EnvError::Io { path: "the data for undo".to_owned(), reason: error.to_string() }
}

impl RootGate for SharedRoot {
    fn enter(&self, reload: bool) -> BoxFuture<'_, Result<RootEntry, EnvError>> {
        Box::pin(async move {
            let turn = self.turns.turn(self.claim.as_deref()).await?;
            let lock = self.state.change_lock().await?;
            self.environment.recover_servers(&self.state).map_err(failed)?;
            let unread = self.document.read(reload).map_err(failed)?;
            let missed = Missed { whole: unread.whole, later: unread.later };
            let held = Arc::new(Held { lock, turn });
            self.present.set(&held);
            let right = Right { held: Some(held), under_way: self.under_way.clone() };
            Ok(RootEntry { missed, right: Box::new(right) })
        })
    }

    fn fenced(&self, claim: &str) -> Shared<dyn RootGate> {
        Shared::new(Self { claim: Some(claim.to_owned()), ..self.clone() })
    }
}

/// Appends the line logs to the shared document, which comes directly before each change of files.
pub(crate) struct SharedSaver(pub(crate) Arc<SharedDocument>, pub(crate) Present);

impl SaveSnapshot for SharedSaver {
    fn save(&self, changes: &Snapshot, whole: &dyn Fn() -> Snapshot) -> Result<(), EnvError> {
        let mut refused = Ok(());
        let may = || {
            refused = self.1.check();
            refused.is_ok()
        };
        self.0.append(changes, whole, may).map_err(failed)?;
        refused
    }
}

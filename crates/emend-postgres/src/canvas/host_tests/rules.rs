//! The rules of a canvas, written independently of the lease and of the database, and all short histories under them.

use std::collections::HashSet;

use emend_agent::canvas::{GUARD_MS_MAX, LEASE_TTL_MS};

/// All actions: of two agents, of the user, and of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// An agent reads the canvas, and so knows epoch and revision.
    Read(usize),
    CheckOut(usize),
    Renew(usize),
    CheckIn(usize),
    /// A slow call of the model or a tool begins.
    BeginCall(usize),
    EndCall(usize),
    Save(usize),
    /// The user types: the text is kept in any case.
    Type,
    /// Esc, a message or a cancelled run.
    Cancel,
    Wait(u64),
}

/// Returns all actions.
pub(super) fn actions() -> Vec<Act> {
    let mut all = vec![Act::Type, Act::Cancel, Act::Wait(LEASE_TTL_MS), Act::Wait(GUARD_MS_MAX - 1)];
    for agent in 0..2 {
        all.extend([Act::Read(agent), Act::CheckOut(agent), Act::Renew(agent), Act::CheckIn(agent)]);
        all.extend([Act::BeginCall(agent), Act::EndCall(agent), Act::Save(agent)]);
    }
    all
}

/// A request to a canvas: the action with the arguments of its caller.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) act: Act,
    /// Lease and epoch of the agent.
    pub(super) ticket: (i64, i64),
    pub(super) base: u32,
    pub(super) content: u32,
    pub(super) now: u64,
}

/// The answer of a canvas. Texts are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: &'static str,
    pub(super) epoch: i64,
    pub(super) content: u32,
    pub(super) is_held: bool,
    pub(super) lease_id: i64,
}

/// Canvases under test: each state is a value, so that histories can branch.
pub(super) trait Canvases {
    type State: Clone + std::fmt::Debug;
    fn start(&self) -> Self::State;
    /// Carries out one request on each state.
    async fn step(&self, batch: Vec<(Self::State, Request)>) -> Vec<(Self::State, Reply)>;
}

#[derive(Clone, Debug)]
struct Held {
    agent: usize,
    until: u64,
    call_began: Option<u64>,
    n_calls: u32,
}

/// A history and the state that the rules demand after it.
#[derive(Clone, Debug)]
struct World {
    now: u64,
    epoch: i64,
    content: u32,
    n_texts: u32,
    held: Option<Held>,
    /// Epoch and text that an agent has read, and its ticket.
    known: [(i64, u32); 2],
    ticket: [Option<(i64, i64)>; 2],
}

impl World {
    fn holder(&self) -> Option<&Held> {
        let is_live = |held: &&Held| {
            self.now < held.until || held.call_began.is_some_and(|began| self.now < began + GUARD_MS_MAX)
        };
        self.held.as_ref().filter(is_live)
    }

    /// Returns the request of an action; `None` if the agent has no ticket for it.
    fn request(&self, act: Act) -> Option<Request> {
        let ticket = match act {
            Act::Renew(a) | Act::CheckIn(a) | Act::BeginCall(a) | Act::EndCall(a) | Act::Save(a) => self.ticket[a]?,
            Act::CheckOut(a) => (0, self.known[a].0),
            _ => (0, 0),
        };
        let base = if let Act::Save(a) = act { self.known[a].1 } else { 0 };
        Some(Request { act, ticket, base, content: self.n_texts + 1, now: self.now })
    }

    /// Returns the code that the rules demand for an agent with a ticket.
    fn code(&self, agent: usize) -> &'static str {
        let ticket = self.ticket[agent].unwrap_or_default();
        match (&self.held, self.holder()) {
            _ if ticket.1 != self.epoch => "STALE_EPOCH",
            (_, Some(held)) if held.agent == agent => "ok",
            (Some(held), None) if held.agent == agent => "LEASE_EXPIRED",
            _ => "LOCK_NOT_OWNED",
        }
    }

    /// Changes the state as the rules demand, and returns the demanded reply.
    fn apply(&mut self, request: &Request, reply: &Reply) -> Reply {
        let now = self.now;
        let mut code = "ok";
        match request.act {
            Act::Read(agent) => self.known[agent] = (self.epoch, self.content),
            Act::CheckOut(agent) => {
                code = match (request.ticket.1 == self.epoch, self.holder()) {
                    (false, _) => "STALE_EPOCH",
                    (true, Some(_)) => "LOCK_NOT_AVAILABLE",
                    (true, None) => "ok",
                };
                if code == "ok" {
                    self.held = Some(Held { agent, until: now + LEASE_TTL_MS, call_began: None, n_calls: 0 });
                    // An earlier ticket of the agent is no longer in force.
                    self.ticket[agent] = Some((reply.lease_id, self.epoch));
                }
            }
            Act::CheckIn(agent) => {
                let is_own = self.held.as_ref().is_some_and(|held| held.agent == agent);
                if is_own && request.ticket.1 == self.epoch {
                    self.held = None;
                }
            }
            Act::Renew(agent) | Act::BeginCall(agent) | Act::EndCall(agent) => {
                code = self.code(agent);
                self.on_call(request.act, agent, code == "ok");
            }
            Act::Save(agent) => {
                code = self.code(agent);
                if code == "ok" && request.base != self.content {
                    code = "PATCH_REJECTED";
                }
                if code == "ok" {
                    (self.content, self.n_texts) = (request.content, request.content);
                    self.known[agent].1 = self.content;
                }
            }
            Act::Type => {
                (self.content, self.n_texts) = (request.content, request.content);
                (self.epoch, self.held) = (self.epoch + 1, None);
            }
            Act::Cancel => (self.epoch, self.held) = (self.epoch + 1, None),
            Act::Wait(ms) => self.now += ms,
        }
        let (epoch, content) = (self.epoch, self.content);
        Reply { code, epoch, content, is_held: self.holder().is_some(), lease_id: reply.lease_id }
    }

    fn on_call(&mut self, act: Act, agent: usize, is_valid: bool) {
        let now = self.now;
        let Some(held) = self.held.as_mut().filter(|held| held.agent == agent) else { return };
        match act {
            Act::BeginCall(_) if is_valid => {
                held.call_began.get_or_insert(now);
                held.n_calls += 1;
            }
            Act::EndCall(_) => {
                held.n_calls = held.n_calls.saturating_sub(1);
                if held.n_calls == 0 {
                    held.call_began = None;
                }
            }
            _ => {}
        }
        if is_valid && !matches!(act, Act::BeginCall(_)) {
            held.until = held.until.max(now + LEASE_TTL_MS);
        }
    }
}

/// Carries out every history of `depth` actions; equal states are followed once. Returns the number of steps.
///
/// # Errors
///
/// The shortest history after which the canvas and the rules differ.
pub(super) async fn check<C: Canvases>(canvases: &C, depth: usize) -> Result<usize, String> {
    let start = World { now: 0, epoch: 0, content: 0, n_texts: 0, held: None, known: [(0, 0); 2], ticket: [None; 2] };
    let mut frontier = vec![(canvases.start(), start, Vec::<Act>::new())];
    let (mut seen, mut n_steps) = (HashSet::new(), 0);
    for _ in 0..depth {
        let mut next = Vec::new();
        for part in frontier.chunks(500) {
            let mut cases = Vec::new();
            for (state, world, trace) in part {
                let requests = actions().into_iter().filter_map(|act| world.request(act));
                cases.extend(requests.map(|request| (state, world, trace, request)));
            }
            n_steps += cases.len();
            let batch = cases.iter().map(|(state, _, _, request)| ((*state).clone(), request.clone())).collect();
            let replies = canvases.step(batch).await;
            for ((_, world, trace, request), (state, reply)) in cases.into_iter().zip(replies) {
                let mut trace = trace.clone();
                trace.push(request.act);
                let mut world = world.clone();
                let demanded = world.apply(&request, &reply);
                // The time of a wait passes after the reply.
                let is_wait = matches!(request.act, Act::Wait(_));
                if reply != demanded && !(is_wait && reply == Reply { is_held: reply.is_held, ..demanded.clone() }) {
                    return Err(format!("{trace:?}: {reply:?}, and the rules demand {demanded:?}"));
                }
                if seen.insert(format!("{state:?}{world:?}")) {
                    next.push((state, world, trace));
                }
            }
        }
        frontier = next;
    }
    Ok(n_steps)
}

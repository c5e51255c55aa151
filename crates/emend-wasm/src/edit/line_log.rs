//! The line log of one file.

use std::cell::RefCell;

use emend_edit::line_log::{
    ChangeId, ChangeMeta, CheckpointId, DecisionError, DecisionOutcome, DependentsPolicy, HunkId, HunkQuery, LineLog,
    Origin, Status,
};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

use super::{count, input_slots, json, read};
use crate::failure::Failure;

/// A line log. Ids and options are passed as JSON text. Results are JSON text, except for plain texts and numbers.
#[wasm_bindgen]
pub struct LogHandle {
    log: RefCell<LineLog>,
}

/// The author of a change and its metadata.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Authored {
    origin: Origin,
    #[serde(default)]
    run: String,
    #[serde(default)]
    edit: String,
    at_ms: u64,
    #[serde(default)]
    status: Option<Status>,
}

impl Authored {
    /// Returns the status of a new change; pending by default. Only an agent's change waits for a decision.
    fn status(&self) -> Status {
        self.status.unwrap_or(Status::Pending)
    }

    fn into_meta(self) -> ChangeMeta {
        ChangeMeta { run: self.run, edit: self.edit, at_ms: self.at_ms }
    }
}

/// The author of a decision and its options.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decided {
    by: Origin,
    at_ms: u64,
    #[serde(default)]
    dependents: Dependents,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Dependents {
    #[default]
    Refuse,
    Only,
    With,
}

impl From<Dependents> for DependentsPolicy {
    fn from(given: Dependents) -> Self {
        match given {
            Dependents::Refuse => Self::Refuse,
            Dependents::Only => Self::OnlyThese,
            Dependents::With => Self::WithDependents,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    statuses: Vec<Status>,
    origin: Origin,
    run: Option<String>,
    context: u32,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Accept,
    Reject,
    Reopen,
    Rollback,
}

fn decided<T: Serialize>(outcome: Result<T, DecisionError>) -> Result<String, JsValue> {
    json(&outcome.map_err(|error| failure_of(&error))?)
}

fn failure_of(error: &DecisionError) -> JsValue {
    let data = match error {
        DecisionError::HasDependents { dependents, from_user } => {
            serde_json::json!({ "kind": "has_dependents", "dependents": dependents, "fromUser": from_user })
        }
        DecisionError::UnknownChange { id } => serde_json::json!({ "kind": "unknown_change", "id": id }),
        DecisionError::UnknownCheckpoint { id } => serde_json::json!({ "kind": "unknown_checkpoint", "id": id }),
    };
    Failure::new(error.code().into(), error.to_string()).with_data(data).into_js()
}

#[wasm_bindgen]
impl LogHandle {
    /// Starts a log for a file with this text, or for one that does not exist.
    #[wasm_bindgen(constructor)]
    pub fn new(base: Option<String>) -> LogHandle {
        Self { log: RefCell::new(LineLog::new(base.as_deref())) }
    }

    /// Loads a log from the result of [`LogHandle::save`].
    pub fn load(saved: &str) -> Result<LogHandle, JsValue> {
        let log: LineLog = read("the saved log is", saved)?;
        Ok(Self { log: RefCell::new(log) })
    }

    /// Returns the whole log as JSON text.
    pub fn save(&self) -> Result<String, JsValue> {
        json(&*self.log.borrow())
    }

    /// Returns one of the log's texts; `undefined` if the file does not exist in that view.
    pub fn text(&self, view: &str) -> Result<Option<String>, JsValue> {
        let log = self.log.borrow();
        match view {
            "visible" => Ok(log.visible_text()),
            "disk" => Ok(log.disk_text()),
            "settled" => Ok(log.settled_text()),
            "base" => Ok(log.base_text()),
            "saved" => Ok(log.saved_text()),
            other => {
                Err(Failure::invalid(format!("unknown view {other:?}; use visible, disk, settled, base or saved"))
                    .into_js())
            }
        }
    }

    /// Returns the path that the file was renamed to, on the disk or in the visible text.
    pub fn path(&self, on_disk: bool) -> Option<String> {
        let log = self.log.borrow();
        let path = if on_disk { log.disk_path() } else { log.visible_path() };
        path.map(str::to_owned)
    }

    /// The revision, which grows with every entry of the log.
    #[wasm_bindgen(getter)]
    pub fn revision(&self) -> f64 {
        self.log.borrow().revision() as f64
    }

    /// Number of lines of the visible text.
    #[wasm_bindgen(getter, js_name = visibleLines)]
    pub fn visible_lines(&self) -> u32 {
        self.log.borrow().visible_lines() as u32
    }

    /// Records the new text in slot 0.
    pub fn write(&self, bytes: u32, authored: &str) -> Result<String, JsValue> {
        let text = &input_slots::take(0, bytes)?;
        let authored: Authored = read("the options are", authored)?;
        let (origin, status) = (authored.origin, authored.status());
        json(&self.log.borrow_mut().write(origin, authored.into_meta(), text, status))
    }

    /// Records that the file was deleted.
    pub fn delete(&self, authored: &str) -> Result<String, JsValue> {
        let authored: Authored = read("the options are", authored)?;
        let (origin, status) = (authored.origin, authored.status());
        json(&self.log.borrow_mut().delete(origin, authored.into_meta(), status))
    }

    /// Records that the file has another path.
    pub fn rename(&self, to: &str, authored: &str) -> Result<String, JsValue> {
        let authored: Authored = read("the options are", authored)?;
        let (origin, status) = (authored.origin, authored.status());
        json(&self.log.borrow_mut().rename(origin, authored.into_meta(), to, status))
    }

    /// Records a change that another program made on the disk; `undefined` if it deleted the file.
    pub fn external(&self, text: Option<String>, authored: &str) -> Result<String, JsValue> {
        let authored: Authored = read("the options are", authored)?;
        json(&self.log.borrow_mut().external(text.as_deref(), authored.into_meta()))
    }

    /// Records that the disk holds the log's disk text.
    #[wasm_bindgen(js_name = markSaved)]
    pub fn mark_saved(&self) {
        self.log.borrow_mut().mark_saved();
    }

    /// Returns all changes, or one.
    pub fn changes(&self, id: Option<f64>) -> Result<String, JsValue> {
        let log = self.log.borrow();
        match id {
            Some(id) => json(&log.change(ChangeId(id as u64))),
            None => json(&log.changes().collect::<Vec<_>>()),
        }
    }

    /// Returns the pending changes.
    pub fn pending(&self) -> Result<String, JsValue> {
        json(&self.log.borrow().pending())
    }

    /// Returns the pending changes that are on the disk because edits of the user depend on them.
    #[wasm_bindgen(js_name = keptOnDisk)]
    pub fn kept_on_disk(&self) -> Result<String, JsValue> {
        json(&self.log.borrow().kept_on_disk())
    }

    /// Returns the changes that depend on some changes.
    pub fn dependents(&self, ids: &str) -> Result<String, JsValue> {
        json(&self.log.borrow().dependents(&self.ids(ids)?))
    }

    /// Returns the hunks of a review.
    pub fn hunks(&self, query: &str) -> Result<String, JsValue> {
        let query: Query = read("the query is", query)?;
        json(&self.log.borrow().hunks(HunkQuery {
            statuses: &query.statuses,
            origin: query.origin,
            runs: query.run.as_ref().map(std::slice::from_ref),
            context: count(query.context),
        }))
    }

    /// Accepts, rejects, reopens or rolls back changes.
    pub fn decide(&self, decision: &str, ids: &str, decided_by: &str) -> Result<String, JsValue> {
        let decision: Decision = read("the decision is", decision)?;
        let ids = self.ids(ids)?;
        let Decided { by, at_ms, dependents } = read("the options are", decided_by)?;
        let mut log = self.log.borrow_mut();
        decided(match decision {
            Decision::Accept => log.accept(&ids, by, at_ms),
            Decision::Reject => log.reject(&ids, dependents.into(), by, at_ms),
            Decision::Reopen => log.reopen(&ids, by, at_ms),
            Decision::Rollback => log.rollback(&ids, dependents.into(), by, at_ms),
        })
    }

    /// Returns the changes in a hunk.
    #[wasm_bindgen(js_name = changesOf)]
    pub fn changes_of(&self, hunk: &str) -> Result<String, JsValue> {
        decided(self.log.borrow().changes_of(&HunkId::from(hunk)))
    }

    /// Undoes the author's last step, or redoes the last undone one with `forth`; JSON `null` if there is none.
    pub fn step(&self, forth: bool, decided_by: &str) -> Result<String, JsValue> {
        let Decided { by, at_ms, .. } = read("the options are", decided_by)?;
        let mut log = self.log.borrow_mut();
        let applied: Option<DecisionOutcome> = if forth { log.redo(by, at_ms) } else { log.undo(by, at_ms) };
        json(&applied)
    }

    /// Creates a checkpoint of the present state.
    pub fn checkpoint(&self) -> f64 {
        self.log.borrow_mut().checkpoint().0 as f64
    }

    /// Releases a checkpoint. Returns whether it existed.
    pub fn release(&self, id: f64) -> bool {
        self.log.borrow_mut().release(CheckpointId(id as u64))
    }

    /// Returns the changes that a rollback to a checkpoint would reject.
    #[wasm_bindgen(js_name = changesSince)]
    pub fn changes_since(&self, id: f64) -> Result<String, JsValue> {
        decided(self.log.borrow().changes_since(CheckpointId(id as u64)))
    }

    /// Rolls the text back to a checkpoint.
    #[wasm_bindgen(js_name = rollbackTo)]
    pub fn rollback_to(&self, id: f64, decided_by: &str) -> Result<String, JsValue> {
        let Decided { by, at_ms, .. } = read("the options are", decided_by)?;
        decided(self.log.borrow_mut().rollback_to(CheckpointId(id as u64), by, at_ms))
    }

    /// Splits a change at a line.
    pub fn split(&self, id: f64, line: u32) -> Result<String, JsValue> {
        decided(self.log.borrow_mut().split(ChangeId(id as u64), count(line)))
    }

    /// Returns all entries of the log.
    pub fn entries(&self) -> Result<String, JsValue> {
        json(&self.log.borrow().entries())
    }

    /// Discards everything but the present text, if nothing is pending. Returns whether it did.
    pub fn compact(&self) -> bool {
        self.log.borrow_mut().compact()
    }
}

impl LogHandle {
    /// Reads ids: numbers of changes, or ids of hunks, which stand for their changes.
    fn ids(&self, given: &str) -> Result<Vec<ChangeId>, JsValue> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Id {
            Change(ChangeId),
            Hunk(HunkId),
        }
        let mut ids = Vec::new();
        for id in read::<Vec<Id>>("the ids are", given)? {
            match id {
                Id::Change(id) => ids.push(id),
                Id::Hunk(hunk) => ids.extend(self.log.borrow().changes_of(&hunk).map_err(|error| failure_of(&error))?),
            }
        }
        Ok(ids)
    }
}

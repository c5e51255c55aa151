//! The events of one session, kept for several readers of different speed.
//!
//! Deltas of the same text are kept as one entry with the end of each delta. A reader that keeps up gets every delta; a
//! slow reader gets the new ones coalesced. So a slow reader costs no more memory than the text, and reading from any
//! cursor has no gaps and no duplicates. Callers provide the time, count readers and wake them.

use std::collections::VecDeque;

use super::kinds::{Event, EventKind};
use crate::error_code::Code;

/// The cursor is older than the retained events, or newer than all events, as a cursor of another session can be: read
/// the state of the session again and continue after `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session keeps the events from {floor} to {last} only; read its state again and go on from {last}")]
pub struct ResyncRequired {
    /// Cursor of the newest dropped event.
    pub floor: u64,
    /// Cursor of the newest event.
    pub last: u64,
}

impl ResyncRequired {
    /// Returns the stable code.
    #[must_use]
    pub fn code(self) -> Code {
        Code::ResyncRequired
    }
}

/// A registered reader, for which the log retains events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderId(u64);

/// One event, or several deltas of one text.
struct Entry {
    first: u64,
    last: u64,
    ts: u64,
    /// `None` after the deltas were dropped: the end event of the text repeats all of them.
    kind: Option<EventKind>,
    /// End of each delta in bytes; empty for other events.
    ends: Vec<usize>,
    weight: usize,
}

impl Entry {
    /// Returns the part of this entry after the cursor.
    fn event(&self, after: u64, session_id: &str) -> Option<Event> {
        let kind = self.kind.as_ref()?;
        let known = after.saturating_sub(self.first - 1) as usize;
        let kind = match (known.checked_sub(1).and_then(|index| self.ends.get(index)), kind) {
            (Some(&end), EventKind::AssistantTextDelta { delta }) => {
                EventKind::AssistantTextDelta { delta: delta[end..].to_owned() }
            }
            (Some(&end), EventKind::ReasoningDelta { delta }) => {
                EventKind::ReasoningDelta { delta: delta[end..].to_owned() }
            }
            (Some(&end), EventKind::ToolCallOutputDelta { call_id, delta }) => {
                EventKind::ToolCallOutputDelta { call_id: call_id.clone(), delta: delta[end..].to_owned() }
            }
            (_, kind) => kind.clone(),
        };
        Some(Event { cursor: self.last, ts: self.ts, session_id: session_id.to_owned(), kind })
    }
}

/// Bytes of a large output that stay in an event whose reader is far behind.
const CUT_OUTPUT_BYTES: usize = 1024;

/// The events of a session, within a memory limit.
pub struct EventLog {
    session_id: String,
    entries: VecDeque<Entry>,
    readers: Vec<(ReaderId, u64)>,
    n_readers: u64,
    last: u64,
    floor: u64,
    weight: usize,
    weight_max: usize,
    /// Entries up to this cursor have been reduced as far as possible.
    squeezed: u64,
}

impl EventLog {
    /// Returns an empty log that retains about `weight_max` bytes for late readers. Beyond that, it retains the unread
    /// events of registered readers in reduced form: text deltas that an end event repeats are dropped, and outputs
    /// that the store holds are cut.
    #[must_use]
    pub fn new(session_id: String, weight_max: usize) -> Self {
        Self {
            session_id,
            entries: VecDeque::new(),
            readers: Vec::new(),
            n_readers: 0,
            last: 0,
            floor: 0,
            weight: 0,
            weight_max,
            squeezed: 0,
        }
    }

    /// Returns the cursor of the newest event; 0 without events.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the cursor before the oldest retained event.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// Returns the approximate memory of the log in bytes.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Appends an event and returns its cursor.
    pub fn push(&mut self, ts: u64, kind: EventKind) -> u64 {
        self.last += 1;
        if !self.join(ts, &kind) {
            let weight = kind.weight();
            let ends = kind.delta().map(str::len).into_iter().collect();
            self.weight += weight;
            self.entries.push_back(Entry { first: self.last, last: self.last, ts, kind: Some(kind), ends, weight });
        }
        self.trim();
        self.last
    }

    /// Appends a delta to the last entry, if it continues the same text.
    fn join(&mut self, ts: u64, kind: &EventKind) -> bool {
        let Some(entry) = self.entries.back_mut() else { return false };
        let (Some(before), Some(piece)) = (&mut entry.kind, kind.delta()) else { return false };
        if !kind.continues(before) {
            return false;
        }
        let Some(text) = before.delta_mut() else { return false };
        text.push_str(piece);
        entry.ends.push(text.len());
        let added = piece.len() + std::mem::size_of::<usize>();
        (entry.last, entry.ts) = (self.last, ts);
        entry.weight += added;
        self.weight += added;
        true
    }

    /// Registers a reader that has read everything up to `after`. Its unread events are retained until it is
    /// [removed](Self::remove_reader).
    ///
    /// # Errors
    ///
    /// Returns [`ResyncRequired`] if `after` is older than the retained events or newer than all events.
    pub fn add_reader(&mut self, after: u64) -> Result<ReaderId, ResyncRequired> {
        self.check(after)?;
        Ok(self.add_reader_from(after))
    }

    /// Registers a reader that has read everything up to `after`, or that accepts a gap of dropped events.
    pub fn add_reader_from(&mut self, after: u64) -> ReaderId {
        self.n_readers += 1;
        let id = ReaderId(self.n_readers);
        self.readers.push((id, after.clamp(self.floor, self.last)));
        id
    }

    /// Removes a reader.
    pub fn remove_reader(&mut self, id: ReaderId) {
        self.readers.retain(|(known, _)| *known != id);
        self.trim();
    }

    /// Returns the next event for a reader; `None` if there is none.
    pub fn next(&mut self, id: ReaderId) -> Option<Event> {
        let (_, after) = self.readers.iter_mut().find(|(known, _)| *known == id)?;
        let from = self.entries.partition_point(|entry| entry.last <= *after);
        let event = self.entries.range(from..).find_map(|entry| entry.event(*after, &self.session_id));
        *after = event.as_ref().map_or(self.last, |event| event.cursor);
        if self.weight > self.weight_max {
            self.trim();
        }
        event
    }

    /// Returns up to `n_max` events after a cursor, for callers without registration. Continue with the cursor of the
    /// last one.
    ///
    /// # Errors
    ///
    /// Returns [`ResyncRequired`] if `after` is older than the retained events or newer than all events.
    pub fn read(&self, after: u64, n_max: usize) -> Result<Vec<Event>, ResyncRequired> {
        self.check(after)?;
        let from = self.entries.partition_point(|entry| entry.last <= after);
        let events = self.entries.range(from..).filter_map(|entry| entry.event(after, &self.session_id));
        Ok(events.take(n_max).collect())
    }

    fn check(&self, after: u64) -> Result<(), ResyncRequired> {
        let is_known = (self.floor..=self.last).contains(&after);
        if is_known { Ok(()) } else { Err(ResyncRequired { floor: self.floor, last: self.last }) }
    }

    /// Reduces the log towards its limit without dropping unread events of registered readers.
    fn trim(&mut self) {
        let read_by_all = self.readers.iter().map(|(_, after)| *after).min().unwrap_or(self.last);
        while self.weight > self.weight_max
            && let Some(oldest) = self.entries.front().filter(|entry| entry.last <= read_by_all)
        {
            self.weight -= oldest.weight;
            self.floor = oldest.last;
            self.entries.pop_front();
        }
        if self.weight > self.weight_max {
            self.squeeze();
        }
    }

    /// Reduces entries, oldest first, except the newest, whose text may still grow. Each entry is visited once.
    fn squeeze(&mut self) {
        let from = self.entries.partition_point(|entry| entry.last <= self.squeezed);
        let to = self.entries.len().saturating_sub(1);
        for entry in self.entries.range_mut(from..to.max(from)) {
            if self.weight <= self.weight_max {
                break;
            }
            self.squeezed = entry.last;
            match &mut entry.kind {
                Some(EventKind::ToolCallEnd { output, output_ref: Some(_), output_cut, data, .. })
                    if output.len() > CUT_OUTPUT_BYTES =>
                {
                    let end = (0..=CUT_OUTPUT_BYTES).rfind(|&at| output.is_char_boundary(at)).unwrap_or(0);
                    output.truncate(end);
                    output.shrink_to_fit();
                    *output_cut = true;
                    *data = serde_json::Value::Null;
                }
                Some(kind) if kind.delta().is_some() => {
                    entry.kind = None;
                    entry.ends = Vec::new();
                }
                _ => continue,
            }
            let weight = entry.kind.as_ref().map_or(std::mem::size_of::<Entry>(), EventKind::weight);
            self.weight -= entry.weight - weight.min(entry.weight);
            entry.weight = weight.min(entry.weight);
        }
    }
}

#[cfg(test)]
mod tests;

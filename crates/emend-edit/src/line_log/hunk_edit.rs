//! The user's own text in the place of a hunk.

use crate::line_log::history::{Action, StatusChange};
use crate::line_log::log::{LineLog, View};
use crate::line_log::types::{ChangeId, ChangeMeta, DecisionError, Origin, Status};
use crate::text::{split_eol, split_lines};

impl LineLog {
    /// Accepts the hunk of the changes `ids` with the user's `text` in its place, as one entry of the history.
    ///
    /// The text replaces the visible lines from the first changed line of the hunk to the last one. Its lines get the
    /// line ending of the file. Lines that it shares with the hunk stay the agent's, the others are the user's.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownChange`]; also if the changes are no longer one hunk.
    pub fn edit_hunk(&mut self, ids: &[ChangeId], text: &str, meta: ChangeMeta) -> Result<(), DecisionError> {
        let (layout, span, _) = self.one_hunk(ids)?;
        let is_changed = |at: &usize| {
            let token = layout.tokens[*at];
            self.shows_with(token, &span.ixs, true) != self.shows_with(token, &span.ixs, false)
        };
        let first = span.at.clone().find(is_changed).unwrap_or(span.at.start);
        let end = span.at.clone().rev().find(is_changed).map_or(first, |last| last + 1);
        let lines = layout.visible_before[first]..layout.visible_before[end];
        let visible = self.text_in(View::Visible).unwrap_or_default();
        let mut new: Vec<String> = split_lines(&visible).into_iter().map(str::to_owned).collect();
        let is_at_end = lines.end == new.len();
        let given: Vec<String> =
            split_lines(text).into_iter().map(|line| split_eol(line).0.to_owned() + self.eol()).collect();
        new.splice(lines, given);
        let last = new.len().saturating_sub(1);
        for line in new.iter_mut().take(last) {
            if split_eol(line).1.is_empty() {
                line.push_str(self.eol());
            }
        }
        if let Some(line) = new.last_mut().filter(|_| is_at_end && !text.ends_with(['\n', '\r']) && !text.is_empty()) {
            line.truncate(split_eol(line).0.len());
        }
        let number = self.history.next_number();
        let (at_ms, text) = (meta.at_ms, new.concat());
        self.accept(ids, Origin::User, at_ms)?;
        self.write(Origin::User, meta, &text, Status::Accepted);
        self.merge_entries(number, Action::Write);
        Ok(())
    }

    /// Makes one entry of all entries from `number` on, which must be of one origin.
    fn merge_entries(&mut self, number: u64, action: Action) {
        let Some((by, at_ms)) = self.history.entry(number).map(|entry| (entry.by, entry.at_ms)) else { return };
        let mut set: Vec<StatusChange> = Vec::new();
        for change in self.history.take_from(number, by).into_iter().flat_map(|entry| entry.set) {
            match set.iter_mut().find(|known| known.change == change.change) {
                Some(known) => known.to = change.to,
                None => set.push(change),
            }
        }
        set.retain(|change| change.from != change.to);
        self.record(by, at_ms, action, set);
    }
}

//! The review of `emend attach`: the changes that wait, and decisions on them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::attach::{Seat, word};
use crate::failure::Failure;
use crate::text_diff::place;

/// A hunk that `/review` has shown.
pub(super) struct SeenHunk {
    id: String,
    path: String,
    is_decided: bool,
}

impl Seat<'_> {
    /// Shows the pending hunks of the session.
    pub(super) async fn review(&mut self) -> Result<(), Failure> {
        let review = self.client.get(&format!("/api/agent/review?session_id={}", self.session)).await?;
        self.seen.clear();
        let mut text = String::new();
        for file in review["files"].as_array().into_iter().flatten() {
            let (path, operation) = (word(&file["file_path"]), word(&file["operation"]));
            text += &format!("{path} ({operation}, +{} -{})\n", file["added"], file["removed"]);
            for hunk in file["hunks"].as_array().into_iter().flatten() {
                let id = word(&hunk["hunk_id"]).to_owned();
                self.seen.push(SeenHunk { id, path: path.to_owned(), is_decided: false });
                let number = |name: &str| hunk[name].as_u64().unwrap_or_default() as usize;
                let (old, new) = (number("old_start"), number("new_start"));
                let place = place((old, number("old_lines")), (new, number("new_lines")));
                text += &format!("{place} change {}\n", self.seen.len());
                text.extend(hunk["lines"].as_array().into_iter().flatten().map(diff_line));
            }
        }
        match self.seen.is_empty() {
            true => self.print("no change waits for review\n"),
            false => {
                let help = "/accept or /reject decides on all of them, /accept NUMBER or FILE on one";
                self.print(&format!("{text}{help}\n"))
            }
        }
    }

    /// Decides on the hunks that the user has seen: on all, or on those of the numbers and files in `named`.
    pub(super) async fn settle(&mut self, decision: &str, named: &str) -> Result<(), Failure> {
        if self.seen.iter().all(|hunk| hunk.is_decided) {
            return self.print("/review shows the changes first\n");
        }
        let chosen = match chosen(&self.seen, named) {
            Ok(chosen) => chosen,
            Err(wrong) => return self.print(&format!("{wrong}; nothing was decided\n")),
        };
        let ids: Vec<&str> = chosen.iter().filter_map(|&at| Some(self.seen.get(at)?.id.as_str())).collect();
        let body = json!({ "decision": decision, "hunk_ids": ids });
        let review = self.client.post("/api/agent/decisions", body).await?;
        self.own_revision = review["revision"].as_u64().unwrap_or_default();
        for &at in &chosen {
            if let Some(hunk) = self.seen.get_mut(at) {
                hunk.is_decided = true;
            }
        }
        let n_left = self.seen.iter().filter(|hunk| !hunk.is_decided).count();
        let changes = |n: usize| if n == 1 { "1 change".to_owned() } else { format!("{n} changes") };
        let left = if n_left == 0 { String::new() } else { format!("; {} left", changes(n_left)) };
        self.print(&format!("{decision}ed {}{left}\n", changes(chosen.len())))
    }
}

/// Returns the indexes of undecided hunks that numbers and files name; all if none is named.
fn chosen(seen: &[SeenHunk], named: &str) -> Result<Vec<usize>, String> {
    let open = || seen.iter().enumerate().filter(|(_, hunk)| !hunk.is_decided);
    if named.is_empty() {
        return Ok(open().map(|(at, _)| at).collect());
    }
    let mut chosen = BTreeSet::new();
    let mut take = |name: &str| {
        let number = name.parse::<usize>().ok();
        let of_name = |(at, hunk): &(usize, &SeenHunk)| number.map_or(hunk.path == name, |number| number == at + 1);
        let n_before = chosen.len();
        chosen.extend(open().filter(of_name).map(|(at, _)| at));
        chosen.len() > n_before
    };
    // A path may contain spaces.
    if !take(named) {
        for name in named.split_whitespace() {
            if !take(name) {
                return Err(format!("{name:?} is neither the number nor the file of a change that /review has shown"));
            }
        }
    }
    Ok(chosen.into_iter().collect())
}

/// Returns a line of a hunk as in a diff.
fn diff_line(line: &Value) -> String {
    let mark = match word(&line["kind"]) {
        "added" => '+',
        "removed" => '-',
        _ => ' ',
    };
    format!("{mark}{}\n", word(&line["text"]).trim_end_matches(['\r', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_named_by_number_and_file() {
        let hunk = |path: &str, is_decided| SeenHunk { id: String::new(), path: path.to_owned(), is_decided };
        let seen = [hunk("a b.txt", false), hunk("c.txt", true), hunk("c.txt", false), hunk("3", false)];
        for (named, expected) in [
            ("", vec![0, 2, 3]),
            ("1", vec![0]),
            ("3 1", vec![0, 2]),
            ("a b.txt", vec![0]),
            ("c.txt 1", vec![0, 2]),
            ("3", vec![2]),
        ] {
            assert_eq!(chosen(&seen, named).as_deref(), Ok(expected.as_slice()), "{named:?}");
        }
        for named in ["foo", "0", "2", "5", "1 foo", "-1"] {
            assert!(chosen(&seen, named).is_err(), "{named:?}");
        }
    }
}

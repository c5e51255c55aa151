//! The processes below a process: named in the log of a program that hangs, and ended.
//!
//! Read from `/proc`; elsewhere nothing is found.

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Stdio};

/// Longest part of a command line that is shown, in characters.
const SHOWN_MAX: usize = 200;

/// A running process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) id: u32,
    parent: u32,
    /// As in `/proc/ID/stat`: `R` runs, `S` sleeps, `D` waits for a device, `T` is stopped, `Z` has ended.
    state: char,
    command: String,
    /// Steps below the first process.
    pub(crate) depth: usize,
}

/// Returns the processes below `root`, each after its parent.
pub(crate) fn below(root: u32) -> Vec<Running> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let all = names.filter_map(|name| read(name.to_str()?.parse().ok()?));
    order(root, all.collect())
}

fn read(id: u32) -> Option<Running> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (parent, state) = parent_and_state(&stat)?;
    let command = fs::read(format!("/proc/{id}/cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).replace(['\0', '\n'], " ");
    Some(Running { id, parent, state, command: command.chars().take(SHOWN_MAX).collect(), depth: 0 })
}

/// Reads `ID (NAME) STATE PARENT …`; the name may contain blanks and parentheses.
fn parent_and_state(stat: &str) -> Option<(u32, char)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    let state = words.next()?.chars().next()?;
    Some((words.next()?.parse().ok()?, state))
}

fn order(root: u32, all: Vec<Running>) -> Vec<Running> {
    let mut children: HashMap<u32, Vec<Running>> = HashMap::new();
    all.into_iter().for_each(|process| children.entry(process.parent).or_default().push(process));
    let mut ordered = Vec::new();
    let mut open: Vec<Running> = children.remove(&root).unwrap_or_default();
    while let Some(process) = open.pop() {
        let below = children.remove(&process.id).unwrap_or_default();
        open.extend(below.into_iter().map(|child| Running { depth: process.depth + 1, ..child }));
        ordered.push(process);
    }
    ordered
}

/// Returns a line for each process, indented by its depth.
pub(crate) fn shown(processes: &[Running]) -> String {
    let line = |process: &Running| {
        let Running { id, state, command, depth, .. } = process;
        format!("{:indent$}{id} {state} {}\n", "", command.trim_end(), indent = 2 * depth)
    };
    processes.iter().map(line).collect()
}

/// Kills processes; those that have ended meanwhile are skipped.
pub(crate) fn kill<'a>(processes: impl IntoIterator<Item = &'a Running>) {
    for process in processes {
        let mut kill = Command::new("kill");
        // Nothing is left to do where the process has ended or the program is missing.
        let _ = kill.args(["-KILL", &process.id.to_string()]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: u32, parent: u32) -> Running {
        Running { id, parent, state: 'S', command: format!("p{id} "), depth: 0 }
    }

    #[test]
    fn a_name_with_parentheses_is_skipped() {
        assert_eq!(parent_and_state("7 (a) b) R 3 7 7"), Some((3, 'R')));
        assert_eq!(parent_and_state("7 R"), None);
    }

    #[test]
    fn processes_follow_their_parents() {
        let all = vec![process(4, 2), process(2, 1), process(9, 8), process(3, 1), process(5, 4)];
        assert_eq!(shown(&order(1, all)), "3 S p3\n2 S p2\n  4 S p4\n    5 S p5\n");
    }
}

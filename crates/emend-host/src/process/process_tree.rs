//! Which processes belong to a command, and how they are sent a signal.
//!
//! A process belongs to a command if it is in the session or the group that the command leads, if it descends from one
//! that does, or if it carries one of the command's marks. They find those that made a session of their own and whose
//! parents are gone. One mark is a variable, which `env -i` takes away; the other is an odd limit for message queues, a
//! little below what there was: children inherit it, it can be read of any process, and nobody can raise it again. Becoming
//! the subreaper of such orphans would be simpler, but that is a property of the whole process, and this is a library: it
//! would take orphans from, and give zombies to, whoever embeds it. What gets away is a process that leaves session,
//! parents and variable behind and lowers that limit further; it can be found nowhere but in a control group.
//!
//! Only Linux says so much of its processes. Elsewhere the group is what counts.

use rustix::process::{Pid, Signal, kill_process_group};

/// The variable that carries the marks of the command and of those it runs in.
pub(super) const MARK: &str = "EMEND_COMMAND";

/// The processes of one command. Its leader must not have been waited for: until then its id is nobody else's.
pub(super) struct ProcessTree {
    pub(super) leader: Pid,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "read from /proc only"))]
    pub(super) mark: String,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "read from /proc only"))]
    pub(super) limit: Option<LimitMark>,
}

/// The limit for message queues, in bytes, that only this command's processes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitMark(u64);

impl ProcessTree {
    /// Sends a signal to all that are alive, the leader too.
    pub(super) fn signal(&self, signal: Signal) {
        // Those that are gone meanwhile need no signal.
        let _ = kill_process_group(self.leader, signal);
        #[cfg(target_os = "linux")]
        linux::signal_all(self, signal);
    }

    /// Returns how many are alive, not counting the leader. Where that cannot be known, none.
    pub(super) fn n_others(&self) -> usize {
        #[cfg(target_os = "linux")]
        return linux::others(self).len();
        #[cfg(not(target_os = "linux"))]
        0
    }
}

impl LimitMark {
    /// Makes one, unless this process may have no message queues. No two commands of this process have the same for a long
    /// time; those of others are told apart by their variable.
    #[cfg(target_os = "linux")]
    pub(super) fn new() -> Option<Self> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Few programs have message queues, and none all of what it may have.
        let highest = rustix::process::getrlimit(rustix::process::Resource::Msgqueue).maximum.unwrap_or(MOST);
        let room = highest / 8;
        // Spread, so that processes that began one after the other do not share their next numbers.
        let own = u64::from(std::process::id()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let number = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(own);
        (room > 0).then(|| Self(highest - 1 - number % room))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn new() -> Option<Self> {
        None
    }

    /// Marks the calling process and its children to come.
    pub(super) fn set(self) {
        #[cfg(target_os = "linux")]
        {
            let limit = rustix::process::Rlimit { current: Some(self.0), maximum: Some(self.0) };
            // A process without it is found by the other mark.
            let _ = rustix::process::setrlimit(rustix::process::Resource::Msgqueue, limit);
        }
    }
}

/// What a process may have that has no limit, for the mark to stay below: what Linux gives to everyone.
#[cfg(target_os = "linux")]
const MOST: u64 = 819_200;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::fs;

    use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

    use super::{LimitMark, MARK, ProcessTree};

    /// What `/proc/PID/stat` says.
    struct Process {
        id: i32,
        parent: i32,
        group: i32,
        session: i32,
        is_dead: bool,
        /// Clock ticks since the system started.
        began_at: u64,
    }

    fn look(id: i32) -> Option<Process> {
        let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
        // The name comes second, in parentheses, and may hold anything.
        let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let rest = String::from_utf8_lossy(stat.get(after_name..)?);
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse().ok();
        Some(Process {
            id,
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            is_dead: matches!(fields.first()?, &"Z" | &"X"),
            began_at: fields.get(19)?.parse().ok()?,
        })
    }

    /// Returns all living tree but the leader.
    pub(super) fn others(tree: &ProcessTree) -> BTreeSet<i32> {
        let leader = tree.leader.as_raw_nonzero().get();
        let Some(began_at) = look(leader).map(|leader| leader.began_at) else { return BTreeSet::new() };
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let Ok(entries) = fs::read_dir("/proc") else { return BTreeSet::new() };
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        // Nothing that was there before the command began can be its.
        let younger = |process: &Process| process.began_at >= began_at && process.id != own && process.id != leader;
        let mut candidates: Vec<Process> = ids.filter_map(look).filter(younger).collect();
        let mut found = BTreeSet::from([leader]);
        let is_member = |process: &Process, found: &BTreeSet<i32>| {
            process.session == leader
                || process.group == leader
                || found.contains(&process.parent)
                || (!process.is_dead && carries(process.id, tree))
        };
        loop {
            let (more, rest): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|process| is_member(process, &found));
            if more.is_empty() {
                break;
            }
            // The dead are no tree, but their children are.
            found.extend(more.iter().map(|process| process.id));
            candidates = rest;
        }
        found.retain(|&id| id != leader && look(id).is_some_and(|process| !process.is_dead));
        found
    }

    /// Returns whether a process has one of the marks.
    fn carries(id: i32, tree: &ProcessTree) -> bool {
        let environ = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let holds = |text: &str| environ.windows(text.len()).any(|window| window == text.as_bytes());
        // One with a mark in its variables is this command's by that alone.
        holds(&tree.mark) || (!holds(MARK) && tree.limit.is_some_and(|limit| has_limit(id, limit)))
    }

    fn has_limit(id: i32, LimitMark(limit): LimitMark) -> bool {
        let limits = fs::read_to_string(format!("/proc/{id}/limits")).unwrap_or_default();
        let highest = limits.lines().find_map(|line| line.strip_prefix("Max msgqueue size")?.split_whitespace().nth(1));
        highest.is_some_and(|highest| highest.parse() == Ok(limit))
    }

    pub(super) fn signal_all(tree: &ProcessTree, signal: Signal) {
        // An id may be another's by now. A handle stays with the process it was opened for, so it is enough to look again
        // once all are open.
        let handles: Vec<_> = others(tree)
            .into_iter()
            .filter_map(|id| Some((id, pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()))))
            .collect();
        let still = others(tree);
        for (id, handle) in handles.into_iter().filter(|(id, _)| still.contains(id)) {
            // One that ended meanwhile needs no signal.
            let _ = match (handle, Pid::from_raw(id)) {
                (Ok(handle), _) => pidfd_send_signal(handle, signal),
                // An old kernel has no handles.
                (Err(rustix::io::Errno::NOSYS), Some(pid)) => kill_process(pid, signal),
                _ => Ok(()),
            };
        }
    }
}

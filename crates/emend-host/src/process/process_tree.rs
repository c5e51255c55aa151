//! Finds the processes of a command and sends them signals.
//!
//! A process belongs to a command if it is in the session or the process group that the command leads, if its parent
//! belongs to the command, or if it carries one of the command's two marks. The marks find processes that created their
//! own session and whose parents are gone:
//!
//! - An environment variable. `env -i` removes it.
//! - A unique limit for POSIX message queues (`RLIMIT_MSGQUEUE`), slightly below the present limit. Children inherit it, it
//!   can be read for any process, and a process without privileges cannot raise it.
//!
//! Becoming the subreaper of such orphans would be simpler. But that is a property of the whole process: as a library,
//! Emend would take orphans from its embedder and leave it zombies. A process escapes if it leaves the session, loses its
//! parents and the variable, and lowers the limit further; only a control group would find it.
//!
//! Other systems than Linux do not report this much about processes. There only the process group counts.

use rustix::process::{Pid, Signal, kill_process_group};

/// The environment variable with the marks of the command and of the commands that it runs in.
pub(super) const MARK: &str = "EMEND_COMMAND";

/// The processes of one command. The leader must not be reaped while this is used: until then its id is not reused.
pub(super) struct ProcessTree {
    pub(super) leader: Pid,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "read from /proc only"))]
    pub(super) mark: String,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "read from /proc only"))]
    pub(super) limit: Option<LimitMark>,
}

/// The limit for message queues, in bytes, that only the processes of one command have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitMark(u64);

impl ProcessTree {
    /// Sends a signal to all living processes, including the leader.
    pub(super) fn signal(&self, signal: Signal) {
        // An error means that the group is gone.
        let _ = kill_process_group(self.leader, signal);
        #[cfg(target_os = "linux")]
        linux::signal_all(self, signal);
    }

    /// Returns the number of living processes without the leader; 0 on systems where they are unknown.
    pub(super) fn n_others(&self) -> usize {
        #[cfg(target_os = "linux")]
        return linux::others(self).len();
        #[cfg(not(target_os = "linux"))]
        0
    }
}

impl LimitMark {
    /// Returns a new limit; `None` if this process may have no message queues.
    ///
    /// Limits repeat only after many commands of this process. Commands of other processes are distinguished by the variable.
    #[cfg(target_os = "linux")]
    pub(super) fn new() -> Option<Self> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Few programs use message queues, and a slightly lower limit does not affect them.
        let highest = rustix::process::getrlimit(rustix::process::Resource::Msgqueue).maximum.unwrap_or(MOST);
        let room = highest / 8;
        // Multiplied, so that processes with successive ids do not use the same numbers next.
        let own = u64::from(std::process::id()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let number = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(own);
        (room > 0).then(|| Self(highest - 1 - number % room))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn new() -> Option<Self> {
        None
    }

    /// Marks the calling process and its future children.
    pub(super) fn set(self) {
        #[cfg(target_os = "linux")]
        {
            let limit = rustix::process::Rlimit { current: Some(self.0), maximum: Some(self.0) };
            // Without the limit, processes are still found by the variable.
            let _ = rustix::process::setrlimit(rustix::process::Resource::Msgqueue, limit);
        }
    }
}

/// Base of the limit for a process without a limit: the default of Linux, in bytes.
#[cfg(target_os = "linux")]
const MOST: u64 = 819_200;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::fs;

    use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

    use super::{LimitMark, MARK, ProcessTree};

    /// Fields of `/proc/PID/stat`.
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
        // The second field is the name in parentheses, which may contain any character.
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

    /// Returns the ids of all living processes of the command without the leader.
    pub(super) fn others(tree: &ProcessTree) -> BTreeSet<i32> {
        let leader = tree.leader.as_raw_nonzero().get();
        let Some(began_at) = look(leader).map(|leader| leader.began_at) else { return BTreeSet::new() };
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let Ok(entries) = fs::read_dir("/proc") else { return BTreeSet::new() };
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        // A process that started before the command does not belong to it.
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
            // Zombies do not count, but their children do.
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
        // A process with a mark in its variables belongs to the commands in that mark only.
        holds(&tree.mark) || (!holds(MARK) && tree.limit.is_some_and(|limit| has_limit(id, limit)))
    }

    fn has_limit(id: i32, LimitMark(limit): LimitMark) -> bool {
        let limits = fs::read_to_string(format!("/proc/{id}/limits")).unwrap_or_default();
        let highest = limits.lines().find_map(|line| line.strip_prefix("Max msgqueue size")?.split_whitespace().nth(1));
        highest.is_some_and(|highest| highest.parse() == Ok(limit))
    }

    pub(super) fn signal_all(tree: &ProcessTree, signal: Signal) {
        // An id may be reused at any time, but a handle refers to one process. So the processes are listed again after all
        // handles are open, and only listed ones are signalled.
        let handles: Vec<_> = others(tree)
            .into_iter()
            .filter_map(|id| Some((id, pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()))))
            .collect();
        let still = others(tree);
        for (id, handle) in handles.into_iter().filter(|(id, _)| still.contains(id)) {
            // An error means that the process has ended.
            let _ = match (handle, Pid::from_raw(id)) {
                (Ok(handle), _) => pidfd_send_signal(handle, signal),
                // Kernels before Linux 5.3 have no process handles.
                (Err(rustix::io::Errno::NOSYS), Some(pid)) => kill_process(pid, signal),
                _ => Ok(()),
            };
        }
    }
}

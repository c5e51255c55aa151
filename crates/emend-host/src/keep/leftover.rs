//! Waits for the end of a command whose Emend process was killed. A helper process ends the command, but needs a moment.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time after which waiting is given up: without a helper process, the command runs to its end.
const LIMIT: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(5);

/// Waits until no other process has `mark` in its variables. Returns at once on systems that do not show these.
///
/// Returns whether there was such a process.
pub(super) fn wait_for(mark: &str) -> bool {
    let began = Instant::now();
    let mut has_waited = false;
    while !mark.is_empty() && is_running(mark) && began.elapsed() < LIMIT {
        has_waited = true;
        sleep(STEP);
    }
    has_waited
}

fn is_running(mark: &str) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let own = std::process::id().to_string();
    processes.flatten().filter(|process| *process.file_name() != *own).any(|process| {
        let variables = std::fs::read(process.path().join("environ")).unwrap_or_default();
        variables.windows(mark.len()).any(|window| window == mark.as_bytes())
    })
}

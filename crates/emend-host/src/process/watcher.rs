//! A helper process that ends a command if this process is killed.
//!
//! A process that gets SIGKILL or SIGQUIT runs no code of its own at its end. But its end of a pipe closes, and the helper
//! waits for that.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// Reads the leader's id, then waits. A second line means that the command has ended. Processes that left the group of
/// the leader are found by the mark in their variables.
const SCRIPT: &str = r#"
read -r leader
if read -r ended; then exit 0; fi
if [ -n "$leader" ]; then kill -KILL -- "-$leader"; fi
for again in 1 2; do
  for found in $(grep -lsF -- "$0" /proc/[0-9]*/environ); do
    id=${found#/proc/}
    kill -KILL "${id%/environ}"
  done
done
"#;

/// The running helper of one command. Dropping it tells the helper that the command has ended.
#[derive(Debug)]
pub(super) struct Watcher {
    helper: Child,
}

impl Watcher {
    /// Starts the helper of the command whose processes have `mark` in their variables.
    pub(super) fn start(mark: &str) -> io::Result<Self> {
        let mut helper = Command::new("/bin/sh");
        helper.arg("-c").arg(SCRIPT).arg(mark).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        helper.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Signals of the terminal go to the group in the foreground.
        Ok(Self { helper: helper.process_group(0).spawn()? })
    }

    /// Names the leader of the command's process group.
    pub(super) fn watch(&mut self, leader: Pid) {
        self.say(&format!("{}\n", leader.as_raw_nonzero()));
    }

    fn say(&mut self, line: &str) {
        if let Some(pipe) = &mut self.helper.stdin {
            // An error means that somebody ended the helper.
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.say("ended\n");
        self.helper.stdin = None;
        let _ = self.helper.wait();
    }
}

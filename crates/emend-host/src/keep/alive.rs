//! Signs of life while a command runs: if this process is killed, the next one knows until when the command ran.
//!
//! A file that changes later was changed by the user or another program, and an undo of the command must not take that
//! back.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Name of the file whose modification time is the last sign.
const ALIVE: &str = "alive";

const INTERVAL: Duration = Duration::from_millis(200);

/// Time for which a command may outlive the last sign: the interval, and the time until its processes end.
const SLACK_NS: i64 = 1_500_000_000;

/// Gives signs until it is dropped.
#[derive(Debug)]
pub(super) struct SignsOfLife {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SignsOfLife {
    /// Gives the first sign, and further ones in the background.
    pub(super) fn start(directory: &Path) -> io::Result<Self> {
        let file = File::create(directory.join(ALIVE))?;
        // The modification time comes from the file system, as those of the project's files do.
        let sign = move || file.write_all_at(b"\n", 0);
        sign()?;
        let (stop, stopped) = channel();
        let thread = thread::Builder::new().name("signs of life".to_owned()).spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) && sign().is_ok() {}
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for SignsOfLife {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread cannot panic, and nothing depends on it.
            let _ = thread.join();
        }
    }
}

/// Returns the time after which the command of a killed process changed nothing more, in nanoseconds since 1970.
pub(super) fn end_of_command(directory: &Path) -> Option<i64> {
    let found = fs::metadata(directory.join(ALIVE)).ok()?;
    Some(found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec()).saturating_add(SLACK_NS))
}

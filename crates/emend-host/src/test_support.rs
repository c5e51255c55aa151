//! Helpers for the tests of this crate.

/// Reports the items of `tests/it/agent_checklist.txt` that the running test covers.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}

/// Runs `work` as a user other than root. If this thread is root, on a new thread, because Linux users are per thread.
#[cfg(target_os = "linux")]
pub(crate) fn as_nobody(work: impl FnOnce() + Send) {
    use rustix::process::Uid;
    let work = || {
        if rustix::process::geteuid().is_root() {
            let nobody = Uid::from_raw(65_534);
            // Some containers forbid the switch; elsewhere another user cannot reach root's temporary files.
            if rustix::thread::set_thread_res_uid(nobody, nobody, nobody).is_err() || tempfile::TempDir::new().is_err()
            {
                println!("skipped: 1 case (root cannot be another user here, or that one has no temporary files)");
                return;
            }
        }
        work();
    };
    std::thread::scope(|scope| scope.spawn(work).join().unwrap());
}

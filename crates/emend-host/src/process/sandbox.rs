//! Confines commands with Landlock: they read what their user may read, and write in few places only.
//!
//! The kernel enforces it for a command and all its descendants, whatever they do. What it is about is files: the
//! network stays open, and what may be read may be sent. Contents and names are what is kept; rights, owners, times and
//! extended attributes of files elsewhere can be changed still, since Landlock knows nothing of them.

use std::path::PathBuf;

use emend_agent::environment::EnvError;

/// Where confined commands may write beside their project: the directory for temporary files and devices always, and
/// what is named here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// More directories or files, e.g. a package manager's cache. What does not exist is passed over.
    pub writable: Vec<PathBuf>,
}

impl Sandbox {
    /// Checks that this system can confine commands.
    ///
    /// # Errors
    ///
    /// `Unsupported`, which says what it lacks.
    pub fn check() -> Result<(), EnvError> {
        enforce::check().map_err(|what| EnvError::Unsupported { what })
    }
}

#[cfg(target_os = "linux")]
pub(super) use enforce::confined;

#[cfg(target_os = "linux")]
mod enforce {
    use std::io;
    use std::path::Path;
    use std::thread;

    use landlock::{
        ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated,
        RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
    };

    use super::Sandbox;

    /// The oldest kernel interface that keeps files from being written, made, moved, removed *and* truncated. With an
    /// older one a command could still empty any file.
    const NEEDED: ABI = ABI::V3;

    pub(super) fn check() -> Result<(), &'static str> {
        ruleset().map(|_| ()).map_err(|_| "confining commands (with Landlock, as of Linux 6.2)")
    }

    fn ruleset() -> Result<RulesetCreated, RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(NEEDED))?
            // From Linux 6.12 on a command cannot signal what it did not start, either.
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::Signal)?
            .create()
    }

    /// Runs `start`, which starts a command, so that what it starts may write only where `sandbox` says and in `root`.
    pub(in super::super) fn confined<T: Send>(
        sandbox: &Sandbox,
        root: &Path,
        start: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        // A thread confines itself, and what it starts inherits that. It is gone at once, so nobody else is confined.
        let begin = || {
            let devices = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
            let devices = devices.into_iter().chain(["/dev/ptmx", "/dev/pts", "/dev/shm"]).map(Path::new);
            let temporary = std::env::temp_dir();
            let places = sandbox.writable.iter().map(AsRef::as_ref).chain([root, &*temporary]).chain(devices);
            let rules = path_beneath_rules(places, AccessFs::from_write(NEEDED));
            let restricted = ruleset().and_then(|ruleset| ruleset.add_rules(rules)?.restrict_self());
            restricted.map_err(io::Error::other)?;
            start()
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("emend-confined".to_owned());
            thread.spawn_scoped(scope, begin)?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod enforce {
    pub(super) fn check() -> Result<(), &'static str> {
        Err("confining commands (on other systems than Linux)")
    }
}

//! Confines commands with Landlock: they read every file that their user may read, but write only at a few paths.
//!
//! The kernel enforces this for a command and all its descendants. It protects contents and names of files. The network
//! stays open, so a command can send what it reads. Permissions, owners, times and extended attributes of files elsewhere
//! can still be changed, because Landlock does not cover them. A unix socket with a path leads out too: a program that
//! listens there, such as tmux or Docker, acts outside the sandbox. From Linux 6.12 on, abstract unix sockets of other
//! programs cannot be reached.

use std::path::PathBuf;

use emend_agent::environment::EnvError;

/// The paths that confined commands may write to, in addition to their project, the directory for temporary files and
/// devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Directories or files, e.g. a package manager's cache. Paths that do not exist are skipped.
    pub writable: Vec<PathBuf>,
}

impl Sandbox {
    /// Checks that this system can confine commands.
    ///
    /// # Errors
    ///
    /// `Unsupported`, with the missing feature.
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
        ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated,
        RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
    };

    use super::Sandbox;

    /// The oldest Landlock version that covers writing, creating, moving, removing *and* truncating files. With an older
    /// one a command could still empty any file.
    const NEEDED: ABI = ABI::V3;

    pub(super) fn check() -> Result<(), &'static str> {
        ruleset().map(|_| ()).map_err(|_| "confining commands (with Landlock, as of Linux 6.2)")
    }

    fn ruleset() -> Result<RulesetCreated, RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(NEEDED))?
            // From Linux 6.12 on, a command also cannot signal processes outside its sandbox, or connect to their
            // abstract unix sockets.
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::from_all(ABI::V6))?
            .create()
    }

    /// Calls `start`, which starts a command, so that the command may write only in `root` and at the sandbox's paths.
    pub(in super::super) fn confined<T: Send>(
        sandbox: &Sandbox,
        root: &Path,
        start: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        // The thread confines itself, and the command inherits that. The thread then ends, so no other code is confined.
        let begin = || {
            let devices = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
            let devices = devices.into_iter().chain(["/dev/ptmx", "/dev/pts", "/dev/shm"]).map(Path::new);
            let temporary = std::env::temp_dir();
            let places = sandbox.writable.iter().map(AsRef::as_ref).chain([root, &*temporary]).chain(devices);
            // A device is a way around the rules: a command of an administrator could make one and write to a disk through it.
            let permitted = AccessFs::from_write(NEEDED) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
            let rules = path_beneath_rules(places, permitted);
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

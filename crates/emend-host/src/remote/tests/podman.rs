//! Containers for tests: Podman with the programs of Debian's `busybox-static`. No image is fetched.
//!
//! The directories of tests are mounted at their own paths. A container ends with the process that started it, also if that
//! is killed: its first program waits for the end of its input.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use super::commands::living;
use crate::remote::environment::{Programs, RemoteEnvironment};

/// Place of Debian's package. The program needs no library, so it is all that the container holds.
const BUSYBOX: &str = "/bin/busybox";

/// How long a busy machine may take to start a container.
const STARTING: Duration = Duration::from_secs(120);

/// Runs the container and removes its directory after its end.
const SCRIPT: &str = r#"
directory=$1
shift
"$@"
rm -rf "$directory"
"#;

/// The first program of the container. The shell reaps processes whose parents have ended, as `init` does.
const FIRST: &str = "exec 3<&0; cat <&3 >/dev/null & echo ready; wait";

/// A running container.
pub(super) struct Podman {
    name: String,
    /// The processes that keep the container running, as this machine numbers them. The first one names the container.
    first: Vec<i32>,
    /// Ends the container when its input is closed.
    shell: Child,
}

impl Drop for Podman {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

impl Podman {
    /// Returns the container that all tests of a process share, or `None` after a line that counts as a skipped test.
    pub(super) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Result<Podman, String>> = OnceLock::new();
        let shared = SHARED.get_or_init(Self::start).as_ref();
        shared.map_err(|reason| println!("skipped: 1 case ({reason})")).ok()
    }

    /// Starts a container.
    ///
    /// # Errors
    ///
    /// The reason why containers do not run here, in one line.
    pub(super) fn start() -> Result<Self, String> {
        if !Path::new(BUSYBOX).exists() {
            return Err(format!("{BUSYBOX} is not installed, which `cargo xtask setup` does"));
        }
        // The default runtime does not support every kernel.
        let first = Self::start_by(&[]);
        first.or_else(|_| Self::start_by(&["--runtime", "runc"]))
    }

    fn start_by(options: &[&str]) -> Result<Self, String> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("emend-test-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let directory = programs();
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh"]).arg(&directory).arg("podman").args(options);
        command.args(["run", "--rm", "-i", "--network", "none", "--security-opt", "label=disable", "--name", &name]);
        // By default the limits are raised, which not every machine permits.
        for (limit, resource, wanted) in [("nofile", Resource::Nofile, 1024), ("nproc", Resource::Nproc, 4096)] {
            let number = getrlimit(resource).maximum.map_or(wanted, |most| most.min(wanted));
            command.args(["--ulimit", &format!("{limit}={number}:{number}")]);
        }
        for place in mounted() {
            command.args(["-v", &format!("{0}:{0}", place.display())]);
        }
        command.arg("--rootfs").arg(directory.join("root")).args(["/bin/sh", "-c", FIRST]).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut shell = command.spawn().map_err(|error| format!("no shell: {error}"))?;
        let (stdout, stderr) = (shell.stdout.take().unwrap(), shell.stderr.take().unwrap());
        let (said, wait) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout).read_line(&mut line);
            let is_ready = read.is_ok() && line == "ready\n";
            let mut reason = String::new();
            if !is_ready {
                let _ = BufReader::new(stderr).read_to_string(&mut reason);
            }
            // Nobody waits any more if it took too long.
            let _ = said.send(if is_ready { Ok(()) } else { Err(reason) });
        });
        // It ends what has been started if an error is returned.
        let mut container = Self { name, first: Vec::new(), shell };
        let failed = |reason: &str| {
            let reason = reason.trim().lines().last().unwrap_or("it ended without a message");
            format!("Podman, which `cargo xtask setup` installs, runs no container here: {reason}")
        };
        match wait.recv_timeout(STARTING) {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return Err(failed(&reason)),
            Err(_) => return Err(failed("it did not start in time")),
        }
        let podman = |words: &[&str]| {
            let output = Command::new("podman").args(words).stdin(Stdio::null()).output();
            let output = output.map_err(|error| failed(&error.to_string()))?;
            let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            if output.status.success() { Ok(printed) } else { Err(failed(&String::from_utf8_lossy(&output.stderr))) }
        };
        podman(&["exec", "-i", &container.name, "/bin/true"])?;
        let first = podman(&["container", "inspect", "--format", "{{.State.Pid}}", &container.name])?;
        container.first = vec![first.parse().map_err(|_| failed("the first process has no number"))?];
        container.first.extend(container.processes().into_iter().map(|(id, _)| id));
        Ok(container)
    }

    /// Connects to a directory, as a user does.
    pub(super) fn environment(&self, root: &Path) -> RemoteEnvironment {
        let place = format!("podman:{}:{}", self.name, root.display()).parse().unwrap();
        RemoteEnvironment::connect_by(&place, Programs::default()).unwrap()
    }

    /// Returns the local processes of open connections.
    pub(super) fn connections(&self) -> Vec<i32> {
        let words = format!("podman exec -i {} ", self.name);
        living().filter(|(_, line)| line.starts_with(&words)).map(|(id, _)| id).collect()
    }

    /// Returns the processes in the container, besides those that keep it running, with their arguments.
    pub(super) fn processes(&self) -> Vec<(i32, String)> {
        let namespace = |id: i32| fs::read_link(format!("/proc/{id}/ns/pid")).ok();
        let own = namespace(self.first[0]);
        assert!(own.is_some(), "the container has ended");
        living().filter(|(id, _)| !self.first.contains(id) && namespace(*id) == own).collect()
    }
}

/// Returns the places of the directories of tests.
fn mounted() -> Vec<PathBuf> {
    let places = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    places.into_iter().filter(|place| place.is_dir()).collect()
}

/// Makes a directory with the root of a container.
fn programs() -> PathBuf {
    let directory = tempfile::Builder::new().prefix("emend-podman-").tempdir_in("/tmp").unwrap().keep();
    let root = directory.join("root");
    for name in ["bin", "etc", "proc", "sys", "dev", "root"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::copy(BUSYBOX, root.join("bin/busybox")).unwrap();
    let output = Command::new(BUSYBOX).arg("--list").output().unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    for name in names.lines().filter(|name| *name != "busybox") {
        symlink("busybox", root.join("bin").join(name)).unwrap();
    }
    // The first user is looked for in answers that must not show it.
    fs::copy("/etc/passwd", root.join("etc/passwd")).unwrap();
    directory
}

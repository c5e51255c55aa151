//! An SSH server for tests: Debian's `sshd` on 127.0.0.1 as an unprivileged user, with keys and settings of its own.
//!
//! The server ends with the process that started it, also if that is killed: a shell waits for the end of its input.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "only tests use it, and they report what they skip")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Place of Debian's package. The program must be started by its full path.
const SSHD: &str = "/usr/sbin/sshd";

/// Starts the server, waits for the end of the input, and removes everything.
const SCRIPT: &str = r#"
"$1" -D -e -f "$2/sshd_config" >"$2/log" 2>&1 &
server=$!
echo "$server"
cat >/dev/null
kill "$server"
rm -rf "$2"
"#;

/// A running server.
pub struct Sshd {
    directory: PathBuf,
    user: User,
    /// The process that accepts connections.
    pub process: i32,
    /// Ends the server when its input is closed.
    shell: Child,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// The user of the server.
#[derive(Clone)]
struct User {
    name: String,
    ids: (u32, u32),
}

/// Returns an unprivileged user with a shell: this one, unless it is root.
fn user() -> Option<User> {
    let own = rustix::process::geteuid().as_raw();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = users.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, _, _, shell] = fields[..] else { return None };
        let uid: u32 = uid.parse().ok()?;
        let fits = if own == 0 { uid != 0 } else { uid == own };
        let is_shell = ["sh", "bash", "dash", "zsh"].contains(&shell.rsplit('/').next()?) && Path::new(shell).exists();
        (fits && is_shell).then_some((User { name: name.to_owned(), ids: (uid, gid.parse().ok()?) }, uid))
    });
    found.max_by_key(|(_, uid)| *uid).map(|(user, _)| user)
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
}

/// Prints that a test has no server.
pub fn print_missing() {
    println!("skipped: 1 case (sshd is not installed, which `cargo xtask setup` does, or no user may run it)");
}

impl Sshd {
    /// Starts a server; `None` without sshd or without a user for it. A server that is installed must start.
    #[must_use]
    pub fn start() -> Option<Self> {
        let user = user().filter(|_| Path::new(SSHD).exists())?;
        // Another program may take the port before the server does.
        let server = (0..5).find_map(|_| Self::start_once(&user));
        assert!(server.is_some(), "{SSHD} does not start; its log is above");
        server
    }

    fn start_once(user: &User) -> Option<Self> {
        let directory = tempfile::Builder::new().prefix("emend-sshd-").tempdir_in("/tmp").unwrap().keep();
        let place = |name: &str| directory.join(name).to_str().unwrap().to_owned();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        for name in ["host_key", "key"] {
            run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", "emend-test", "-f", &place(name)]);
        }
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nMaxSessions 200\nMaxStartups 200\n\
             Subsystem sftp internal-sftp\nPrintMotd no\nUseDNS no\n",
            place("host_key"),
            place("key.pub"),
        );
        fs::write(directory.join("sshd_config"), settings).unwrap();
        let host_key = fs::read_to_string(directory.join("host_key.pub")).unwrap();
        fs::write(directory.join("known_hosts"), format!("[127.0.0.1]:{port} {host_key}")).unwrap();
        let client = format!(
            "Host box\nHostName 127.0.0.1\nPort {port}\nUser {}\nIdentityFile {}\nIdentitiesOnly yes\n\
             UserKnownHostsFile {}\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n",
            user.name,
            place("key"),
            place("known_hosts"),
        );
        fs::write(directory.join("ssh_config"), client).unwrap();
        give(&directory, user.ids);
        // The client of another user must own its key.
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        std::os::unix::fs::chown(directory.join("key"), Some(own.0), Some(own.1)).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh", SSHD]).arg(&directory).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        if own.0 == 0 {
            command.uid(user.ids.0).gid(user.ids.1);
        }
        let mut shell = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let server = Self { directory, user: user.clone(), process: said.trim().parse().unwrap(), shell };
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(20) {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        println!("sshd did not start: {}", fs::read_to_string(server.directory.join("log")).unwrap_or_default());
        None
    }

    /// Returns the settings of a client that knows the server as the host `box`.
    #[must_use]
    pub fn client_settings(&self) -> PathBuf {
        self.directory.join("ssh_config")
    }

    /// Gives a directory and everything in it to the user of the server, if this one may.
    pub fn open(&self, directory: &Path) {
        give(directory, self.user.ids);
    }

    /// Returns the processes of open connections.
    #[must_use]
    pub fn connections(&self) -> Vec<i32> {
        let children = |id: i32| {
            let listed = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
            listed.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<i32>>()
        };
        children(self.process)
    }
}

/// Gives a directory and everything in it to a user, if this one may.
pub fn give(directory: &Path, ids: (u32, u32)) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let found = fs::symlink_metadata(directory).unwrap();
    if found.uid() != ids.0 {
        std::os::unix::fs::lchown(directory, Some(ids.0), Some(ids.1)).unwrap();
    }
    if found.is_dir() {
        let mode = found.permissions().mode();
        fs::set_permissions(directory, fs::Permissions::from_mode(mode | 0o700)).unwrap();
        for entry in fs::read_dir(directory).unwrap() {
            give(&entry.unwrap().path(), ids);
        }
    }
}

//! A PostgreSQL server for tests: a temporary directory, a Unix socket in it, and no port.
//!
//! The server ends with the process that started it, also if that is killed: a shell waits for the end of its input.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failure of the harness fails the test that uses it")]
#![allow(clippy::print_stdout, reason = "skipped tests are printed")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Directories of Debian's packages, one for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Options that make tests fast; `fsync` is off unless a test kills the server.
const OPTIONS: &str = "-c listen_addresses= -c max_connections=200 -c shared_buffers=32MB -c log_min_messages=fatal \
    -c max_wal_size=256MB -c autovacuum_naptime=10";

/// Starts the server, waits for the end of the input, and removes everything.
const SCRIPT: &str = r#"
"$1/initdb" -D "$2/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N >"$2/initdb.log" 2>&1 &&
"$1/pg_ctl" -D "$2/data" -w -t 60 -l "$2/log" -o "$3 -k $2" start >/dev/null 2>&1 && echo ready || cat "$2"/*log
cat >/dev/null
"$1/pg_ctl" -D "$2/data" -m immediate stop >/dev/null 2>&1
rm -rf "$2"
"#;

/// A running server.
pub struct TestServer {
    programs: PathBuf,
    directory: PathBuf,
    user: Option<(u32, u32)>,
    n_databases: AtomicU32,
    options: String,
    /// Ends the server when its input is closed.
    shell: Child,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// Returns the directory with the programs of the newest installed version.
fn programs() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir(DEBIAN)
        .ok()?
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, path)| path.join("initdb").exists())
        .collect();
    found.sort();
    found.pop().map(|(_, path)| path)
}

/// Returns the ids of an unprivileged user, if this process runs as root: PostgreSQL refuses to.
fn unprivileged(directory: &Path) -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt as _;
    if fs::metadata(directory).unwrap().uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    Some(ids("postgres").or_else(|| ids("nobody")).expect("a user other than root"))
}

impl TestServer {
    /// Starts a server; `None` if PostgreSQL is not installed, which is printed.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn start(is_durable: bool) -> Option<Self> {
        let Some(programs) = programs() else {
            println!("skipped: 1 case (PostgreSQL is not installed; `cargo xtask setup` installs it)");
            return None;
        };
        let directory = tempfile::Builder::new().prefix("emend-pg-").tempdir().unwrap().keep();
        let user = unprivileged(&directory);
        if let Some((uid, gid)) = user {
            chown(&directory, Some(uid), Some(gid)).unwrap();
        }
        let durability = if is_durable { "" } else { " -c fsync=off -c full_page_writes=off" };
        let options = format!("{OPTIONS}{durability}");
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh"]).arg(&programs).arg(&directory).arg(&options).current_dir(&directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Ctrl-C in a terminal must not end the shell before it has stopped the server.
        command.process_group(0);
        if let Some((uid, gid)) = user {
            command.uid(uid).gid(gid);
        }
        #[allow(clippy::zombie_processes, reason = "the drop waits")]
        let mut shell = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said.trim(), "ready", "PostgreSQL in {} does not start", directory.display());
        Some(Self { programs, directory, user, n_databases: AtomicU32::new(0), options, shell })
    }

    /// Returns the server that the tests of this process share, without durability; `None` as
    /// [`start`](Self::start).
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<TestServer>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| Self::start(false)).as_ref();
        if shared.is_none() {
            println!("skipped: 1 case (PostgreSQL is not installed; `cargo xtask setup` installs it)");
        }
        shared
    }

    /// Creates an empty database, and returns its address.
    ///
    /// # Panics
    ///
    /// Panics if the database cannot be created.
    #[must_use]
    pub fn database(&self) -> String {
        let name = format!("emend{}", self.n_databases.fetch_add(1, Ordering::Relaxed));
        self.run("createdb", &["-h", self.directory.to_str().unwrap(), "-U", "postgres", &name]);
        format!("postgres://postgres@{}/{name}", self.directory.to_str().unwrap().replace('/', "%2F"))
    }

    /// Returns the path of the socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.directory.join(".s.PGSQL.5432")
    }

    /// Kills all processes of the server and starts it again.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    pub fn crash(&self) {
        let data = self.directory.join("data");
        let options = format!("{} -k {}", self.options, self.directory.display());
        let log = self.directory.join("log");
        let words = ["-D", data.to_str().unwrap(), "-w", "-m", "immediate", "-l", log.to_str().unwrap()];
        self.run("pg_ctl", &[&words[..], &["-o", &options, "restart"]].concat());
    }

    /// Runs a query in a database of [`database`](Self::database), and returns its rows as text; `None` while the server
    /// does not answer.
    #[must_use]
    pub fn query(&self, address: &str, sql: &str) -> Option<String> {
        let name = address.rsplit('/').next()?;
        let directory = self.directory.to_str()?;
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-h", directory, "-U", "postgres", "-d", name, "-AtX", "-c", sql]);
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        let done = command.current_dir(&self.directory).stderr(Stdio::null()).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    /// Runs a program of PostgreSQL as the user of the server, and returns its output.
    ///
    /// # Panics
    ///
    /// Panics if the program fails.
    pub fn run(&self, program: &str, words: &[&str]) {
        let mut command = Command::new(self.programs.join(program));
        command.args(words).current_dir(&self.directory).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        assert!(command.status().unwrap().success(), "{program} {words:?}");
    }
}

//! Confined commands write only at permitted paths. On a kernel that cannot confine commands, the tests report a skip.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use emend_agent::environment::ExecutionEnvironment;
use emend_agent::environment::command::{Command, OutputStream};
use emend_llm::CancelToken;
use futures::executor::block_on;
use tempfile::TempDir;

use super::Sandbox;
use crate::local::LocalEnvironment;

/// Returns a directory outside the always writable ones, with a project and other directories beside it.
fn place() -> TempDir {
    let place = TempDir::new_in("/var/tmp").unwrap();
    for directory in ["project/ignored", "cache", "outside/empty"] {
        fs::create_dir_all(place.path().join(directory)).unwrap();
    }
    for file in ["project/a.txt", "outside/a.txt", "cache/a.txt"] {
        fs::write(place.path().join(file), "old\n").unwrap();
    }
    fs::write(place.path().join("project/.gitignore"), "ignored/\n").unwrap();
    std::os::unix::fs::symlink("../outside", place.path().join("project/way_out")).unwrap();
    place
}

fn open(place: &TempDir, sandbox: Option<Sandbox>) -> LocalEnvironment {
    let environment = LocalEnvironment::new(place.path().join("project")).unwrap();
    match sandbox {
        Some(sandbox) => environment.with_sandbox(sandbox).unwrap(),
        None => environment,
    }
}

fn run(environment: &dyn ExecutionEnvironment, command: &str) -> (i32, String) {
    let command = Command { command: command.to_owned(), timeout_ms: 3_600_000, ..Command::default() };
    let (sink, cancel) = (|_: OutputStream, _: &str| {}, CancelToken::new());
    let result = block_on(environment.exec_command(&command, &sink, &cancel)).unwrap();
    (result.exit_code, result.stdout + &result.stderr)
}

/// Commands that would change files outside the project.
const HARM: [&str; 12] = [
    "echo new > ../outside/new.txt",
    "echo new > ../outside/a.txt",
    "echo more >> way_out/a.txt",
    "truncate -s 0 ../outside/a.txt",
    "rm ../outside/a.txt",
    "rmdir ../outside/empty",
    "mv ../outside/a.txt ../outside/b.txt",
    "mv a.txt ../outside/moved.txt",
    "mkdir ../outside/directory",
    "ln -s a.txt ../outside/link",
    "mkfifo ../outside/fifo",
    "setsid --wait bash -c '(bash -c \"echo new > ../outside/new.txt\")'",
];

/// Commands that must work in the sandbox.
const FINE: [&str; 9] = [
    "echo new > new.txt && mkdir -p sub/deep && mv new.txt sub/deep/ && rm -r sub",
    "truncate -s 0 a.txt && echo old > a.txt",
    "echo new > ignored/new.txt",
    "cat ../outside/a.txt",
    "file=$(mktemp) && echo x > $file && rm $file",
    "echo x > /dev/null",
    "sleep 100 & kill $!",
    "echo x > ../cache/new.txt",
    "echo x > /dev/shm/emend-test-$$ && rm /dev/shm/emend-test-$$",
];

fn missing(what: &str) -> bool {
    let check = Sandbox::check();
    if let Err(reason) = &check {
        println!("skipped: {what}: {reason}");
        let refused = LocalEnvironment::new(std::env::temp_dir()).unwrap().with_sandbox(Sandbox::default());
        assert_eq!(refused.err().map(|error| error.code().as_str()), Some("unsupported"));
    }
    check.is_err()
}

#[test]
fn a_confined_command_writes_only_at_permitted_paths() {
    if missing("confined commands") {
        return;
    }
    for command in HARM {
        let place = place();
        let sandbox = Sandbox { writable: vec![place.path().join("cache"), "/not/there".into()] };
        let environment = open(&place, Some(sandbox));
        let (status, said) = run(&environment, command);
        assert!(status != 0 && said.contains("denied"), "{command}: {status} {said}");
        assert_eq!(fs::read_to_string(place.path().join("outside/a.txt")).unwrap(), "old\n", "{command}");
        assert_eq!(fs::read_dir(place.path().join("outside")).unwrap().count(), 2, "{command}");
        // Positive control: without the sandbox the command succeeds.
        let (status, said) = run(&open(&place, None), command);
        assert_eq!(status, 0, "{command}: {said}");
    }
    let place = place();
    let environment = open(&place, Some(Sandbox { writable: vec![place.path().join("cache")] }));
    for command in FINE {
        let (status, said) = run(&environment, command);
        assert_eq!(status, 0, "{command}: {said}");
    }
    // Only an administrator can make devices at all.
    let device = "mknod zero c 1 5";
    match run(&open(&self::place(), None), device) {
        (0, _) => {
            let (status, said) = run(&environment, device);
            assert!(status != 0 && said.contains("denied"), "{device}: {status} {said}");
        }
        (_, said) => println!("skipped: devices in the sandbox: {said}"),
    }
    // The test process itself is not confined.
    fs::write(place.path().join("outside/new.txt"), "").unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_confined_command_reaches_no_abstract_socket_of_another_program() {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener};

    if missing("abstract sockets") {
        return;
    }
    let name = format!("emend-test-{}", std::process::id());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let connect = format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name}\")'");
    let place = place();
    let (status, said) = run(&open(&place, None), &connect);
    if status != 0 {
        println!("skipped: python3 cannot connect: {said}");
        return;
    }
    let (status, said) = run(&open(&place, Some(Sandbox::default())), &connect);
    let is_old = fs::read_to_string("/proc/sys/kernel/osrelease")
        .unwrap()
        .split('.')
        .take(2)
        .map(|part| part.parse().unwrap_or(0))
        .lt([6, 12]);
    if is_old {
        println!("skipped: this kernel cannot scope sockets");
        return;
    }
    assert!(status != 0 && said.contains("PermissionError"), "{status} {said}");
}

#[test]
fn a_confined_command_reaches_a_socket_with_a_path() {
    if missing("sockets with a path") {
        return;
    }
    let place = place();
    let socket = place.path().join("outside/socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let connect =
        format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\")'", socket.display());
    let (status, said) = run(&open(&place, None), &connect);
    if status != 0 {
        println!("skipped: python3 cannot connect: {said}");
        return;
    }
    // The help of --sandbox says so.
    let (status, said) = run(&open(&place, Some(Sandbox::default())), &connect);
    assert_eq!(status, 0, "{said}");
}

#[test]
fn a_confined_copy_writes_to_its_shared_directories() {
    if missing("a confined copy") {
        return;
    }
    let place = place();
    let environment = open(&place, Some(Sandbox::default()));
    let copy = block_on(environment.scratch(&[])).unwrap();
    for (command, succeeds) in [
        ("echo new > a.txt && echo new > b.txt", true),
        ("echo new > ignored/new.txt", true),
        // The path of the project leads into the copy.
        (&*format!("echo new > {}/project/a.txt", place.path().display()), true),
        (&*format!("cd .. && echo new > {}/../project/a.txt", place.path().join("outside").display()), false),
        (&*format!("echo new > {}/outside/a.txt", place.path().display()), false),
    ] {
        let (status, said) = run(&*Arc::clone(&copy), command);
        assert_eq!(status == 0, succeeds, "{command}: {said}");
    }
    let read = |path: &str| fs::read_to_string(place.path().join(path)).ok();
    assert_eq!((read("project/a.txt"), read("outside/a.txt")), (Some("old\n".to_owned()), Some("old\n".to_owned())));
    assert!(Path::new(&place.path().join("project/ignored/new.txt")).exists());
}

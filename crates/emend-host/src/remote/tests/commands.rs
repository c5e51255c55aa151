//! Commands on a far side: their end, their processes, their output, and the changes they make.

use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use emend_agent::environment::command::{Command, ExecResult, OutputStream};
use emend_agent::environment::{EnvError, ExecutionEnvironment as _, FilePath};
use emend_agent::session::call_tool;
use emend_agent::tools::core_tools;
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::{CancelToken, Shared};
use futures::executor::block_on;
use serde_json::json;

use super::containers::Fake;
use super::podman::Podman;
use super::sshd::Sshd;
use crate::clock::SystemClock;
use crate::local::tests::Disk;
use crate::remote::environment::RemoteEnvironment;

const FILES: &str = "//- a.txt\none\ntwo\n//- src/b.txt\nbee\n//- .gitignore\nout/\n//- out/made.txt\nold\n";

fn command(text: &str) -> Command {
    Command { command: text.to_owned(), timeout_ms: 600_000, ..Command::default() }
}

fn run(environment: &RemoteEnvironment, command: &Command) -> Result<ExecResult, EnvError> {
    block_on(environment.exec_command(command, &|_, _: &str| {}, &CancelToken::new()))
}

/// Returns a duration for `sleep` that no other process of this machine has: a test that failed before leaves some.
fn long(number: u32) -> String {
    format!("{number}.{}", std::process::id())
}

/// Returns the living processes of this machine with their arguments.
pub(super) fn living() -> impl Iterator<Item = (i32, String)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let lines = ids.filter_map(|id: i32| Some((id, fs::read(format!("/proc/{id}/cmdline")).ok()?)));
    let lines = lines.map(|(id, line)| (id, String::from_utf8_lossy(&line).replace('\0', " ")));
    lines.filter(|(_, line)| !line.is_empty())
}

/// Returns the living processes of this machine with `word` among their arguments.
pub(super) fn with_word(word: &str) -> Vec<String> {
    living().map(|(_, line)| line).filter(|line| line.contains(word)).collect()
}

/// Waits for the end of all processes with `word` among their arguments. A command may be starting while its connection
/// breaks, so its processes count as gone only after a while without any.
#[track_caller]
pub(super) fn check_gone(word: &str) {
    let since = Instant::now();
    let mut n_absent = 0;
    while n_absent < 10 {
        let found = with_word(word);
        n_absent = if found.is_empty() { n_absent + 1 } else { 0 };
        assert!(since.elapsed() < Duration::from_secs(60), "processes of an ended command: {found:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Runs `check` over SSH, and at the same time in a container of Podman and in one whose program a script replaces. The
/// number is another one in each place, so that their processes can be told apart.
fn everywhere(check: impl Fn(&RemoteEnvironment, &Disk, u32) + Sync) {
    // An absent program is printed on this thread: the output of others is not that of the test.
    let (sshd, podman) = (Sshd::shared(), Podman::shared());
    thread::scope(|scope| {
        scope.spawn(|| {
            if let Some(podman) = podman {
                let disk = Disk::new(|_| FILES.to_owned());
                check(&podman.environment(&disk.root()), &disk, 300);
            }
        });
        scope.spawn(|| {
            if let Some(sshd) = sshd {
                let disk = Disk::new(|_| FILES.to_owned());
                check(&sshd.environment(&disk.root()), &disk, 100);
            }
        });
        let (fake, disk) = (Fake::new(), Disk::new(|_| FILES.to_owned()));
        check(&fake.environment("docker", &disk.root()), &disk, 200);
    });
}

#[test]
fn a_command_arrives_as_it_is() {
    everywhere(|environment, _, _| {
        let mut told =
            command("printf '%s|' \"$TOLD\" 'it'\\''s' \"100 %\" \"a\\b\"\nprintf '文%s' \"$PWD\" >&2; exit 255");
        told.working_dir = FilePath::clean("src").unwrap();
        told.env_vars.insert("TOLD".to_owned(), "it's \"two\"\nlines 文 $HOME\n".to_owned());
        told.env_vars.insert("not a name".to_owned(), "x".to_owned());
        let result = run(environment, &told).unwrap();
        assert_eq!(result.stdout, "it's \"two\"\nlines 文 $HOME\n|it's|100 %|a\\b|");
        let root = environment.working_directory();
        assert_eq!((result.stderr, result.exit_code), (format!("文{root}/src"), 255));
        // A signal ends the shell itself.
        assert_eq!(run(environment, &command("kill -9 $$")).unwrap().exit_code, 137);
    });
}

#[test]
fn a_cancelled_command_leaves_no_process() {
    everywhere(|environment, _, place| {
        for (number, script) in [
            (7001, "sleep WORD & sleep WORD"),
            // It leaves the group and the session.
            (7002, "setsid sleep WORD & sleep WORD"),
            // Its parent is gone.
            (7003, "(setsid sh -c 'sleep WORD & sleep WORD' &) ; sleep WORD"),
            (7004, "trap '' TERM; sleep WORD; sleep WORD"),
        ] {
            let word = long(number + place);
            let script = script.replace("WORD", &word);
            let cancel = CancelToken::new();
            let begun = cancel.clone();
            let sink = move |_, text: &str| {
                if text.contains("begun") {
                    begun.cancel();
                }
            };
            let endless = command(&format!("echo begun; {script}"));
            let result = block_on(environment.exec_command(&endless, &sink, &cancel)).unwrap();
            assert_eq!((result.cancelled, result.stdout.as_str()), (true, "begun\n"), "{script}");
            assert_eq!(with_word(&word), [""; 0], "{script}");
        }
    });
}

#[test]
fn a_command_ends_at_its_timeout_with_its_processes() {
    everywhere(|environment, _, place| {
        let word = long(7005 + place);
        // Long enough for the start of the command on a busy machine.
        let short = Command { timeout_ms: 3_000, ..command(&format!("echo out; sleep {word} & sleep {word}")) };
        let result = run(environment, &short).unwrap();
        assert_eq!((result.timed_out, result.cancelled, result.stdout.as_str()), (true, false, "out\n"));
        assert_eq!(with_word(&word), [""; 0]);
    });
}

#[test]
fn processes_left_running_are_counted_and_ended() {
    everywhere(|environment, _, place| {
        let word = long(7006 + place);
        let result = run(environment, &command(&format!("sleep {word} & echo done"))).unwrap();
        assert_eq!((result.exit_code, result.n_left_behind, result.stdout.as_str()), (0, 1, "done\n"));
        assert_eq!(with_word(&word), [""; 0]);
        let result = run(environment, &command("(sleep 0.1; echo late) & echo soon")).unwrap();
        assert_eq!((result.n_left_behind, result.stdout.as_str()), (0, "soon\nlate\n"));
    });
}

#[test]
fn output_of_any_size_is_bounded() {
    everywhere(|environment, _, _| {
        let shown = Mutex::new(0);
        let sink = |_: OutputStream, text: &str| *shown.lock().unwrap() += text.len();
        let much = command("echo first; head -c 6000000 /dev/zero | tr '\\0' x; echo last");
        let result = block_on(environment.exec_command(&much, &sink, &CancelToken::new())).unwrap();
        assert!(result.stdout.len() < (1 << 20) + 100 && result.n_bytes_dropped > 4_000_000, "{}", result.stdout.len());
        assert!(result.stdout.starts_with("first\n") && result.stdout.ends_with("last\n"));
    });
}

#[test]
fn a_dropped_call_ends_its_command() {
    everywhere(|environment, disk, place| {
        let begun = disk.root().join("begun");
        let word = long(7007 + place);
        let endless = command(&format!("touch begun; sleep {word}"));
        {
            let cancel = CancelToken::new();
            let sink = |_: OutputStream, _: &str| {};
            let mut call = environment.exec_command(&endless, &sink, &cancel);
            let since = Instant::now();
            while !begun.exists() && since.elapsed() < Duration::from_secs(30) {
                let waker = std::task::Waker::noop();
                assert!(call.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
                thread::sleep(Duration::from_millis(5));
            }
            assert!(begun.exists());
        }
        check_gone(&word);
    });
}

#[test]
fn a_broken_connection_ends_the_command_and_the_next_call_connects_again() {
    let Some(sshd) = Sshd::shared() else { return };
    let disk = Disk::new(|_| FILES.to_owned());
    let environment = sshd.environment(&disk.root());
    let process = || environment.ssh.as_ref().unwrap().process();
    let sink = |_: OutputStream, text: &str| {
        if let Some(process) = process().filter(|_| text.contains("begun")) {
            super::storm::kill(i32::try_from(process).unwrap());
        }
    };
    block_on(environment.metadata(&FilePath::root())).unwrap();
    let word = long(7008);
    let endless = command(&format!("echo begun; sleep {word}"));
    let error = block_on(environment.exec_command(&endless, &sink, &CancelToken::new())).unwrap_err();
    assert_eq!(error.code().as_str(), "io_error");
    assert!(error.to_string().contains("the connection to box was lost while the command ran"), "{error}");
    check_gone(&word);
    assert_eq!(run(&environment, &command("echo again")).unwrap().stdout, "again\n");
    assert_eq!(block_on(environment.read(&FilePath::clean("a.txt").unwrap())), Ok(b"one\ntwo\n".to_vec()));
}

/// Runs commands in a workspace and undoes them.
fn check_undo(disk: &Disk, environment: RemoteEnvironment) {
    let workspace = Shared::new(Workspace::new(Shared::new(environment), Mode::Direct, Shared::new(SystemClock)));
    let shell = |text: &str| {
        let arguments = json!({ "command": text, "timeout_ms": 600_000 });
        block_on(call_tool(&core_tools(), &workspace, "shell", arguments)).unwrap().data
    };
    let read = |name: &str| fs::read_to_string(disk.root().join(name)).ok();
    shell("true");
    // The same size within the same second, and the time set back.
    let data = shell(
        "printf 'ONE\\ntwo\\n' > a.txt; touch -d @1000000000 a.txt; rm src/b.txt; echo x > new.txt; echo x > out/made.txt
         printf 'a\\0b' > image.bin",
    );
    assert_eq!(data["changed"], json!(["a.txt", "new.txt", "src/b.txt"]));
    assert_eq!(data["left_out"], json!(["image.bin"]));
    block_on(workspace.undo_runs(&[workspace.last_run()])).unwrap();
    assert_eq!(read("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!((read("src/b.txt").as_deref(), read("new.txt")), (Some("bee\n"), None));
    assert_eq!(read("out/made.txt").as_deref(), Some("x\n"), "ignored files are not undone");
}

#[test]
fn changes_of_texts_by_a_command_are_undone_and_others_named() {
    let (fake, disk) = (Fake::new(), Disk::new(|_| FILES.to_owned()));
    check_undo(&disk, fake.environment("docker", &disk.root()));
    if let Some(podman) = Podman::shared() {
        let disk = Disk::new(|_| FILES.to_owned());
        check_undo(&disk, podman.environment(&disk.root()));
    }
    let Some(sshd) = Sshd::shared() else { return };
    let disk = Disk::new(|_| FILES.to_owned());
    check_undo(&disk, sshd.environment(&disk.root()));
}

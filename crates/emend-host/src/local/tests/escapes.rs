//! Paths out of the root, each tried by every operation; and paths inside the root, which must work.
//!
//! Files outside contain a marker. No answer may contain it, no outside file may change, and no operation may hang. A hard
//! link to an outside file is readable as a file of the project, and writing to it is rejected; `local::tests` checks that.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use emend_agent::environment::ExecutionEnvironment;
use emend_agent::environment::memory::MemFs;
use emend_agent::search::Matcher;

use super::*;

/// The content of everything outside the root.
const MARK: &str = "OUT-OF-BOUNDS";

const FIXTURE: &str = "//- a.txt
inside
//- sub/deep/b.txt
inside
//- with space/Ünï.txt
inside
//- .../dots.txt
inside
//- to_file -> a.txt
//- to_sub -> sub
//- to_sub_by_name -> {root}/sub
//- sub/up -> ../with space
//- chain/1 -> 2
//- chain/2 -> ../chain/3
//- chain/3 -> {root}/a.txt
//- out/file -> {around}/outside.txt
//- out/file_relative -> ../../outside.txt
//- out/parent -> ../..
//- out/directory -> {around}/beside
//- out/chain -> chain_2
//- out/chain_2 -> ../out/chain_3
//- out/chain_3 -> ../../outside.txt
//- out/through_inside -> ../to_sub/../../../outside.txt
//- out/missing -> {around}/made-by-an-escape
//- out/missing_below -> ../../beside/made-by-an-escape
//- out/system -> /
//- out/proc -> /proc/self/root
//- out/descriptor -> /proc/self/fd
//- out/device -> /dev/zero
//- out/terminal -> /dev/tty
//- out/self -> self
//- out/loop -> loop_2
//- out/loop_2 -> loop
";

/// Paths that lead out, or to entries that are not files, as a model, a user or an attacker would write them.
fn attempts(root: &str) -> Vec<String> {
    let around = root.rsplit_once('/').unwrap().0;
    let climb = "../".repeat(100);
    let long = "sub/../".repeat(2000);
    let mut attempts: Vec<String> = [
        // By text.
        "..",
        "../",
        "../outside.txt",
        "./../outside.txt",
        "sub/../../outside.txt",
        "sub/deep/../../../outside.txt",
        "not/there/../../../outside.txt",
        "a.txt/../../outside.txt",
        "//../outside.txt",
        "../project/../outside.txt",
        "../beside",
        "../beside/inner.txt",
        "../project-too/inner.txt",
        // Forms that other systems, shells and URLs understand as parent directories.
        "..\\outside.txt",
        "sub\\..\\..\\outside.txt",
        "%2e%2e/outside.txt",
        "..%2foutside.txt",
        "~/../outside.txt",
        "$PWD/../outside.txt",
        "file:///etc/passwd",
        // Characters confusable with dots and slashes, other letter case, invisible characters.
        "．．/outside.txt",
        "․․/outside.txt",
        "‥/outside.txt",
        "..∕outside.txt",
        "..\u{200b}/outside.txt",
        ".\u{2060}./outside.txt",
        "../OUTSIDE.TXT",
        "../outside.txt ",
        "..\0/outside.txt",
        "a.txt\0/../../outside.txt",
        // Absolute.
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd",
        "/proc/self/environ",
        "/dev/zero",
        "/dev/stdin",
        "/dev/fd/0",
        // By links.
        "out/file",
        "out/file_relative",
        "out/parent/outside.txt",
        "out/parent/beside/inner.txt",
        "out/parent/project/../outside.txt",
        "out/directory",
        "out/directory/inner.txt",
        "out/directory/made-by-an-escape",
        "out/chain",
        "out/through_inside",
        "out/missing",
        "out/missing/below",
        "out/missing_below",
        "out/system",
        "out/system/etc/passwd",
        "out/proc/etc/passwd",
        "out/descriptor/0",
        "to_sub/up/../../../outside.txt",
        // Entries that block, never end, or are not files.
        "out/device",
        "out/terminal",
        "out/self",
        "out/loop",
        "out/loop/below",
        "fifo",
        "fifo/below",
        "to_fifo",
        "socket",
        "",
    ]
    .map(str::to_owned)
    .into();
    attempts.extend([
        around.to_owned(),
        format!("{around}/outside.txt"),
        format!("{root}/../outside.txt"),
        format!("{root}/sub/../../outside.txt"),
        format!("{root}-too/inner.txt"),
        format!("{}/outside.txt", around.to_uppercase()),
        format!("/proc/self/root{around}/outside.txt"),
        format!("{climb}{around}/outside.txt"),
        format!("{long}../outside.txt"),
        format!("sub/{climb}etc/passwd"),
    ]);
    attempts
}

/// The answer of an operation as text, and whether the operation succeeded.
struct Answer {
    operation: &'static str,
    said: String,
    done: bool,
}

/// Tries one path with every operation: after resolving it, as tools do, and without, as if it had been replaced since.
fn try_all(environment: &dyn ExecutionEnvironment, path: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    let unchecked = FilePath::clean(path).filter(|path| !path.is_root());
    for access in [Access::Read, Access::Write, Access::List] {
        let resolved = in_time(path, environment.resolve(path, access));
        let inside = resolved.as_ref().ok().filter(|path| !path.is_root()).cloned();
        for file in inside.iter().chain(&unchecked) {
            answers.extend(operate(environment, file));
        }
        // Error details are for `--debug`. The message must not show outside content.
        let said = resolved.as_ref().map_or_else(ToString::to_string, |path| path.as_str().to_owned());
        answers.push(Answer { operation: "resolve", said, done: inside.is_some() });
    }
    answers
}

fn operate(environment: &dyn ExecutionEnvironment, path: &FilePath) -> Vec<Answer> {
    fn answer<T: std::fmt::Debug>(operation: &'static str, found: Result<T, EnvError>) -> Answer {
        let done = found.is_ok();
        Answer { operation, said: found.map_or_else(|error| error.to_string(), |found| format!("{found:?}")), done }
    }
    let name = path.as_str();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let query = GrepQuery {
        matcher: Matcher::new("[A-Za-z]", false).unwrap(),
        path: path.clone(),
        glob: None,
        exclude: Vec::new(),
        max_results: 100,
        context_lines: 2,
    };
    let change = |after: Option<&[u8]>| FileChange {
        path: path.clone(),
        before: None,
        after: after.map(<[u8]>::to_vec),
        mode_of: Some(path.clone()),
        executable: Some(true),
        over_read_only: false,
    };
    vec![
        answer("read", in_time(name, environment.read(path)).map(text)),
        answer("list", in_time(name, environment.list(path, 2))),
        answer("glob", in_time(name, environment.glob(path, "**"))),
        answer("paths", in_time(name, environment.glob_paths(path, "**"))),
        answer("grep", in_time(name, environment.grep(&query))),
        answer("write", in_time(name, environment.write(path, b"written by an escape"))),
        answer("change", in_time(name, environment.change(&[change(Some(b"changed by an escape"))]))),
        answer("change to nothing", in_time(name, environment.change(&[change(None)]))),
        answer("remove", in_time(name, environment.remove(path))),
    ]
}

/// Everything below a directory except the root: contents and modification times.
fn outside(directory: &Path) -> BTreeMap<OsString, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
        if path.ends_with("project") {
            continue;
        }
        if metadata.is_dir() {
            found.extend(outside(&path));
        }
        let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        found.insert(path.into_os_string(), (content, metadata.modified().unwrap()));
    }
    found
}

pub(crate) fn place() -> Disk {
    let disk = Disk::new(|root| {
        let around = root.rsplit_once('/').unwrap().0;
        FIXTURE.replace("{root}", root).replace("{around}", around)
    });
    fs::write(disk.outside(), MARK).unwrap();
    for directory in ["beside", "project-too"] {
        let directory = disk.around.path().join(directory);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("inner.txt"), MARK).unwrap();
        fs::write(directory.join(MARK), "").unwrap();
    }
    let root = fs::File::open(disk.root()).unwrap();
    rustix::fs::mknodat(&root, "fifo", rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    symlink("fifo", disk.root().join("to_fifo")).unwrap();
    std::os::unix::net::UnixListener::bind(disk.root().join("socket")).unwrap();
    disk
}

/// Runs an operation on a path. It must not hang.
fn in_time<T>(path: &str, operation: impl Future<Output = T>) -> T {
    thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        let watcher = scope.spawn(move || {
            if wait.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
                // A hanging operation cannot be ended, so the process aborts to report the failure.
                eprintln!("an operation on {path:?} hangs");
                std::process::abort();
            }
        });
        let result = block_on(operation);
        drop(done);
        watcher.join().unwrap();
        result
    })
}

#[track_caller]
fn check_held(path: &str, answers: &[Answer]) {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let first_user = passwd.lines().next().filter(|line| !line.is_empty()).unwrap_or("root:x:0:0");
    for Answer { operation, said, .. } in answers {
        let shows = said.contains(MARK) || said.contains(first_user);
        assert!(!shows, "{operation} {path:?} shows what is outside: {said}");
    }
}

#[test]
fn no_path_leads_out_and_every_path_inside_works() {
    covers("confinement.link confinement.directory_link");
    let disk = place();
    check_escapes(&disk, 1, &mut || Arc::new(disk.environment()));
}

/// Tries every `step`th way out of the root of `disk` in an environment of it, and all ways inside.
pub(crate) fn check_escapes(disk: &Disk, step: usize, environment: &mut dyn FnMut() -> Arc<dyn ExecutionEnvironment>) {
    let root = disk.root().to_str().unwrap().to_owned();
    let before = outside(disk.around.path());
    assert!(before.len() >= 7, "{before:?}");
    let (mut n_operations, mut n_done) = (0, 0);
    let attempts: Vec<String> = attempts(&root).into_iter().step_by(step).collect();
    for path in &attempts {
        let environment = environment();
        let answers = try_all(&*environment, path);
        check_held(path, &answers);
        assert_eq!(outside(disk.around.path()), before, "{path:?} changed what is outside");
        n_operations += answers.len();
        // Backslash and percent sign are ordinary characters here, so some attempts create oddly named files inside.
        n_done += answers.iter().filter(|answer| answer.operation == "write" && answer.done).count();
    }
    let n_controls = check_controls(&*environment(), &root);
    println!(
        "{} ways out, {n_operations} operations, {n_done} of which wrote files of odd names inside; {n_controls} ways \
         inside are open",
        attempts.len()
    );
    assert!(attempts.len() >= 40 / step && n_operations >= attempts.len() * 3);
    let ways: Vec<_> = fs::read_dir(disk.root().join("out")).unwrap().map(Result::unwrap).collect();
    let still = ways.iter().filter(|way| way.file_type().unwrap().is_symlink()).count();
    let n_ways = FIXTURE.matches("//- out/").count();
    assert_eq!((ways.len(), still), (n_ways, n_ways), "an attempt removed a link that later attempts needed");
    assert_eq!(outside(disk.around.path()), before);
}

#[test]
fn no_path_leads_out_of_files_in_memory() {
    let root = MemFs::new().working_directory();
    let fixture = FIXTURE.replace("{root}", &root).replace("{around}", "");
    let n_controls = check_controls(&MemFs::from_fixture(&fixture), &root);
    let attempts = attempts(&root);
    for path in &attempts {
        let files = MemFs::from_fixture(&fixture);
        let answers = try_all(&files, path);
        check_held(path, &answers);
        assert_eq!(block_on(files.read(&super::path("a.txt"))), Ok(b"inside\n".to_vec()), "{path:?}");
    }
    println!("{} ways out, {n_controls} ways inside", attempts.len());
}

/// Checks that paths inside the root work. Returns their number.
fn check_controls(environment: &dyn ExecutionEnvironment, root: &str) -> usize {
    let reads = [
        "a.txt",
        "./a.txt",
        "sub/../a.txt",
        "sub/deep/../../a.txt",
        "not/there/../../a.txt",
        "to_file",
        "chain/1",
        "to_sub/deep/b.txt",
        "to_sub_by_name/deep/b.txt",
        "sub/up/Ünï.txt",
        "to_sub/up/Ünï.txt",
        "with space/Ünï.txt",
        ".../dots.txt",
        &format!("{root}/a.txt"),
        &format!("{root}/sub/../a.txt"),
        &format!("{root}/to_sub/deep/b.txt"),
    ];
    for name in reads {
        let path = block_on(environment.resolve(name, Access::Read)).unwrap();
        assert_eq!(block_on(environment.read(&path)), Ok(b"inside\n".to_vec()), "{name}");
    }
    let writes = ["new/in/side.txt", "to_sub/new.txt", "to_sub_by_name/deep/new.txt", "sub/../..new", "chain/1"];
    for name in writes.map(str::to_owned).into_iter().chain([format!("{root}/absolute/new.txt")]) {
        let path = block_on(environment.resolve(&name, Access::Write)).unwrap();
        block_on(environment.write(&path, b"new")).unwrap();
        let read = block_on(environment.resolve(&name, Access::Read)).unwrap();
        assert_eq!(block_on(environment.read(&read)), Ok(b"new".to_vec()), "{name}");
        block_on(environment.write(&path, b"inside\n")).unwrap();
    }
    let lists = [".", "sub", "to_sub", "sub/..", root];
    for name in lists {
        let path = block_on(environment.resolve(name, Access::List)).unwrap();
        assert!(!block_on(environment.list(&path, 1)).unwrap().is_empty(), "{name}");
        assert!(!block_on(environment.glob(&path, "**/*.txt")).unwrap().is_empty(), "{name}");
    }
    reads.len() + writes.len() + 1 + lists.len() * 2
}

/// Swaps files and directories for links while they are used.
#[test]
fn a_file_swapped_for_a_link_leads_nowhere() {
    let disk = place();
    let before = outside(disk.around.path());
    let root = fs::File::open(disk.root()).unwrap();
    let stop = AtomicBool::new(false);
    let (mut n_read, mut n_refused) = (0, 0);
    symlink(disk.outside(), disk.root().join("swapped")).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(&root, "a.txt", &root, "swapped", rustix::fs::RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _stop = StopAtEnd(&stop);
        let environment = disk.environment();
        // Only reading: a write would replace the link by a file and end the swapping.
        while n_read < 100 || n_refused < 100 {
            match block_on(environment.read(&path("a.txt"))) {
                Ok(content) => {
                    assert_eq!(content, b"inside\n");
                    n_read += 1;
                }
                Err(_) => n_refused += 1,
            }
        }
    });
    println!("{n_read} reads met the file, {n_refused} the link");
    assert_eq!(outside(disk.around.path()), before);
}

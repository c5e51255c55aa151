//! The tests of a crate: each one alone, with the mutants that it reaches, and the order in which a mutant meets them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::process::{command, stdout_of};

/// Time after which a test ends at the latest with a mutant, unless it takes long without one.
const HANG: Duration = Duration::from_secs(20);
/// A test hangs if it takes this many times as long as without a mutant.
const SLOWER: u32 = 10;

/// Longest time of a test of the area.
const AREA_TEST_MAX: Duration = Duration::from_secs(2);
/// Longest time of all other tests of the crate, if tests of crates above follow them.
const CRATE_MAX: Duration = Duration::from_secs(4);
/// Longest time of the last tests: those of crates above, or else the other ones of the crate.
const LAST_MAX: Duration = Duration::from_secs(20);

/// The test program of a crate.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) package: String,
    pub(super) file: PathBuf,
    /// The folder of the crate in the copy.
    pub(super) folder: PathBuf,
}

/// The end of a test.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    Passed,
    Failed,
    /// It was killed.
    Hung,
}

impl Program {
    /// Returns the names of all tests.
    pub(super) fn tests(&self) -> Result<Vec<String>> {
        let listed = stdout_of(self.command().args(["--list", "--format", "terse"]))?;
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }

    /// Runs a test alone and notes the mutants that it reaches in `trace`.
    pub(super) fn trace(&self, test: &str, trace: &Path) -> Result<Traced> {
        let file = std::fs::File::create(trace).with_context(|| trace.display().to_string())?;
        // The first switch may be in a thread of another user.
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))?;
        drop(file);
        let begun = Instant::now();
        let end = run(self.command().args(["--exact", test]).env("EMEND_MUTANT_TRACE", trace), LAST_MAX)?;
        let time = begun.elapsed();
        let noted = std::fs::read_to_string(trace).unwrap_or_default();
        let reached = noted.lines().filter_map(|line| line.parse().ok()).collect();
        let (package, name) = (self.package.clone(), test.to_owned());
        Ok(Traced { package, name, time, reached, end })
    }

    /// Runs a test alone, with a mutant or without one.
    pub(super) fn run(&self, test: &Traced, mutant: Option<u32>) -> Result<End> {
        let mut program = self.command();
        program.args(["--exact", &test.name]);
        if let Some(mutant) = mutant {
            program.env("EMEND_MUTANT", mutant.to_string());
        }
        run(&mut program, HANG.max(test.time * SLOWER))
    }

    fn command(&self) -> Command {
        let mut program = command(&self.file, &self.folder);
        program.env("CARGO_MANIFEST_DIR", &self.folder).env("PROPTEST_MAX_SHRINK_ITERS", "0");
        // Printing a backtrace takes longer than most tests.
        program.env("RUST_BACKTRACE", "0").env_remove("EMEND_MUTANT").env_remove("EMEND_MUTANT_TRACE");
        program
    }
}

/// Runs a program without output, in a process group of its own.
fn run(program: &mut Command, limit: Duration) -> Result<End> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(program, 0);
    let mut child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("a test program")?;
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { End::Passed } else { End::Failed });
        }
        if begun.elapsed() > limit {
            kill(&mut child)?;
            return Ok(End::Hung);
        }
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(8));
    }
}

/// Ends a test with the processes that it has started.
fn kill(child: &mut Child) -> Result<()> {
    // Without that program, the test ends alone.
    #[cfg(unix)]
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).stderr(Stdio::null()).status();
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// A test that ran alone without a mutant.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    pub(super) package: String,
    pub(super) name: String,
    pub(super) time: Duration,
    pub(super) reached: BTreeSet<u32>,
    pub(super) end: End,
}

/// Returns the tests that a mutant meets, the most likely and short ones first.
///
/// These are the tests of its crate in `module`, as far as they are short, then other tests of its crate and those of
/// the crates above, both as far as they fit in a total time.
pub(super) fn in_order<'a>(tests: &'a [Traced], mutant: u32, package: &str, module: &str) -> Vec<&'a Traced> {
    let mut reaching: Vec<&Traced> =
        tests.iter().filter(|test| test.end == End::Passed && test.reached.contains(&mutant)).collect();
    reaching.sort_by_key(|test| test.time);
    let (own, above): (Vec<_>, Vec<_>) = reaching.into_iter().partition(|test| test.package == package);
    let (of_area, others): (Vec<_>, Vec<_>) = own.into_iter().partition(|test| is_below(&test.name, module));
    let of_area = of_area.into_iter().filter(|test| test.time <= AREA_TEST_MAX);
    let others_max = if above.is_empty() { LAST_MAX } else { CRATE_MAX };
    of_area.chain(within(others, others_max)).chain(within(above, LAST_MAX)).collect()
}

fn is_below(test: &str, module: &str) -> bool {
    module.is_empty() || test.strip_prefix(module).is_some_and(|rest| rest.starts_with("::"))
}

/// Returns the first tests that fit in a total time.
fn within(tests: Vec<&Traced>, limit: Duration) -> impl Iterator<Item = &Traced> {
    let mut total = Duration::ZERO;
    tests.into_iter().take_while(move |test| {
        total += test.time;
        total <= limit
    })
}

/// Returns the tests without those that arguments of the test program skip.
///
/// A word that the arguments select does not count: a test that reaches no mutant costs little.
pub(super) fn not_skipped(tests: Vec<String>, arguments: &[&str]) -> Vec<String> {
    let skipped = arguments.windows(2).filter(|pair| pair[0] == "--skip").map(|pair| pair[1]).collect::<Vec<_>>();
    tests.into_iter().filter(|test| !skipped.iter().any(|word| test.contains(word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(package: &str, name: &str, seconds: f32) -> Traced {
        let (package, name) = (package.to_owned(), name.to_owned());
        Traced { package, name, time: Duration::from_secs_f32(seconds), reached: BTreeSet::from([1]), end: End::Passed }
    }

    #[test]
    fn tests_of_the_area_come_first_and_short_ones_before_long_ones() {
        let mut failing = traced("a", "m::failing", 0.1);
        failing.end = End::Failed;
        let tests = [
            traced("b", "above", 12.0),
            traced("b", "too_long_above", 15.0),
            traced("a", "other", 3.0),
            traced("a", "too_long_in_total", 3.5),
            traced("a", "mm::other", 0.2),
            traced("a", "m::long", 1.9),
            traced("a", "m::too_long", 2.1),
            traced("a", "m::short", 0.1),
            failing,
        ];
        let names: Vec<&str> = in_order(&tests, 1, "a", "m").iter().map(|test| &*test.name).collect();
        assert_eq!(names, ["m::short", "m::long", "mm::other", "other", "above"]);
        assert!(in_order(&tests, 2, "a", "m").is_empty());
    }

    #[test]
    fn the_last_tests_have_the_longest_time() {
        let mut tests = vec![traced("a", "other", 3.0), traced("a", "later", 3.5)];
        let names =
            |tests: &[Traced]| in_order(tests, 1, "a", "m").iter().map(|test| test.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&tests), ["other", "later"]);
        tests.push(traced("b", "above", 12.0));
        assert_eq!(names(&tests), ["other", "above"]);
    }

    #[test]
    fn arguments_skip_tests() {
        let of = |arguments: &[&str]| not_skipped(["a::b", "a::c", "d"].map(str::to_owned).into(), arguments).join(" ");
        assert_eq!(of(&[]), "a::b a::c d");
        assert_eq!(of(&["--skip", "a::b", "--skip", "d"]), "a::c");
        assert_eq!(of(&["a::"]), "a::b a::c d");
    }

    #[cfg(unix)]
    #[test]
    fn any_user_may_note_what_a_test_reaches() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (file, trace) = (folder.path().join("program"), folder.path().join("trace"));
        std::fs::write(&file, "#!/bin/sh\necho 7 >> \"$EMEND_MUTANT_TRACE\"\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let program = Program { package: "a".to_owned(), file, folder: folder.path().to_owned() };
        let traced = program.trace("m::short", &trace).unwrap();
        assert_eq!((traced.end, traced.reached), (End::Passed, BTreeSet::from([7])));
        assert_eq!(trace.metadata().unwrap().permissions().mode() & 0o777, 0o666);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_passes_fails_or_hangs() {
        let end = |text: &str| run(Command::new("sh").args(["-c", text]), Duration::from_millis(300)).unwrap();
        assert_eq!(end("exit 0"), End::Passed);
        assert_eq!(end("exit 3"), End::Failed);
        assert_eq!(end("sleep 30 & wait"), End::Hung);
    }
}
